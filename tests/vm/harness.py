# SPDX-License-Identifier: Apache-2.0
"""A virtual machine for tests: boots once, serves several cases.

A boot takes some seconds without KVM, so a test class boots in setUpClass and its tests
share the guest.
"""

import fcntl
import json
import os
import shutil
import tempfile
import time
import unittest
from pathlib import Path

from guest import Guest
from podvm_lib import initramfs, kernel, qemu
from podvm_lib.channel import RESYNC, connect
from podvm_lib.image import Image

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PODVM_BUILD") or ROOT / "build").resolve()
BUSYBOX = BUILD / "images" / "busybox"

BOOT_S = 90      # a slow machine without KVM; usually 4 s
SHUTDOWN_S = 60
CONSOLE_SHOWN = 60  # lines, when a test fails


class VM(Guest):
    """manifests: objects, or (file name, bytes) for broken ones; machine: machine.json;
    serial: a second serial line, ttyS1, whose host end is serial_path.

    Two VMs at a time would only slow each other down, and the tests' deadlines are for
    one: a lock file keeps them apart.
    """

    def __init__(self, manifests=(), machine=None, images=None, files=(), memory=512,
                 cpus=2, append="", serial=False, forwards=None):
        super().__init__()
        self.exit_status = None
        self.qmp_events = []
        self.qemu = None
        self._directory = Path(tempfile.mkdtemp(prefix="podinit-vm-"))
        self._lock = open(BUILD / "vm.lock", "w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            self._start(manifests, machine, images, files, memory, cpus, append, serial,
                        forwards)
        except BaseException:
            self.close()
            raise

    def _start(self, manifests, machine, images, files, memory, cpus, append, serial,
               forwards):
        texts = [entry if isinstance(entry, tuple) else
                 (f"{entry['metadata']['name']}.json", json.dumps(entry).encode())
                 for entry in manifests]
        images = {"busybox": BUSYBOX} if images is None else images
        guest_kernel = kernel.cloud_kernel()
        target = self._directory / "initramfs.cpio"
        contents = initramfs.Contents(
            machine, texts, [Image(name, source) for name, source in images.items()],
            files)
        initramfs.build(target, contents, guest_kernel)
        self.serial_path = self._directory / "serial.sock"
        arguments = [
            "-chardev", f"socket,id=serial,path={self.serial_path},server=on,wait=off",
            "-serial", "chardev:serial"] if serial else []
        self.qemu = qemu.Qemu(
            qemu.Machine(guest_kernel.image, target, memory, cpus, append, arguments,
                         forwards),
            self._directory)
        self._attach_console(self.qemu.console)
        self.channel = connect(self.qemu.control_path, self._message)
        self._attach_channel(self.channel)
        self.channel.send_raw(RESYNC)
        self._qmp = connect(self.qemu.qmp_path, self.qmp_events.append)
        self._attach_channel(self._qmp)
        self._qmp.send("qmp_capabilities")

    def wait_ready(self):
        """Until podinit answers. With a subscription to all it has."""
        self.command("podinit-info", timeout=BOOT_S)
        self.subscribe()

    def reconnect(self, pause_s=0):
        """The host's end of the port is closed and opened again, as by a new client."""
        self._selector.unregister(self.channel)
        self.channel.close()
        time.sleep(pause_s)
        self.channel = connect(self.qemu.control_path, self._message)
        self._attach_channel(self.channel)
        self.channel.send_raw(RESYNC)

    def qmp(self, command, **arguments):
        """A command to QEMU, not to the guest."""
        self._qmp.send(command, arguments or None)

    def ctrl_alt_del(self):
        self.qmp("send-key", keys=[{"type": "qcode", "data": key}
                                   for key in ("ctrl", "alt", "delete")])

    def wait_end(self, timeout=SHUTDOWN_S):
        """Until QEMU has ended. The code the guest wrote to its debug exit, None when
        it powered off without."""
        self.wait_until(lambda: not self._console_open, "end of the VM", timeout)
        status = self.qemu.process.wait(timeout)
        self.exit_status = status >> 1 if status & 1 else None
        return self.exit_status

    def close(self):
        if self.qemu:
            self.qemu.stop()
        self._lock.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def qemu_says(self):
        """How QEMU is, and its own words: an empty console does not tell."""
        if not self.qemu:
            return "not started"
        status = self.qemu.process.poll()
        state = "runs" if status is None else f"ended with {status}"
        try:
            return f"{state}; {self.qemu.errors() or 'said nothing'}"
        except OSError:
            return state

    def describe(self):
        lines = self.console.lines[-CONSOLE_SHOWN:]
        return "\n".join([f"QEMU: {self.qemu_says()}", "console:"] +
                         ["  | " + line for line in lines] +
                         ["events: " + json.dumps(event) for event in self.events[-20:]])


class VMCase(unittest.TestCase):
    """One boot for all tests of the class; a class says what with vm_options()."""

    vm = None

    @classmethod
    def vm_options(cls):
        return {}

    @classmethod
    def setUpClass(cls):
        cls.vm = VM(**cls.vm_options())
        try:
            cls.vm.wait_ready()
        except BaseException:
            print(cls.vm.describe())
            cls.vm.close()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.vm.close()

    def describe(self):
        return self.vm.describe()
