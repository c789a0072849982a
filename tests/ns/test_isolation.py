# SPDX-License-Identifier: Apache-2.0
"""What a member sees and may do: environment, user, capabilities, root, descriptors."""

import os
import shutil
import signal
import tempfile
from pathlib import Path

from guest import container, pod
from harness import BUSYBOX, NSCase

STAY = {"onPodsDone": "stay"}
DEFAULT_CAPS = "00000000a80425fb"  # containerd's 14


def comm(pid):
    """A process's own name, None when it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None


class Isolation(NSCase):
    def output(self, script=None, spec=None, machine=STAY, **fields):
        """Lines of a container that runs to its end; spec: more of the pod's."""
        guest = self.start([pod("p", container("main", script, **fields), **(spec or {}))],
                           machine=machine)
        end = guest.wait_event("MEMBER_EXITED", pod="p", member="main")
        guest.wait_event("POD_CHANGED", pod="p",
                         where=lambda d: d["phase"] in ("Succeeded", "Failed"))
        # The exit is published after the last line: what came is all there is.
        lines = [text for _, text in guest.log_lines("p", "main")]
        self.assertEqual(end["data"]["exitCode"], 0, lines)
        return lines


class Environment(Isolation):
    def test_expansion(self):
        env = [{"name": "A", "value": "a"}, {"name": "B", "value": "$(A)-b"},
               {"name": "C", "value": "$$(A)"}, {"name": "D", "value": "$(NOPE)"},
               {"name": "E", "value": "$(LATER)"}, {"name": "LATER", "value": "x"},
               {"name": "F", "value": "$A $$ $(A"}, {"name": "G", "value": "$(C)"},
               {"name": "EMPTY", "value": ""}]
        lines = self.output(command=["env"], env=env)
        for want in ("A=a", "B=a-b", "C=$(A)", "D=$(NOPE)", "E=$(LATER)", "F=$A $ $(A",
                     "G=$(A)", "EMPTY="):
            self.assertIn(want, lines)

    def test_command_and_args(self):
        lines = self.output(command=["sh", "-c", "echo \"$$0|$$1|$(V)\"; echo '$$$$(V)|$(NOPE)'"],
                            args=["x $(V)", "y"], env=[{"name": "V", "value": "v1"}])
        self.assertEqual(lines, ["x v1|y|v1", "$$(V)|$(NOPE)"])

    def test_defaults(self):
        lines = self.output(command=["env"])
        self.assertIn("HOSTNAME=p", lines)
        self.assertTrue(any(line.startswith("PATH=") and "/bin" in line for line in lines))
        self.assertIn("HOME=/root", lines)
        self.assertFalse(any(line.startswith("TERM=") for line in lines))

    def test_working_dir(self):
        self.assertEqual(self.output("pwd"), ["/"])

    def test_working_dir_is_made(self):
        self.assertEqual(self.output("pwd", workingDir="/not/there/yet"),
                         ["/not/there/yet"])

    def test_hostname(self):
        self.assertEqual(self.output("hostname; cat /etc/hostname", spec={"hostname": "h1"}),
                         ["h1", "h1"])


class Sysctls(Isolation):
    def sysctls(self, **values):
        return {"securityContext": {"sysctls": [
            {"name": name, "value": value} for name, value in values.items()]}}

    def test_of_the_pod_alone(self):
        lines = self.output("cat /proc/sys/net/ipv4/ip_local_port_range "
                            "/proc/sys/net/ipv4/ping_group_range",
                            spec=self.sysctls(**{"net.ipv4.ip_local_port_range": "2000 3000",
                                                 "net/ipv4/ping_group_range": "5 7"}))
        self.assertEqual([line.split() for line in lines], [["2000", "3000"], ["5", "7"]])
        self.assertNotEqual(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split(),
                            ["2000", "3000"])

    def test_forbidden(self):
        for name, spec, words in (
                ("kernel.msgmax", {}, "not allowlisted"),
                ("vm.swappiness", {}, "not allowlisted"),
                ("net.ipv4.tcp_syncookies", {"hostNetwork": True}, "hostNetwork"),
                ("kernel.shm_rmid_forced", {"hostIPC": True}, "hostIPC")):
            with self.subTest(name):
                guest = self.start([pod("p", container("main", "echo ran"), **spec,
                                        **self.sysctls(**{name: "1"}))], machine={
                    **STAY, "allowedUnsafeSysctls": ["vm.*"]})
                guest.wait_event("POD_CHANGED", pod="p",
                                 where=lambda d: d["phase"] == "Failed")
                status = guest.status("p")
                self.assertEqual(status["reason"], "SysctlForbidden")
                self.assertIn(f'forbidden sysctl: "{name}"', status["message"])
                self.assertIn(words, status["message"])
                self.assertEqual(guest.log_lines("p", "main"), [])
                guest.command("pod-delete", name="p")
                guest.wait_event("POD_DELETED", pod="p")

    def test_allowed_by_the_machine(self):
        lines = self.output("cat /proc/sys/net/ipv4/ip_forward", spec=self.sysctls(
            **{"net.ipv4.ip_forward": "1"}), machine={
                **STAY, "allowedUnsafeSysctls": ["kernel.msg*", "net.ipv4.ip_forward"]})
        self.assertEqual(lines, ["1"])

    def test_value_that_the_kernel_refuses(self):
        guest = self.start([pod("p", container("main", "echo ran"), **self.sysctls(
            **{"net.ipv4.ip_local_port_range": "many"}))], machine=STAY)
        guest.wait_until(lambda: 'set sysctl net.ipv4.ip_local_port_range to "many": '
                         "Invalid argument" in guest.status("p").get("message", ""),
                         "the message", 10, every=0.02)


