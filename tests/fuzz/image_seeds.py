# SPDX-License-Identifier: MIT
"""Seeds of the fuzz target of kernel images: small objects with all that the readers look at."""
import struct

AMDGPU, CUDA = 224, 190
NOTE, STRINGS, SYMBOLS, NO_BYTES, CUDA_INFO = 7, 3, 2, 8, 0x70000000


def section(name, kind, data=b"", link=0, info=0):
    return name, kind, data, link, info


def elf(machine, sections, flags=0, abi_version=2):
    """ELF64 with these sections and one that holds their names."""
    sections = [section("", 0), *sections]
    names, places = b"", []
    for name, *_ in [*sections, (".shstrtab",)]:
        places.append(len(names))
        names += name.encode() + b"\0"
    sections.append(section(".shstrtab", STRINGS, names))
    body, table = b"", b""
    for place, (_, kind, data, link, info) in zip(places, sections):
        table += struct.pack("<IIQQQQIIQQ", place, kind, 0, 0, 64 + len(body), len(data), link,
                             info, 4, 24 if kind == SYMBOLS else 0)
        body += data + bytes(-len(data) % 8)
    head = b"\x7fELF" + bytes([2, 1, 1, 64, abi_version]) + bytes(7)
    head += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 64 + len(body), flags, 64, 56, 0, 64,
                        len(sections), len(sections) - 1)
    return head + body + table


def packed(value):
    """MessagePack of texts, small numbers, lists and maps."""
    if isinstance(value, bytes):
        return value   # as it is
    if isinstance(value, str):
        length = len(value)
        return (bytes([0xa0 | length]) if length < 32 else bytes([0xd9, length])) + value.encode()
    if isinstance(value, int):
        return bytes([value]) if value < 128 else b"\xcd" + struct.pack(">H", value)
    if isinstance(value, list):
        return bytes([0x90 | len(value)]) + b"".join(map(packed, value))
    return bytes([0x80 | len(value)]) + b"".join(packed(key) + packed(one)
                                                 for key, one in value.items())


def argument(kind, size, offset):
    return {".value_kind": kind, ".size": size, ".offset": offset}


def metadata():
    kernel = {".name": "add", ".symbol": "add.kd", ".kernarg_segment_size": 280, ".args": [
        argument("global_buffer", 8, 0), argument("by_value", 4, 8),
        argument("hidden_global_offset_x", 8, 16)]}
    every_kind = [b"\xc0", b"\xc3", b"\xe0", b"\xc4\x01x", b"\xc7\x01\x05x", b"\xd4\x05x",
                  b"\xca" + bytes(4), b"\xcb" + bytes(8), b"\xcf" + bytes(8), b"\xd0\x80",
                  b"\xda\x00\x01x", b"\xdc\x00\x01\x01", b"\xde\x00\x01\x01\x02",
                  b"\xdd" + bytes(4), b"\xdf" + bytes(4)]
    return packed({"amdhsa.target": "amdgcn-amd-amdhsa--gfx90a", "amdhsa.version": [1, 1],
                   "other": every_kind[:15], "amdhsa.kernels": [kernel, {".name": "none"}]})


def note(data, name=b"AMDGPU\0", kind=32):
    return (struct.pack("<III", len(name), len(data), kind) + name + bytes(-len(name) % 4) +
            data + bytes(-len(data) % 4))


def amd(data):
    return elf(AMDGPU, [section(".note", NOTE, note(b"x", b"GNU\0", 3) + note(data)),
                        section(".bss", NO_BYTES, b"")])


def parameter(ordinal, offset, size):
    return struct.pack("<BBHIHHI", 4, 23, 12, 0, ordinal, offset, 0x1f000 | size << 18)


def cubin(*parameters, flags=0x6004b04, abi_version=8):
    texts = b"\0add\0helper\0"
    symbols = bytes(24)
    for place, other in ((1, 0x10), (5, 0)):
        symbols += struct.pack("<IBBHQQ", place, 0x12, other, 1, 0, 64)
    info = struct.pack("<BBH", 3, 25, 28) + b"".join(parameters)
    return elf(CUDA, [section(".strtab", STRINGS, texts), section(".symtab", SYMBOLS, symbols, 1),
                      section(".nv.info.add", CUDA_INFO, info)], flags, abi_version)


PTX = b"""// text
.version 6.0
.target sm_60
.address_size 64
.visible .entry add(
  .param .u64 .ptr .global .align 4 add_0, /* two */ .param .f32 add_1,
  .param .align 8 .b8 add_2[24]
)
.maxntid 64, 1, 1
{ .param .b32 x; ret; }
.entry none() { .file 1 "a)b" ret; }
.entry bare { ret; }
"""


def bundle(*entries):
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    place = len(head) + sum(24 + len(name) for name, _ in entries)
    body = b""
    for name, data in entries:
        head += struct.pack("<QQQ", place + len(body), len(data), len(name)) + name
        body += data
    return head + body


def fatbin_entry(kind, arch, data, flags=0x11, compressed=0, head=64):
    """As nvcc 13 writes it; PTX gets 16 more bytes of header."""
    data += bytes(-len(data) % 8)
    header = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, head, len(data), compressed, 0, 0, 9, arch,
                         0, 0, flags, 0, 0)
    return header.ljust(head, b"\0") + data


def fatbin(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def image_seeds():
    one = amd(metadata())
    object_ = cubin(parameter(1, 8, 4), parameter(0, 0, 8))
    return {
        "amd": one,
        "amd-deep": amd(b"\x81\xa1x" + b"\x91" * 500 + b"\x01"),
        "amd-count": amd(b"\x81\xaeamdhsa.kernels\xdd\xff\xff\xff\xff\x80"),
        "cubin": cubin(parameter(1, 8, 4), parameter(0, 0, 8)),
        "cubin-old": cubin(parameter(0, 0, 8), flags=0x500550, abi_version=7),
        "cubin-gap": cubin(parameter(2, 8, 4), parameter(0, 0, 8)),
        "ptx": PTX,
        "ptx-open": PTX[:200],
        "bundle": bundle((b"host-x86_64-unknown-linux--", b""),
                         (b"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", one)),
        "fatbin": fatbin(fatbin_entry(2, 75, object_), fatbin_entry(1, 75, PTX, head=80),
                         fatbin_entry(2, 90, object_, 0x100011),
                         fatbin_entry(1, 90, b"\x28\xb5\x2f\xfd", 0x8011, 4, 80),
                         fatbin_entry(2, 100, object_, 0x1200011, head=112),
                         fatbin_entry(4, 10, b"other")),
        "fatbin-empty": fatbin(),
        "fatbin-nested": fatbin(fatbin_entry(2, 75, fatbin(fatbin_entry(1, 75, PTX)))),
        "fatbin-open": fatbin(fatbin_entry(1, 75, PTX))[:-8],
        "fatbin-head": fatbin(fatbin_entry(1, 75, PTX, head=40)),
        "compressed": b"CCOB" + bytes(16),
    }
