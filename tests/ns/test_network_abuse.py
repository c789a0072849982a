# SPDX-License-Identifier: Apache-2.0
"""Pods come and go while somebody kills podinit's helpers and somebody takes their network
apart. What is left when both are gone: a podinit that works, and nothing else."""

import contextlib
import json
import os
import random
import signal
import threading
import time
from pathlib import Path

from guest import CommandError, container, pod
from test_network import Network

ABUSE_S = 8
PODS = 30


class Abuse(Network):
    def helpers(self):
        """Children of podinit in its own pid namespace: no members."""
        pid = self.guest.pid
        own = os.readlink(f"/proc/{pid}/ns/pid_for_children")
        found = []
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            try:
                if os.readlink(f"/proc/{child}/ns/pid") == own:
                    found.append(int(child))
            except OSError:
                pass  # it has ended
        return found

    def kill_helpers(self, dice):
        for child in self.helpers():
            if dice.random() < .3:
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def take_apart(self, dice):
        def ip(*argv):
            self.in_machine("ip", *argv, check=False)
        links = [link["ifname"] for link in json.loads(self.in_machine("ip", "-j", "link"))]
        ports = [name for name in links if name.startswith("pv")]
        port = dice.choice(ports) if ports else "none"
        dice.choice([
            lambda: ip("link", "del", port),
            lambda: ip("link", "set", port, "down"),
            lambda: ip("link", "set", port, "nomaster"),
            lambda: ip("link", "set", port, "name", "x" + port),
            lambda: ip("link", "del", "pod0"),
            lambda: ip("addr", "flush", "dev", "pod0"),
            lambda: self.in_machine("nft", "flush", "ruleset", check=False),
        ])()

    def manifest(self, n, dice):
        ports = [{"containerPort": 80, "hostPort": 8000 + n}] if dice.random() < .5 else []
        manifest = pod(f"p{n}", container("c", "exec sleep 1000", ports=ports),
                       terminationGracePeriodSeconds=0)
        manifest["metadata"]["annotations"] = dice.choice([
            {}, {"podinit/network-policy": '{"internalNetworks": ["10.0.0.0/8"]}'},
            {"podinit/networks": json.dumps([
                {"type": "bridge", "bridge": f"br{n % 3}", "ips": [f"192.168.9.{n + 2}/24"]}])}])
        return manifest

    def come_and_go(self, dice, until):
        """How many pods were made."""
        made = 0
        while time.monotonic() < until:
            n = dice.randrange(PODS)
            try:
                if dice.random() < .5:
                    self.guest.command("pod-delete", name=f"p{n}", graceSeconds=0)
                else:
                    self.guest.command("pod-create", manifest=self.manifest(n, dice))
                    made += 1
                if dice.random() < .1:
                    self.guest.command("pod-net")
            except CommandError:
                pass  # it is there already, or not; or its helper was killed
        return made

    def abuse(self, repair):
        guest = self.start(machine={
            "onPodsDone": "stay", "restart": {"backoffBaseMs": 20, "backoffMaxMs": 100},
            "network": {"repair": repair}})
        self.create(self.sleeper("first"))
        self.delete("first")
        descriptors = len(os.listdir(f"/proc/{guest.pid}/fd"))
        stop = threading.Event()

        def repeat(what, most_s, seed):
            dice = random.Random(seed)
            while not stop.wait(dice.random() * most_s):
                what(dice)
        threads = [threading.Thread(target=repeat, args=arguments) for arguments in (
            (self.kill_helpers, .02, 1), (self.take_apart, .05, 2))]
        for thread in threads:
            thread.start()
        try:
            made = self.come_and_go(random.Random(3), time.monotonic() + ABUSE_S)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertGreater(made, 50)
        for entry in guest.command("pod-list"):
            with contextlib.suppress(CommandError):  # it is on its way already
                guest.command("pod-delete", name=entry["name"], graceSeconds=0)
        guest.wait_until(lambda: not guest.command("pod-list"), "end of all pods", every=.02)
        self.works_and_leaves_nothing(descriptors)

    def works_and_leaves_nothing(self, descriptors):
        guest = self.guest
        self.create(pod("last", container("c", "exec sleep 1000", ports=[
            {"containerPort": 80, "hostPort": 9000}]), terminationGracePeriodSeconds=0))
        guest.wait_until(lambda: {"NetworkReady": "True"}.items() <= {
            c["type"]: c["status"] for c in guest.status("last")["conditions"]}.items(),
            "NetworkReady", every=.02)
        self.assertIn("9000", self.in_machine("nft", "list", "ruleset"))
        self.delete("last")
        guest.wait_until(lambda: not self.helpers(), "end of the helpers", every=.02)
        self.assertLessEqual({"lo", "pod0"}, self.links())
        self.assertLessEqual(self.links(), {"lo", "pod0", "br0", "br1", "br2"})
        self.assertEqual(os.listdir(guest.path("/run/netns")), [])
        self.assertEqual(os.listdir(guest.path("/run/podinit/pods")), [])
        self.assertNotIn("elements", self.in_machine("nft", "list", "table", "inet", "podinit"))
        self.assertEqual(len(os.listdir(f"/proc/{guest.pid}/fd")), descriptors)

    def test_with_repair(self):
        self.abuse(True)

    def test_without_repair(self):
        self.abuse(False)
