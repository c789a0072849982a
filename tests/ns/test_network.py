# SPDX-License-Identifier: Apache-2.0
"""Pods' networks, seen with ip(8), nft(8) and sockets: addresses, names, host ports, the
way out, what is refused, and that nothing is left behind.
"""

import json
import os
import shutil
import subprocess
import tempfile

from guest import CommandError, container, pod
from harness import NFT, NSCase
from podvm_lib import paths

MACHINE = {"onPodsDone": "stay",
           "restart": {"backoffBaseMs": 50, "backoffMaxMs": 400, "backoffResetMs": 60000}}
# In the background only once it listens.
HTTPD = "mkdir /w; hostname >/w/i; httpd -p 80 -h /w; echo listening; exec sleep 1000"
FETCH = ("import sys, urllib.request as u; u.install_opener(u.build_opener("
         "u.ProxyHandler({}))); print(u.urlopen(sys.argv[1], timeout=3).read().decode())")
UDP_ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 53))
print("up", flush=True)
while True:
    s.sendto(*s.recvfrom(99))
"""
UDP_ASK = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.connect(("192.0.2.1", 5353))
s.send(b"ping")
print(s.recv(9).decode())
"""
TCP_WHO = """
import socket
s = socket.create_server(("", 7000))
print("up", flush=True)
print(s.accept()[1][0], flush=True)
"""
WAIT_S = 10


def namespace_of(pid):
    return ["nsenter", "-t", str(pid), "-U", "-n", "--preserve-credentials"]


class Network(NSCase):
    def in_machine(self, *argv, check=True):
        run = subprocess.run(namespace_of(self.guest.pid) + list(argv),
                             capture_output=True, text=True, timeout=WAIT_S)
        if check and run.returncode:
            raise AssertionError(f"{argv}: {run.stderr}")
        return run.stdout

    def in_pod(self, name, *argv):
        run = subprocess.run(self.pod_namespace(name) + list(argv), capture_output=True,
                             text=True, timeout=WAIT_S)
        if run.returncode:
            raise AssertionError(f"{argv}: {run.stderr}")
        return run.stdout

    def links(self):
        return {link["ifname"] for link in json.loads(self.in_machine("ip", "-j", "link"))}

    def map_elements(self):
        text = self.in_machine("nft", "-j", "list", "table", "inet", "podinit")
        return sum(len(entry["map"].get("elem", [])) for entry in
                   json.loads(text)["nftables"] if "map" in entry)

    def create(self, *manifests):
        for manifest in manifests:
            self.guest.command("pod-create", manifest=manifest)
        for manifest in manifests:
            self.guest.wait_event("MEMBER_STARTED", pod=manifest["metadata"]["name"],
                                  member=manifest["spec"]["containers"][-1]["name"])

    def delete(self, name):
        self.guest.command("pod-delete", name=name, graceSeconds=0)
        self.guest.wait_event("POD_DELETED", pod=name)

    def sleeper(self, name, **more):
        return pod(name, container("c", "exec sleep 1000", **more.pop("c", {})), **more)

    def outside(self):
        """A namespace beside the machine's, joined to it by a veth pair: 192.0.2.0/24 and
        2001:db8::/64, .1 the machine, .2 outside. Returns the command to enter it."""
        process = self.start_in(namespace_of(self.guest.pid) + ["unshare", "-n"],
                                "print('up', flush=True); input()")
        self.in_machine("ip", "link", "add", "up0", "type", "veth", "peer", "name", "eth0",
                        "netns", str(process.pid))
        enter = namespace_of(process.pid)
        for command in ("ip addr add 192.0.2.1/24 dev up0",
                        "ip addr add 2001:db8::1/64 dev up0 nodad", "ip link set up0 up"):
            self.in_machine(*command.split())
        for command in ("ip addr add 192.0.2.2/24 dev eth0",
                        "ip addr add 2001:db8::2/64 dev eth0 nodad",
                        "ip link set eth0 up", "ip link set lo up"):
            subprocess.run(enter + command.split(), check=True, timeout=WAIT_S)
        return enter

    def fetch(self, enter, url):
        """What a browser there gets, None when it gets nothing."""
        run = subprocess.run(enter + ["python3", "-c", FETCH, url], capture_output=True,
                             text=True, timeout=WAIT_S)
        return run.stdout.strip() if run.returncode == 0 else None

    def pod_namespace(self, name):
        """Enters as `ip netns exec` does: by what /run/netns/NAME leads to."""
        link = os.readlink(self.guest.path(f"/run/netns/{name}"))
        _, _, pid, _, fd = link.split("/")
        self.assertEqual(pid, "1")
        return ["nsenter", "-t", str(self.guest.pid), "-U", "--preserve-credentials",
                f"--net=/proc/{self.guest.pid}/fd/{fd}"]

    def start_in(self, enter, script):
        """A Python script that says "up" when others may go on."""
        process = subprocess.Popen(enter + ["python3", "-c", script], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.stdout.readline(), "up\n")
        return process

    def wait_listening(self, name):
        self.guest.wait_log(name, "c", "listening")


