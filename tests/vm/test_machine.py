# SPDX-License-Identifier: Apache-2.0
"""What only a whole machine can show: its memory runs out, its processes run out, a
second serial line, cgroup controllers, the boot's own timeline.
"""

import unittest

from guest import container, pod
from harness import VMCase

CONTROL = {"ports": ["org.podinit.control.0", "ttyS1"]}


class Machine(VMCase):
    @classmethod
    def vm_options(cls):
        return {"serial": True, "memory": 320,
                "machine": {"onPodsDone": "stay", "control": CONTROL,
                            "restart": {"backoffBaseMs": 300, "backoffMaxMs": 600}}}

    def create(self, manifest):
        self.vm.command("pod-create", manifest=manifest)
        self.addCleanup(self.vm.command, "pod-delete", name=manifest["metadata"]["name"],
                        graceSeconds=0)

    def test_memory_hog_is_oom_killed_and_nobody_else(self):
        self.create(pod("bystander", container("main", "echo here; read x", stdin=True)))
        self.vm.wait_log("bystander", "main", "here")
        self.create(pod("hog", container("main", "exec tail /dev/zero")))
        self.vm.wait_event("MEMBER_EXITED", timeout=60, pod="hog", member="main")
        end = self.vm.members("hog")["main"]["state"]["terminated"]
        self.assertEqual((end["reason"], end["exitCode"], end["signal"]),
                         ("OOMKilled", 137, 9))
        self.assertIn("running", self.vm.members("bystander")["main"]["state"])

    def test_clone_failure_is_a_back_off_with_its_errno(self):
        """The kernel may not make one more thread; then it may again."""
        script = ("trap 'echo 20 >/k/threads-max; echo full' USR1; "
                  "trap 'echo 20000 >/k/threads-max; echo free' USR2; "
                  "echo ready; while :; do read x; done")
        self.create(pod("valve", container(
            "main", script, stdin=True, volumeMounts=[{"name": "k", "mountPath": "/k"}]),
            volumes=[{"name": "k", "hostPath": {"path": "/proc/sys/kernel"}}]))
        self.create(pod("victim", container("main", "echo up; read x", stdin=True),
                        restartPolicy="Always"))
        self.vm.wait_log("valve", "main", "ready")
        self.vm.wait_log("victim", "main", "up")
        self.vm.command("member-kill", name="valve", member="main", signal="USR1")
        self.vm.wait_log("valve", "main", "full")
        self.vm.command("member-kill", name="victim", member="main", signal="KILL")
        failed = self.vm.wait_event("MEMBER_FAILED", pod="victim", member="main")["data"]
        self.assertEqual((failed["stage"], failed["errno"]), ("clone", 11))
        waiting = self.vm.members("victim")["main"]["state"]["waiting"]
        self.assertEqual(waiting["reason"], "CreateContainerError")
        self.assertEqual(waiting["message"],
                         "clone main: Resource temporarily unavailable")
        # A pod that comes now has no sandbox, and says so; PID 1 goes on.
        self.create(pod("late", container("main", "echo late")))
        self.vm.wait_event("POD_CHANGED", pod="late", reason="FailedCreatePodSandBox")
        self.vm.command("member-kill", name="valve", member="main", signal="USR2")
        self.vm.wait_log("valve", "main", "free")
        self.vm.wait_event("MEMBER_STARTED", pod="victim", member="main", attempt=1)
        self.vm.wait_phase("late", "Succeeded")
        self.assertEqual(self.vm.members("victim")["main"]["restartCount"], 1)

    def test_second_serial_line_is_a_channel(self):
        line = self.vm.client(self.vm.serial_path)
        self.addCleanup(line.close)
        line.send(b"login: \xff")
        info = line.command("podinit-info")
        self.assertEqual(info["pid"], 1)
        self.assertIsInstance(line.command("pod-list"), list)

    def test_a_node_that_a_member_makes_opens_nothing(self):
        script = ("for n in 'c 5 1' 'c 4 64' 'b 254 0' 'c 1 3'; do mknod /n $n || exit 1; "
                  "(: <>/n) 2>/dev/null && echo open $n; rm /n; "
                  "mknod /dev/n $n || exit 1; (: <>/dev/n) 2>/dev/null && echo open $n; "
                  "rm /dev/n; mknod /v/n $n || exit 1; "
                  "(: <>/v/n) 2>/dev/null && echo open $n; rm /v/n; done; echo done")
        self.create(pod("mknod", container("main", script, volumeMounts=[
            {"name": "v", "mountPath": "/v"}]), volumes=[{"name": "v"}]))
        self.vm.wait_phase("mknod", "Succeeded")
        self.assertEqual(self.vm.log_lines("mknod", "main"), [("stdout", "done")])

    def test_controllers_reach_the_members_groups(self):
        self.create(pod("cg", container(
            "main", "cat /cg/cgroup.controllers; ls /cg | grep -c memory.max",
            volumeMounts=[{"name": "cg", "mountPath": "/cg"}]),
            volumes=[{"name": "cg", "hostPath": {"path": "/sys/fs/cgroup/pods"}}]))
        self.vm.wait_phase("cg", "Succeeded")
        lines = [text for _, text in self.vm.log_lines("cg", "main")]
        for controller in ("cpu", "memory", "pids", "io"):
            self.assertIn(controller, lines[0].split())
        self.assertEqual(lines[1], "1")

    def test_the_boot_is_on_record(self):
        self.create(pod("first", container("main", "true")))
        self.vm.wait_event("MEMBER_STARTED", pod="first")
        stages = self.vm.command("podinit-info")["boot"]
        at = [stage["atNs"] for stage in stages]
        self.assertEqual(at, sorted(at))
        self.assertEqual(stages[0]["stage"], "handoff")
        self.assertLessEqual({"mounts", "pods", "modules", "manifests", "coldplug"},
                             {stage["stage"] for stage in stages})


if __name__ == "__main__":
    unittest.main()
