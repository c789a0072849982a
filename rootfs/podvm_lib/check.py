# SPDX-License-Identifier: Apache-2.0
"""What can be said before a boot: the guest's own parsers on manifests and machine file,
and whether the images that the manifests name are given.
"""

import json
import subprocess
import sys

from . import PodvmError, paths
from .image import STORE, store_path


def check_files(files, what, machine=False):
    """files: [(the user's path, bytes)]. Prints podctl's errors and raises."""
    argv = [str(paths.guest_program("podctl")), "check"]
    argv += ["--machine", "-"] if machine else ["-"]
    refused = False
    for path, data in files:
        # On standard input: what is checked is what boots, also when path is a pipe.
        done = subprocess.run(argv, input=data, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for line in done.stderr.decode(errors="replace").splitlines():
            print(_with_path(line, path), file=sys.stderr)
        refused |= done.returncode != 0
    if refused:
        raise PodvmError(f"{what} refused; nothing was started")


def _with_path(line, path):
    """podctl calls its standard input "stdin" in diagnoses and "-" in other errors."""
    for prefix in ("stdin:", "podctl: -:"):
        if line.startswith(prefix):
            return f"{path}:{line.removeprefix(prefix)}"
    return line


def missing_images(texts, images, machine):
    """A sentence for each image that a pod of the checked manifests names and nobody
    gave. None are missing when the guest has its images at another place."""
    if (machine.get("imageDir") or STORE).rstrip("/") != STORE:
        return []
    given = {image.path for image in images}
    names = ", ".join(_with_tag(image.reference) for image in images)
    hint = f"--image has: {names}" if names else "there is no --image"
    sentences = []
    for pod, reference in _references(texts):
        if store_path(reference) not in given:
            sentences.append(f'pod {pod}: image "{_with_tag(reference)}" is not given; '
                             f"{hint}")
    return list(dict.fromkeys(sentences))


def _references(texts):
    for text in texts:
        document = json.loads(text)
        items = document["items"] if document["kind"] == "List" else [document]
        for pod in items:
            if pod.get("kind", "Pod") != "Pod":
                continue
            spec = pod["spec"]
            for member in (spec.get("initContainers") or []) + spec["containers"]:
                yield pod["metadata"]["name"], member["image"]


def _with_tag(reference):
    last = reference.rpartition("/")[2]
    return reference if ":" in last or "@" in last else f"{reference}:latest"
