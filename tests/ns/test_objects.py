# SPDX-License-Identifier: Apache-2.0
"""ConfigMaps and Secrets: in the environment, as files, while pods run."""

import base64
import os
import time
from pathlib import Path

from guest import CommandError, container, pod
from harness import NSCase

STAY = {"onPodsDone": "stay"}
SLEEP = "exec sleep 1000"
SECRET = "s3cr3t-that-nobody-may-see"


def config_map(name, data=None, **fields):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": data or {}, **fields}


def secret(name, data, **fields):
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {
        key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
        **fields}


def listed(*items):
    return {"apiVersion": "v1", "kind": "List", "metadata": {"name": "all"},
            "items": list(items)}


def key_ref(variable, name, key, kind="configMap", **more):
    return {"name": variable, "valueFrom": {f"{kind}KeyRef": {"name": name, "key": key, **more}}}


class Objects(NSCase):
    def run_pod(self, *objects, script=None, spec=None, **fields):
        """Lines of a container that runs to its end; the objects come in the same List."""
        guest = self.start([listed(pod("p", container("main", script, **fields),
                                       **(spec or {})), *objects)], machine=STAY)
        guest.wait_event("POD_CHANGED", pod="p",
                         where=lambda d: d["phase"] in ("Succeeded", "Failed"))
        lines = [text for _, text in guest.log_lines("p", "main")]
        self.assertEqual(guest.status("p")["phase"], "Succeeded", lines)
        return lines

    def waiting(self, guest, reason):
        guest.wait_event("POD_CHANGED", pod="p")
        guest.wait_until(lambda: guest.status("p")["containerStatuses"][0]["state"].get(
            "waiting", {}).get("reason") == reason, reason, 10, every=0.02)
        return guest.status("p")["containerStatuses"][0]["state"]["waiting"]["message"]


class Environment(Objects):
    def test_keys(self):
        env = [key_ref("A", "cm", "a.b"), key_ref("S", "sec", "pw", "secret"),
               {"name": "BOTH", "value": "$(A)/$(S)"},
               key_ref("NO", "absent", "x", optional=True),
               key_ref("NOKEY", "cm", "x", optional=True),
               key_ref("TEXT", "sec", "plain", "secret")]
        lines = self.run_pod(
            config_map("cm", {"a.b": "value with space"}),
            secret("sec", {"pw": "tok", "plain": "old"}, stringData={"plain": "new"}),
            script='echo "$A|$S|$BOTH|${NO-unset}|${NOKEY-unset}|$TEXT"', env=env)
        self.assertEqual(lines, ["value with space|tok|value with space/tok|unset|unset|new"])

    def test_env_from(self):
        sources = [{"configMapRef": {"name": "cm1"}},
                   {"prefix": "P_", "configMapRef": {"name": "cm1"}},
                   {"configMapRef": {"name": "cm2"}}, {"secretRef": {"name": "sec"}},
                   {"configMapRef": {"name": "absent", "optional": True}}]
        lines = self.run_pod(
            config_map("cm1", {"A": "cm1", "B": "cm1"},
                       binaryData={"BIN": base64.b64encode(b"\0\1").decode()}),
            config_map("cm2", {"B": "cm2", "odd.key-1": "odd"}), secret("sec", {"T": "tok"}),
            command=["env"], envFrom=sources,
            env=[{"name": "A", "value": "from-env"}, {"name": "R", "value": "$(B)/$(T)"}])
        for want in ("A=from-env", "B=cm2", "P_A=cm1", "P_B=cm1", "T=tok", "R=cm2/tok",
                     "odd.key-1=odd"):
            self.assertIn(want, lines)
        self.assertFalse([line for line in lines if line.startswith(("BIN", "P_BIN"))])

    def test_resources(self):
        def ref(name, resource, **more):
            return {"name": name, "valueFrom": {"resourceFieldRef": {
                "resource": resource, **more}}}
        lines = self.run_pod(
            command=["sh", "-c", 'echo "$RC $RCM $OTHER"; [ "$LC" = $(nproc) ] || echo "$LC"'],
            env=[ref("RC", "requests.cpu"), ref("RCM", "requests.cpu", divisor="1m"),
                 ref("LC", "limits.cpu"),
                 ref("OTHER", "requests.memory", containerName="side", divisor="1Mi")],
            spec={"initContainers": [container("side", "true")]})
        self.assertEqual(lines, ["0 0 0"])

    def test_container_that_is_not_there(self):
        guest = self.start([pod("p", container("main", "true", env=[
            {"name": "X", "valueFrom": {"resourceFieldRef": {
                "resource": "limits.cpu", "containerName": "nobody"}}}]))], machine=STAY)
        self.assertIn("nobody", self.waiting(guest, "CreateContainerConfigError"))

    def test_missing_ones_come_later(self):
        """It starts when the last of them is there, not at the end of a back-off."""
        guest = self.start([pod("p", container("main", 'echo "$A $B"', env=[
            key_ref("A", "cm", "a"), key_ref("B", "sec", "b", "secret")]))],
            machine={**STAY, "restart": {"backoffBaseMs": 100000, "backoffMaxMs": 100000}})
        self.assertEqual(self.waiting(guest, "CreateContainerConfigError"),
                         'configmap "cm" not found')
        self.assertEqual(guest.status("p")["phase"], "Pending")
        guest.command("pod-create", manifest=config_map("cm", {"other": "x"}))
        guest.wait_until(lambda: "couldn't find key a in ConfigMap default/cm" in self.waiting(
            guest, "CreateContainerConfigError"), "the key", 10, every=0.02)
        guest.command("pod-create", manifest=config_map("cm", {"a": "1"}))
        guest.wait_until(lambda: self.waiting(guest, "CreateContainerConfigError") ==
                         'secret "sec" not found', "the secret", 10, every=0.02)
        guest.command("pod-create", manifest=listed(secret("sec", {"b": "2"})))
        guest.wait_phase("p", "Succeeded")
        self.assertEqual([text for _, text in guest.log_lines("p", "main")], ["1 2"])

    def test_a_restart_sees_what_is(self):
        guest = self.start([listed(config_map("cm", {"a": "one"}), pod("p", container(
            "main", "echo $A; exec sleep 1000", env=[key_ref("A", "cm", "a")]),
            restartPolicy="Always", terminationGracePeriodSeconds=0))], machine=STAY)
        guest.wait_log("p", "main", "one")
        guest.command("pod-create", manifest=config_map("cm", {"a": "two"}))
        guest.command("member-kill", name="p", member="main", signal="KILL")
        guest.wait_log("p", "main", "two")


