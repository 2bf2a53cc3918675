#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rates of vendors' libraries through hiptool and by direct calls, in the same run.

Usage: direct_libraries.py HIPTOOL DIRECT_PRODUCTS [--rounds N] [--only PATTERN]

Matrix products: DIRECT_PRODUCTS (direct_products.cpp) calls cuBLAS and cuBLASLt. Convolutions:
PyTorch with cudnn.benchmark, TF32 off; hiptool uses PyTorch's cuDNN. Both sides take turns for N
rounds (default 3); a line for each case: the median rate of each side, their quotient, and
hiptool's own kernel.
"""
import argparse
import json
import os
import re
import statistics
import subprocess

PRODUCTS = [("f32", 4096, 4096, 4096), ("bf16", 4096, 4096, 4096), ("f16", 4096, 4096, 4096),
            ("f32", 8192, 8192, 8192), ("bf16", 8192, 8192, 8192), ("bf16", 512, 4096, 4096)]
# Images, channels, height, width; filters, their height and width; padding.
CONVOLUTIONS = [(32, 256, 28, 28, 256, 3, 3, 1), (32, 256, 56, 56, 64, 1, 1, 0),
                (32, 3, 224, 224, 64, 7, 7, 3)]


def through_hiptool(hiptool, arguments, library_path=None):
    environment = dict(os.environ)
    if library_path:
        environment["HIPTOOL_LIBRARY_PATH"] = library_path
    command = [hiptool, "run-kernel", "--device", "nvidia:0", "--format", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    results = json.loads(done.stdout)["measurements"]
    for result in results:
        if result["status"] != "ok":
            print("not ok:", result["id"], result["status"], result["reason"])
    return {result["library"] or "own": result.get("flops_per_s") for result in results}


def direct_products(program, dtype, m, n, k):
    lines = subprocess.run([program, dtype, str(m), str(n), str(k)], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    return {line.split()[0]: float(line.split()[2]) for line in lines}


def torch_cudnn():
    """The folder of the cuDNN that PyTorch uses."""
    import torch

    torch.backends.cudnn.version()  # loads it
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if "/libcudnn.so" in line}
    return os.path.dirname(min(paths)) if paths else None


def direct_convolution(dtype, shape):
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    n, c, h, w, k, r, s, padding = shape
    kind = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[dtype]
    images = (torch.rand(n, c, h, w, device="cuda") * 2 - 1).to(kind)
    filters = (torch.rand(k, c, r, s, device="cuda") * 2 - 1).to(kind)
    with torch.no_grad():
        for _ in range(20):
            result = torch.nn.functional.conv2d(images, filters, padding=padding)
        seconds = []
        for _ in range(15):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(20):
                torch.nn.functional.conv2d(images, filters, padding=padding)
            stop.record()
            stop.synchronize()
            seconds.append(start.elapsed_time(stop) * 1e-3 / 20)
    flops = 2 * result.numel() * c * r * s
    return {"cudnn": flops / statistics.median(seconds)}


def report(case, ours, theirs):
    medians = [{name: statistics.median(one[name] for one in side if one.get(name))
                for name in side[0] if any(one.get(name) for one in side)}
               for side in (ours, theirs)]
    for name, rate in sorted(medians[0].items()):
        direct = medians[1].get(name)
        best = max(medians[1].values())
        tail = f"direct {direct / 1e12:8.2f}  {rate / direct:.3f}" if direct else \
            f"of the fastest direct call {rate / best:.3f}"
        print(f"{case:36} {name:10} {rate / 1e12:8.2f} TFLOP/s  {tail}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hiptool")
    parser.add_argument("direct_products")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose text has this regular expression")
    options = parser.parse_args()
    for dtype, m, n, k in PRODUCTS:
        if not re.search(options.only, f"matmul {dtype} {m}x{n}x{k}"):
            continue
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(through_hiptool(options.hiptool, [
                "matmul", "--dtype", dtype, "--shape", f"{m}x{n}x{k}", "--lib", "all"]))
            theirs.append(direct_products(options.direct_products, dtype, m, n, k))
        report(f"matmul {dtype} {m}x{n}x{k}", ours, theirs)
    for dtype in ("f32", "f16"):
        for shape in CONVOLUTIONS:
            n, c, h, w, k, r, s, padding = shape
            text = f"n{n}c{c}h{h}w{w}:k{k}r{r}s{s}p{padding}"
            if not re.search(options.only, f"conv2d {dtype} {text}"):
                continue
            ours, theirs = [], []
            for _ in range(options.rounds):
                ours.append(through_hiptool(options.hiptool, [
                    "conv2d", "--dtype", dtype, "--shape", text, "--lib", "all"], torch_cudnn()))
                theirs.append(direct_convolution(dtype, shape))
            report(f"conv2d {dtype} {text}", ours, theirs)


if __name__ == "__main__":
    main()
