# SPDX-License-Identifier: Apache-2.0
"""podvm run, as a person types it: output, exit status, Ctrl-C, time-out."""

import fcntl
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from guest import container, pod
from harness import BUILD, BUSYBOX, ROOT

RUN_S = 120


class PodvmTest(unittest.TestCase):
    def setUp(self):
        self.output = ""
        lock = open(BUILD / "vm.lock", "w")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        directory = tempfile.TemporaryDirectory(prefix="podinit-podvm-")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def describe(self):
        return self.output

    def argv(self, *arguments):
        return [sys.executable, str(ROOT / "rootfs" / "podvm"), "run",
                "--image", f"busybox={BUSYBOX}", *map(str, arguments)]

    def podvm(self, *arguments):
        done = subprocess.run(self.argv(*arguments), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=RUN_S, check=False)
        self.output = done.stdout + done.stderr
        return done

    def manifest(self, manifest):
        path = self.directory / f"{manifest['metadata']['name']}.json"
        path.write_text(json.dumps(manifest))
        return path

    def start_until(self, marker, *arguments):
        """A running podvm whose guest has printed marker."""
        process = subprocess.Popen(self.argv(*arguments), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            deadline = time.monotonic() + RUN_S
            while marker not in self.output:
                self.assertTrue(selector.select(max(0, deadline - time.monotonic())),
                                f"no '{marker}'")
                data = os.read(process.stdout.fileno(), 65536)
                self.assertTrue(data, f"podvm ended without '{marker}'")
                self.output += data.decode()
        return process

    def finish(self, process):
        rest, _ = process.communicate(timeout=RUN_S)
        self.output += rest.decode()
        return process.returncode

    def test_hello_example(self):
        done = self.podvm("--machine", ROOT / "examples" / "machine.json",
                          ROOT / "examples" / "hello.json")
        self.assertEqual(done.returncode, 0)
        lines = done.stdout.splitlines()
        self.assertIn("hello/prepare | preparing on hello", lines)
        self.assertIn("hello/writer  | failing once", lines)
        self.assertIn("hello/writer  | second try", lines)
        self.assertIn("hello/reader  | the writer says: hello to the other member", lines)
        self.assertLess(lines.index("hello/prepare | preparing on hello"),
                        lines.index("hello/writer  | failing once"))
        table = [line.split() for line in lines]
        self.assertIn(["hello", "Succeeded", "prepare", "0", "Completed"], table)
        self.assertIn(["writer", "0", "Completed"], table)

    def test_exit_status_is_first_failure_and_json_is_one_object(self):
        good = self.manifest(pod("good", container("main", "echo fine")))
        bad = self.manifest(pod("bad", container("first", "exit 0"),
                                container("second", "echo oops >&2; exit 42")))
        done = self.podvm("-o", "json", good, bad)
        self.assertEqual(done.returncode, 42)
        result = json.loads(done.stdout)
        self.assertEqual(result["outcome"], "failed")
        self.assertEqual(result["exitStatus"], 42)
        self.assertEqual([(p["name"], p["phase"]) for p in result["pods"]],
                         [("good", "Succeeded"), ("bad", "Failed")])
        self.assertIn("bad/second | oops", done.stderr)

    def test_interrupt_shuts_the_guest_down(self):
        manifest = self.manifest(pod("sleeper", container(
            "main", "trap 'echo told to stop; exit 0' TERM; echo up; sleep 1000 & wait")))
        process = self.start_until("| up", manifest)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process), 128 + signal.SIGINT)
        self.assertIn("| told to stop", self.output)

    def test_timeout(self):
        manifest = self.manifest(pod("sleeper", container("main", "echo up; sleep 1000"),
                                     terminationGracePeriodSeconds=1))
        done = self.podvm("--timeout", "15", manifest)
        self.assertEqual(done.returncode, 124)
        self.assertIn("stopping the guest", done.stderr)

    def test_guest_dies_with_podvm(self):
        """SIGKILL leaves podvm no chance to tidy up; the kernel does it."""
        manifest = self.manifest(pod("sleeper", container("main", "echo up; sleep 1000")))
        process = self.start_until("| up", manifest)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        qemu = os.pidfd_open(int(children.split()[0]))
        self.addCleanup(os.close, qemu)
        process.kill()
        with selectors.DefaultSelector() as selector:
            selector.register(qemu, selectors.EVENT_READ)
            self.assertTrue(selector.select(30), "QEMU outlived podvm")

    def test_panic_is_no_outcome(self):
        manifest = self.manifest(pod("any", container("main", "exit 0")))
        done = self.podvm("--append", "rdinit=/bin/absent init=/bin/absent", manifest)
        self.assertEqual(done.returncode, 126)
        self.assertIn("without an outcome", done.stderr)
        self.assertIn("panic", done.stderr)

    def test_refused_manifest_starts_nothing(self):
        path = self.directory / "bad.json"
        path.write_text('{"apiVersion": "v1", "kind": "Pod", "spec": {}')
        done = self.podvm(path)
        self.assertEqual(done.returncode, 125)
        self.assertIn("bad.json", done.stderr)
