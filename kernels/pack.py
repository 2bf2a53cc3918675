#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs all kernel images into one file and writes the assembly source that embeds it.

Usage: pack.py BIN ASM [--twin TARGET OTHER | --bundle SOURCE FILE | --image SOURCE TARGET FILE |
                        --object SOURCE TARGET FILE | --text SOURCE FILE |
                        --header NAME FILE | --cpu-header NAME FILE]...

--twin says that the compiler makes the same code for both AMD targets, but for the target's name
and number: bundles need not hold OTHER then, but for one at least, and those that hold both show
that it is so;
--bundle takes what clang writes for several AMD targets and stores each code object by itself;
--image stores PTX, and --text, --header and --cpu-header store texts as targets "source", "header"
and "cpu-header", all with a NUL after them; --object stores a cubin.

The file: magic, u32 version, u32 count, then for each image its source (24 bytes), its target
(24 bytes), u64 offset, u64 size in the file, u64 size when unpacked and u64 kind; all numbers
little-endian, names filled up with NUL. What a device loads is packed by zlib (RFC 1950), to a
fifth; texts are not, which have both sizes equal. Kind 1 is a cubin. Kind 2 + 256 i is the image of
entry i but for some bytes: the file holds u32 place and u32 value of each.
"""
import hashlib
import pathlib
import struct
import sys
import zlib

MAGIC = b"HIPTOOLK"
VERSION = 3
HEAD = struct.Struct("<8sII")
ENTRY = struct.Struct("<24s24sQQQQ")
ALIGNMENT = 16
TEXT_TARGETS = {"--text": "source", "--header": "header", "--cpu-header": "cpu-header"}

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
TRIPLE = "amdgcn-amd-amdhsa--"
BUNDLE_PREFIX = "hipv4-" + TRIPLE
FLAGS_PLACE = 48  # of an ELF file; the low byte is the number of the target
KIND_CUBIN = 1
KIND_CHANGED = 2
MOST_CHANGES = 16

ASSEMBLY = """\
/* {digest}: changes with the images, for tools that do not see what .incbin reads. */
  .section .rodata.hiptool_kernel_images, "a"
  .balign {alignment}
  .globl hiptool_kernel_images
  .hidden hiptool_kernel_images
hiptool_kernel_images:
  .incbin "{path}"
  .globl hiptool_kernel_images_end
  .hidden hiptool_kernel_images_end
hiptool_kernel_images_end:
  .section .note.GNU-stack, "", %progbits
