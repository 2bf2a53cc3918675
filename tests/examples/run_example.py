# SPDX-License-Identifier: MIT
"""Usage: run_example.py PROGRAM"""
import sys
import tempfile

from example_model import run_example

with tempfile.TemporaryDirectory() as temporary:
    run_example(sys.argv[1], temporary)
