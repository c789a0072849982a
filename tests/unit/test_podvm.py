# SPDX-License-Identifier: Apache-2.0
"""podvm's parts without a boot: archives, image names, output, the channel."""

import io
import json
import os
import socket
import stat
import subprocess
import tarfile
import tempfile
import types
import unittest
from pathlib import Path

from podvm_lib import PodvmError, channel, image, initramfs, kernel, qemu, report, run
from podvm_lib.cpio import CpioWriter


def unpack(data):
    """name -> (mode, uid, gid, rdev, content, inode, nlink) of a newc archive."""
    entries, at = {}, 0
    while True:
        assert data[at:at + 6] == b"070701", at
        ino, mode, uid, gid, nlink, mtime, size, _, _, major, minor, length, _ = (
            int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13))
        assert mtime == 0
        name = data[at + 110:at + 110 + length - 1].decode()
        at = (at + 110 + length + 3) & ~3
        content = data[at:at + size]
        at = (at + size + 3) & ~3
        if name == "TRAILER!!!":
            return entries
        assert name not in entries, name
        entries[name] = (mode, uid, gid, (major, minor), content, ino, nlink)


class Archive:
    def __init__(self):
        self.out = io.BytesIO()
        self.cpio = CpioWriter(self.out)

    def entries(self):
        self.cpio.finish()
        return unpack(self.out.getvalue())


class Cpio(unittest.TestCase):
    def test_kinds_owners_and_parents(self):
        archive = Archive()
        archive.cpio.data("/a/b/file", "text", 0o4755, 1, 2)
        archive.cpio.symlink("a/link", "../x")
        archive.cpio.node("dev/null", stat.S_IFCHR, 1, 3, 0o666)
        entries = archive.entries()
        self.assertEqual(list(entries), ["a", "a/b", "a/b/file", "a/link", "dev",
                                         "dev/null"])
        self.assertEqual(entries["a/b/file"][:5],
                         (stat.S_IFREG | 0o4755, 1, 2, (0, 0), b"text"))
        self.assertEqual(entries["a/link"][4], b"../x")
        self.assertEqual(entries["dev/null"][:4],
                         (stat.S_IFCHR | 0o666, 0, 0, (1, 3)))
        inodes = [entry[5] for entry in entries.values()]
        self.assertEqual(len(set(inodes)), len(inodes))

    def test_hard_links_share_an_inode_and_the_last_has_the_content(self):
        archive = Archive()
        archive.cpio.stream(["x", "y"], io.BytesIO(b"data"), 4)
        entries = archive.entries()
        self.assertEqual(entries["x"][5:], entries["y"][5:])
        self.assertEqual(entries["x"][6], 2)
        self.assertEqual((entries["x"][4], entries["y"][4]), (b"", b"data"))

    def test_refused(self):
        for bad in ("../x", "a/../../x"):
            with self.assertRaises(PodvmError):
                Archive().cpio.data(bad, "")
        archive = Archive()
        archive.cpio.data("x", "")
        with self.assertRaises(PodvmError):
            archive.cpio.symlink("/x", "y")
        with self.assertRaises(PodvmError):  # the file got shorter
            archive.cpio.stream(["z"], io.BytesIO(b"12"), 3)

    def test_cpio_reads_it(self):
        with tempfile.TemporaryDirectory() as directory:
            archive = Archive()
            archive.cpio.directory("d", 0o1777)
            archive.cpio.stream(["d/x", "d/y"], io.BytesIO(b"12345"), 5)
            archive.cpio.symlink("l", "d/x")
            archive.cpio.finish()
            subprocess.run(["cpio", "-idm", "--quiet"], cwd=directory, check=True,
                           input=archive.out.getvalue())
            top = Path(directory)
            self.assertEqual((top / "l").read_bytes(), b"12345")
            self.assertTrue(os.path.samefile(top / "d/x", top / "d/y"))
            self.assertEqual(stat.S_IMODE((top / "d").stat().st_mode), 0o1777)