"""


def bundle_images(data):
    """(target, code object) for each device of a bundle."""
    if not data.startswith(BUNDLE_MAGIC):
        raise ValueError("not a bundle of clang")
    place = len(BUNDLE_MAGIC)
    (count,) = struct.unpack_from("<Q", data, place)
    place += 8
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", data, place)
        place += 24
        name = data[place:place + length].decode()
        place += length
        if name.startswith(BUNDLE_PREFIX):
            yield name[len(BUNDLE_PREFIX):], data[offset:offset + size]


def up(size):
    return -(-size // ALIGNMENT) * ALIGNMENT


def name_field(name):
    field = name.encode()
    if len(field) >= 24:
        raise ValueError(f"the name {name} is too long for the table")
    return field


def renamed(image, target, other, number):
    """The code object of a target as that of its twin."""
    old = (TRIPLE + target).encode()
    if image.count(old) != 1 or len(target) != len(other):
        raise ValueError(f"{target} is not named once in its code object")
    image = bytearray(image.replace(old, (TRIPLE + other).encode()))
    image[FLAGS_PLACE] = number
    return bytes(image)


def with_twins(images, twins):
    """The images, and those of targets (the keys) that were not compiled, their twins were."""
    compiled = {(source, target): data for source, target, data, _ in images}
    numbers = {target: data[FLAGS_PLACE] for (_, target), data in compiled.items()
               if target in twins}
    for source, target, data, is_cubin in images:
        yield source, target, data, is_cubin
        for other in (other for other, twin in twins.items() if twin == target):
            made = renamed(data, target, other, numbers[other])
            known = compiled.get((source, other))
            if known is None:
                yield source, other, made, is_cubin
            elif known != made:
                sys.exit(f"the compiler makes other code of {source} for {other} than for "
                         f"{target}: take {other} off the twins in kernels/meson.build")


def changes_between(base, data):
    """[(place, byte)] where two images of one length differ; None where that is often."""
    changes = []
    step = 4096
    for start in range(0, len(data), step):
        if base[start:start + step] == data[start:start + step]:
            continue
        changes += [(i, data[i]) for i in range(start, min(start + step, len(data)))
                    if base[i] != data[i]]
        if len(changes) > MOST_CHANGES:
            return None
    return changes


def stored_form(images, i, whole):
    """(bytes in the file, kind) of image i; whole: the earlier images that are not changed ones."""
    source, target, data, is_cubin = images[i]
    if target in TEXT_TARGETS.values():
        return data, 0
    for k in whole:
        is_like = not is_cubin and images[k][0] == source and len(images[k][2]) == len(data)
        if is_like:
            changes = changes_between(images[k][2], data)
            if changes:
                stored = b"".join(struct.pack("<II", *change) for change in changes)
                return stored, KIND_CHANGED + 256 * k
    whole.append(i)
    return zlib.compress(data, 9), KIND_CUBIN if is_cubin else 0


def pack(images):
    """The whole file for (source, target, bytes, is_cubin)."""
    place = up(HEAD.size + ENTRY.size * len(images))
    table = [HEAD.pack(MAGIC, VERSION, len(images))]
    body = []
    whole = []
    for i, (source, target, data, _) in enumerate(images):
        stored, kind = stored_form(images, i, whole)
        table.append(ENTRY.pack(name_field(source), name_field(target), place, len(stored),
                                len(data), kind))
        body.append(stored.ljust(up(len(stored)), b"\0"))
        place += up(len(stored))
    head = b"".join(table)
    return head.ljust(up(len(head)), b"\0") + b"".join(body)


def unpack(data):
    """(source, target, bytes) of each image in a packed file."""
    magic, version, count = HEAD.unpack_from(data)
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError("not a file of kernel images")
    contents = []
    for i in range(count):
        entry = ENTRY.unpack_from(data, HEAD.size + ENTRY.size * i)
        source, target, offset, stored, size, kind = entry
        content = data[offset:offset + stored]
        if kind >= KIND_CHANGED:
            changed = bytearray(contents[kind // 256])
            for place, value in struct.iter_unpack("<II", content):
                changed[place] = value
            content = bytes(changed)
        elif stored != size:
            content = zlib.decompress(content)
        contents.append(content)
        yield source.rstrip(b"\0").decode(), target.rstrip(b"\0").decode(), content


def read_arguments(arguments, twins):
    """The images; fills {OTHER: TARGET} of the twins."""
    words = iter(arguments)
    for word in words:
        source = next(words)
        if word == "--twin":
            twins[next(words)] = source
        elif word == "--bundle":
            for target, data in bundle_images(pathlib.Path(next(words)).read_bytes()):
                yield source, target, data, False
        elif word == "--image":
            target = next(words)
            yield source, target, pathlib.Path(next(words)).read_bytes() + b"\0", False
        elif word == "--object":
            target = next(words)
            yield source, target, pathlib.Path(next(words)).read_bytes(), True
        elif word in TEXT_TARGETS:
            text = pathlib.Path(next(words)).read_bytes() + b"\0"
            yield source, TEXT_TARGETS[word], text, False
        else:
            sys.exit(f"{word}: not known\n{__doc__}")


def main():
    binary, assembly = sys.argv[1:3]
    twins = {}
    images = list(read_arguments(sys.argv[3:], twins))
    data = pack(list(with_twins(images, twins)))
    pathlib.Path(binary).write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    pathlib.Path(assembly).write_text(
        ASSEMBLY.format(digest=digest, alignment=ALIGNMENT, path=binary), encoding="utf-8")


if __name__ == "__main__":
    main()
