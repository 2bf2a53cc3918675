# SPDX-License-Identifier: MIT
"""Runs a program that a sanitizer must stop, and looks for its report.

Usage: expect_report.py PROGRAM ARGUMENT WORDS...; each of the words must be in the report.
"""
import subprocess
import sys


def main():
    program, argument, *words = sys.argv[1:]
    run = subprocess.run([program, argument], capture_output=True, text=True, check=False)
    missing = [word for word in words if word not in run.stderr]
    if run.returncode in (0, 2) or missing:
        print(run.stderr)
        sys.exit(f"exit code {run.returncode}, not reported: {missing}")


main()
