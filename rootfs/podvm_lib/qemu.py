# SPDX-License-Identifier: Apache-2.0
"""The QEMU process: its command line, its life, its end.

QEMU dies with podvm, whatever podvm dies of: the kernel kills it (PR_SET_PDEATHSIG),
and stop() does so on every way out.
"""

import ctypes
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

from . import PodvmError, accel, os_text, paths
from .initramfs import EXTRA_PORT, PORT

DEBUG_EXIT_PORT = 0xF4
COMMAND_LINE = "console=ttyS0 quiet panic=-1"
PR_SET_PDEATHSIG = 1

CONSOLE_LINES_KEPT = 400


class Machine:
    """What the virtual machine is made of."""

    def __init__(self, kernel, initramfs, memory=512, cpus=1, append="",
                 arguments=(), forwards=None):
        self.kernel = kernel
        self.initramfs = initramfs
        self.memory = memory
        self.cpus = cpus
        self.append = append
        self.arguments = list(arguments)  # more of QEMU's own
        # None: no network. Else QEMU's user network, with these hostfwd rules.
        self.forwards = forwards


def command(machine, control, extra=None, qmp=None, accelerator=None):
    """control, extra, qmp: where the sockets are, "path=FILE" or "fd=NUMBER" of one that
    listens already. The guest's console is on standard input and output. accelerator:
    without one KVM, if it is here."""
    argv = [
        paths.tool("qemu-system-x86_64"), "-M", "q35",
        "-accel", accelerator or accel.named(), "-cpu", "max", "-m", str(machine.memory), "-smp", str(machine.cpus),
        "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
        "-kernel", str(machine.kernel), "-initrd", str(machine.initramfs),
        "-append", f"{COMMAND_LINE} {machine.append}".strip(),
        "-device", f"isa-debug-exit,iobase={DEBUG_EXIT_PORT:#x}",
        "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
        "-device", "virtio-serial-pci",
    ]
    if machine.forwards is not None:
        argv += ["-netdev", ",".join(["user", "id=net0"] +
                                     [f"hostfwd={rule}" for rule in machine.forwards]),
                 "-device", "virtio-net-pci,netdev=net0"]
    for name, port, where in (("control", PORT, control), ("extra", EXTRA_PORT, extra)):
        if where:
            argv += ["-chardev", f"socket,id={name},{where},server=on,wait=off",
                     "-device", f"virtserialport,chardev={name},name={port}"]
    if qmp:
        argv += ["-chardev", f"socket,id=qmp,{qmp},server=on,wait=off",
                 "-mon", "chardev=qmp,mode=control"]
    return argv + machine.arguments


def path_option(path):
    """A comma separates QEMU's options; doubled it is a comma."""
    return "path=" + str(path).replace(",", ",,")


def _die_with_parent(parent):
    """Between fork and exec of QEMU."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class Qemu:
    """A started QEMU. Its sockets listen before it starts, so nobody waits for them.

    console: the guest's console, a pipe to be read until its end.
    extra: path of the socket of the second control port, None for no such port.
    """

    def __init__(self, machine, directory, extra=None):
        self.directory = Path(directory)
        self.control_path = self.directory / "control.sock"
        self.qmp_path = self.directory / "qmp.sock"
        listeners = [_listen(self.control_path), _listen(self.qmp_path)]
        control, qmp = (f"fd={listener.fileno()}" for listener in listeners)
        if extra:
            listeners.append(_listen(extra))
            extra = f"fd={listeners[-1].fileno()}"
        self.argv = command(machine, control, extra, qmp, accel.accelerator(machine.kernel))
        self._errors = open(self.directory / "qemu.err", "wb+")
        parent = os.getpid()
        # Its own session: Ctrl-C is podvm's, who asks the guest first.
        self.process = subprocess.Popen(
            self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self._errors, start_new_session=True,
            pass_fds=[listener.fileno() for listener in listeners],
            preexec_fn=lambda: _die_with_parent(parent))
        for listener in listeners:
            listener.close()
        self.console = self.process.stdout
        os.set_blocking(self.console.fileno(), False)

    def errors(self):
        """What QEMU itself had to say."""
        return (self.directory / "qemu.err").read_text(errors="replace").strip()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()

    def stop(self):
        """Ends QEMU if it still runs, and frees everything. Returns its exit status."""
        self.kill()
        status = self.process.wait()
        self.console.close()
        self._errors.close()
        return status


def _listen(path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise PodvmError(f"{path}: {os_text(error)}") from None
    listener.listen(4)
    return listener


class Console:
    """The guest's console text, line by line; knows podinit's last words."""

    FINAL = "podinit-final: "
    ERROR = re.compile(r"podinit: \[ *[0-9]+\.[0-9]+\] error: ")

    def __init__(self, on_line=None, log=None):
        self.final_text = None
        self.lines = []
        self.errors = []  # podinit's own, the first ones
        self._rest = ""
        self._on_line = on_line
        self._log = log

    def feed(self, data):
        if self._log:
            self._log.write(data)
            self._log.flush()
        text = self._rest + data.decode(errors="replace").replace("\r", "")
        *lines, self._rest = text.split("\n")
        for line in lines:
            self._line(line)

    def end(self):
        if self._rest:
            self._line(self._rest)
            self._rest = ""

    def _line(self, line):
        at = line.find(self.FINAL)
        if at >= 0:
            self.final_text = line[at + len(self.FINAL):]
        error = self.ERROR.search(line)
        if error and len(self.errors) < CONSOLE_LINES_KEPT:
            self.errors.append(line[error.end():])
        self.lines.append(line)
        del self.lines[:-CONSOLE_LINES_KEPT]
        if self._on_line:
            self._on_line(line)
