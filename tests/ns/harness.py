# SPDX-License-Identifier: Apache-2.0
"""podinit as PID 1 of new namespaces on this host: a boot takes a few milliseconds.

New user, mount, pid, uts, ipc, net and cgroup namespaces; a tmpfs as root; a cgroup of
its own. Root of the namespaces is root of the host (ids 0-65535 are mapped as they are,
so that the image needs no copy), but without power over what the namespaces do not own.
The init is a direct child: its exit status is podinit's exit code.
"""

import contextlib
import ctypes
import errno
import json
import os
import pty
import select
import shutil
import signal
import tempfile
import time
import tty
import unittest
from pathlib import Path

from guest import Guest
from podvm_lib import paths
from podvm_lib.channel import RESYNC, Channel, connect
from podvm_lib.image import STORE

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PODVM_BUILD") or ROOT / "build").resolve()
BUSYBOX = BUILD / "images" / "busybox"
NFT = BUILD / "podinit-nft"

# linux/sched.h
CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
NAMESPACES = (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC |
              CLONE_NEWNET)

# linux/mount.h
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
SYS_CLONE, SYS_PIVOT_ROOT = 56, 155  # x86-64
PR_SET_PDEATHSIG = 1

IDS = 65536
READY_S = 20
END_S = 60
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
CONSOLE_SHOWN = 60

_libc = ctypes.CDLL(None, use_errno=True)


def _call(function, *arguments):
    arguments = [os.fsencode(a) if isinstance(a, (str, Path)) else
                 ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments]
    result = getattr(_libc, function)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        names = [getattr(a, "value", a) for a in arguments]
        raise OSError(number, f"{function}{tuple(names)}: {os.strerror(number)}")
    return result


def _mount(source, target, kind, flags=0, data=None):
    _call("mount", source, target, kind, flags, data)


def _bind(source, target):
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="ascii"):
            pass
    # Recursive: a user namespace may not uncover what a submount hides.
    _mount(source, target, None, MS_BIND | MS_REC)


class Cgroup:
    """A subtree of the host's cgroup2 hierarchy for one podinit."""

    def __init__(self, name):
        self.path = self._mount_point() / name
        self.path.mkdir()
        # On a hybrid host some or all controllers belong to version 1.
        available = (self.path.parent / "cgroup.controllers").read_text().split()
        for controller in available:
            with contextlib.suppress(OSError):
                (self.path.parent / "cgroup.subtree_control").write_text(f"+{controller}")

    @staticmethod
    def _mount_point():
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            fields = line.split()
            if fields[fields.index("-") + 1] == "cgroup2":
                return Path(fields[4])
        raise unittest.SkipTest("this host has no cgroup2 mounted")

    def add(self, pid):
        (self.path / "cgroup.procs").write_text(str(pid))

    def remove(self):
        """Kills what is in it and waits for the kernel to see the last one go."""
        (self.path / "cgroup.kill").write_text("1")
        with open(self.path / "cgroup.events", encoding="ascii") as events:
            poll = select.poll()
            poll.register(events, select.POLLPRI)
            while "populated 1" in events.read():
                if not poll.poll(10000):
                    raise AssertionError(f"{self.path}: processes that do not die")
                events.seek(0)
        for path, _, _ in os.walk(self.path, topdown=False):
            os.rmdir(path)


class _Master:
    """Our end of a pty: read() as of a non-blocking file, the end is EIO."""

    def __init__(self, fd):
        self._fd = fd
        os.set_blocking(fd, False)

    def fileno(self):
        return self._fd

    def read(self, size):
        try:
            return os.read(self._fd, size)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return b""


