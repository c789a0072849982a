# SPDX-License-Identifier: Apache-2.0
"""Volumes as members see them: parts of them, sizes, what is read-only."""

import os
import subprocess

from guest import container, pod
from harness import NSCase

STAY = {"onPodsDone": "stay"}


def mount(name, path, **more):
    return {"name": name, "mountPath": path, **more}


class Volumes(NSCase):
    def finished(self, *members, init=(), volumes=(), **spec):
        """The guest, when a pod of these members has ended."""
        guest = self.start([pod("p", *members, volumes=list(volumes),
                                initContainers=list(init), **spec)], machine=STAY)
        guest.wait_event("POD_CHANGED", pod="p",
                         where=lambda d: d["phase"] in ("Succeeded", "Failed"))
        return guest

    def lines(self, guest, member="main"):
        return [text for _, text in guest.log_lines("p", member)]

    def waiting(self, guest, reason):
        guest.wait_until(lambda: guest.status("p")["containerStatuses"][0]["state"].get(
            "waiting", {}).get("reason") == reason, reason, 10, every=0.02)
        self.assertEqual(guest.status("p")["phase"], "Pending")
        self.assertEqual(self.lines(guest), [])
        return guest.status("p")["containerStatuses"][0]["state"]["waiting"]["message"]


EMPTY = [{"name": "d", "emptyDir": {}}]


