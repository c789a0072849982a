# SPDX-License-Identifier: Apache-2.0
"""podinit-nft on the guest's own kernel: its transactions are taken there, as a whole:
maps, removals, the filter of a pod.
"""

import json

from guest import container, pod
from harness import VMCase

HTTPD = "mkdir /w; hostname >/w/i; httpd -p 80 -h /w; echo listening; exec sleep 1000"
GATEWAYS = ("10.88.0.1", "[fd9c:70d1:8f2e::1]")


class Nft(VMCase):
    @classmethod
    def vm_options(cls):
        return {"machine": {"onPodsDone": "stay"}}

    def serve(self, name, port, annotations=None):
        manifest = pod(name, container("c", HTTPD, ports=[
            {"containerPort": 80, "hostPort": port},
            {"containerPort": 80, "hostPort": port, "protocol": "UDP"}]))
        manifest["metadata"]["annotations"] = annotations or {}
        self.vm.command("pod-create", manifest=manifest)
        self.addCleanup(self.remove, name)
        self.vm.wait_log(name, "c", "listening", timeout=60)

    def remove(self, name):
        if any(p["name"] == name for p in self.vm.command("pod-list")):
            self.vm.command("pod-delete", name=name, graceSeconds=0)
            self.vm.wait_event("POD_DELETED", pod=name, timeout=60)

    def ask(self, name, *urls):
        """What each answers, or "none"."""
        self.vm.command("pod-create", manifest=pod(name, container("c", "; ".join(
            f"timeout 3 wget -q -O- http://{url}/i 2>/dev/null || echo none"
            for url in urls))))
        self.vm.wait_event("POD_CHANGED", pod=name, timeout=60, phase="Succeeded")
        lines = self.vm.command("logs", name=name, member="c")["lines"]
        self.vm.command("pod-delete", name=name)
        return [line["text"] for line in lines]

    def test_port_goes_from_pod_to_pod(self):
        urls = [f"{gateway}:8080" for gateway in GATEWAYS]
        self.serve("first", 8080)
        self.assertEqual(self.ask("ask1", *urls), ["first", "first"])
        self.remove("first")
        self.assertEqual(self.ask("ask2", *urls), ["none", "none"])
        self.serve("second", 8080)
        self.assertEqual(self.ask("ask3", *urls), ["second", "second"])

    def test_filter(self):
        self.serve("open", 8081, {"podinit/network-policy": json.dumps(
            {"internalNetworks": ["10.88.0.0/16", "fd9c:70d1:8f2e::/64"]})})
        self.serve("shut", 8082, {"podinit/network-policy": json.dumps(
            {"internalNetworks": ["192.0.2.0/24"]})})
        self.assertEqual(self.ask("ask4", "open", f"{GATEWAYS[0]}:8082", "shut"),
                         ["open", "none", "none"])
