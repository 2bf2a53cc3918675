#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What bad model files cost: exit code, time, memory and message of `hiptool load --dry-run`.

Usage: bad_files.py PROGRAM [FOLDER]   a markdown table, and the time for two large good headers
The files are made in FOLDER, or in a temporary one, and removed again.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

MIB = 1 << 20
STRING, ARRAY, U8, U64, F32 = 8, 9, 0, 10, 0
PIECE = 10_000   # entries made at once: this process must stay smaller than those it measures


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def head(tensors, pairs):
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, pairs)


def tensor(name, offset, shape=(8,), kind=F32):
    return (text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) +
            struct.pack("<IQ", kind, offset))


ARCHITECTURE = pair("general.architecture", STRING, text("llama"))


def write(path, *parts, size=None):
    """Parts are bytes or iterables of bytes; returns how many bytes they have together."""
    with open(path, "wb") as file:
        for part in parts:
            for piece in [part] if isinstance(part, bytes) else part:
                file.write(piece)
        written = file.tell()
        if size is not None:
            file.truncate(size)
    return min(written, size or written)


def many(count, make):
    for begin in range(0, count, PIECE):
        yield b"".join(make(number) for number in range(begin, min(begin + PIECE, count)))


def gguf(path, tensors, data, pairs=(ARCHITECTURE,), cut=0):
    header = head(len(tensors), len(pairs)) + b"".join(pairs) + b"".join(tensors)
    header += bytes(-len(header) % 32)
    write(path, header, size=len(header) + data - cut)
    return len(header)


def tokens(count):
    return pair("tokenizer.ggml.tokens", ARRAY, struct.pack("<IQ", STRING, count)), many(
        count, lambda number: text(f"token {number}"))


def gguf_of_tensors(path, count, last=b"", last_count=0, kind=F32):
    """Tensors of 32 bytes each; what comes last is not among the count."""
    return write(path, head(count + last_count, 1), ARCHITECTURE, many(
        count, lambda number: tensor(f"blk.{number}.weight", 32 * number, kind=kind)), last,
        size=count * 100 + 1000 + 32 * count)


def gguf_pairs_twice(path):
    count = 2_000_000
    return write(path, head(0, count), many(
        count - 1, lambda number: pair(f"k{number}", U8, b"\0")), pair("k7", U8, b"\0"))


def nested(depth):
    return pair("k", ARRAY, struct.pack("<IQ", ARRAY, 1) * depth + struct.pack("<IQ", U8, 0))


GGUF = {
    "data cut": lambda path: gguf(path, [tensor("a", 0), tensor("b", 32)], 64, cut=1),
    "header cut": lambda path: write(path, head(1, 1), ARCHITECTURE, tensor("a", 0)[:-3]),
    "2^62 tensors": lambda path: write(path, head(1 << 62, 1), ARCHITECTURE),
    "2^62 pairs": lambda path: write(path, head(0, 1 << 62), ARCHITECTURE),
    "array of 2^60": lambda path: write(
        path, head(0, 1), pair("k", ARRAY, struct.pack("<IQ", U64, 1 << 60)), bytes(64)),
    "text of 2^63": lambda path: write(
        path, head(0, 1), pair("k", STRING, struct.pack("<Q", 1 << 63)), bytes(64)),
    "overlap": lambda path: gguf(path, [tensor("a", 0, (16,)), tensor("b", 32)], 96),
    "offset wraps": lambda path: gguf(path, [tensor("a", (1 << 64) - 32)], 32),
    "size wraps": lambda path: gguf(path, [tensor("a", 0, (1 << 32, 1 << 31, 4))], 32),
    "1000 arrays deep": lambda path: write(path, head(0, 1), nested(1000)),
    "150 000 tokens, then cut": lambda path: write(path, head(0, 2), *tokens(150_000)),
    "10^6 tensors, last of no type": lambda path: gguf_of_tensors(
        path, 1_000_000, tensor("x", 0, kind=99), 1),
    "2 10^6 pairs, last twice": gguf_pairs_twice,
    "architecture of 64 MiB": lambda path: write(
        path, head(0, 1), text("general.architecture"), struct.pack("<IQ", STRING, 64 * MIB),
        (b"x" * MIB for _ in range(64))),
}


def safetensors(path, header, data=0, length=None):
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    prefix = struct.pack("<Q", len(encoded) if length is None else length)
    write(path, prefix, encoded, size=8 + len(encoded) + data)
    return 8 + len(encoded)


