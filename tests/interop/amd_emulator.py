#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Executes the AMD images of the operations in an instruction emulator, and compares every byte
that they write with what the cpu platform wrote.

Usage: amd_emulator.py IMAGES_BIN RECORD_LAUNCHES [--arch NAME] [--only PATTERN] [--every N]
                       [--limit SECONDS] [-j N] [--report FILE]
--only:   launches whose label or kernel this regular expression finds
--every:  only each n-th of them
--limit:  for one launch (default 120)
--report: one line for each launch

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

from kernel_images import images, skip

HERE = pathlib.Path(__file__).resolve().parent
ARCHS = ["gfx942", "gfx1100", "gfx1201"]


class Worker:
    """A process that replays launches; it may crash or hang, and then is started anew."""

    def __init__(self, *arguments):
        self.command = [sys.executable, str(HERE / "amd_replay.py"), *map(str, arguments)]
        self.process = None

    def run(self, number, limit_s):
        """The worker's answer about this launch."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            text=True)
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


def replay_all(jobs, make_worker, options):
    """(arch, launch, answer, seconds) of all jobs, which are pairs of arch and number."""
    results = []
    lock = threading.Lock()

    def work():
        workers = {}
        while True:
            with lock:
                if not jobs:
                    break
                arch, number = jobs.pop(0)
            if arch not in workers:
                workers[arch] = make_worker(arch)
            start = time.monotonic()
            answer = workers[arch].run(number, options.limit)
            with lock:
                results.append((arch, number, answer, time.monotonic() - start))
        for worker in workers.values():
            worker.close()

    threads = [threading.Thread(target=work) for _ in range(options.j)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def verdict_of(answer):
    if "failed" in answer:
        return "not executed: " + answer["failed"]
    if answer["differences"]:
        return "differs: " + "; ".join(answer["differences"])
    return "agrees"


def print_report(results, launches, options):
    lines = []
    counts = collections.defaultdict(collections.Counter)
    kernels = collections.defaultdict(set)
    grouped = collections.defaultdict(collections.Counter)
    for arch, number, answer, duration_s in sorted(results, key=lambda result: result[:2]):
        launch = launches[number]
        verdict = verdict_of(answer)
        kind = verdict.partition(":")[0]
        counts[arch][kind] += 1
        kernels[arch, kind].add(launch["kernel"])
        lines.append(f"{arch} {launch['kernel']} [{launch['label']}] {duration_s:.2f} s: {verdict}")
        if kind == "differs":
            print(lines[-1])
        elif kind != "agrees":
            grouped[arch, verdict][launch["kernel"]] += 1
    for (arch, verdict), of in sorted(grouped.items()):
        print(f"{arch} {verdict}: " + ", ".join(f"{k} ({n})" for k, n in sorted(of.items())))
    for arch, of in counts.items():
        print(f"{arch}: " + ", ".join(
            f"{of[kind]} launches of {len(kernels[arch, kind])} kernels {text}"
            for kind, text in [("agrees", "agree"), ("differs", "differ"),
                               ("not executed", "could not be executed")]))
    if options.report:
        pathlib.Path(options.report).write_text("\n".join(lines) + "\n", "utf-8")
    return sum(of["agrees"] for of in counts.values()), \
        sum(of["differs"] for of in counts.values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("images")
    parser.add_argument("recorder")
    parser.add_argument("--arch", action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--report")
    parser.add_argument("-j", type=int, default=os.cpu_count())
    options = parser.parse_args()
    emulator = os.environ.get("HIPTOOL_AMD_EMULATOR")
    if not emulator:
        skip("HIPTOOL_AMD_EMULATOR is not set")
    built = {target for _, target, _ in images(options.images, "gfx")}
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
        jobs = [(arch, number) for arch in archs for number in wanted[::options.every]]
        results = replay_all(jobs, lambda arch: Worker(emulator, options.images, folder, arch),
                             options)
        agreed, differed = print_report(results, launches, options)
    print(f"{len(results)} launches, {time.monotonic() - start:.0f} s")
    sys.exit(1 if differed or not agreed else 0)


if __name__ == "__main__":
    main()
