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

import program
from program import CliTest, clean_environment, default_signals, run, run_on_terminal

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
        self.assertEqual([cell["id"] for cell in document["measurements"]], [
            "h2d.pinned.copy.64KiB@cpu:0", "d2h.pinned.copy.64KiB@cpu:0",
            "d2d.copy.64KiB@cpu:0", "bidir.pinned.copy.64KiB@cpu:0",
            "h2d.pinned.copy.4KiB.latency@cpu:0", "d2h.pinned.copy.4KiB.latency@cpu:0"])
        for cell in document["measurements"]:
            self.assertEqual(cell["status"], "ok")
            self.assertEqual(len(cell["samples_s"]), 9)
            self.assertEqual(cell["gated"], cell["latency_s"] is None)

    def test_figures_follow_from_the_samples(self):
        for cell in self.bench("--kind", "h2d,d2d,bidir", *FEW)["measurements"]:
            lanes = 2 if cell["kind"] == "bidir" else 1
            copied = lanes * cell["size_bytes"]
            rates = sorted(copied / sample for sample in cell["samples_s"])
            self.assertAlmostEqual(cell["bytes_per_s"] / statistics.median(rates), 1)
            self.assertAlmostEqual(cell["min_bytes_per_s"] / rates[0], 1)
            self.assertAlmostEqual(cell["max_bytes_per_s"] / rates[-1], 1)
            mean = statistics.mean(cell["samples_s"])
            self.assertAlmostEqual(cell["cv"], statistics.stdev(cell["samples_s"]) / mean)
            traffic = 2 * cell["bytes_per_s"] if cell["kind"] == "d2d" else None
            self.assertEqual(cell["traffic_bytes_per_s"], traffic)
            self.assertEqual(len(cell["copies"] or [0]), lanes)
            self.assertIsNone(cell["limit_source"])
            self.assertIsNone(cell["share_of_limit"])
            if cell["bytes_per_s"] is not None:
                self.assertEqual(cell["share_reason"], "the limit of this copy is not known here")
            if lanes == 2:
                self.assertTrue(0 <= cell["overlap"] <= 1)

    def test_all_kinds_memories_and_engines_on_four_devices(self):
        document = self.bench("--level", "full", *FEW, devices=4)
        cells = document["measurements"]
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
        self.assertEqual(len(everyone["copies"]), 12)

    def test_size_sweep(self):
        document = self.bench("--kind", "h2d", "--size", "4KiB..32KiB", "--samples", "1")
        self.assertEqual([cell["size_bytes"] for cell in document["measurements"]],
                         [4096, 8192, 16384, 32768])

    def test_skipped_measurements_say_why_and_are_no_failure_if_others_were_made(self):
        document = self.bench("--kind", "h2d,p2p-write,all-to-all", *FEW)
        self.assertEqual([cell["status"] for cell in document["measurements"]],
                         ["ok", "skipped", "skipped"])
        for cell in document["measurements"][1:]:
            self.assertIn("needs two devices", cell["reason"])
            self.assertEqual(cell["samples_s"], [])

    def test_nothing_measured_is_no_success(self):
        for more in ((), ("--fail-below", "p2p-write>=1GB/s")):
            document = self.bench("--kind", "p2p-write,all-to-all", *FEW, *more, code=3)
            self.assertEqual(document["error"]["code"], "unavailable")
            self.assertIn("nothing was measured: 2 measurements skipped",
                          document["error"]["message"])
            self.assertIn("needs two devices", document["error"]["message"])

    def test_the_first_line_of_a_sweep_speaks_of_all_sizes(self):
        result = run("bench-copy", "--device", "cpu", "--kind", "h2d", "--size", "4KiB..1MiB",
                     "--samples", "1")
        first = result.stdout.split("\n\n", maxsplit=1)[0].replace("\n  ", " ")
        self.assertRegex(first, r"^9 measurements on cpu:0 in [^:]+: h2d [\d.]+ ([MGT]B/s )?to "
                                r"[\d.]+ [MGT]B/s in 9 measurements, most at [\d.]+ [KM]iB")

    def test_a_baseline_that_covers_a_part(self):
        before = self.bench("--kind", "h2d,d2d", *FEW)
        path = self.folder / "base.json"
        path.write_text(json.dumps(before), encoding="utf-8")
        words = ["--kind", "h2d,d2h", *FEW, "--baseline", str(path)]
        run_of = run("bench-copy", "--device", "cpu", "--format", "json", *words)
        document = json.loads(run_of.stdout)
        self.assertEqual([cell["id"] for cell in document["comparisons"]],
                         ["h2d.pinned.copy.64KiB@cpu:0"])
        self.assertEqual(document["baseline_missing"], [
            {"id": "d2h.pinned.copy.64KiB@cpu:0", "missing_in": "baseline"},
            {"id": "d2d.copy.64KiB@cpu:0", "missing_in": "run"}])
        strict = self.bench(*words, "--strict-baseline", code=1)
        whats = [failure["what"] for failure in strict["failures"]]
        self.assertIn("d2h.pinned.copy.64KiB@cpu:0 against the baseline", whats)
        self.assertIn("d2d.copy.64KiB@cpu:0 against the baseline", whats)
        table = run("bench-copy", "--device", "cpu", *words).stdout
        self.assertIn("not in the baseline: d2h.pinned.copy.64KiB@cpu:0", table)
        self.assertIn("in the baseline, but not measured now: d2d.copy.64KiB@cpu:0", table)
        self.assertEqual(run("bench-copy", "--strict-baseline").returncode, 2)

    def test_ambiguous_counts_what_was_measured(self):
        words = ["--kind", "h2d,d2h,p2p-write,all-to-all", *FEW]
        before = self.bench(*words)
        del before["measurements"][0]["samples_s"][2:]   # too few to compare
        path = self.folder / "base.json"
        path.write_text(json.dumps(before), encoding="utf-8")
        result = run("bench-copy", "--device", "cpu", *words, "--baseline", path, "--effect", "99%",
                     "--strict-compare")
        self.assertEqual(result.returncode, 1, result)
        first = result.stdout.split("\n\n", maxsplit=1)[0].replace("\n  ", " ")
        self.assertIn("1 of 2 measurements ambiguous", first)

    def test_without_a_device_named_peers_are_looked_for(self):
        environment = clean_environment(HIPTOOL_CPU_DEVICES="2")
        result = run("bench-copy", "--platform", "cpu", "--kind", "p2p-bidir", "--format", "json",
                     *FEW, environment=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["measurements"][0]["id"],
                         "p2p-bidir.copy.64KiB@cpu:0>cpu:1")

    def test_every_testcase_of_nvbandwidth_runs(self):
        names = [name + engine for engine in ("_ce", "_sm") for name in (
            "host_to_device_memcpy", "host_to_device_bidirectional_memcpy",
            "device_to_device_memcpy_read", "device_to_device_bidirectional_memcpy_write",
            "all_to_host_memcpy", "host_to_all_bidirectional_memcpy", "all_to_one_read",
            "one_to_all_write")] + ["host_device_latency_sm", "device_local_copy"]
        document = self.bench("--testcase", ",".join(names), *FEW, devices=2)
        self.assertEqual({cell["status"] for cell in document["measurements"]}, {"ok"})
        kinds = {cell["id"].split(".")[1]: cell for cell in document["measurements"]}
        copies = {cell["id"]: cell["details"]["copies_per_sample"]
                  for cell in document["measurements"] if "chase" not in cell["id"]}
        two_tracks = {name for name in copies if ".copy." in name and (
            "bothways" in name)}
        self.assertEqual({copies[name] for name in two_tracks}, {13})
        self.assertEqual({copies[name] for name in set(copies) - two_tracks}, {16})
        for word in ("bothways", "withothers", "withothersbothways", "sum",
                     "chase"):
            self.assertIn(word, kinds)
        chase = kinds["chase"]
        self.assertEqual((chase["kind"], chase["size_bytes"]), ("h2d", 2 << 20))
        self.assertLess(chase["details"]["latency_s"], 1e-4)   # of a load, not of a launch
        self.assertIsNone(chase["bytes_per_s"])
        lane = kinds["withothers"]   # its own bytes only
        self.assertAlmostEqual(lane["bytes_per_s"], lane["size_bytes"] / lane["median_s"],
                               delta=1)
        self.assertEqual(len(lane["details"]["copies"]), 2)
        both = kinds["bothways"]   # by one kernel, half of the memory each way
        self.assertEqual(both["details"]["engine"], "kernel")
        self.assertAlmostEqual(both["bytes_per_s"], both["size_bytes"] / 2 / both["median_s"],
                               delta=1)
        self.assertEqual([copy["bytes_per_s"] for copy in both["details"]["copies"]],
                         2 * [both["bytes_per_s"]])
        self.assertEqual([copy["source"] for copy in both["details"]["copies"]],
                         ["host", "cpu:1"])
        large = run("bench-copy", "--testcase", "all_to_host_memcpy_ce", "--size", "5GiB")
        self.assertEqual(large.returncode, 2)
        self.assertIn("at most 4.00 GiB", large.stderr)
        wrong = run("bench-copy", "--testcase", "host_to_device_memcpy_cee")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("did you mean 'host_to_device_memcpy_ce'?", wrong.stderr)

    def test_csv_has_one_row_for_each_cell(self):
        result = run("bench-copy", "--device", "cpu", "--format", "csv", *FEW)
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual(len(rows), 6)
        self.assertEqual(rows[0]["id"], "h2d.pinned.copy.64KiB@cpu:0")
        self.assertGreater(float(rows[0]["bytes_per_s"]), 1e6)
        self.assertEqual(rows[0]["limit_bytes_per_s"], "")

    def test_markdown_and_progress_lines(self):
        result = run("bench-copy", "--device", "cpu", "--format", "markdown", *FEW)
        self.assertEqual(result.returncode, 0)
        self.assertIn("| h2d |", result.stdout)
        self.assertEqual(len(result.stderr.splitlines()), 6)

    def test_long_names_leave_no_room_for_bars_but_for_a_table(self):
        code, output = run_on_terminal(
            "bench-copy", "--device", "cpu:10,cpu:11", "--kind", "bidir,p2p-write", "--memory",
            "registered", "--engine", "kernel", *FEW, "--samples", "15", HIPTOOL_CPU_DEVICES="12")
        lines = output.decode().replace("\r", "").splitlines()
        self.assertEqual(code, 0, output)
        self.assertTrue(any("Copy" in line and "Median" in line for line in lines), lines)
        row = [line for line in lines if line.startswith("p2p-write by kernel")][0]
        self.assertIn("cpu:10>cpu:11", row)

    def test_time_bounds_a_cell(self):
        document = self.bench("--kind", "h2d", "--time", "0.2", "--size", "1MiB")
        self.assertGreaterEqual(len(document["measurements"][0]["samples_s"]), 9)

    def test_report_compare_takes_its_documents(self):
        for name in ("old", "new"):
            document = self.bench("--kind", "h2d", *FEW)
            (self.folder / name).write_text(json.dumps(document), encoding="utf-8")
        result = run("report", "compare", str(self.folder / "old"), str(self.folder / "new"),
                     "--format", "json")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertEqual(json.loads(result.stdout)["comparisons"][0]["id"],
                         "h2d.pinned.copy.64KiB@cpu:0")

    def test_an_interrupt_keeps_what_was_measured(self):
        process = subprocess.Popen(
            [program.PROGRAM, "bench-copy", "--device", "cpu", "--kind", "h2d,d2h,d2d", "--size",
             "1MiB", "--samples", "2000", "--format", "json"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=clean_environment(), text=True,
            preexec_fn=default_signals)
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertIn("[1/3] h2d", first)
        self.assertEqual(process.returncode, 130, errors)
        document = self.assert_document(output, "bench-copy.schema.json")
        self.assertEqual(document["status"], "interrupted")
        statuses = [cell["status"] for cell in document["measurements"]]
        self.assertEqual(len(statuses), 3)
        self.assertEqual(statuses[0], "ok")
        self.assertEqual(statuses[-1], "skipped")
        self.assertEqual(document["measurements"][-1]["reason"], "interrupted")


if __name__ == "__main__":
    program.main(__doc__)