class Addresses(Network):
    def test_two_pods_as_the_kernel_has_them(self):
        guest = self.start(machine=MACHINE)
        self.create(self.sleeper("a"), self.sleeper("b"))
        for name, last in (("a", "2"), ("b", "3")):
            links = json.loads(self.in_pod(name, "ip", "-j", "addr"))
            eth0, = [link for link in links if link["ifname"] == "eth0"]
            self.assertEqual(
                [(a["local"], a["prefixlen"]) for a in eth0["addr_info"]
                 if a["scope"] == "global"],
                [(f"10.88.0.{last}", 16), (f"fd9c:70d1:8f2e::{last}", 64)])
            self.assertEqual(eth0["mtu"], 1500)
            self.assertEqual(eth0["operstate"], "UP")
            lo, = [link for link in links if link["ifname"] == "lo"]
            self.assertIn("UP", lo["flags"])
            for family, gateway in (("-4", "10.88.0.1"), ("-6", "fd9c:70d1:8f2e::1")):
                routes = json.loads(self.in_pod(name, "ip", "-j", family, "route"))
                default, = [r for r in routes if r["dst"] == "default"]
                self.assertEqual((default["gateway"], default["dev"]), (gateway, "eth0"))
            status = guest.status(name)
            self.assertEqual(status["podIP"], f"10.88.0.{last}")
            self.assertEqual([ip["ip"] for ip in status["podIPs"]],
                             [f"10.88.0.{last}", f"fd9c:70d1:8f2e::{last}"])
        ports = json.loads(self.in_machine("bridge", "-j", "link"))
        self.assertEqual({p["master"] for p in ports}, {"pod0"})
        self.assertEqual(len(ports), 2)
        self.assertEqual(self.in_pod("a", "busybox", "ping", "-c1", "-W3", "10.88.0.3").count("1 packets received"), 1)
        self.assertEqual(
            self.in_pod("a", "busybox", "ping", "-c1", "-W3", "fd9c:70d1:8f2e::3").count("1 packets received"), 1)

    def test_lowest_free_stable_and_given_back(self):
        guest = self.start(machine=MACHINE)
        self.create(self.sleeper("a"), self.sleeper("b"), self.sleeper("c"))
        self.delete("b")
        self.create(self.sleeper("d"))
        self.assertEqual(guest.status("d")["podIP"], "10.88.0.3")
        guest.command("member-kill", name="c", member="c", signal="SIGKILL")
        guest.wait_event("MEMBER_EXITED", pod="c", member="c")
        self.assertEqual(guest.status("c")["podIP"], "10.88.0.4")
        # An ended pod keeps its address until its record goes.
        guest.command("pod-stop", name="a", graceSeconds=0)
        guest.wait_phase("a", "Failed")
        condition, = [c for c in guest.status("a")["conditions"]
                      if c["type"] == "NetworkReady"]
        self.assertEqual((condition["status"], condition["reason"]),
                         ("False", "NetworkRemoved"))
        self.create(self.sleeper("e"))
        self.assertEqual(guest.status("e")["podIP"], "10.88.0.5")

    def test_fixed_address_mac_mtu_and_limit(self):
        guest = self.start(machine=MACHINE)
        fixed = self.sleeper("a")
        fixed["metadata"]["annotations"] = {"podinit/networks": json.dumps(
            [{"type": "pod", "ips": ["10.88.9.9"], "mac": "02:00:00:00:00:07", "mtu": 1400,
              "egress": "10M"}])}
        self.create(fixed)
        link, = [l for l in json.loads(self.in_pod("a", "ip", "-j", "addr"))
                 if l["ifname"] == "eth0"]
        self.assertEqual((link["address"], link["mtu"]), ("02:00:00:00:00:07", 1400))
        self.assertEqual(link["addr_info"][0]["local"], "10.88.9.9")
        qdiscs = json.loads(self.in_pod("a", "tc", "-j", "qdisc", "show", "dev", "eth0"))
        self.assertEqual((qdiscs[0]["kind"], qdiscs[0]["options"]["rate"]), ("tbf", 1250000))
        other = self.sleeper("b")
        other["metadata"]["annotations"] = fixed["metadata"]["annotations"]
        with self.assertRaisesRegex(CommandError, "10.88.9.9 is taken by pod default/a"):
            guest.command("pod-create", manifest=other)
        for ip, words in (("10.99.0.1", "not in the pods' range"),
                          ("10.88.0.1", "gateway's")):
            other["metadata"]["annotations"] = {"podinit/networks": json.dumps(
                [{"type": "pod", "ips": [ip]}])}
            with self.assertRaisesRegex(CommandError, words):
                guest.command("pod-create", manifest=other)

    def test_an_exhausted_range_is_said_and_can_be_used_again(self):
        guest = self.start(machine={**MACHINE, "network": {"podCidrs": ["10.9.0.0/29"]}})
        self.create(*[self.sleeper(f"p{n}") for n in range(5)])
        self.assertEqual(guest.status("p4")["podIP"], "10.9.0.6")
        with self.assertRaisesRegex(CommandError, "no free address in .* 10.9.0.0/29"):
            guest.command("pod-create", manifest=self.sleeper("more"))
        self.delete("p2")
        self.create(self.sleeper("more"))
        self.assertEqual(guest.status("more")["podIP"], "10.9.0.4")

    def test_a_bridge_that_cannot_be_made(self):
        """It is said; pods without need of it run; they start when it can be."""
        guest = self.start(machine=MACHINE)
        self.in_machine("ip", "link", "add", "pod0", "type", "veth", "peer", "name", "other")
        for name in "ab":
            guest.command("pod-create", manifest=self.sleeper(name))
        guest.wait_event("POD_CHANGED", pod="a", reason="FailedCreatePodSandBox")
        self.create(self.sleeper("host", hostNetwork=True))
        guest.wait_event("POD_CHANGED", pod="b", reason="FailedCreatePodSandBox")
        self.assertEqual(guest.status("b")["message"],
                         "pod network: pod0 is there already, and it is no bridge")
        guest.command("pod-create", manifest=self.sleeper("late"))
        guest.wait_event("POD_CHANGED", pod="late", reason="FailedCreatePodSandBox")
        self.delete("a")
        self.in_machine("ip", "link", "del", "pod0")
        for name in ("b", "late"):
            guest.wait_event("MEMBER_STARTED", pod=name)
            self.assertNotIn("reason", guest.status(name))
        self.assertEqual(guest.status("b")["podIP"], "10.88.0.3")

    def test_host_network_makes_no_bridge(self):
        guest = self.start(machine=MACHINE)
        self.create(self.sleeper("a", hostNetwork=True))
        self.assertEqual(self.links(), {"lo"})
        self.assertNotIn("NetworkReady",
                         [c["type"] for c in guest.status("a")["conditions"]])


