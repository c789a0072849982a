# SPDX-License-Identifier: Apache-2.0
"""What somebody takes from a pod's network is told in its conditions, and put back when
machine.json says so."""

import json
import signal
import subprocess

from guest import pod, container
from test_network import MACHINE, WAIT_S, Network

REPAIR = {**MACHINE, "network": {"repair": True}}


class Watch(Network):
    def condition(self, name):
        condition, = [c for c in self.guest.status(name)["conditions"]
                      if c["type"] == "NetworkReady"]
        return condition

    def wait_wrong(self, name, reason, after=0):
        """reason None: any."""
        self.guest.wait_event("POD_CHANGED", pod=name, after=after, where=lambda data:
                              data.get("network") == (reason or data.get("network", 0)))

    def wait_whole(self, name, after):
        """Until an event after the one at events[after] says so."""
        self.guest.wait_event("POD_CHANGED", pod=name, after=after,
                              where=lambda data: "network" not in data)

    def damage(self, name, inside, *argv, reason):
        """Does it; the number of events until it was told."""
        after = len(self.guest.events)
        (self.in_pod if inside else lambda _, *a: self.in_machine(*a))(name, *argv)
        self.wait_wrong(name, reason, after)
        return len(self.guest.events)


class Told(Watch):
    DAMAGES = (
        (True, "ip addr del 10.88.0.2/16 dev eth0", "AddressMissing",
         "eth0 has no address 10.88.0.2/16",
         "ip addr add 10.88.0.2/16 brd + dev eth0; ip route add default via 10.88.0.1"),
        (True, "ip -6 route del default", "RouteMissing",
         "eth0 has no default route by fd9c:70d1:8f2e::1",
         "ip -6 route add default via fd9c:70d1:8f2e::1"),
        (True, "ip route replace default via 10.88.0.9", "RouteMissing",
         "eth0 has no default route by 10.88.0.1",
         "ip route replace default via 10.88.0.1"),
        (True, "ip link set lo down", "InterfaceDown", "lo is down", "ip link set lo up"),
        (False, "ip link set pv0 nomaster", "InterfaceDown", "pv0 is no port of pod0",
         "ip link set pv0 master pod0"),
        (False, "ip link set pv0 down name zz0", "InterfaceMissing", "pv0 is gone",
         "ip link set zz0 name pv0 up"),
        (False, "ip link set pod0 down", "InterfaceDown", "pod0 is down",
         "ip link set pod0 up; ip addr add fd9c:70d1:8f2e::1/64 dev pod0 nodad"),
        (False, "ip addr del 10.88.0.1/16 dev pod0", "AddressMissing",
         "pod0 has no address 10.88.0.1/16", "ip addr add 10.88.0.1/16 brd + dev pod0"),
    )

    def test_each_loss_has_its_reason_and_its_end(self):
        guest = self.start(machine=MACHINE)
        self.create(self.sleeper("a"))
        self.assertEqual(self.condition("a")["status"], "True")
        for inside, how, reason, message, undo in self.DAMAGES:
            with self.subTest(how):
                seen = self.damage("a", inside, *how.split(), reason=reason)
                condition = self.condition("a")
                self.assertEqual((condition["status"], condition["reason"],
                                  condition["message"]), ("False", reason, message))
                self.assertEqual(guest.status("a")["phase"], "Running")
                for command in undo.split("; "):
                    (self.in_pod if inside else lambda _, *a: self.in_machine(*a))(
                        "a", *command.split())
                self.wait_whole("a", seen)
                self.assertEqual(self.condition("a")["status"], "True")
                self.assertNotIn("message", self.condition("a"))

    def test_an_interface_that_goes(self):
        guest = self.start(machine=MACHINE)
        self.create(self.sleeper("a"), self.sleeper("b"))
        self.damage("a", False, "ip", "link", "del", "pv0", reason="InterfaceMissing")
        self.assertEqual(self.condition("a")["message"], "eth0 is gone")
        self.assertEqual(self.condition("b")["status"], "True")
        self.delete("a")  # what is gone already is no trouble
        # A bridge that goes takes the network of all with it; the next pod gets one.
        self.damage("b", False, "ip", "link", "del", "pod0", reason="InterfaceMissing")
        self.assertEqual(self.condition("b")["message"], "bridge pod0 is gone")
        seen = len(guest.events)
        self.create(self.sleeper("c"))
        self.assertEqual(self.condition("c")["status"], "True")
        self.in_machine("ip", "link", "set", "pv1", "master", "pod0")
        self.wait_whole("b", seen)

    def test_down_and_up_again_at_once(self):
        """IPv4 routes go with the link, and the kernel says nothing of them."""
        guest = self.start(machine={**MACHINE, "network": {"podCidrs": ["10.88.0.0/16"]}})
        self.create(self.sleeper("a"))
        after = len(guest.events)
        subprocess.run(self.pod_namespace("a") + ["ip", "-batch", "-"], text=True, check=True,
                       input="link set eth0 down\nlink set eth0 up\n", timeout=WAIT_S)
        self.wait_wrong("a", "RouteMissing", after)

    def test_lost_events_are_made_up_for(self):
        """PID 1 sleeps while the queue of the monitor overruns."""
        guest = self.start(machine=MACHINE)
        self.create(self.sleeper("a"))
        guest.signal(signal.SIGSTOP)
        flood = "link add d0 type veth peer name d1\n" + "".join(
            f"link set d0 mtu {1300 + n % 2}\n" for n in range(8000))
        subprocess.run(["nsenter", "-t", str(guest.pid), "-U", "-n",
                        "--preserve-credentials", "ip", "-batch", "-"], input=flood,
                       text=True, check=True, timeout=30)
        after = len(guest.events)
        self.in_pod("a", "ip", "addr", "del", "10.88.0.2/16", "dev", "eth0")
        # "d": datagrams dropped, of a socket of this namespace.
        self.assertRegex(self.in_machine("ss", "-f", "netlink", "-m"), r",d[1-9]\d*\)")
        guest.signal(signal.SIGCONT)
        self.wait_wrong("a", "AddressMissing", after)

    def test_what_a_member_does_with_links_of_its_own(self):
        guest = self.start(machine=MACHINE)
        self.create(self.sleeper("a"))
        for n in range(20):
            self.in_pod("a", "ip", "link", "add", f"d{n}", "type", "veth")
        self.in_pod("a", "ip", "addr", "add", "198.51.100.1/24", "dev", "d0")
        self.in_pod("a", "ip", "addr", "del", "198.51.100.1/24", "dev", "d0")
        # The next one is looked at, at the latest, together with these.
        self.damage("a", True, "ip", "link", "set", "eth0", "down", reason="InterfaceDown")
        self.assertEqual(len([e for e in guest.events if e.get("event") == "POD_CHANGED"
                              and "network" in e["data"]]), 1)


