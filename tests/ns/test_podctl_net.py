# SPDX-License-Identifier: Apache-2.0
"""podctl net: what it says is what ip(8) says; and what it says when it cannot."""

import json
import os
import signal
import subprocess

from guest import container, pod
from harness import BUILD
from test_network import MACHINE, Network

ASK = b'{"execute": "pod-net"}\n'


class Net(Network):
    def podctl(self, *argv, code=0):
        run = subprocess.run([BUILD / "podctl", "-s", self.guest.control_path, *argv],
                             capture_output=True, text=True, timeout=30)
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stdout if code == 0 else run.stderr

    def net(self, *argv):
        return json.loads(self.podctl("-o", "json", "net", *argv))

    def ip(self, name, *argv):
        enter = (lambda *a: self.in_pod(name, *a)) if name else self.in_machine
        return json.loads(enter("ip", "-j", "-s", "-d", *argv))

    def links_of(self, name):
        return {link["ifname"]: link for link in self.ip(name, "addr")}

    def compare(self, shown, name, before):
        """The namespace's links and routes, field by field; counters may go on."""
        links = self.links_of(name)
        self.assertEqual([link["name"] for link in shown["links"]], list(links))
        for link in shown["links"]:
            real = links[link["name"]]
            self.assertEqual(
                (link["index"], link["mtu"], link.get("mac", "00:00:00:00:00:00"),
                 link.get("master"), link["state"], link["carrier"]),
                (real["ifindex"], real["mtu"], real["address"], real.get("master"),
                 real["operstate"].lower() if "UP" in real["flags"] else "down",
                 "LOWER_UP" in real["flags"]))
            self.assertEqual(link["kind"], real.get("linkinfo", {}).get("info_kind") or
                             ("loopback" if link["name"] == "lo" else "device"))
            self.assertEqual(link["addresses"], [f"{a['local']}/{a['prefixlen']}"
                                                 for a in real["addr_info"]])
            for way in ("rx", "tx"):
                for key, ip_key in (("Bytes", "bytes"), ("Packets", "packets"),
                                    ("Errors", "errors"), ("Dropped", "dropped")):
                    was = before[link["name"]]["stats64"][way][ip_key]
                    self.assertIn(link[way + key],
                                  range(was, real["stats64"][way][ip_key] + 1))
        routes = [(r["dst"], r.get("gateway"), r["dev"], r.get("metric")) for family in
                  ("-4", "-6") for r in self.ip(name, family, "route")]
        self.assertEqual(sorted((r["destination"], r.get("gateway"), r["interface"],
                                 r.get("metric")) for r in shown["routes"]),
                         sorted(routes))


def answer(client):
    """The first message that is one; others are the greeting's."""
    while True:
        message = client.wait_message()
        if message is None or "return" in message or "error" in message:
            return message


