# SPDX-License-Identifier: Apache-2.0
"""podvm: boots pods in a virtual machine. Python's standard library only."""

import os

VERSION = "0.1.0"


class PodvmError(Exception):
    """Something a person can mend; its text is printed and podvm exits with 125."""


def os_text(error):
    """An OSError as "FILE: No such file or directory", other errors as they are."""
    text = getattr(error, "strerror", None) or str(error)
    name = getattr(error, "filename", None)
    return f"{os.fsdecode(name)}: {text}" if isinstance(name, (str, bytes, os.PathLike)) \
        else text
