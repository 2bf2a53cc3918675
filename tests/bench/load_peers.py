# SPDX-License-Identifier: MIT
"""Loads one .safetensors file with hiptool (verified) and with other loaders, alternately.

    load_peers.py HIPTOOL FILE [--repeat N] [--cold [--pause SECONDS]]

Every load is a process of its own. A peer's clock starts after its imports, the start of CUDA, a
warmed allocator and, of a cached file, one load of the same file; it stops when every tensor is on
the device and the device is idle. Three tensors of each load are compared with the file. hiptool's
load time is that of its own report, its verdict time that of the whole process. The limit is the
rate of pinned copies that hiptool measures in each run. SETTINGS holds what each peer's
documentation recommends: with their defaults fastsafetensors and InstantTensor open files on disks
with O_DIRECT, which is right for a file that is not cached and not for one that is. Before a cold
load nobody reads for a while: the disk of a virtual machine may go faster after a rest, which a
peer has while it starts. A peer that cannot be imported is named as absent. Needs torch.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

PEERS = {
    "safetensors": """
from safetensors.torch import load_file
def load(path):
    return load_file(path, device="cuda:0")
""",
    "fastsafetensors": """
from fastsafetensors import fastsafe_open
def load(path):
    with fastsafe_open([path], device="cuda:0", nogds=True) as f:
        return {key: f.get_tensor(key) for key in f.keys()}
""",
    "runai-model-streamer": """
from runai_model_streamer import SafetensorsStreamer
def load(path):
    with SafetensorsStreamer() as streamer:
        streamer.stream_file(path)
        return {name: tensor.to("cuda:0") for name, tensor in streamer.get_tensors()}
""",
    "instanttensor": """
from instanttensor import safe_open
def load(path):
    with safe_open(path, framework="pt", device=0) as f:
        return dict(f.tensors())
""",
}

SETTINGS = {
    "warm": {"FASTSAFETENSORS_ODIRECT": "0", "INSTANTTENSOR_BACKEND": "MMAP",
             "RUNAI_STREAMER_CONCURRENCY": "16"},
    "cold": {"RUNAI_STREAMER_CONCURRENCY": "16"},
}

HARNESS = """
import json, sys, time, torch
from safetensors import safe_open as reference
path, loads, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
block = torch.empty(size, dtype=torch.uint8, device="cuda:0"); torch.cuda.synchronize(); del block
{loader}
for _ in range(loads):
    tensors = None
    start = time.perf_counter()
    tensors = load(path)
    torch.cuda.synchronize()
    elapsed = time.perf_counter() - start
size = sum(t.numel() * t.element_size() for t in tensors.values())
assert all(t.is_cuda for t in tensors.values())
with reference(path, "pt") as file:
    names = sorted(file.keys())
    assert sorted(tensors) == names
    for name in (names[0], names[len(names) // 2], names[-1]):
        found, expected = tensors[name].cpu(), file.get_tensor(name)
        assert torch.equal(found.view(torch.uint8), expected.view(torch.uint8)), name
print("RESULT", json.dumps({{"bytes": size, "seconds": elapsed, "tensors": len(tensors)}}))
"""


def evict(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def warm(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def cached_share(program, path):
    done = subprocess.run([program, "load", path, "--dry-run", "--format", "json", "--quiet"],
                          capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)["residency"]["cached_bytes"] / os.path.getsize(path)


def run_peer(name, path, state):
    loads = 2 if state == "warm" else 1
    done = subprocess.run([sys.executable, "-c", HARNESS.format(loader=PEERS[name]), path,
                           str(loads), str(os.path.getsize(path))],
                          env={**os.environ, **SETTINGS[state]},
                          capture_output=True, text=True, timeout=180, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return json.loads(line[7:])
    return (done.stderr.strip() or "no output").splitlines()[-1]


def run_hiptool(program, path, mode):
    start = time.perf_counter()
    done = subprocess.run([program, "load", path, "--verify", mode, "--format", "json", "--quiet"],
                          capture_output=True, text=True, timeout=180, check=True)
    document = json.loads(done.stdout)
    document["process_s"] = time.perf_counter() - start
    return document


def peers_text(peers):
    return "; ".join(name + " " + " ".join(f"{rate / 1e9:.2f}" for rate in rates)
                     for name, rates in peers.items() if rates)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hiptool")
    parser.add_argument("file")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--pause", type=float, default=10)
    options = parser.parse_args()

    def prepare(path):
        (evict if options.cold else warm)(path)
        cached = cached_share(options.hiptool, path)
        assert cached < 0.001 if options.cold else cached > 0.999, f"{cached:.4f} is cached"
        if options.cold:
            time.sleep(options.pause)

    mode = "fast" if options.cold else "full"
    state = "cold" if options.cold else "warm"
    ours, peers, absent = [], {name: [] for name in PEERS}, {}
    turns = ["hiptool", *PEERS]
    for _ in range(options.repeat):
        turns.append(turns.pop(0))  # nobody always comes after the same one
        for name in turns:
            if name in absent:
                continue
            prepare(options.file)
            if name == "hiptool":
                ours.append(run_hiptool(options.hiptool, options.file, mode))
                continue
            result = run_peer(name, options.file, state)
            if isinstance(result, str):
                absent[name] = result
            else:
                peers[name].append(result["bytes"] / result["seconds"])
    assert all(document["status"] == "verified" for document in ours)
    limit = statistics.median(min(value for value in document["limits"].values() if value)
                              for document in ours)
    rate = statistics.median(document["bytes_per_s"] for document in ours)
    verdict = statistics.median(document["model"]["bytes"] / document["verdict_time_s"]
                                for document in ours)
    print(f"{state}, {ours[0]['model']['bytes'] / 1e9:.2f} GB, "
          f"medians of {options.repeat}; limit {limit / 1e9:.1f} GB/s")
    rows = [(f"hiptool load, verified ({mode})", rate), ("  start to verdict", verdict)]
    rows += [(name, statistics.median(rates)) for name, rates in peers.items() if rates]
    print("each: " + peers_text({"hiptool": [d["bytes_per_s"] for d in ours], **peers}))
    for name, value in rows:
        print(f"{name:32} {value / 1e9:6.2f} GB/s  {value / limit:6.3f} of the limit  "
              f"{rate / value:6.2f} times")
    for name, reason in absent.items():
        print(f"{name:32} absent: {reason}")
    print("settings: " + " ".join(f"{key}={value}" for key, value in SETTINGS[state].items()))
    best = max((statistics.median(rates) for rates in peers.values() if rates), default=0)
    wanted = 1.15 if state == "warm" else 1.0
    print(f"hiptool to the best peer: {rate / best:.2f}, target at least {wanted:.2f}: "
          f"{'met' if rate >= wanted * best else 'MISSED'}" if best else "no peer is here")
    return 0 if rate >= wanted * best else 1


if __name__ == "__main__":
    sys.exit(main())
