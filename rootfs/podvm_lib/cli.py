# SPDX-License-Identifier: Apache-2.0
"""podvm's command line."""

import argparse
import ipaddress
import json
import os
import shlex
import shutil
import signal
import sys
from pathlib import Path

from . import (PodvmError, VERSION, check, initramfs, kernel, os_text, qemu, report, run,
               scratch)
from .image import Image

MEMORY_LEAST_MIB = 512
MIB = 1 << 20
IMAGE_FORM = "NAME[:TAG]=SOURCE"
IMAGE_CONFIG_FORM = "NAME[:TAG]=FILE"
PUBLISH_FORM = "[HOSTIP:]HOSTPORT:GUESTPORT[/udp]"

EPILOG = """\
exit status of run:
  0    every pod succeeded
  1-   exit code of the first failed member, in the manifests' order
  124  --timeout ran out
  125  podvm or QEMU failed, an input was refused, or the boot failed
  126  the guest ended without an outcome, such as by a kernel panic
  130  Ctrl-C; the guest was shut down cleanly
  137  Ctrl-C again, or no end 90 s after the first: the guest was killed

environment:
  PODVM_CACHE  where the guest's kernel is kept
"""


def parser():
    main = argparse.ArgumentParser(
        prog="podvm", description="Boots Kubernetes Pod manifests in a virtual machine.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    main.add_argument("--version", action="version", version=f"podvm {VERSION}")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")

    guest = argparse.ArgumentParser(add_help=False)
    guest.add_argument("manifests", nargs="*", metavar="MANIFEST",
                       help="JSON file with a v1 Pod or List; - is standard input")
    guest.add_argument("--image", action="append", default=[], metavar=IMAGE_FORM,
                       help="put an image into the guest: a directory (a root file "
                            "system, or rootfs/ and config.json) or a tar of one")
    guest.add_argument("--image-config", action="append", default=[],
                       metavar=IMAGE_CONFIG_FORM,
                       help="the image's OCI config, when SOURCE has none")
    guest.add_argument("--machine", metavar="FILE", help="the guest's machine.json")
    guest.add_argument("--kernel", metavar="FILE",
                       help="a kernel of your own (default: Debian's cloud kernel)")
    guest.add_argument("--modules", metavar="DIR",
                       help="its lib/modules/VERSION (default: all is built in)")
    guest.add_argument("--append", default="", metavar="ARGS",
                       help="more words for the kernel's command line")
    guest.add_argument("--memory", type=_positive, metavar="MIB",
                       help="default: 512, more with big images")
    guest.add_argument("--cpus", type=_positive, default=1, metavar="N")
    guest.add_argument("--publish", action="append", default=[], type=_forward,
                       metavar=PUBLISH_FORM,
                       help="reach a port of the guest at a port of this host; "
                            "HOSTIP is 127.0.0.1 unless said")
    guest.add_argument("--network", choices=("user", "none"),
                       help="a network for the guest, QEMU's user network (default: when "
                            "--publish or the machine file's uplink asks for it)")
    guest.add_argument("--control", metavar="PATH",
                       help="socket of a second control channel, for podctl")

    sub = commands.add_parser("run", parents=[guest], help="boot, show logs, report",
                              epilog=EPILOG,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    sub.add_argument("--timeout", type=_seconds, metavar="SECONDS",
                     help="shut the guest down when it is not done by then")
    sub.add_argument("-o", "--output", choices=("text", "json"), default="text",
                     help="json: one object at the end; logs go to standard error")
    sub.add_argument("--keep", metavar="DIR",
                     help="keep initramfs, console text and QEMU's command there")
    sub.add_argument("-v", "--verbose", action="store_true",
                     help="show the guest's console too")
    sub.set_defaults(function=command_run)

    sub = commands.add_parser("build", parents=[guest],
                              help="write kernel and initramfs, print a QEMU command")
    sub.add_argument("-d", "--directory", default=".", metavar="DIR", help="default: .")
    sub.set_defaults(function=command_build)
    return main


def _positive(text):
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be more than 0")
    return value


def _seconds(text):
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError("must be more than 0")
    return value


def _forward(text):
    """PUBLISH_FORM as a hostfwd rule of QEMU's."""
    ports, _, protocol = text.partition("/")
    words = ports.rsplit(":", 2)
    address = words[0].strip("[]") if len(words) == 3 else "127.0.0.1"
    if len(words) < 2 or protocol not in ("", "tcp", "udp") or \
            not all(word.isascii() and word.isdigit() and 0 < int(word) < 65536
                    for word in words[-2:]):
        raise argparse.ArgumentTypeError(f"{text}: must be {PUBLISH_FORM}")
    try:
        version = ipaddress.ip_address(address).version
    except ValueError:
        raise argparse.ArgumentTypeError(f"{address}: no IP address") from None
    if version == 6:
        address = f"[{address}]"
    return f"{protocol or 'tcp'}:{address}:{words[-2]}-:{words[-1]}"


def _forwards(options, machine):
    """What qemu.Machine wants; machine gets an uplink when it has none."""
    network = machine.get("network") or {}
    if options.network == "none":
        if options.publish:
            raise PodvmError("--publish needs a network; --network none says there is none")
        return None
    if not (options.network or options.publish or network.get("uplink")):
        return None
    machine["network"] = {**network,
                          "uplink": network.get("uplink") or {"mode": "dhcp"}}
    return options.publish


def _pairs(options, name, form):
    pairs = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not (key and equals and value):
            raise PodvmError(f"{name} {option}: must be {form}")
        if key in pairs:
            raise PodvmError(f"{name} {key}: given twice")
        pairs[key] = value
    return pairs


def _images(options):
    configs = _pairs(options.image_config, "--image-config", IMAGE_CONFIG_FORM)
    sources = _pairs(options.image, "--image", IMAGE_FORM)
    for name in configs.keys() - sources.keys():
        raise PodvmError(f"--image-config {name}: there is no --image of this name")
    return [Image(name, source, configs.get(name)) for name, source in sources.items()]


def _read(path):
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise PodvmError(os_text(error)) from None


def _manifests(options):
    """[(file name in the guest, bytes)], after podinit's own parser had a look."""
    manifests = [("stdin" if path == "-" else path, _read(path))
                 for path in options.manifests]
    check.check_files(manifests, "the manifests are")
    return [(f"{Path(path).name.removesuffix('.json')}.json", data)
            for path, data in manifests]


def _machine_file(options):
    """The user's machine.json as a dict."""
    if not options.machine:
        return {}
    data = _read(options.machine)
    check.check_files([(options.machine, data)], "the machine file is", machine=True)
    return json.loads(data)


def _say(text):
    print(f"podvm: {text}", file=sys.stderr)


def _machine(options, directory, may_lack_images=False):
    """Builds the initramfs in directory and says what to boot."""
    manifests = _manifests(options)
    images = _images(options)
    machine = _machine_file(options)
    forwards = _forwards(options, machine)
    missing = check.missing_images([data for _, data in manifests], images, machine)
    if missing and not may_lack_images:
        raise PodvmError("\npodvm: ".join(missing))
    for sentence in missing:
        _say(sentence)
    if options.kernel:
        guest_kernel = kernel.custom_kernel(options.kernel, options.modules)
    elif options.modules:
        raise PodvmError("--modules is for a --kernel of your own")
    else:
        guest_kernel = kernel.cloud_kernel()
    ports = [initramfs.PORT] + ([initramfs.EXTRA_PORT] if options.control else [])
    target = Path(directory) / "initramfs.cpio"
    contents = initramfs.Contents(machine, manifests, images, ports=ports)
    initramfs.build(target, contents, guest_kernel)
    # The archive, its unpacked files, and as much again for what the members write.
    memory = max(MEMORY_LEAST_MIB, 256 + 3 * target.stat().st_size // MIB)
    return qemu.Machine(guest_kernel.image, target, options.memory or memory,
                        options.cpus, options.append, forwards=forwards), manifests


def command_run(options):
    run.protect_output()
    with scratch.directory() as private:
        keep = Path(options.keep) if options.keep else None
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
        machine, manifests = _machine(options, keep or private)
        if options.control and os.path.exists(options.control):
            raise PodvmError(f"--control {options.control}: exists already")
        if not manifests:
            _say(f"no manifest: the guest waits on {options.control}")
        virtual = qemu.Qemu(machine, private, options.control)
        log = open(keep / "console.log", "wb") if keep else None
        try:
            if keep:
                (keep / "command").write_text(shlex.join(virtual.argv) + "\n")
            return run.Run(virtual, options, report.manifest_names(manifests), log).run()
        finally:
            virtual.stop()
            if log:
                log.close()
            if options.control and os.path.exists(options.control):
                os.unlink(options.control)


def command_build(options):
    directory = Path(os.path.abspath(options.directory))
    directory.mkdir(parents=True, exist_ok=True)
    # The user's own virtual machine may have a disk with the images.
    machine, _ = _machine(options, directory, may_lack_images=True)
    target = directory / "vmlinuz"
    shutil.copyfile(machine.kernel, target)
    machine.kernel = target
    control = directory / "control.sock"
    second = os.path.abspath(options.control) if options.control else None
    print(shlex.join(qemu.command(machine, qemu.path_option(control),
                                  qemu.path_option(second) if second else None)))
    socket = shlex.quote(second or str(control))
    _say(f"to talk to the guest: podctl -s {socket} list")
    _say("QEMU's exit status is 2 x the guest's code + 1, so 1 is success")
    _say(f"to stop it: podctl -s {socket} poweroff")
    return 0


def main(argv=None):
    arguments = parser()
    options = arguments.parse_args(argv)
    if options.command == "run" and not options.manifests and not options.control:
        arguments.error("run: give a MANIFEST, or --control to send pods to the guest")
    try:
        return options.function(options)
    except PodvmError as error:
        print(f"podvm: {error}", file=sys.stderr)
        return run.EXIT_PODVM
    except KeyboardInterrupt:  # before there was a guest
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Nobody reads us any more; a second failure at exit would print a trace.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return run.EXIT_PODVM
    except OSError as error:
        print(f"podvm: {os_text(error)}", file=sys.stderr)
        return run.EXIT_PODVM
