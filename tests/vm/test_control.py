# SPDX-License-Identifier: Apache-2.0
"""The ways into a real machine: a virtio-serial port whose host end comes and goes, vsock
over the loopback, the unix socket; podctl at the other end.
"""

import unittest

from guest import container, pod
from harness import VMCase

IDLE_S = 2
LATE_S = 10  # after less the guest is still awake, and quicker than the race
IDLE_WAKEUPS = 30  # of the two questions themselves, and of opening and closing

PODCTL = {"name": "podctl", "hostPath": {"path": "/usr/bin/podctl", "type": "File"}}
SOCKET = {"name": "socket", "hostPath": {"path": "/run/podinit"}}


class Ways(VMCase):
    @classmethod
    def vm_options(cls):
        return {"machine": {"onPodsDone": "stay", "control": {"vsockLocal": True}}}

    def run_podctl(self, name, arguments, **fields):
        """The lines of a member that runs podctl, and its exit code at the end."""
        self.vm.command("pod-create", manifest=pod(
            name, container("main", f"/podctl {arguments} 2>&1; echo exit code $?",
                            volumeMounts=[{"name": "podctl", "mountPath": "/podctl"},
                                          {"name": "socket", "mountPath": "/ctl"}],
                            **fields),
            volumes=[PODCTL, SOCKET]))
        self.addCleanup(self.vm.command, "pod-delete", name=name, graceSeconds=0)
        self.vm.wait_phase(name, "Succeeded")
        return [text for _, text in self.vm.log_lines(name, "main")]

    def test_vsock_from_a_reserved_port(self):
        lines = self.run_podctl("vsock", "-s vsock:1 list")
        self.assertRegex(lines[0], "^NAMESPACE +NAME")
        self.assertEqual(lines[-1], "exit code 0")

    def test_vsock_from_anybody(self):
        lines = self.run_podctl("nobody", "-s vsock:1 list",
                                securityContext={"runAsUser": 1000})
        self.assertIn("only the host may use this port", lines[0])
        self.assertEqual(lines[-1], "exit code 3")

    def test_unix_socket(self):
        lines = self.run_podctl("unix", "-s /ctl/control.sock status unix")
        self.assertIn("Phase:       Running", lines)
        self.assertEqual(lines[-1], "exit code 0")

    def test_unix_socket_is_not_for_others(self):
        lines = self.run_podctl("other", "-s /ctl/control.sock list",
                                securityContext={"runAsUser": 1000})
        self.assertIn("Permission denied", lines[0])
        self.assertEqual(lines[-1], "exit code 3")

    def test_the_first_request_of_a_late_host_is_answered(self):
        """The request may come in before the news that the host is there."""
        for _ in range(3):
            self.vm.reconnect(pause_s=LATE_S)
            self.vm.command("podinit-info", timeout=5)
        self.vm.subscribe()

    def test_a_port_without_a_host_costs_nothing(self):
        """POLLHUP stays up while the host's end is closed: waiting for it must not spin."""
        before = self.vm.command("podinit-info")["loop"]["wakeups"]
        self.vm.channel.send_raw(b'{"execute":')  # half a request is forgotten
        self.vm.reconnect(pause_s=IDLE_S)  # what is measured is that nothing happens
        after = self.vm.command("podinit-info")["loop"]["wakeups"]
        self.vm.subscribe()
        self.assertLess(after - before, IDLE_WAKEUPS)


if __name__ == "__main__":
    unittest.main()
