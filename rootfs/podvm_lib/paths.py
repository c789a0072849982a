# SPDX-License-Identifier: Apache-2.0
"""Where podvm finds the guest's programs, the host's tools, and its cache.

In a checkout everything stands below build/. An installed podvm has its programs in
the neighbouring sbin and bin, and keeps its cache where XDG says.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import PodvmError

# Ordinary users often lack these in PATH; depmod lives there.
SYSTEM_DIRS = ("/usr/local/sbin", "/usr/sbin", "/sbin")

# The Debian package of each host tool, for the sentence that says what to do.
TOOL_PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "depmod": "kmod",
    "ldd": "libc-bin",
    "apt-get": "apt",
    "apt-cache": "apt",
    "dpkg-deb": "dpkg",
}


def _program_dir():
    return Path(sys.argv[0]).resolve().parent


def _build_dir():
    """build/ of the checkout this podvm runs from, or None."""
    if os.environ.get("PODVM_BUILD"):
        return Path(os.environ["PODVM_BUILD"])
    for top in Path(__file__).resolve().parents:
        if (top / "Makefile").is_file() and (top / "rootfs" / "podvm").is_file():
            return top / "build"
    return None


def cache_dir():
    if os.environ.get("PODVM_CACHE"):
        return Path(os.environ["PODVM_CACHE"])
    build = _build_dir()
    if build:
        return build
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(Path.home(), ".cache")
    return Path(home) / "podvm"


def guest_program(name):
    """A static program that goes into the guest: podinit, podctl."""
    build = _build_dir()
    here = _program_dir()
    places = [build / name] if build else []
    places += [here / name, here.parent / "sbin" / name, here.parent / "bin" / name]
    for path in places:
        if path.is_file():
            return path
    found = shutil.which(name)
    if found:
        return Path(found)
    raise PodvmError(f"{name} not found; looked at " + ", ".join(map(str, places)) +
                     (" (run `make`)" if build else ""))


def shared_objects(program):
    """What a dynamic program is loaded with: its libraries and the loader, by their
    paths. The loader itself says so; ldd only runs it. PodvmError when one is missing."""
    env = dict(os.environ, LC_ALL="C")
    done = subprocess.run([tool("ldd"), str(program)], stdin=subprocess.DEVNULL,
                          capture_output=True, env=env, text=True)
    missing = re.findall(r"^\s*(\S+) => not found$", done.stdout, re.MULTILINE)
    if missing:
        raise PodvmError(f"{program}: the library {missing[0]} is not installed")
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines()
        raise PodvmError(f"{program}: " + (said[-1].strip() if said else "ldd failed"))
    return [Path(path) for path in
            re.findall(r"(?:=> |^\s*)(/\S+) \(0x", done.stdout, re.MULTILINE)]


def busybox():
    """A static busybox: the guest's modprobe, and the test image's only program."""
    for path in ("/bin/busybox", "/usr/bin/busybox"):
        if os.path.isfile(path) and not _is_dynamic(path):
            return Path(path)
    raise PodvmError("no static busybox in /bin; install the package busybox-static")


def _is_dynamic(path):
    """True when the ELF file asks for an interpreter (program header PT_INTERP)."""
    with open(path, "rb") as file:
        head = file.read(4096)
    if head[:5] != b"\x7fELF\x02":
        return True
    offset = int.from_bytes(head[32:40], "little")
    size = int.from_bytes(head[54:56], "little")
    count = int.from_bytes(head[56:58], "little")
    return any(head[offset + i * size:offset + i * size + 4] == b"\x03\0\0\0"
               for i in range(count))


def tool(name):
    """A program of the host, by its full path."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_DIRS])
    found = shutil.which(name, path=path)
    if not found:
        package = TOOL_PACKAGES.get(name, name)
        raise PodvmError(f"{name} not found; install the package {package}")
    return found