class Shown(Net):
    def test_as_the_kernel_has_it(self):
        guest = self.start(machine=MACHINE)
        limited = self.sleeper("lim", c={"ports": [
            {"containerPort": 80, "hostPort": 8080},
            {"containerPort": 53, "hostPort": 53, "protocol": "UDP",
             "hostIP": "192.0.2.1"}]})
        limited["metadata"]["annotations"] = {
            "kubernetes.io/egress-bandwidth": "8M",
            "podinit/networks": json.dumps([{"type": "bridge", "bridge": "lab",
                                             "interface": "lan",
                                             "ips": ["198.51.100.2/24"]}])}
        far = self.sleeper("far")
        far["metadata"]["namespace"] = "x"
        self.create(limited, self.sleeper("plain"), far,
                    pod("host", container("c", "exec sleep 1000"), hostNetwork=True))
        self.in_pod("plain", "busybox", "ping", "-c3", "-i0.1", "10.88.0.2")
        before = {name: self.links_of(name) for name in (None, "lim", "plain")}
        net = self.net()
        self.compare(net["machine"], None, before[None])
        pods = {p["name"]: p for p in net["pods"]}
        self.assertEqual(list(pods), ["lim", "plain", "far", "host"])
        for name in ("lim", "plain"):
            self.compare(pods[name], name, before[name])
            self.assertTrue(pods[name]["ready"])
            self.assertEqual(pods[name]["netns"], f"/run/netns/{name}")
            self.assertEqual(pods[name]["ips"],
                             [ip["ip"] for ip in guest.status(name)["podIPs"]])
        links = {link["name"]: link for link in pods["lim"]["links"]}
        self.assertEqual((links["eth0"]["hostInterface"], links["eth0"]["bridge"],
                          links["eth0"]["egressBits"]), ("pv0", "pod0", 8000000))
        self.assertEqual((links["lan"]["hostInterface"], links["lan"]["bridge"]),
                         ("pv0.1", "lab"))
        self.assertNotIn("hostInterface", links["lo"])
        self.assertGreater(links["eth0"]["rxBytes"], 3 * 84)  # the three pings
        v4, v6 = pods["lim"]["ips"]
        self.assertEqual(pods["lim"]["ports"], [
            {"member": "c", "protocol": "TCP", "hostPort": 8080, "podIP": v4,
             "podPort": 80, "active": True},
            {"member": "c", "protocol": "TCP", "hostPort": 8080, "podIP": v6,
             "podPort": 80, "active": True},
            {"member": "c", "protocol": "UDP", "hostIP": "192.0.2.1", "hostPort": 53,
             "podIP": v4, "podPort": 53, "active": True}])
        self.assertEqual(pods["far"]["netns"], "/run/netns/x_far")
        self.assertTrue(pods["host"]["hostNetwork"])
        self.assertNotIn("links", pods["host"])
        # One pod, one namespace.
        self.assertEqual([p["name"] for p in self.net("plain")["pods"]], ["plain"])
        self.assertNotIn("machine", self.net("plain"))
        self.assertEqual([p["name"] for p in self.net("-n", "x")["pods"]], ["far"])
        self.assertEqual(self.net("-n", "nobody")["pods"], [])

    def test_as_people_read_it(self):
        self.start(machine=MACHINE)
        self.create(self.sleeper("web", c={"ports": [{"containerPort": 80,
                                                      "hostPort": 8080}]}),
                    pod("host", container("c", "exec sleep 1000"), hostNetwork=True))
        text = self.podctl("net")
        self.assertIn("uplink -: none\n", text)
        self.assertRegex(text, r"(?m)^-  +pod0  +bridge  +up  +1500  +10\.88\.0\.1/16, ")
        self.assertRegex(text, r"(?m)^default/web  +eth0  +pv0@pod0  +up  +1500  +"
                               r"10\.88\.0\.2/16, fd")
        self.assertRegex(text, r"(?m)^default/web  +default  +10\.88\.0\.1  +eth0 ")
        self.assertRegex(text, r"(?m)^default/web  +c  +TCP  +\*:8080  +10\.88\.0\.2:80  +"
                               r"active$")
        self.assertIn("default/host has the machine's network\n", text)
        self.assertNotIn(" lo ", text)
        self.in_pod("web", "ip", "link", "set", "eth0", "down")
        self.guest.wait_event("POD_CHANGED", pod="web", network="InterfaceDown")
        text = self.podctl("net", "web")
        self.assertRegex(text, r"(?m)^default/web  +eth0  +pv0@pod0  +down ")
        self.assertIn("default/web: not ready: eth0 is down\n", text)

    def test_what_there_is_not(self):
        self.start([("bad.json", b'{"apiVersion":"v1","kind":"Pod","metadata":'
                                 b'{"name":"bad"},"spec":{"containers":[]}}')],
                   machine=MACHINE)
        self.assertIn("there is no pod default/x", self.podctl("net", "x", code=1))
        self.assertIn("the pod was refused", self.podctl("net", "bad", code=1))
        self.assertIn("not both", self.podctl("net", "-n", "a", "x", code=2))
        self.assertIn("usage: podctl net", self.podctl("net", "a", "b", code=2))
        self.assertEqual(self.net()["pods"], [])


class Faults(Net):
    def test_asked_while_pods_come_and_go(self):
        """No answer mixes pods up, and none is missing."""
        guest = self.start(machine=MACHINE)
        self.create(self.sleeper("stays"))
        for n in range(40):
            manifest = self.sleeper(f"p{n}")
            guest.command("pod-create", manifest=manifest)
            for shown in self.net()["pods"]:
                self.assertNotIn("error", shown)
                addresses = [a.split("/")[0] for link in shown.get("links", ())
                             if link["name"] == "eth0" for a in link["addresses"]
                             if not a.startswith("fe80")]
                if addresses:
                    self.assertEqual(addresses, shown["ips"])
            guest.command("pod-delete", name=f"p{n}", graceSeconds=0)
        for n in range(40):
            guest.wait_event("POD_DELETED", pod=f"p{n}")

    def test_a_flood_of_questions_and_ends(self):
        guest = self.start(machine=MACHINE)
        self.create(*[self.sleeper(f"p{n}") for n in range(20)])
        # Perhaps with those of the child that writes the hosts files; a leak would be ten.
        fds = len(os.listdir(f"/proc/{guest.pid}/fd"))
        clients = [guest.client(guest.control_path) for _ in range(20)]
        for client in clients:
            client.send(ASK)
        for client in clients[::2]:
            client.close()
        answers = [answer(client) for client in clients[1::2]]
        self.assertTrue(any("return" in a for a in answers), answers)
        for said in answers:
            if "error" in said:
                self.assertIn("try again", said["error"]["desc"])
        for client in clients[1::2]:
            client.close()
        guest.wait_until(lambda: len(os.listdir(f"/proc/{guest.pid}/fd")) <= fds,
                         "every descriptor back", 10, every=0.02)
        self.assertEqual(len(self.net()["pods"]), 20)

    def test_the_machine_ends_meanwhile(self):
        guest = self.start(machine=MACHINE)
        self.create(self.sleeper("a", terminationGracePeriodSeconds=0))
        client = guest.client(guest.control_path)
        client.send(ASK)
        guest.signal(signal.SIGTERM)
        said = answer(client)
        self.assertTrue("return" in said or "going down" in said["error"]["desc"], said)
        guest.wait_end()
