# SPDX-License-Identifier: Apache-2.0
"""What a member may do on a kernel of its own: its settings, devices, the machine's
namespaces."""

from guest import container, pod
from harness import VMCase


class Isolation(VMCase):
    @classmethod
    def vm_options(cls):
        return {"machine": {"onPodsDone": "stay", "allowedUnsafeSysctls": ["kernel.msg*"]}}

    def output(self, name, script, spec=None, **fields):
        guest = self.vm
        begin = len(guest.events)
        guest.command("pod-create", manifest=pod(name, container("c", script, **fields),
                                                 **(spec or {})))
        self.addCleanup(guest.command, "pod-delete", name=name, graceSeconds=0)
        guest.wait_event("POD_CHANGED", pod=name, after=begin, timeout=60,
                         where=lambda data: data["phase"] in ("Succeeded", "Failed"))
        self.assertEqual(guest.status(name)["phase"], "Succeeded", guest.status(name))
        return [text for _, text in guest.log_lines(name, "c")]

    def test_sysctls(self):
        lines = self.output("sysctls", "cat /proc/sys/kernel/shm_rmid_forced "
                                       "/proc/sys/kernel/msgmax /proc/sys/net/ipv4/tcp_syncookies",
                            spec={"securityContext": {"sysctls": [
                                {"name": "kernel.shm_rmid_forced", "value": "1"},
                                {"name": "kernel.msgmax", "value": "12345"},
                                {"name": "net.ipv4.tcp_syncookies", "value": "0"}]}})
        self.assertEqual(lines, ["1", "12345", "0"])
        self.assertEqual(self.output("others", "cat /proc/sys/kernel/msgmax"), ["8192"])

    def test_privileged(self):
        lines = self.output(
            "privileged", "[ -c /dev/kmsg ] && head -c 1 /dev/kmsg >/dev/null && echo kmsg; "
            "stat -c '%a %t %T' /dev/kmsg /dev/null; mkdir /m; mount -t proc p /m && echo mounted; "
            "echo 60 >/proc/sys/vm/swappiness && echo sysctl; ls /sys/firmware | wc -l; "
            "grep CapEff /proc/self/status; mkdir /sys/fs/cgroup/x && rmdir /sys/fs/cgroup/x && "
            "echo cgroup", securityContext={"privileged": True})
        self.assertEqual(lines[:5], ["kmsg", "644 1 b", "666 1 3", "mounted", "sysctl"])
        self.assertNotEqual(lines[5], "0")
        caps, cgroup = lines[6:]
        self.assertEqual(bin(int(caps.split()[1], 16)).count("1"), 41)  # all of 6.1
        self.assertEqual(cgroup, "cgroup")

    def test_what_others_may_not(self):
        lines = self.output(
            "plain", "[ -e /dev/kmsg ] && echo kmsg; mkdir /m; mount -t proc p /m 2>/dev/null && "
            "echo mounted; (echo 60 >/proc/sys/vm/swappiness) 2>/dev/null && echo sysctl; "
            "mknod /k c 1 11; cat /k 2>/dev/null && echo device; "
            "mkdir /sys/fs/cgroup/x 2>/dev/null && echo cgroup; echo end")
        self.assertEqual(lines, ["end"])

    def test_the_machine_s_processes(self):
        lines = self.output("host", "cat /proc/1/comm /proc/2/comm", spec={"hostPID": True})
        self.assertEqual(lines, ["init", "kthreadd"])
