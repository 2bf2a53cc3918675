#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the cases that wait for events many times beside busy loops, and counts failures: whatever
else a machine does may make them late, but not wrong.

Usage: repeat_cases.py BUILD [--runs 200] [--loops 4] [--only TEXT] [--jobs 1]
BUILD is a folder in which the tests were built (`meson test -C BUILD`). Exits 1 if a run failed.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

# The test's name in Meson, and its cases.
CASES = {
    "accept": [
        "a task that hangs is left behind with its step, the others are not",
        "after a cancellation tasks have two seconds",
        "patience is for a step, and longer where the step says so",
        "tasks run at once and are waited for",
    ],
    "base": ["input file: pipes", "input file: a wait for the writer of a pipe can be cancelled"],
    "core": [
        "a cancelled retry calls no more",
        "a stream that waits for an event is ordered after the other stream",
        "a timer measures work of the stream, with events and without",
        "a platform is bound once, however many threads request it",
    ],
    "doctor": [
        "probe: children are asked at once and given their platform and root",
        "probe: news keeps a slow one alive",
        "probe: one that hangs is left, what it told stands, the other one is not concerned",
        "probe: one that keeps its process after the last word is not waited for",
    ],
    "hip-cpu": [
        "memory: freeing waits for the device's queued work",
        "streams: the device is synchronized when all its streams are done",
    ],
    "hip": [
        "a function runs before the n-th call, once",
        "streams have paces of their own: some are prompt, some are slow",
    ],
    "kernel-families": ["samples, soak and cancelling"],
    "load": [
        "a file that changes meanwhile, cancelling and giving up",
        "a file that changes while it is read is named, whatever happens to it",
        "a kernel that takes long to load does not delay the load",
        "a set token ends the probe between two copies",
        "after a failure no copy to any device is in flight",
        "cancelling ends everything soon, whatever the runtime is busy with",
        "damage is found no matter when the kernel is ready",
        "every byte arrives, gaps are zero, whatever the slots are",
        "load_model: the second reader runs while devices are opened",
        "no more threads than the limit run, and all run again when somebody waits",
        "reading completes although threads pause",
        "reads after the decision do not change it, whichever thread reads",
        "each owner has slots of its own, and waits for their copies",
        "staging memory: none, too much, and gone before it is made",
    ],
    "measure": [
        "gate: closed when it goes, it opens first",
        "gate: what is queued behind it begins when it opens",
    ],
    "cli": [
        "the second signal ends the process with its own code",
        "the second signal leaves no temporary folder",
    ],
    "system": ["a child's process group ends with it, after a timeout, a cancel and a success"],
    "run-kernel": ["run-kernel: an interruption keeps what was done"],
    "runtime": [
        "runtime: a stream that never becomes ready keeps all memory",
        "runtime: cleaning up waits no longer than its limit, and can be tried again",
    ],
    "program-check": ["Faults.test_interrupted", "Faults.test_interrupted_before_any_stage"],
    "program-cli": ["MakeModel.test_interrupted"],
    "program-decode": ["Decode.test_interrupted_within_a_step",
                       "Decode.test_interrupted_with_the_tokens_so_far"],
    "program-doctor": ["Doctor.test_a_child_does_not_outlive_a_parent_that_is_killed",
                       "Doctor.test_a_driver_that_hangs_is_told",
                       "Doctor.test_ctrl_c_ends_it_and_its_children_while_a_driver_hangs"],
    "program-input_files": ["InputFiles.test_a_named_pipe_whose_writer_comes_late",
                            "InputFiles.test_an_interrupt_ends_the_wait_for_a_writer",
                            "InputFiles.test_pipes_of_the_shell"],
    "program-load": ["Load.test_interrupted", "Load.test_second_signal_ends_a_driver_that_hangs"],
    "program-load_models": ["Models.test_interrupted_after_a_failure",
                            "Models.test_interrupted_in_the_second",
                            "Models.test_terminated_by_a_signal_of_a_scheduler"],
    "program-make_model": ["MakeModel.test_interrupted_sets_leave_nothing"],
    "program-prove": ["Prove.test_interrupted_within_a_step"],
    "program-run-kernel-texts": [
        "Misbehaviour.test_a_signal_ends_the_compiler_and_all_that_it_started",
        "Misbehaviour.test_an_interrupt_ends_what_never_ends",
    ],
    "program-streams": ["Streams.test_a_pipe_with_a_late_reader_gets_everything",
                        "Streams.test_timeout_sends_two_signals_and_the_export_is_written"],
    "program-verdict": ["BenchCopy.test_interrupted", "BuiltInKernels.test_interrupted"],
    "program-verdict_load": ["Load.test_interrupted"],
    "program-watch": ["Screen.test_a_signal_restores_the_terminal_while_the_driver_hangs",
                      "Lines.test_an_interrupt_does_not_wait_for_a_driver_that_hangs"],
}


def tests_of(build):
    """Command and environment of each test by its name, as Meson runs it."""
    found = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True,
                           check=True, text=True)
    return {test["name"]: test for test in json.loads(found.stdout)}


def command_of(test, case):
    words = list(test["cmd"])
    if any(word.endswith(".py") for word in words):
        return [*words, case]
    return [*words, "--test-case=" + case.replace(",", "\\,")]


def run_once(test, case, folder):
    """Whether the case passed, and what it wrote. One that does not exist fails."""
    done = subprocess.run(command_of(test, case), cwd=test["workdir"] or folder,
                          env={**os.environ, **test["env"]}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    is_skipped = "skipped case" in done.stdout or "| 0 passed" in done.stdout
    return done.returncode == 0 and not is_skipped, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--loops", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1, help="runs of a case at a time")
    parser.add_argument("--only", default="", help="cases whose test or name has this text")
    options = parser.parse_args()
    tests = tests_of(options.build)
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
             for _ in range(options.loops)]
    failures = 0
    try:
        print(f"{'runs':>5} {'failed':>6} {'s each':>7}  case", flush=True)
        for name, cases in CASES.items():
            for case in cases:
                if options.only not in f"{name} {case}":
                    continue
                if name not in tests:
                    print(f"{0:>5} {0:>6} {'':>7}  {name}: {case}: not in this build", flush=True)
                    continue
                start = time.monotonic()
                with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                    ends = list(pool.map(lambda _: run_once(tests[name], case, options.build),
                                         range(options.runs)))
                failed = [text for is_right, text in ends if not is_right]
                each_s = (time.monotonic() - start) / options.runs
                print(f"{options.runs:>5} {len(failed):>6} {each_s:>7.2f}  {name}: {case}",
                      flush=True)
                if failed:
                    print(failed[0], flush=True)
                failures += len(failed)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
