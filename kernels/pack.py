#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs all kernel images into one file and writes the assembly source that embeds it.

Usage: pack.py BIN ASM [--bundle SOURCE FILE | --image SOURCE TARGET FILE |
                        --object SOURCE TARGET FILE | --text SOURCE FILE |
                        --header NAME FILE | --cpu-header NAME FILE]...

--bundle takes what clang writes for several AMD targets and stores each code object by itself;
--image stores PTX, and --text, --header and --cpu-header store texts as targets "source", "header"
and "cpu-header", all with a NUL after them; --object stores a cubin.

The file: magic, u32 version, u32 count, then for each image its source (24 bytes), its target
(24 bytes), u64 offset, u64 size in the file, u64 size when unpacked and u64 1 for a cubin; all
numbers little-endian, names filled up with NUL. What a device loads is packed by zlib (RFC 1950),
to a fifth; texts are not, which have both sizes equal.
"""
import hashlib
import pathlib
import struct
import sys
import zlib

MAGIC = b"HIPTOOLK"
VERSION = 2
HEAD = struct.Struct("<8sII")
ENTRY = struct.Struct("<24s24sQQQQ")
ALIGNMENT = 16
TEXT_TARGETS = {"--text": "source", "--header": "header", "--cpu-header": "cpu-header"}

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
BUNDLE_PREFIX = "hipv4-amdgcn-amd-amdhsa--"

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


def pack(images):
    """The whole file for (source, target, bytes, is_cubin)."""
    place = up(HEAD.size + ENTRY.size * len(images))
    table = [HEAD.pack(MAGIC, VERSION, len(images))]
    body = []
    for source, target, data, is_cubin in images:
        stored = data if target in TEXT_TARGETS.values() else zlib.compress(data, 9)
        table.append(ENTRY.pack(name_field(source), name_field(target), place, len(stored),
                                len(data), is_cubin))
        body.append(stored.ljust(up(len(stored)), b"\0"))
        place += up(len(stored))
    head = b"".join(table)
    return head.ljust(up(len(head)), b"\0") + b"".join(body)


def unpack(data):
    """(source, target, bytes) of each image in a packed file."""
    magic, version, count = HEAD.unpack_from(data)
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError("not a file of kernel images")
    for i in range(count):
        entry = ENTRY.unpack_from(data, HEAD.size + ENTRY.size * i)
        source, target, offset, stored, size, _ = entry
        content = data[offset:offset + stored]
        yield (source.rstrip(b"\0").decode(), target.rstrip(b"\0").decode(),
               content if stored == size else zlib.decompress(content))


def read_arguments(arguments):
    words = iter(arguments)
    for word in words:
        source = next(words)
        if word == "--bundle":
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
    data = pack(list(read_arguments(sys.argv[3:])))
    pathlib.Path(binary).write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    pathlib.Path(assembly).write_text(
        ASSEMBLY.format(digest=digest, alignment=ALIGNMENT, path=binary), encoding="utf-8")


if __name__ == "__main__":
    main()