class Interfaces(Network):
    """macvlan and ipvlan are in tests/vm: not every host's kernel has them."""

    def nic(self, name):
        """Stands for a NIC: one end of a veth pair. In one step: a pod that waits for it
        takes it as soon as it is there."""
        self.in_machine("ip", "link", "add", name, "up", "type", "veth", "peer", "name",
                        name + "p")

    def test_a_bridge_and_a_device(self):
        self.start(machine=MACHINE)
        self.nic("nic1")
        p = self.sleeper("a")
        p["metadata"]["annotations"] = {"podinit/networks": json.dumps([
            {"type": "bridge", "bridge": "br-lan", "ips": ["192.168.7.5/24"],
             "gateway": "192.168.7.1", "mac": "02:00:00:00:07:05"},
            {"type": "device", "device": "nic1", "interface": "lan",
             "ips": ["192.168.8.5/24"]}])}
        self.create(p)
        links = {l["ifname"]: l for l in json.loads(self.in_pod("a", "ip", "-j", "addr"))}
        self.assertEqual(set(links), {"lo", "eth0", "net1", "lan"})
        self.assertEqual(links["net1"]["address"], "02:00:00:00:07:05")
        self.assertEqual(links["lan"]["addr_info"][0]["local"], "192.168.8.5")
        default, = [r for r in json.loads(self.in_pod("a", "ip", "-j", "-4", "route"))
                    if r["dst"] == "default"]
        self.assertEqual(default["gateway"], "192.168.7.1")
        self.assertNotIn("nic1", self.links())
        self.delete("a")
        self.assertEqual(self.links(), {"lo", "nic1", "nic1p", "pod0", "br-lan"})

    def test_an_unknown_device_is_said_and_leaves_nothing(self):
        guest = self.start(machine=MACHINE)
        p = self.sleeper("a")
        p["metadata"]["annotations"] = {"podinit/networks": json.dumps(
            [{"type": "bridge", "bridge": "br-x"}, {"type": "device", "device": "eth9"}])}
        guest.command("pod-create", manifest=p)
        guest.wait_event("POD_CHANGED", pod="a", reason="FailedCreatePodSandBox")
        self.assertIn("eth9", guest.status("a")["message"])
        self.create(self.sleeper("b"))  # others are not concerned
        self.nic("eth9")
        guest.wait_event("MEMBER_STARTED", pod="a", member="c")
        self.delete("a")
        self.delete("b")
        self.assertEqual(self.links(), {"lo", "eth9", "eth9p", "pod0", "br-x"})


