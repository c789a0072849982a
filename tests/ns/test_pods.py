# SPDX-License-Identifier: Apache-2.0
"""Pods and members by Kubernetes' rules: phases, restarts, order, stop, start failures."""

import json
import os
import shutil
import signal
import tempfile
from collections import Counter
from pathlib import Path

from guest import CommandError, container, pod
from harness import BUSYBOX, NSCase

FAST = {"restart": {"backoffBaseMs": 50, "backoffMaxMs": 400, "backoffResetMs": 60000},
        "onPodsDone": "stay"}


class Phases(NSCase):
    def test_success(self):
        guest = self.start([pod("p", container("main", "echo hello"))], machine=FAST)
        guest.wait_phase("p", "Succeeded")
        main = guest.members("p")["main"]
        self.assertEqual(main["state"]["terminated"]["exitCode"], 0)
        self.assertEqual(main["state"]["terminated"]["reason"], "Completed")
        self.assertEqual(main["restartCount"], 0)
        self.assertEqual(main["lastState"], {})
        guest.wait_log("p", "main", "hello")
        conditions = {c["type"]: c for c in guest.status("p")["conditions"]}
        self.assertEqual(conditions["Ready"]["reason"], "PodCompleted")
        self.assertEqual(conditions["Initialized"]["status"], "True")

    def test_exit_codes_pass_through(self):
        guest = self.start([pod("p", *[container(f"c{n}", f"exit {n}")
                                       for n in (0, 1, 42, 255)])], machine=FAST)
        guest.wait_phase("p", "Failed")
        for n in (0, 1, 42, 255):
            end = guest.members("p")[f"c{n}"]["state"]["terminated"]
            self.assertEqual(end["exitCode"], n)
            self.assertEqual(end["reason"], "Error" if n else "Completed")

    def test_death_by_signal_is_128_plus_n(self):
        guest = self.start([pod("p", container("main", "echo before; read x", stdin=True))],
                           machine=FAST)
        guest.wait_log("p", "main", "before")
        guest.command("member-kill", name="p", member="main", signal="SIGKILL")
        guest.wait_phase("p", "Failed")
        end = guest.members("p")["main"]["state"]["terminated"]
        self.assertEqual((end["exitCode"], end["signal"], end["reason"]), (137, 9, "Error"))

    def test_pod_runs_while_one_is_left(self):
        guest = self.start([pod("p", container("bad", "exit 9"),
                                container("good", "read x", stdin=True))], machine=FAST)
        guest.wait_event("MEMBER_EXITED", pod="p", member="bad")
        guest.wait_event("MEMBER_STARTED", pod="p", member="good")
        status = guest.status("p")
        self.assertEqual(status["phase"], "Running")
        ready = {c["type"]: c for c in status["conditions"]}["Ready"]
        self.assertEqual(ready["message"], "containers with unready status: [bad]")
        guest.command("pod-stop", name="p", graceSeconds=0)
        guest.wait_phase("p", "Failed")

    def test_running_shape(self):
        guest = self.start([pod("p", container("main", "read x", stdin=True))], machine=FAST)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main")
        status = guest.status("p")
        self.assertEqual({c["type"]: c["status"] for c in status["conditions"]},
                         dict.fromkeys(["PodScheduled", "PodReadyToStartContainers",
                                        "NetworkReady", "Initialized", "ContainersReady", "Ready"], "True"))
        main = status["containerStatuses"][0]
        self.assertTrue(main["ready"] and main["started"])
        self.assertTrue(main["containerID"].startswith("podinit://"))
        self.assertEqual(main["imageID"], "busybox:latest")
        self.assertEqual(main["user"]["linux"]["uid"], 0)


