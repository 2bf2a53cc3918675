#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rates of operations by ops_rates and by PyTorch, alternately: both, and their ratio.

Usage: operation_peers.py OPS_RATES [--size MIB] [--rounds N]

Matrices of rows of 4096 random numbers, of SIZE MiB (default 256). Both time a loop of launches by
events and count the bytes that must be read and written. PyTorch runs eagerly, and its functions
write into a tensor that exists where it has such a form. Needs torch with CUDA.
"""
import argparse
import re
import statistics
import subprocess

import torch
import torch.nn.functional as F

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
LAUNCHES = 20


def operations(x, other, out, weight):
    width = x.shape[1]
    return {
        "exp": lambda: torch.exp(x, out=out),
        "silu": lambda: F.silu(x),
        "gelu": lambda: F.gelu(x, approximate="tanh"),
        "tanh": lambda: torch.tanh(x, out=out),
        "sigmoid": lambda: torch.sigmoid(x, out=out),
        "softmax": lambda: torch.softmax(x, 1, out=out),
        "layernorm": lambda: F.layer_norm(x, (width,), weight, weight, 1e-5),
        "rmsnorm": lambda: F.rms_norm(x, (width,), weight, 1e-5),
        "swiglu": lambda: torch.mul(F.silu(x), other, out=out),
    }


def torch_rates(size):
    rates = {}
    for name, dtype in TYPES.items():
        width = 4096
        rows = size // (width * dtype.itemsize)
        x = torch.randn(rows, width, device="cuda", dtype=dtype)
        out, weight = torch.empty_like(x), torch.ones(width, device="cuda", dtype=dtype)
        other = torch.randn_like(x)
        begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
        for operation, run in operations(x, other, out, weight).items():
            for _ in range(3):
                run()
            begin.record()
            for _ in range(LAUNCHES):
                run()
            end.record()
            end.synchronize()
            seconds = begin.elapsed_time(end) / 1e3 / LAUNCHES
            arrays = 3 if operation == "swiglu" else 2
            rates[f"{operation} {name}"] = arrays * x.numel() * x.element_size() / seconds / 1e9
    return rates


def our_rates(program, size):
    command = [program, "nvidia:0", str(size >> 20), "functions", "rows"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^(\S+ (?:f32|f16|bf16)) +([0-9.]+) GB/s +(\S+)", lines, re.MULTILINE)
    return {name: (float(rate), share) for name, rate, share in found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("ops_rates")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(our_rates(options.ops_rates, options.size << 20))
        theirs.append(torch_rates(options.size << 20))
        torch.cuda.empty_cache()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.size} MiB")
    for name in theirs[0]:
        mine = statistics.median(one[name][0] for one in ours)
        other = statistics.median(one[name] for one in theirs)
        print(f"{name:16} ours {mine:8.1f} GB/s ({ours[0][name][1]} of the peak)  "
              f"torch {other:8.1f} GB/s  ratio {mine / other:.2f}")


if __name__ == "__main__":
    main()
