#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels that may start before those in front of them have ended wait before they touch memory.

Usage: early_kernels.py IMAGES_BIN

Reads the embedded PTX: in a module that has hiptool_starts_early each kernel gives its way free and
waits (griddepcontrol) before the first access to memory of the device, on the only way to it; in
all other modules nothing does. Prefetches into the second cache are no access: they are hints, and
that cache sees later writes. Nor are read-only loads and copies to shared memory, which are for
what no kernel that starts early writes: the host lets a kernel start early only behind another one.
"""
import re
import sys

from kernel_images import finish, images

ACCESS = re.compile(r"\s(?:ld|st|atom|red)\.(?!param|shared|global\.nc)|"
                    r"\scp\.async(?!\.bulk\.prefetch\.L2|\.cg\.shared\.global|\.commit_group)")


def kernels_of(text):
    for part in text.split(".entry ")[1:]:
        name, body = part.split("(", maxsplit=1)
        yield name.strip(), body.split("\n}\n", maxsplit=1)[0]


def check(name, body):
    wait = body.find("griddepcontrol.wait")
    if wait < 0:
        return f"{name} does not wait"
    access = ACCESS.search(body)
    if access and access.start() < wait:
        return f"{name} touches memory before it waits: {access.group(0).strip()}"
    return None


def is_on_all_ways(name, body):
    """Whether each way through the kernel, block by block, meets a wait before it ends."""
    blocks, order = {"": []}, [""]
    for line in body.splitlines():
        if found := re.match(r"^(\$L\w+):", line):
            order.append(found.group(1))
            blocks[order[-1]] = []
        else:
            blocks[order[-1]].append(line)
    seen, left = set(), [""]
    while left:
        label = left.pop()
        if label in seen:
            continue
        seen.add(label)
        falls = True
        for line in blocks[label]:
            if "griddepcontrol.wait" in line:
                falls = False
                break
            if re.search(r"\s(?:ret|exit);", line) and "@" not in line:
                return f"{name} ends without a wait"
            if target := re.search(r"\sbra(?:\.uni)?\s+(\$L\w+)", line):
                left.append(target.group(1))
                falls = falls and "@" in line
        position = order.index(label) + 1
        if falls and position < len(order):
            left.append(order[position])
    return None


def main():
    checked, findings = 0, []
    for source, target, data in images(sys.argv[1], "sm_"):
        if data.startswith(b"\x7fELF"):
            continue
        text = data.rstrip(b"\0").decode()
        is_early = "hiptool_starts_early" in text
        if not is_early and "griddepcontrol" in text:
            findings.append(f"{source} for {target}: kernels wait, and the host does not know")
        for name, body in kernels_of(text) if is_early else []:
            checked += 1
            for finding in (check(name, body), is_on_all_ways(name, body)):
                if finding:
                    findings.append(f"{source} for {target}: {finding}")
    finish(checked, findings)


if __name__ == "__main__":
    main()