class Restarts(NSCase):
    def test_always_restarts_success_with_backoff(self):
        guest = self.start([pod("p", container("main", "echo run"), restartPolicy="Always")],
                           machine=FAST)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main", attempt=3)
        starts = [e["timestamp"] for e in guest.events if e.get("event") == "MEMBER_STARTED"]
        at = [t["seconds"] + t["microseconds"] / 1e6 for t in starts]
        ends = [e["timestamp"] for e in guest.events if e.get("event") == "MEMBER_EXITED"]
        end = [t["seconds"] + t["microseconds"] / 1e6 for t in ends]
        # The first at once, then 50 ms and 100 ms after the end of the last instance.
        self.assertLess(at[1] - end[0], 0.045)
        self.assertGreaterEqual(at[2] - end[1], 0.049)
        self.assertGreaterEqual(at[3] - end[2], 0.099)
        self.assertEqual(guest.status("p")["phase"], "Running")

    def test_on_failure_restarts_failure_only(self):
        guest = self.start([pod("p", container("ok", "echo run"),
                                container("bad", "cat /proc/1/stat >/dev/null; "
                                          "[ -e /v/x ] && exit 0; touch /v/x; exit 7",
                                          volumeMounts=[{"name": "v", "mountPath": "/v"}]),
                                volumes=[{"name": "v", "emptyDir": {}}],
                                restartPolicy="OnFailure")], machine=FAST)
        guest.wait_phase("p", "Succeeded")
        members = guest.members("p")
        self.assertEqual(members["ok"]["restartCount"], 0)
        self.assertEqual(members["bad"]["restartCount"], 1)
        self.assertEqual(members["bad"]["lastState"]["terminated"]["exitCode"], 7)

    def test_crash_loop_is_visible(self):
        slow = dict(FAST, restart={"backoffBaseMs": 60000})
        guest = self.start([pod("p", container("main", "exit 1"), restartPolicy="Always")],
                           machine=slow)
        guest.wait_event("MEMBER_BACKOFF", pod="p", member="main")
        main = guest.members("p")["main"]
        self.assertEqual(main["state"]["waiting"]["reason"], "CrashLoopBackOff")
        self.assertIn("back-off", main["state"]["waiting"]["message"])
        self.assertEqual(main["lastState"]["terminated"]["exitCode"], 1)
        # A stop cancels the pending restart (finit#313).
        guest.command("pod-stop", name="p")
        guest.wait_phase("p", "Failed", timeout=5)

    def test_root_is_fresh_and_volume_stays(self):
        script = ("[ -e /here ] && echo old-root || echo fresh-root; touch /here; "
                  "[ -e /v/here ] && echo old-volume || echo fresh-volume; touch /v/here")
        guest = self.start([pod("p", container("main", script, volumeMounts=[
            {"name": "v", "mountPath": "/v"}]), volumes=[{"name": "v"}],
            restartPolicy="Always")], machine=FAST)
        guest.wait_event("MEMBER_EXITED", pod="p", member="main", attempt=1)
        guest.wait_log("p", "main", "old-volume")
        self.assertEqual([t for _, t in guest.log_lines("p", "main", attempt=0)],
                         ["fresh-root", "fresh-volume"])
        self.assertEqual([t for _, t in guest.log_lines("p", "main", attempt=1)],
                         ["fresh-root", "old-volume"])


