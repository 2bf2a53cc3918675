#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replays recorded launches of one AMD target in tinygrad's emulator of instructions.

Usage: amd_replay.py CHECKOUT IMAGES_BIN FOLDER TARGET
Reads numbers of launches, one a line, and answers each with a line of JSON: {"differences": [...]}
or {"failed": reason}.
"""
import contextlib
import ctypes
import inspect
import itertools
import json
import mmap
import os
import pathlib
import re
import struct
import sys

from kernel_images import images

FAMILIES = {"gfx9": "cdna", "gfx11": "rdna3", "gfx12": "rdna4"}
# Instructions that write caches back or invalidate them (LLVM: AMDGPU Memory Model), by their
# first word, with the number of words: an emulator without caches need not do anything.
CACHE_WORDS = {
    "rdna3": {0xE0AC0000: 2, 0xE0B00000: 2},                       # buffer_gl0_inv, buffer_gl1_inv
    "rdna4": {0xEE0AC07C: 3, 0xEE0B007C: 3, 0xEE13C07C: 3},          # global_inv, _wb, _wbinv
    "cdna": {word | scope: 2 for word in (0xE0A00000, 0xE0A40000)    # buffer_wbl2, buffer_inv
             for scope in (0, 0x4000, 0x8000, 0xC000)},
}
S_NOP = 0xBF800000
ZONE_BYTES = mmap.PAGESIZE
MAP_NORESERVE = 0x4000
ZONE = b"\xA5" * ZONE_BYTES

# Bits of the kernel descriptor (LLVM: User Guide for AMDGPU Backend, "Kernel Descriptor"): what
# kernel_code_properties asks for in user SGPRs, in their order, with the number of registers.
USER_SGPRS = [("private_segment_buffer", 4), ("dispatch_ptr", 2), ("queue_ptr", 2),
              ("kernarg_segment_ptr", 2), ("dispatch_id", 2), ("flat_scratch_init", 2),
              ("private_segment_size", 1)]
LDS_SHIFT, LDS_UNIT_BYTES = 15, 512
BOUNDS = struct.Struct("<Qdd")  # of launch_recorder.hpp
PART_BYTES = 65536


class Memory:
    """Pages of this process, between two zones that nothing shall write to."""

    def __init__(self, content):
        self.size = len(content)
        whole = -(-self.size // mmap.PAGESIZE) * mmap.PAGESIZE
        self.pages = mmap.mmap(-1, whole + 2 * ZONE_BYTES)
        self.pages[:ZONE_BYTES] = ZONE
        self.pages[ZONE_BYTES:ZONE_BYTES + self.size] = content
        self.rest = bytes(whole - self.size) + ZONE
        self.pages[ZONE_BYTES + self.size:] = self.rest
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.pages)) + ZONE_BYTES

    def content(self):
        return self.pages[ZONE_BYTES:ZONE_BYTES + self.size]

    def is_intact(self):
        return (self.pages[:ZONE_BYTES] == ZONE and
                self.pages[ZONE_BYTES + self.size:] == self.rest)


class SharedMemory:
    """Of a block: garbage at first, with zeros behind it for all of 32 bits."""

    def __init__(self, size):
        self.size = size
        self.pages = mmap.mmap(-1, (1 << 32) + (1 << 20), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS |
                               MAP_NORESERVE)
        self.pages[:size] = b"\xA5" * size
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))

    def is_intact(self):
        return not any(self.pages[self.size:self.size + (1 << 16)])


class CodeObject:
    """An ELF file, loaded as its program headers say."""

    def __init__(self, data):
        place, = struct.unpack_from("<Q", data, 0x20)
        size, count = struct.unpack_from("<HH", data, 0x36)
        segments = [struct.unpack_from("<IIQQQQQQ", data, place + i * size) for i in range(count)]
        loaded = [segment for segment in segments if segment[0] == 1]
        content = bytearray(max(address + in_memory for *_, address, _, _, in_memory, _ in loaded))
        for _, _, offset, address, _, in_file, _, _ in loaded:
            content[address:address + in_file] = data[offset:offset + in_file]
        self.memory = Memory(content)
        self.symbols = dict(self.read_symbols(data))

    @staticmethod
    def read_symbols(data):
        place, = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, place + i * size) for i in range(count)]
        for _, kind, _, _, offset, length, link, _, _, _ in sections:
            if kind in (4, 9) and length != 0:
                raise ValueError("a code object with relocations")
            if kind != 11:
                continue
            names = sections[link][4]
            for entry in range(offset, offset + length, 24):
                name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, entry)
                end = data.index(b"\0", names + name)
                yield data[names + name:end].decode(), value


class Emulator:
    def __init__(self, checkout, target):
        sys.path.insert(0, checkout)
        os.environ.pop("CC", None)  # the emulator compiles with clang, and takes one word only
        from tinygrad.runtime.support import compiler_cpu
        self.contract(compiler_cpu.ClangCompiler)
        from test.mockgpu.amd import emu
        self.emu = emu
        self.family = next(family for prefix, family in FAMILIES.items()
                           if target.startswith(prefix) and len(target) == len(prefix) + 2)
        # Our descriptors ask for denormal numbers; the emulator knows only machines without.
        emu._MXCSRContext = contextlib.nullcontext
        self.lds = None
        self.buffer_inner = emu.Buffer
        self.is_lds_next = False
        emu.Buffer = self.make_buffer
        self.part_scratch()
        self.decode_inner = emu._decode_at
        emu._decode_at = self.decode
        self.meaning_inner = emu.get_pcode
        emu.get_pcode = self.meaning
        self.field_inner = emu._Ctx.optional_field
        emu._Ctx.optional_field = lambda context, inst, name: self.field(context, inst, name)
        self.source_inner = emu._load_vsrc0
        emu._load_vsrc0 = self.source
        if self.family == "cdna":
            self.take_whole_registers()
        self.parts = None
        self.select_inner = emu._sdwa_select
        emu._sdwa_select = self.select
        for name in ("VOP1_SDWA", "VOP2_SDWA", "VOP2_SDWA_SDST", "VOPC_SDWA_SDST"):
            kind = getattr(emu.irc, name)
            emu._INST_HANDLERS[kind] = self.with_parts(emu._INST_HANDLERS[kind])
        for module in (emu.ir3, emu.ir4, emu.irc):
            emu._INST_HANDLERS[module.SOP1] = self.read_pc(emu._INST_HANDLERS[module.SOP1])

    @staticmethod
    def contract(compiler):
        """The emulator writes a fused multiply-add as a * b + c, and thus needs contraction. The
        key separates what is compiled so from the rest of its cache."""
        original = compiler.__init__

        def prepare(self, arch, cachekey="hiptool_contracting_clang_obj"):
            original(self, arch, cachekey)
            self.args.append("-ffp-contract=on")

        compiler.__init__ = prepare

    def meaning(self, operation):
        """AMD's text of an instruction. The emulator's own changes to division suit a machine that
        flushes denormal numbers; these take them back. v_div_fixup: a quotient below half of the
        least number rounds to 0. v_div_scale: tiny numerators are scaled together with their
        denominators, so nothing is to be undone, which VCC would ask for; where the quotient is
        denormal the numerator alone is scaled. A flat address, which RDNA 4 has a text of its own
        for, is one of global memory in all of our launches."""
        text = self.meaning_inner(operation)
        text = text.replace("CalcFlatAddr(v_addr.b64, flat_scratch.b64)",
                            "CalcGlobalAddr(v_addr.b64, s_saddr.b64)")
        if "V_DIV_FIXUP" in operation.name:
            text = re.sub(r"-UNDERFLOW_F(?:32|64) : UNDERFLOW_F(?:32|64)", "-0.0 : 0.0", text)
        if "V_DIV_SCALE" in operation.name:
            text = re.sub(r"(elsif exponent\(S2\.f\d\d\) <= \d\d then\n)"
                          r"VCC\.u64\[laneId\] = 1;\n", r"\1", text)
            kind, scale = ("f32", 64) if "F32" in operation.name else ("f64", 128)
            denormal = (f"elsif divWouldBeDenorm(S2.{kind}, S1.{kind}) then\n"
                        "VCC.u64[laneId] = 1;\n")
            text = text.replace(f"{denormal}D0.{kind} = S0.{kind}",
                                f"{denormal}if S0.{kind} == S2.{kind} then\n"
                                f"D0.{kind} = ldexp(S0.{kind}, {scale})\nelse\n"
                                f"D0.{kind} = S0.{kind}\nendif")
        return text

    def field(self, context, inst, name):
        """Flat instructions of CDNA have no scalar address; the emulator takes their zeros for
        s[0:1]."""
        if name == "saddr" and isinstance(inst, self.emu.irc.FLAT):
            return None
        return self.field_inner(context, inst, name)

    def source(self, context, inst, lane, bits, literal, is_f64, *others):
        """The first operand. From v128 on the emulator takes the upper half of another register,
        as RDNA does where operands are halves; CDNA does not."""
        kinds = self.emu.irc.VOP1, self.emu.irc.VOP2
        if hasattr(type(inst), "dpp") or not isinstance(inst, kinds):
            return self.source_inner(context, inst, lane, bits, literal, is_f64, *others)
        offset = context.inst_field(type(inst).src0)
        return context.rsrc_dyn(offset, lane, bits["s0"], literal, is_f64), offset

    def take_whole_registers(self):
        """The second operand and the result, of which the same holds: no register is above 256."""
        for name in ("_compile_vop12", "_compile_vopc"):
            inner = getattr(self.emu, name)
            text, count = re.subn(r"(vdst_reg|vsrc1_reg|vsrc1_off) >= _c\(128\)", r"\1 >= _c(256)",
                                  inspect.getsource(inner))
            assert count == (2 if name == "_compile_vop12" else 1)
            exec(text, vars(self.emu))
            handlers = self.emu._INST_HANDLERS
            for kind, handler in handlers.items():
                if handler is inner:
                    handlers[kind] = getattr(self.emu, name)

    def part_scratch(self):
        """Scratch memory for each wave of a block. The emulator has one that all share, in which
        waves find after a barrier what the last one has spilled before it."""
        text = inspect.getsource(self.emu.run_asm)
        address = "scratch_buf._buf.va_addr"
        parts = {"scratch_size * wave_size": "scratch_size * (total_threads + wave_size)",
                 f"{address} if": f"{address} + wave_start * scratch_size if"}
        for whole, own in parts.items():
            assert text.count(whole) == 1
            text = text.replace(whole, own)
        exec(text, vars(self.emu))

    def with_parts(self, inner):
        """A handler of instructions that read parts of registers, which notes the instruction."""
        def handle(inst, context):
            operands = [0] if type(inst).__name__.startswith("VOP1") else [0, 1]
            self.parts = inst, itertools.cycle(operands)
            return inner(inst, context)

        return handle

    def select(self, value, part, extends):
        """A part of a register, with the sign that the instruction asks for, which the emulator
        leaves out."""
        value = self.select_inner(value, part, extends)
        inst, operands = self.parts
        operand = next(operands)
        takes, negates = (getattr(inst, f"src{operand}_{what}") for what in ("abs", "neg"))
        if not takes and not negates:
            return value
        sign = {"F16": 1 << 15, "F32": 1 << 31}[re.findall(r"F16|F32", inst.op.name)[-1]]
        if takes:
            value = value & self.emu._c(0xFFFFFFFF ^ sign)
        return value ^ self.emu._c(sign) if negates else value

    def run(self, entry, size, grid, block, kernarg, rsrc2, shared_bytes, private, user_sgprs):
        self.lds = SharedMemory(shared_bytes)
        units = -(-shared_bytes // LDS_UNIT_BYTES)
        self.emu.run_asm(entry, size, *grid, *block, kernarg, rsrc2 | units << LDS_SHIFT, private,
                         self.family, user_sgprs)
        return self.lds.is_intact()

    def make_buffer(self, *arguments, **options):
        """The emulator's own, but shared memory, which it makes after the one with options, is
        ours: it also reads for lanes that are off, at any address."""
        if "options" in options:
            self.is_lds_next = True
        elif self.is_lds_next:
            self.is_lds_next = False
            options["options"] = self.emu.BufferSpec(external_ptr=self.lds.address)
        return self.buffer_inner(*arguments, **options)

    def decode(self, address, arch):
        """Decodes the instruction there; those for caches are overwritten with s_nop first."""
        words = (ctypes.c_uint32 * 3).from_address(address)
        for i in range(CACHE_WORDS[self.family].get(words[0], 0)):
            words[i] = S_NOP
        return self.decode_inner(address, arch)

    def read_pc(self, inner):
        """A handler of scalar instructions that knows s_getpc_b64, which the emulator lacks."""
        emu = self.emu

        def handle(inst, context):
            if inst.op.name != "S_GETPC_B64":
                return inner(inst, context)
            next_pc = context.rpc() + emu.UOp.const(inst.size(), emu.dtypes.uint64)
            low, high = emu._split64(next_pc)
            register = context.inst_field(type(inst).sdst)
            return emu.UOp.sink(context.wsgpr_dyn(register, low),
                                context.wsgpr_dyn(register + emu._c(1), high), *context.inc_pc())

        return handle


class Replay:
    def __init__(self, checkout, images_file, folder, target):
        self.emulator = Emulator(checkout, target)
        self.objects = [CodeObject(data) for _, name, data in images(images_file, target)
                        if name == target]
        folder = pathlib.Path(folder)
        self.launches = [json.loads(line) for line in
                         (folder / "launches.jsonl").read_text("utf-8").splitlines()]
        self.bytes = (folder / "memory.bin").read_bytes()

    def stored(self, places, size):
        """Bytes of memory, of which each part but the last has PART_BYTES."""
        return b"".join(self.bytes[place:place + PART_BYTES] for place in places)[:size]

    def descriptor(self, kernel):
        """The kernel descriptor's fields."""
        for image in self.objects:
            address = image.symbols.get(kernel + ".kd")
            if address is not None:
                break
        else:
            raise ValueError("the target's images do not have the kernel")
        raw = image.memory.content()
        names = ["lds", "private", "kernarg", "entry", "rsrc2", "properties", "preload"]
        values = [struct.unpack_from(form, raw, address + offset)[0] for form, offset in
                  [("<I", 0), ("<I", 4), ("<I", 8), ("<q", 16), ("<I", 52), ("<H", 56),
                   ("<H", 58)]]
        found = dict(zip(names, values))
        found["entry"] += image.memory.address + address
        found["size"] = image.memory.size
        if found["preload"]:
            raise ValueError("arguments are preloaded into registers")
        return found

    def kernarg(self, launch, memory, size):
        content = bytearray(max(size, 8))
        for offset, value in launch["arguments"]:
            value = bytes.fromhex(value)
            content[offset:offset + len(value)] = value
        self.move_pointers(content, launch["pointers"], memory)
        return Memory(bytes(content))

    @staticmethod
    def move_pointers(content, offsets, memory):
        """From recorded memory to its copies."""
        for offset in offsets:
            address, = struct.unpack_from("<Q", content, offset)
            for place, (recorded, copy) in memory.items():
                if place <= address <= place + recorded["size_bytes"]:
                    struct.pack_into("<Q", content, offset, copy.address + address - place)
                    break

    def packet(self, launch, found, kernarg):
        """hsa_kernel_dispatch_packet_t; kernels read their block's size from it."""
        grid = [g * b for g, b in zip(launch["grid"], launch["block"])]
        return Memory(struct.pack("<HHHHHHIIIIIQQQQ", 2, 3, *launch["block"], 0, *grid,
                                  found["private"], found["lds"] + launch["shared_bytes"],
                                  found["entry"], kernarg.address, 0, 0))

    def user_sgprs(self, found, packet, kernarg):
        given = {"dispatch_ptr": packet.address, "kernarg_segment_ptr": kernarg.address,
                 "dispatch_id": 0, "private_segment_size": found["private"]}
        values = []
        for bit, (name, count) in enumerate(USER_SGPRS):
            if found["properties"] >> bit & 1:
                if name not in given:
                    raise ValueError(f"the kernel asks for {name}")
                values += [given[name] >> 32 * i & 0xFFFFFFFF for i in range(count)]
        return values

    def run(self, number):
        launch = self.launches[number]
        memory = {}
        for recorded in launch["memory"]:
            content = self.stored(recorded["before"], recorded["size_bytes"])
            memory[recorded["address"]] = recorded, Memory(content)
        for recorded, copy in memory.values():
            content = bytearray(copy.content())
            self.move_pointers(content, recorded["pointers"], memory)
            copy.pages[ZONE_BYTES:ZONE_BYTES + copy.size] = bytes(content)
        found = self.descriptor(launch["kernel"])
        kernarg = self.kernarg(launch, memory, found["kernarg"])
        packet = self.packet(launch, found, kernarg)
        is_intact = self.emulator.run(
            found["entry"], found["size"], launch["grid"], launch["block"], kernarg.address,
            found["rsrc2"], found["lds"] + launch["shared_bytes"], found["private"],
            self.user_sgprs(found, packet, kernarg))
        findings = [] if is_intact else ["more than the shared memory of the launch was written"]
        return findings + [text for recorded, copy in memory.values()
                for text in self.compare(recorded, copy, memory, launch["bounds"])]

    def compare(self, recorded, copy, memory, bounds):
        if not copy.is_intact():
            yield "bytes outside of the memory were written"
        size = recorded["size_bytes"]
        expected = bytearray(self.stored(recorded["after"], size))
        self.move_pointers(expected, recorded["pointers"], memory)
        expected = bytes(expected)
        got = copy.content()
        if bounds and bounds["address"] == recorded["address"]:
            expected = self.within(bounds, expected, got)
        wrong = [i for i in range(size) if got[i] != expected[i]] if got != expected else []
        if wrong:
            first = wrong[0] & ~7
            yield (f"{len(wrong)} bytes of {size}, first at {wrong[0]}: "
                   f"{got[first:first + 8].hex()} for {expected[first:first + 8].hex()}")


    def within(self, bounds, expected, got):
        """What is expected, where bounded elements may be what they are."""
        expected = bytearray(expected)
        size = BOUNDS.size * bounds["count"]
        for offset, least, most in BOUNDS.iter_unpack(self.bytes[bounds["at"]:][:size]):
            bits = got[offset:offset + 2]
            value, = struct.unpack(*{"f16": ("<e", bits), "bf16": ("<f", b"\0\0" + bits)}
                                   [bounds["dtype"]])
            if least <= value <= most:
                expected[offset:offset + 2] = bits
        return bytes(expected)


def main():
    replay = Replay(*sys.argv[1:])
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        try:
            answer = {"differences": replay.run(int(line))}
        except Exception as error:  # whatever the emulator raises is its answer
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
