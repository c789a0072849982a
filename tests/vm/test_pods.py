# SPDX-License-Identifier: Apache-2.0
"""Pods in a real machine: restarts, stops, orphans, failed starts, a noisy channel.

One boot for all: pods are created over the channel.
"""

import base64
import os
import re
import time
import unittest

from guest import CommandError, container, pod
from harness import VMCase
from podvm_lib.channel import RESYNC

ORPHANS = 1000
BACKOFF_MS = 200


def seconds(event):
    stamp = event["timestamp"]
    return stamp["seconds"] + stamp["microseconds"] / 1e6


class Pods(VMCase):
    @classmethod
    def vm_options(cls):
        return {"machine": {"onPodsDone": "stay",
                            "restart": {"backoffBaseMs": BACKOFF_MS,
                                        "backoffMaxMs": 4 * BACKOFF_MS}}}

    def create(self, manifest):
        self.vm.command("pod-create", manifest=manifest)
        name = manifest["metadata"]["name"]
        self.addCleanup(self.delete, name)
        return name

    def delete(self, name):
        try:
            self.vm.command("pod-delete", name=name, graceSeconds=0)
        except CommandError:
            pass  # the test did it itself

    def test_waits_on_its_channel_without_any_manifest(self):
        self.assertIn("version", self.vm.command("podinit-info"))
        with self.assertRaises(CommandError):
            self.vm.command("pod-status", name="absent")

    def test_restart_with_back_off(self):
        name = self.create(pod("restart", container(
            "main", "echo try; exit 3"), restartPolicy="OnFailure"))
        self.vm.wait_event("MEMBER_BACKOFF", pod=name, where=lambda d:
                           d["restartCount"] >= 4)
        delays = [re.search(r"back-off (\S+)", event["data"]["message"])[1]
                  for event in self.vm.events
                  if event["event"] == "MEMBER_BACKOFF" and event["data"]["pod"] == name]
        # The first restart is at once, then each wait is twice the last, up to a limit.
        self.assertEqual(delays[:4], ["200ms", "400ms", "800ms", "800ms"])
        status = self.vm.members(name)["main"]
        self.assertGreaterEqual(status["restartCount"], 4)
        self.assertEqual(status["lastState"]["terminated"]["exitCode"], 3)
        self.assertEqual(status["lastState"]["terminated"]["reason"], "Error")

    def test_polite_member_stops_at_once(self):
        name = self.create(pod("polite", container(
            "main", "trap 'exit 7' TERM; echo up; sleep 1000 & wait")))
        self.vm.wait_log(name, "main", "up")
        self.vm.command("pod-stop", name=name)
        event = self.vm.wait_event("MEMBER_EXITED", pod=name)
        self.assertEqual(event["data"]["exitCode"], 7)
        self.vm.wait_phase(name, "Failed")

    def test_deaf_members_are_killed_together_after_their_grace(self):
        deaf = "trap '' TERM; echo up; while :; do sleep 1000; done"
        name = self.create(pod("deaf", container("one", deaf), container("two", deaf),
                               terminationGracePeriodSeconds=2))
        for member in ("one", "two"):
            self.vm.wait_log(name, member, "up")
        start = time.monotonic()
        self.vm.command("pod-stop", name=name)
        ends = [self.vm.wait_event("MEMBER_EXITED", pod=name, member=member)
                for member in ("one", "two")]
        took = time.monotonic() - start
        for end in ends:
            self.assertEqual(end["data"]["exitCode"], 137)
            self.assertEqual(end["data"]["signal"], 9)
        self.assertGreaterEqual(took, 1.8)
        # One after the other would be two graces apart.
        self.assertLess(abs(seconds(ends[0]) - seconds(ends[1])), 1.5)

    def test_a_thousand_orphans_leave_nothing(self):
        name = self.create(pod("orphans", container(
            "main", f"i=0; while [ $i -lt {ORPHANS} ]; do sleep 1000 & i=$((i + 1)); done;"
                    " echo made $i")))
        self.vm.wait_log(name, "main", f"made {ORPHANS}", timeout=90)
        self.vm.wait_phase(name, "Succeeded", timeout=60)
        # The host's /proc shows every process of the machine, zombies too.
        count = self.create(pod("count", container(
            "main", "cat /machine/[0-9]*/stat 2>/dev/null |"
                    " awk '/\\(sleep\\)/ {s++} / Z / {z++} END {print s+0, z+0}'",
            volumeMounts=[{"name": "proc", "mountPath": "/machine"}]),
            volumes=[{"name": "proc", "hostPath": {"path": "/proc"}}]))
        self.vm.wait_phase(count, "Succeeded")
        self.assertEqual(self.vm.log_lines(count, "main"), [("stdout", "0 0")])

    def test_start_failures_are_told(self):
        name = self.create(pod("nostart",
                               container("absent", command=["/bin/absent"]),
                               container("noexec", command=["/etc/passwd"]),
                               container("good", "echo good")))
        self.vm.wait_phase(name, "Failed")
        members = self.vm.members(name)
        state = {key: value["state"]["terminated"] for key, value in members.items()}
        self.assertEqual(state["good"]["exitCode"], 0)
        self.assertEqual(state["absent"]["exitCode"], 127)
        self.assertIn("/bin/absent", state["absent"]["message"])
        self.assertIn("No such file", state["absent"]["message"])
        self.assertEqual(state["noexec"]["exitCode"], 126)
        self.assertIn("Permission denied", state["noexec"]["message"])

    def test_absent_image_does_not_stop_others(self):
        bad = self.create(pod("noimage", container("main", "exit 0", image="absent:1",
                                                   imagePullPolicy="Never")))
        good = self.create(pod("image", container("main", "exit 0")))
        self.vm.wait_phase(good, "Succeeded")
        self.vm.wait_until(
            lambda: self.vm.members(bad)["main"]["state"].get("waiting", {}).get("reason")
            == "ErrImageNeverPull", "waiting reason")
        self.assertIn(self.vm.status(bad)["phase"], ("Pending", "Failed"))

    def test_refused_manifest_names_the_place(self):
        with self.assertRaisesRegex(CommandError, "/spec/containers"):
            self.vm.command("pod-create", manifest=pod("bad", {"name": "x"}))

    def test_lines_are_whole_and_in_order(self):
        name = self.create(pod("lines", container(
            "main", "i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i + 1)); done;"
                    " printf 'no newline'; echo complaint >&2")))
        self.vm.wait_phase(name, "Succeeded")
        # An exit is told before the lines that are still to be sent.
        self.vm.wait_log(name, "main", "no newline")
        self.vm.wait_log(name, "main", "complaint")
        out = [text for stream, text in self.vm.log_lines(name, "main")
               if stream == "stdout"]
        self.assertEqual(out, [f"line {i}" for i in range(500)] + ["no newline"])
        self.assertIn(("stderr", "complaint"), self.vm.log_lines(name, "main"))

    def test_member_kill(self):
        name = self.create(pod("victim", container("main", "echo up; exec sleep 1000")))
        self.vm.wait_log(name, "main", "up")
        self.vm.command("member-kill", name=name, member="main", signal="SIGKILL")
        event = self.vm.wait_event("MEMBER_EXITED", pod=name)
        self.assertEqual((event["data"]["exitCode"], event["data"]["signal"]), (137, 9))

    def test_garbage_on_the_channel(self):
        noise = base64.b64encode(os.urandom(3000))
        for garbage in (b"hello\n", b"{}}}\n", b"[" * 10000 + b"\n", b"\0" * 100 + b"\n",
                        noise + b"\n", b'{"execute": 5}\n', b'{"execute":"no-such"}\n',
                        b'{"execute":"pod-create","arguments":{"manifest":"\xc3"}}\n'):
            with self.subTest(garbage=garbage[:20]):
                self.vm.strays.clear()
                self.vm.channel.send_raw(garbage + RESYNC)
                self.assertIn("version", self.vm.command("podinit-info"))
                self.assertTrue(self.vm.strays, "no word about it")
                for answer in self.vm.strays:
                    self.assertIn("desc", answer["error"])

    def test_half_a_request_is_forgotten_at_the_next_resync(self):
        self.vm.channel.send_raw(b'{"execute":"podinit-info","argum' + RESYNC)
        self.assertIn("version", self.vm.command("podinit-info"))

    def test_client_comes_back(self):
        """The port is closed on the host's side and opened again; nothing is lost."""
        name = self.create(pod("before", container("main", "echo kept")))
        self.vm.wait_phase(name, "Succeeded")
        self.vm.reconnect()
        self.vm.events.clear()
        self.vm.subscribe()
        self.vm.wait_phase(name, "Succeeded")
        self.vm.wait_log(name, "main", "kept")


if __name__ == "__main__":
    unittest.main()