def long_header(path, length, make, end):
    """A header of that length: as many of the entries as fit, then the end, no data."""
    written = 0

    def entries():
        nonlocal written
        yield b"{"
        written = 1
        number = 0
        while True:
            piece = b"".join(make(index) for index in range(number, number + PIECE))
            if written + len(piece) + len(end) > length:
                break
            number += PIECE
            written += len(piece)
            yield piece
        yield end + b" " * (length - written - len(end))

    return write(path, struct.pack("<Q", length), entries())


def entry(begin, end):
    return {"dtype": "U8", "shape": [end - begin], "data_offsets": [begin, end]}


def metadata_entry(number):
    return (b'"__metadata__":{' if number == 0 else b",") + f'"{number:x}":""'.encode()


def tensor_entry(number):
    body = f'"{number}":{{"dtype":"U8","shape":[1],"data_offsets":[{number},{number + 1}]}}'
    return (b"," if number else b"") + body.encode()


SAFETENSORS = {
    "data cut": lambda path: safetensors(path, {"a": entry(0, 9)}, 8),
    "header cut": lambda path: safetensors(path, {"a": entry(0, 9)}, length=500),
    "length 2^56": lambda path: safetensors(path, {"a": entry(0, 9)}, 9, length=1 << 56),
    "overlap": lambda path: safetensors(path, {"a": entry(0, 2), "b": entry(1, 3)}, 3),
    "hole": lambda path: safetensors(path, {"a": entry(0, 1), "b": entry(2, 3)}, 3),
    "100 000 deep": lambda path: safetensors(path, b'{"a":{"x":' + b"[" * 100_000),
    "100 MB, one open string": lambda path: long_header(
        path, 100_000_000, lambda number: b'"' if number == 0 else b"x" * 100, b"x"),
    "100 MB of tensors, bad end": lambda path: long_header(
        path, 100_000_000, tensor_entry, b",}"),
    "100 MB of metadata, bad end": lambda path: long_header(
        path, 100_000_000, metadata_entry, b"},}"),
    "12 MB of metadata, bad end": lambda path: long_header(
        path, 12_000_000, metadata_entry, b"},}"),
    "LFS pointer": lambda path: write(path, b"version https://git-lfs.github.com/spec/v1\n"
                                            b"oid sha256:" + b"0" * 64 + b"\nsize 99\n"),
    "web page": lambda path: write(path, b"<!DOCTYPE html>\n<html><body>404</body></html>"),
    "zeros": lambda path: write(path, b"", size=1 << 30) + 0,
    "zip": lambda path: write(path, b"PK\3\4\x14" + bytes(1000)),
}


def index(path, content):
    """Beside the index lies the file "a" with the tensor "t"."""
    safetensors(path.parent / "a", {"t": entry(0, 1)}, 1)
    return write(path, content if isinstance(content, bytes) else json.dumps(content).encode())


def long_index(path, count, begin, make, end):
    safetensors(path.parent / "a", {"t": entry(0, 1)}, 1)
    return write(path, begin, many(count, make), end)


def gguf_shard(path, count):
    path = path.with_name(f"m-00001-of-{count:05}.gguf")
    pairs = (ARCHITECTURE, pair("split.no", 2, struct.pack("<H", 0)),
             pair("split.count", 2, struct.pack("<H", count)),
             pair("split.tensors.count", 5, struct.pack("<i", 9)))
    return gguf(path, [tensor("a", 0)], 32, pairs)


def long_config(path, count):
    """A sound file, and beside it a config.json that may only be passed over."""
    written = write(path.parent / "config.json", b'{"a":[', many(count, lambda number: b"{},"),
                    b"0]}")
    safetensors(path, {})
    return written


