# SPDX-License-Identifier: Apache-2.0
"""PID 1 itself: faults, requests, refused machine files."""

import signal
import unittest

from guest import container, pod
from harness import NSCase

POLITE = "trap 'exit 0' TERM; echo up; sleep 1000 & wait"
DEAF = "trap '' TERM; echo up; while :; do sleep 1000; done"


class Init(NSCase):
    def test_a_fault_is_told_and_ends_all(self):
        guest = self.start([pod("web", container("main", POLITE))])
        guest.wait_log("web", "main", "up")
        guest.signal(signal.SIGSEGV)
        self.assertEqual(guest.wait_end(), 125)
        self.assertRegex(guest.console_text, "fault in PID 1: SIGSEGV at 0x")
        self.assertEqual(guest.final["outcome"], "failed")
        self.assertEqual(guest.final["exitCode"], 125)

    def test_sigint_again_ends_the_grace(self):
        guest = self.start([pod("deaf", container("main", DEAF),
                                terminationGracePeriodSeconds=300)])
        guest.wait_log("deaf", "main", "up")
        guest.signal(signal.SIGINT)
        guest.wait_until(lambda: "idle -> stop" in guest.console_text, "stop", 20)
        guest.signal(signal.SIGINT)
        guest.wait_end(20)
        self.assertEqual(guest.final["outcome"], "shutdown")
        self.assertEqual(guest.final["pods"][0]["members"][0]["exitCode"], 137)

    def test_sigterm_again_leaves_the_grace(self):
        guest = self.start([pod("deaf", container("main", DEAF),
                                terminationGracePeriodSeconds=2)])
        guest.wait_log("deaf", "main", "up")
        for _ in range(5):
            guest.signal(signal.SIGTERM)
        guest.wait_end(20)
        self.assertNotIn("no more grace", guest.console_text)
        self.assertEqual(guest.final["outcome"], "shutdown")

    def test_a_shorter_shutdown_is_taken(self):
        guest = self.start([pod("deaf", container("main", DEAF),
                                terminationGracePeriodSeconds=300)])
        guest.wait_log("deaf", "main", "up")
        guest.command("shutdown", mode="power-off")
        guest.command("shutdown", mode="power-off", graceSeconds=1)
        guest.wait_end(20)
        self.assertEqual(guest.final["outcome"], "shutdown")

    def test_signals_without_a_meaning_do_nothing(self):
        guest = self.start()
        for number in (signal.SIGHUP, signal.SIGALRM, signal.SIGQUIT, signal.SIGWINCH,
                       signal.SIGTSTP, signal.SIGCHLD, signal.SIGPIPE):
            guest.signal(number)
        self.assertIn("version", guest.command("podinit-info"))

    def test_the_boot_has_its_time_line(self):
        guest = self.start()
        stages = guest.command("podinit-info")["boot"]
        names = [entry["stage"] for entry in stages]
        times = [entry["atNs"] for entry in stages]
        self.assertEqual(names[:3], ["handoff", "detect", "console"])
        self.assertIn("manifests", names)
        self.assertEqual(times, sorted(times))

    def test_a_refused_machine_file_is_a_failed_boot(self):
        guest = self.start([pod("never", container("main", "echo ran"))],
                           machine={"hostname": 5, "onPodsDone": "explode"},
                           ready=False)
        self.assertEqual(guest.wait_end(), 125)
        self.assertEqual(guest.final["outcome"], "boot-failed")
        self.assertEqual(guest.final["action"], "exit")
        self.assertRegex(guest.console_text, "/hostname")
        self.assertRegex(guest.console_text, "/onPodsDone")


if __name__ == "__main__":
    unittest.main()
