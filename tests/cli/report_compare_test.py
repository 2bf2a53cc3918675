# SPDX-License-Identifier: MIT
"""`hiptool report compare`: verdicts, reasons, exit codes."""
import csv
import io
import json
import unittest

import program
import report_samples as samples


class Compare(program.CliTest):
    def compare(self, old, new, *words):
        """Exit code and document; both sides are documents or texts."""
        result = program.run("report", "compare", samples.write(self.folder, "old.json", old),
                             samples.write(self.folder, "new.json", new), "--format", "json",
                             *words)
        return result.returncode, self.assert_document(result.stdout, "report.schema.json")

    def verdict(self, old, new, *words):
        code, document = self.compare(old, new, *words)
        self.assertEqual(len(document["comparisons"]), 1)
        self.assertEqual(code, 1 if document["comparisons"][0]["verdict"] == "SLOWER" else 0)
        self.assertEqual(document["verdict"], document["comparisons"][0]["verdict"])
        return document["comparisons"][0]

    def one(self, rate=52e9, **more):
        context = more.pop("context_of", None)
        return samples.bench_copy([samples.cell(rate=rate, **more)], context_of=context)

    def test_verdicts_and_their_exit_codes(self):
        slower = self.verdict(self.one(), self.one(rate=52e9 / 1.1, seed=2))
        self.assertEqual(slower["verdict"], "SLOWER")
        self.assertAlmostEqual(slower["change"], 0.1, delta=0.02)
        self.assertLess(slower["low"], slower["change"])
        self.assertGreater(slower["high"], slower["change"])
        self.assertGreater(slower["low"], 0.03)
        self.assertIsNone(slower["reason"])
        faster = self.verdict(self.one(), self.one(rate=52e9 * 1.1, seed=2))
        self.assertEqual(faster["verdict"], "FASTER")
        self.assertEqual(self.verdict(self.one(), self.one(seed=2))["verdict"], "SAME")

    def test_change_is_that_of_the_medians(self):
        old, new = self.one(), self.one(rate=40e9, seed=5)
        median = lambda document: sorted(document["measurements"][0]["samples_s"])[7]
        self.assertAlmostEqual(self.verdict(old, new)["change"], median(new) / median(old) - 1)

    def test_too_few_samples(self):
        for old_count, new_count in ((8, 15), (15, 8), (1, 1)):
            cell = self.verdict(self.one(count=old_count), self.one(rate=20e9, count=new_count))
            self.assertEqual(cell["verdict"], "AMBIGUOUS")
            self.assertRegex(cell["reason"], r"\b(1 sample|\d+ samples), fewer than 9")
        code, document = self.compare(self.one(count=0), self.one())
        self.assertEqual((code, document["verdict"]), (1, None))   # nothing was measured twice
        nine = self.verdict(self.one(count=9), self.one(rate=20e9, count=9))
        self.assertEqual(nine["verdict"], "SLOWER")

    def test_straddling_interval(self):
        cell = self.verdict(self.one(noise=0.1), self.one(rate=51e9, noise=0.1, seed=3))
        self.assertEqual(cell["verdict"], "AMBIGUOUS")
        self.assertIn("straddles", cell["reason"])

    def test_effect(self):
        old, new = self.one(), self.one(rate=52e9 / 1.1, seed=2)
        self.assertEqual(self.verdict(old, new, "--effect", "20%")["verdict"], "SAME")
        self.assertEqual(self.verdict(old, new, "--effect", "0.2")["verdict"], "SAME")
        self.assertEqual(self.verdict(old, new, "--effect=3 %")["verdict"], "SLOWER")
        for bad in ("0", "-3%", "100%", "x", "3%%", "nan", "1e-2x", "inf"):
            result = program.run("report", "compare", "a", "b", f"--effect={bad}")
            self.assertEqual(result.returncode, 2, bad)
            self.assertIn("--effect", result.stderr)

    def test_clocks_link_and_throttling_make_it_ambiguous(self):
        new = {"rate": 20e9, "seed": 2}
        for word, changed in (("clocks", {"clock": 1400e6}), ("link", {"speed": 16.0}),
                              ("link", {"width": 8}), ("throttling", {"throttle": ["thermal"]})):
            cell = self.verdict(self.one(),
                                self.one(context_of=samples.context(**changed), **new))
            self.assertEqual((cell["verdict"], word in cell["reason"]), ("AMBIGUOUS", True), word)
        # What sleeps between the copies, a jitter of the clock, another driver: no obstacles.
        for changed in ({"idle_speed": 8.0}, {"clock": 1950e6}, {"driver": "570.1"}):
            cell = self.verdict(self.one(),
                                self.one(context_of=samples.context(**changed), **new))
            self.assertEqual(cell["verdict"], "SLOWER", changed)

    def test_a_difference_concerns_its_device_only(self):
        slow = {"rate": 20e9, "seed": 2}
        old = samples.bench_copy([samples.cell(), samples.cell(destination="nvidia:1")])
        new = samples.bench_copy([samples.cell(**slow),
                                  samples.cell(destination="nvidia:1", **slow)],
                                 context_of=samples.context(width=4))
        code, document = self.compare(old, new)
        self.assertEqual([cell["verdict"] for cell in document["comparisons"]],
                         ["AMBIGUOUS", "SLOWER"])
        self.assertEqual(code, 1)
        difference = document["context_differences"][0]
        self.assertEqual((difference["kind"], difference["device"], difference["old"],
                          difference["new"]), ("link", "nvidia:0", 16, 4))

    def test_a_driver_is_told_but_no_obstacle(self):
        _, document = self.compare(self.one(),
                                   self.one(context_of=samples.context(driver="570.1")))
        self.assertEqual([one["kind"] for one in document["context_differences"]], ["software"])

    def test_unknown_context_is_no_difference(self):
        new = self.one(rate=20e9, seed=2)
        new["context"] = None
        self.assertEqual(self.verdict(self.one(), new)["verdict"], "SLOWER")

    def test_cells_that_did_not_work(self):
        code, document = self.compare(self.one(), self.one(status="skipped", reason="no peer"))
        self.assertEqual((code, document["verdict"], document["comparisons"]), (1, None, []))
        for status in ("failed", "mismatch"):
            code, document = self.compare(self.one(), self.one(status=status, reason="no peer"))
            cell, = document["comparisons"]
            self.assertEqual(cell["verdict"], "AMBIGUOUS")
            self.assertEqual(cell["reason"], f"new is {status}: no peer")
            self.assertEqual(code, 1)
            self.assertEqual([failure["got"] for failure in document["failures"]], [status])
        bad = self.one()
        bad["measurements"][0]["samples_s"][3] = 0.0
        self.assertIn("not a time", self.verdict(bad, self.one())["reason"])

    def test_cells_on_one_side(self):
        both, left = samples.cell(), samples.cell(kind="d2h")
        right = samples.cell(kind="d2d")
        code, document = self.compare(samples.bench_copy([both, left]),
                                      samples.bench_copy([right, both]))
        self.assertEqual(code, 0)
        self.assertEqual([cell["id"] for cell in document["comparisons"]], [both["id"]])
        self.assertEqual(document["only_old"], [left["id"]])
        self.assertEqual(document["only_new"], [right["id"]])
        code, document = self.compare(samples.bench_copy([left]), samples.bench_copy([right]))
        self.assertEqual((code, document["status"], document["verdict"]), (1, "failed", None))
        [failure] = document["failures"]
        self.assertEqual((failure["what"], failure["expected"], failure["got"]),
                         ("measurements in both documents", "at least 1", 0))

    def test_cells_on_one_side_are_named_first(self):
        both = samples.cell()
        old = [both, *(samples.cell(kind="d2h", size=size << 20) for size in (1, 2, 4, 8))]
        path = samples.write(self.folder, "old.json", samples.bench_copy(old))
        result = program.run("report", "compare", path, samples.write(
            self.folder, "new.json", samples.bench_copy([both, samples.cell(kind="d2d")])))
        self.assertEqual(result.returncode, 0)
        first = " ".join(result.stdout.split("\n\n")[0].split())
        verdict, _, machines = first.partition(" old: ")
        self.assertEqual(machines, "node01, 16 x NVIDIA H200, 2026-03-01T12:00:00Z new: node01, 16 "
                         "x NVIDIA H200, 2026-03-01T12:00:00Z")
        self.assertEqual(verdict, "SAME: 1 of 1 measurement the same not compared: 4 only in the "
                         "old document (d2h.pinned.copy.1MiB@nvidia:0, "
                         "d2h.pinned.copy.2MiB@nvidia:0, "
                         "d2h.pinned.copy.4MiB@nvidia:0, ...), 1 only in the new document "
                         "(d2d.pinned.copy.256MiB@nvidia:0)")

    def test_the_change_is_that_of_what_is_shown(self):
        old, new = self.one(noise=0), self.one(rate=52e9 * 0.27, noise=0)
        code, document = self.compare(old, new)
        cell = document["comparisons"][0]
        self.assertEqual(code, 1)
        self.assertAlmostEqual(cell["rate_change"], -0.73)
        self.assertAlmostEqual(cell["change"], 1 / 0.27 - 1)
        [failure] = document["failures"]
        self.assertEqual({key: value for key, value in failure.items() if value is not None}, {
            "what": cell["id"], "kind": "comparison", "measurement": cell["id"],
            "expected": "52.0 GB/s within 3 %", "got": "14.0 GB/s, rate -73.0 %"})
        paths = [str(self.folder / name) for name in ("old.json", "new.json")]
        text = program.run("report", "compare", *paths).stdout
        self.assertRegex(text, r"New +Change\n.* 14\.0 GB/s  rate -73\.0 %\n")
        self.assertNotIn("+270", text)
        for document in (old, new):   # a latency: only times
            document["measurements"][0]["bytes_per_s"] = None
        self.assertIsNone(self.compare(old, new)[1]["comparisons"][0]["rate_change"])
        self.assertRegex(program.run("report", "compare", *paths).stdout, r"ms  time \+270\.4 %\n")

    def test_kernels(self):
        results = [samples.kernel_result(), samples.kernel_result(dtype="f64")]
        slower = [samples.kernel_result(median_s=1.2e-3, seed=4),
                  samples.kernel_result(dtype="f64", seed=5)]
        code, document = self.compare(samples.run_kernel(results), samples.run_kernel(slower))
        self.assertEqual(code, 1)
        self.assertEqual([(cell["id"], cell["verdict"]) for cell in document["comparisons"]],
                         [("add.f32.67108864.nvidia:0", "SLOWER"),
                          ("add.f64.67108864.nvidia:0", "SAME")])
        self.assertEqual(document["counts"],
                         {"same": 1, "faster": 0, "slower": 1, "ambiguous": 0})

    def test_short_calls_differ_from_run_to_run(self):
        def run_of(median_s, seed):
            return samples.run_kernel([samples.kernel_result(median_s=median_s, seed=seed)])
        self.assertEqual(self.verdict(run_of(10e-6, 1), run_of(16e-6, 2))["verdict"], "SAME")
        self.assertEqual(self.verdict(run_of(16e-6, 1), run_of(10e-6, 2))["verdict"], "SAME")
        self.assertEqual(self.verdict(run_of(10e-6, 1), run_of(25e-6, 2))["verdict"], "SLOWER")
        self.assertEqual(self.verdict(run_of(25e-6, 1), run_of(10e-6, 2))["verdict"], "FASTER")
        self.assertEqual(self.verdict(run_of(10e-3, 1), run_of(16e-3, 2))["verdict"], "SLOWER")

    def stragglers(self, documents):
        files = [samples.write(self.folder, f"f{index}.json", document)
                 for index, document in enumerate(documents)]
        result = program.run("report", "merge", *files, "--format", "json")
        return self.assert_document(result.stdout, "report.schema.json")["stragglers"]

    def test_short_calls_are_no_stragglers(self):
        # As on H200: products of 10 us whose rates vary by 40 % over runs of one host and others.
        def host(number, median_s):
            return samples.run_kernel([samples.kernel_result(median_s=median_s, seed=number)],
                                      host=f"node{number // 2}")
        usual = [host(number, 10e-6) for number in range(8)] + [host(8, 14e-6)]
        self.assertEqual(self.stragglers(usual), [])
        self.assertEqual(len(self.stragglers(usual + [host(20, 40e-6)])), 1)
        # The same rates of long calls are those of slow machines.
        long = [host(number, 10e-3) for number in range(8)] + [host(20, 14e-3)]
        self.assertEqual(len(self.stragglers(long)), 1)

    def test_two_checks_ignore_five_percent(self):
        def check(rate, seed):
            cells = [{**samples.cell(rate=rate, seed=seed), "stage": "copy"}]
            return {**samples.bench_copy(cells), "schema": "hiptool.check/2"}
        self.assertEqual(self.verdict(check(52e9, 1), check(52e9 / 1.04, 2))["verdict"], "SAME")
        self.assertEqual(self.verdict(check(52e9, 1), check(52e9 / 1.08, 2))["verdict"], "SLOWER")
        self.assertEqual(self.verdict(check(52e9, 1), check(52e9 / 1.04, 2), "--effect",
                                      "2%")["verdict"], "SLOWER")

    def test_documents_that_cannot_be_compared_are_wrong_usage(self):
        other_version = {**self.one(), "schema": "hiptool.bench-copy/3"}
        for old, new in ((self.one(), samples.run_kernel([samples.kernel_result()])),
                         (self.one(), other_version), (other_version, other_version),
                         (samples.load(), samples.load())):
            code, document = self.compare(old, new)
            self.assertEqual((code, document["status"]), (2, "failed"))

    def test_damaged_documents_are_bad_input(self):
        text = json.dumps(self.one())
        twice = samples.bench_copy([samples.cell(), samples.cell(seed=2)])
        for bad in ("", "{", text[:-1], text + "x", "[]", "3", "null", '{"a": 1, "a": 2}',
                    '{"schema": "other/1"}', '{"schema": 3}', "[" * 100_000, '{"x":' * 70,
                    "\x00", '{"a": NaN}', twice):
            code, document = self.compare(bad, self.one())
            self.assertEqual(code, 4, str(bad)[:40])
            self.assertIn("old.json", document["error"]["message"])
            self.assertLess(len(document["error"]["message"]), 1000)
        result = program.run("report", "compare", str(self.folder / "none"), "x")
        self.assertEqual(result.returncode, 4)

    def test_members_of_a_wrong_type_are_told_not_crashed_on(self):
        for field in ("measurements", "context", "host", "tool", "status", "started_at"):
            for value in ("text", [1], {"a": {}}):
                code, _ = self.compare({**self.one(), field: value}, self.one())
                self.assertIn(code, (0, 1, 2), (field, value))

    def test_two_checks_and_where_they_were_made(self):
        def check(host, name, uuids, rate):
            cells = [{**samples.cell(destination=f"nvidia:{index}", rate=rate), "stage": "copy"}
                     for index in range(len(uuids))]
            return {**samples.head("check", host), "measurements": cells,
                    "devices": [{"id": f"nvidia:{index}", "name": name, "uuid": uuid}
                                for index, uuid in enumerate(uuids)]}
        old = check("node1", "NVIDIA H200", ["GPU-a", "GPU-b", "GPU-c"], 52e9)
        for new, differences in (
                (check("node1", "NVIDIA H200", ["GPU-a", "GPU-b", "GPU-c"], 40e9), []),
                (check("node2", "NVIDIA H200", ["GPU-d", "GPU-e"], 40e9),
                 ["the hosts differ: node1 and node2",
                  "the devices differ: other serial numbers (uuid) of the same model: nvidia:0-1",
                  "only in the old document: 1 device (nvidia:2)"]),
                (check("node1", "NVIDIA L4", ["GPU-a", "GPU-b", "GPU-c"], 40e9),
                 [f"the devices differ: nvidia:{index} was NVIDIA H200, is NVIDIA L4"
                  for index in range(3)])):
            code, document = self.compare(old, new)
            self.assertEqual((code, document["verdict"]), (1, "SLOWER"))
            self.assertEqual(document["machine_differences"], differences)
            lines = [line["text"] for line in document["shown"]["lines"]]
            self.assertIn("old: node1, 3 x NVIDIA H200, 2026-03-01T12:00:00Z", lines)
            self.assertTrue(any(line.startswith(f"new: {new['host']['name']}, ")
                                for line in lines), lines)
            self.assertLessEqual(set(differences), set(lines))

    def test_table_for_people(self):
        old = samples.write(self.folder, "old.json", self.one())
        new = samples.write(self.folder, "new.json", self.one(rate=40e9, seed=2))
        result = program.run("report", "compare", old, new)
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.startswith("SLOWER: 1 of 1 measurement slower\n"),
                        result.stdout)
        self.assert_width(result.stdout)
        self.assertIn("52.0 GB/s", result.stdout)
        self.assertIn("rate -22.9 %", result.stdout)
        result = program.run("report", "compare", old, new, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual(rows[0]["verdict"], "SLOWER")
        self.assertGreater(float(rows[0]["low"]), 0.2)

    def test_wrong_words(self):
        usage = "hiptool report compare OLD NEW"
        for words, part in ((("report",), "ACTION"), (("report", "compar", "a", "b"), "compare"),
                            (("report", "compare"), usage),
                            (("report", "compare", "a"), usage),
                            (("report", "compare", "a", "b", "c"), usage),
                            (("report", "compare", "a", "b", "--device", "cpu"), "--device")):
            result = program.run(*words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(part, result.stderr)


if __name__ == "__main__":
    program.main(__doc__)
