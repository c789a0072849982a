# SPDX-License-Identifier: Apache-2.0
"""Whether KVM carries a guest: QEMU is a script here that does what broken ones did."""

import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from podvm_lib import PodvmError, accel

GOOD = "exit 0"
ABORTS = "echo 'Assertion failed' >&2; kill -ABRT $$"
STANDS_STILL = "echo 'KVM internal error. Suberror: 1' >&2; exec sleep 1000"
HANGS = "exec sleep 1000"


class Accelerator(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.kernel = self.directory / "vmlinuz"
        self.kernel.touch()
        self.environment = {"PATH": f"{self.directory}:{os.environ['PATH']}",
                            "PODVM_CACHE": str(self.directory / "cache"), "PODVM_ACCEL": ""}
        self.runs = self.directory / "runs"

    def decide(self, script, **environment):
        """What is decided with such a QEMU, and what was said of it."""
        qemu = self.directory / "qemu-system-x86_64"
        qemu.write_text(f"#!/bin/sh\necho >>{self.runs}\n{script}\n")
        qemu.chmod(0o755)
        accel._kvm_works.cache_clear()
        said = io.StringIO()
        with mock.patch.dict(os.environ, {**self.environment, **environment}), \
             mock.patch.object(os, "access", return_value=True), \
             mock.patch.object(accel, "PROBE_S", 1), contextlib.redirect_stderr(said):
            return accel.accelerator(self.kernel), said.getvalue()

    def test_good_one_is_asked_once(self):
        self.assertEqual(self.decide(GOOD), ("kvm", ""))
        stamp = os.stat(self.directory / "qemu-system-x86_64").st_mtime_ns
        write_text = Path.write_text
        with mock.patch.object(Path, "write_text", autospec=True) as write:
            def same_qemu(path, text, *args):
                write_text(path, text, *args)
                os.utime(path, ns=(stamp, stamp))
            write.side_effect = same_qemu
            self.assertEqual(self.decide(ABORTS), ("kvm", ""))
        self.assertEqual(self.runs.read_text(), "\n")

    def test_another_qemu_is_asked_again(self):
        self.assertEqual(self.decide(GOOD)[0], "kvm")
        accelerator, said = self.decide(ABORTS)
        self.assertEqual(accelerator, "tcg")
        self.assertIn("QEMU ended with -6", said)

    def test_internal_error(self):
        accelerator, said = self.decide(STANDS_STILL)
        self.assertEqual(accelerator, "tcg")
        self.assertIn("KVM internal error", said)

    def test_no_end(self):
        accelerator, said = self.decide(HANGS)
        self.assertEqual(accelerator, "tcg")
        self.assertIn("no end after 1 s", said)

    def test_the_last_word(self):
        self.assertEqual(self.decide(GOOD, PODVM_ACCEL="tcg"), ("tcg", ""))
        self.assertEqual(self.decide(ABORTS, PODVM_ACCEL="kvm"), ("kvm", ""))
        self.assertFalse(self.runs.exists())
        with self.assertRaisesRegex(PodvmError, "PODVM_ACCEL: xen is none of kvm, tcg"):
            self.decide(GOOD, PODVM_ACCEL="xen")

    def test_broken_cache(self):
        (self.directory / "cache").mkdir()
        for text in ("", "[]", "{", '{"key": 1, "works": "yes"}'):
            (self.directory / "cache/kvm.json").write_text(text)
            self.assertEqual(self.decide(GOOD)[0], "kvm")
