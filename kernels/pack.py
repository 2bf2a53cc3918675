#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs all kernel images into one file and writes the assembly source that embeds it.

Usage: pack.py BIN ASM [--twin TARGET OTHER | --code SOURCE TARGET FILE |
                        --bundle SOURCE FILE | --image SOURCE TARGET FILE |
                        --object SOURCE TARGET FILE | --text SOURCE FILE |
                        --header NAME FILE | --cpu-header NAME FILE |
                        --flags NAME TEXT | --compiler NAME VERSION]...
       pack.py BIN ASM --finished FILE COMPILERS [--text ... | --flags ... | --compiler ...]...
       pack.py check [the same words as the line above]
       pack.py describe FILE

--twin says that images of an AMD target also run on OTHER, under its name and number: there need be
none of OTHER then;
--code stores the code object of an AMD target;
--bundle takes what clang writes for several AMD targets and stores each code object by itself;
--image stores PTX, and --text, --header and --cpu-header store texts as targets "source", "header"
and "cpu-header", all with a NUL after them; --object stores a cubin;
--flags and --compiler go into the record after the images, with a hash of all texts and flags;
--finished takes a file that an earlier build made in place of images. Its record must have the same
hash and, where COMPILERS is "same-compiler" and not "any-compiler", only compilers named here;
`describe` prints four lines: the AMD targets, those of PTX, those of cubins, and the compilers.