class Shared(Isolation):
    def links(self, **spec):
        lines = self.output("for n in pid ipc net; do readlink /proc/self/ns/$n; done; "
                            "readlink /proc/1/ns/pid 2>/dev/null; cat /proc/1/comm", spec=spec)
        return lines

    def of_pid1(self, name):
        return os.readlink(f"/proc/{self.guest.pid}/ns/{name}")

    def test_ipc(self):
        pid, ipc, *_ = self.links(hostIPC=True)
        self.assertEqual(ipc, self.of_pid1("ipc"))
        self.assertNotEqual(pid, self.of_pid1("pid_for_children"))

    def test_own(self):
        _, ipc, net, *_ = self.links()
        self.assertNotEqual(ipc, self.of_pid1("ipc"))
        self.assertNotEqual(net, self.of_pid1("net"))

    def test_all_of_the_machine(self):
        pid, ipc, net, *_, comm = self.links(hostIPC=True, hostPID=True, hostNetwork=True)
        self.assertEqual([pid, ipc, net], [self.of_pid1("pid"), self.of_pid1("ipc"),
                                           self.of_pid1("net")])
        self.assertEqual(comm, "podinit")

    def test_what_is_left_of_a_pid_namespace_that_is_shared(self):
        """No first process takes the others along, so the group does."""
        guest = self.start([pod("p", container(
            "main", "sleep 1000 & (trap '' TERM HUP; exec sleep 2000) & echo up; sleep 0.1"),
            hostPID=True)], machine=STAY)
        guest.wait_phase("p", "Succeeded")
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and comm(pid) == "sleep" and
                b"1000" in Path(f"/proc/{pid}/cmdline").read_bytes() and
                os.readlink(f"/proc/{pid}/ns/pid") == self.of_pid1("pid")]
        self.assertEqual(left, [])

    def test_stop_in_a_shared_pid_namespace(self):
        guest = self.start([pod("p", container("main", "trap 'echo bye; exit 3' TERM; echo up; "
                                               "while :; do sleep 0.05; done"),
                                hostPID=True)], machine=STAY)
        guest.wait_log("p", "main", "up")
        guest.command("pod-stop", name="p")
        end = guest.wait_event("MEMBER_EXITED", pod="p", member="main")
        self.assertEqual(end["data"]["exitCode"], 3)


