# SPDX-License-Identifier: Apache-2.0
"""podvm: boots pods in a virtual machine. Python's standard library only."""

VERSION = "0.1.0"


class PodvmError(Exception):
    """Something a person can mend; its text is printed and podvm exits with 125."""
