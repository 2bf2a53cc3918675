#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets: one for each value type, tensor type and edge of a rule.

Usage: make_corpus.py FOLDER          writes them
       make_corpus.py --check FOLDER  exits 1 unless exactly these are there
"""
import json
import pathlib
import struct
import sys

sys.dont_write_bytecode = True
from file_seeds import MARK, folder_seeds, hash_list_seeds, packed_seeds  # noqa: E402
from image_seeds import image_seeds  # noqa: E402 (leaves no files beside it)
from report_seeds import report_seeds  # noqa: E402

# ggml.h: number, elements and bytes of a block.
GGUF_TYPES = {
    "F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20),
    "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34), "Q8_1": (9, 32, 36),
    "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210), "Q8_K": (15, 256, 292), "IQ2_XXS": (16, 256, 66),
    "IQ2_XS": (17, 256, 74), "IQ3_XXS": (18, 256, 98), "IQ1_S": (19, 256, 50),
    "IQ4_NL": (20, 32, 18), "IQ3_S": (21, 256, 110), "IQ2_S": (22, 256, 82),
    "IQ4_XS": (23, 256, 136), "I8": (24, 1, 1), "I16": (25, 1, 2), "I32": (26, 1, 4),
    "I64": (27, 1, 8), "F64": (28, 1, 8), "IQ1_M": (29, 256, 56), "BF16": (30, 1, 2),
    "TQ1_0": (34, 256, 54), "TQ2_0": (35, 256, 66), "MXFP4": (39, 32, 17), "NVFP4": (40, 64, 36),
    "Q1_0": (41, 128, 18), "Q2_0": (42, 64, 18),
}
# gguf.md: number and form of a value.
VALUES = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"),
          "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "B"), "u64": (10, "Q"), "i64": (11, "q"),
          "f64": (12, "d")}
STRING, ARRAY = 8, 9
# safetensors' README: bits of an element.
SAFETENSORS_TYPES = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
    "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, number):
    return struct.pack("<I" + VALUES[kind][1], VALUES[kind][0], number)


def string(content):
    return struct.pack("<I", STRING) + text(content)


def array(kind, count, elements):
    return struct.pack("<IIQ", ARRAY, kind, count) + elements


def numbers(kind, *elements):
    return array(VALUES[kind][0], len(elements),
                 struct.pack(f"<{len(elements)}{VALUES[kind][1]}", *elements))


def strings(*elements):
    return array(STRING, len(elements), b"".join(map(text, elements)))


ARCHITECTURE = {"general.architecture": string("llama"),
                "general.quantization_version": value("u32", 2)}


def gguf(pairs=None, tensors=(), data=0, version=3, alignment=32, counts=None, tail=b""):
    """A file; tensors are (name, shape, type, offset)."""
    pairs = ARCHITECTURE if pairs is None else pairs
    head = b"GGUF" + struct.pack("<IQQ", version, *(counts or (len(tensors), len(pairs))))
    for key, encoded in pairs.items() if isinstance(pairs, dict) else pairs:
        head += text(key) + encoded
    for name, shape, kind, offset in tensors:
        head += text(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}QIQ", *shape, kind, offset)
    if tensors:
        head += bytes(-len(head) % alignment) + bytes(data)
    return head + tail


def gguf_seeds():
    seeds = {}
    for kind in VALUES:
        seeds["value-" + kind] = gguf({"k": value(kind, 1)})
        seeds["array-" + kind] = gguf({"k": numbers(kind, 1, 0, 1)})
    for kind, (number, elements, size) in GGUF_TYPES.items():
        seeds["type-" + kind.lower()] = gguf(
            None, [("t", (elements, 2), number, 0)], data=2 * size)
    nested = b""
    for _ in range(7):
        nested += struct.pack("<IQ", ARRAY, 1)
    nested += struct.pack("<IQ", 0, 1) + b"\1"
    seeds |= {
        "bare": gguf({}), "version-1": gguf(version=1), "version-2": gguf(version=2),
        "version-9": gguf(version=9), "version-0": gguf(version=0),
        "big-endian": gguf(version=3 << 24), "reversed": b"FUGG" + bytes(20),
        "string": gguf({"k": string("gr\u00fc\u00df\n")}),
        "string-bad": gguf({"k": string(b"\xff")}),
        "strings": gguf({"k": strings("a", "", "bc")}), "strings-empty": gguf({"k": strings()}),
        "nested": gguf({"k": struct.pack("<I", ARRAY) + nested}),
        "nested-too-deep": gguf({"k": struct.pack("<IIQ", ARRAY, ARRAY, 1) + nested}),
        "nested-empty": gguf({"k": array(ARRAY, 2, struct.pack("<IQIQ", ARRAY, 0, STRING, 0))}),
        "bool-2": gguf({"k": value("bool", 2)}), "bools-2": gguf({"k": numbers("bool", 0, 2)}),
        "key-twice": gguf([("k", value("u8", 1)), ("j", value("u8", 1)), ("k", value("u8", 1))]),
        "key-empty": gguf({"": value("u8", 1)}), "key-odd": gguf({"a b": value("u8", 1)}),
        "value-type-13": gguf({"k": struct.pack("<I", 13)}),
        "array-type-13": gguf({"k": array(13, 1, b"\0")}),
        "array-too-long": gguf({"k": array(10, 1 << 20, b"\0")}),
        "array-count": gguf({"k": array(0, (1 << 30) + 1, b"\0")}),
        "text-length": gguf({"k": struct.pack("<IQ", STRING, (1 << 30) + 1)}),
        "text-too-long": gguf({"k": struct.pack("<IQ", STRING, 100)}),
        "key-length": gguf([("k" * 65536, b"")]),
        "counts-tensors": gguf(counts=(1 << 62, 2)), "counts-pairs": gguf(counts=(0, 1 << 62)),
        "alignment-64": gguf({"general.alignment": value("u32", 64)},
                             [("t", (1,), 0, 0), ("u", (1,), 0, 64)], 68, alignment=64),
        "alignment-1": gguf({"general.alignment": value("u32", 1)}, [("t", (1,), 0, 0)], 4,
                            alignment=1),
        "alignment-odd": gguf({"general.alignment": value("u32", 24)}),
        "alignment-type": gguf({"general.alignment": value("u64", 32)}),
        "tensors": gguf(None, [("a", (3, 2), 0, 0), ("b", (), 1, 32), ("c", (0, 4), 0, 64),
                               ("d", (2, 1, 1, 2), 24, 64)], 68),
        "tensors-unordered": gguf(None, [("a", (8,), 0, 64), ("b", (8,), 0, 0), ("c", (8,), 0, 32)],
                                  96),
        "tensors-gap": gguf(None, [("a", (1,), 0, 0), ("b", (1,), 0, 5120)], 5124),
        "tensors-overlap": gguf(None, [("a", (9,), 0, 0), ("b", (1,), 0, 32)], 64),
        "tensors-beyond": gguf(None, [("a", (9,), 0, 32)], 32),
        "tensors-misaligned": gguf(None, [("a", (1,), 0, 4)], 32),
        "tensors-offset": gguf(None, [("a", (1,), 0, (1 << 64) - 32)], 32),
        "tensor-twice": gguf(None, [("a", (1,), 0, 0), ("b", (1,), 0, 32), ("a", (1,), 0, 64)], 96),
        "tensors-same-name": gguf(None, [("a", (1,), 0, 0), ("a", (1,), 0, 32)], 64),
        "tensor-name": gguf(None, [("n" * 64, (1,), 0, 0)], 32),
        "tensor-name-bad": gguf(None, [(b"\xc3\x28", (1,), 0, 0)], 32),
        "tensor-dimensions": gguf(None, [("a", (1,) * 5, 0, 0)], 32),
        "tensor-elements": gguf(None, [("a", (1 << 32, 1 << 32), 0, 0)], 32),
        "tensor-bytes": gguf(None, [("a", (1 << 62,), 28, 0)], 32),
        "tensor-row": gguf(None, [("a", (31,), 2, 0)], 32),
        "type-removed": gguf(None, [("a", (1,), 4, 0)], 32),
        "type-unknown": gguf(None, [("a", (1,), 200, 0), ("b", (1,), 201, 32)], 48),
        "type-unknown-cut": gguf(None, [("a", (1,), 200, 0)], 0),
        "lone-split": gguf({"split.count": value("u16", 2)}),
        "unsplit": gguf({"split.count": value("u16", 0), "split.no": value("u16", 0)}),
        "split-negative": gguf({"split.count": value("i32", -1)}),
        "plain-bad": gguf(None, [("a", (1,), 0, 0)], 0)[:70],
    }
    seeds["summary"] = gguf(ARCHITECTURE | {
        "general.name": string("n"), "general.file_type": value("u32", 1024 + 15),
        "llama.block_count": value("u32", 4), "llama.context_length": value("u64", 4096),
        "llama.embedding_length": value("u32", 64),
        "llama.full_attention_interval": value("u32", 2),
        "llama.attention.head_count": numbers("i32", 4, 0, 4, 4),
        "llama.attention.head_count_kv": value("u32", 2),
        "llama.expert_count": value("u32", 1 << 31),
        "llama.ssm.state_size": value("i32", -1), "tokenizer.ggml.tokens": strings("a", "b")})
    seeds["summary-odd"] = gguf({
        "general.architecture": value("u8", 1), "general.file_type": value("i32", 5),
        ".block_count": value("i64", 1 << 40), ".attention.head_count": numbers("u8", 1, 2),
        ".attention.head_count_kv": numbers("i8", -1), ".vocab_size": value("u32", 7)})
    seeds["summary-lengths"] = gguf({
        "general.architecture": string("x"), "x.block_count": value("u32", 3),
        "x.attention.head_count": numbers("u16", 1, 2), "x.attention.key_length": value("u8", 8),
        "general.file_type": value("i64", 1 << 40)})
    return seeds


def safetensors(header, data=b"", length=None):
    encoded = header if isinstance(header, bytes) else json.dumps(
        header, separators=(",", ":"), ensure_ascii=False).encode()
    return struct.pack("<Q", len(encoded) if length is None else length) + encoded + data


def entry(kind, shape, begin, end):
    return {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}


def safetensors_seeds():
    seeds = {}
    for kind, bits in SAFETENSORS_TYPES.items():
        seeds["type-" + kind.lower()] = safetensors({"t": entry(kind, [2, 4], 0, bits)},
                                                    bytes(bits))
    byte = entry("U8", [1], 0, 1)
    plain = json.dumps(byte)
    headers = {
        "no-field": {"t": {}}, "no-shape": {"t": {"dtype": "U8"}},
        "no-offsets": {"t": {"dtype": "U8", "shape": []}},
        "dtype-number": {"t": entry(1, [], 0, 1)}, "dtype-long": {"t": entry("U" * 101, [], 0, 1)},
        "shape-negative": {"t": entry("U8", [-1], 0, 1)},
        "shape-real": {"t": entry("U8", [1.5], 0, 1)},
        "shape-text": {"t": entry("U8", ["1"], 0, 1)}, "shape-null": {"t": entry("U8", None, 0, 1)},
        "shape-long": {"t": entry("U8", [1] * 1025, 0, 1)},
        "shape-huge": {"t": entry("U8", [1 << 33, 1 << 33], 0, 1)},
        "shape-bits": {"t": entry("F64", [1 << 60], 0, 1)},
        "shape-odd": {"t": entry("F4", [3], 0, 1)},
        "offsets-three": {"t": {**byte, "data_offsets": [0, 1, 2]}},
        "offsets-reversed": {"t": entry("U8", [1], 1, 0)},
        "offsets-size": {"t": entry("U8", [2], 0, 1)},
        "entry-number": {"t": 1}, "metadata-number": {"__metadata__": 1},
        "metadata-value": {"__metadata__": {"a": 1}}, "metadata-null": {"__metadata__": None},
    }
    for name, header in headers.items():
        seeds[name] = safetensors(header, b"\1")
    texts = {
        "key-twice": f'{{"t":{plain},"u":{json.dumps(entry("U8", [0], 1, 1))},"t":{plain}}}',
        "same-name": f'{{"t":{plain},"t":{plain}}}',
        "field-twice": '{"t":{"dtype":"U8","dtype":"U8"}}',
        "others-twice": '{"t":{"x":1,"x":2}}',
        "metadata-twice": '{"__metadata__":{},"__metadata__":{}}',
        "metadata-key-twice": '{"__metadata__":{"a":"","a":""}}',
        "leading": " \t" + f'{{"t":{plain}}}',
        "trailing": f'{{"t":{plain}}}  \n', "rest": f'{{"t":{plain}}}x', "list": "[1]",
        "open": '{"t',
        "escapes": '{"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00":' + plain + "}",
        "escape-bad": '{"\\x":1}', "escape-hex": '{"\\u00zz":1}', "escape-alone": '{"\\ud83d":1}',
        "escape-pair": '{"\\ud83d\\u0041":1}', "control": '{"\n":1}', "word": '{"t":{"x":tru}}',
        "comma": f'{{"t":{plain},}}', "comma-missing": '{"t":{"x":[1 2]}}', "colon": '{"t" 1}',
        "key-bare": "{t:1}", "value-bare": '{"t":x}',
        "deep": '{"t":{"x":' + "[" * 130 + "1" + "]" * 130 + "}}",
        "others": '{"t":{"x":[{"y":-1.5e+3,"z":0},null,true,false,"s",[]],' + plain[1:] + "}",
        "number-zero": '{"t":{"x":01}}', "number-minus": '{"t":{"x":-}}',
        "number-dot": '{"t":{"x":1.}}',
        "number-huge": '{"t":{"x":1e999}}',
        "number-small": '{"t":{"x":[1e-999,0.' + "0" * 400 + "1]}}",
        "number-long": '{"t":{"x":' + "9" * 600 + "}}",
        "number-18": '{"t":{"dtype":"U8","shape":[123456789012345678,0],"data_offsets":[0,0]}}',
        "number-20": '{"t":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}}',
        "bad-utf8": b'{"\xff":1}', "utf8-cut": b'{"\xe2\x82":1}',
        "utf8-4": '{"\U0001f600":' + plain + "}",
        "fields": '{"t":{' + "".join(f'"f{n}":{n},' for n in range(40)) + plain[1:] + "}",
    }
    for name, header in texts.items():
        encoded = header if isinstance(header, bytes) else header.encode()
        seeds["text-" + name] = safetensors(encoded, b"\1")
    tensors = {"b": entry("U8", [2], 1, 3), "a": entry("U8", [1], 0, 1),
               "c": entry("F4", [0], 3, 3), "d": entry("NEW", [1], 3, 9)}
    long_text = {f"key {n}": "x" * 30 for n in range(8)}
    seeds |= {
        "hole": safetensors({"t": byte, "u": entry("U8", [1], 2, 3)}, b"abc"),
        "overlap": safetensors({"t": entry("U8", [2], 0, 2), "u": entry("U8", [1], 1, 2)}, b"ab"),
        "empty": safetensors({}), "unordered": safetensors(dict(list(tensors.items())[:3]), b"abc"),
        "unknown-type": safetensors(tensors, b"abcdefghi"),
        "metadata": safetensors({"__metadata__": {"format": "pt", "\u00e9": "\n"}, "t": byte},
                                b"\1"),
        "surveyed": safetensors({"__metadata__": long_text, "t": byte, "u": entry("U8", [1], 1, 2)},
                                b"\1\2"),
        "surveyed-twice": safetensors(json.dumps({"__metadata__": long_text})[:-1].encode() +
                                      f',"t":{plain},"u":{plain},"t":{plain}}}'.encode(), b"\1"),
        "excess": safetensors({"t": byte}, b"\1\2"), "missing": safetensors({"t": byte}),
        "length-0": safetensors(b"", b"x", 0), "length-cut": safetensors({"t": byte}, b"", 4096),
        "length-limit": safetensors({"t": byte}, b"", 100_000_001), "zeros": bytes(64),
        "length-broken": safetensors({"t": byte}, b"", 1 << 50), "tiny": b"\1\2\3",
        "json": b'{"x":{"weight_map":1}}', "json-list": b'["a"]',
        "json-index": b'{"weight_map":{}}',
        "json-manifest": b'{"layers":[]}',
        "page": b"<!DOCTYPE html><html></html>", "page-space": b"\n <html>",
        "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
        "zip": b"PK\3\4" + bytes(20), "pickle": b"\x80\2}q\0.",
        "tar": b"f" * 257 + b"ustar\0" + b"00",
        "tflite": b"\x1c\0\0\0TFL3" + bytes(8), "onnx": b"\x08\x07\x12\x07pytorch\x1a\x051.9.0",
        "unknown": b"\xde\xad\xbe\xef" * 4, "ggml": b"lmgg" + bytes(12), "gguf": gguf(),
    }
    return seeds


def pieces(*files):
    return MARK.join(item if isinstance(item, bytes) else json.dumps(item).encode()
                     for item in files)


def index_seeds():
    one = safetensors({"t": entry("U8", [1], 0, 1)}, b"\1")
    two = safetensors({"u": entry("F16", [2], 0, 4), "__metadata__": {"k": "v"}}, b"\1\2\3\4")
    both = {"t": "a", "u": "b"}
    digest = "sha256:" + "0" * 64
    kind = "application/vnd.ollama.image.model"

    def manifest(*layers, **more):
        return {"schemaVersion": 2, "config": {}, "layers": list(layers), **more}

    model = {"mediaType": kind, "digest": digest, "size": len(one)}
    return {
        "set": pieces({"metadata": {"total_size": 5}, "weight_map": both}, one, two),
        "set-metadata": pieces({"weight_map": both, "metadata": {
            "total_size": 7.5, "yes": True, "text": "x", "list": [1], "none": None, "big": 1e300,
            "long": "y" * 4097}, "other": {"x": [1]}}, one, two),
        "metadata-text": pieces({"metadata": "x", "weight_map": both}, one, two),
        "missing-file": pieces({"weight_map": both}, one), "no-files": pieces({"weight_map": both}),
        "unmapped": pieces({"weight_map": {"t": "a"}}, safetensors(
            {"t": entry("U8", [1], 0, 1), "v": entry("U8", [1], 1, 2)}, b"\1\2")),
        "elsewhere": pieces({"weight_map": {"t": "b", "u": "a"}}, one, two),
        "nowhere": pieces({"weight_map": {**both, "v": "a"}}, one, two),
        "twice": pieces(b'{"weight_map":{"t":"a","t":"a"}}', one),
        "same-tensor": pieces({"weight_map": {"t": "a", "u": "b"}}, one, one),
        "maps-twice": pieces(b'{"weight_map":{},"weight_map":{}}'),
        "metadata-twice": pieces(b'{"metadata":{},"metadata":{},"weight_map":{}}'),
        "empty": pieces({"weight_map": {}}), "list": pieces({"weight_map": [1]}),
        "path": pieces({"weight_map": {"t": "../a"}}), "dots": pieces({"weight_map": {"t": ".."}}),
        "path-here": pieces({"weight_map": {"t": "./a"}}, one),
        "name-long": pieces({"weight_map": {"t": "a" * 256}}),
        "name-longest": pieces({"weight_map": {"t": "a" * 255}}),
        "control": pieces({"weight_map": {"t": "a\nb"}}),
        "number": pieces({"weight_map": {"t": 1}}),
        "itself": pieces({"weight_map": {"t": "m.safetensors.index.json"}}),
        "gguf-part": pieces({"weight_map": {"t": "a"}}, gguf()),
        "shard": pieces({"weight_map": {"t": "m-00001-of-00002.safetensors"}}, one),
        "shards": pieces({"weight_map": {"t": "m-00001-of-00002.safetensors", "u": "b"}}, one, two),
        "manifest": pieces(manifest(model), one), "manifest-gguf": pieces(
            manifest({**model, "size": len(gguf())}), gguf()),
        "manifest-size": pieces(manifest({**model, "size": 1}), one),
        "manifest-json": pieces(manifest({"mediaType": kind, "digest": digest}), {"layers": []}),
        "manifest-two": pieces(manifest(model, model), one),
        "manifest-none": pieces(manifest({"mediaType": 1, "x": []}, 2), one),
        "manifest-path": pieces(manifest({**model, "digest": "sha256:../../etc"}), one),
        "manifest-lost": pieces(manifest({**model, "digest": "sha256:" + "1" * 64}), one),
        "manifest-layers": pieces({"layers": {}}), "manifest-rest": pieces(b'{"layers":[]} x'),
        "neither": pieces({"x": 1}), "array": pieces([1]), "cut": pieces(b'{"weight_map":{"t"'),
    }


def shard(number, count=2, total=2, tensors=(), more=None, **keys):
    pairs = {"split.no": value("u16", number), "split.count": value("u16", count),
             "split.tensors.count": value("i32", total), **(more or {}), **keys}
    return gguf({key: encoded for key, encoded in pairs.items() if encoded}, tensors,
                32 * len(tensors))


def gguf_set_seeds():
    first = shard(0, tensors=[("a", (8,), 0, 0)], more=ARCHITECTURE)
    second = shard(1, tensors=[("b", (8,), 0, 0)])
    without = {"split.tensors.count": None}
    return {
        "set": pieces(first, second), "missing": pieces(first), "twice": pieces(first, first),
        "bare-first": pieces(shard(0, total=1, more=ARCHITECTURE),
                             shard(1, total=1, tensors=[("b", (8,), 0, 0)])),
        "count": pieces(shard(0, 3), second), "total": pieces(shard(0, total=9), shard(1, total=9)),
        "negative": pieces(shard(0, total=-1), second),
        "without-total": pieces(shard(0, more=without), second),
        "without-total-second": pieces(first, shard(1, more=without, tensors=[("b", (8,), 0, 0)])),
        "without-number": pieces(first, shard(1, more={"split.no": None})),
        "same-name": pieces(first, shard(1, tensors=[("a", (8,), 0, 0)])),
        "not-gguf": pieces(first, b"<html>"), "single": pieces(shard(0, 1, 0), b""),
        "total-zero": pieces(shard(0, total=0), shard(1, total=0)),
    }


def summary_seeds():
    llama = {"model_type": "llama", "_name_or_path": "n", "num_hidden_layers": 4,
             "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 8,
             "max_position_embeddings": 4096, "sliding_window": 128, "vocab_size": 100}
    return {
        "llama": pieces(llama), "empty": pieces({}), "list": pieces([]), "cut": pieces(b'{"a":'),
        "text-config": pieces({"architectures": ["X"], "text_config": llama, "hidden_size": 1}),
        "architectures": pieces({"architectures": [1]}), "none": pieces({"architectures": []}),
        "per-layer": pieces({
            **llama, "num_key_value_heads": [2, 0, 2, 2], "num_attention_heads": [8]}),
        "per-layer-short": pieces({**llama, "num_key_value_heads": [2]}),
        "per-layer-wrong": pieces({**llama, "num_key_value_heads": [2, 1]}),
        "per-layer-text": pieces({**llama, "num_key_value_heads": ["x"]}),
        "layer-types": pieces({
            **llama, "layer_types": ["full_attention", "linear_attention", "mamba", 1]}),
        "window": pieces({**llama, "use_sliding_window": False}),
        "latent": pieces({**llama, "kv_lora_rank": 512, "qk_rope_head_dim": 64}),
        "experts": pieces({"num_local_experts": 8, "num_experts_per_tok": 2, "n_layer": 1}),
        "negative": pieces({**llama, "num_hidden_layers": -1, "vocab_size": -(1 << 63)}),
        "huge": pieces({**llama, "num_hidden_layers": 65536, "vocab_size": (1 << 64) - 1}),
        "huge-recurrent": pieces({**llama, "model_type": "mamba", "num_hidden_layers": 65536}),
        "real": pieces({**llama, "num_hidden_layers": 4.0, "hidden_size": 1e300}),
        "text": pieces({**llama, "num_hidden_layers": "4", "num_attention_heads": {}}),
        "zero-heads": pieces({**llama, "num_attention_heads": 0, "head_dim": None}),
        "deep": pieces(b'{"a":' + b"[" * 20 + b"]" * 20 + b"}"),
        "bad-utf8": b'{"model_type":"\xff"}',
    }


def folders():
    return folder_seeds(gguf(), gguf_set_seeds()["set"].split(MARK),
                        safetensors({"t": entry("U8", [1], 0, 1)}, b"\1"))


SEEDS = {"gguf": gguf_seeds, "safetensors": safetensors_seeds, "index": index_seeds,
         "gguf_set": gguf_set_seeds, "summary": summary_seeds, "image": image_seeds,
         "packed": packed_seeds, "hash_list": hash_list_seeds, "folder": folders,
         **report_seeds()}


def main():
    check = sys.argv[1] == "--check"
    root = pathlib.Path(sys.argv[-1])
    wanted = {root / target / name: data for target, make in SEEDS.items()
              for name, data in make().items()}
    if check:
        found = {path: path.read_bytes() for path in root.glob("*/*")}
        different = sorted(str(path) for path in wanted.keys() | found.keys()
                           if wanted.get(path) != found.get(path))
        sys.exit(f"differ from what make_corpus.py writes: {different}" if different else 0)
    for path, data in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    print(f"{len(wanted)} seeds, {sum(map(len, wanted.values()))} bytes")


if __name__ == "__main__":
    main()