class HostPorts(Network):
    def web(self, name, port, **more):
        return pod(name, container("c", HTTPD, ports=[{"containerPort": 80, "hostPort": port,
                                                       **more}]))

    def test_reached_from_everywhere(self):
        self.start(machine=MACHINE)
        enter = self.outside()
        self.create(self.web("web", 8080), self.sleeper("client"))
        self.wait_listening("web")
        machine = namespace_of(self.guest.pid)
        for where, url in ((enter, "http://192.0.2.1:8080/i"),
                           (enter, "http://[2001:db8::1]:8080/i"),
                           (machine, "http://192.0.2.1:8080/i"),
                           (machine, "http://127.0.0.1:8080/i"),
                           (machine, "http://[2001:db8::1]:8080/i")):
            self.assertEqual(self.fetch(where, url), "web", url)
        for name in ("client", "web"):
            for address in ("192.0.2.1", "10.88.0.1", "[fd9c:70d1:8f2e::1]"):
                self.assertEqual(
                    self.fetch(self.pod_namespace(name), f"http://{address}:8080/i"), "web",
                    f"{name} by {address}")
        self.delete("web")
        self.assertIsNone(self.fetch(enter, "http://192.0.2.1:8080/i"))
        self.assertEqual(self.map_elements(), 0)

    def test_udp(self):
        self.start(machine=MACHINE)
        enter = self.outside()
        p = self.sleeper("u")
        p["spec"]["containers"][0]["ports"] = [
            {"containerPort": 53, "hostPort": 5353, "protocol": "UDP"}]
        self.create(p)
        self.start_in(self.pod_namespace("u"), UDP_ECHO)
        run = subprocess.run(enter + ["python3", "-c", UDP_ASK], capture_output=True,
                             text=True, timeout=WAIT_S)
        self.assertEqual(run.stdout, "ping\n", run.stderr)

    def test_host_ip(self):
        self.start(machine=MACHINE)
        enter = self.outside()
        self.create(self.web("web", 8080, hostIP="127.0.0.1"))
        self.wait_listening("web")
        self.assertEqual(self.fetch(namespace_of(self.guest.pid), "http://127.0.0.1:8080/i"),
                         "web")
        self.assertIsNone(self.fetch(enter, "http://192.0.2.1:8080/i"))

    def test_conflicts_name_both(self):
        guest = self.start(machine=MACHINE)
        self.create(self.web("one", 8080))
        for more in ({}, {"hostIP": "127.0.0.1"}):
            with self.assertRaisesRegex(CommandError, "hostPort 8080/TCP of two/c is taken "
                                                      "by one/c of pod default/one"):
                guest.command("pod-create", manifest=self.web("two", 8080, **more))
        self.create(self.web("two", 8080, protocol="UDP"))
        guest.command("pod-stop", name="one", graceSeconds=0)
        guest.wait_phase("one", "Failed")
        self.create(self.web("three", 8080))
    def test_masquerade(self):
        self.start(machine=MACHINE)
        enter = self.outside()
        self.create(self.sleeper("a"))
        server = self.start_in(enter, TCP_WHO)
        self.in_pod("a", "busybox", "nc", "-w", "3", "192.0.2.2", "7000")
        self.assertEqual(server.stdout.readline(), "192.0.2.1\n")

    def test_the_machines_loopback_is_not_in_reach(self):
        """CVE-2020-8558: with route_localnet a neighbour could send to 127.0.0.1."""
        guest = self.start(machine=MACHINE)
        self.create(self.web("web", 8080), self.sleeper("bad"))
        localnet = "/proc/sys/net/ipv4/conf/{}/route_localnet"
        self.assertEqual(self.in_machine("cat", localnet.format("pod0")), "1\n")
        server = self.start_in(namespace_of(guest.pid), TCP_WHO)
        for command in (f"echo 1 >{localnet.format('eth0')}",
                        "ip addr del 127.0.0.1/8 dev lo",
                        "ip route add 127.0.0.0/8 via 10.88.0.1"):
            self.in_pod("bad", "sh", "-c", command)
        self.assertEqual(self.fetch(self.pod_namespace("bad"), "http://127.0.0.1:7000/"), None)
        # It was the guard, and the server is there: the machine itself reaches it.
        self.fetch(namespace_of(guest.pid), "http://127.0.0.1:7000/")
        self.assertEqual(server.stdout.readline(), "127.0.0.1\n")

    def test_policy(self):
        guest = self.start(machine=MACHINE)
        enter = self.outside()
        p = self.web("web", 8080)
        p["metadata"]["annotations"] = {"podinit/network-policy": json.dumps(
            {"externalNetworks": ["192.0.2.0/24"]})}
        self.create(p, self.sleeper("other"))
        self.wait_listening("web")
        self.assertEqual(self.fetch(enter, "http://192.0.2.1:8080/i"), "web")
        ip = guest.status("web")["podIP"]
        self.assertIsNone(self.fetch(self.pod_namespace("other"), f"http://{ip}/i"))
        self.in_pod("other", "busybox", "ping", "-c1", "-W3", ip)

    def test_without_the_helper_only_pods_with_ports_wait(self):
        guest = self.start(machine=MACHINE, nft=False)
        self.create(self.sleeper("plain"))
        guest.command("pod-create", manifest=self.web("web", 8080))
        guest.wait_event("POD_CHANGED", pod="web", reason="FailedCreatePodSandBox")
        self.assertIn("podinit-nft", guest.status("web")["message"])
        self.delete("web")
        self.assertEqual(self.links(), {"lo", "pod0", "pv0"})

    def helper_that_breaks(self, condition):
        """podinit-nft that fails while /tmp/broken is there and the condition holds."""
        return self.helper_with(f"if [ -e /tmp/broken ] && {condition}; then\n"
                                "echo broken for the test; exit 1; fi", MACHINE)

    def helper_with(self, prelude, machine):
        """podinit-nft that does something before; /tmp/broken is there at first."""
        folder = tempfile.mkdtemp(prefix="podinit-nft-")
        self.addCleanup(shutil.rmtree, folder)
        script = os.path.join(folder, "script")
        with open(script, "w", encoding="ascii") as text:
            text.write(f"#!/bin/busybox sh\n{prelude}\n"
                       'exec /sbin/podinit-nft.real "$@"\n')
        os.chmod(script, 0o755)
        real = os.path.realpath(NFT)
        guest = self.start(machine=machine, nft=False, binds=[
            (script, "/sbin/podinit-nft"), (real, "/sbin/podinit-nft.real"),
            ("/bin/busybox", "/bin/busybox"),
            *((os.path.realpath(p), p) for p in paths.shared_objects(NFT))])
        with open(guest.path("/tmp/broken"), "w", encoding="ascii"):
            pass
        return guest

    def test_nobody_starts_before_the_masquerade(self):
        """What left earlier would be lost, and its connection with it."""
        for end in ("", "; exit 1"):
            with self.subTest(end=end):
                guest = self.helper_with(
                    "while [ -e /tmp/broken ]; do /bin/busybox sleep 0.02; done" + end,
                    {**MACHINE, "network": {"uplink": {
                        "mode": "static", "match": {"name": "none"}, "timeoutMs": 0,
                        "addresses": ["192.0.2.9/24"]}}})
                guest.command("pod-create", manifest=self.sleeper("a"))
                guest.wait_until(lambda: "pv0" in self.links(), "the interface", every=0.02)
                self.create(self.sleeper("b", hostNetwork=True))
                self.assertEqual(guest.status("a")["phase"], "Pending")
                os.unlink(guest.path("/tmp/broken"))
                guest.wait_event("MEMBER_STARTED", pod="a")

    def test_a_pod_that_ends_during_a_first_run_that_fails_is_removed(self):
        guest = self.helper_with(
            "while [ -e /tmp/broken ]; do /bin/busybox sleep 0.02; done; exit 1", MACHINE)
        guest.command("pod-create", manifest=self.web("web", 8080))
        guest.wait_until(lambda: "pv0" in self.links(), "the interface", every=0.02)
        self.create(self.sleeper("b", hostNetwork=True))
        guest.command("pod-delete", name="web", graceSeconds=0)
        guest.wait_until(lambda: guest.status("web")["phase"] == "Failed", "the end", every=0.02)
        os.unlink(guest.path("/tmp/broken"))
        guest.wait_event("POD_DELETED", pod="web")

    def test_a_helper_that_works_again(self):
        guest = self.helper_that_breaks("true")
        guest.command("pod-create", manifest=self.web("web", 8080))
        guest.wait_event("POD_CHANGED", pod="web", reason="FailedCreatePodSandBox")
        self.assertEqual(guest.status("web")["message"],
                         "/sbin/podinit-nft: broken for the test")
        os.unlink(guest.path("/tmp/broken"))
        guest.wait_event("MEMBER_STARTED", pod="web")
        self.assertNotIn("reason", guest.status("web"))
        self.assertNotIn("message", guest.status("web"))
        self.assertIn("podinit-nft works again", guest.console_text)

    def test_one_pods_filter_is_nobody_elses_trouble(self):
        guest = self.helper_that_breaks('[ "$1" = --netns ]')
        sick = self.sleeper("sick")
        sick["metadata"]["annotations"] = {"podinit/network-policy": json.dumps(
            {"internalNetworks": ["10.0.0.0/8"]})}
        guest.command("pod-create", manifest=sick)
        guest.wait_event("POD_CHANGED", pod="sick", reason="FailedCreatePodSandBox")
        self.assertIn("--netns: broken for the test", guest.status("sick")["message"])
        self.create(self.web("web", 8080), self.sleeper("plain"))
        self.assertEqual(guest.status("sick")["phase"], "Pending")
        os.unlink(guest.path("/tmp/broken"))
        guest.wait_event("MEMBER_STARTED", pod="sick")
        self.assertNotIn("reason", guest.status("sick"))

    def test_foreign_tables_stay(self):
        self.start(machine=MACHINE)
        self.in_machine("nft", "add table inet mine; add chain inet mine c")
        self.create(self.web("web", 8080))
        self.delete("web")
        self.assertIn("table inet mine", self.in_machine("nft", "list", "tables"))


