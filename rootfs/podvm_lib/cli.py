# SPDX-License-Identifier: Apache-2.0
"""podvm's command line."""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import PodvmError, VERSION, initramfs, kernel, paths, qemu, report, run
from .image import Image

MEMORY_LEAST_MIB = 512
MIB = 1 << 20

EPILOG = """\
exit status of run:
  0    every pod succeeded
  1-   exit code of the first failed member, in the manifests' order
  124  --timeout ran out
  125  podvm or QEMU failed, or a manifest was refused
  126  the guest ended without an outcome, such as by a kernel panic
  130  Ctrl-C; the guest was shut down cleanly

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
    guest.add_argument("--image", action="append", default=[], metavar="NAME[:TAG]=SOURCE",
                       help="put an image into the guest: a directory (a root file "
                            "system, or rootfs/ and config.json) or a tar of one")
    guest.add_argument("--image-config", action="append", default=[],
                       metavar="NAME[:TAG]=FILE",
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


def _pairs(options, name):
    pairs = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not (key and equals and value):
            raise PodvmError(f"{name} {option}: must be NAME=PATH")
        if key in pairs:
            raise PodvmError(f"{name} {key}: given twice")
        pairs[key] = value
    return pairs


def _images(options):
    configs = _pairs(options.image_config, "--image-config")
    sources = _pairs(options.image, "--image")
    for name in configs.keys() - sources.keys():
        raise PodvmError(f"--image-config {name}: there is no --image of this name")
    return [Image(name, source, configs.get(name)) for name, source in sources.items()]


def _manifests(options):
    """[(name, bytes)]; podctl, which has podinit's own parser, says if they are good."""
    manifests = []
    for path in options.manifests:
        try:
            data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        except OSError as error:
            raise PodvmError(f"{path}: {error.strerror}") from None
        name = "stdin" if path == "-" else Path(path).name.removesuffix(".json")
        manifests.append((f"{name}.json", data))
    _check(manifests)
    return manifests


def _check(manifests):
    if not manifests:
        return
    podctl = str(paths.guest_program("podctl").resolve())
    with tempfile.TemporaryDirectory(prefix="podvm-") as directory:
        names = []
        for number, (name, data) in enumerate(manifests):
            file = Path(directory) / str(number) / name
            file.parent.mkdir()
            file.write_bytes(data)
            names.append(f"{number}/{name}")
        done = subprocess.run([podctl, "check", *names], cwd=directory, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    if done.returncode:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        raise PodvmError("the manifests are refused; nothing was started")


def _machine(options, directory):
    """Builds the initramfs in directory and says what to boot."""
    manifests = _manifests(options)
    images = _images(options)
    machine = initramfs.read_machine(options.machine) if options.machine else {}
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
                        options.cpus, options.append), manifests


def command_run(options):
    run.protect_output()
    with tempfile.TemporaryDirectory(prefix="podvm-") as private:
        keep = Path(options.keep) if options.keep else None
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
        machine, manifests = _machine(options, keep or private)
        if options.control and os.path.exists(options.control):
            raise PodvmError(f"--control {options.control}: exists already")
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
    directory = Path(options.directory)
    directory.mkdir(parents=True, exist_ok=True)
    machine, _ = _machine(options, directory)
    target = directory / "vmlinuz"
    shutil.copyfile(machine.kernel, target)
    machine.kernel = target
    extra = qemu.path_option(options.control) if options.control else None
    argv = qemu.command(machine, qemu.path_option(directory / "control.sock"), extra)
    print(shlex.join(argv))
    return 0


def main(argv=None):
    options = parser().parse_args(argv)
    try:
        return options.function(options)
    except PodvmError as error:
        print(f"podvm: {error}", file=sys.stderr)
        return run.EXIT_PODVM
    except BrokenPipeError:
        # Nobody reads us any more; a second failure at exit would print a trace.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return run.EXIT_PODVM
    except OSError as error:
        print(f"podvm: {error}", file=sys.stderr)
        return run.EXIT_PODVM
