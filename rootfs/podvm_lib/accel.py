# SPDX-License-Identifier: Apache-2.0
"""KVM, or emulation: what QEMU can do on this host.

That /dev/kvm can be opened says little. In a VM that cannot nest well QEMU dies of a
register that the kernel offers and then refuses, or stops at an instruction. So the
kernel is booted once without an initramfs: it panics, and "panic=-1" with "-no-reboot"
ends QEMU well. What came out is kept in the cache until the host boots anew, or QEMU or
the kernel is another.
"""

import functools
import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path

from . import PodvmError, paths

PROBE_S = 20  # half a second on a good one
BROKEN = b"KVM internal error"  # QEMU's own word; the guest stands still then
CHOICES = ("kvm", "tcg")


def accelerator(kernel):
    """The value of QEMU's -accel for a guest with this kernel image. PODVM_ACCEL has the
    last word."""
    wanted = os.environ.get("PODVM_ACCEL")
    if wanted:
        if wanted not in CHOICES:
            raise PodvmError(f"PODVM_ACCEL: {wanted} is none of {', '.join(CHOICES)}")
        return wanted
    return "kvm" if _kvm_works(str(kernel)) else "tcg"


def named():
    """Without a trial: what a command line that is run elsewhere begins with."""
    return "kvm" if os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg"


@functools.cache
def _kvm_works(kernel):
    if named() == "tcg":
        return False
    key = _key(kernel)
    known = _read_cache()
    if known.get("key") == key:
        return known["works"]
    why = probe(kernel)
    if why:
        print(f"podvm: /dev/kvm does not carry a guest here ({why}): QEMU emulates",
              file=sys.stderr)
    _write_cache({"key": key, "works": not why})
    return not why


def probe(kernel):
    """Boots it. None when all is well, else a few words."""
    argv = [paths.tool("qemu-system-x86_64"), "-M", "q35", "-accel", "kvm", "-cpu", "max",
            "-m", "256", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-kernel", kernel, "-append", "quiet panic=-1"]
    # The guest stands still after an internal error: the first words of QEMU tell.
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as qemu:
        try:
            errors = _errors_until_end(qemu)
        except subprocess.TimeoutExpired:
            return f"no end after {PROBE_S} s"
        finally:
            qemu.kill()
    if BROKEN in errors:
        return "KVM internal error"
    return None if qemu.returncode == 0 else f"QEMU ended with {qemu.returncode}"


def _errors_until_end(qemu):
    errors = b""
    end = time.monotonic() + PROBE_S
    with selectors.DefaultSelector() as selector:
        selector.register(qemu.stderr, selectors.EVENT_READ)
        while BROKEN not in errors:
            if not selector.select(max(0, end - time.monotonic())):
                raise subprocess.TimeoutExpired(qemu.args, PROBE_S)
            data = os.read(qemu.stderr.fileno(), 65536)
            if not data:
                qemu.wait(max(0.1, end - time.monotonic()))
                break
            errors += data
    return errors


def _key(kernel):
    qemu = paths.tool("qemu-system-x86_64")
    stamps = [f"{path} {os.stat(path).st_mtime_ns}" for path in (qemu, kernel)]
    return " ".join([Path("/proc/sys/kernel/random/boot_id").read_text().strip(), *stamps])


def _cache_file():
    return paths.cache_dir() / "kvm.json"


def _read_cache():
    try:
        known = json.loads(_cache_file().read_text())
        return known if isinstance(known.get("works"), bool) else {}
    except (OSError, ValueError, AttributeError):
        return {}


def _write_cache(known):
    """A cache that cannot be written costs the next run its probe."""
    path = _cache_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(known))
        temporary.replace(path)
    except OSError:
        pass
