#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Executes the AMD images in an instruction emulator, and compares every byte that they write with
what the cpu platform wrote.

Usage: amd_emulator.py IMAGES_BIN RECORD_LAUNCHES [--arch NAME] [--only PATTERN] [--every N]
                       [--limit SECONDS] [--time SECONDS] [-j N] [--report FILE]
--only:   launches whose label or kernel this regular expression finds
--every:  only each n-th of them
--limit:  for one launch (default 120)
--time:   start no launch after that many seconds; what is left out is counted
--report: one line for each launch, as they end

The emulator is tinygrad's; HIPTOOL_AMD_EMULATOR is the path of a checkout. What it cannot execute
is listed, and is neither right nor wrong.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

from amd_replay import CodeObject
from kernel_images import images, pack, skip

HERE = pathlib.Path(__file__).resolve().parent
STRIDE = 37
ARCHS = ["gfx942", "gfx1100", "gfx1201"]
NOT_RECORDED = {
    "hiptool_gate": "waits for the host",
    "hiptool_chase_block": "its result is an address",
    "hiptool_coherence_turns": "blocks wait for each other",
    "hiptool_exchange_ring": "devices wait for each other",
    "hiptool_exchange_all": "devices wait for each other",
}


class Worker:
    """A process that replays launches; it may crash or hang, and then is started again."""

    def __init__(self, cache, *arguments):
        self.command = [sys.executable, str(HERE / "amd_replay.py"), *map(str, arguments)]
        self.environment = {"CACHEDB": str(cache)} | os.environ
        self.process = None

    def run(self, number, limit_s):
        """The worker's answer about this launch."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            text=True, env=self.environment)
        late = threading.Event()

        def end():
            late.set()
            self.process.kill()

        timer = threading.Timer(limit_s, end)
        timer.start()
        try:
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        timer.cancel()
        if answer and not late.is_set():
            return json.loads(answer)
        code = self.process.wait()
        self.process = None
        return {"failed": f"not done in {limit_s} s" if late.is_set() else
                f"the emulator ended with {code}"}

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


class Results:
    """Verdicts of all launches, counted and written as they come."""

    def __init__(self, launches, report):
        self.launches = launches
        self.report = report
        self.counts = collections.defaultdict(collections.Counter)
        self.kernels = collections.defaultdict(set)
        self.failed = collections.defaultdict(collections.Counter)
        self.lock = threading.Lock()

    def add(self, arch, number, answer, duration_s):
        launch = self.launches[number]
        verdict = verdict_of(answer)
        kind = verdict.partition(":")[0]
        line = f"{arch} {launch['kernel']} [{launch['label']}] {duration_s:.2f} s: {verdict}"
        with self.lock:
            self.counts[arch][kind] += 1
            self.kernels[arch, kind].add(launch["kernel"])
            if kind == "differs":
                print(line, flush=True)
            elif kind != "agrees":
                self.failed[arch, verdict][launch["kernel"]] += 1
            if self.report:
                print(line, file=self.report, flush=True)

    def total(self, kind):
        return sum(of[kind] for of in self.counts.values())

    def print_summary(self):
        for (arch, verdict), of in sorted(self.failed.items()):
            print(f"{arch} {verdict}: " + ", ".join(f"{k} ({n})" for k, n in sorted(of.items())))
        for arch, of in sorted(self.counts.items()):
            print(f"{arch}: " + ", ".join(
                f"{of[kind]} launches of {len(self.kernels[arch, kind])} kernels {text}"
                for kind, text in [("agrees", "agree"), ("differs", "differ"),
                                   ("not executed", "could not be executed")]))


def verdict_of(answer):
    if "failed" in answer:
        return "not executed: " + answer["failed"]
    if answer["differences"]:
        return "differs: " + "; ".join(answer["differences"])
    return "agrees"


def replay_all(jobs, make_worker, results, options):
    """Jobs are lists of numbers by arch; returns how many were left out. What costs time is that
    each worker compiles each instruction once, so workers stay with an arch while it has jobs."""
    lock = threading.Lock()
    end = time.monotonic() + options.time
    order = list(jobs)

    def work(arch):
        worker = make_worker(arch)
        while True:
            with lock:
                if not jobs[arch] or time.monotonic() > end:
                    break
                number = jobs[arch].pop(0)
            start = time.monotonic()
            answer = worker.run(number, options.limit)
            results.add(arch, number, answer, time.monotonic() - start)
        worker.close()

    def work_on_all(first):
        for k in range(len(order)):
            work(order[(first + k) % len(order)])

    threads = [threading.Thread(target=work_on_all, args=(i,)) for i in range(options.j)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(len(of) for of in jobs.values())


def kernels_of(path, arch):
    """Names of all kernels that a target's images have."""
    ends = ".kd"
    return {name.removesuffix(ends) for _, target, data in images(path, arch) if target == arch
            for name, _ in CodeObject.read_symbols(data) if name.endswith(ends)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("images")
    parser.add_argument("recorder")
    parser.add_argument("--arch", action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--time", type=float, default=float("inf"))
    parser.add_argument("--report", type=argparse.FileType("w"))
    parser.add_argument("-j", type=int, default=os.cpu_count())
    options = parser.parse_args()
    emulator = os.environ.get("HIPTOOL_AMD_EMULATOR")
    if not emulator:
        skip("HIPTOOL_AMD_EMULATOR is not set")
    built = {target for _, target, _ in pack.unpack(pathlib.Path(options.images).read_bytes())}
    archs = [arch for arch in options.arch or ARCHS if arch in built]
    if not archs:
        skip("this build has no images for " + " ".join(options.arch or ARCHS))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([options.recorder, folder], check=True, timeout=600)
        launches = [json.loads(line) for line in
                    pathlib.Path(folder, "launches.jsonl").read_text("utf-8").splitlines()]
        wanted = [i for i, launch in enumerate(launches)
                  if re.search(options.only, f"{launch['label']} {launch['kernel']}")]
        # Neighbours are alike: a run that is cut short has something of everything.
        wanted = [i for start in range(STRIDE) for i in wanted[::options.every][start::STRIDE]]
        jobs = {arch: list(wanted) for arch in archs}
        launched = {launch["kernel"] for launch in launches}
        unused = {arch: kernels_of(options.images, arch) - launched - NOT_RECORDED.keys()
                  for arch in archs}
        results = Results(launches, options.report)
        cache = pathlib.Path(options.recorder).resolve().parent / "amd_emulator_cache.db"

        def make_worker(arch):
            return Worker(cache, emulator, options.images, folder, arch)

        left_out = replay_all(jobs, make_worker, results, options)
    results.print_summary()
    print(f"{left_out} launches left out, {time.monotonic() - start:.0f} s")
    for name, reason in NOT_RECORDED.items():
        print(f"not recorded: {name}: {reason}")
    for arch, names in unused.items():
        if names:
            print(f"{arch}: recorded by nothing: {', '.join(sorted(names))}")
    sys.exit(1 if results.total("differs") or not results.total("agrees") or any(unused.values())
             else 0)


if __name__ == "__main__":
    main()
