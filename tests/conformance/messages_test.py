# SPDX-License-Identifier: MIT
"""A scenario that fails says why, in words. Usage: messages_test.py CONFORMANCE FAKE_HIP"""
import os
import subprocess
import sys


def main(program, library):
    # The fake answers "out of memory" to a call that the scenario makes.
    result = subprocess.run(
        [program, "--platform=amd", "--library=" + library,
         "--test-case=scenario: streams: host functions in order"],
        env={**os.environ, "FAKE_HIP_HOST_FUNC": "2"}, stdout=subprocess.PIPE, text=True,
        check=False, timeout=120)
    wanted = "out_of_memory: hipLaunchHostFunc"
    if result.returncode != 1 or wanted not in result.stdout:
        sys.exit(f"exit code {result.returncode}, expected 1 and '{wanted}' in:\n{result.stdout}")


if __name__ == "__main__":
    main(*sys.argv[1:])