class InitContainers(NSCase):
    def test_in_order_before_the_others(self):
        guest = self.start([pod("p", container("main", "cat /v/log", volumeMounts=[
            {"name": "v", "mountPath": "/v"}]), volumes=[{"name": "v"}], init=[
                container(f"i{n}", f"echo i{n} >>/v/log", volumeMounts=[
                    {"name": "v", "mountPath": "/v"}]) for n in range(3)])], machine=FAST)
        guest.wait_phase("p", "Succeeded")
        guest.wait_log("p", "main", "i2")
        self.assertEqual([t for _, t in guest.log_lines("p", "main")], ["i0", "i1", "i2"])
        self.assertTrue(guest.members("p")["i0"]["ready"])

    def test_failure_with_never_fails_the_pod(self):
        guest = self.start([pod("p", container("main", "echo no"), init=[
            container("i1", "exit 0"), container("i2", "exit 1"),
            container("i3", "exit 0")])], machine=FAST)
        guest.wait_phase("p", "Failed")
        members = guest.members("p")
        self.assertEqual(members["i2"]["state"]["terminated"]["exitCode"], 1)
        self.assertEqual(members["main"]["state"]["waiting"]["reason"], "PodInitializing")
        self.assertEqual(guest.log_lines("p", "main"), [])
        conditions = {c["type"]: c for c in guest.status("p")["conditions"]}
        self.assertEqual(conditions["Initialized"]["reason"], "ContainersNotInitialized")

    def test_failure_is_retried_and_the_pod_stays_pending(self):
        guest = self.start([pod("p", container("main", "echo no"), init=[
            container("i1", "exit 1")], restartPolicy="OnFailure")], machine=FAST)
        guest.wait_event("MEMBER_EXITED", pod="p", member="i1", attempt=2)
        self.assertEqual(guest.status("p")["phase"], "Pending")
        self.assertEqual(guest.members("p")["main"]["state"]["waiting"]["reason"],
                         "PodInitializing")

    def test_not_run_again_when_a_container_restarts(self):
        guest = self.start([pod("p", container("main", "exit 1"), init=[
            container("i1", "echo i1")], restartPolicy="Always")], machine=FAST)
        guest.wait_event("MEMBER_EXITED", pod="p", member="main", attempt=2)
        self.assertEqual(guest.members("p")["i1"]["restartCount"], 0)
        self.assertEqual(guest.log_lines("p", "i1"), [("stdout", "i1")])