class References(unittest.TestCase):
    def test_normal_form(self):
        digest = "sha256:" + "a" * 64
        for reference, path in (
                ("busybox", "busybox/latest"),
                ("busybox:1.36", "busybox/1.36"),
                ("library/busybox", "busybox/latest"),
                ("docker.io/library/busybox:1", "busybox/1"),
                ("index.docker.io/library/busybox", "busybox/latest"),
                ("library/a/b", "library/a/b/latest"),
                ("docker.io/user/app", "user/app/latest"),
                ("reg.example:5000/a/b:v1", "reg.example:5000/a/b/v1"),
                ("localhost:5000/a", "localhost:5000/a/latest"),
                ("quay.io/library/x", "quay.io/library/x/latest"),
                (f"a@{digest}", f"a/{digest.replace(':', '-')}"),
                (f"a:tag@{digest}", f"a/{digest.replace(':', '-')}")):
            with self.subTest(reference):
                self.assertEqual(image.store_path(reference), path)

    def test_refused(self):
        for bad in ("", "UPPER", "a//b", "../a", "a/..", "a:", ":tag", "a b", "/a", "a/",
                    "a:../x", "a@sha256:zz", "a..b/c", "a\n"):
            with self.subTest(bad), self.assertRaises(PodvmError):
                image.store_path(bad)