class Leaks(Network):
    CYCLES, TOGETHER = 1000, 10

    def state(self):
        pid = self.guest.pid
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
            pss, = [int(line.split()[1]) for line in rollup if line.startswith("Pss:")]
        return (len(os.listdir(f"/proc/{pid}/fd")), self.links(), self.map_elements(),
                os.listdir(self.guest.path("/run/netns")),
                os.listdir(self.guest.path("/run/podinit/pods"))), pss

    def cycles(self, first, last):
        for n in range(first, last, self.TOGETHER):
            names = [f"p{n + k}" for k in range(self.TOGETHER)]
            seen = len(self.guest.events)
            for k, name in enumerate(names):
                self.guest.command("pod-create", manifest=pod(name, container(
                    "c", "exec sleep 1000", ports=[{"containerPort": 1,
                                                    "hostPort": 1000 + n + k}])))
            for name in names:
                self.guest.wait_event("MEMBER_STARTED", pod=name, after=seen)
            for name in names:
                self.guest.command("pod-delete", name=name, graceSeconds=0)
            for name in names:
                self.guest.wait_event("POD_DELETED", pod=name, after=seen)

    def test_cycles_leave_nothing(self):
        self.start(machine=MACHINE)
        self.cycles(0, 300)
        before, pss_before = self.state()
        self.cycles(300, 300 + self.CYCLES)
        after, pss_after = self.state()
        self.assertEqual(before, after)
        # KiB; the journals are bounded and full by now. What is left is the heap's
        # fragments: it does not grow with the cycles.
        self.assertLess(pss_after, pss_before + 64)

    def test_deleted_while_being_made(self):
        guest = self.start(machine=MACHINE)
        for n in range(50):
            manifest = pod(f"p{n}", container("c", "exec sleep 1000", ports=[
                {"containerPort": 1, "hostPort": 1000 + n}]))
            if n % 2:  # stopped while the helper makes its filter, too
                manifest["metadata"]["annotations"] = {"podinit/network-policy": json.dumps(
                    {"internalNetworks": ["10.0.0.0/8"]})}
            guest.command("pod-create", manifest=manifest)
            guest.command("pod-delete", name=f"p{n}", graceSeconds=0)
        for n in range(50):
            guest.wait_event("POD_DELETED", pod=f"p{n}")
        self.create(self.sleeper("last"))
        self.assertEqual(guest.status("last")["podIP"], "10.88.0.2")
        self.assertEqual(self.map_elements(), 0)
        self.assertEqual(self.links(), {"lo", "pod0", "pv0"})
