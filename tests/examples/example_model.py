# SPDX-License-Identifier: MIT
"""Runs the example on a small GGUF file made here, on the cpu platform."""
import os
import pathlib
import struct
import subprocess


EXAMPLE = {"first": ([64], bytes(range(256))), "second": ([32], bytes(range(128)))}


def write_gguf(path, tensors):
    """F32 tensors, by name their dimensions and data; GGUF version 3, data aligned to 32 bytes."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), 1)
    header += text("general.architecture") + struct.pack("<I", 8) + text("example")
    data = b""
    for name, (dims, content) in tensors.items():
        header += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, 0, len(data))
        data += content + bytes(-len(content) % 32)
    header += bytes(-len(header) % 32)
    path.write_bytes(header + data)


def run_example(program, folder, environment=None):
    model = pathlib.Path(folder, "model.gguf")
    write_gguf(model, EXAMPLE)
    result = subprocess.run([program, model, "cpu"], env={**os.environ, **(environment or {})},
                            capture_output=True, text=True, timeout=60)
    print(result.stdout, result.stderr, sep="", end="")
    assert result.returncode == 0, f"exit code {result.returncode}"
    assert "2 tensors on cpu" in result.stdout, "the summary is missing"
    if "values" in result.stdout:
        first = "values %g %g %g %g\n" % struct.unpack("<4f", bytes(range(16)))
        assert first in result.stdout, f"the values of the first tensor are {first}"

    result = subprocess.run([program, "no-such-file", "cpu"],
                            env={**os.environ, **(environment or {})},
                            capture_output=True, text=True, timeout=60)
    assert result.returncode == 1, "an Error of the library was not caught"
    assert "no-such-file" in result.stderr, "the message does not name the file"
