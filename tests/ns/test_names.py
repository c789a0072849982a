# SPDX-License-Identifier: Apache-2.0
"""What members find in /etc/hosts, /etc/resolv.conf, /etc/hostname and their environment,
and how that follows the other pods of the machine."""

import ctypes
import os
import re
import selectors
import shutil
import tempfile
from pathlib import Path

from guest import container, pod
from harness import BUSYBOX, NSCase

STAY = {"onPodsDone": "stay",
        "restart": {"backoffBaseMs": 50, "backoffMaxMs": 400, "backoffResetMs": 60000}}
OWN_LINES = """# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
""".splitlines()
WAITS = "read x"  # stdin never ends
_libc = ctypes.CDLL(None, use_errno=True)


def waiting(name, **spec):
    return pod(name, container("main", WAITS, stdin=True), **spec)


class NamesCase(NSCase):
    def start(self, manifests=(), **options):
        options.setdefault("machine", STAY)
        return super().start(manifests, **options)

    def directory(self):
        path = tempfile.mkdtemp(prefix="podinit-names-")
        self.addCleanup(shutil.rmtree, path)
        return Path(path)

    def lines(self, name, member="main", phase="Succeeded"):
        """All that the member has said, after its pod has ended."""
        self.guest.wait_phase(name, phase)
        return [line for _, line in self.guest.log_lines(name, member)]

    def create(self, manifest):
        self.guest.command("pod-create", manifest=manifest)

    def file(self, name, which="hosts"):
        """The pod's file, as its members see it now."""
        uid = self.guest.command("pod-status", name=name)["metadata"]["uid"]
        return Path(self.guest.path(f"/run/podinit/pods/{uid}/etc/{which}")).read_text()

    def wait_file(self, name, condition, what):
        """Until the pod's hosts file is so. It is replaced by rename: inotify tells."""
        uid = self.guest.command("pod-status", name=name)["metadata"]["uid"]
        with Renames(self.guest, f"/run/podinit/pods/{uid}/etc"):
            self.guest.wait_until(lambda: condition(self.file(name)), what)


class Renames:
    """Wakes the guest's waits when something is renamed into a directory of it."""

    IN_MOVED_TO = 0x80

    def __init__(self, guest, path):
        self._selector = guest._selector
        self._fd = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if _libc.inotify_add_watch(self._fd, guest.path(path).encode(),
                                   self.IN_MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), f"watch {path}")

    def __enter__(self):
        self._selector.register(self._fd, selectors.EVENT_READ,
                                lambda: os.read(self._fd, 4096))

    def __exit__(self, *exception):
        self._selector.unregister(self._fd)
        os.close(self._fd)


