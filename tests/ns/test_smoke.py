# SPDX-License-Identifier: Apache-2.0
"""podinit in namespaces: it comes up, runs a pod, and ends with the pod's exit code."""

import signal
import unittest

from guest import container, pod
from harness import NSCase


class Smoke(NSCase):
    def test_waits_without_any_manifest_and_ends_by_signal(self):
        guest = self.start()
        self.assertIn("version", guest.command("podinit-info"))
        guest.signal(signal.SIGTERM)
        self.assertEqual(guest.wait_end(), 0)
        self.assertEqual(guest.final["outcome"], "shutdown")

    def test_exit_code_of_a_failed_pod(self):
        guest = self.start([pod("fails", container("main", "echo out; exit 3"))],
                           ready=False)
        self.assertEqual(guest.wait_end(), 3)
        self.assertEqual(guest.final["outcome"], "failed")
        self.assertEqual(guest.final["exitCode"], 3)
        self.assertEqual(guest.final["pods"][0]["members"][0]["exitCode"], 3)

    def test_member_sees_its_own_machine(self):
        guest = self.start(machine={"onPodsDone": "stay"})
        guest.command("pod-create", manifest=pod("look", container(
            "main", "hostname; echo pid $$; ls /; id -u; cat /proc/self/cgroup")))
        guest.wait_phase("look", "Succeeded")
        lines = [text for _, text in guest.log_lines("look", "main")]
        self.assertEqual(lines[:2], ["look", "pid 1"])
        self.assertNotIn("control", lines)  # a file of the machine's root
        guest.command("shutdown")
        self.assertEqual(guest.wait_end(), 0)


if __name__ == "__main__":
    unittest.main()
