# SPDX-License-Identifier: Apache-2.0
"""What tests do with a podinit, wherever it runs: commands, events, console, the end.

Every wait is for an event and has a deadline; there are no sleeps. A subclass starts
podinit, and says where its console and its channel are.
"""

import json
import re
import selectors
import time

from podvm_lib.channel import RESYNC, connect
from podvm_lib.qemu import Console

WAIT_S = 30


class CommandError(Exception):
    def __init__(self, error):
        super().__init__(f"{error.get('class')}: {error.get('desc')}")
        self.kind = error.get("class")
        self.desc = error.get("desc", "")


class Guest:
    def __init__(self):
        self.events = []  # all since subscribe(), as {"event", "timestamp", "data"}
        self.strays = []  # answers to no command of ours: errors about garbage
        self.console_text = ""
        self.console = Console()
        self.channel = None
        self._selector = selectors.DefaultSelector()
        self._channels = []
        self._console_open = False

    # ---- for subclasses ------------------------------------------------------------

    def _attach_console(self, stream):
        """stream: fileno(), and read(n) that gives b"" at the end, None for nothing."""
        self._console_open = True
        self._selector.register(stream, selectors.EVENT_READ,
                                lambda: self._read_console(stream))

    def _attach_channel(self, channel):
        self._channels.append(channel)
        self._selector.register(channel, selectors.EVENT_READ,
                                lambda: self._serve_channel(channel))

    def _watch_output(self):
        """A request that the peer has not taken whole yet goes on when it can."""
        self._channels = [channel for channel in self._channels if not channel.closed]
        for channel in self._channels:
            key = self._selector.get_map().get(channel.fileno())
            events = selectors.EVENT_READ | (
                selectors.EVENT_WRITE if channel.wants_write else 0)
            if key and key.events != events:
                self._selector.modify(key.fileobj, events, key.data)

    def _message(self, message):
        (self.events if "event" in message else self.strays).append(message)

    def _read_console(self, stream):
        data = stream.read(1 << 16)
        if data:
            self.console_text += data.decode(errors="replace").replace("\r", "")
            self.console.feed(data)
        elif data == b"":
            self._console_open = False
            self._selector.unregister(stream)
            self.console.end()

    def _serve_channel(self, channel):
        fd = channel.fileno()
        channel.flush()
        channel.read()
        if channel.closed:
            self._selector.unregister(fd)

    def client(self, path):
        """One more channel: for a client of its own."""
        return Client(self, path)

    # ---- waiting -------------------------------------------------------------------

    def wait_until(self, condition, what, timeout=WAIT_S, every=None):
        """Handles input until condition() is true; returns its value. every: seconds, for
        what comes without a word of podinit's."""
        deadline = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"after {timeout} s still no {what}")
            if not self._selector.get_map():
                raise AssertionError(f"podinit is gone; no {what}")
            self._watch_output()
            for key, _ in self._selector.select(min(left, every or left)):
                key.data()

    def wait_console(self, pattern, timeout=WAIT_S):
        """The match of a regular expression in the console's text."""
        return self.wait_until(lambda: re.search(pattern, self.console_text),
                               f"/{pattern}/ on the console", timeout)

    def wait_event(self, name, timeout=WAIT_S, where=None, after=0, **data):
        """The first event of this name whose data has these values, from events[after]
        on; where(data) may ask for more. It stays in events."""
        def find():
            for event in self.events[after:]:
                have = event.get("data", {})
                if event.get("event") == name and \
                        all(have.get(key) == value for key, value in data.items()) and \
                        (where is None or where(have)):
                    return event
            return None
        return self.wait_until(find, f"event {name} {data}", timeout)

    def log_lines(self, pod, member, attempt=None):
        """(stream, text) of the LOG events up to now."""
        return [(event["data"]["stream"], event["data"]["line"])
                for event in self.events if event.get("event") == "LOG"
                and event["data"]["pod"] == pod and event["data"]["member"] == member
                and attempt in (None, event["data"]["attempt"])]

    def wait_log(self, pod, member, line, timeout=WAIT_S):
        """Until the member has said this line."""
        self.wait_event("LOG", timeout, pod=pod, member=member, line=line)

    def wait_phase(self, pod, phase, timeout=WAIT_S):
        self.wait_event("POD_CHANGED", timeout, pod=pod, phase=phase)

    # ---- commands ------------------------------------------------------------------

    def command(self, name, /, timeout=WAIT_S, **arguments):
        """The value of "return"; CommandError for an "error"."""
        return call(self, self.channel, name, arguments, timeout)

    def subscribe(self, *kinds):
        self.command("subscribe", events=list(kinds or ("pod", "member", "log")))

    def status(self, pod, **arguments):
        """The PodStatus."""
        return self.command("pod-status", name=pod, **arguments)["status"]

    def members(self, pod):
        """name -> container status, of all kinds."""
        status = self.status(pod)
        return {entry["name"]: entry
                for key in ("initContainerStatuses", "containerStatuses")
                for entry in status.get(key, [])}

    @property
    def final(self):
        """podinit's last words as an object, None when there are none (so far), or when
        they were cut."""
        try:
            return json.loads(self.console.final_text or "")
        except ValueError:
            return None


def call(guest, channel, name, arguments, timeout=WAIT_S):
    replies = []
    channel.send(name, arguments or None, replies.append)
    guest.wait_until(lambda: replies or channel.closed, f"answer to {name}", timeout)
    if not replies:
        raise AssertionError(f"the channel was closed instead of an answer to {name}")
    if "error" in replies[0]:
        raise CommandError(replies[0]["error"])
    return replies[0]["return"]


class Client:
    """A further connection; what comes without being asked for is in .messages."""

    def __init__(self, guest, path):
        self._guest = guest
        self.messages = []
        self.channel = connect(path, self.messages.append)
        guest._attach_channel(self.channel)

    def resync(self):
        self.channel.send_raw(RESYNC)

    def send(self, data):
        self.channel.send_raw(data)

    def command(self, name, /, timeout=WAIT_S, **arguments):
        return call(self._guest, self.channel, name, arguments, timeout)

    def wait_message(self, timeout=WAIT_S):
        """The next thing said that is no answer to a command() of ours."""
        self._guest.wait_until(lambda: self.messages or self.channel.closed,
                               "message", timeout)
        return self.messages.pop(0) if self.messages else None

    def wait_closed(self, timeout=WAIT_S):
        self._guest.wait_until(lambda: self.channel.closed, "end of channel", timeout)

    def close(self):
        if not self.channel.closed:
            self._guest._selector.unregister(self.channel)
            self.channel.close()


def pod(name, *containers, init=(), **spec):
    """A manifest; spec: more of its fields. restartPolicy is Never unless said."""
    spec = {"restartPolicy": "Never", **spec}
    if init:
        spec["initContainers"] = list(init)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {**spec, "containers": list(containers)}}


def container(name, script=None, command=None, **fields):
    """A busybox container that runs a shell script, in which $ is $."""
    if script is not None:
        command = ["sh", "-c", script.replace("$", "$$")]
    result = {"name": name, "image": "busybox", **fields}
    if command is not None:
        result["command"] = command
    return result