class Images(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = Path(directory.name)

    def write(self, source, **options):
        archive = Archive()
        image.Image("img", source, **options).write(archive.cpio)
        base = image.STORE.strip("/") + "/img/latest/"
        return {name.removeprefix(base): entry
                for name, entry in archive.entries().items() if name.startswith(base)}

    def test_directory_with_config(self):
        (self.top / "rootfs/bin").mkdir(parents=True)
        (self.top / "rootfs/bin/a").write_text("A")
        os.link(self.top / "rootfs/bin/a", self.top / "rootfs/b")
        (self.top / "rootfs/l").symlink_to("/bin/a")
        os.mkfifo(self.top / "rootfs/p")
        (self.top / "config.json").write_text('{"config": {"Cmd": ["x"]}}')
        entries = self.write(self.top)
        self.assertEqual(json.loads(entries["config.json"][4]),
                         {"config": {"Cmd": ["x"]}})
        self.assertEqual(entries["rootfs/b"][5], entries["rootfs/bin/a"][5])
        self.assertEqual(entries["rootfs/l"][4], b"/bin/a")
        self.assertTrue(stat.S_ISFIFO(entries["rootfs/p"][0]))
        self.assertEqual(entries["rootfs/bin/a"][1:3], (0, 0))

    def test_plain_root_directory_gets_a_config(self):
        (self.top / "etc").mkdir()
        entries = self.write(self.top)
        self.assertIn("rootfs/etc", entries)
        self.assertEqual(json.loads(entries["config.json"][4])["config"]["Cmd"],
                         ["/bin/sh"])

    def tar(self, members):
        path = self.top / "image.tar"
        with tarfile.open(path, "w:gz") as tar:
            for name, kind, value in members:
                info = tarfile.TarInfo(name)
                info.type, info.uid, info.mode = kind, 7, 0o640
                data = None
                if kind == tarfile.REGTYPE:
                    info.size, data = len(value), io.BytesIO(value)
                else:
                    info.linkname = value
                tar.addfile(info, data)
        return path

    def test_tar(self):
        entries = self.write(self.tar([
            ("./bin/x", tarfile.REGTYPE, b"data"), ("./bin/y", tarfile.LNKTYPE, "./bin/x"),
            ("./bin", tarfile.DIRTYPE, ""), ("./l", tarfile.SYMTYPE, "../../out")]))
        self.assertEqual(entries["rootfs/bin/y"][4], b"data")
        self.assertEqual(entries["rootfs/bin/x"][5], entries["rootfs/bin/y"][5])
        self.assertEqual(entries["rootfs/bin"][1], 7)  # though it came last
        self.assertEqual(entries["rootfs/l"][4], b"../../out")

    def test_tar_that_climbs_out_is_refused(self):
        path = self.tar([("../../../../init", tarfile.REGTYPE, b"evil")])
        with self.assertRaises(PodvmError):
            self.write(path)

    def test_tar_with_a_link_to_nothing_is_refused(self):
        path = self.tar([("x", tarfile.LNKTYPE, "absent")])
        with self.assertRaisesRegex(PodvmError, "absent"):
            self.write(path)

    def test_saved_image_is_refused_with_a_hint(self):
        path = self.tar([("manifest.json", tarfile.REGTYPE, b"[]")])
        with self.assertRaisesRegex(PodvmError, "export"):
            self.write(path)

    def test_bad_sources(self):
        (self.top / "text").write_text("no tar")
        with self.assertRaises(PodvmError):
            self.write(self.top / "absent")
        with self.assertRaises(PodvmError):
            self.write(self.top / "text")
        (self.top / "rootfs").mkdir()
        (self.top / "config.json").write_text("{")
        with self.assertRaisesRegex(PodvmError, "config.json"):
            self.write(self.top)


class Modules(unittest.TestCase):
    """With made-up modules: depmod makes fresh tables of the chosen ones."""

    def test_subset_has_dependencies_and_only_them(self):
        with tempfile.TemporaryDirectory() as directory:
            tree = Path(directory) / "lib/modules/1.0"
            (tree / "kernel").mkdir(parents=True)
            for name in ("a-b", "c", "d"):
                (tree / f"kernel/{name}.ko").write_bytes(b"")
            (tree / "modules.dep").write_text(
                "kernel/a-b.ko: kernel/c.ko\nkernel/c.ko:\nkernel/d.ko:\n")
            subset = kernel.module_subset(kernel.Kernel("image", tree),
                                          ["a_b", "not_there"], directory)
            self.assertEqual(sorted(path.name for path in subset.rglob("*.ko")),
                             ["a-b.ko", "c.ko"])
            self.assertTrue((subset / "modules.dep").exists())


class GuestMachine(unittest.TestCase):
    def test_the_user_s_words_stay(self):
        mine = {"modules": ["overlay", "dummy"], "control": {"vsockPort": -1}}
        machine = initramfs.guest_machine(mine, ["p"], True)
        self.assertEqual(machine["modules"][:2], ["overlay", "dummy"])
        self.assertEqual(machine["modules"].count("overlay"), 1)
        self.assertEqual(machine["control"], {"vsockPort": -1, "ports": ["p"]})
        self.assertTrue(machine["debugExit"])
        self.assertEqual(mine["control"], {"vsockPort": -1})

    def test_null_is_absent(self):
        machine = initramfs.guest_machine({"modules": None, "control": None}, ["p"], True)
        self.assertIn("overlay", machine["modules"])
        self.assertEqual(machine["control"], {"ports": ["p"]})

    def test_wrong_types_are_left_to_podinit(self):
        machine = initramfs.guest_machine({"modules": 5, "control": []}, ["p"], True)
        self.assertEqual((machine["modules"], machine["control"]), (5, []))


class Report(unittest.TestCase):
    def log(self, *messages):
        out = io.StringIO()
        printer = report.LogPrinter(out, ["pod/long-name"])
        for seq, line, more in messages:
            data = {"namespace": "default", "pod": "pod", "member": "m", "attempt": 0,
                    "stream": "stdout", "line": line, **more}
            printer.event({"seq": seq, "data": data})
        printer.end()
        return out.getvalue()

    def test_repeats_are_dropped_and_parts_joined(self):
        self.assertEqual(
            self.log((1, "a", {}), (2, "b", {"partial": True}), (2, "b", {}),
                     (3, "c", {}), (1, "a", {}), (4, "end", {"partial": True})),
            "pod/m         | a\npod/m         | bc\npod/m         | end\n")

    def test_no_escape_reaches_the_terminal(self):
        self.assertNotIn("\033", self.log((1, "\033[2J", {})))

    def test_exit_status(self):
        def final(outcome, code, *pods):
            return {"outcome": outcome, "exitCode": code, "pods": [
                {"phase": phase, "members": [{"exitCode": c} for c in codes]}
                for phase, codes in pods]}
        for expected, value in (
                (0, final("succeeded", 0)),
                (0, final("succeeded", 0, ("Succeeded", [0, 0]))),
                (0, final("shutdown", 0)),
                (3, final("failed", 3, ("Succeeded", [9]), ("Failed", [0, 3, 4]))),
                (1, final("failed", 0, ("Failed", []))),
                (1, final("failed", 1, ("Failed", [None]))),
                (143, final("shutdown", 0, ("Failed", [143]))),
                (125, final("boot-failed", 125))):
            with self.subTest(value):
                self.assertEqual(report.exit_status(value), expected)

    def test_names_of_unreadable_manifests_are_skipped(self):
        good = {"metadata": {"name": "p", "namespace": "n"},
                "spec": {"containers": [{"name": "c"}]}}
        texts = [("a", b"{"), ("b", b"[]"), ("c", b'{"kind": "List"}'),
                 ("d", json.dumps({"kind": "List", "items": [good]}).encode())]
        self.assertEqual(report.manifest_names(texts), ["n/p/c"])


class Console(unittest.TestCase):
    def test_final_line_is_found_in_pieces_and_behind_other_text(self):
        console = qemu.Console()
        for piece in (b"boot\r\n[  1.0] x podinit-fin", b'al: {"outcome"', b": 1}\r\n",
                      b"tail"):
            console.feed(piece)
        console.end()
        self.assertEqual(console.final_text, '{"outcome": 1}')
        self.assertEqual(console.lines[-1], "tail")

    def test_a_cut_final_line_is_no_outcome(self):
        whole = b'podinit-final: {"outcome":"failed","exitCode":125,"pods":[]}'
        for length in range(len(whole)):
            console = qemu.Console()
            console.feed(whole[:length])
            console.end()
            ended = types.SimpleNamespace(_console=console)
            self.assertIsNone(run.Run._final(ended), whole[:length])


class ChannelTest(unittest.TestCase):
    def setUp(self):
        ours, self.peer = socket.socketpair()
        self.addCleanup(self.peer.close)
        self.events, self.replies = [], []
        self.channel = channel.Channel(ours.detach(), self.events.append)
        self.addCleanup(self.channel.close)

    def test_answers_events_and_noise(self):
        self.channel.send("one", {"a": 1}, self.replies.append)
        self.channel.send("two", answer=self.replies.append)
        sent = [json.loads(line) for line in self.peer.recv(4096).splitlines()]
        self.assertEqual(sent, [{"execute": "one", "id": 1, "arguments": {"a": 1}},
                                {"execute": "two", "id": 2}])
        self.peer.sendall(b'half}\n\xff{"return": 2, "id": 2}\r\n{"event": "E"}\n[1]\n'
                          b'{"error": {}, "id": 1}\n{"return": 9, "id": 1}\n{"retu')
        self.channel.read()
        self.assertEqual(self.replies, [{"return": 2, "id": 2}, {"error": {}, "id": 1}])
        self.assertEqual(self.events, [{"event": "E"}, {"return": 9, "id": 1}])

    def test_a_peer_that_goes_is_an_end_and_no_error(self):
        self.peer.sendall(b'{"event": "last"}\n')
        self.peer.close()
        self.channel.send("too-late")
        self.channel.read()
        self.channel.read()
        self.assertTrue(self.channel.closed)
        self.assertEqual(self.events, [{"event": "last"}])


class Command(unittest.TestCase):
    def test_commas_in_paths_are_doubled(self):
        self.assertEqual(qemu.path_option("/a,b"), "path=/a,,b")


if __name__ == "__main__":
    unittest.main()
