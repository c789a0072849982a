# SPDX-License-Identifier: Apache-2.0
"""Writes a "newc" cpio archive, the format of an initramfs.

No root needed and nothing of the building host shines through: inode numbers are
counted, times are 0, owners are what the caller says, device nodes are plain records.
Format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel.
"""

import os
import stat

from . import PodvmError

FIELD_MAX = 0xFFFFFFFF  # every header field is eight hex digits
COPY_BYTES = 1 << 20
S_PERM = 0o7777


class CpioWriter:
    """Adds entries in the order of the calls; parents are made when missing.

    A path may be added once as something else than a directory; a directory added
    again only changes nothing: the first one wins.
    """

    def __init__(self, out):
        self._out = out
        self._offset = 0
        self._inode = 0
        self._dirs = {""}
        self._seen = set()

    def directory(self, path, mode=0o755, uid=0, gid=0):
        path = _clean(path)
        if path in self._dirs:
            return
        self._claim(path)
        self._dirs.add(path)
        self._header(path, stat.S_IFDIR | mode & S_PERM, uid, gid, nlink=2)

    def data(self, path, content, mode=0o644, uid=0, gid=0):
        if isinstance(content, str):
            content = content.encode()
        path = self._claim(path)
        self._header(path, stat.S_IFREG | mode & S_PERM, uid, gid, size=len(content))
        self._write(content)
        self._pad()

    def copy(self, path, source, mode=0o644, uid=0, gid=0):
        """source: a path of the host."""
        with open(source, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            self.stream([path], file, size, mode, uid, gid)

    def stream(self, paths, file, size, mode=0o644, uid=0, gid=0):
        """One file under one or several names (hard links). The kernel creates it at
        the first name and fills it at the last, which carries the content."""
        paths = [self._claim(path) for path in paths]
        inode = self._next_inode()
        for path in paths:
            last = path is paths[-1]
            self._header(path, stat.S_IFREG | mode & S_PERM, uid, gid, inode=inode,
                         nlink=len(paths), size=size if last else 0)
        left = size
        while left:
            chunk = file.read(min(left, COPY_BYTES))
            if not chunk:
                raise PodvmError(f"/{paths[-1]}: the file shrank while it was read")
            self._write(chunk)
            left -= len(chunk)
        self._pad()

    def symlink(self, path, target, uid=0, gid=0):
        path = self._claim(path)
        target = os.fsencode(target)
        self._header(path, stat.S_IFLNK | 0o777, uid, gid, size=len(target))
        self._write(target)
        self._pad()

    def node(self, path, kind, major=0, minor=0, mode=0o600, uid=0, gid=0):
        """kind: stat.S_IFCHR, S_IFBLK, S_IFIFO or S_IFSOCK."""
        path = self._claim(path)
        self._header(path, kind | mode & S_PERM, uid, gid, rdev=(major, minor))

    def finish(self):
        self._header("TRAILER!!!", 0, 0, 0, inode=0)
        # QEMU and boot loaders round the size up; a multiple of 512 is what cpio makes.
        self._write(bytes(-self._offset % 512))

    def _claim(self, path):
        """Reserves the name and makes its parents."""
        path = _clean(path)
        if path in self._seen:
            raise PodvmError(f"initramfs: /{path} is there twice")
        parent = os.path.dirname(path)
        if parent not in self._dirs:
            self.directory(parent)
        self._seen.add(path)
        return path

    def _next_inode(self):
        self._inode += 1
        return self._inode

    def _header(self, path, mode, uid, gid, inode=None, nlink=1, size=0, rdev=(0, 0)):
        name = os.fsencode(path) + b"\0"
        if inode is None:
            inode = self._next_inode()
        fields = (inode, mode, uid, gid, nlink, 0, size, 0, 0, *rdev, len(name), 0)
        if max(fields) > FIELD_MAX:
            raise PodvmError(f"/{path}: too big for an initramfs (limit 4 GiB a file)")
        self._write(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
        self._pad()

    def _write(self, data):
        self._out.write(data)
        self._offset += len(data)

    def _pad(self):
        self._write(bytes(-self._offset % 4))


def _clean(path):
    """"/a//./b" -> "a/b"; the kernel unpacks relative to the root."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PodvmError(f"{path}: a path with '..' in an archive")
    return "/".join(parts)
