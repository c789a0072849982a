# SPDX-License-Identifier: Apache-2.0
"""podvm as a person meets it, without a boot: what it refuses, says and leaves behind."""

import contextlib
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

from podvm_lib import check, cli, image, kernel, os_text, qemu, run, scratch


class CommandLine(unittest.TestCase):
    """podvm up to the boot, which none of these gets to."""

    GOOD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "m", "image": "busybox"}]}}

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = Path(directory.name)
        self.good = self.file("good.json", json.dumps(self.GOOD))
        (self.top / "root").mkdir()
        self.kernel = self.file("bzImage", "kernel")

    def file(self, name, text):
        path = self.top / name
        path.write_text(text)
        return str(path)

    def podvm(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
                mock.patch.object(run, "protect_output"), \
                mock.patch.object(cli.kernel, "cloud_kernel",
                                  lambda: kernel.Kernel(self.kernel)), \
                mock.patch.object(qemu, "Qemu", side_effect=AssertionError("booted")):
            try:
                status = cli.main([*map(str, arguments)])
            except SystemExit as end:
                status = end.code
        self.assertNotIn("Errno", err.getvalue())
        return status, out.getvalue(), err.getvalue()

    def test_machine_file_is_checked_under_the_user_s_name(self):
        machine = self.file("mine.json", '{"bogus": 1}')
        status, _, err = self.podvm("run", "--machine", machine, self.good)
        self.assertEqual(status, 125)
        self.assertRegex(err, f"^{machine}:1:[0-9]+: /bogus: unknown field")
        self.assertIn("podvm: the machine file is refused; nothing was started", err)

    def test_errors_of_manifests_have_the_user_s_path(self):
        bad = self.file("bad.json", "{")
        status, _, err = self.podvm("run", self.good, bad)
        self.assertEqual(status, 125)
        self.assertTrue(err.startswith(f"{bad}:1:"), err)

    def test_image_that_is_not_given(self):
        status, _, err = self.podvm("run", "--image", f"bsybox={self.top}/root", self.good)
        self.assertEqual((status, err), (125, (
            'podvm: pod web: image "busybox:latest" is not given; '
            "--image has: bsybox:latest\n")))
        status, _, err = self.podvm("run", self.good)
        self.assertIn('image "busybox:latest" is not given; there is no --image', err)

    def test_run_needs_a_manifest_or_a_channel(self):
        status, _, err = self.podvm("run")
        self.assertEqual(status, 2)
        self.assertIn("MANIFEST", err)

    def test_os_errors_and_forms(self):
        absent = self.top / "absent"
        for arguments in (["run", absent], ["run", "--machine", absent, self.good]):
            status, _, err = self.podvm(*arguments)
            self.assertEqual((status, err),
                             (125, f"podvm: {absent}: No such file or directory\n"))
        _, _, err = self.podvm("run", "--image", "x", self.good)
        self.assertEqual(err, "podvm: --image x: must be NAME[:TAG]=SOURCE\n")
        self.assertEqual(os_text(OSError(2, "No such", "a")), "a: No such")
        self.assertEqual(os_text(ValueError("bad")), "bad")

    def test_bad_image_sources(self):
        text = self.file("text", "no tar")
        _, _, err = self.podvm("run", "--image", f"busybox={text}", self.good)
        self.assertEqual(err, f"podvm: image busybox: {text}: "
                              "neither a directory nor a tar archive\n")
        _, _, err = self.podvm("run", "--image", f"busybox={self.top}/root",
                               "--image-config", f"busybox={self.top}/no", self.good)
        self.assertEqual(err, f"podvm: image busybox: {self.top}/no: "
                              "No such file or directory\n")

    def test_build_says_what_to_do_with_it(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.top)
        with mock.patch.object(qemu.paths, "tool", lambda name: name):
            status, out, err = self.podvm("build", "-d", "out", "--kernel", self.kernel,
                                          self.good)
        self.assertEqual(status, 0, err)
        words = shlex.split(out)
        for option, name in (("-kernel", "vmlinuz"), ("-initrd", "initramfs.cpio")):
            path = Path(words[words.index(option) + 1])
            self.assertEqual((path.is_absolute(), path.name), (True, name))
            self.assertTrue(path.is_file())
        warning, talk, status, stop = err.splitlines()
        self.assertIn("is not given", warning)
        self.assertIn(f"podctl -s {os.getcwd()}/out/control.sock list", talk)
        self.assertIn("2 x the guest's code + 1", status)
        self.assertIn("poweroff", stop)


class MissingImages(unittest.TestCase):
    def missing(self, spec, machine=None, *given):
        text = json.dumps({"kind": "List", "items": [
            {"metadata": {"name": "p"}, "spec": spec}]}).encode()
        images = [types.SimpleNamespace(reference=name, path=image.store_path(name))
                  for name in given]
        return check.missing_images([text], images, machine or {})

    def test_names_mean_the_same_in_all_their_forms(self):
        spec = {"containers": [{"image": "docker.io/library/a:1"}, {"image": "b"}]}
        self.assertEqual(self.missing(spec, None, "a:1", "b:latest"), [])

    def test_init_containers_count_and_repeats_do_not(self):
        spec = {"initContainers": [{"image": "x:2"}, {"image": "x:2"}],
                "containers": [{"image": "reg:5000/y"}]}
        self.assertEqual(self.missing(spec, None, "z"), [
            'pod p: image "x:2" is not given; --image has: z:latest',
            'pod p: image "reg:5000/y:latest" is not given; --image has: z:latest'])

    def test_another_place_for_images(self):
        spec = {"containers": [{"image": "x"}]}
        self.assertEqual(self.missing(spec, {"imageDir": "/data"}), [])
        self.assertEqual(len(self.missing(spec, {"imageDir": None})), 1)


class Scratch(unittest.TestCase):
    def test_killed_one_is_removed_and_live_one_stays(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        top = Path(directory.name)
        code = ("import sys, signal, os\n"
                "from podvm_lib import scratch\n"
                "with scratch.directory(sys.argv[1]) as path:\n"
                "    os.kill(os.getpid(), signal.SIGKILL)\n")
        rootfs = str(Path(scratch.__file__).parents[1])
        done = subprocess.run([sys.executable, "-c", code, top], check=False,
                              env={**os.environ, "PYTHONPATH": rootfs})
        self.assertEqual(done.returncode, -signal.SIGKILL)
        (stale,) = top.iterdir()
        foreign = top / "podvm-of-somebody"  # no lock of ours in it
        foreign.mkdir()
        with scratch.directory(top) as live:
            self.assertFalse(stale.exists())
            with scratch.directory(top):
                self.assertTrue(live.exists())
        self.assertEqual(list(top.iterdir()), [foreign])


class Ends(unittest.TestCase):
    """Run with a made-up QEMU: signals, last words, exit status."""

    def run_of(self, final=None, errors=b""):
        process = mock.Mock()
        process.poll.return_value = None
        guest = types.SimpleNamespace(process=process, kill=mock.Mock())
        options = types.SimpleNamespace(output="text", timeout=None, verbose=False,
                                        control="/x.sock")
        one = run.Run(guest, options, [])
        self.addCleanup(one._selector.close)
        one._booted = True
        one._channel = mock.Mock()
        one._console.feed(errors)
        if final:
            one._console.feed(b"podinit-final: " + json.dumps(final).encode() + b"\n")
        return one

    def said(self, function, *arguments):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            result = function(*arguments)
        return result, err.getvalue()

    def interrupt(self, one):
        wake = types.SimpleNamespace(recv=lambda _: bytes([signal.SIGINT]))
        return self.said(one._signals, wake)[1]

    def test_second_signal_kills(self):
        one = self.run_of()
        self.interrupt(one)
        one._qemu.kill.assert_not_called()
        self.assertEqual(self.interrupt(one), "podvm: guest killed\n")
        one._qemu.kill.assert_called_once_with()
        self.assertEqual(one._outcome(-9), 137)

    def test_one_signal_is_130(self):
        one = self.run_of({"outcome": "shutdown", "pods": []})
        self.interrupt(one)
        self.assertEqual(one._outcome(1), 130)

    def test_failed_boot_says_why(self):
        one = self.run_of({"outcome": "boot-failed", "exitCode": 125, "pods": []},
                          b"x podinit: [   1.000002] error: no /data\r\n"
                          b"podinit: [   1.000003] warn: hm\nan error: of a member\n")
        self.assertEqual(self.said(one._outcome, 251),
                         (125, "podvm: podinit: no /data\n"))

    def test_channel_is_announced_when_the_guest_answers(self):
        _, err = self.said(self.run_of()._guest_answers, {"return": {}})
        self.assertEqual(err, "podvm: control channel ready: /x.sock\n")


if __name__ == "__main__":
    unittest.main()
