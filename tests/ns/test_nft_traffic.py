# SPDX-License-Identifier: Apache-2.0
"""podinit-nft alone, by what packets do: an outside, a machine with a bridge and two pods.

The network namespaces are made here by ip(8), in a user namespace of this test's own;
podinit does not take part. Every answer comes from a socket or from nft(8).
"""

import ctypes
import errno
import json
import os
import select
import socket
import subprocess
import unittest

from harness import CLONE_NEWNET, CLONE_NEWUSER, NFT

_libc = ctypes.CDLL(None, use_errno=True)

SERVED_S, CLOSED_S, COMMAND_S = 3, 0.4, 20
RESET = "reset pod0 10.88.0.0/16 fd9c:70d1:8f2e::/64"
A, B = ("10.88.0.2", "fd9c:70d1:8f2e::2"), ("10.88.0.3", "fd9c:70d1:8f2e::3")
MACHINE, SECOND = ("192.0.2.1", "2001:db8::1"), ("192.0.2.9", "2001:db8::9")
GATEWAY = ("10.88.0.1", "fd9c:70d1:8f2e::1")
OUTSIDE = ("192.0.2.2", "2001:db8::2")
KINDS = {"tcp": (socket.SOCK_STREAM, 0), "udp": (socket.SOCK_DGRAM, 0),
         "sctp": (socket.SOCK_STREAM, socket.IPPROTO_SCTP)}
FOREIGN = ("table inet mine { map podinit { type inet_service : ipv4_addr; "
           "elements = { 1 : 10.0.0.1 }; }; chain c { type filter hook input priority 5; "
           "tcp dport 9 counter; }; }")


def checked(result, what):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


class Space:
    """A network namespace, held by a descriptor; `with` works inside of it."""

    def __init__(self):
        home = os.open("/proc/self/ns/net", os.O_RDONLY)
        checked(_libc.unshare(CLONE_NEWNET), "unshare")
        self.fd = os.open("/proc/self/ns/net", os.O_RDONLY)
        checked(_libc.setns(home, CLONE_NEWNET), "setns")
        os.close(home)
        self.path = f"/proc/{os.getpid()}/fd/{self.fd}"
        self._back = []

    def __enter__(self):
        self._back.append(os.open("/proc/self/ns/net", os.O_RDONLY))
        checked(_libc.setns(self.fd, CLONE_NEWNET), "setns")
        return self

    def __exit__(self, *_):
        back = self._back.pop()
        checked(_libc.setns(back, CLONE_NEWNET), "setns")
        os.close(back)

    def run(self, *argv, text=None, check=True):
        with self:
            done = subprocess.run(argv, input=text, capture_output=True, text=True,
                                  timeout=COMMAND_S)
        if check and done.returncode:
            raise AssertionError(f"{argv}: {done.returncode}: {done.stderr}")
        return done

    def ip(self, lines):
        self.run("ip", "-batch", "-", text="\n".join(lines) + "\n")

    def socket(self, kind, address):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with self:
            s = socket.socket(family, *KINDS[kind])
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return s


def enter_user_namespace():
    uid, gid = os.getuid(), os.getgid()
    checked(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNET), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"),
                       ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as f:
            f.write(text)


def has_sctp():
    try:
        socket.socket(socket.AF_INET, *KINDS["sctp"]).close()
    except OSError as e:
        if e.errno not in (errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT):
            raise
        return False
    return True


def addresses(device, *pairs):
    return [f"addr add {address}/{bits} dev {device} nodad"
            for pair in pairs for address, bits in zip(pair, (24, 64))]


