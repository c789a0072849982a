# SPDX-License-Identifier: Apache-2.0
"""Requests and limits on a kernel of their own: what its cgroups say, read by a member
that sees the machine's tree; who is killed when memory ends.
"""

import json
from pathlib import Path

from guest import CommandError, container, pod
from harness import VMCase

SLEEP = "exec sleep 1000"


class Resources(VMCase):
    @classmethod
    def vm_options(cls):
        return {"machine": {"onPodsDone": "stay"}}

    def create(self, name, *containers, **spec):
        guest = self.vm
        guest.command("pod-create", manifest=pod(name, *containers, **spec))
        self.addCleanup(guest.command, "pod-delete", name=name, graceSeconds=0)
        return guest

    def read(self, *paths):
        """Files of the machine's cgroup tree, and of /proc of a member's processes."""
        script = "; ".join(f"cat {path} || echo absent" for path in paths)
        guest = self.vm
        begin = len(guest.events)
        guest.command("pod-create", manifest=pod(
            "reader", container("c", script, volumeMounts=[
                {"name": "cgroup", "mountPath": "/machine"}]),
            volumes=[{"name": "cgroup", "hostPath": {"path": "/sys/fs/cgroup"}}]))
        guest.wait_event("POD_CHANGED", pod="reader", after=begin, timeout=60,
                         where=lambda data: data["phase"] in ("Succeeded", "Failed"))
        lines = [line["text"] for line in
                 guest.command("logs", name="reader", member="c")["lines"]]
        seen = len(guest.events)
        guest.command("pod-delete", name="reader")
        guest.wait_event("POD_DELETED", pod="reader", after=seen)
        return lines

    def groups(self, name, member, *files):
        uid = self.vm.command("pod-status", name=name)["metadata"]["uid"]
        where = f"/machine/pods/{uid}" + (f"/{member}" if member else "")
        return self.read(*(f"{where}/{file}" for file in files))

    def started(self, name, member):
        self.vm.wait_event("MEMBER_STARTED", pod=name, member=member, timeout=60)

    def test_a_limited_container(self):
        guest = self.create("lim", container("c", SLEEP, resources={
            "limits": {"cpu": "1500m", "memory": "64Mi"}, "requests": {"cpu": "500m"}}))
        self.started("lim", "c")
        self.assertEqual(
            self.groups("lim", "c", "cpu.max", "cpu.weight", "memory.max", "memory.oom.group"),
            ["150000 100000", "59", str(64 << 20), "1"])
        self.assertEqual(self.groups("lim", None, "cpu.max", "cpu.weight", "memory.max"),
                         ["150000 100000", "59", str(64 << 20)])
        self.assertEqual(guest.status("lim")["qosClass"], "Burstable")

    def test_resources_in_the_environment(self):
        def ref(name, resource, divisor):
            return {"name": name, "valueFrom": {"resourceFieldRef": {
                "resource": resource, "divisor": divisor}}}
        guest = self.create("env", container("c", "echo $LC $LCM $RC $RCM $LM $LMI $RM $RMK", env=[
            ref("LC", "limits.cpu", "0"), ref("LCM", "limits.cpu", "1m"),
            ref("RC", "requests.cpu", "1"), ref("RCM", "requests.cpu", "1m"),
            ref("LM", "limits.memory", "1"), ref("LMI", "limits.memory", "1Mi"),
            ref("RM", "requests.memory", "0"), ref("RMK", "requests.memory", "1k")],
            resources={"limits": {"cpu": "250m", "memory": "64Mi"},
                       "requests": {"cpu": "125m", "memory": "32Mi"}}))
        guest.wait_log("env", "c", "1 250 1 125 67108864 64 33554432 33555", timeout=60)

    def test_a_volume_in_memory_is_bounded_by_the_pod(self):
        guest = self.create("mem", container("c", "df -k /m | tail -1 | awk '{print $2}'", volumeMounts=[
            {"name": "m", "mountPath": "/m"}], resources={"limits": {"memory": "64Mi"}}),
            volumes=[{"name": "m", "emptyDir": {"medium": "Memory"}}])
        guest.wait_log("mem", "c", "65536", timeout=60)

    def test_the_example(self):
        """examples/config.json as it is."""
        manifest = json.loads((Path(__file__).parents[2] / "examples/config.json").read_text())
        self.vm.command("pod-create", manifest=manifest)
        self.addCleanup(self.vm.command, "pod-delete", name="app", graceSeconds=0)
        self.vm.wait_event("POD_CHANGED", pod="app", timeout=60,
                           where=lambda data: data["phase"] in ("Succeeded", "Failed"))
        self.assertEqual([text for _, text in self.vm.log_lines("app", "main")], [
            "hello", "listen 80", "root /www", 'tier="web"', "644 labels", "400 password",
            "644 site.conf"])

    def test_none_is_the_least(self):
        guest = self.create("none", container("c", SLEEP))
        self.started("none", "c")
        self.assertEqual(self.groups("none", "c", "cpu.max", "cpu.weight", "memory.max"),
                         ["max 100000", "1", "max"])
        self.assertEqual(self.groups("none", None, "cpu.max", "cpu.weight", "memory.max"),
                         ["max 100000", "1", "max"])
        self.assertEqual(guest.status("none")["qosClass"], "BestEffort")

    def test_oom_scores(self):
        show = "cat /proc/self/oom_score_adj; exec sleep 1000"
        limits = {"limits": {"cpu": "100m", "memory": "32Mi"}}
        guest = self.create("sure", container("c", show, resources=limits))
        guest.wait_log("sure", "c", "-997", timeout=60)
        self.assertEqual(guest.status("sure")["qosClass"], "Guaranteed")
        guest = self.create("mixed", container("a", show, resources=limits),
                            container("b", show))
        guest.wait_log("mixed", "b", "999", timeout=60)
        total, = [int(line.split()[1]) << 10 for line in self.read("/proc/meminfo")
                  if line.startswith("MemTotal:")]
        guest.wait_log("mixed", "a", str(1000 - 1000 * (32 << 20) // total), timeout=60)

    def test_memory_limit_kills_the_whole_container(self):
        guest = self.create("hog", container(
            "c", "(dd if=/dev/zero of=/dev/null bs=100M count=1); sleep 5; echo survived",
            resources={"limits": {"memory": "20Mi"}}), container("other", SLEEP))
        end = guest.wait_event("MEMBER_EXITED", pod="hog", member="c", timeout=60)
        self.assertEqual((end["data"]["exitCode"], end["data"]["reason"]), (137, "OOMKilled"))
        self.assertEqual(guest.log_lines("hog", "c"), [])
        states = {c["name"]: c["state"] for c in guest.status("hog")["containerStatuses"]}
        self.assertIn("running", states["other"])

    def test_pod_limit_is_the_sum(self):
        self.create("sum", container("a", SLEEP, resources={"limits": {
            "cpu": "100m", "memory": "32Mi"}}), container("b", SLEEP, resources={"limits": {
                "cpu": "200m", "memory": "64Mi"}}))
        self.started("sum", "b")
        self.assertEqual(self.groups("sum", None, "cpu.max", "memory.max"),
                         ["30000 100000", str(96 << 20)])

    def test_bad_quantity(self):
        with self.assertRaisesRegex(CommandError, "64 MB.* is no quantity"):
            self.vm.command("pod-create", manifest=pod("bad", container(
                "c", SLEEP, resources={"limits": {"memory": "64 MB"}})))
