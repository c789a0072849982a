# SPDX-License-Identifier: Apache-2.0
"""The guest's initramfs: podinit, its tools, modules, configuration and images.

Uncompressed: unpacking it is guest work, and without KVM that costs more than reading
a few MiB more.
"""

import contextlib
import json
import stat

from . import PodvmError, kernel as kernels, paths
from .cpio import CpioWriter

PORT = "org.podinit.control.0"       # podvm's own
EXTRA_PORT = "org.podinit.control.1"  # for a person's podctl, with --control

# Loaded by name: nothing in the hardware asks for overlay and loopback; the console is
# the channel's transport, and its modalias only appears once virtio_pci is loaded.
GUEST_MODULES = ("overlay", "virtio_console", "vsock_loopback")

DIRECTORIES = (
    ("dev", 0o755), ("etc", 0o755), ("etc/podinit", 0o755), ("etc/podinit/pods", 0o755),
    ("proc", 0o555), ("root", 0o700), ("run", 0o755), ("sys", 0o555), ("tmp", 0o1777),
    ("var/lib/podinit/images", 0o755), ("var/log/pods", 0o755),
)

BUSYBOX_LINKS = ("sbin/modprobe",)


def _or(value, default):
    """null is as good as absent, for podinit too."""
    return default if value is None else value


def guest_machine(machine, ports, modules):
    """machine with what podvm itself needs from the guest."""
    result = dict(machine)
    result["debugExit"] = True
    if modules:
        named = _or(result.get("modules"), [])
        if isinstance(named, list):
            result["modules"] = named + [m for m in GUEST_MODULES if m not in named]
    control = _or(result.get("control"), {})
    if isinstance(control, dict):
        result["control"] = dict(control)
        result["control"].setdefault("ports", list(ports))
    return result


class Contents:
    """What goes in. manifests: [(file name, bytes)]; files: [(path, bytes, mode)]."""

    def __init__(self, machine=None, manifests=(), images=(), files=(), init=None,
                 ports=(PORT,)):
        self.machine = machine or {}
        self.manifests = list(manifests)
        self.images = list(images)
        self.files = list(files)
        self.init = init
        self.ports = ports


def build(target, contents, kernel, cache=None):
    """Writes the initramfs to the file target."""
    with open(target, "wb") as out:
        cpio = CpioWriter(out)
        for path, mode in DIRECTORIES:
            cpio.directory(path, mode)
        # Before podinit has mounted /dev, its messages need a console.
        cpio.node("dev/console", stat.S_IFCHR, 5, 1, 0o600)
        cpio.node("dev/null", stat.S_IFCHR, 1, 3, 0o666)
        cpio.copy("init", contents.init or paths.guest_program("podinit"), 0o755)
        if not contents.init:
            cpio.copy("usr/bin/podctl", paths.guest_program("podctl"), 0o755)
            _add_nft(cpio)
        cpio.copy("bin/busybox", paths.busybox(), 0o755)
        for link in BUSYBOX_LINKS:
            cpio.symlink(link, "/bin/busybox")
        if kernel.modules:
            _add_modules(cpio, kernel, cache)
        machine = guest_machine(contents.machine, contents.ports, bool(kernel.modules))
        cpio.data("etc/podinit/machine.json", json.dumps(machine, indent=2) + "\n")
        for number, (name, data) in enumerate(contents.manifests):
            # Read in order of names: the number keeps the order of the command line.
            cpio.data(f"etc/podinit/pods/{number:03}-{name}", data)
        for image in contents.images:
            image.write(cpio)
        for path, data, mode in contents.files:
            cpio.data(path, data, mode)
        cpio.finish()


def _add_nft(cpio):
    """podinit's helper for nftables, the one dynamic program: with its libraries. A
    podinit without it runs pods all the same, but none with a hostPort."""
    helper = None
    with contextlib.suppress(PodvmError):
        helper = paths.guest_program("podinit-nft")
    if helper:
        cpio.copy("sbin/podinit-nft", helper, 0o755)
        for path in paths.shared_objects(helper):
            cpio.copy(str(path), path, 0o755)


def _add_modules(cpio, kernel, cache):
    tree = kernels.module_subset(kernel, kernels.MODULES, cache)
    target = f"lib/modules/{kernel.version}"
    for name in kernels.TABLES:
        if (tree / name).exists():
            cpio.copy(f"{target}/{name}", tree / name)
    for path in sorted(tree.rglob("*.ko*")):
        cpio.copy(f"{target}/{path.relative_to(tree)}", path)