class NS(Guest):
    """manifests: objects, or (file name, bytes) for broken ones; machine: machine.json;
    binds: [(host path, path in the guest)]; init: the program to run as PID 1; nft:
    with podinit-nft, when it was built."""

    _count = 0

    def __init__(self, manifests=(), machine=None, images=None, binds=(), init=None,
                 nft=True):
        super().__init__()
        NS._count += 1
        self._tree = None
        self._open = []
        self.pid = self.pidfd = None
        self.exit_status = None
        self._init = init or BUILD / "podinit"
        self._nft = nft
        self._images = {"busybox/latest": BUSYBOX} if images is None else images
        self._binds = list(binds)
        self._manifests = [
            entry if isinstance(entry, tuple) else
            (f"{entry['metadata']['name']}.json", json.dumps(entry).encode())
            for entry in manifests]
        # The port is a pty: it takes bytes before podinit has opened it, so its first
        # answer says that podinit is ready, without a look at the clock.
        self._machine = {"coldplug": False, "control": {"ports": ["/control"],
                                     "vsockPort": -1},
                         **(machine or {})}
        self.cgroup = Cgroup(f"podinit-test-{os.getpid()}-{NS._count}")
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    # ---- the child: from clone to exec of podinit ------------------------------------

    def _start(self):
        self._tree = tempfile.mkdtemp(prefix="podinit-ns-")
        console, console_slave = self._pty()
        port, port_slave = self._pty()
        names = [os.ttyname(console_slave), os.ttyname(port_slave)]
        go_read, go_write = os.pipe()
        fail_read, fail_write = os.pipe()
        parent = os.getpid()
        pid = _libc.syscall(SYS_CLONE, NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            self._child(parent, go_read, go_write, fail_write, console_slave, names)
        if pid < 0:
            raise OSError(ctypes.get_errno(), "clone: " + os.strerror(ctypes.get_errno()))
        self.pid, self.pidfd = pid, os.pidfd_open(pid)
        for fd in (go_read, fail_write, console_slave):
            os.close(fd)
        self._open.append(port_slave)  # keeps the line up until podinit has opened it
        self.cgroup.add(pid)
        Path(f"/proc/{pid}/uid_map").write_text(f"0 0 {IDS}")
        Path(f"/proc/{pid}/gid_map").write_text(f"0 0 {IDS}")
        os.write(go_write, b"g")
        os.close(go_write)
        with open(fail_read, "rb") as pipe:  # closed by exec, or says what went wrong
            failure = pipe.read().decode()
        if failure:
            raise AssertionError(f"namespaces: {failure}")
        self._attach_console(_Master(console))
        self.channel = Channel(os.dup(port), self._message)
        self._attach_channel(self.channel)

    def _pty(self):
        master, slave = pty.openpty()
        tty.setraw(slave)
        os.set_inheritable(slave, True)
        self._open.append(master)
        return master, slave

    def _child(self, parent, go_read, go_write, fail_write, console, ttys):
        try:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.close(go_write)
            if not os.read(go_read, 1):
                os._exit(1)
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            _call("unshare", CLONE_NEWCGROUP)
            self._make_root(ttys)
            os.setsid()
            for fd in (0, 1, 2):
                os.dup2(console, fd)
            os.closerange(3, fail_write)
            os.closerange(fail_write + 1, 1024)
            for number in (signal.SIGPIPE, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.execve("/sbin/podinit", ["podinit"], {})
        except BaseException as error:
            os.write(fail_write, repr(error).encode())
        finally:
            os._exit(1)

    def _make_root(self, ttys):
        tree = self._tree
        _mount("none", "/", None, MS_REC | MS_PRIVATE)
        _mount("tmpfs", tree, "tmpfs", 0, b"mode=755")
        for name, mode in (("proc", 0o555), ("sys", 0o555), ("dev", 0o755),
                           ("run", 0o755), ("tmp", 0o1777), ("etc/podinit/pods", 0o755),
                           ("var/log/pods", 0o755), ("root", 0o700)):
            os.makedirs(f"{tree}/{name}")
            os.chmod(f"{tree}/{name}", mode)
        _bind(self._init, f"{tree}/sbin/podinit")
        if self._nft and NFT.exists():
            for path in (NFT, *paths.shared_objects(NFT)):
                target = "/sbin/podinit-nft" if path == NFT else path
                _bind(os.path.realpath(path), f"{tree}{target}")
        for name, source in self._images.items():
            _bind(source, f"{tree}{STORE}/{name}")
        for source, target in self._binds:
            _bind(source, f"{tree}{target}")
        for name in DEVICES:
            _bind(f"/dev/{name}", f"{tree}/dev/{name}")
        _bind(ttys[0], f"{tree}/dev/console")
        _bind(ttys[1], f"{tree}/control")
        Path(f"{tree}/etc/podinit/machine.json").write_text(json.dumps(self._machine))
        for number, (name, data) in enumerate(self._manifests):
            Path(f"{tree}/etc/podinit/pods/{number:03}-{name}").write_bytes(data)
        # While the host's own are still in sight; later the kernel refuses new ones.
        _mount("proc", f"{tree}/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        _mount("sysfs", f"{tree}/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        _mount("cgroup2", f"{tree}/sys/fs/cgroup", "cgroup2",
               MS_NOSUID | MS_NODEV | MS_NOEXEC)
        os.chdir(tree)
        _call("syscall", SYS_PIVOT_ROOT, ".", ".")
        _call("umount2", ".", MNT_DETACH)
        os.chdir("/")

    # ---- the parent ------------------------------------------------------------------

    def path(self, name):
        """A path of the guest, seen from the host."""
        return f"/proc/{self.pid}/root{name}"

    @property
    def control_path(self):
        return self.path("/run/podinit/control.sock")

    def wait_ready(self):
        """Until podinit answers. The channel is the unix socket from then on."""
        self.channel.send_raw(RESYNC)
        self.command("podinit-info", timeout=READY_S)
        port = self.channel
        self._selector.unregister(port)
        port.close()
        self.channel = connect(self.control_path, self._message)
        self._attach_channel(self.channel)
        self.subscribe()

    def signal(self, number):
        """To PID 1, from the host."""
        signal.pidfd_send_signal(self.pidfd, number)

    def wait_end(self, timeout=END_S):
        """Until PID 1 has ended; its exit code, or minus the signal."""
        end = _Readable(self.pidfd)
        self._selector.register(end, select.EPOLLIN, lambda: end.fire(self._selector))
        self.wait_until(lambda: end.fired, "end of PID 1", timeout)
        self._reap()
        self.wait_until(lambda: not self._console_open, "end of the console", timeout)
        return self.exit_status

    def _reap(self):
        if self.exit_status is None:
            _, status = os.waitpid(self.pid, 0)
            self.exit_status = os.waitstatus_to_exitcode(status)

    def close(self):
        if self.pid and self.exit_status is None:
            self.signal(signal.SIGKILL)
            self._reap()
        self.cgroup.remove()
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None
        while self._open:
            os.close(self._open.pop())
        if self._tree:
            shutil.rmtree(self._tree, ignore_errors=True)

    def describe(self):
        lines = self.console.lines[-CONSOLE_SHOWN:]
        return "\n".join(["console:"] + ["  | " + line for line in lines] +
                         ["events: " + json.dumps(event) for event in self.events[-20:]])


class _Readable:
    """A pidfd in the selector: readable once the process has ended."""

    def __init__(self, fd):
        self._fd = fd
        self.fired = False

    def fileno(self):
        return self._fd

    def fire(self, selector):
        self.fired = True
        selector.unregister(self)


class NSCase(unittest.TestCase):
    """start() gives a podinit that is gone when the test ends."""

    guest = None

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root: id maps and a cgroup of its own")

    def start(self, manifests=(), ready=True, **options):
        start = time.monotonic()
        self.guest = NS(manifests, **options)
        self.addCleanup(self.guest.close)
        if ready:
            self.guest.wait_ready()
            self.boot_seconds = time.monotonic() - start
        return self.guest

    def describe(self):
        return self.guest.describe() if self.guest else ""
