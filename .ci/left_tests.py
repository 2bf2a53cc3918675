# SPDX-License-Identifier: MIT
"""Tests that no step has passed so far, from what the `meson test` of each step logged.

Usage: left_tests.py [--run] TESTS ALLOWED LOG...
TESTS is the output of `meson introspect --tests` where all packages are installed; ALLOWED has
lines "WHY: REGULAR EXPRESSION" that match a "TEST: REASON" which may be left.
Prints each of the others and why it was skipped, or that no step runs it; exit 1 if there is one.
--run: prints the name of each of them that TESTS has instead, and behind it, after tabs, the cases
       where only some of a Python test were skipped.
A test that failed is not left: its step has failed.
"""
import json
import pathlib
import sys

from count_tests import PASSED, SKIPPED, allowed_in, results_of, skips_of

NOT_RUN = "no step runs it"


def name_of(test):
    return test["name"].split(" / ")[-1]


class Results:
    """Of all logs together."""

    def __init__(self, logs):
        self.skipped_cases = {}   # of a test that passed: those that were skipped each time
        self.reasons = {}         # of a test that was skipped
        self.failed = set()
        for log in logs:
            for test in results_of(log):
                self.add(name_of(test), test)

    def add(self, name, test):
        if test["result"] in PASSED:
            cases = dict(skips_of([{**test, "name": ""}]))
            known = self.skipped_cases.get(name, cases)
            self.skipped_cases[name] = {case: why for case, why in cases.items() if case in known}
        elif test["result"] in SKIPPED:
            self.reasons[name] = next(skips_of([test]))[1]
        else:
            self.failed.add(name)

    def left(self, existing):
        """Test, its case or None, and the reason."""
        for name in sorted({*existing, *self.reasons, *self.skipped_cases} - self.failed):
            if name not in self.skipped_cases:
                yield name, None, self.reasons.get(name, NOT_RUN)
            else:
                for case, why in self.skipped_cases[name].items():
                    yield name, case.strip(), why


def print_tests(left, existing):
    tests = {}
    for name, case, _ in left:
        if name in existing:
            tests.setdefault(name, []).append(case)
    for name, cases in tests.items():
        is_whole = not all(case and case.startswith("__main__.") for case in cases)
        # A part of a case is not a case of its own.
        words = {case.split(" ")[0].removeprefix("__main__.") for case in cases} if not is_whole \
            else ()
        print(name, *sorted(words), sep="\t")


def main():
    words = [word for word in sys.argv[1:] if word != "--run"]
    existing = {test["name"] for test in json.loads(pathlib.Path(words[0]).read_text("utf-8"))}
    allowed = allowed_in(words[1])
    left = []
    for name, case, why in Results(words[2:]).left(existing):
        if not any(pattern.search(f"{name}: {why}") for _, pattern in allowed):
            left.append((name, case, why))
    if "--run" in sys.argv:
        print_tests(left, existing)
        return
    for name, case, why in left:
        print(f"   passed nowhere: {name}{' ' + case if case else ''}: {why}")
    sys.exit(1 if left else 0)


main()
