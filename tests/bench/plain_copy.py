#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies by torch, timed by its events: the same figures as `hiptool bench-copy`, made by others.

Usage: plain_copy.py [--size MIB] [--samples N] [--device N] [--hiptool FILE]
  --hiptool   a JSON document of `hiptool bench-copy --kind h2d,d2h,d2d --size ...` of the same
              device and size; prints the ratio, and exits 1 if one is off by more than 1 %
Exits 77 where torch or a GPU is missing.
"""
import argparse
import json
import statistics
import sys

WARM_UPS = 5
TOLERANCE = 0.01


def rate_of(torch, copy, size_bytes, samples):
    """Median bytes per second of a copy, each between two events on a stream of its own."""
    stream = torch.cuda.Stream()
    times = []
    with torch.cuda.stream(stream):
        for i in range(WARM_UPS + samples):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record(stream)
            copy()
            stop.record(stream)
            stop.synchronize()
            if i >= WARM_UPS:
                times.append(start.elapsed_time(stop) / 1e3)
    return size_bytes / statistics.median(times)


def measure(torch, options):
    size_bytes = options.size << 20
    device = torch.device("cuda", options.device)
    torch.cuda.set_device(device)
    host = torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True).fill_(7)
    left = torch.empty(size_bytes, dtype=torch.uint8, device=device)
    right = torch.empty_like(left)
    copies = {
        "h2d": lambda: left.copy_(host, non_blocking=True),
        "d2h": lambda: host.copy_(left, non_blocking=True),
        "d2d": lambda: right.copy_(left, non_blocking=True),
    }
    return {kind: rate_of(torch, copy, size_bytes, options.samples)
            for kind, copy in copies.items()}


def ours(path, size_bytes):
    """Medians of hiptool's plain cells of that size, by kind."""
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["measurements"]
    return {cell["kind"]: cell["bytes_per_s"] for cell in cells
            if cell["size_bytes"] == size_bytes and cell["engine"] == "copy" and
            cell["memory"] in (None, "pinned") and cell["bytes_per_s"] is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--hiptool")
    options = parser.parse_args()
    try:
        import torch   # pylint: disable=import-outside-toplevel
    except ImportError:
        print("skipped: torch is not installed")
        return 77
    if not torch.cuda.is_available():
        print("skipped: torch sees no GPU")
        return 77
    theirs = measure(torch, options)
    known = ours(options.hiptool, options.size << 20) if options.hiptool else {}
    is_off = False
    for kind, rate in theirs.items():
        line = f"{kind}: torch {rate / 1e9:.2f} GB/s"
        if kind in known:
            ratio = known[kind] / rate
            line += f", hiptool {known[kind] / 1e9:.2f} GB/s, ratio {ratio:.4f}"
            # A copy within a device is a kernel of torch's own: nothing to agree on.
            is_off |= kind != "d2d" and abs(ratio - 1) > TOLERANCE
        print(line)
    if options.hiptool and not {"h2d", "d2h"} <= known.keys():
        print("the document has no h2d and d2h of that size")
        return 1
    return 1 if is_off else 0


if __name__ == "__main__":
    sys.exit(main())