class Volumes(Objects):
    def test_files(self):
        lines = self.run_pod(
            config_map("cm", {"data-1": "value-1", "nested.key": "two\nlines"}, binaryData={
                "bin": base64.b64encode(bytes(range(256))).decode()}),
            script='cd /c; for f in *; do echo "$(stat -L -c "%a %u %g %s" $f) $f"; done; cat nested.key; '
                   'echo; md5sum <bin; touch x 2>/dev/null || echo refused; readlink data-1; '
                   'ls -A | wc -l; stat -L -c %a .',
            volumeMounts=[{"name": "c", "mountPath": "/c"}],
            spec={"volumes": [{"name": "c", "configMap": {"name": "cm"}}]})
        self.assertEqual(lines, [
            "644 0 0 256 bin", "644 0 0 7 data-1", "644 0 0 9 nested.key", "two", "lines",
            "e2c865db4162bed963bfaa9ef6ac18f0  -", "refused", "..data/data-1", "5", "755"])

    def test_items_and_modes(self):
        lines = self.run_pod(
            secret("sec", {"pw": "s3cret", "other": "x"}), config_map("cm", {"a": "1", "b": "2"}),
            script="stat -L -c '%a %n' /s/new/dir/pw /c/a /c/b; cat /s/new/dir/pw; echo; ls /s",
            volumeMounts=[{"name": "s", "mountPath": "/s"}, {"name": "c", "mountPath": "/c"}],
            spec={"volumes": [
                {"name": "s", "secret": {"secretName": "sec", "items": [
                    {"key": "pw", "path": "new/dir/pw", "mode": 0o400}]}},
                {"name": "c", "configMap": {"name": "cm", "defaultMode": 0o400, "items": [
                    {"key": "a", "path": "a"}, {"key": "b", "path": "b", "mode": 0o640}]}}]})
        self.assertEqual(lines, ["400 /s/new/dir/pw", "400 /c/a", "640 /c/b", "s3cret", "new"])

    def test_group(self):
        lines = self.run_pod(
            secret("sec", {"k": "val"}),
            script="stat -L -c '%a %u %g' /s/k /s/d/k; cat /s/k /s/d/k",
            volumeMounts=[{"name": "s", "mountPath": "/s", "readOnly": True}],
            spec={"securityContext": {"runAsUser": 1000, "fsGroup": 1001}, "volumes": [
                {"name": "s", "projected": {"defaultMode": 0o400, "sources": [
                    {"secret": {"name": "sec"}},
                    {"secret": {"name": "sec", "items": [{"key": "k", "path": "d/k"}]}}]}}]})
        self.assertEqual(lines, ["440 0 1001", "440 0 1001", "valval"])

    def test_downward(self):
        manifest = pod("p", container(
            "main", "cd /d; for f in name ns uid labels notes one cpu; do echo \"$f=$(cat $f)\"; done; "
                    "stat -L -c %a name; tail -c1 labels | od -c | head -1",
            resources={}, volumeMounts=[{"name": "d", "mountPath": "/d"}]),
            volumes=[{"name": "d", "downwardAPI": {"items": [
                {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}, "mode": 0o400},
                {"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}},
                {"path": "uid", "fieldRef": {"fieldPath": "metadata.uid"}},
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                {"path": "notes", "fieldRef": {"fieldPath": "metadata.annotations"}},
                {"path": "one", "fieldRef": {"fieldPath": "metadata.labels['tier']"}},
                {"path": "cpu", "resourceFieldRef": {"containerName": "main",
                                                     "resource": "requests.cpu"}}]}}])
        manifest["metadata"]["labels"] = {"tier": "web", "app": "x"}
        manifest["metadata"]["annotations"] = {"k1": "v1", "k2": 'q"uo\\te\n\té\x01\x85'}
        guest = self.start([manifest], machine=STAY)
        guest.wait_phase("p", "Succeeded")
        uid = guest.command("pod-status", name="p")["metadata"]["uid"]
        self.assertEqual([text for _, text in guest.log_lines("p", "main")], [
            "name=p", "ns=default", f"uid={uid}", 'labels=app="x"', 'tier="web"', 'notes=k1="v1"',
            'k2="q\\"uo\\\\te\\n\\té\\x01\\u0085"', "one=web", "cpu=0", "400", '0000000   "'])

    def test_projected(self):
        lines = self.run_pod(
            config_map("cm", {"k": "cmv"}), secret("sec", {"pw": "sv"}),
            script="echo $(cat /p/cm/k) $(cat /p/sec/pw) $(cat /p/pod/name) "
                   "$(stat -L -c %a /p/cm/k) $(stat -L -c %a /p/sec/pw)",
            volumeMounts=[{"name": "p", "mountPath": "/p"}],
            spec={"volumes": [{"name": "p", "projected": {"defaultMode": 0o440, "sources": [
                {"configMap": {"name": "cm", "items": [{"key": "k", "path": "cm/k"}]}},
                {"secret": {"name": "sec", "items": [{"key": "pw", "path": "sec/pw",
                                                      "mode": 0o400}]}},
                {"downwardAPI": {"items": [{"path": "pod/name", "fieldRef": {
                    "fieldPath": "metadata.name"}}]}}]}}]})
        self.assertEqual(lines, ["cmv sv p 440 400"])

    def test_missing_ones_come_later(self):
        guest = self.start([pod("p", container("main", "cat /c/k", volumeMounts=[
            {"name": "c", "mountPath": "/c"}]), volumes=[
                {"name": "c", "configMap": {"name": "cm", "items": [{"key": "k", "path": "k"}]}},
                {"name": "o", "secret": {"secretName": "never", "optional": True}}])],
            machine={**STAY, "restart": {"backoffBaseMs": 100000, "backoffMaxMs": 100000}})
        guest.wait_event("POD_CHANGED", pod="p", where=lambda d: d["reason"] == "FailedMount")
        status = guest.status("p")
        self.assertEqual(status["phase"], "Pending")
        self.assertEqual(status["message"],
                         'MountVolume.SetUp failed for volume "c": configmap "cm" not found')
        self.assertEqual(status["containerStatuses"][0]["state"]["waiting"]["reason"],
                         "ContainerCreating")
        guest.command("pod-create", manifest=config_map("cm", {"wrong": "x"}))
        guest.wait_until(lambda: "couldn't find key k in ConfigMap default/cm" in
                         guest.status("p")["message"], "the key", 10, every=0.02)
        guest.command("pod-create", manifest=config_map("cm", {"k": "here"}))
        guest.wait_phase("p", "Succeeded")
        self.assertEqual([text for _, text in guest.log_lines("p", "main")], ["here"])
        self.assertNotIn("message", guest.status("p"))

    def watched(self, guest, volume="c"):
        """The volume's directory, as the machine has it."""
        uid = guest.command("pod-status", name="p")["metadata"]["uid"]
        return Path(guest.path(f"/run/podinit/pods/{uid}/volumes/{volume}"))

    def test_update(self):
        guest = self.start([listed(config_map("cm", {"k": "one", "old": "x"}), pod(
            "p", container("main", "while [ ! -e /c/new ]; do [ \"$(cat /c/k /c/old 2>/dev/null)\" = onex ] "
                                   "|| echo torn; done; echo \"$(cat /c/k) $(cat /c/new)\"; ls /c; "
                                   "cat /sub",
                           volumeMounts=[{"name": "c", "mountPath": "/c"},
                                         {"name": "c", "mountPath": "/sub", "subPath": "k"}]),
            volumes=[{"name": "c", "configMap": {"name": "cm"}}]))], machine=STAY)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main")
        before = os.readlink(self.watched(guest) / "..data")
        self.assertEqual(guest.command("pod-create", manifest=config_map(
            "cm", {"k": "one", "old": "x"}))["applied"][0]["change"], "unchanged")
        changed = guest.command("pod-create", manifest=config_map("cm", {"k": "two", "new": "y"}))
        self.assertEqual(changed["applied"], [{"kind": "ConfigMap", "namespace": "default",
                                               "name": "cm", "change": "configured"}])
        guest.wait_phase("p", "Succeeded")
        lines = [text for _, text in guest.log_lines("p", "main")]
        # Between its two reads the member may have seen the change: that is no torn file.
        self.assertEqual([line for line in lines if line != "torn"], ["two y", "k", "new", "one"])
        self.assertNotEqual(before, "")

    def test_updates_leave_nothing(self):
        guest = self.start([listed(config_map("cm", {"k": "0"}), pod(
            "p", container("main", SLEEP, volumeMounts=[{"name": "c", "mountPath": "/c"}]),
            volumes=[{"name": "c", "configMap": {"name": "cm"}}],
            terminationGracePeriodSeconds=0))], machine=STAY)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main")
        directory = self.watched(guest)
        for n in range(1, 101):
            guest.command("pod-create", manifest=config_map("cm", {"k": str(n), f"n{n}": "x"}))
        guest.wait_until(lambda: (directory / "k").read_text() == "100", "the last", 10, every=0.02)
        guest.wait_until(lambda: sorted(os.listdir(directory)) == sorted(
            [os.readlink(directory / "..data"), "..data", "k", "n100"]), "order", 10, every=0.02)
        guest.command("pod-delete", name="p")
        guest.wait_event("POD_DELETED", pod="p")
        self.assertFalse(directory.exists())

    def test_a_key_that_goes_keeps_the_files(self):
        guest = self.start([listed(config_map("cm", {"k": "one"}), pod(
            "p", container("main", SLEEP), volumes=[{"name": "c", "configMap": {
                "name": "cm", "items": [{"key": "k", "path": "k"}]}}],
            terminationGracePeriodSeconds=0))], machine=STAY)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main")
        guest.command("pod-create", manifest=config_map("cm", {"other": "x"}))
        guest.wait_console(r"volumes: pod default/p: volume \"c\": couldn't find key k")
        self.assertEqual((self.watched(guest) / "k").read_text(), "one")