class Stop(NSCase):
    TERM = "trap 'echo TERM; exit 0' TERM; echo UP; while :; do read x; done"

    def stop_times(self, guest, name):
        end = guest.wait_event("POD_CHANGED", pod=name,
                               where=lambda d: d["phase"] in ("Succeeded", "Failed"))
        begin = guest.wait_event("POD_CHANGED", pod=name, phase="Running")
        return begin, end

    def test_term_then_exit(self):
        guest = self.start([pod("p", container("main", self.TERM, stdin=True))],
                           machine=FAST)
        guest.wait_log("p", "main", "UP")
        guest.command("pod-stop", name="p")
        guest.wait_phase("p", "Succeeded", timeout=5)
        self.assertEqual([t for _, t in guest.log_lines("p", "main")], ["UP", "TERM"])

    def test_grace_then_kill_all_in_parallel(self):
        deaf = "trap '' TERM; echo UP; while :; do read x; done"
        guest = self.start([pod("p", *[container(f"c{n}", deaf, stdin=True)
                                       for n in range(4)],
                                terminationGracePeriodSeconds=1)], machine=FAST)
        for n in range(4):
            guest.wait_log("p", f"c{n}", "UP")
        guest.command("pod-stop", name="p")
        guest.wait_phase("p", "Failed", timeout=10)
        ends = [e["timestamp"] for e in guest.events if e.get("event") == "MEMBER_EXITED"]
        at = [t["seconds"] + t["microseconds"] / 1e6 for t in ends]
        self.assertEqual(len(at), 4)
        # One grace for all of them, not a sum.
        self.assertLess(max(at) - min(at), 0.5)
        for n in range(4):
            self.assertEqual(guest.members("p")[f"c{n}"]["state"]["terminated"]["exitCode"],
                             137)

    def test_shorter_grace_hurries(self):
        deaf = "trap '' TERM; echo UP; while :; do read x; done"
        guest = self.start([pod("p", container("main", deaf, stdin=True))], machine=FAST)
        guest.wait_log("p", "main", "UP")
        guest.command("pod-stop", name="p", graceSeconds=600)
        self.assertEqual(guest.status("p")["lifecycle"], "KILLING")
        guest.command("pod-stop", name="p", graceSeconds=0)
        guest.wait_phase("p", "Failed", timeout=5)

    def test_stop_while_init_runs(self):
        guest = self.start([pod("p", container("main", "echo no"), init=[
            container("i1", "echo UP; read x", stdin=True)],
            terminationGracePeriodSeconds=1)], machine=FAST)
        guest.wait_log("p", "i1", "UP")
        guest.command("pod-stop", name="p")
        guest.wait_phase("p", "Failed", timeout=10)
        self.assertEqual(guest.log_lines("p", "main"), [])

    def test_leftovers_die_with_the_member(self):
        # The background processes outlive the shell's exit; the pid namespace and the
        # group do not.
        script = "for i in 1 2 3 4 5; do sleep 1000 & done; echo started"
        guest = self.start([pod("p", container("main", script))], machine=FAST)
        guest.wait_phase("p", "Succeeded", timeout=10)
        self.assertEqual([], [p for p in self.processes(guest) if "sleep" in p])

    def processes(self, guest):
        names = []
        for path in guest.cgroup.path.rglob("cgroup.procs"):
            for pid in path.read_text().split():
                with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                    names.append(comm.read())
        return names

    def test_delete_frees_the_name(self):
        manifest = pod("p", container("main", "read x", stdin=True))
        guest = self.start([manifest], machine=FAST)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main")
        with self.assertRaises(CommandError):
            guest.command("pod-create", manifest=manifest)
        guest.command("pod-delete", name="p", graceSeconds=0)
        guest.wait_event("POD_DELETED", pod="p")
        guest.command("pod-create", manifest=manifest)
        mark = len(guest.events)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main", after=mark - 3)

    def test_create_delete_leaves_nothing(self):
        guest = self.start([], machine=FAST)
        before = self.resources(guest)
        for n in range(30):
            guest.command("pod-create", manifest=pod(
                f"p{n}", container("main", "exit 0"), container("side", "read x", stdin=True),
                volumes=[{"name": "v"}]))
            guest.wait_event("MEMBER_STARTED", pod=f"p{n}", member="side")
            guest.command("pod-delete", name=f"p{n}", graceSeconds=0)
            guest.wait_event("POD_DELETED", pod=f"p{n}")
        after = self.resources(guest)
        # A helper of the boot may still have been at work before: no more than then.
        self.assertEqual(Counter(after[0]) - Counter(before[0]), Counter())
        self.assertEqual(after[1:], before[1:])

    def resources(self, guest):
        fds = sorted(os.readlink(path) for path in Path(f"/proc/{guest.pid}/fd").iterdir())
        mounts = Path(f"/proc/{guest.pid}/mountinfo").read_text().count("\n")
        groups = sorted(p.name for p in (guest.cgroup.path / "pods").iterdir() if p.is_dir())
        run = sorted(p.name for p in Path(guest.path("/run/podinit/pods")).iterdir())
        return fds, mounts, groups, run


