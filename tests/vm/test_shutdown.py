# SPDX-License-Identifier: Apache-2.0
"""Every way down: the channel, keys, the power button, the end of all pods."""

import unittest

from guest import CommandError, container, pod
from harness import VM

DEAF = "trap '' TERM; echo up; while :; do sleep 1000; done"


class Shutdown(unittest.TestCase):
    vm = None

    def boot(self, manifests=(), **options):
        self.vm = VM(manifests, **options)
        self.addCleanup(self.vm.close)
        self.vm.wait_ready()
        return self.vm

    def describe(self):
        return self.vm.describe() if self.vm else ""

    def test_a_process_that_ignores_sigterm_does_not_hang_it(self):
        vm = self.boot([pod("deaf", container("main", DEAF),
                            terminationGracePeriodSeconds=1)])
        vm.wait_log("deaf", "main", "up")
        vm.command("shutdown", mode="power-off")
        vm.wait_end(30)
        self.assertEqual(vm.final["outcome"], "shutdown")
        self.assertEqual(vm.final["action"], "power-off")
        member = vm.final["pods"][0]["members"][0]
        self.assertEqual(member["exitCode"], 137)
        # The last words came over the channel before the machine went.
        vm.wait_event("MEMBER_EXITED", pod="deaf")

    def test_ctrl_alt_del(self):
        vm = self.boot([pod("polite", container(
            "main", "trap 'echo bye; exit 0' TERM; echo up; sleep 1000 & wait"))])
        vm.wait_log("polite", "main", "up")
        vm.ctrl_alt_del()
        vm.wait_end()
        self.assertEqual(vm.final["outcome"], "shutdown")
        self.assertEqual(vm.final["action"], "reboot")
        self.assertIn(("stdout", "bye"), vm.log_lines("polite", "main"))

    def test_power_button(self):
        vm = self.boot()
        vm.qmp("system_powerdown")
        vm.wait_end()
        self.assertEqual(vm.final["action"], "power-off")
        self.assertEqual(vm.final["pods"], [])

    def test_all_pods_done_powers_off_with_their_outcome(self):
        """A broken manifest beside a good one: the good one runs, and all of it is told."""
        vm = self.boot([pod("good", container("main", "echo ran; exit 0")),
                        pod("failing", container("main", "sleep 1; exit 9")),
                        ("broken.json", b'{"apiVersion": "v1", "kind": "Pod",\n oops')])
        self.assertEqual(vm.wait_end(), 9)
        self.assertEqual(vm.final["outcome"], "failed")
        self.assertEqual(vm.final["exitCode"], 9)
        phases = {entry["name"]: entry["phase"] for entry in vm.final["pods"]}
        self.assertEqual(phases["good"], "Succeeded")
        self.assertEqual(phases["failing"], "Failed")
        self.assertIn("Failed", [phases[name] for name in phases
                                 if name not in ("good", "failing")])
        self.assertRegex(vm.console_text, r"broken\.json:2")

    def test_a_fault_in_pid_1_has_its_last_words(self):
        """The kernel's handler of core dumps is root outside of all pods. PID 1 on one
        processor and the serial line's interrupt on the other: nothing is sent within
        the write."""
        handler = b"""#!/bin/busybox sh
echo 1 >/proc/irq/4/smp_affinity
/bin/busybox taskset -p 2 1
/bin/busybox kill -SEGV 1
"""
        script = ("echo '|/crashed' >/k/core_pattern; "
                  "trap 'sh -c \"kill -ABRT \\$\\$\"' USR1; "
                  "echo up; while :; do read x; done")
        vm = self.boot([pod("crash", container(
            "main", script, stdin=True, volumeMounts=[{"name": "k", "mountPath": "/k"}]),
            volumes=[{"name": "k", "hostPath": {"path": "/proc/sys/kernel"}}],
            terminationGracePeriodSeconds=1)], files=[("crashed", handler, 0o755)])
        vm.wait_log("crash", "main", "up")
        vm.command("member-kill", name="crash", member="main", signal="USR1")
        vm.wait_console("podinit: fault in PID 1: SIGSEGV")
        self.assertEqual(vm.wait_end(), 125)
        self.assertEqual(vm.final, {"outcome": "failed", "exitCode": 125,
                                    "action": "power-off", "pods": []})

    def test_broken_machine_file_is_a_failed_boot(self):
        """What it wanted for its pods is not known, so none is started on defaults."""
        self.vm = vm = VM([pod("never", container("main", "echo ran"))],
                          machine={"hostname": 5, "onPodsDone": "explode"})
        self.addCleanup(vm.close)
        vm.wait_end()
        self.assertEqual(vm.final["outcome"], "boot-failed")
        self.assertEqual(vm.final["exitCode"], 125)
        self.assertEqual(vm.final["action"], "power-off")
        self.assertEqual(vm.final["pods"], [])
        self.assertRegex(vm.console_text, "/hostname")
        self.assertRegex(vm.console_text, "/onPodsDone")

    def test_broken_machine_file_stays_up_when_told_to(self):
        vm = self.boot([pod("never", container("main", "echo ran"))],
                       machine={"hostname": 5},
                       append="podinit.on_boot_failed=stay podinit.xyzzy=1")
        self.assertRegex(vm.console_text, "/hostname")
        self.assertRegex(vm.console_text, r"no option podinit\.xyzzy")
        self.assertEqual(vm.command("pod-list"), [])
        with self.assertRaises(CommandError):
            vm.command("shutdown", mode="sideways")
        vm.command("shutdown", mode="power-off")
        vm.wait_end()
        self.assertEqual(vm.final["outcome"], "boot-failed")


if __name__ == "__main__":
    unittest.main()
