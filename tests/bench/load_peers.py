# SPDX-License-Identifier: MIT
"""Loads one .safetensors file with hiptool (verified) and with other loaders, alternately.

    load_peers.py HIPTOOL FILE [--repeat N] [--without PEER]... [--cold [--pause SECONDS]]

Each load is a process of its own, and no other one is there: the driver starts faster where another
process keeps the GPU open, which changes what loads do meanwhile. Times of hiptool are those of its
own report. A peer's clock starts after its imports, the start of CUDA, a warmed allocator and, of a
cached file, one load of the same file; it stops when every tensor is on the device and the device
is idle. Three tensors of each load are compared with the file. The limit is the rate of pinned
copies that hiptool measures in each run; of a file that is not cached, what reading alone reaches
by the better of two ways, O_DIRECT and the kernel's read-ahead, each in every round and each with
16 threads. SETTINGS holds what each peer's documentation recommends: with their defaults
fastsafetensors and InstantTensor open files on disks with O_DIRECT, which is right for a file that
is not cached and not for one that is. Before every cold load all of the file is read with
O_DIRECT, and --pause seconds pass: the disk of a virtual machine may go faster after a rest, which
peers would have while they start. Needs torch.

A peer that has not loaded yet and fails, as one that cannot be imported does, is absent and not
tried again. Of a peer that fails later the median is that of the rounds that succeeded, followed by
the number of rounds that failed and the reason. The exit status is 0 if hiptool's median meets its
target against the best of these medians, else 1.
"""
import argparse
import json
import mmap
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
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

READING = {"reading alone, O_DIRECT": os.O_DIRECT, "reading alone, read-ahead": 0}

HARNESS = """
import json, sys, time, torch
from safetensors import safe_open as reference
path, size = sys.argv[1], int(sys.argv[2])
block = torch.empty(size, dtype=torch.uint8, device="cuda:0"); torch.cuda.synchronize(); del block
{loader}
print("RESULT", flush=True)
for begin in sys.stdin:
    time.sleep(max(0, float(begin) - time.time()))
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
    found = expected = tensors = None
    print("RESULT", json.dumps({{"bytes": size, "seconds": elapsed}}), flush=True)
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


def read_alone(path, flags):
    """Bytes per second of a file read by 16 threads in pieces of 512 KiB."""
    piece, size = 512 << 10, os.path.getsize(path)
    offsets = iter(range(0, size, piece))
    lock = threading.Lock()

    def read_pieces():
        buffer = mmap.mmap(-1, piece)
        descriptor = os.open(path, os.O_RDONLY | flags)
        while True:
            with lock:
                offset = next(offsets, None)
            if offset is None:
                break
            assert os.preadv(descriptor, [buffer], offset) == min(piece, size - offset)
        os.close(descriptor)

    threads = [threading.Thread(target=read_pieces) for _ in range(16)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return size / (time.perf_counter() - start)


class Peer:
    """A loader in a process of its own, which is ready to load when this returns."""

    def __init__(self, name, path, state):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-c", HARNESS.format(loader=PEERS[name]), path,
             str(os.path.getsize(path))], env={**os.environ, **SETTINGS[state]}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.failure = None
        self.answer()

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("RESULT"):
                return json.loads(line[7:] or "null")
        self.process.wait()
        self.log.seek(0)
        self.failure = (self.log.read().strip() or "no output").splitlines()[-1]
        return None

    def load(self, begin):
        """Bytes per second, or None where it failed."""
        print(begin, file=self.process.stdin, flush=True)
        result = self.answer()
        return result and result["bytes"] / result["seconds"]

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def run_peer(name, path, state, prepare):
    """Bytes per second of one load, or None, and why."""
    peer = Peer(name, path, state)
    rate = None
    if not peer.failure and state == "warm":
        peer.load(0)
    if not peer.failure:
        rate = peer.load(prepare(path))
    peer.close()
    return rate, peer.failure


def run_hiptool(program, path, mode):
    start = time.perf_counter()
    done = subprocess.run([program, "load", path, "--verify", mode, "--format", "json", "--quiet"],
                          capture_output=True, text=True, timeout=180, check=True)
    document = json.loads(done.stdout)
    document["process_s"] = time.perf_counter() - start
    return document


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hiptool")
    parser.add_argument("file")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--without", action="append", default=[], choices=PEERS)
    parser.add_argument("--pause", type=float, default=10)
    options = parser.parse_args()

    def prepare(path):
        if options.cold:
            evict(path)
            read_alone(path, os.O_DIRECT)
            end = time.time() + options.pause
        else:
            warm(path)
            end = 0
        cached = cached_share(options.hiptool, path)
        assert cached < 0.001 if options.cold else cached > 0.999, f"{cached:.4f} is cached"
        return end

    mode = "fast" if options.cold else "full"
    state = "cold" if options.cold else "warm"
    peers = [name for name in PEERS if name not in options.without]
    failures = {}   # of a peer, one reason for each round that failed
    ours = []
    rates = {name: [] for name in ["hiptool", *(READING if options.cold else []), *peers]}
    turns = list(rates)
    for _ in range(options.repeat):
        random.shuffle(turns)  # nobody always comes after the same one
        for name in turns:
            if name in failures and not rates[name]:
                continue
            if name in peers:
                rate, failure = run_peer(name, options.file, state, prepare)
                if failure:
                    failures.setdefault(name, []).append(failure)
                    print(f"{name} failed: {failure}", file=sys.stderr, flush=True)
            else:
                time.sleep(max(0, prepare(options.file) - time.time()))
                if name == "hiptool":
                    ours.append(run_hiptool(options.hiptool, options.file, mode))
                    rate = ours[-1]["bytes_per_s"]
                else:
                    rate = read_alone(options.file, READING[name])
            if rate:
                rates[name].append(rate)
                print(f"{name} {rate / 1e9:.2f}", file=sys.stderr, flush=True)
    assert all(document["status"] == "verified" for document in ours)
    limit = statistics.median(min(value for value in document["limits"].values() if value)
                              for document in ours)
    median = {name: statistics.median(values) for name, values in rates.items() if values}
    if options.cold:
        limit = max(median[name] for name in READING)
    ours_median = median["hiptool"]
    verdict = statistics.median(document["model"]["bytes"] / document["verdict_time_s"]
                                for document in ours)
    print(f"{state}, {ours[0]['model']['bytes'] / 1e9:.2f} GB, "
          f"medians of {options.repeat}; limit {limit / 1e9:.1f} GB/s")
    for name, value in [*median.items(), ("hiptool, start to verdict", verdict)]:
        label = f"hiptool load, verified ({mode})" if name == "hiptool" else name
        each = " ".join(f"{rate / 1e9:.2f}" for rate in rates.get(name, []))
        failed = failures.get(name, [])
        note = f"; {len(failed)} of {options.repeat} rounds failed: {failed[-1]}" if failed else ""
        print(f"{label:32} {value / 1e9:6.2f} GB/s  {value / limit:6.3f} of the limit  "
              f"{ours_median / value:6.2f} times  {each}{note}")
    for name, reasons in failures.items():
        if name not in median:
            print(f"{name:32} absent: {reasons[0]}")
    print("settings: " + " ".join(f"{key}={value}" for key, value in SETTINGS[state].items()))
    best = max((median[name] for name in PEERS if name in median), default=0)
    if not best:
        return "no peer is here" if peers else 0
    wanted = 1.0 if options.cold else 1.15
    is_met = ours_median >= wanted * best
    print(f"hiptool to the best peer: {ours_median / best:.2f}, target at least {wanted:.2f}: "
          f"{'met' if is_met else 'MISSED'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