class StartFailures(NSCase):
    def ended(self, guest, name="p"):
        guest.wait_phase(name, "Failed")
        return guest.members(name)["main"]["state"]["terminated"]

    def test_command_not_found(self):
        guest = self.start([pod("p", container("main", command=["no-such-binary"]))],
                           machine=FAST)
        end = self.ended(guest)
        self.assertEqual((end["exitCode"], end["reason"]), (127, "StartError"))
        self.assertEqual(end["message"], "exec no-such-binary: No such file or directory")
        event = guest.wait_event("MEMBER_FAILED", pod="p", member="main")["data"]
        self.assertEqual((event["stage"], event["errno"]), ("exec", 2))

    def test_absolute_command_not_found(self):
        guest = self.start([pod("p", container("main", command=["/bin/foo"]))], machine=FAST)
        self.assertEqual(self.ended(guest)["message"],
                         "exec /bin/foo: No such file or directory")

    def test_not_executable(self):
        guest = self.start([pod("p", container("main", command=["/etc/passwd"]))],
                           machine=FAST)
        end = self.ended(guest)
        self.assertEqual((end["exitCode"], end["reason"]), (126, "StartError"))
        self.assertEqual(end["message"], "exec /etc/passwd: Permission denied")

    def test_absent_image(self):
        slow = dict(FAST, restart={"backoffBaseMs": 60000})
        guest = self.start([
            pod("never", container("main", "true", image="nope", imagePullPolicy="Never")),
            pod("pull", container("main", "true", image="nope:1.2")),
            pod("name", container("main", "true", image="UPPER//case")),
            pod("good", container("main", "true"))], machine=slow)
        for name, reason in (("never", "ErrImageNeverPull"), ("pull", "ErrImagePull"),
                             ("name", "InvalidImageName")):
            guest.wait_event("MEMBER_FAILED", pod=name, member="main")
            waiting = guest.members(name)["main"]["state"]["waiting"]
            self.assertEqual(waiting["reason"], reason)
            self.assertTrue(waiting["message"])
            self.assertEqual(guest.status(name)["phase"], "Pending")
        guest.wait_phase("good", "Succeeded")
        guest.command("pod-stop", name="pull")
        guest.wait_phase("pull", "Failed", timeout=5)

    def test_bad_beside_good(self):
        guest = self.start([pod("p", container("bad", "true", image="nope",
                                               imagePullPolicy="Never"),
                                container("good", "read x", stdin=True))], machine=FAST)
        guest.wait_event("MEMBER_STARTED", pod="p", member="good")
        guest.wait_event("MEMBER_FAILED", pod="p", member="bad")
        self.assertEqual(guest.status("p")["phase"], "Pending")
        self.assertIn("running", guest.members("p")["good"]["state"])

    def test_host_path_of_wrong_type_heals(self):
        guest = self.start([pod("p", container("main", "cat /v/x", volumeMounts=[
            {"name": "v", "mountPath": "/v"}]), volumes=[
                {"name": "v", "hostPath": {"path": "/late", "type": "Directory"}}])],
            machine=FAST)
        guest.wait_event("MEMBER_FAILED", pod="p", member="main")
        self.assertEqual(guest.status("p")["phase"], "Pending")
        self.assertIn("/late", guest.members("p")["main"]["state"]["waiting"]["message"])
        os.makedirs(guest.path("/late"))
        Path(guest.path("/late/x")).write_text("came late\n")
        guest.wait_log("p", "main", "came late")
        guest.wait_phase("p", "Succeeded")

    def test_a_failed_restart_is_told_of_its_own_attempt(self):
        guest = self.start([], machine=FAST)
        os.makedirs(guest.path("/there"))
        guest.command("pod-create", manifest=pod("p", container(
            "main", "exit 1", volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            volumes=[{"name": "v", "hostPath": {"path": "/there", "type": "Directory"}}],
            restartPolicy="Always"))
        guest.wait_event("MEMBER_EXITED", pod="p", member="main", attempt=1)
        os.rmdir(guest.path("/there"))
        failed = guest.wait_event("MEMBER_FAILED", pod="p", member="main")["data"]
        ended = [event["data"]["attempt"] for event in guest.events
                 if event.get("event") == "MEMBER_EXITED"]
        self.assertEqual(failed["attempt"], max(ended) + 1)

    def test_a_pod_that_never_ran_was_never_running(self):
        guest = self.start([pod("p", container("main", command=["/bin/foo"]))],
                           machine=FAST)
        guest.wait_phase("p", "Failed")
        phases = [event["data"]["phase"] for event in guest.events
                  if event.get("event") == "POD_CHANGED"]
        self.assertNotIn("Running", phases)

    def test_no_command_anywhere(self):
        guest = self.start([pod("p", container("main", image="bare"))], machine=FAST,
                           images={"bare/latest": self.bare_image()})
        guest.wait_event("MEMBER_FAILED", pod="p", member="main")
        waiting = guest.members("p")["main"]["state"]["waiting"]
        self.assertEqual(waiting["reason"], "CreateContainerError")
        self.assertIn("command", waiting["message"])

    def bare_image(self):
        path = tempfile.mkdtemp(prefix="podinit-image-")
        self.addCleanup(shutil.rmtree, path)
        Path(path, "rootfs").mkdir()
        return path

    def test_unknown_image_user(self):
        path = tempfile.mkdtemp(prefix="podinit-image-")
        self.addCleanup(shutil.rmtree, path)
        shutil.copytree(BUSYBOX / "rootfs", Path(path, "rootfs"), symlinks=True)
        Path(path, "config.json").write_text(json.dumps({"config": {"User": "ghost"}}))
        guest = self.start([pod("p", container("main", "true", image="ghost"))],
                           machine=FAST, images={"ghost/latest": path})
        guest.wait_event("MEMBER_FAILED", pod="p", member="main")
        waiting = guest.members("p")["main"]["state"]["waiting"]
        self.assertIn("ghost", waiting["message"])


class BadInput(NSCase):
    def test_bad_files_beside_a_good_one(self):
        guest = self.start([
            ("broken.json", b'{"apiVersion": "v1", "kind": "Pod",'),
            ("typo.json", json.dumps({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "typo"},
                "spec": {"containers": [{"name": "a", "image": "busybox",
                                         "comand": ["true"]},
                                        {"name": "a", "image": ""}]}}).encode()),
            pod("good", container("main", "echo fine"))], machine=FAST)
        guest.wait_phase("good", "Succeeded")
        status = guest.status("typo")
        self.assertEqual((status["phase"], status["reason"]), ("Failed", "InvalidManifest"))
        for part in ("/spec/containers/0/comand", "command", "/spec/containers/1/name",
                     "/spec/containers/1/image"):
            self.assertIn(part, status["message"])
            self.assertIn(part, guest.console_text)
        self.assertIn("broken.json", guest.console_text)
        phases = {p["name"]: p["phase"] for p in guest.command("pod-list")}
        self.assertEqual(sorted(phases.values()), ["Failed", "Failed", "Succeeded"])

    def test_no_manifest_waits_on_the_channel(self):
        guest = self.start([])
        self.assertEqual(guest.command("pod-list"), [])
        guest.command("pod-create", manifest=pod("p", container("main", "exit 3")))
        guest.wait_phase("p", "Failed")
        self.assertEqual(guest.wait_end(), 3)
        self.assertEqual(guest.final["outcome"], "failed")
        self.assertEqual(guest.final["exitCode"], 3)


