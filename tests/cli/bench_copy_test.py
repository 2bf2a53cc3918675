# SPDX-License-Identifier: MIT
"""`hiptool bench-copy` seen from outside.

Usage: bench_copy_test.py PROGRAM [unittest options].
"""
import csv
import io
import json
import signal
import statistics
import subprocess
import time

import program
from program import CliTest, clean_environment, default_signals, run

FEW = ["--samples", "9", "--size", "64KiB"]


class BenchCopy(CliTest):
    def bench(self, *words, code=0, devices=1, **variables):
        environment = clean_environment(HIPTOOL_CPU_DEVICES=str(devices), **variables)
        chosen = ",".join(f"cpu:{i}" for i in range(devices))
        result = run("bench-copy", "--device", chosen, "--format", "json", *words,
                     environment=environment)
        self.assertEqual(result.returncode, code, result.stderr)
        self.stderr = result.stderr
        return self.assert_document(result.stdout, "bench-copy.schema.json")

    def test_quick_preset(self):
        document = self.bench(*FEW)
        self.assertEqual(document["status"], "ok")
        self.assertEqual([cell["id"] for cell in document["cells"]], [
            "h2d.pinned.copy.64KiB@cpu:0", "d2h.pinned.copy.64KiB@cpu:0",
            "d2d.copy.64KiB@cpu:0", "bidir.pinned.copy.64KiB@cpu:0",
            "h2d.pinned.copy.4KiB.latency@cpu:0", "d2h.pinned.copy.4KiB.latency@cpu:0"])
        for cell in document["cells"]:
            self.assertEqual(cell["status"], "ok")
            self.assertEqual(len(cell["samples_s"]), 9)
            self.assertEqual(cell["gated"], cell["latency_s"] is None)

    def test_figures_follow_from_the_samples(self):
        for cell in self.bench("--kind", "h2d,d2d,bidir", *FEW)["cells"]:
            lanes = 2 if cell["kind"] == "bidir" else 1
            copied = lanes * cell["size_bytes"]
            rates = sorted(copied / sample for sample in cell["samples_s"])
            self.assertAlmostEqual(cell["median_bytes_per_s"] / statistics.median(rates), 1)
            self.assertAlmostEqual(cell["min_bytes_per_s"] / rates[0], 1)
            self.assertAlmostEqual(cell["max_bytes_per_s"] / rates[-1], 1)
            mean = statistics.mean(cell["samples_s"])
            self.assertAlmostEqual(cell["cv"], statistics.stdev(cell["samples_s"]) / mean)
            traffic = 2 * cell["median_bytes_per_s"] if cell["kind"] == "d2d" else None
            self.assertEqual(cell["traffic_bytes_per_s"], traffic)
            self.assertEqual(len(cell["lanes"] or [0]), lanes)
            self.assertIsNone(cell["limit_source"])
            if lanes == 2:
                self.assertTrue(0 <= cell["overlap"] <= 1)

    def test_all_kinds_memories_and_engines_on_four_devices(self):
        document = self.bench("--preset", "full", *FEW, devices=4)
        cells = document["cells"]
        self.assertEqual({cell["status"] for cell in cells}, {"ok"})
        self.assertEqual(len({cell["id"] for cell in cells}), len(cells))
        seen = {(cell["kind"], cell["memory"], cell["engine"]) for cell in cells}
        for kind in ("h2d", "d2h", "bidir", "h2d-all", "d2h-all"):
            for memory in ("pinned", "registered", "managed"):
                self.assertIn((kind, memory, "copy"), seen)
                self.assertIn((kind, memory, "kernel"), seen)
            self.assertIn((kind, "pageable", "copy"), seen)
            self.assertNotIn((kind, "pageable", "kernel"), seen)
        for kind in ("d2d", "p2p-read", "p2p-write", "p2p-bidir", "one-to-all", "all-to-one",
                     "all-to-all"):
            self.assertIn((kind, None, "copy"), seen)
            self.assertIn((kind, None, "kernel"), seen)
        pairs = [cell for cell in cells if cell["kind"] == "p2p-write" and
                 cell["engine"] == "copy" and cell["latency_s"] is None]
        self.assertEqual(len(pairs), 12)
        everyone = [cell for cell in cells if cell["kind"] == "all-to-all"][0]
        self.assertEqual(len(everyone["lanes"]), 12)


if __name__ == "__main__":
    program.main(__doc__)