class SharedProcesses(Isolation):
    def pause(self):
        """The first process of the pod's pid namespace."""
        pid = self.guest.pid
        found = [int(child) for child in
                 Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                 if comm(child) == "pause"]
        return found[0] if found else None

    def test_they_see_and_signal_each_other(self):
        guest = self.start([pod(
            "p", container("a", "trap 'echo TERM; echo BYE; exit 0' TERM; echo UP $$; "
                                "while :; do sleep 0.02; done"),
            container("b", "while :; do for p in /proc/[0-9]*; do grep -q BYE $p/cmdline "
                           "2>/dev/null && [ ${p#/proc/} != $$ ] && kill ${p#/proc/}; done; "
                           "sleep 0.05; done"),
            shareProcessNamespace=True, restartPolicy="Always",
            terminationGracePeriodSeconds=0)], machine=STAY)
        end = guest.wait_event("MEMBER_EXITED", pod="p", member="a")
        self.assertEqual(end["data"]["exitCode"], 0)
        guest.wait_event("MEMBER_STARTED", pod="p", member="a", attempt=1)
        self.assertEqual(guest.status("p")["containerStatuses"][1]["restartCount"], 0)
        self.assertNotIn("UP 1", [text for _, text in guest.log_lines("p", "a")])

    def test_orphans_are_reaped(self):
        lines = self.output("for i in 1 2 3 4 5; do sh -c 'sleep 0.1 & exit 0'; done; sleep 0.4; "
                            "echo zombies $(grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | "
                            "wc -l); cat /proc/1/comm; grep -E 'CapEff|CapBnd' /proc/1/status | "
                            "uniq -f1 | cut -f2; kill -9 1; echo still here",
                            spec={"shareProcessNamespace": True})
        self.assertEqual(lines, ["zombies 0", "pause", "0" * 16, "still here"])

    def test_its_memory_is_not_ours(self):
        """A member that may trace all sees none of PID 1's secrets in its neighbour 1."""
        lines = self.output("cat /proc/1/cmdline | tr '\\0' ' '; echo; "
                            "grep -c -F s3cr3t-of-another /proc/1/mem; ls /proc/1/fd | wc -l",
                            spec={"shareProcessNamespace": True},
                            securityContext={"capabilities": {"add": ["SYS_PTRACE"]}})
        self.assertEqual(lines[0], "podinit-pause ")
        self.assertEqual(lines[-1], "3")

    def test_its_end_is_the_members_and_a_new_one_comes(self):
        guest = self.start([pod("p", container("c", "exec sleep 1000"), restartPolicy="Always",
                                shareProcessNamespace=True, terminationGracePeriodSeconds=0)],
                           machine={**STAY, "restart": {"backoffBaseMs": 100000,
                                                        "backoffMaxMs": 100000}})
        guest.wait_event("MEMBER_STARTED", pod="p", member="c")
        first = self.pause()
        os.kill(first, signal.SIGKILL)
        end = guest.wait_event("MEMBER_EXITED", pod="p", member="c")
        self.assertEqual(end["data"]["exitCode"], 137)
        guest.wait_console("its pid namespace ended")
        guest.wait_event("MEMBER_STARTED", pod="p", member="c", attempt=1, timeout=10)
        self.assertNotIn(self.pause(), (first, None))
        descriptors = len(os.listdir(f"/proc/{guest.pid}/fd"))
        guest.command("pod-delete", name="p")
        guest.wait_event("POD_DELETED", pod="p")
        self.assertIsNone(self.pause())
        self.assertLess(len(os.listdir(f"/proc/{guest.pid}/fd")), descriptors)

    def test_what_is_left_goes_with_its_member(self):
        guest = self.start([pod(
            "p", container("gone", "sleep 1234 & echo up"), container("stays", "exec sleep 1000"),
            shareProcessNamespace=True, terminationGracePeriodSeconds=0)], machine=STAY)
        guest.wait_event("MEMBER_EXITED", pod="p", member="gone")
        left = [pid for pid in os.listdir("/proc") if pid.isdigit() and comm(pid) == "sleep" and
                b"1234" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        self.assertEqual(left, [])
        guest.command("pod-stop", name="p")
        guest.wait_phase("p", "Failed")
        self.assertIsNone(self.pause())


class Privileged(Isolation):
    SCRIPT = ("mkdir /mnt2; mount -t tmpfs t /mnt2 2>/dev/null && echo mounted; "
              "grep -cE ' /proc/(kcore|keys|timer_list|sysrq-trigger|bus|irq|sys) ' "
              "/proc/self/mountinfo; grep -E ' /sys(/fs/cgroup)? ' /proc/self/mountinfo | "
              "grep -c ' ro[, ]'; ls /dev; grep CapEff /proc/self/status")

    def test_what_it_may(self):
        mounted, masks, read_only, *devices, caps = self.output(
            self.SCRIPT, securityContext={"privileged": True})
        self.assertEqual((mounted, masks, read_only), ("mounted", "0", "0"))
        of_pid1, = [line for line in Path(f"/proc/{self.guest.pid}/status").read_text().splitlines()
                    if "CapBnd" in line]
        self.assertEqual(caps.split()[1], of_pid1.split()[1])
        machine = set(os.listdir(self.guest.path("/dev"))) - {"console", "podinit"}
        self.assertLessEqual(machine, set(devices))

    def test_what_others_may_not(self):
        masks, read_only, *devices, caps = self.output(
            self.SCRIPT, securityContext={"privileged": False})
        self.assertNotEqual(masks, "0")
        self.assertGreaterEqual(int(read_only), 2)
        self.assertEqual(caps.split()[1], DEFAULT_CAPS)


class Users(Isolation):
    def test_root_has_the_default_set(self):
        lines = self.output("grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
        self.assertEqual([line.split()[1] for line in lines],
                         ["0" * 16, DEFAULT_CAPS, DEFAULT_CAPS, DEFAULT_CAPS, "0" * 16, "0"])

    def caps(self, add=(), drop=(), **context):
        """Permitted, effective, bounding."""
        lines = self.output("grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status", securityContext={
            "capabilities": {"add": list(add), "drop": list(drop)}, **context})
        return [line.split()[1] for line in lines]

    def test_capabilities_dropped(self):
        lines = self.output("grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status | uniq -f1; "
                            "touch /f; chown 1 /f 2>/dev/null || echo refused",
                            securityContext={"capabilities": {"drop": ["ALL"]}})
        self.assertEqual(lines, ["CapPrm:\t" + "0" * 16, "refused"])

    def test_capabilities_added(self):
        self.assertEqual(self.caps(["CAP_NET_BIND_SERVICE"], ["all"]), [f"{0x400:016x}"] * 3)

    def test_all_capabilities(self):
        seen = self.caps(["ALL"])
        of_pid1, = [line.split()[1] for line in Path(
            f"/proc/{self.guest.pid}/status").read_text().splitlines() if "CapBnd" in line]
        self.assertEqual(seen, [of_pid1] * 3)

    def test_added_capability_is_of_use(self):
        """In the pod's own network namespace, which podinit made."""
        self.assertEqual(self.output(
            "ip link set lo down && ip link show lo | grep -q UP || echo down",
            securityContext={"capabilities": {"add": ["NET_ADMIN"]}}), ["down"])

    def test_capabilities_of_another_user(self):
        self.assertEqual(self.caps(["NET_ADMIN"], ["MKNOD"], runAsUser=1000),
                         ["0" * 16] * 2 + [f"{(0xa80425fb | 1 << 12) & ~(1 << 27):016x}"])

    def waiting(self, **fields):
        """Reason and message of a container that does not start."""
        guest = self.start([pod("p", container("main", "echo ran", **fields))], machine=STAY)
        guest.wait_until(lambda: guest.status("p")["containerStatuses"][0]["state"].get(
            "waiting", {}).get("reason", "ContainerCreating") != "ContainerCreating",
            "the reason", 10, every=0.02)
        self.assertEqual(guest.status("p")["phase"], "Pending")
        self.assertEqual(guest.log_lines("p", "main"), [])
        waiting = guest.status("p")["containerStatuses"][0]["state"]["waiting"]
        return waiting["reason"], waiting["message"]

    def test_root_where_it_may_not_be(self):
        reason, message = self.waiting(securityContext={"runAsNonRoot": True, "runAsUser": 0})
        self.assertEqual(reason, "CreateContainerConfigError")
        self.assertIn("runAsUser breaks non-root policy", message)

    def test_image_of_root_where_it_may_not_be(self):
        reason, message = self.waiting(securityContext={"runAsNonRoot": True})
        self.assertEqual(reason, "CreateContainerConfigError")
        self.assertIn("image will run as root", message)

    def test_another_user_where_root_may_not_be(self):
        self.assertEqual(self.output("id -u", securityContext={
            "runAsNonRoot": True, "runAsUser": 1000}), ["1000"])

    def test_supplementary_groups(self):
        groups = {"supplementalGroups": [1234, 5678, 1234], "fsGroup": 777}
        self.assertEqual(self.output("id -G", spec={"securityContext": {
            **groups, "runAsUser": 1000}}), ["0 777 1234 5678"])

    def test_fs_group(self):
        """C226: of a volume, and of what is made in it."""
        lines = self.output(
            "stat -c '%g %a' /v; touch /v/f; stat -c %g /v/f", spec={
                "securityContext": {"fsGroup": 777, "runAsUser": 1000},
                "volumes": [{"name": "v", "emptyDir": {}}]},
            volumeMounts=[{"name": "v", "mountPath": "/v"}])
        self.assertEqual(lines, ["777 2777", "777"])

    def test_read_only_root(self):
        lines = self.output(
            "touch /f 2>/dev/null || echo root; touch /etc/f 2>/dev/null || echo etc; "
            "touch /v/f /dev/shm/f && echo volume; echo '10.0.0.9 x' >>/etc/hosts && "
            "echo hosts; grep ' / / ' /proc/self/mountinfo | cut -d' ' -f6 | cut -d, -f1",
            spec={"volumes": [{"name": "v", "emptyDir": {}}]},
            securityContext={"readOnlyRootFilesystem": True}, workingDir="/made/for/it",
            volumeMounts=[{"name": "v", "mountPath": "/v"}])
        self.assertEqual(lines, ["root", "etc", "volume", "hosts", "ro"])

    def test_other_users_have_no_effective_caps(self):
        lines = self.output("id -u; id -g; grep -E '^Cap(Eff|Prm|Bnd)' /proc/self/status",
                            securityContext={"runAsUser": 1001, "runAsGroup": 2002})
        self.assertEqual(lines[:2], ["1001", "2002"])
        self.assertEqual([line.split()[1] for line in lines[2:]],
                         ["0" * 16, "0" * 16, DEFAULT_CAPS])

    def test_pod_user_and_container_wins(self):
        lines = self.output("id -u; id -g", securityContext={"runAsUser": 7},
                            spec={"securityContext": {"runAsUser": 5, "runAsGroup": 6}})
        self.assertEqual(lines, ["7", "6"])

    def test_no_new_privs_on_request(self):
        lines = self.output("grep NoNewPrivs /proc/self/status",
                            securityContext={"allowPrivilegeEscalation": False})
        self.assertEqual(lines[0].split()[1], "1")

    def test_mount_is_refused(self):
        self.assertEqual(self.output("mount -t tmpfs none /tmp 2>/dev/null && echo yes "
                                     "|| echo refused"), ["refused"])


class Namespaces(Isolation):
    def test_own_pid_namespace(self):
        lines = self.output("echo $$; ls -d /proc/[0-9]* | wc -l")
        self.assertEqual(lines[0], "1")
        self.assertLessEqual(int(lines[1]), 3)

    def test_only_standard_descriptors(self):
        # The listing's own directory descriptor is the one above 2.
        lines = self.output("ls /proc/self/fd")
        self.assertEqual(lines, ["0", "1", "2", "3"])

    def test_shared_by_the_pod(self):
        show = "for n in net ipc uts; do readlink /proc/self/ns/$n; done; " \
               "readlink /proc/self/ns/pid; readlink /proc/self/ns/mnt"
        guest = self.start([pod("p", container("a", show), container("b", show)),
                            pod("q", container("a", show))], machine=STAY)
        guest.wait_phase("p", "Succeeded")
        guest.wait_phase("q", "Succeeded")
        a, b, other = ([t for _, t in guest.log_lines(*key)]
                       for key in (("p", "a"), ("p", "b"), ("q", "a")))
        self.assertEqual(a[:3], b[:3])
        for i in (3, 4):
            self.assertNotEqual(a[i], b[i])
        for i in range(3):
            self.assertNotEqual(a[i], other[i])

    def test_loopback_is_up(self):
        lines = self.output("cat /sys/class/net/lo/operstate; ls /sys/class/net; "
                            "ping -c 1 -W 2 127.0.0.1 >/dev/null && echo pong")
        self.assertEqual(lines, ["unknown", "eth0", "lo", "pong"])

    def test_host_network(self):
        lines = self.output("readlink /proc/self/ns/net; readlink /proc/self/ns/uts",
                            spec={"hostNetwork": True})
        self.assertEqual(lines, [os.readlink(f"/proc/{self.guest.pid}/ns/{n}")
                                 for n in ("net", "uts")])

    def test_cgroup_namespace_is_its_own(self):
        self.assertEqual(self.output("grep ^0: /proc/self/cgroup"), ["0::/"])

    def test_best_effort_goes_first(self):
        self.assertEqual(self.output("cat /proc/self/oom_score_adj"), ["1000"])


class Root(Isolation):
    def test_masked_and_read_only_paths(self):
        script = ("for f in kcore keys timer_list; do cat /proc/$f 2>/dev/null | wc -c; done; "
                  "touch /proc/sys/kernel/hostname 2>&1 | grep -ci 'read-only'; "
                  "{ echo h >/proc/sysrq-trigger; } 2>/dev/null && echo wrote || echo refused; "
                  "ls /sys/firmware | wc -l; "
                  "mkdir /sys/fs/cgroup/x 2>/dev/null && echo made || echo refused")
        self.assertEqual(self.output(script),
                         ["0", "0", "0", "1", "refused", "0", "refused"])

    def test_dev(self):
        lines = self.output("ls /dev; echo x >/dev/null; head -c 4 /dev/zero | wc -c; "
                            "head -c 4 /dev/urandom | wc -c; { echo y >/dev/full; } 2>/dev/null || echo full")
        self.assertEqual(lines[-3:], ["4", "4", "full"])
        self.assertEqual(set(lines[:-3]) - {"core"}, {
            "fd", "full", "mqueue", "null", "podinit", "ptmx", "pts", "random", "shm", "stderr",
            "stdin", "stdout", "tty", "urandom", "zero"})

    def test_nothing_of_the_machine_is_in_sight(self):
        lines = self.output("cut -d' ' -f5 /proc/self/mountinfo")
        for line in lines:
            self.assertFalse(line.startswith(("/run/podinit", "/var/lib/podinit")), line)
        self.assertEqual(lines.count("/"), 1)

    def test_image_is_never_written(self):
        self.output("touch /written; echo changed >/etc/passwd; rm -rf /root")
        self.assertFalse((BUSYBOX / "rootfs/written").exists())
        self.assertTrue((BUSYBOX / "rootfs/root").exists())
        self.assertIn("root", (BUSYBOX / "rootfs/etc/passwd").read_text())

    def test_volumes(self):
        lines = self.output(
            "stat -c %a /v; echo hello >/v/f; cat /nest/deep/f; "
            "{ echo x >/ro/f; } 2>/dev/null && echo wrote || echo read-only; cat /ro/f",
            volumeMounts=[{"name": "v", "mountPath": "/nest/deep"},
                          {"name": "v", "mountPath": "/v"},
                          {"name": "v", "mountPath": "/ro", "readOnly": True}],
            spec={"volumes": [{"name": "v", "emptyDir": {}}]})
        self.assertEqual(lines, ["777", "hello", "read-only", "hello"])

    def test_host_path_file_and_directory(self):
        guest = self.start([], machine=STAY)
        os.makedirs(guest.path("/data"))
        Path(guest.path("/data/one")).write_text("from the machine\n")
        guest.command("pod-create", manifest=pod(
            "p", container("main", "cat /d/one /f; echo back >/d/two", volumeMounts=[
                {"name": "d", "mountPath": "/d"}, {"name": "f", "mountPath": "/f"}]),
            volumes=[{"name": "d", "hostPath": {"path": "/data", "type": "Directory"}},
                     {"name": "f", "hostPath": {"path": "/data/one", "type": "File"}}]))
        guest.wait_phase("p", "Succeeded")
        self.assertEqual([t for _, t in guest.log_lines("p", "main")],
                         ["from the machine"] * 2)
        self.assertEqual(Path(guest.path("/data/two")).read_text(), "back\n")

    def test_a_symlink_of_the_image_leads_nowhere(self):
        """A volume target behind the image's symlink lands inside the member's root."""
        path = tempfile.mkdtemp(prefix="podinit-image-")
        self.addCleanup(shutil.rmtree, path)
        shutil.copytree(BUSYBOX / "rootfs", Path(path, "rootfs"), symlinks=True)
        os.symlink("../../../../../../etc/podinit", Path(path, "rootfs/data"))
        guest = self.start([pod("p", container(
            "main", "ls /etc/podinit; echo x >/data/f; cat /etc/podinit/f",
            image="evil", volumeMounts=[{"name": "v", "mountPath": "/data"}]),
            volumes=[{"name": "v"}])], machine=STAY, images={"evil/latest": path})
        guest.wait_phase("p", "Succeeded")
        self.assertEqual([t for _, t in guest.log_lines("p", "main")], ["x"])
        self.assertEqual(sorted(os.listdir(guest.path("/etc/podinit"))),
                         ["machine.json", "pods"])


class Terminals(Isolation):
    def test_stdin_is_empty_by_default(self):
        self.assertEqual(self.output("read x && echo got || echo eof"), ["eof"])

    def test_stdin_open_blocks(self):
        guest = self.start([pod("p", container("main", "echo waiting; read x; echo eof",
                                               stdin=True))], machine=STAY)
        guest.wait_log("p", "main", "waiting")
        guest.command("pod-stop", name="p", graceSeconds=0)
        guest.wait_phase("p", "Failed")
        self.assertEqual(guest.log_lines("p", "main"), [("stdout", "waiting")])

    def test_tty(self):
        lines = self.output("tty; test -t 1 && echo tty-yes; echo $TERM; ls -l /dev/console "
                            ">/dev/null && echo console", tty=True, stdin=True)
        lines = [line.rstrip("\r") for line in lines]
        self.assertIn(lines[0], ("/dev/console", "/dev/pts/0"))
        self.assertEqual(lines[1:], ["tty-yes", "xterm", "console"])

    def test_no_tty(self):
        self.assertEqual(self.output("test -t 1 && echo yes || echo no"), ["no"])


class Logs(Isolation):
    def log_file(self, member="main", attempt=0):
        uid = self.guest.command("pod-status", name="p")["metadata"]["uid"]
        return Path(self.guest.path(f"/var/log/pods/default_p_{uid}/{member}/{attempt}.log"))

    def test_cri_format_and_no_loss_at_exit(self):
        guest = self.start([pod("p", container(
            "main", "i=0; while [ $i -lt 2000 ]; do echo line-$i; i=$((i+1)); done; "
            "echo err >&2; printf no-newline"))], machine=STAY)
        guest.wait_phase("p", "Succeeded")
        lines = self.log_file().read_text().splitlines()
        stdout = [line.split(" ", 3) for line in lines if " stdout " in line]
        self.assertEqual([fields[3] for fields in stdout],
                         [f"line-{i}" for i in range(2000)] + ["no-newline"])
        self.assertRegex(stdout[0][0], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$")
        self.assertEqual(sum(1 for line in lines if line.endswith(" stderr F err")), 1)

    def test_long_line_is_split(self):
        guest = self.start([pod("p", container(
            "main", "head -c 40000 /dev/zero | tr '\\0' A; echo"))], machine=STAY)
        guest.wait_phase("p", "Succeeded")
        parts = [line.split(" ", 3) for line in self.log_file().read_text().splitlines()]
        self.assertEqual([p[2] for p in parts], ["P", "P", "F"])
        self.assertEqual("".join(p[3] for p in parts), "A" * 40000)

    def test_tail_over_the_channel(self):
        guest = self.start([pod("p", container("main", "for i in 1 2 3; do echo l$i; done"))],
                           machine=STAY)
        guest.wait_phase("p", "Succeeded")
        answer = guest.command("logs", name="p", member="main", lines=2)
        self.assertEqual([line["text"] for line in answer["lines"]], ["l2", "l3"])

    def test_flood_does_not_delay_the_channel(self):
        guest = self.start([pod("p", container("main", "yes", stdin=True))], machine=STAY)
        guest.wait_event("MEMBER_STARTED", pod="p", member="main")
        for _ in range(20):
            guest.command("podinit-info", timeout=2)
        guest.command("pod-stop", name="p", graceSeconds=0)
        guest.wait_phase("p", "Failed", timeout=10)

    def test_a_user_may_open_its_own_stdout_again(self):
        self.assertEqual(self.output("echo again >/dev/stdout; echo err >/dev/stderr",
                                     securityContext={"runAsUser": 1001}),
                         ["again", "err"])

    def test_deletion_takes_the_logs_along(self):
        guest = self.start([pod("p", container("main", "echo bye"))], machine=STAY)
        guest.wait_phase("p", "Succeeded")
        path = self.log_file()
        self.assertTrue(path.exists())
        guest.command("pod-delete", name="p")
        guest.wait_event("POD_DELETED", pod="p")
        self.assertEqual(list(path.parents[2].iterdir()), [])

    def test_console_copy_names_the_member(self):
        guest = self.start([pod("p", container("main", "echo hi"))],
                           machine={"onPodsDone": "stay", "logs": {"console": True}})
        guest.wait_console(r"(?m)^default/p/main: hi$")


class SlowDisk(NSCase):
    """Logs on a real disk: the writer child is at work."""

    MACHINE = {"onPodsDone": "stay", "shutdownTimeoutMs": 2000}

    def start_on_disk(self, manifests):
        self.logs = Path(tempfile.mkdtemp(prefix="podinit-logs-", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, self.logs)
        return self.start(manifests, machine=self.MACHINE, binds=[(self.logs, "/var/log/pods")])

    def writer(self):
        """The pid of the log writer: in PID 1's group, among helpers that come and go."""
        path = self.guest.cgroup.path / "init/cgroup.procs"
        pids = [int(pid) for pid in path.read_text().split()]
        return [pid for pid in pids if comm(pid) == "podinit-log"]

    def test_deletion_comes_after_the_last_line(self):
        guest = self.start_on_disk([pod("p", container("main", "echo one; read x",
                                                       stdin=True))])
        guest.wait_log("p", "main", "one")
        writer, = self.writer()
        os.kill(writer, signal.SIGSTOP)  # a disk that takes its time
        guest.command("pod-create", manifest=pod("q", container("main", "echo late")))
        guest.wait_phase("q", "Succeeded")
        guest.command("pod-delete", name="q")
        guest.wait_event("POD_DELETED", pod="q")
        os.kill(writer, signal.SIGCONT)
        guest.command("pod-create", manifest=pod("r", container("main", "echo last")))
        guest.wait_phase("r", "Succeeded")
        guest.command("pod-delete", name="r")
        guest.wait_event("POD_DELETED", pod="r")
        guest.command("shutdown")
        guest.wait_end()  # the writer has taken everything by then
        self.assertEqual([path.name.split("_")[1] for path in self.logs.iterdir()], ["p"])

    def test_a_writer_that_was_given_up_has_no_successor(self):
        guest = self.start_on_disk([pod("p", container("main", "echo one; read x",
                                                       stdin=True),
                                        terminationGracePeriodSeconds=0)])
        guest.wait_log("p", "main", "one")
        writer, = self.writer()
        os.kill(writer, signal.SIGSTOP)
        guest.command("shutdown")
        guest.wait_end()
        self.assertIn("did not finish in time", guest.console_text)
        self.assertNotIn("another one goes on", guest.console_text)


class Escapes(NSCase):
    """Names that an image or a volume chooses never lead to what PID 1 has open."""

    def volume_on_dev(self, link):
        return pod("p", container("main", "echo in; cat", volumeMounts=[
            {"name": "v", "mountPath": "/dev"}]), volumes=[{"name": "v"}],
            init=[container("i", f"ln -s {link} /v/null", volumeMounts=[
                {"name": "v", "mountPath": "/v"}])])

    def test_stdin_is_no_descriptor_of_pid_1(self):
        guest = self.start([], machine=STAY)
        for fd in range(3, 24):
            manifest = self.volume_on_dev(f"/proc/self/fd/{fd}")
            manifest["metadata"]["name"] = f"p{fd}"
            guest.command("pod-create", manifest=manifest)
            guest.wait_phase(f"p{fd}", "Failed")
            end = guest.members(f"p{fd}")["main"]["state"]["terminated"]
            self.assertEqual(end["reason"], "ContainerCannotRun", end)
            self.assertIn("/dev/null", end["message"])

    def test_command_and_directory_are_no_descriptors_of_pid_1(self):
        guest = self.start([], machine=STAY)
        for fd in range(24):
            root = f"/proc/self/fd/{fd}/../../../.."
            guest.command("pod-create", manifest=pod(
                f"x{fd}", container("exec", command=[f"{root}/sbin/podinit", "--help"]),
                container("dir", "pwd", workingDir=f"{root}/etc/podinit")))
            guest.wait_phase(f"x{fd}", "Failed")
            for name in ("exec", "dir"):
                end = guest.members(f"x{fd}")[name]["state"]["terminated"]
                self.assertIn(end["reason"], ("StartError", "ContainerCannotRun"), end)

    def test_pid_1s_own_program_is_not_run(self):
        guest = self.start([pod("p", container("main", command=["/proc/self/exe", "--help"]))],
                           machine=STAY)
        guest.wait_phase("p", "Failed")
        self.assertEqual(guest.members("p")["main"]["state"]["terminated"]["reason"],
                         "StartError")


class Amplification(NSCase):
    def test_a_small_manifest_cannot_take_all_memory(self):
        guest = self.start([pod("amp", *[
            container(f"m{n}", command=["sh"] + ["$(A)" * 40] * 9,
                      env=[{"name": "A", "value": "y" * 20000}]) for n in range(64)])],
            machine=STAY)
        failed = guest.wait_event("MEMBER_FAILED", pod="amp", member="m63")
        self.assertEqual(failed["data"]["errno"], 7)  # E2BIG
        status = Path(f"/proc/{guest.pid}/status").read_text()
        rss_kib = int(status.split("VmRSS:")[1].split()[0])
        self.assertLess(rss_kib, 64 * 1024)