class Channel(Objects):
    def test_list_and_delete(self):
        guest = self.start([listed(config_map("cm", {"a": "1"}), secret("sec", {"pw": SECRET}),
                                   pod("p", container("main", SLEEP, env=[
                                       key_ref("X", "sec", "pw", "secret")])))], machine=STAY)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main")
        self.assertEqual(guest.command("object-list"), [
            {"kind": "ConfigMap", "namespace": "default", "name": "cm", "immutable": False,
             "bytes": 2, "keys": ["a"], "usedBy": []},
            {"kind": "Secret", "namespace": "default", "name": "sec", "immutable": False,
             "bytes": 2 + len(SECRET), "keys": ["pw"], "usedBy": ["p"]}])
        self.assertEqual(guest.command("object-list", namespace="other"), [])
        guest.command("object-delete", kind="configmap", name="cm")
        with self.assertRaisesRegex(CommandError, "there is no ConfigMap default/cm"):
            guest.command("object-delete", kind="ConfigMap", name="cm")
        with self.assertRaisesRegex(CommandError, "neither ConfigMap nor Secret"):
            guest.command("object-delete", kind="Pod", name="p")
        self.assertEqual(len(guest.command("object-list")), 1)

    def test_immutable(self):
        guest = self.start([config_map("cm", {"a": "1"}, immutable=True)], machine=STAY)
        guest.wait_until(lambda: guest.command("object-list"), "the object", 10, every=0.02)
        self.assertEqual(guest.command("pod-create", manifest=config_map(
            "cm", {"a": "1"}, immutable=True))["applied"][0]["change"], "unchanged")
        with self.assertRaisesRegex(CommandError, "configmap default/cm is immutable"):
            guest.command("pod-create", manifest=config_map("cm", {"a": "2"}))
        guest.command("object-delete", kind="ConfigMap", name="cm")
        guest.command("pod-create", manifest=config_map("cm", {"a": "2"}))

    def test_too_much(self):
        guest = self.start(machine=STAY)
        big = "x" * ((1 << 20) - 8)
        client = guest.client(guest.control_path)
        self.addCleanup(client.close)
        with self.assertRaisesRegex(CommandError, "would hold more than 64 MiB"):
            for n in range(66):
                client.command("pod-create", manifest=config_map(f"cm{n}", {"k": big}))
        self.assertEqual(len(client.command("object-list")), 64)
        with self.assertRaisesRegex(CommandError, "at most 1048576 are allowed"):
            client.command("pod-create", manifest=config_map("more", {"k": big + "12345678"}))

    def test_secrets_are_not_told(self):
        """Neither when all is well nor when it is not."""
        bad = secret("bad", {"pw": SECRET})
        bad["data"]["pw"] = "%" + SECRET
        guest = self.start([listed(secret("sec", {"pw": SECRET}), bad, pod("p", container(
            "main", SLEEP, env=[key_ref("X", "sec", "pw", "secret"),
                                key_ref("Y", "bad", "pw", "secret")])))],
            machine={**STAY, "logLevel": "debug"})
        self.assertEqual(self.waiting(guest, "CreateContainerConfigError"), 'secret "bad" not found')
        guest.command("pod-create", manifest=secret("bad", {"pw": SECRET + "2"}))
        guest.wait_event("MEMBER_STARTED", pod="p", member="main")
        self.assertIn("must be base64", guest.console_text)
        texts = [guest.console_text, str(guest.command("podinit-log")), str(guest.status("p")),
                 str(guest.command("object-list")), str(guest.events),
                 str(guest.command("podinit-info"))]
        for text in texts:
            self.assertNotIn(SECRET, text)
            self.assertNotIn(base64.b64encode(SECRET.encode()).decode(), text)

    def test_a_flood_of_changes(self):
        """PID 1 answers all the while, and the last one stands in the end."""
        guest = self.start([listed(*[pod(f"p{n}", container("main", SLEEP), volumes=[
            {"name": "c", "configMap": {"name": "cm", "optional": True}}],
            hostNetwork=True, terminationGracePeriodSeconds=0) for n in range(20)])],
            machine=STAY)
        for n in range(20):
            guest.wait_event("MEMBER_STARTED", pod=f"p{n}", member="main")
        worst = 0
        for n in range(300):
            begin = time.monotonic()
            guest.command("pod-create", manifest=config_map("cm", {"k": str(n)}))
            worst = max(worst, time.monotonic() - begin)
        self.assertLess(worst, 2)
        for n in range(20):
            uid = guest.command("pod-status", name=f"p{n}")["metadata"]["uid"]
            path = Path(guest.path(f"/run/podinit/pods/{uid}/volumes/c/k"))
            guest.wait_until(lambda: path.exists() and path.read_text() == "299", "the last", 10,
                             every=0.02)