class Own(NamesCase):
    def test_hosts_file(self):
        shared = self.directory()
        (shared / "mine").write_text("mine\n")
        manifest = pod(
            "p", container("a", "cat /etc/hosts"), container("b", "cat /etc/hosts"),
            container("own", "cat /etc/hosts", volumeMounts=[
                {"name": "own", "mountPath": "/etc/hosts"}]),
            volumes=[{"name": "own", "hostPath": {"path": "/shared/mine"}}],
            hostAliases=[{"ip": "192.0.2.7", "hostnames": ["foo", "bar.example"]}])
        self.start([manifest], binds=[(str(shared), "/shared")])
        said = self.lines("p", "a")
        self.assertEqual(said[:len(OWN_LINES)], OWN_LINES)
        self.assertRegex(said[len(OWN_LINES)], r"^10\.88\.[0-9.]+\tp$")
        self.assertRegex(said[len(OWN_LINES) + 1], r"^fd[0-9a-f:]+\tp$")
        self.assertEqual(said[len(OWN_LINES) + 2:],
                         ["", "# Entries added by HostAliases.",
                          "192.0.2.7\tfoo\tbar.example"])
        self.assertEqual(self.lines("p", "b"), said)
        self.assertEqual(self.lines("p", "own"), ["mine"])

    def test_host_names(self):
        say = ('echo "h $(hostname)"; echo "f $(hostname -f)"; echo "e $HOSTNAME"; '
               'echo "n $(cat /etc/hostname)"; grep -v ip6- /etc/hosts')
        cases = {
            "plain": ({}, "plain", "plain"),
            "given": ({"hostname": "myhost"}, "myhost", "myhost"),
            "sub": ({"hostname": "myhost", "subdomain": "sub"}, "myhost",
                    "myhost.sub.default.svc.cluster.local"),
            "full": ({"hostname": "myhost", "subdomain": "sub",
                      "setHostnameAsFQDN": True},
                     "myhost.sub.default.svc.cluster.local",
                     "myhost.sub.default.svc.cluster.local"),
            "nosub": ({"hostname": "myhost", "setHostnameAsFQDN": True}, "myhost",
                      "myhost"),
            "over": ({"hostnameOverride": "xx.yy.zz"}, "xx.yy.zz", "xx.yy.zz"),
        }
        self.start([pod(name, container("main", say), **spec)
                    for name, (spec, _, _) in cases.items()])
        for name, (_, host, full) in cases.items():
            with self.subTest(name):
                said = self.lines(name)
                self.assertEqual(said[:4], [f"h {host}", f"f {full}", f"e {host}",
                                            f"n {host}"])
                short = host if name == "over" else host.split(".")[0]
                own = rf"^10\.88\.[0-9.]+\t{re.escape(full)}"
                own += rf"\t{short}$" if full != short else "$"
                self.assertTrue(any(re.search(own, line) for line in said), said)

    def test_fqdn_too_long(self):
        manifest = pod("p", container("main", "echo no"), hostname="h" * 35,
                       subdomain="sub", setHostnameAsFQDN=True)
        self.start([manifest])
        self.guest.wait_event("POD_CHANGED", pod="p", reason="FailedCreatePodSandBox")
        status = self.guest.status("p")
        self.assertEqual(status["phase"], "Pending")
        self.assertIn("h" * 35 + ".sub.default.svc.cluster.local", status["message"])
        self.assertEqual(self.guest.log_lines("p", "main"), [])

    def test_host_network(self):
        machine = self.directory()
        (machine / "hosts").write_text("127.0.0.1 localhost\n192.0.2.1 box")
        manifest = pod("p", container("main", 'cat /etc/hosts; echo "e $HOSTNAME"'),
                       hostNetwork=True,
                       hostAliases=[{"ip": "192.0.2.7", "hostnames": ["foo"]}])
        self.start([manifest], binds=[(str(machine / "hosts"), "/etc/hosts")],
                   machine={**STAY, "hostname": "appliance"})
        self.assertEqual(self.lines("p"), [
            "# Kubernetes-managed hosts file (host network).", "127.0.0.1 localhost",
            "192.0.2.1 box", "", "# Entries added by HostAliases.", "192.0.2.7\tfoo",
            "e appliance"])

    def test_dns(self):
        machine = self.directory()
        (machine / "resolv.conf").write_text(
            "search lan.example\nnameserver 192.0.2.53\nnameserver 2001:db8::53\n"
            "options ndots:1\n")
        lan = ["search lan.example", "nameserver 192.0.2.53", "nameserver 2001:db8::53",
               "options ndots:1"]
        more = {"nameservers": ["2001:db8::1"], "searches": ["pod.example"],
                "options": [{"name": "ndots", "value": "4"}, {"name": "edns0"}]}
        show = container("main", "cat /etc/resolv.conf")
        self.start([pod("default", show, dnsPolicy="Default"), pod("cluster", show),
                    pod("none", show, dnsPolicy="None", dnsConfig=more),
                    pod("more", show, dnsConfig=more),
                    pod("host", show, hostNetwork=True)],
                   binds=[(str(machine / "resolv.conf"), "/etc/resolv.conf")])
        for name in ("default", "cluster", "host"):
            self.assertEqual(self.lines(name), lan, name)
        self.assertEqual(self.lines("none"), ["search pod.example",
                                              "nameserver 2001:db8::1",
                                              "options ndots:4 edns0"])
        self.assertEqual(self.lines("more"), [
            "search lan.example pod.example", "nameserver 192.0.2.53",
            "nameserver 2001:db8::53", "nameserver 2001:db8::1",
            "options ndots:4 edns0"])

    def test_dns_of_the_machine_file(self):
        show = container("main", "cat /etc/resolv.conf")
        dns = {"nameservers": ["203.0.113.1"], "searches": ["json.example"]}
        self.start([pod("p", show)], machine={**STAY, "network": {"dns": dns}})
        self.assertEqual(self.lines("p"), ["search json.example",
                                           "nameserver 203.0.113.1"])

    def test_environment(self):
        def field(name, path):
            return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        env = [field("NAME", "metadata.name"), field("NS", "metadata.namespace"),
               field("UID_", "metadata.uid"), field("NODE", "spec.nodeName"),
               field("LABEL", "metadata.labels['app']"),
               field("NOTE", "metadata.annotations['note']"),
               field("IP", "status.podIP"), field("IPS", "status.podIPs"),
               field("HOST", "status.hostIP"),
               {"name": "URL", "value": "http://$(IP)/$(LABEL)"}]
        manifest = pod("p", container(
            "main", 'for v in NAME NS UID_ NODE LABEL NOTE IP IPS HOST URL; do '
            'eval "echo $v=\\$$v"; done; grep -c "^$IP" /etc/hosts', env=env))
        manifest["metadata"].update(labels={"app": "web"}, annotations={"note": "$(NAME)"})
        self.start([manifest], machine={**STAY, "hostname": "appliance"})
        said = self.lines("p")
        have = dict(line.split("=", 1) for line in said[:-1])
        status = self.guest.command("pod-status", name="p")
        self.assertEqual(have["NAME"], "p")
        self.assertEqual(have["NS"], "default")
        self.assertEqual(have["UID_"], status["metadata"]["uid"])
        self.assertEqual(have["NODE"], "appliance")
        self.assertEqual(have["LABEL"], "web")
        self.assertEqual(have["NOTE"], "$(NAME)")  # what is looked up is not expanded
        self.assertRegex(have["IP"], r"^10\.88\.\d+\.\d+$")
        self.assertEqual(have["IPS"].split(",")[0], have["IP"])
        self.assertRegex(have["IPS"].split(",")[1], r"^fd[0-9a-f:]+$")
        self.assertRegex(have["HOST"], r"^[0-9.]+$")
        self.assertEqual(have["URL"], f"http://{have['IP']}/web")
        self.assertEqual(said[-1], "1")