class SubPath(Volumes):
    def test_directory_and_file(self):
        guest = self.finished(
            container("main", "cat /m/f; cat /one; ls /m | wc -l", volumeMounts=[
                mount("d", "/m", subPath="a/b"), mount("d", "/one", subPath="a/one")]),
            init=[container("i", "mkdir -p /d/a/b; echo in-sub >/d/a/b/f; echo file >/d/a/one",
                            volumeMounts=[mount("d", "/d")])], volumes=EMPTY)
        self.assertEqual(self.lines(guest), ["in-sub", "file", "1"])

    def test_made_when_missing(self):
        guest = self.finished(
            container("main", "touch /m/f && ls -d /d/new/dir/f; stat -c '%a %g' /d/new/dir /m/f",
                      volumeMounts=[mount("d", "/m", subPath="new/dir"), mount("d", "/d")]),
            volumes=EMPTY, securityContext={"fsGroup": 777, "runAsUser": 1000})
        self.assertEqual(self.lines(guest), ["/d/new/dir/f", "2777 777", "644 777"])

    def test_expression(self):
        guest = self.finished(
            container("main", "echo x >/m/f; ls /d/*/*/f", env=[
                {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                volumeMounts=[mount("d", "/m", subPathExpr="$(POD)/x$$"), mount("d", "/d")]),
            volumes=EMPTY)
        self.assertEqual(self.lines(guest), ["/d/p/x$/f"])

    def test_expression_that_climbs(self):
        for value, words in (("../x", 'becomes "../x"'), ("/etc", 'becomes "/etc"'),
                             ("", 'becomes ""')):
            with self.subTest(value):
                guest = self.start([pod("p", container("main", "echo ran", env=[
                    {"name": "V", "value": value}], volumeMounts=[
                        mount("d", "/m", subPathExpr="$(V)")]), volumes=EMPTY)], machine=STAY)
                self.assertIn(words, self.waiting(guest, "CreateContainerConfigError"))
        guest = self.start([pod("p", container("main", "echo ran", volumeMounts=[
            mount("d", "/m", subPathExpr="$(NOBODY)")]), volumes=EMPTY)], machine=STAY)
        self.assertIn("unknown variables", self.waiting(guest, "CreateContainerConfigError"))

    def test_symlinks(self):
        """One that leads out of the volume is refused, and one within is followed."""
        for target in ("/etc", "..", "../../..", "/proc/1/root", "x/../../.."):
            with self.subTest(target):
                guest = self.start([pod(
                    "p", container("main", "echo ran", volumeMounts=[
                        mount("d", "/m", subPath="out")]),
                    initContainers=[container("i", f"mkdir /d/x; ln -s {target} /d/out",
                                              volumeMounts=[mount("d", "/d")])],
                    volumes=EMPTY)], machine=STAY)
                self.assertIn("out leads out of the volume",
                              self.waiting(guest, "CreateContainerConfigError"))
        guest = self.finished(
            container("main", "cat /m/f", volumeMounts=[mount("d", "/m", subPath="y/in")]),
            init=[container("i", "mkdir -p /d/x /d/y; echo in >/d/x/f; ln -s ../x /d/y/in",
                            volumeMounts=[mount("d", "/d")])], volumes=EMPTY)
        self.assertEqual(self.lines(guest), ["in"])

    def test_swapped_while_it_is_mounted(self):
        """A member that makes a directory a symlink and back never gets the machine's
        root into its neighbour."""
        guest = self.start([pod(
            "p", container("swap", "mkdir /d/a; while :; do mv /d/a /d/b; ln -s / /d/a; rm /d/a; "
                                   "mv /d/b /d/a; done", volumeMounts=[mount("d", "/d")]),
            container("main", "ls -A /m; [ -e /m/etc ] && echo ESCAPED; exit 1", volumeMounts=[
                mount("d", "/m", subPath="a")]),
            volumes=EMPTY, restartPolicy="OnFailure", terminationGracePeriodSeconds=0)],
            machine={**STAY, "restart": {"backoffBaseMs": 1, "backoffMaxMs": 5}})
        guest.wait_until(lambda: guest.status("p")["containerStatuses"][1]["restartCount"] >= 40,
                         "40 starts", 40, every=0.1)
        self.assertNotIn("ESCAPED", self.lines(guest))

    def test_read_only(self):
        guest = self.finished(
            container("main", "cat /m/f; touch /m/x 2>/dev/null || echo refused; touch /d/y && "
                              "echo ok", volumeMounts=[
                mount("d", "/m", subPath="s", readOnly=True), mount("d", "/d")]),
            init=[container("i", "mkdir /d/s; echo v >/d/s/f", volumeMounts=[mount("d", "/d")])],
            volumes=EMPTY)
        self.assertEqual(self.lines(guest), ["v", "refused", "ok"])

    def test_read_only_one_is_not_made(self):
        guest = self.start([pod("p", container("main", "echo ran", volumeMounts=[
            mount("d", "/m", subPath="none", readOnly=True)]), volumes=EMPTY)], machine=STAY)
        self.assertIn("open subPath none", self.waiting(guest, "CreateContainerConfigError"))

    def test_of_a_host_path(self):
        guest = self.finished(
            container("main", "cat /m", volumeMounts=[
                mount("h", "/m", subPath="podinit/machine.json", readOnly=True)]),
            volumes=[{"name": "h", "hostPath": {"path": "/etc", "type": "Directory"}}])
        self.assertIn('"onPodsDone": "stay"', self.lines(guest)[0])


class EmptyDir(Volumes):
    def test_size(self):
        guest = self.finished(
            container("main", "for v in d m; do df -k /$v | awk 'NR==2{print $2}'; "
                              "dd if=/dev/zero of=/$v/f bs=64k count=1000 2>/dev/null || "
                              "stat -c %s /$v/f; stat -c %a /$v; done", volumeMounts=[
                mount("d", "/d"), mount("m", "/m")]),
            volumes=[{"name": "d", "emptyDir": {"sizeLimit": "1Mi"}},
                     {"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "2Mi"}}])
        self.assertEqual(self.lines(guest),
                         ["1024", str(1 << 20), "777", "2048", str(2 << 20), "777"])

    def test_nothing_stays(self):
        guest = self.start([pod("p", container("main", "touch /m/f; exec sleep 1000", volumeMounts=[
            mount("m", "/m")]), volumes=[{"name": "m", "emptyDir": {"medium": "Memory"}}],
            terminationGracePeriodSeconds=0)], machine=STAY)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main")
        uid = guest.command("pod-status", name="p")["metadata"]["uid"]
        table = f"/proc/{guest.pid}/mountinfo"
        with open(table) as f:
            self.assertIn(f"{uid}/volumes/m", f.read())
        guest.command("pod-delete", name="p")
        guest.wait_event("POD_DELETED", pod="p")
        with open(table) as f:
            self.assertNotIn(uid, f.read())
        self.assertFalse(os.path.exists(guest.path(f"/run/podinit/pods/{uid}")))


class Image(Volumes):
    VOLUME = [{"name": "i", "image": {"reference": "busybox:latest", "pullPolicy": "Never"}}]

    def test_whole_and_part(self):
        guest = self.finished(
            container("main", "ls -d /i/bin/busybox; touch /i/x 2>/dev/null || echo refused; "
                              "cmp /p /etc/passwd && echo same", volumeMounts=[
                mount("i", "/i"), mount("i", "/p", subPath="etc/passwd")]), volumes=self.VOLUME)
        self.assertEqual(self.lines(guest), ["/i/bin/busybox", "refused", "same"])

    def test_one_that_is_not_there(self):
        for policy, reason in (("Never", "ErrImageNeverPull"), ("IfNotPresent", "ErrImagePull")):
            guest = self.start([pod("p", container("main", "echo ran", volumeMounts=[
                mount("i", "/i")]), volumes=[{"name": "i", "image": {
                    "reference": "nobody/has:it", "pullPolicy": policy}}])], machine=STAY)
            self.assertIn("nobody/has", self.waiting(guest, reason))


class Propagation(Volumes):
    BUSYBOX = "/var/lib/podinit/images/busybox/latest/rootfs/bin/busybox"

    def in_machine(self, *argv):
        subprocess.run(["nsenter", "-t", str(self.guest.pid), "-U", "-m", self.BUSYBOX, *argv],
                       check=True)

    def shared(self):
        guest = self.start(machine=STAY)
        os.makedirs(guest.path("/srv/v/sub"))
        self.in_machine("mount", "--bind", "/srv/v", "/srv/v")
        self.in_machine("mount", "--make-shared", "/srv/v")
        return guest

    def test_from_the_machine(self):
        guest = self.shared()
        wait = "echo up; for i in $(seq 1000); do [ -e /m/sub/f ] && echo seen && exit; " \
               "[ -e /m/go ] && exit; sleep 0.01; done"
        guest.command("pod-create", manifest=pod(
            "p", container("slave", wait, volumeMounts=[
                mount("h", "/m", mountPropagation="HostToContainer")]),
            container("none", wait, volumeMounts=[mount("h", "/m")]),
            volumes=[{"name": "h", "hostPath": {"path": "/srv/v"}}]))
        for member in ("slave", "none"):
            guest.wait_log("p", member, "up")
        self.in_machine("mount", "-t", "tmpfs", "t", "/srv/v/sub")
        self.in_machine("touch", "/srv/v/sub/f")
        guest.wait_log("p", "slave", "seen")
        self.in_machine("touch", "/srv/v/go")
        guest.wait_phase("p", "Succeeded")
        self.assertEqual(self.lines(guest, "none"), ["up"])

    def test_both_ways(self):
        guest = self.shared()
        guest.command("pod-create", manifest=pod(
            "p", container("main", "mount -t tmpfs mine /m/sub && echo mounted; exec sleep 1000",
                           securityContext={"privileged": True}, volumeMounts=[
                               mount("h", "/m", mountPropagation="Bidirectional")]),
            volumes=[{"name": "h", "hostPath": {"path": "/srv/v"}}],
            terminationGracePeriodSeconds=0))
        guest.wait_log("p", "main", "mounted")
        with open(f"/proc/{guest.pid}/mountinfo") as f:
            table = f.read()
        self.assertIn(" /srv/v/sub ", table)
        self.assertNotIn("/pods/", table)  # nothing else of the member's came out


class ReadOnly(Volumes):
    def test_mounts_below(self):
        """A volume with a file system mounted in it: readOnly alone leaves that as it is."""
        guest = self.start(machine=STAY)
        os.makedirs(guest.path("/srv/v/sub"))
        subprocess.run(["nsenter", "-t", str(guest.pid), "-U", "-m",
                        "/var/lib/podinit/images/busybox/latest/rootfs/bin/busybox",
                        "mount", "-t", "tmpfs", "t", "/srv/v/sub"], check=True)
        guest.command("pod-create", manifest=pod("p", container(
            "main", "for m in plain all maybe; do touch /$m/x 2>/dev/null && echo $m; "
                    "touch /$m/sub/x 2>/dev/null && echo $m-sub; done; :", volumeMounts=[
                mount("h", "/plain", readOnly=True),
                mount("h", "/all", readOnly=True, recursiveReadOnly="Enabled"),
                mount("h", "/maybe", readOnly=True, recursiveReadOnly="IfPossible")]),
            volumes=[{"name": "h", "hostPath": {"path": "/srv/v"}}]))
        guest.wait_phase("p", "Succeeded")
        self.assertEqual(self.lines(guest), ["plain-sub"])
        mounts = guest.status("p")["containerStatuses"][0]["volumeMounts"]
        self.assertEqual(mounts, [
            {"name": "h", "mountPath": "/all", "readOnly": True, "recursiveReadOnly": "Enabled"},
            {"name": "h", "mountPath": "/maybe", "readOnly": True,
             "recursiveReadOnly": "Enabled"},
            {"name": "h", "mountPath": "/plain", "readOnly": True,
             "recursiveReadOnly": "Disabled"}])
