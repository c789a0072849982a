# SPDX-License-Identifier: Apache-2.0
"""Debian's cloud kernel for the guest, and the part of its modules a guest may need.

The package is downloaded and unpacked below the cache, never installed. A kernel
directory appears by rename only when it is complete; a second run uses it as it is.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import PodvmError, paths

META_PACKAGE = "linux-image-cloud-amd64"

# What a guest may need; dependencies are added by themselves. A name that is built
# into the kernel, or that this kernel does not have, is passed over.
MODULES = (
    # the VM's own devices
    "virtio_pci", "virtio_mmio", "virtio_console", "virtio_net", "virtio_blk",
    "virtio_scsi", "virtio_rng", "virtio_balloon", "qemu_fw_cfg",
    # channel to the host, and to itself for tests
    "vsock", "vmw_vsock_virtio_transport", "vsock_loopback",
    # keys and watchdogs
    "button", "evdev", "i6300esb", "iTCO_wdt", "softdog",
    # file systems
    "overlay", "squashfs", "erofs", "ext4", "xfs", "isofs", "vfat", "nls_iso8859_1",
    "nls_ascii", "nls_cp437", "nls_utf8", "fuse", "virtiofs", "9p", "9pnet_virtio",
    "loop", "dm_mod", "dm_verity", "sd_mod", "sr_mod", "ata_piix", "ahci", "nvme",
    # pod networks
    "af_packet", "veth", "bridge", "dummy", "macvlan", "ipvlan", "8021q", "bonding", "tun",
    "br_netfilter", "sctp", "sch_tbf", "sch_ingress", "cls_matchall", "act_police",
    "nf_tables", "nf_conntrack", "nf_conntrack_netlink", "nf_nat", "nft_chain_nat",
    "nft_nat", "nft_masq", "nft_redir", "nft_ct", "nft_compat", "nft_limit", "nft_log",
    "nft_reject", "nft_reject_inet", "nft_fib", "nft_fib_inet", "nft_fib_ipv4",
    "nft_fib_ipv6", "nft_hash", "nft_numgen", "nft_objref", "nft_counter",
)

# modprobe's text tables; the .bin ones are for kmod and depmod makes them again.
TABLES = ("modules.dep", "modules.alias", "modules.symbols", "modules.softdep",
          "modules.builtin", "modules.builtin.modinfo", "modules.order",
          "modules.devname")


class Kernel:
    """image: a bzImage. modules: a lib/modules/VERSION directory, or None."""

    def __init__(self, image, modules=None):
        self.image = Path(image)
        self.modules = Path(modules) if modules else None
        self.version = self.modules.name if modules else None


def custom_kernel(image, modules):
    """A kernel of the user's own; without modules all it needs is built in."""
    if not os.path.isfile(image):
        raise PodvmError(f"kernel {image}: no such file")
    if modules and not os.path.isdir(os.path.join(modules, "kernel")):
        raise PodvmError(f"{modules}: not a module tree (lib/modules/VERSION)")
    return Kernel(image, os.path.realpath(modules) if modules else None)


def cloud_kernel(cache=None):
    """Debian's cloud kernel out of the cache; downloaded when there is none."""
    base = Path(cache or paths.cache_dir()) / "kernel"
    base.mkdir(parents=True, exist_ok=True)
    with _locked(base / ".lock"):
        found = _newest(base)
        if not found:
            _download(base)
            found = _newest(base)
    return found


@contextlib.contextmanager
def _locked(path):
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _newest(base):
    def order(path):
        return [int(n) for n in re.findall(r"\d+", path.name)]

    for path in sorted(base.glob("[0-9]*"), key=order, reverse=True):
        return Kernel(path / "vmlinuz", path / "lib" / "modules" / path.name)
    return None


def _run(argv, what, **kwargs):
    env = dict(os.environ, LC_ALL="C")
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=env, text=True, **kwargs)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise PodvmError(f"{what}: " + (said[-1] if said else f"exit {done.returncode}"))
    return done.stdout


def _download(base):
    advice = ("; run `apt-get update` as root and try again, or bring a kernel with "
              "--kernel and --modules")
    with tempfile.TemporaryDirectory(dir=base, prefix=".new-") as work:
        try:
            depends = _run([paths.tool("apt-cache"), "depends", META_PACKAGE],
                           f"apt-cache depends {META_PACKAGE}")
            match = re.search(r"Depends: (linux-image-(\S+-cloud-amd64))", depends)
            if not match:
                raise PodvmError(f"{META_PACKAGE}: apt knows no kernel for it")
            package, version = match.groups()
            _run([paths.tool("apt-get"), "-q", "download", package],
                 f"apt-get download {package}", cwd=work)
        except PodvmError as error:
            raise PodvmError(f"{error}{advice}") from None
        deb = next(Path(work).glob("*.deb"))
        tree = Path(work) / "tree"
        _run([paths.tool("dpkg-deb"), "-x", str(deb), str(tree)], f"unpacking {deb.name}")
        done = Path(work) / "done"
        modules = done / "lib" / "modules" / version
        modules.parent.mkdir(parents=True)
        # A newer Debian has /usr/lib only, an older one /lib only.
        for lib in ("lib", "usr/lib"):
            if (tree / lib / "modules" / version).is_dir():
                (tree / lib / "modules" / version).rename(modules)
        (tree / "boot" / f"vmlinuz-{version}").rename(done / "vmlinuz")
        _run([paths.tool("depmod"), "-b", str(done), version], "depmod")
        done.rename(base / version)


def _plain(name):
    """The kernel takes "-" and "_" for the same."""
    return name.replace("-", "_")


def module_subset(kernel, names, cache=None):
    """A lib/modules/VERSION directory with names, what they depend on, and fresh tables.

    Kept in the cache; its name carries the list, so that a changed list makes a new one.
    """
    source = kernel.modules
    files, depends = {}, {}
    for line in (source / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        name = _plain(Path(path).name.split(".ko")[0])
        files[name] = path
        depends[name] = [_plain(Path(d).name.split(".ko")[0]) for d in rest.split()]

    wanted = set()
    for name in map(_plain, names):
        if name in files:
            wanted.update([name, *depends[name]])
    chosen = sorted(files[name] for name in wanted)

    key = hashlib.sha256("\n".join([str(source), *chosen]).encode()).hexdigest()[:12]
    base = Path(cache or paths.cache_dir()) / "kernel"
    target = base / f"subset-{kernel.version}-{key}"
    if not target.is_dir():
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=base, prefix=".new-") as work:
            _make_subset(source, chosen, Path(work) / "subset", kernel.version)
            with contextlib.suppress(OSError):  # another run was quicker
                (Path(work) / "subset").rename(target)
    return target / "lib" / "modules" / kernel.version


def _make_subset(source, chosen, top, version):
    tree = top / "lib" / "modules" / version
    tree.mkdir(parents=True)
    for path in chosen:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, tree / path)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        if (source / name).exists():
            shutil.copyfile(source / name, tree / name)
    _run([paths.tool("depmod"), "-b", str(top), version], "depmod")