SETS = {
    "path outside": lambda path: index(path, {"weight_map": {"t": "../../etc/passwd"}}),
    "file missing": lambda path: index(path, {"weight_map": {"t": "a", "u": "b"}}),
    "tensor missing": lambda path: index(path, {"weight_map": {"t": "a", "u": "a"}}),
    "no tensor": lambda path: index(path, {"weight_map": {}}),
    "cut": lambda path: index(path, b'{"weight_map":{"t":"a","u'),
    "lists itself": lambda path: index(path, {"weight_map": {"t": path.name}}),
    "100 000 deep": lambda path: index(path, b'{"x":' + b"[" * 100_000),
    "neither index nor manifest": lambda path: index(path, {"x": 1}),
    "manifest with a path": lambda path: index(path, {"layers": [{
        "mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../etc/passwd"}]}),
    "10^6 files that are missing": lambda path: long_index(
        path, 1_000_000, b'{"weight_map":{"t":"a"',
        lambda number: f',"{number}":"f{number}"'.encode(), b"}}"),
    "5 10^6 metadata keys": lambda path: long_index(
        path, 5_000_000, b'{"metadata":{"x":0', lambda number: f',"{number:x}":0'.encode(),
        b'},"weight_map":{"t":"a"}}'),
    "10^6 tensors that are missing": lambda path: long_index(
        path, 1_000_000, b'{"weight_map":{"t":"a"', lambda number: f',"{number}":"a"'.encode(),
        b"}}"),
    "1 of 65535 shards": lambda path: gguf_shard(path, 65535),
}
KINDS = {"GGUF": (GGUF, "m.gguf"), "safetensors": (SAFETENSORS, "m.safetensors"),
         "sets": (SETS, "m.safetensors.index.json")}


# The peak of a child counts what its parent had before the child's program began, so a parent of
# few bytes starts it: this process may have made a large file.
MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
"""


def measure(program, path, environment=None):
    """Exit code, processor seconds, peak bytes and standard error of reading the file."""
    done = subprocess.run([sys.executable, "-S", "-E", "-c", MEASURE, program, "load", path,
                           "--dry-run", "--quiet"], env=environment, capture_output=True,
                          check=True, text=True, errors="replace")
    code, seconds, peak_bytes = done.stdout.split()
    return int(code), float(seconds), int(peak_bytes), done.stderr


def cases():
    """(kind, name, make(folder) -> path, bytes of the header)."""
    for kind, (table, file_name) in KINDS.items():
        for name, make in table.items():
            def made(folder, make=make, file_name=file_name):
                path = pathlib.Path(folder) / file_name
                header_bytes = make(path)
                if not path.exists():   # one of a set has a name of its own
                    path = next(pathlib.Path(folder).iterdir())
                return path, header_bytes
            yield kind, name, made


def good_headers(program, folder):
    """Lines on large headers that are sound, ours and the gguf package's reader."""
    code = ("import sys,time,gguf; start=time.monotonic(); gguf.GGUFReader(sys.argv[1]); "
            "print(time.monotonic()-start)")
    vocabulary, million = pathlib.Path(folder) / "v.gguf", pathlib.Path(folder) / "t.gguf"
    write(vocabulary, head(0, 2), ARCHITECTURE, *tokens(150_000))
    gguf_of_tensors(million, 1_000_000)
    (pathlib.Path(folder) / "config").mkdir()
    config = pathlib.Path(folder) / "config" / "m.safetensors"
    long_config(config, 1_390_000)
    yield "| header | hiptool, whole run | peak | gguf.GGUFReader |\n|---|---|---|---|"
    for name, path in (("150 000 tokens", vocabulary), ("10^6 tensors", million),
                       ("config.json of 1.4 10^6 values", config)):
        status, seconds, peak, message = measure(program, path)
        theirs = "not run"
        if path == vocabulary:
            done = subprocess.run([sys.executable, "-c", code, path], capture_output=True,
                                  text=True, check=False)
            theirs = f"{float(done.stdout):.2f} s" if done.returncode == 0 else "not installed"
        result = f"{seconds:.3f} s" if status == 0 else f"FAILED: {message}"
        yield f"| {name} | {result} | {peak / MIB:.0f} MiB | {theirs} |"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program = sys.argv[1]
    bad = 0
    print("| kind | file | header | exit | time | peak | message |\n|---|---|---|---|---|---|---|")
    for kind, name, make in cases():
        with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
            path, header_bytes = make(folder)
            status, seconds, peak, message = measure(program, path)
            line = message.splitlines()[0].replace(f"{path.parent}/", "").replace("|", "\\|")
            marks = ["" if good else " **!**" for good in
                     (status == 4, seconds < 1, peak < header_bytes + 64 * MIB)]
            bad += sum(map(bool, marks))
            print(f"| {kind} | {name} | {header_bytes / MIB:.1f} MiB | {status}{marks[0]} "
                  f"| {seconds:.3f} s{marks[1]} | {peak / MIB:.0f} MiB{marks[2]} | {line} |")
    print()
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        print("\n".join(good_headers(program, folder)))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
