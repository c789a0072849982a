# SPDX-License-Identifier: Apache-2.0
"""Throughput by iperf3: through a pod's veth and podinit's bridge, and through a pair and
a bridge made by hand in a namespace without rules."""

import json
import os
import statistics
import subprocess

SECONDS = 1
ROUNDS = 11
WAIT_S = 30


def enter(pid):
    return ["nsenter", "-t", str(pid), "-n"]


def enter_guest(guest, netns="ns/net"):
    """The guest has a user namespace of its own."""
    return ["nsenter", "-t", str(guest.pid), "-U", "--preserve-credentials",
            f"--net=/proc/{guest.pid}/{netns}"]


def pod_namespace(guest, name):
    fd = os.readlink(guest.path(f"/run/netns/{name}")).split("/")[-1]
    return enter_guest(guest, f"fd/{fd}")


class Hand:
    """A machine and two pods as one would make them: .machine and .pods enter them."""

    def __init__(self):
        self._processes = []
        machine = self._namespace(["unshare", "-n"])
        self.machine = enter(machine)
        self.pods = []
        self._run(self.machine, "ip link add br0 type bridge")
        self._run(self.machine, "ip addr add 10.88.0.1/16 dev br0")
        self._run(self.machine, "ip link set br0 up")
        for n in (2, 3):
            pid = self._namespace(self.machine + ["unshare", "-n"])
            pod = enter(pid)
            self._run(self.machine, f"ip link add p{n} type veth peer name eth0 netns {pid}")
            self._run(self.machine, f"ip link set p{n} master br0 up")
            for command in ("ip link set lo up", "ip link set eth0 up",
                            f"ip addr add 10.88.0.{n}/16 dev eth0",
                            "ip route add default via 10.88.0.1"):
                self._run(pod, command)
            self.pods.append(pod)

    @staticmethod
    def _run(where, command):
        subprocess.run(where + command.split(), check=True, timeout=WAIT_S)

    def _namespace(self, unshare):
        process = subprocess.Popen(unshare + ["sh", "-c", "echo up; read x"], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._processes.append(process)
        if process.stdout.readline() != "up\n":
            raise RuntimeError("no namespace")
        return process.pid

    def close(self):
        for process in self._processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def measure(server, client, address):
    """Gbit/s that arrive."""
    listener = subprocess.Popen(server + ["iperf3", "-s", "-1", "--forceflush"], text=True,
                                stdout=subprocess.PIPE)
    try:
        while "listening" not in listener.stdout.readline():
            if listener.poll() is not None:
                raise RuntimeError("iperf3 does not listen")
        done = subprocess.run(client + ["iperf3", "-J", "-c", address, "-t", str(SECONDS),
                                        "-A", "0,1"],
                              check=True, text=True, stdout=subprocess.PIPE,
                              timeout=WAIT_S)
        return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e9
    finally:
        listener.kill()
        listener.communicate()


def compare(guest):
    """[(what, ours, by hand)]: medians in Gbit/s, of rounds in turns. guest: with pods "a"
    and "b"."""
    hand = Hand()
    a, b = (pod_namespace(guest, name) for name in "ab")
    ways = (("pod to pod", (b, a, "10.88.0.3"), (hand.pods[1], hand.pods[0], "10.88.0.3")),
            ("pod to machine", (enter_guest(guest), a, "10.88.0.1"),
             (hand.machine, hand.pods[0], "10.88.0.1")))
    try:
        found = []
        for what, ours, by_hand in ways:
            pairs = [(measure(*ours), measure(*by_hand)) if n % 2 else
                     (measure(*by_hand), measure(*ours))[::-1] for n in range(ROUNDS)]
            found.append((what, *(statistics.median(x) for x in zip(*pairs))))
        return found
    finally:
        hand.close()
