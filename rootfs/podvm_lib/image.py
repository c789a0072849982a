# SPDX-License-Identifier: Apache-2.0
"""Images for the guest's store: references, and copies of directories and tars.

The store's layout is the contract of rootfs/image.h: NAME/TAG/rootfs and
NAME/TAG/config.json, where both sides make the same NAME and TAG of a reference.
"""

import json
import os
import re
import stat
import tarfile
from pathlib import Path

from . import PodvmError, os_text

STORE = "/var/lib/podinit/images"

# Shape of an image reference: distribution's grammar, without its length rules.
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DOMAIN = r"[A-Za-z0-9.-]+(?::[0-9]+)?"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[0-9a-fA-F]{32,}))?")

DEFAULT_CONFIG = {
    "config": {
        "Cmd": ["/bin/sh"],
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    }
}


def store_path(reference):
    """"docker.io/library/busybox:1.36" -> "busybox/1.36"."""
    match = _REFERENCE.fullmatch(reference)
    if not match or ".." in reference:
        raise PodvmError(f"'{reference}' is no image reference (NAME[:TAG][@DIGEST])")
    name = match["name"].removeprefix("docker.io/").removeprefix("index.docker.io/")
    if name.count("/") == 1:  # "library" is the hub's folder of the official images
        name = name.removeprefix("library/")
    digest = match["digest"]
    return f"{name}/{digest.replace(':', '-') if digest else match['tag'] or 'latest'}"


class Image:
    """One --image NAME=SOURCE. config: text of config.json."""

    def __init__(self, reference, source, config_file=None):
        self.reference = reference
        self.path = store_path(reference)
        self.source = Path(source)
        if self.source.is_dir():
            self._open_directory()
        elif self.source.is_file():
            self._open_tar()
        else:
            raise PodvmError(f"image {reference}: {source}: no such file or directory")
        if config_file:
            self.config_file = Path(config_file)
        self.config = self._read_config()

    def _open_directory(self):
        self.is_tar = False
        self.rootfs, self.config_file = self.source, None
        if (self.source / "oci-layout").exists():
            raise PodvmError(f"image {self.reference}: {self.source} is an OCI layout; "
                             "give its unpacked root file system")
        if (self.source / "rootfs").is_dir():
            self.rootfs = self.source / "rootfs"
            if (self.source / "config.json").is_file():
                self.config_file = self.source / "config.json"

    def _open_tar(self):
        self.is_tar = True
        self.config_file = None
        try:
            with tarfile.open(self.source) as tar:
                first = [member.name.lstrip("./") for _, member in zip(range(64), tar)]
        except OSError as error:
            raise PodvmError(f"image {self.reference}: {os_text(error)}") from None
        except (tarfile.TarError, EOFError):
            raise PodvmError(f"image {self.reference}: {self.source}: "
                             "neither a directory nor a tar archive") from None
        if "manifest.json" in first or "oci-layout" in first:
            raise PodvmError(f"image {self.reference}: {self.source} is a saved image "
                             "with layers; give a tar of one root file system "
                             "(docker export, or crane export)")

    def _read_config(self):
        if not self.config_file:
            return json.dumps(DEFAULT_CONFIG, indent=2) + "\n"
        try:
            text = self.config_file.read_text()
            json.loads(text)
        except OSError as error:
            raise PodvmError(f"image {self.reference}: {os_text(error)}") from None
        except ValueError as error:
            raise PodvmError(f"image {self.reference}: {self.config_file}: {error}") \
                from None
        return text

    def write(self, cpio):
        base = f"{STORE}/{self.path}"
        cpio.data(f"{base}/config.json", self.config)
        if self.is_tar:
            _copy_tar(cpio, self.source, f"{base}/rootfs")
        else:
            _copy_tree(cpio, self.rootfs, f"{base}/rootfs")


def _owner(status):
    """What belongs to an ordinary user who runs podvm is root's in the image."""
    uid = 0 if status.st_uid == os.geteuid() else status.st_uid
    gid = 0 if status.st_gid == os.getegid() else status.st_gid
    return uid, gid


def _copy_tree(cpio, source, target):
    root = source.stat()
    cpio.directory(target, root.st_mode, *_owner(root))
    links = {}  # hard-linked files: (device, inode) -> [names]
    for entry, name in _walk(source, target):
        status = entry.stat(follow_symlinks=False)
        owner = _owner(status)
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            cpio.directory(name, mode, *owner)
        elif stat.S_ISLNK(mode):
            cpio.symlink(name, os.readlink(entry.path), *owner)
        elif not stat.S_ISREG(mode):
            major, minor = os.major(status.st_rdev), os.minor(status.st_rdev)
            cpio.node(name, stat.S_IFMT(mode), major, minor, mode, *owner)
        elif status.st_nlink > 1:
            links.setdefault((status.st_dev, status.st_ino), []).append((entry, name))
        else:
            cpio.copy(name, entry.path, mode, *owner)
    for names in links.values():
        entry = names[0][0]
        status = entry.stat()
        with open(entry.path, "rb") as file:
            cpio.stream([name for _, name in names], file, status.st_size,
                        status.st_mode, *_owner(status))


def _walk(source, target):
    """Every entry below source in sorted order, with its name below target."""
    try:
        entries = sorted(os.scandir(source), key=lambda entry: entry.name)
    except OSError as error:
        raise PodvmError(os_text(error)) from None
    for entry in entries:
        name = f"{target}/{entry.name}"
        yield entry, name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, name)


def _copy_tar(cpio, source, target):
    with tarfile.open(source) as tar:
        members = tar.getmembers()
        known = {_tar_name(member.name): member for member in members}
        links = {}  # the target of hard links -> [names]
        for member in members:
            if member.islnk():
                links.setdefault(_tar_name(member.linkname), []).append(member.name)
        for link in links:
            if link not in known or not known[link].isreg():
                raise PodvmError(f"{source}: a hard link to {link}, which is no file of it")
        # A parent directory may follow its content in a tar; it must come first here.
        for member in sorted((m for m in members if m.isdir()), key=lambda m: m.name):
            cpio.directory(f"{target}/{member.name}", member.mode, member.uid, member.gid)
        cpio.directory(target)
        for name, member in sorted(known.items()):
            owner = (member.uid, member.gid)
            path = f"{target}/{name}"
            if member.issym():
                cpio.symlink(path, member.linkname, *owner)
            elif member.isreg():
                names = [path] + [f"{target}/{link}" for link in links.get(name, ())]
                cpio.stream(names, tar.extractfile(member), member.size, member.mode,
                            *owner)
            elif member.ischr() or member.isblk():
                kind = stat.S_IFCHR if member.ischr() else stat.S_IFBLK
                cpio.node(path, kind, member.devmajor, member.devminor, member.mode,
                          *owner)
            elif member.isfifo():
                cpio.node(path, stat.S_IFIFO, mode=member.mode, uid=owner[0],
                          gid=owner[1])


def _tar_name(name):
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return "/".join(parts)
