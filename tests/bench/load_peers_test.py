# SPDX-License-Identifier: MIT
"""What load_peers.py says of peers that fail, with planted loads in place of processes.

Usage: load_peers_test.py [unittest options].
"""
import contextlib
import io
import pathlib
import sys
import unittest
from unittest import mock

import load_peers

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import cases  # noqa: E402  (in the folder named above)

GB = 1e9
OURS = {"status": "verified", "bytes_per_s": 50 * GB, "limits": {"h2d_bytes_per_s": 55 * GB},
        "model": {"bytes": 13 * GB}, "verdict_time_s": 0.26}


class LoadPeersTest(unittest.TestCase):
    def report(self, loads, *words):
        """(exit status, lines, loads tried of each peer) of a comparison in which each load of a
        peer gives the next of its `loads`: a rate in GB/s or the reason for a failure."""
        others = [word for name in load_peers.PEERS if name not in loads
                  for word in ("--without", name)]
        tried = dict.fromkeys(loads, 0)

        def run_peer(name, *_):
            load = loads[name][tried[name]]
            tried[name] += 1
            return (None, load) if isinstance(load, str) else (load * GB, None)

        output = io.StringIO()
        with contextlib.ExitStack() as stack:
            for name, value in (("run_peer", run_peer), ("run_hiptool", lambda *_: OURS),
                                ("warm", lambda _: None), ("cached_share", lambda *_: 1)):
                stack.enter_context(mock.patch.object(load_peers, name, value))
            stack.enter_context(mock.patch.object(
                sys, "argv", ["load_peers.py", "hiptool", "file", *others, *words]))
            stack.enter_context(contextlib.redirect_stdout(output))
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            status = load_peers.main()
        return status, output.getvalue().splitlines(), tried

    def lines_of(self, name, lines):
        return [line for line in lines if line.startswith(f"{name} ")]

    def test_a_peer_that_fails_later_has_the_median_of_the_rounds_that_succeeded(self):
        status, lines, tried = self.report(
            {"safetensors": [10, "out of memory", 30, "killed", 20], "instanttensor": [25] * 5})
        self.assertEqual(status, 0)
        self.assertEqual(tried, {"safetensors": 5, "instanttensor": 5})
        line, = self.lines_of("safetensors", lines)
        self.assertRegex(line, r"^safetensors +20\.00 GB/s .* 2\.50 times  10\.00 30\.00 20\.00; "
                               r"2 of 5 rounds failed: killed$")
        self.assertNotIn("failed", self.lines_of("instanttensor", lines)[0])
        self.assertNotIn("absent", "\n".join(lines))

    def test_a_peer_that_never_loaded_is_absent_and_tried_once(self):
        status, lines, tried = self.report(
            {"safetensors": ["No module named 'safetensors'"], "instanttensor": [25] * 5})
        self.assertEqual(status, 0)
        self.assertEqual(tried["safetensors"], 1)
        line, = self.lines_of("safetensors", lines)
        self.assertRegex(line, r"^safetensors +absent: No module named 'safetensors'$")

    def test_exit_status(self):
        late = {"safetensors": [49, "killed"]}   # its median counts, although a round failed
        status, lines, _ = self.report(late, "--repeat", "2")
        self.assertEqual(status, 1)
        self.assertIn("target at least 1.15: MISSED", lines[-1])
        status, lines, _ = self.report({"safetensors": ["none"]})
        self.assertEqual(status, "no peer is here")   # sys.exit() makes 1 of it
        self.assertNotIn("target", lines[-1])


if __name__ == "__main__":
    cases.main()