class Repaired(Watch):
    def test_each_loss_is_put_back(self):
        guest = self.start(machine=REPAIR)
        self.create(self.sleeper("a"), self.sleeper("b"))
        for inside, how, reason in (
                (True, "ip addr del 10.88.0.2/16 dev eth0", "AddressMissing"),
                (True, "ip link set eth0 down", "InterfaceDown"),
                (True, "ip link del eth0", "InterfaceMissing"),
                (False, "ip link set pv0 nomaster", "InterfaceDown"),
                (False, "ip link del pv0", "InterfaceMissing"),
                (False, "ip link set pv0 down name zz0", "InterfaceMissing"),
                (False, "ip addr flush dev pod0 scope global", "AddressMissing"),
                # The child may look at it when the machine's side is there again.
                (False, "ip link del pod0", None)):
            with self.subTest(how):
                seen = self.damage("a", inside, *how.split(), reason=reason)
                self.wait_whole("a", seen)
                self.assertEqual(self.condition("a")["status"], "True")
        guest.wait_until(lambda: self.condition("b")["status"] == "True", "b", WAIT_S,
                         every=0.05)
        for name, other in (("a", "10.88.0.3"), ("b", "10.88.0.2")):
            for address in (other, "10.88.0.1", "fd9c:70d1:8f2e::1"):
                self.in_pod(name, "busybox", "ping", "-c1", "-W3", address)
        self.assertIn("eth0 is gone; put back", guest.console_text)

    def test_a_member_that_breaks_it_for_ever(self):
        """It does not get PID 1 to do nothing else: back-off, and others are well."""
        guest = self.start(machine={**REPAIR, "restart": {
            "backoffBaseMs": 300, "backoffMaxMs": 10000, "backoffResetMs": 60000}})
        self.create(self.sleeper("a"), self.sleeper("b"))
        breaker = self.start_in(self.pod_namespace("a"), """
import subprocess
print("up", flush=True)
while True:
    subprocess.run(["ip", "link", "set", "eth0", "down"])
""")
        guest.wait_until(lambda: guest.console_text.count("put back") == 3, "repairs", 30)
        self.assertEqual(self.condition("b")["status"], "True")
        breaker.kill()
        breaker.wait()
        guest.wait_until(lambda: self.condition("a")["status"] == "True", "its end", 30,
                         every=0.05)

    def test_pods_that_end_while_they_are_looked_at(self):
        guest = self.start(machine=REPAIR)
        for n in range(30):
            self.create(self.sleeper(f"p{n}"))
            self.in_machine("ip", "link", "set", "pod0", "down")
            self.delete(f"p{n}")
        self.create(self.sleeper("last"))
        guest.wait_until(lambda: self.condition("last")["status"] == "True", "it", WAIT_S,
                         every=0.05)
        self.assertEqual(guest.status("last")["podIP"], "10.88.0.2")
        self.in_pod("last", "busybox", "ping", "-c1", "-W3", "10.88.0.1")
        self.assertEqual(self.links(), {"lo", "pod0", "pv0"})

    def test_what_cannot_be_put_back(self):
        guest = self.start(machine=REPAIR)
        self.in_machine("ip", "link", "add", "nic0", "type", "veth", "peer", "name", "far0")
        manifest = self.sleeper("a")
        manifest["metadata"]["annotations"] = {"podinit/networks": json.dumps(
            [{"type": "device", "device": "nic0", "interface": "lan"}])}
        self.create(manifest)
        self.in_machine("ip", "link", "del", "far0")
        self.wait_wrong("a", "InterfaceMissing")
        guest.wait_until(lambda: "lan is gone; not put back: find interface nic0" in
                         guest.console_text, "the reason", WAIT_S)
        self.in_machine("ip", "link", "add", "nic0", "type", "veth", "peer", "name", "far0")
        guest.wait_until(lambda: self.condition("a")["status"] == "True", "another", WAIT_S,
                         every=0.05)