The file: magic, u32 version, u32 count, then for each image its source (24 bytes), its target
(24 bytes), u64 offset, u64 size in the file, u64 size when unpacked and u64 kind; all numbers
little-endian, names filled up with NUL. What a device loads is packed as an .xz file, to an
eighth; texts are not, which have both sizes equal. Kind 1 is a cubin. Kind 2 + 256 i is the image
of entry i but for some bytes: the file holds u32 place and u32 value of each. After the images
stand the record, in JSON, its size as u32, and its magic; programs do not read it.
"""
import concurrent.futures
import hashlib
import json
import lzma
import os
import pathlib
import struct
import sys

MAGIC = b"HIPTOOLK"
RECORD_MAGIC = b"HIPTOOLR"
VERSION = 4
HEAD = struct.Struct("<8sII")
ENTRY = struct.Struct("<24s24sQQQQ")
ALIGNMENT = 16
TARGET_KINDS = (("amd", "gfx", False), ("ptx", "sm_", False), ("cubins", "sm_", True))
TEXT_TARGETS = {"--text": "source", "--header": "header", "--cpu-header": "cpu-header"}

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
TRIPLE = "amdgcn-amd-amdhsa--"
BUNDLE_PREFIX = "hipv4-" + TRIPLE
FLAGS_PLACE = 48  # of an ELF file; the low byte is the number of the target
# LLVM, User Guide for AMDGPU Backend, "AMDGPU ELF Header e_flags Table".
AMD_NUMBERS = {
    "gfx90c": 0x32, "gfx1011": 0x34, "gfx1012": 0x35, "gfx1031": 0x37, "gfx1032": 0x38,
    "gfx1033": 0x39, "gfx1034": 0x3e, "gfx1035": 0x3d, "gfx1036": 0x45, "gfx1101": 0x46,
    "gfx1102": 0x47, "gfx1103": 0x44, "gfx1150": 0x43, "gfx1151": 0x4a, "gfx1152": 0x55,
    "gfx1153": 0x58, "gfx1201": 0x4e,
}
KIND_CUBIN = 1
KIND_CHANGED = 2
MOST_CHANGES = 16
# By target: what a byte is predicted from. The instructions of AMD have 4 or 8 bytes, those of
# NVIDIA 16 at multiples of 16, and PTX is text.
XZ_OPTIONS = {"gfx": {"lc": 0, "lp": 2, "pb": 2}, "cubin": {"lc": 0, "lp": 4, "pb": 4},
              "ptx": {"lc": 3, "lp": 0, "pb": 0}}

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


def renamed(image, target, other):
    """The code object of a target as that of another one."""
    old = (TRIPLE + target).encode()
    if image.count(old) != 1 or len(target) != len(other):
        raise ValueError(f"{target} is not named once in its code object")
    image = bytearray(image.replace(old, (TRIPLE + other).encode()))
    image[FLAGS_PLACE] = AMD_NUMBERS[other]
    return bytes(image)


def with_twins(images, twins):
    """The images, and those of targets (the keys) that were not compiled, their twins were."""
    compiled = {(source, target): data for source, target, data, _ in images}
    for source, target, data, is_cubin in images:
        yield source, target, data, is_cubin
        if target in AMD_NUMBERS and data[FLAGS_PLACE] != AMD_NUMBERS[target]:
            sys.exit(f"the compiler's number of {target} is {data[FLAGS_PLACE]:#x}: mend "
                     "AMD_NUMBERS of kernels/pack.py")
        for other in (other for other, twin in twins.items() if twin == target):
            if (source, other) not in compiled:
                yield source, other, renamed(data, target, other), is_cubin


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


def compressed(target, data, is_cubin):
    kind = "cubin" if is_cubin else "gfx" if target.startswith("gfx") else "ptx"
    # An image is found whole in a dictionary of that size, which its reader allocates.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 20, **XZ_OPTIONS[kind]}]
    return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=filters)


def stored_forms(images):
    """(a future of the bytes in the file, kind) of each image; compressed on all processors."""
    workers = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    whole = []   # images that are not changed ones
    for i, (source, target, data, is_cubin) in enumerate(images):
        if target in TEXT_TARGETS.values():
            yield workers.submit(bytes, data), 0
            continue
        alike = [k for k in whole if not is_cubin and images[k][0] == source and
                 len(images[k][2]) == len(data)]
        found = ((k, changes_between(images[k][2], data)) for k in alike)
        k, changes = next(((k, changes) for k, changes in found if changes), (None, None))
        if changes:
            stored = b"".join(struct.pack("<II", *change) for change in changes)
            yield workers.submit(bytes, stored), KIND_CHANGED + 256 * k
            continue
        whole.append(i)
        yield workers.submit(compressed, target, data, is_cubin), KIND_CUBIN if is_cubin else 0


def pack(images):
    """The whole file for (source, target, bytes, is_cubin)."""
    place = up(HEAD.size + ENTRY.size * len(images))
    table = [HEAD.pack(MAGIC, VERSION, len(images))]
    body = []
    for (source, target, data, _), (form, kind) in zip(images, list(stored_forms(images))):
        stored = form.result()
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
            content = lzma.decompress(content, lzma.FORMAT_XZ)
        contents.append(content)
        yield source.rstrip(b"\0").decode(), target.rstrip(b"\0").decode(), content


def with_record(data, record):
    text = json.dumps(record, sort_keys=True).encode()
    return data + text + struct.pack("<I", len(text)) + RECORD_MAGIC


def record_of(data):
    """What with_record() added to a file of images."""
    end = len(data) - len(RECORD_MAGIC) - 4
    if not data.startswith(MAGIC) or not data.endswith(RECORD_MAGIC) or end < 0:
        raise ValueError("not a file of kernel images with a record of how it was made")
    (size,) = struct.unpack_from("<I", data, end)
    return json.loads(data[end - size:end])


class Arguments:
    """The images, and what is recorded of how they were made."""

    def __init__(self, words):
        self.images = []   # (source, target, bytes, is_cubin)
        self.twins = {}   # {OTHER: TARGET}
        self.compilers = {}
        self.finished = None   # (file, whether any compiler is taken)
        self._inputs = hashlib.sha256(pathlib.Path(__file__).read_bytes())
        words = iter(words)
        for word in words:
            self._read(word, next(words), words)

    def _read(self, word, name, words):
        if word == "--twin":
            self.twins[next(words)] = name
            return
        if word == "--finished":
            self.finished = pathlib.Path(name), next(words) == "any-compiler"
            return
        if word == "--compiler":
            self.compilers[name] = next(words)
            return
        if word == "--flags":
            self._add_input(word, name, next(words).encode())
            return
        has_target = word in ("--code", "--image", "--object")
        target = next(words) if has_target else TEXT_TARGETS.get(word)
        data = pathlib.Path(next(words)).read_bytes()
        if word == "--bundle":
            self.images += [(name, *image, False) for image in bundle_images(data)]
        elif target is None:
            sys.exit(f"{word}: not known\n{__doc__}")
        else:
            end = b"" if word in ("--code", "--object") else b"\0"
            self.images.append((name, target, data + end, word == "--object"))
        if word in TEXT_TARGETS:
            self._add_input(word, name, data)

    def _add_input(self, kind, name, data):
        for part in (kind.encode(), name.encode(), data):
            self._inputs.update(struct.pack("<Q", len(part)) + part)

    def whole_file(self):
        """The bytes of the file to embed; ends the program where a finished one is refused."""
        if self.finished is not None:
            return self._finished_file()
        images = list(with_twins(self.images, self.twins))
        targets = {kind: list(dict.fromkeys(target for _, target, _, is_cubin in images
                                            if target.startswith(prefix) and is_cubin == cubins))
                   for kind, prefix, cubins in TARGET_KINDS}
        record = {"inputs": self._inputs.hexdigest(), "compilers": self.compilers, **targets}
        return with_record(pack(images), record)

    def _finished_file(self):
        path, takes_any = self.finished
        try:
            data = path.read_bytes()
            record = record_of(data)
        except (OSError, ValueError) as error:
            sys.exit(f"kernel_pack: {path}: {error}")
        if record["inputs"] != self._inputs.hexdigest():
            sys.exit(f"kernel_pack: {path} was made of other kernel sources or flags. Make it "
                     "again (kernels/kernel_images.bin of a build without -Dkernel_pack), or leave "
                     "the option out.")
        if not takes_any and not record["compilers"].items() <= self.compilers.items():
            sys.exit(f"kernel_pack: {path} was made by {versions(record['compilers'])}, this build "
                     f"has {versions(self.compilers)}. -Dkernel_pack_any_compiler=true takes it.")
        return data


def versions(compilers):
    return ", ".join(f"{name} {version}" for name, version in sorted(compilers.items())) or \
        "no device compiler"


def describe(path):
    """Lines "KEY: WORDS" for the build."""
    try:
        record = record_of(pathlib.Path(path).read_bytes())
    except (OSError, ValueError) as error:
        sys.exit(f"kernel_pack: {path}: {error}")
    for kind, *_ in TARGET_KINDS:
        print(*sorted(record[kind], key=lambda target: (len(target), target)))
    print(versions(record["compilers"]))


def main():
    if sys.argv[1] == "describe":
        describe(sys.argv[2])
        return
    if sys.argv[1] == "check":
        Arguments(sys.argv[2:]).whole_file()
        return
    binary, assembly = sys.argv[1:3]
    data = Arguments(sys.argv[3:]).whole_file()
    pathlib.Path(binary).write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    pathlib.Path(assembly).write_text(
        ASSEMBLY.format(digest=digest, alignment=ALIGNMENT, path=binary), encoding="utf-8")


if __name__ == "__main__":
    main()
