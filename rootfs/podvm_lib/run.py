# SPDX-License-Identifier: Apache-2.0
"""podvm run: one boot from QEMU's start to the members' outcome.

One thread, one selector; each wait has a deadline or ends with QEMU.
"""

import json
import selectors
import signal
import socket
import sys
import time

from . import report
from .channel import RESYNC, connect
from .qemu import Console

EXIT_TIMEOUT = 124
EXIT_PODVM = 125
EXIT_NO_OUTCOME = 126
EXIT_KILLED = 128 + signal.SIGKILL

CHANNEL_ANSWER_S = 3  # then the guest gets a press of its power button
SHUTDOWN_LIMIT_S = 90  # members' grace (30 s by default) and the guest's own limit
LAST_LINES = 30


class Run:
    def __init__(self, qemu, options, names, console_log=None):
        self._qemu = qemu
        self._json = options.output == "json"
        self._timeout = options.timeout
        self._logs = report.LogPrinter(sys.stderr if self._json else sys.stdout, names)
        self._verbose = options.verbose
        self._console = Console(self._console_line, console_log)
        self._selector = selectors.DefaultSelector()
        self._deadlines = {}  # name -> (time, function)
        self._channel = None
        self._qmp = None
        self._signal = None  # the first one we got
        self._timed_out = False
        self._killed = False
        self._control = options.control
        self._booted = False

    def run(self):
        """The exit status of podvm."""
        wake_read, wake_write = socket.socketpair()
        with wake_read, wake_write:
            wake_read.setblocking(False)
            wake_write.setblocking(False)
            signal.set_wakeup_fd(wake_write.fileno())
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda *_: None)
            self._watch(wake_read, lambda: self._signals(wake_read))
            self._watch(self._qemu.console, self._read_console)
            self._channel = connect(self._qemu.control_path, self._event)
            self._watch(self._channel, lambda: self._read_channel(self._channel))
            self._channel.send_raw(RESYNC)
            self._channel.send("subscribe", {"events": ["log"]}, self._guest_answers)
            if self._timeout:
                self._after("timeout", self._timeout, self._time_is_up)
            try:
                while self._qemu.console in self._watched() or not self._channel.closed:
                    self._turn()
            finally:
                signal.set_wakeup_fd(-1)
        self._logs.end()
        self._console.end()
        return self._outcome(self._qemu.process.wait())

    def _turn(self):
        wait = None
        if self._deadlines:
            wait = max(0, min(at for at, _ in self._deadlines.values()) - time.monotonic())
        for key, events in self._selector.select(wait):
            if events & selectors.EVENT_WRITE:
                key.fileobj.flush()
            if events & selectors.EVENT_READ:
                key.data()
        for name, (at, function) in list(self._deadlines.items()):
            if at <= time.monotonic():
                del self._deadlines[name]
                function()
        for channel in (self._channel, self._qmp):
            if channel and not channel.closed:
                write = selectors.EVENT_WRITE if channel.wants_write else 0
                key = self._selector.get_key(channel)
                self._selector.modify(channel, selectors.EVENT_READ | write, key.data)

    def _watched(self):
        return [key.fileobj for key in self._selector.get_map().values()]

    def _watch(self, source, function):
        self._selector.register(source, selectors.EVENT_READ, function)

    def _after(self, name, seconds, function):
        self._deadlines[name] = (time.monotonic() + seconds, function)

    def _read_console(self):
        data = self._qemu.console.read(1 << 16)
        if data == b"":
            self._selector.unregister(self._qemu.console)
        elif data:
            self._booted = True
            self._console.feed(data)

    def _read_channel(self, channel):
        fd = channel.fileno()
        channel.read()
        if channel.closed:
            self._selector.unregister(fd)

    def _console_line(self, line):
        if self._verbose:
            print("console |", line, file=sys.stderr)

    def _guest_answers(self, _):
        if self._control:
            self._say(f"control channel ready: {self._control}")

    def _event(self, message):
        data = message.get("data")
        if not isinstance(data, dict):
            return
        if message.get("event") == "LOG":
            self._logs.event(message)
        elif message.get("event") == "LOST":
            self._logs.lost(data.get("count", 0))

    # ---- shutting down -------------------------------------------------------------

    def _signals(self, wake):
        for number in wake.recv(64):
            if self._signal is None:
                self._signal = number
                self._say("stopping the guest; once more kills it")
                self._shutdown()
            else:
                self._kill()

    def _time_is_up(self):
        self._timed_out = True
        self._say(f"not done after {self._timeout:g} s; stopping the guest")
        self._shutdown()

    def _shutdown(self):
        self._after("kill", SHUTDOWN_LIMIT_S, self._kill)
        self._after("powerdown", CHANNEL_ANSWER_S, self._press_power)
        self._channel.send("shutdown", {"mode": "power-off"},
                           answer=lambda _: self._deadlines.pop("powerdown", None))

    def _kill(self):
        if not self._killed and self._qemu.process.poll() is None:
            self._killed = True
            self._qemu.kill()
            self._say("guest killed")

    def _press_power(self):
        self._qmp = connect(self._qemu.qmp_path, lambda _: None)
        self._watch(self._qmp, lambda: self._read_channel(self._qmp))
        self._qmp.send("qmp_capabilities")
        self._qmp.send("system_powerdown")

    # ---- the end -------------------------------------------------------------------

    def _say(self, text):
        print(f"podvm: {text}", file=sys.stderr)

    def _outcome(self, qemu_status):
        final = self._final()
        if final is None:
            status = self._no_outcome(qemu_status)
            final = {"outcome": "unknown", "pods": []}
        else:
            status = report.exit_status(final)
            if final.get("outcome") == "boot-failed":
                for line in self._console.errors:
                    self._say(f"podinit: {report.printable(line)}")
        if self._timed_out:
            status = EXIT_TIMEOUT
        elif self._killed:
            status = EXIT_KILLED
        elif self._signal is not None:
            status = 128 + self._signal
        if self._json:
            final["exitStatus"] = status
            print(json.dumps(final))
        elif final["pods"]:
            report.print_table(final, sys.stdout)
        return status

    def _final(self):
        try:
            final = json.loads(self._console.final_text or "")
        except ValueError:
            return None
        if not isinstance(final, dict):
            return None
        if not isinstance(final.get("pods"), list):
            final["pods"] = []
        return final

    def _no_outcome(self, qemu_status):
        if not self._booted:
            said = self._qemu.errors().splitlines()
            self._say("QEMU: " + (said[-1] if said else f"ended with {qemu_status}"))
            return EXIT_PODVM
        if not self._signal:
            self._say("the guest ended without an outcome; its last console lines:")
            for line in self._console.lines[-LAST_LINES:]:
                print("console |", line, file=sys.stderr)
        return EXIT_NO_OUTCOME


def protect_output():
    """A guest's odd characters must not end podvm on a terminal without UTF-8."""
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