class Ends(NSCase):
    def test_an_orderly_end_has_no_warning(self):
        guest = self.start([pod("p", container("main", Stop.TERM, stdin=True, volumeMounts=[
            {"name": "v", "mountPath": "/v"}]), volumes=[{"name": "v"}],
            restartPolicy="Always")])
        guest.wait_log("p", "main", "UP")
        mark = len(guest.console_text)
        guest.command("shutdown")
        guest.wait_end(timeout=10)
        self.assertNotRegex(guest.console_text[mark:], "(?m)(warn|error): ")

    def test_power_off_when_done(self):
        guest = self.start([pod("p", container("main", "exit 0"))], ready=False)
        self.assertEqual(guest.wait_end(), 0)
        self.assertEqual(guest.final["outcome"], "succeeded")
        self.assertEqual(guest.final["pods"][0]["phase"], "Succeeded")

    def test_term_stops_everything(self):
        guest = self.start([pod("p", container("main", Stop.TERM, stdin=True),
                                restartPolicy="Always")])
        guest.wait_log("p", "main", "UP")
        guest.signal(signal.SIGTERM)
        guest.wait_end(timeout=10)
        self.assertEqual(guest.final["outcome"], "shutdown")
        self.assertEqual(guest.final["pods"][0]["members"][0]["exitCode"], 0)
