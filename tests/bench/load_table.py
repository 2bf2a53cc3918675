# SPDX-License-Identifier: MIT
"""The figures of `hiptool load` in docs/benchmarks.md, each with its limit from the same run.

    load_table.py HIPTOOL FOLDER [--size 13GiB] [--repeat 5] [--device ID]

FOLDER needs space for two models of that size. Rows: verified and unverified loads of a cached
file, 100 000 small tensors against one large one, and the verdict time against driver start + 1.15
times the time that the link needs. Exits 1 where a target is missed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

MISSED = []


def peak_bytes(options, path):
    """Of a process that loads the file: the most memory that it had at once."""
    command = [options.hiptool, "load", path, "--quiet"]
    if options.device:
        command += ["--device", options.device]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return usage.ru_maxrss * 1024


def load(options, path, *arguments):
    command = [options.hiptool, "load", path, "--format", "json", "--quiet", *arguments]
    if options.device:
        command += ["--device", options.device]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    document = json.loads(done.stdout)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {document.get('error')}")
    return document


def median(documents, value):
    return statistics.median(value(document) for document in documents)


def phase(document, name):
    return sum(p["duration_s"] for p in document["phases"] if p["name"] == name)


def limit_of(document):
    limits = document["limits"]
    return limits["h2d_bytes_per_s"] or limits["read_bytes_per_s"]


def judge(text, value, target, most=True):
    met = value <= target if most else value >= target
    if not met:
        MISSED.append(text)
    print(f"  {text}: {value:.3f}, target {'at most' if most else 'at least'} {target:.3f}: "
          f"{'met' if met else 'MISSED'}")


def row(name, documents):
    rate = median(documents, lambda d: d["bytes_per_s"])
    share = median(documents, lambda d: d["bytes_per_s"] / limit_of(d))
    verdict = median(documents, lambda d: d["verdict_time_s"])
    each = " ".join(f"{d['bytes_per_s'] / limit_of(d):.3f}" for d in documents)
    print(f"{name}: {rate / 1e9:.2f} GB/s, {share:.3f} of {limit_of(documents[0]) / 1e9:.1f} GB/s "
          f"({each}); verdict {verdict:.3f} s; "
          + ", ".join(f"{p['name']} {p['duration_s'] * 1e3:.0f} ms"
                      for p in documents[-1]["phases"]))
    return share, verdict


def make(options, name, *arguments):
    path = os.path.join(options.folder, name)
    if not os.path.exists(path):
        subprocess.run([options.hiptool, "make-model", path, "--size", options.size, "--quiet",
                        *arguments], check=True, capture_output=True)
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hiptool")
    parser.add_argument("folder")
    parser.add_argument("--size", default="13GiB")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--device")
    options = parser.parse_args()
    few = make(options, "few.gguf", "--tensors", "300")
    load(options, few, "--verify", "none")  # warms the file
    runs = {mode: [] for mode in ("full", "none", "fast", "readback")}
    for _ in range(options.repeat):
        for mode, documents in runs.items():
            documents.append(load(options, few, "--verify", mode))
    shares = {mode: row(mode, documents) for mode, documents in runs.items()}
    on_cpu = runs["full"][0]["limits"]["h2d_bytes_per_s"] is None
    judge("full, share of the limit", shares["full"][0], 0.45 if on_cpu else 0.95, most=False)
    if on_cpu:
        judge("none, share of the limit", shares["none"][0], 0.80, most=False)
    else:
        full = runs["full"]
        judge("verdict time in s", shares["full"][1], median(full, lambda d: phase(d, "start"))
              + 1.15 * median(full, lambda d: d["model"]["bytes"] / limit_of(d)))
        judge("cost of verification, share of the verdict time",
              median(full, lambda d: (phase(d, "digest") + phase(d, "verify"))
                     / d["verdict_time_s"]), 0.03)
        kernel_s = median(full, lambda d: d["verify"]["digest_kernel_time_s"])
        print(f"  digest of the memory: {median(full, lambda d: phase(d, 'digest')) * 1e3:.2f} ms, "
              f"its kernel {kernel_s * 1e3:.2f} ms, "
              f"{median(full, lambda d: d['model']['bytes']) / kernel_s / 1e12:.2f} TB/s")
        tiny = os.path.join(options.folder, "tiny.gguf")
        subprocess.run([options.hiptool, "make-model", tiny, "--size", "1MiB", "--quiet",
                        "--force"], check=True, capture_output=True)
        peaks = [peak_bytes(options, few) - peak_bytes(options, tiny)
                 for _ in range(options.repeat)]
        judge("host memory above that of a load of 1 MiB, in MiB",
              statistics.median(peaks) / 2**20, 160)
    one = make(options, "one.gguf", "--tensors", "1")
    many = make(options, "many.gguf", "--tensors", "100000")
    load(options, one, "--verify", "none")
    load(options, many, "--verify", "none")
    pairs = [(load(options, many), load(options, one)) for _ in range(options.repeat)]
    row("100 000 tensors", [a for a, _ in pairs])
    row("one tensor", [b for _, b in pairs])
    judge("load time, many to one",
          statistics.median(a["load_time_s"] / b["load_time_s"] for a, b in pairs), 1.1)
    judge("parse of 100 000 tensors in s", median([a for a, _ in pairs],
                                                  lambda d: phase(d, "parse")), 0.05)
    return 1 if MISSED else 0


if __name__ == "__main__":
    sys.exit(main())
