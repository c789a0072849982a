# SPDX-License-Identifier: Apache-2.0
"""A private directory of one podvm, gone with it; or, after SIGKILL, at the next start.

Each has a file that its podvm holds locked; the kernel lets go of the lock when the
process ends, whatever it ended of.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

PREFIX = "podvm-"
LOCK = "lock"


@contextlib.contextmanager
def directory(parent=None):
    """A fresh directory below parent (the host's place for such things by default)."""
    parent = Path(parent or tempfile.gettempdir())
    remove_stale(parent)
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        # Named LOCK only once it is locked: nobody ever finds it free while we live.
        with open(path / "lock.new", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(path / "lock.new", path / LOCK)
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def remove_stale(parent):
    """Removes the directories of this user whose podvm is no more."""
    for path in parent.glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            fd = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(fd)
