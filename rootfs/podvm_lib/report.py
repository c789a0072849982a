# SPDX-License-Identifier: Apache-2.0
"""What podvm prints: members' lines with their prefix, and the final status."""

import json

COLOURS = (36, 33, 32, 35, 34, 31)  # ANSI foreground; the order members are met in


def display_name(namespace, pod, member):
    prefix = "" if namespace in ("", "default", None) else f"{namespace}/"
    return f"{prefix}{pod}/{member}"


def manifest_names(manifests):
    """Prefixes of all members, as far as the texts can be read; for their width."""
    names = []
    for _, data in manifests:
        try:
            document = json.loads(data)
            items = document["items"] if document.get("kind") == "List" else [document]
            for item in items:
                meta, spec = item["metadata"], item["spec"]
                members = spec.get("initContainers", []) + spec.get("containers", [])
                names += [display_name(meta.get("namespace"), meta["name"], m["name"])
                          for m in members]
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # podinit says what is wrong with it
    return names


class LogPrinter:
    """LOG events to lines "pod/member | text"; drops repeats, joins parts of a line."""

    def __init__(self, out, names=()):
        self._out = out
        self._width = max(map(len, names), default=0)
        self._colour = out.isatty()
        self._colours = {}
        self._last_seq = 0  # numbers of the guest's journal; they start at 1
        self._parts = {}

    def event(self, message):
        data, seq = message["data"], message.get("seq")
        if isinstance(seq, int):
            if seq <= self._last_seq:
                return
            self._last_seq = seq
        name = display_name(data.get("namespace"), data.get("pod"), data.get("member"))
        stream = (name, data.get("attempt"), data.get("stream"))
        text = self._parts.pop(stream, "") + str(data.get("line", ""))
        if data.get("partial"):
            self._parts[stream] = text
        else:
            self.line(name, text)

    def line(self, name, text):
        prefix = f"{name:{self._width}} |"
        if self._colour:
            number = self._colours.setdefault(name, len(self._colours))
            prefix = f"\033[{COLOURS[number % len(COLOURS)]}m{prefix}\033[0m"
        print(prefix, printable(text), file=self._out, flush=True)

    def lost(self, count):
        self.line("podvm", f"{count} lines lost: this terminal was too slow")

    def end(self):
        """The last line of a member that ended without a line feed."""
        for (name, *_), text in self._parts.items():
            self.line(name, text)
        self._parts.clear()


def printable(text):
    """A guest must not steer the host's terminal; tabs are fine."""
    return "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in text)


def print_table(final, out):
    rows = [("POD", "PHASE", "MEMBER", "EXIT", "REASON")]
    for pod in final.get("pods", []):
        name = display_name(pod.get("namespace"), pod.get("name"), "").rstrip("/")
        members = pod.get("members") or [{}]
        for number, member in enumerate(members):
            code = member.get("exitCode")
            first = (name, pod.get("phase", "")) if number == 0 else ("", "")
            rows.append((*first, member.get("name", ""),
                         "" if code is None else str(code),
                         member.get("reason") or pod.get("reason") or ""))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)] + [0]
    for row in rows:
        line = "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths))
        print(printable(line.rstrip()), file=out)
    for pod in final.get("pods", []):
        if pod.get("message"):
            print(printable(f"{pod.get('name')}: {pod['message']}"), file=out)


def exit_status(final):
    """0 when every pod succeeded, else the first failed member's code in order."""
    pods = final.get("pods", [])
    if final.get("outcome") in ("failed", "boot-failed") or \
            any(pod.get("phase") != "Succeeded" for pod in pods):
        for pod in pods:
            if pod.get("phase") == "Succeeded":
                continue  # a member may fail and be restarted in a pod that succeeds
            for member in pod.get("members") or []:
                if member.get("exitCode"):
                    return min(member["exitCode"], 255)
        return final.get("exitCode") or 1
    return 0
