# SPDX-License-Identifier: Apache-2.0
"""The machine's way out: static, DHCP against dnsmasq, ip=; waited for, lost, found again.

The cable is a veth pair: one end in podinit's namespace, the other in one beside it.
"""

import json
import os
import signal
import socket
import subprocess
import tempfile

from guest import container, pod
from harness import NSCase
from test_network import namespace_of

WAIT_S = 10
SLEEP = container("c", "exec sleep 1000")


def machine(uplink, **network):
    return {"onPodsDone": "stay", "network": {"uplink": {"match": {"name": "up0"}, **uplink},
                                              **network}}


class Uplink(NSCase):
    def in_machine(self, *argv):
        run = subprocess.run(namespace_of(self.guest.pid) + list(argv), capture_output=True,
                             text=True, timeout=WAIT_S)
        if run.returncode:
            raise AssertionError(f"{argv}: {run.stderr}")
        return run.stdout

    def beside(self):
        """A namespace for the other end; a command that enters it."""
        process = subprocess.Popen(
            namespace_of(self.guest.pid) + ["unshare", "-n", "sh", "-c", "echo up; read x"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.stdout.readline(), "up\n")
        self._beside = process.pid
        return namespace_of(process.pid)

    def plug(self, enter, name="up0"):
        self.in_machine("ip", "link", "add", name, "type", "veth", "peer", "name", "srv",
                        "netns", str(self._beside))
        for command in ("ip addr add 192.0.2.1/24 dev srv", "ip link set srv up"):
            subprocess.run(enter + command.split(), check=True, timeout=WAIT_S)

    def dnsmasq(self, enter, *more):
        """A real DHCP server; it says on stderr when it is ready."""
        folder = tempfile.mkdtemp(prefix="podinit-dnsmasq-")
        process = subprocess.Popen(
            enter + ["dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--user=root",
                     "--port=0", "--interface=srv", "--bind-interfaces", "--no-ping",
                     f"--dhcp-leasefile={folder}/leases", "--leasefile-ro",
                     "--dhcp-range=192.0.2.50,192.0.2.59,255.255.255.0,2m",
                     "--dhcp-option=option:router,192.0.2.1",
                     "--dhcp-option=option:dns-server,192.0.2.53",
                     "--dhcp-option=option:domain-search,a.example,b.example",
                     "--dhcp-option=option:mtu,1400", *more],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: os.path.isdir(folder) and os.rmdir(folder))
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for line in process.stderr:
            if "DHCP, IP range" in line:
                return process
        raise AssertionError("dnsmasq does not start")

    def uplink(self):
        return self.guest.command("podinit-info")["uplink"]

    def wait_console(self, text):
        self.guest.wait_until(lambda: text in self.guest.console_text, text, WAIT_S)

    def addresses(self, name="up0"):
        link, = json.loads(self.in_machine("ip", "-j", "addr", "show", "dev", name))
        return [f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"]
                if a["scope"] == "global"]

    def default_routes(self):
        return [(r["gateway"], r["dev"]) for r in
                json.loads(self.in_machine("ip", "-j", "-4", "route")) if r["dst"] == "default"]

    def static(self, **more):
        return machine({"mode": "static", "addresses": ["192.0.2.9/24", "2001:db8::9/64"],
                        "gateway": ["192.0.2.1", "2001:db8::1"], **more})

    def begin(self, manifests=(), **options):
        guest = self.start(manifests, binds=[("/bin/busybox", "/bin/busybox")], **options)
        return guest, self.beside()


class Static(Uplink):
    def test_appears_late_is_lost_and_comes_back(self):
        guest, enter = self.begin([pod("p", SLEEP)], machine=self.static())
        self.assertEqual(self.uplink()["state"], "waiting")
        self.assertEqual(guest.command("pod-list"), [])  # pods wait for the way out
        self.plug(enter)
        guest.wait_event("MEMBER_STARTED", pod="p")
        self.wait_console("uplink up0: ready, 192.0.2.9/24")
        self.assertEqual(self.addresses(), ["192.0.2.9/24", "2001:db8::9/64"])
        self.assertEqual(self.default_routes(), [("192.0.2.1", "up0")])
        status = guest.status("p")
        self.assertEqual(status["hostIP"], "192.0.2.9")
        # The cable is pulled, and put in again.
        subprocess.run(enter + ["ip", "link", "set", "srv", "down"], check=True)
        self.wait_console("uplink up0: no-carrier")
        self.assertEqual(self.uplink()["reason"], "no carrier")
        before = len(self.guest.console_text)
        subprocess.run(enter + ["ip", "link", "set", "srv", "up"], check=True)
        self.guest.wait_until(lambda: "up0: ready" in self.guest.console_text[before:],
                              "ready again", WAIT_S)
        # The interface itself goes and another one comes.
        self.in_machine("ip", "link", "del", "up0")
        self.wait_console("uplink up0: waiting: the interface is gone")
        before = len(self.guest.console_text)
        self.plug(enter)
        self.guest.wait_until(lambda: "up0: ready" in self.guest.console_text[before:],
                              "ready once more", WAIT_S)
        self.assertEqual(self.addresses(), ["192.0.2.9/24", "2001:db8::9/64"])

    def test_not_there_in_time_pods_start_all_the_same(self):
        guest, enter = self.begin([pod("p", SLEEP)], machine=self.static(timeoutMs=300))
        guest.wait_event("MEMBER_STARTED", pod="p")
        self.assertEqual(self.uplink()["state"], "failed")
        self.assertIn("no interface that fits", self.uplink()["reason"])
        self.plug(enter)
        self.wait_console("uplink up0: ready")

    def test_what_was_taken_away_comes_back(self):
        guest, enter = self.begin(machine=self.static())
        self.plug(enter)
        self.wait_console("uplink up0: ready")
        for what in (["addr", "del", "192.0.2.9/24", "dev", "up0"],
                     ["-6", "addr", "del", "2001:db8::9/64", "dev", "up0"]):
            before = len(guest.console_text)
            self.in_machine("ip", *what)
            guest.wait_until(lambda: "was taken away" in guest.console_text[before:],
                             "the loss", WAIT_S)
            guest.wait_until(lambda: "up0: ready" in guest.console_text[before:],
                             "ready again", WAIT_S)
            self.assertEqual(sorted(self.addresses()), ["192.0.2.9/24", "2001:db8::9/64"])
            self.assertEqual(self.default_routes(), [("192.0.2.1", "up0")])
        before = len(guest.console_text)
        self.in_machine("ip", "route", "del", "default")
        guest.wait_until(lambda: "up0: ready" in guest.console_text[before:] and
                         "the default route is gone" in guest.console_text[before:],
                         "ready again", WAIT_S)
        self.assertEqual(self.default_routes(), [("192.0.2.1", "up0")])
        # Who sets it down means it: longer than the time after which things are put back.
        self.in_machine("ip", "link", "set", "up0", "down")
        guest.wait_until(lambda: not self.uplink()["carrier"], "no carrier", WAIT_S,
                         every=0.02)
        with self.assertRaisesRegex(AssertionError, "still no"):
            guest.wait_until(lambda: self.default_routes(), "route", 4, every=0.2)
        self.in_machine("ip", "link", "set", "up0", "up")
        guest.wait_until(lambda: self.default_routes() == [("192.0.2.1", "up0")] and
                         "2001:db8::9/64" in self.addresses(), "routes", WAIT_S,
                         every=0.02)

    def test_lost_events_are_made_up_for(self):
        """What was renamed and lost its address while PID 1 slept."""
        guest, enter = self.begin(machine=self.static())
        self.plug(enter)
        self.wait_console("uplink up0: ready")
        guest.signal(signal.SIGSTOP)
        subprocess.run(namespace_of(guest.pid) + ["ip", "-batch", "-"], check=True, text=True,
                       timeout=30, input="link add d0 type veth peer name d1\n" + "".join(
                           f"link set d0 mtu {1300 + n % 2}\n" for n in range(8000)) +
                       "addr flush dev up0 scope global\nlink set up0 down\n"
                       "link set up0 name other up\n")
        self.assertRegex(self.in_machine("ss", "-f", "netlink", "-m"), r",d[1-9]\d*\)")
        guest.signal(signal.SIGCONT)
        guest.wait_until(lambda: "192.0.2.9/24" in self.addresses("other"), "it", WAIT_S,
                         every=0.05)
        guest.wait_until(lambda: self.uplink()["interface"] == "other", "its name", WAIT_S)
        self.assertEqual(self.default_routes(), [("192.0.2.1", "other")])

    def test_mtu_reaches_the_pods(self):
        guest, enter = self.begin([pod("p", SLEEP)], machine=self.static(mtu=1400))
        self.plug(enter)
        guest.wait_event("MEMBER_STARTED", pod="p")
        links = {l["ifname"]: l["mtu"] for l in json.loads(self.in_machine("ip", "-j", "link"))}
        self.assertEqual((links["up0"], links["pod0"], links["pv0"]), (1400, 1400, 1400))


class Dhcp(Uplink):
    def test_lease_renewal_and_resolv_conf(self):
        show = container("c", "cat /etc/resolv.conf; exec sleep 1000")
        guest, enter = self.begin([pod("p", show)], machine=machine({"mode": "dhcp"}))
        self.plug(enter)
        self.dnsmasq(enter)
        guest.wait_event("MEMBER_STARTED", timeout=30, pod="p")
        self.assertRegex(self.addresses()[0], r"^192\.0\.2\.5\d/24$")
        self.assertEqual(self.default_routes(), [("192.0.2.1", "up0")])
        uplink = self.uplink()
        self.assertEqual((uplink["state"], uplink["mtu"], uplink["leaseSeconds"]),
                         ("ready", 1400, 120))
        guest.wait_log("p", "c", "nameserver 192.0.2.53")
        guest.wait_log("p", "c", "search a.example b.example")
        self.assert_resolv_conf("nameserver 192.0.2.53\nsearch a.example b.example\n")

    def assert_resolv_conf(self, text):
        """It is written a moment after the uplink is told to be ready."""
        def same():
            try:
                with open(self.guest.path("/run/podinit/resolv.conf"), encoding="ascii") as file:
                    return file.read() == text
            except FileNotFoundError:
                return False
        self.guest.wait_until(same, f"resolv.conf that says {text!r}", WAIT_S, every=0.02)

    def leased(self):
        guest, enter = self.begin(machine=machine({"mode": "dhcp"}))
        self.plug(enter)
        self.dnsmasq(enter)
        guest.wait_until(lambda: "up0: ready" in guest.console_text, "a lease", 30)
        return guest

    def clients(self):
        pids = (self.guest.cgroup.path / "init/cgroup.procs").read_text().split()
        return [int(p) for p in pids if self.comm(p) in ("busybox", "udhcpc")]

    def client(self):
        # It may not be past its exec yet.
        self.guest.wait_until(self.clients, "a client", WAIT_S, every=0.02)
        pid, = self.clients()
        return pid

    def say(self, **lease):
        """What the client's script would."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.sendto("".join(f"{k}={v}\n" for k, v in lease.items()).encode(),
                        self.guest.path("/run/podinit/lease.sock"))

    def test_lease_is_given_back_and_asked_for_again(self):
        guest = self.leased()
        os.kill(self.client(), signal.SIGUSR2)  # udhcpc(8): release
        self.wait_console("uplink up0: working: the lease is lost")
        self.assertNotEqual(self.uplink()["state"], "ready")
        self.assertEqual((self.addresses(), self.default_routes()), ([], []))
        before = len(guest.console_text)
        os.kill(self.client(), signal.SIGUSR1)  # renew
        guest.wait_until(lambda: "up0: ready" in guest.console_text[before:], "a lease", 30)
        self.assertEqual(self.default_routes(), [("192.0.2.1", "up0")])

    def test_what_a_new_lease_no_longer_has_goes(self):
        guest = self.leased()
        routes = lambda: {r["dst"]: r.get("gateway") for r in
                          json.loads(self.in_machine("ip", "-j", "-4", "route"))
                          if r["dst"] != "192.0.2.0/24"}
        self.say(event="renew", ip="192.0.2.60", mask="24", lease="120",
                 staticroutes="198.51.100.0/24 192.0.2.7 203.0.113.0/24 192.0.2.7")
        guest.wait_until(lambda: "192.0.2.60/24" in self.uplink()["addresses"], "it", WAIT_S,
                         every=0.02)
        self.assertEqual(self.addresses(), ["192.0.2.60/24"])
        self.assertEqual(routes(), {"198.51.100.0/24": "192.0.2.7",
                                    "203.0.113.0/24": "192.0.2.7"})
        # The interface has another name since; it is the same one.
        self.in_machine("ip", "link", "set", "up0", "down")
        self.in_machine("ip", "link", "set", "up0", "name", "up1", "up")
        self.wait_console("udhcpc has ended")
        guest.wait_until(lambda: "192.0.2.60/24" not in self.uplink()["addresses"],
                         "another client", WAIT_S, every=0.02)
        self.assertNotIn("the lease is lost", guest.console_text)
        self.say(event="renew", ip="192.0.2.61", mask="24", lease="120", router="192.0.2.1",
                 staticroutes="203.0.113.0/24 192.0.2.8")
        guest.wait_until(lambda: "192.0.2.61/24" in self.uplink()["addresses"], "it", WAIT_S,
                         every=0.02)
        self.assertEqual(self.uplink()["interface"], "up1")
        self.assertEqual(self.addresses("up1"), ["192.0.2.61/24"])
        self.assertEqual(routes(), {"203.0.113.0/24": "192.0.2.8"})

    def test_servers_go_with_their_lease(self):
        guest = self.leased()
        servers = "nameserver 192.0.2.53\nsearch a.example b.example\n"
        self.assert_resolv_conf(servers)
        self.say(event="renew", ip="192.0.2.60", mask="24", lease="120", router="192.0.2.1")
        guest.wait_until(lambda: "192.0.2.60/24" in self.uplink()["addresses"], "it", WAIT_S,
                         every=0.02)
        self.assert_resolv_conf("")
        # It is filled again by the next one that has some.
        self.say(event="renew", ip="192.0.2.60", mask="24", lease="120", router="192.0.2.1",
                 dns="192.0.2.54")
        guest.wait_until(lambda: self.uplink()["servers"], "a server", WAIT_S, every=0.02)
        self.assert_resolv_conf("nameserver 192.0.2.54\n")
        self.assertEqual(os.readlink(guest.path("/etc/resolv.conf")),
                         "/run/podinit/resolv.conf")

    def test_a_lease_ends(self):
        guest = self.leased()
        self.say(event="renew", ip="192.0.2.60", mask="24", lease="1")
        self.wait_console("uplink up0: 192.0.2.60/24 is gone")
        guest.wait_until(lambda: self.uplink()["state"] == "ready" and
                         self.uplink()["addresses"] != ["192.0.2.60/24"], "another", 30,
                         every=0.02)
        self.assertEqual(self.default_routes(), [("192.0.2.1", "up0")])

    def test_server_comes_late(self):
        guest, enter = self.begin([pod("p", SLEEP)],
                                  machine=machine({"mode": "dhcp", "timeoutMs": 500}))
        self.plug(enter)
        guest.wait_event("MEMBER_STARTED", pod="p")
        self.assertEqual(self.uplink()["reason"], "no DHCP server has answered")
        self.dnsmasq(enter)
        self.guest.wait_until(lambda: "up0: ready" in self.guest.console_text, "a lease", 30)

    def test_client_is_started_again(self):
        guest = self.leased()
        first = self.client()
        os.kill(first, signal.SIGKILL)
        self.wait_console("udhcpc has ended")
        self.guest.wait_until(
            lambda: guest.console_text.count("asking for a lease") == 2, "another", WAIT_S)
        self.assertNotEqual(self.client(), first)

    @staticmethod
    def comm(pid):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                return comm.read().strip()
        except OSError:
            return None

    def test_without_a_client_it_is_said(self):
        self.guest = self.start([pod("p", SLEEP)], machine=machine(
            {"mode": "dhcp", "timeoutMs": 500}))
        enter = self.beside()
        self.plug(enter)
        self.guest.wait_event("MEMBER_STARTED", pod="p")
        self.assertIn("busybox", self.uplink()["reason"])