class Images(NamesCase):
    def image(self):
        """A copy of busybox' image to change."""
        path = self.directory() / "image"
        shutil.copytree(BUSYBOX, path, symlinks=True)
        return path

    def run_image(self, image):
        manifest = pod("p", container("main", "ls -l /etc/; cat /etc/hosts"))
        manifest["spec"]["containers"][0]["image"] = "odd"
        self.start([manifest], images={"odd/latest": image})
        said = self.lines("p")
        self.assertIn(OWN_LINES[0], said)
        self.assertTrue(any("hosts -> /dev/podinit/hosts" in line for line in said))

    def test_links_in_the_image(self):
        image = self.image()
        etc = image / "rootfs/etc"
        for name in ("hosts", "resolv.conf", "hostname"):
            (etc / name).unlink(missing_ok=True)
            (etc / name).symlink_to("/control")
        self.run_image(image)

    def test_etc_is_a_link(self):
        image = self.image()
        (image / "rootfs/etc").rename(image / "rootfs/config")
        (image / "rootfs/etc").symlink_to("../../config")
        self.run_image(image)


class Neighbours(NamesCase):
    def test_come_and_go(self):
        self.start([waiting("a")])
        self.guest.wait_event("MEMBER_STARTED", pod="a")
        self.create(waiting("b", hostname="bee"))
        self.guest.wait_event("MEMBER_STARTED", pod="b")
        self.wait_file("a", lambda t: re.search(r"^10\.\S+\tb\.default\tb bee$", t, re.M),
                       "line of b in a's hosts")
        self.assertRegex(self.file("a"), r"(?m)^fd\S+\tb\.default\tb bee$")
        self.assertRegex(self.file("b"), r"(?m)^10\.\S+\ta\.default\ta$")
        other = waiting("c", subdomain="sub")
        other["metadata"]["namespace"] = "far"
        self.create(other)
        self.guest.wait_event("MEMBER_STARTED", pod="c")
        self.wait_file("a", lambda t: re.search(
            r"^10\.\S+\tc\.far\tc\.sub\.far\.svc\.cluster\.local$", t, re.M), "line of c")
        self.guest.command("pod-delete", name="b", graceSeconds=0)
        self.wait_file("a", lambda t: "b.default" not in t, "end of b's line")
        self.assertIn("c.far", self.file("a"))

    def test_a_reader_never_sees_half_a_file(self):
        script = ('while [ ! -e /shared/stop ]; do cat /etc/hosts > /tmp/h; '
                  '[ "$(head -c 5 /tmp/h)" = "# Kub" ] || echo torn; '
                  '[ "$(tail -n 1 /tmp/h)" = "192.0.2.7\tlast" ] || echo torn; '
                  'grep -c default /tmp/h > /tmp/n; done; echo done')
        manifest = pod("reader", container("main", script, volumeMounts=[
            {"name": "v", "mountPath": "/shared"}]),
            volumes=[{"name": "v", "hostPath": {"path": "/shared"}}],
            hostAliases=[{"ip": "192.0.2.7", "hostnames": ["last"]}])
        shared = self.directory()
        self.start([manifest], binds=[(str(shared), "/shared")])
        self.guest.wait_event("MEMBER_STARTED", pod="reader")
        for number in range(12):
            self.create(waiting(f"p{number}"))
            self.guest.wait_event("MEMBER_STARTED", pod=f"p{number}")
            if number > 2:
                self.guest.command("pod-delete", name=f"p{number - 3}", graceSeconds=0)
                self.guest.wait_event("POD_DELETED", pod=f"p{number - 3}")
        self.wait_file("reader", lambda t: re.findall(r"^10\S+\t(\S+)\.default", t, re.M) ==
                       ["p9", "p10", "p11"], "three neighbours that are left")
        (shared / "stop").touch()
        self.assertEqual(self.lines("reader"), ["done"])

    def test_a_member_cannot_break_it(self):
        script = ("cd /dev/podinit; rm hosts; mkdir hosts; ln -s /control hosts/x; "
                  "rm resolv.conf; ln -s /etc/podinit/machine.json resolv.conf; "
                  "echo ready; read x")
        self.start([pod("bad", container("main", script, stdin=True))])
        self.guest.wait_log("bad", "main", "ready")
        machine = Path(self.guest.path("/etc/podinit/machine.json")).read_text()
        self.create(waiting("good"))
        self.guest.wait_event("MEMBER_STARTED", pod="good")

        uid = self.guest.command("pod-status", name="bad")["metadata"]["uid"]
        hosts = Path(self.guest.path(f"/run/podinit/pods/{uid}/etc/hosts"))
        with Renames(self.guest, f"/run/podinit/pods/{uid}/etc"):
            self.guest.wait_until(lambda: hosts.is_file() and
                                  "good.default" in hosts.read_text(),
                                  "file in the directory's place")
        self.assertIn("bad.default", self.file("good"))
        self.assertEqual(Path(self.guest.path("/etc/podinit/machine.json")).read_text(),
                         machine)


class Wire(NamesCase):
    def test_pods_reach_each_other_by_name(self):
        server = pod("server", container("main", "read x", stdin=True), hostname="box")
        self.start([server])
        self.guest.wait_event("MEMBER_STARTED", pod="server")
        script = ("until grep -q server.default /etc/hosts; do usleep 10000; done; "
                  "for n in server box server.default; do "
                  "ping -4 -c 1 -W 5 $n && ping -6 -c 1 -W 5 $n || exit 1; done")
        self.create(pod("client", container("main", script)))
        said = self.lines("client")
        self.assertEqual(sum("1 packets received" in line for line in said), 6, said)