class Traffic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        enter_user_namespace()
        cls.kinds = [kind for kind in KINDS if kind != "sctp" or has_sctp()]

    def setUp(self):
        self.outside, self.machine, self.a, self.b = (Space() for _ in range(4))
        self.addCleanup(self.close)
        self.machine.ip(
            ["link set lo up",
             f"link add eth0 type veth peer name eth0 netns {self.outside.path}",
             f"link add pva type veth peer name eth0 netns {self.a.path}",
             f"link add pvb type veth peer name eth0 netns {self.b.path}",
             "link add pod0 type bridge", "link set pva master pod0",
             "link set pvb master pod0"] +
            [f"link set {device} up" for device in ("eth0", "pva", "pvb", "pod0")] +
            addresses("eth0", MACHINE, SECOND) + ["addr add 10.88.0.1/16 dev pod0",
             f"addr add {GATEWAY[1]}/64 dev pod0 nodad"])
        for space, own in ((self.outside, OUTSIDE), (self.a, A), (self.b, B)):
            space.ip(["link set lo up", "link set eth0 up"] + addresses("eth0", own) +
                     ([] if space is self.outside else
                      [f"route add default via {gateway}" for gateway in GATEWAY]))
        # As podinit sets them, see netlink/plan_machine.c; the last two only where the
        # host has br_netfilter.
        with self.machine:
            for name, value in (("ipv4/ip_forward", 1), ("ipv6/conf/all/forwarding", 1),
                                ("ipv4/conf/pod0/route_localnet", 1),
                                ("bridge/bridge-nf-call-iptables", 0),
                                ("bridge/bridge-nf-call-ip6tables", 0)):
                if value or os.path.exists(f"/proc/sys/net/{name}"):
                    with open(f"/proc/sys/net/{name}", "w") as f:
                        f.write(str(value))

    def close(self):
        for space in (self.outside, self.machine, self.a, self.b):
            os.close(space.fd)

    def ask(self, *lines, netns=None, code=0):
        argv = ["sh", "-c", 'exec "$0" "$@" 3<&0', str(NFT)]
        done = self.machine.run(*argv, *(["--netns", netns] if netns else []),
                                text="\n".join(lines) + "\n", check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def listen(self, space, kind, address, port):
        s = space.socket(kind, address)
        self.addCleanup(s.close)
        s.bind(("::" if ":" in address else "0.0.0.0", port))
        if kind != "udp":
            s.listen()
        return s

    def reach(self, space, address, port, kind="tcp", at=80, wait=SERVED_S, client=None):
        """(the pod that answers, the source that it sees); OSError when nobody does."""
        servers = {self.listen(pod, kind, address, at): name
                   for name, pod in (("a", self.a), ("b", self.b))}
        mine = client or space.socket(kind, address)
        try:
            mine.settimeout(wait)
            if not client:
                mine.connect((address, port))
            if kind == "udp":
                mine.send(b"word")
            ready = select.select(list(servers), [], [], wait)[0]
            if not ready:
                raise TimeoutError("nobody was asked")
            if kind == "udp":
                word, peer = ready[0].recvfrom(9)
                ready[0].sendto(word, peer)
            else:
                connection, peer = ready[0].accept()
                connection.send(b"word")
                connection.close()
            self.assertEqual(mine.recv(9), b"word")
            return servers[ready[0]], peer[0]
        finally:
            for server in servers:
                server.close()
            if not client:
                mine.close()

    def closed(self, space, address, port, kind="tcp", at=80):
        with self.assertRaises(OSError, msg=f"{kind} {address} {port}"):
            self.reach(space, address, port, kind, at, wait=CLOSED_S)

    def publish(self, pods=(A,), port=8080, host=("*", "*")):
        return [f"add {kind} {host[family]} {port} {pod[family]} 80"
                for pod in pods for kind in self.kinds for family in (0, 1)]

    def each(self, families=(0, 1)):
        return [(kind, family) for kind in self.kinds for family in families]

    # ---- in ----

    def test_port_from_outside_and_from_the_machine(self):
        self.ask(RESET, *self.publish())
        for kind, i in self.each():
            for address in (MACHINE[i], SECOND[i]):
                self.assertEqual(self.reach(self.outside, address, 8080, kind),
                                 ("a", OUTSIDE[i]))
                self.assertEqual(self.reach(self.machine, address, 8080, kind)[0], "a")
            self.closed(self.outside, MACHINE[i], 8081, kind)

    def test_port_at_the_machines_127_0_0_1(self):
        self.ask(RESET, *self.publish())
        for kind, _ in self.each(families=(0,)):
            self.assertEqual(self.reach(self.machine, "127.0.0.1", 8080, kind),
                             ("a", GATEWAY[0]))

    def test_hairpin_and_neighbour(self):
        self.ask(RESET, *self.publish())
        for kind, i in self.each():
            for space in (self.a, self.b):
                self.assertEqual(self.reach(space, MACHINE[i], 8080, kind),
                                 ("a", GATEWAY[i]))

    def test_host_address_wins_and_serves_no_other(self):
        self.ask(RESET, *self.publish(), *self.publish((B,), host=SECOND),
                 *self.publish((B,), port=9090, host=SECOND))
        for kind, i in self.each():
            self.assertEqual(self.reach(self.outside, MACHINE[i], 8080, kind)[0], "a")
            self.assertEqual(self.reach(self.outside, SECOND[i], 8080, kind)[0], "b")
            self.assertEqual(self.reach(self.outside, SECOND[i], 9090, kind)[0], "b")
            self.closed(self.outside, MACHINE[i], 9090, kind)

    def test_removed_port_is_closed(self):
        self.ask(RESET, *self.publish(), *self.publish(port=8081))
        removes = [line.replace("add", "remove", 1) for line in self.publish()]
        self.ask(*removes)
        for kind, i in self.each():
            self.closed(self.outside, MACHINE[i], 8080, kind)
            self.assertEqual(self.reach(self.outside, MACHINE[i], 8081, kind)[0], "a")
        self.ask(*removes)
        self.ask("drop")
        self.ask(*removes)
        self.assertNotIn("podinit", self.machine.run("nft", "list", "tables").stdout)
        self.closed(self.outside, MACHINE[0], 8081)

    def test_udp_flow_follows_its_port(self):
        for family in (0, 1):
            for steps in ("two requests", "one request", "reset"):
                self.follow(family, steps)

    def follow(self, family, steps):
        to_a, to_b = (f"udp * 53 {pod[family]} 80" for pod in (A, B))
        self.ask(RESET, f"add {to_a}")
        with self.outside.socket("udp", MACHINE[family]) as client:
            client.connect((MACHINE[family], 53))
            self.assertEqual(self.reach(None, MACHINE[family], 53, "udp",
                                        client=client)[0], "a")
            if steps == "two requests":
                self.ask(f"remove {to_a}")
                self.ask(f"add {to_b}")
            elif steps == "one request":
                self.ask(f"remove {to_a}", f"add {to_b}")
            else:
                self.ask(RESET, f"add {to_b}")
            self.assertEqual(self.reach(None, MACHINE[family], 53, "udp",
                                        client=client)[0], "b")

    # ---- out ----

    def source_of(self, space, server_space, address, kind):
        with self.listen(server_space, kind, address, 7000) as server, \
                space.socket(kind, address) as client:
            client.settimeout(SERVED_S)
            server.settimeout(SERVED_S)
            client.connect((address, 7000))
            if kind == "udp":
                client.send(b"word")
                return server.recvfrom(9)[1][0]
            connection, peer = server.accept()
            connection.close()
            return peer[0]

    def test_masquerade_to_the_outside_only(self):
        self.ask(RESET)
        for kind, i in self.each():
            source = self.source_of(self.a, self.outside, OUTSIDE[i], kind)
            self.assertIn(source, (MACHINE[i], SECOND[i]))
            self.assertEqual(self.source_of(self.a, self.b, B[i], kind), A[i])
            self.assertEqual(self.source_of(self.machine, self.b, B[i], kind), GATEWAY[i])

    # ---- filter ----

    def ping(self, space, address):
        """RFC 792, RFC 4443: type, code, checksum (of the IPv6 one: the kernel's), id."""
        ip6 = ":" in address
        family, protocol = ((socket.AF_INET6, socket.IPPROTO_ICMPV6) if ip6 else
                            (socket.AF_INET, socket.IPPROTO_ICMP))
        with space, socket.socket(family, socket.SOCK_RAW, protocol) as s:
            s.settimeout(SERVED_S)
            s.sendto(bytes((128, 0, 0, 0, 0, 7, 0, 1)) if ip6 else
                     bytes((8, 0, 0xf7, 0xf7, 0, 7, 0, 1)), (address, 0))
            answer = 129 if ip6 else 0
            while s.recv(99)[0 if ip6 else 20] != answer:
                pass

    def test_filter_of_a_pod(self):
        self.ask(RESET, *self.publish(), *[
            f"add tcp * 8443 {A[i]} 443" for i in (0, 1)])
        self.ask("filter", f"internal {B[0]}/32", f"internal {B[1]}/128",
                 f"external {OUTSIDE[0]}/32", f"external {OUTSIDE[1]}/128", "port tcp 80",
                 netns=self.a.path)
        for i in (0, 1):
            self.assertEqual(self.reach(self.outside, MACHINE[i], 8080)[0], "a")
            self.closed(self.outside, MACHINE[i], 8443, at=443)
            self.closed(self.outside, MACHINE[i], 8080, "udp")
            self.assertEqual(self.reach(self.b, A[i], 443, at=443), ("a", B[i]))
            self.assertEqual(self.reach(self.b, A[i], 80, "udp"), ("a", B[i]))
            self.closed(self.machine, A[i], 80)  # in neither network
            self.reach(self.a, A[i], 80)         # lo
            self.source_of(self.a, self.outside, OUTSIDE[i], "tcp")  # its own, with replies
            self.ping(self.machine, A[i])
        self.ask("filter", netns=self.a.path)
        self.reach(self.machine, A[0], 80)
        self.assertEqual(self.a.run("nft", "list", "tables").stdout, "")

    # ---- others' tables, and an end in the middle ----

    def test_foreign_table_stays(self):
        self.machine.run("nft", FOREIGN)
        before = self.machine.run("nft", "-j", "list", "table", "inet", "mine").stdout
        self.ask(RESET, *self.publish())
        self.ask(RESET)
        self.ask("drop")
        after = self.machine.run("nft", "-j", "list", "table", "inet", "mine").stdout
        self.assertEqual(json.loads(before), json.loads(after))

    def test_refused_transaction_changes_nothing(self):
        self.ask(RESET, *self.publish())
        before = self.machine.run("nft", "-j", "list", "table", "inet", "podinit").stdout
        other = f"add tcp * 8080 {B[0]} 80"
        text = self.ask(f"add tcp * 9 {B[0]} 9", other, code=1)
        self.assertIn("8080", text)
        self.assertIn("File exists", text)
        self.ask("add tcp * 9 10.88.0.3", code=2)
        after = self.machine.run("nft", "-j", "list", "table", "inet", "podinit").stdout
        self.assertEqual(json.loads(before), json.loads(after))

    def test_killed_anywhere_it_is_all_or_nothing(self):
        ports = [f"add tcp * {port} {B[0]} 80" for port in range(1, 2001)]
        text = "\n".join([RESET] + ports) + "\n"
        counts = set()
        for delay_ms in (0, 1, 2, 3, 4, 6, 8, 10, 15, 20, 40):
            self.ask(RESET, f"add tcp * 1 {A[0]} 80")
            self.machine.run("timeout", "-s", "KILL", f"{max(delay_ms, 0.5) / 1000}", "sh",
                             "-c", 'exec "$0" 3<&0', str(NFT), text=text, check=False)
            listed = self.machine.run("nft", "-j", "list", "map", "inet", "podinit",
                                      "port4").stdout
            for entry in json.loads(listed)["nftables"]:
                if "map" in entry:
                    counts.add(len(entry["map"]["elem"]))
        self.assertLessEqual(counts, {1, 2000})
        self.ask(RESET, f"add tcp * 8080 {A[0]} 80")
        self.assertEqual(self.reach(self.outside, MACHINE[0], 8080)[0], "a")


if __name__ == "__main__":
    unittest.main()
