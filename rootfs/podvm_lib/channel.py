# SPDX-License-Identifier: Apache-2.0
"""JSON lines over a unix socket: podinit's control channel, and QEMU's own QMP.

Non-blocking; the owner's selector says when to read. Answers go to the function given
with their command, everything else to on_event.
"""

import errno
import json
import os
import socket

from . import PodvmError, os_text

RESYNC = b"\xff"  # ends whatever half line the other side may have in its buffer
LINE_MAX = 16 << 20


def connect(path, on_event):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        try:
            sock.connect(str(path))
        except OSError as error:
            raise PodvmError(f"{path}: {os_text(error)}") from None
        return Channel(sock.detach(), on_event)


class Channel:
    """fd: a connected socket, or a tty in raw mode; owned by the channel."""

    def __init__(self, fd, on_event):
        self.on_event = on_event
        self.closed = False
        self._waiting = {}
        self._number = 0
        self._input = bytearray()
        self._output = bytearray()
        self._fd = fd
        os.set_blocking(fd, False)

    def fileno(self):
        return self._fd

    @property
    def wants_write(self):
        return bool(self._output)

    def send(self, command, arguments=None, answer=None):
        """answer(reply) gets the whole reply object: {"return": ...} or {"error": ...}."""
        self._number += 1
        message = {"execute": command, "id": self._number}
        if arguments:
            message["arguments"] = arguments
        if answer:
            self._waiting[self._number] = answer
        self.send_raw(json.dumps(message).encode() + b"\n")

    def send_raw(self, data):
        self._output += data
        self.flush()

    def flush(self):
        while self._output and not self.closed:
            try:
                del self._output[:os.write(self._fd, self._output)]
            except BlockingIOError:
                return
            except OSError as error:
                # The end of the connection is read()'s to find, after the last words.
                self._output.clear()
                self._check_lost(error)

    def read(self):
        """Handles what has come; a bounded bite."""
        try:
            data = os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return
        except OSError as error:
            self._check_lost(error)
            data = b""
        if not data:
            self.close()
            return
        self._input += data
        if len(self._input) > LINE_MAX:
            raise PodvmError("the guest sent a line without an end")
        *lines, rest = bytes(self._input).split(b"\n")
        self._input = bytearray(rest)
        for line in lines:
            self._handle(line)

    def _handle(self, line):
        try:
            message = json.loads(line.strip(RESYNC + b"\r\0 "))
        except ValueError:
            return  # half a line from before the resync
        if not isinstance(message, dict):
            return
        answer = None
        if "return" in message or "error" in message:
            answer = self._waiting.pop(message.get("id"), None)
        if answer:
            answer(message)
        else:
            self.on_event(message)

    @staticmethod
    def _check_lost(error):
        """A peer that went away is no error."""
        if error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.EIO):
            raise PodvmError(f"channel: {os_text(error)}")

    def close(self):
        if not self.closed:
            self.closed = True
            os.close(self._fd)
