# SPDX-License-Identifier: Apache-2.0
"""Pods' networks on a kernel of their own: DHCP of QEMU's user network, a host port reached
from this host, names, macvlan and ipvlan, and what is left at the end.
"""

import json
import socket

from guest import container, pod
from harness import VMCase

HTTPD = "mkdir /w; hostname >/w/i; httpd -p 80 -h /w; echo listening; exec sleep 1000"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Network(VMCase):
    port = free_port()

    @classmethod
    def vm_options(cls):
        return {"forwards": [f"tcp:127.0.0.1:{cls.port}-:8080"],
                "machine": {"onPodsDone": "stay", "network": {"uplink": {
                    "mode": "dhcp", "match": {"driver": "virtio_net"}}, "repair": True}}}

    def output(self, name, script, **spec):
        """Lines of a member that runs to its end."""
        guest = self.vm
        annotations = spec.pop("annotations", None)
        manifest = pod(name, container("c", script), **spec)
        if annotations:
            manifest["metadata"]["annotations"] = annotations
        guest.command("pod-create", manifest=manifest)
        guest.wait_event("POD_CHANGED", pod=name, timeout=60,
                         where=lambda data: data["phase"] in ("Succeeded", "Failed"))
        lines = [line["text"] for line in guest.command("logs", name=name, member="c")["lines"]]
        self.addCleanup(guest.command, "pod-delete", name=name)
        return lines

    def test_uplink_by_driver_and_dhcp(self):
        self.vm.wait_until(lambda: "uplink eth0: ready" in self.vm.console_text,
                           "a lease", 60)
        uplink = self.vm.command("podinit-info")["uplink"]
        self.assertEqual((uplink["state"], uplink["interface"], uplink["addresses"],
                          uplink["gateways"]),
                         ("ready", "eth0", ["10.0.2.15/24"], ["10.0.2.2"]))

    def test_host_port_reached_from_the_host(self):
        guest = self.vm
        guest.command("pod-create", manifest=pod(
            "web", container("c", HTTPD, ports=[{"containerPort": 80, "hostPort": 8080}])))
        self.addCleanup(guest.command, "pod-delete", name="web", graceSeconds=0)
        guest.wait_log("web", "c", "listening", timeout=60)
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.settimeout(30)
            connection.sendall(b"GET /i HTTP/1.0\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
        self.assertTrue(answer.endswith(b"\r\n\r\nweb\n"), answer)
        # By name, from another pod; by the machine's address, through the same port.
        lines = self.output("client", "wget -q -O- http://web/i; "
                                      "wget -q -O- http://10.0.2.15:8080/i")
        self.assertEqual(lines, ["web", "web"])

    def test_way_out(self):
        # QEMU's own name server answers at 10.0.2.3; the lease says so.
        lines = self.output("out", "grep nameserver /etc/resolv.conf; "
                                   "ping -c1 -W5 10.0.2.2 >/dev/null && echo reached")
        self.assertEqual(lines, ["nameserver 10.0.2.3", "reached"])

    def test_macvlan_and_ipvlan(self):
        # A NIC is the parent of one kind at a time.
        for kind, mode in (("macvlan", "bridge"), ("ipvlan", "l3")):
            lines = self.output(
                kind, "ip addr show dev net1 | grep -o 'inet 192.168.7.5/24'; ls /sys/class/net",
                annotations={"podinit/networks": json.dumps(
                    [{"type": kind, "parent": "eth0", "mode": mode,
                      "ips": ["192.168.7.5/24"]}])})
            self.assertEqual(lines, ["inet 192.168.7.5/24", "eth0", "lo", "net1"])

    def test_egress_limit(self):
        lines = self.output("limit", "cat /sys/class/net/eth0/mtu",
                            annotations={"kubernetes.io/egress-bandwidth": "1M",
                                         "kubernetes.io/ingress-bandwidth": "1M"})
        self.assertEqual(lines, ["1500"])

    def test_a_member_breaks_its_network(self):
        """And gets it back: links of each kind, on this kernel."""
        guest = self.vm
        manifest = pod("bad", container(
            "c", "ip link del net1; ip link set eth0 down; ip addr flush dev lan; "
                 "exec sleep 1000",
            securityContext={"capabilities": {"add": ["NET_ADMIN"]}}))
        manifest["metadata"]["annotations"] = {"podinit/networks": json.dumps(
            [{"type": "macvlan", "parent": "eth0", "ips": ["192.168.7.5/24"]},
             {"type": "bridge", "bridge": "lab", "interface": "lan",
              "ips": ["192.168.8.5/24"]}])}
        guest.command("pod-create", manifest=manifest)
        self.addCleanup(guest.command, "pod-delete", name="bad", graceSeconds=0)
        broken = guest.wait_event("POD_CHANGED", pod="bad", timeout=60,
                                  where=lambda data: "network" in data)
        guest.wait_event("POD_CHANGED", pod="bad", after=guest.events.index(broken),
                         timeout=60, where=lambda data: "network" not in data)
        shown, = guest.command("pod-net", name="bad")["pods"]
        self.assertTrue(shown["ready"])
        links = {link["name"]: link for link in shown["links"]}
        self.assertEqual(links["eth0"]["addresses"][0].split("/")[0], shown["ips"][0])
        self.assertIn("192.168.7.5/24", links["net1"]["addresses"])
        self.assertIn("192.168.8.5/24", links["lan"]["addresses"])
        self.assertEqual((links["net1"]["parent"], links["lan"]["bridge"]), ("eth0", "lab"))
        self.assertEqual(self.output("ping", f"ping -c1 -W5 {shown['ips'][0]} >/dev/null && "
                                             "echo reached"), ["reached"])

    def test_pod_net_over_the_port(self):
        net = self.vm.command("pod-net")
        machine = {link["name"]: link for link in net["machine"]["links"]}
        self.assertEqual(machine["eth0"]["addresses"][0], "10.0.2.15/24")
        self.assertGreater(machine["eth0"]["rxBytes"], 500)
        self.assertIn({"destination": "default", "gateway": "10.0.2.2", "interface": "eth0"},
                      net["machine"]["routes"])

    def test_nothing_is_left(self):
        lines = self.output("host", "ls /sys/class/net", hostNetwork=True)
        self.assertEqual([n for n in lines if n.startswith("pv")], [])


class VlanOnBond(VMCase):
    """Links only: nobody answers on that VLAN."""

    @classmethod
    def vm_options(cls):
        return {"forwards": [], "machine": {"onPodsDone": "stay", "network": {"uplink": {
            "mode": "static", "bond": {"ports": [{"driver": "virtio_net"}]}, "vlan": 7,
            "addresses": ["192.0.2.9/24"], "gateway": "192.0.2.1", "mtu": 1400}}}}

    def test_address_is_on_the_vlan_of_the_bond(self):
        guest = self.vm
        guest.wait_until(lambda: "uplink uplink0.7: ready, 192.0.2.9/24" in guest.console_text,
                         "the uplink", 60)
        guest.command("pod-create", manifest=pod("look", container(
            "c", "ip addr show dev uplink0.7; cat /sys/class/net/uplink0/bonding/slaves "
                 "/sys/class/net/uplink0/bonding/mode; ip route"), hostNetwork=True))
        guest.wait_event("POD_CHANGED", pod="look", timeout=60, phase="Succeeded")
        text = "\n".join(line["text"] for line in
                         guest.command("logs", name="look", member="c")["lines"])
        for part in ("inet 192.0.2.9/24", "mtu 1400", "eth0\n", "active-backup",
                     "default via 192.0.2.1 dev uplink0.7"):
            self.assertIn(part, text)


class KernelLine(VMCase):
    """ip= of the command line, without a word in machine.json."""

    @classmethod
    def vm_options(cls):
        return {"forwards": [], "machine": {"onPodsDone": "stay"},
                "append": "ip=10.0.2.77::10.0.2.2:255.255.255.0:name:eth0:off:10.0.2.3"}

    def test_address_gateway_and_server(self):
        guest = self.vm
        guest.wait_until(lambda: "uplink eth0: ready, 10.0.2.77/24" in guest.console_text,
                         "the uplink", 60)
        uplink = guest.command("podinit-info")["uplink"]
        self.assertEqual((uplink["mode"], uplink["gateways"], uplink["servers"]),
                         ("static", ["10.0.2.2"], ["10.0.2.3"]))
        # QEMU drops what it answers until it has learned the guest's MAC by ARP.
        guest.command("pod-create", manifest=pod("out", container(
            "c", "grep nameserver /etc/resolv.conf; "
                 "ping -c5 -W5 10.0.2.2 >/dev/null && echo reached")))
        guest.wait_event("POD_CHANGED", pod="out", timeout=60, phase="Succeeded")
        self.assertEqual([line["text"] for line in
                          guest.command("logs", name="out", member="c")["lines"]],
                         ["nameserver 10.0.2.3", "reached"])
        self.assertEqual(guest.status("out")["hostIP"], "10.0.2.77")
