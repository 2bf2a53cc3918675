# SPDX-License-Identifier: MIT
"""`hiptool report merge`: stragglers, who is to blame, files that cannot be used."""
import csv
import io
import os
import re

import program
import report_samples as samples


def host_document(index, rate=52e9, **more):
    return samples.bench_copy([samples.cell(rate=rate, seed=index)], host=f"node{index:02}", **more)


def matrix(slow=lambda a, b: False, count=4, host="node01"):
    """All pairs of devices of one host; those that `slow` names reach half the rate."""
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    return samples.bench_copy(
        [samples.cell(kind="p2p-read", source=f"nvidia:{a}", destination=f"nvidia:{b}",
                      rate=200e9 if slow(a, b) else 400e9, seed=10 * a + b)
         for a, b in pairs], host=host)


class Merge(program.CliTest):
    def merge(self, documents, *words, code=None):
        """The document; without a code it is 1 for a straggler and 0 for none."""
        files = [samples.write(self.folder, f"f{index:02}.json", document)
                 for index, document in enumerate(documents)]
        result = program.run("report", "merge", *files, "--format", "json", *words)
        document = self.assert_document(result.stdout, "report.schema.json")
        if code is None:
            code = int(bool(document["stragglers"]))
        self.assertEqual(result.returncode, code, result.stderr)
        return document

    def test_one_slow_host_among_eight(self):
        documents = [host_document(index) for index in range(7)] + [host_document(7, rate=45e9)]
        document = self.merge(documents)
        self.assertEqual(document["hosts"], 8)
        self.assertEqual([group["members"] for group in document["groups"]], [8])
        group = document["groups"][0]
        self.assertEqual((group["label"], group["device_name"], group["unit"]),
                         ("h2d.pinned.copy.256MiB", "NVIDIA H200", "bytes_per_s"))
        self.assertEqual(len(document["stragglers"]), 1)
        straggler = document["stragglers"][0]
        self.assertEqual((straggler["host"], straggler["direction"]), ("node07", "slow"))
        self.assertEqual(straggler["blame"], {"host": "node07", "device": "nvidia:0",
                                              "source": None, "destination": None})
        self.assertAlmostEqual(straggler["deviation"], 45 / 52 - 1, delta=0.01)
        self.assertLess(straggler["z"], -3.5)
        self.assertEqual(document["exclude_hosts"], ["node07"])

    def test_z_is_that_of_iglewicz_and_hoaglin(self):
        documents = [samples.bench_copy([samples.cell(rate=rate * 1e9, noise=0)],
                                        host=f"node{index:02}")
                     for index, rate in enumerate((50, 51, 52, 53, 54, 30))]
        straggler = self.merge(documents)["stragglers"][0]
        # median 51.5; distances .5 .5 1.5 1.5 2.5 21.5: MAD 1.5
        self.assertAlmostEqual(straggler["z"], 0.6745 * (30 - 51.5) / 1.5, places=6)
        self.assertAlmostEqual(straggler["median"], 51.5e9, delta=1)

    def test_both_rules_must_hold(self):
        # 4 % below, far outside of the narrow rest: no straggler. 6 %: one.
        near = [host_document(index, rate=52e9) for index in range(9)]
        self.assertEqual(self.merge(near + [host_document(9, rate=52e9 * 0.96)])["stragglers"], [])
        self.assertEqual(
            len(self.merge(near + [host_document(9, rate=52e9 * 0.93)])["stragglers"]), 1)
        # 10 % below, but so are others: the spread is wide.
        wide = [host_document(index, rate=(40 + 3 * index) * 1e9) for index in range(8)]
        self.assertEqual(self.merge(wide)["stragglers"], [])

    def test_below_five_members_the_percentage_decides(self):
        documents = [host_document(index, rate=rate) for index, rate
                     in enumerate((52e9, 50e9, 55e9, 47e9))]
        found = self.merge(documents)["stragglers"]
        self.assertEqual([(one["host"], one["direction"]) for one in found],
                         [("node03", "slow")])
        five = documents + [host_document(4, rate=51e9)]
        self.assertEqual(self.merge(five)["stragglers"], [])

    def test_no_straggler_among_fewer_than_three(self):
        for rates in ((52e9, 20e9), (20e9, 52e9)):
            documents = [host_document(index, rate=rate) for index, rate in enumerate(rates)]
            document = self.merge(documents)
            self.assertEqual([group["can_tell"] for group in document["groups"]], [False])
            self.assertEqual((document["stragglers"], document["blamed"],
                              document["exclude_hosts"]), ([], [], []))
        document = self.merge(documents + [host_document(2, rate=52e9)])
        self.assertEqual([group["can_tell"] for group in document["groups"]], [True])
        self.assertEqual([one["host"] for one in document["stragglers"]], ["node00"])

    def people(self, documents, code=0):
        files = [samples.write(self.folder, f"p{index:02}.json", document)
                 for index, document in enumerate(documents)]
        result = program.run("report", "merge", *files)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assert_width(result.stdout)
        return result.stdout

    def test_too_few_to_tell_is_said(self):
        two = [host_document(index, rate=rate) for index, rate in enumerate((52e9, 20e9))]
        text = self.people(two)
        self.assertTrue(
            text.startswith("too few results to find stragglers among 2 results of 2 "
                            "hosts\n"), text)
        self.assertIn("too few results: 1 measurement with fewer than 3 results\n", text)
        other = samples.context(name="NVIDIA L4")
        more = [host_document(index, context_of=other) for index in range(2, 5)]
        text = self.people(two + more)
        self.assertTrue(text.startswith(
            "no straggler among 5 results of 5 hosts, 2 of them in groups too small to\n"
            "  compare\n"), text)
        failed = samples.bench_copy([samples.cell(status="failed", reason="lost")], host="node09")
        text = self.people(two + [failed], code=1)
        self.assertTrue(text.startswith(
            "FAILED: 1 failure among 2 results of 3 hosts, 2 of them in groups too small to\n"
            "  compare\n"), text)
        self.assertNotIn("too few", self.people(more))

    def test_fast_ones_are_no_stragglers(self):
        documents = [host_document(index) for index in range(7)] + [host_document(7, rate=70e9)]
        document = self.merge(documents, code=0)
        self.assertEqual((document["stragglers"], document["blamed"], document["exclude_hosts"]),
                         ([], [], []))
        self.assertNotIn("node07", self.people(documents).split("Measured")[0])
        # Two of three are slow beside the third, and are the usual ones.
        three = [host_document(0), host_document(1), host_document(2, rate=70e9)]
        self.assertEqual(self.merge(three, code=0)["stragglers"], [])

    def test_one_whose_best_samples_are_usual_is_no_straggler(self):
        documents = [host_document(index) for index in range(7)]
        slow = samples.cell(rate=26e9)
        usual_s, slow_s = slow["size_bytes"] / 53e9, slow["size_bytes"] / 26e9
        for usual_ones, stragglers in ((8, 0), (0, 1)):
            slow["samples_s"] = [usual_s] * usual_ones + [slow_s] * (20 - usual_ones)
            merged = self.merge(documents + [samples.bench_copy([slow], host="node07")])
            self.assertEqual(len(merged["stragglers"]), stragglers, usual_ones)

    def test_equal_values_are_no_stragglers(self):
        documents = [samples.bench_copy([samples.cell(noise=0)], host=f"node{index}")
                     for index in range(8)]
        self.assertEqual(self.merge(documents)["stragglers"], [])

    def test_devices_of_other_names_are_not_compared(self):
        other = samples.context(name="NVIDIA L4")
        documents = [host_document(index) for index in range(6)]
        documents += [host_document(index, rate=12e9, context_of=other) for index in range(6, 12)]
        document = self.merge(documents)
        self.assertEqual(document["stragglers"], [])
        self.assertEqual(sorted(group["device_name"] for group in document["groups"]),
                         ["NVIDIA H200", "NVIDIA L4"])

    def test_a_slow_device_is_blamed_by_its_row_or_column(self):
        for slow in (lambda a, b: a == 2, lambda a, b: b == 2, lambda a, b: 2 in (a, b)):
            for count in (3, 4, 8):
                document = self.merge([matrix(slow, count), matrix(count=count, host="node02")])
                self.assertEqual({(one["host"], one["device"]) for one in document["blamed"]},
                                 {("node01", "nvidia:2")})
                self.assertEqual(document["exclude_hosts"], ["node01"])

    def test_copies_among_many_devices(self):
        def document(host, rate):
            both = "nvidia:0,nvidia:1,nvidia:2"
            cells = [samples.cell(kind="one-to-all", source="nvidia:0",
                                  destination="nvidia:1,nvidia:2", rate=rate),
                     samples.cell(kind="all-to-one", source="nvidia:0,nvidia:1",
                                  destination="nvidia:2", rate=rate),
                     samples.cell(kind="all-to-all", source=both, destination=both, rate=rate)]
            return samples.bench_copy(cells, host=host)

        merged = self.merge([document("a", 50e9), document("b", 50e9), document("c", 40e9)])
        self.assertEqual({group["device_name"] for group in merged["groups"]}, {"NVIDIA H200"})
        self.assertEqual(
            sorted((one["host"], one["device"] or one["source"]) for one in merged["blamed"]),
            [("c", "nvidia:0"), ("c", "nvidia:0,nvidia:1,nvidia:2"), ("c", "nvidia:2")])

    def test_a_slow_link_is_blamed_alone(self):
        for count in (2, 3, 4, 8):
            document = self.merge([matrix(lambda a, b: (a, b) == (1, 0), count),
                                   matrix(count=count, host="node02"),
                                   matrix(count=count, host="node03")])
            self.assertEqual(len(document["blamed"]), 1)
            blamed = document["blamed"][0]
            self.assertEqual((blamed["device"], blamed["source"], blamed["destination"],
                              blamed["measurements"]), (None, "nvidia:1", "nvidia:0", 1))

    def test_failures_are_told_and_excluded(self):
        bad = samples.bench_copy([samples.cell(status="mismatch", reason="3 bytes differ"),
                                  samples.cell(kind="d2h")], host="node09", status="mismatch")
        document = self.merge([host_document(0), host_document(1), bad], code=1)
        self.assertEqual([(one["host"], one["kind"], one["reason"], one["what"], one["got"])
                          for one in document["failures"]],
                         [("node09", "measurement", "3 bytes differ",
                           "node09 h2d.pinned.copy.256MiB@nvidia:0", "mismatch: 3 bytes differ")])
        self.assertEqual(document["exclude_hosts"], ["node09"])
        # Where every result failed there is no group whose name could be shown.
        text = self.people([{**bad, "measurements": bad["measurements"][:1]}], code=1)
        self.assertTrue(text.startswith("FAILED: 1 failure among 0 results of 1 host\n"), text)

    def test_a_straggler_is_a_failure_with_both_figures(self):
        documents = [host_document(index) for index in range(7)] + [host_document(7, rate=45e9)]
        failures = self.merge(documents, code=1)["failures"]
        self.assertEqual([(one["what"], one["kind"]) for one in failures],
                         [("node07 nvidia:0 h2d.pinned.copy.256MiB", "straggler")])
        self.assertEqual((failures[0]["expected"], failures[0]["got"]),
                         ("52.0 GB/s, the median of 8", "45.0 GB/s"))

    def test_a_longer_latency_is_the_slow_one(self):
        def latency(index, time_s):
            cell = samples.cell(size=4096, rate=4096 / time_s, noise=0)
            for field in cell:
                if field.endswith("bytes_per_s") or field == "share_of_limit":
                    cell[field] = None
            return samples.bench_copy([{**cell, "latency_s": time_s}], host=f"node{index:02}")

        usual = [latency(index, (8.0 + index / 100) * 1e-6) for index in range(6)]
        document = self.merge(usual + [latency(6, 16e-6)], code=1)
        group, straggler = document["groups"][0], document["stragglers"][0]
        self.assertEqual((group["unit"], straggler["host"], straggler["direction"]),
                         ("s", "node06", "slow"))
        self.assertAlmostEqual(straggler["value"], 16e-6)
        self.assertAlmostEqual(group["median"], 8.03e-6)
        self.assertAlmostEqual(group["max"], 16e-6)
        self.assertAlmostEqual(straggler["deviation"], 16 / 8.03 - 1)
        self.assertGreater(straggler["z"], 3.5)
        self.assertAlmostEqual(document["blamed"][0]["worst_deviation"], 16 / 8.03 - 1)
        self.assertEqual(document["exclude_hosts"], ["node06"])
        text = self.people(usual + [latency(6, 16e-6)], code=1)
        self.assertRegex(text, r"node06  nvidia:0 +1  h2d\.\S+ +16\.0 us +\+99\.3 %\n")
        self.assertRegex(text, r"8\.03 us +8\.00 us +16\.0 us\n")
        self.assertEqual(self.merge(usual + [latency(6, 4e-6)], code=0)["stragglers"], [])

    def test_a_slow_device_is_blamed_for_its_latencies(self):
        def latencies(slow, host):
            document = matrix(slow, 4, host)
            for cell in document["measurements"]:
                cell["bytes_per_s"] = None
            return document

        blamed = self.merge([latencies(lambda a, b: a == 2, "node01"),
                             latencies(lambda a, b: False, "node02")], code=1)["blamed"]
        self.assertEqual({(one["host"], one["device"]) for one in blamed},
                         {("node01", "nvidia:2")})

    def test_runs_that_failed_do_not_vanish(self):
        usual = [host_document(index) for index in range(3)]
        error = {"code": "unavailable", "message": "no usable device", "hint": None,
                 "native": None}
        verdict = {"exit_code": 3, "passed": False, "failures": []}
        nothing = {**samples.head("bench-copy", "node08", "failed"), "error": error, **verdict}
        missed = {**host_document(9), "status": "failed", "exit_code": 1, "passed": False,
                  "failures": [{"what": "h2d>=60GB/s", "expected": "60 GB/s", "got": "52 GB/s"}]}
        document = self.merge(usual + [nothing, missed], code=1)
        self.assertEqual([(one["kind"], one["host"], one["got"]) for one in document["failures"]],
                         [("run", "node09", "exit code 1: h2d>=60GB/s: expected 60 GB/s, got "
                           "52 GB/s"),
                          ("run", "node08", "exit code 3: no usable device")])
        self.assertEqual(document["exclude_hosts"], ["node08", "node09"])
        self.assertEqual((document["hosts"], document["passed"]), (5, False))
        text = self.people(usual + [nothing, missed], code=1)
        self.assertTrue(text.startswith(
            "FAILED: 2 failed runs among 4 results of 5 hosts; left out: 1 file\n"), text)
        # A document of an earlier version, without a verdict of its own.
        old = {**samples.first_version(host_document(4)),
               "thresholds": [{"threshold": "h2d>=60GB/s", "is_met": False}]}
        self.assertEqual(self.merge(usual + [old], code=1)["failures"][0]["host"], "node04")
        self.assertEqual(self.merge([nothing], code=1)["hosts"], 1)

    def test_nothing_in_common(self):
        other = samples.bench_copy([samples.cell(kind="d2h")], host="node01")
        for documents in ([host_document(0), other], [host_document(0)]):
            document = self.merge(documents, code=1)
            self.assertEqual([(one["kind"], one["expected"], one["got"])
                              for one in document["failures"]],
                             [("nothing in common", "at least 1", 0)])
            self.assertTrue(self.people(documents, code=1).startswith(
                "FAILED: nothing in common: "))

    def test_broken_and_duplicate_files_are_named(self):
        documents = [host_document(0), host_document(1), host_document(0), "{", "[]",
                     samples.bench_copy([], host="node05"),
                     {**host_document(2), "schema": "hiptool.load/9"}]
        document = self.merge(documents, code=4)
        self.assertEqual(document["hosts"], 2)
        self.assertIn("cannot use 3 files of 5", document["error"]["message"])
        # A copy of another document and one that measured nothing are no damage.
        self.merge(documents[:3] + [samples.bench_copy([], host="node05")])
        reasons = {os.path.basename(one["path"]): one["reason"]
                   for one in document["skipped_files"]}
        self.assertEqual(sorted(reasons), ["f02.json", "f03.json", "f04.json", "f05.json",
                                           "f06.json"])
        self.assertIn("f00.json", reasons["f02.json"])
        self.assertIn("parse error", reasons["f03.json"])
        self.assertIn("not a document of hiptool", reasons["f04.json"])
        self.assertIn("measured nothing", reasons["f05.json"])
        self.assertIn("unsupported document version", reasons["f06.json"])

    def test_documents_without_measurements_are_refused_by_their_schema(self):
        usual = [host_document(0), host_document(1)]
        expect = {"schema": "hiptool.expect/1", "level": "quick", "gpus": {}}
        for document, name, hint in (
                (expect, "hiptool.expect", "hiptool check --expect FILE"),
                (samples.head("devices"), "hiptool.devices", "give documents of check, bench-copy"),
                (samples.head("inspect"), "hiptool.inspect", "give documents of check, bench-copy"),
                (self.merge(usual), "hiptool.report", "give documents of check, bench-copy")):
            for others in ([], usual):
                merged = self.merge(others + [document], code=4)
                self.assertIn(name, merged["error"]["message"])
                self.assertIn(hint, merged["error"]["hint"])
        merged = self.merge(usual + ["{", expect], code=4)   # with different hints
        self.assertIn("leave the files out", merged["error"]["hint"])

    def test_machines_with_long_reasons_stay_a_table(self):
        def checked(host, reason):
            document = {**samples.head("check", host, "failed"), "exit_code": 1, "passed": False,
                        "failures": [{"what": reason, "expected": "a", "got": "b"}]}
            return document
        long = "copy nvidia:0 and a text that is by far too long for a line of eighty columns"
        text = self.people([checked("node1", "copy nvidia:0"),
                            checked("node2", long + "\n" + long)], code=1)
        self.assertRegex(text, r"(?m)^Host   Verdict  Reason$")
        self.assertRegex(text, r"(?m)^node1  refused  copy nvidia:0$")
        self.assertLess(text.index("node1 "), text.index("node2 "))
        self.assertRegex(text, r"(?m)^node2  refused  copy nvidia:0 and a text .*\.\.\.$")

    def checked(self, host, refused=None, rate=52e9, at="2026-03-01T12:00:00Z", gpus=1, **more):
        """A document of check; `refused` is the device that fails the stage copy."""
        cells = [{**samples.cell(destination=f"nvidia:{index}", rate=rate if index == 0 else 52e9,
                                 noise=0), "stage": "copy"} for index in range(gpus)]
        document = {**samples.head("check", host), "started_at": at, "measurements": cells,
                    "devices": [{"id": f"nvidia:{index}", "name": "NVIDIA H200"}
                                for index in range(gpus)]}
        if refused:
            document.update(status="failed", exit_code=1, passed=False, failures=[{
                "what": f"copy {refused}", "kind": "stage", "device": refused, "stage": "copy",
                "measurement": f"h2d@{refused}", "expected": "48.0 GB/s", "got": "24.1 GB/s",
                "reason": f"h2d: 24.1 GB/s on {host}", "action": "reseat it",
                "code": "HT-COPY-RATE", "action_class": "config", "host": None, "tensor": None,
                "file": None}])
        return {**document, **more}

    def test_refused_machines_come_first_and_node2_before_node10(self):
        documents = [self.checked(f"node{number}") for number in (10, 2, 11, 1, 3)]
        documents += [self.checked("node12", refused="nvidia:0"),
                      self.checked("node4", refused="nvidia:1")]
        documents.append(self.checked("node5", status="interrupted", exit_code=130, passed=False))
        text = self.people(documents, code=1)
        machines = text.split("Machines\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual([" ".join(line.split()).replace(" [HT-COPY-RATE]", "+")
                          for line in machines[1:]],
                         ["node4 refused copy nvidia:1+", "node12 refused copy nvidia:0+",
                          "node5 interrupted exit code 130", "node1-3, node10-11 accepted –"])
        document = self.merge(documents, code=1)
        self.assertEqual([one["host"] for one in document["files"]],
                         [f"node{number}" for number in (1, 2, 3, 4, 5, 10, 11, 12)])
        self.assertEqual(document["exclude_hosts"], ["node4", "node5", "node12"])

    def test_a_straggler_is_named_once_and_not_only_accepted(self):
        documents = [self.checked(f"node{number}") for number in range(1, 7)]
        slow = self.checked("node7", rate=40e9)
        other = samples.cell(kind="d2h", source="nvidia:0", destination="host", rate=40e9, noise=0)
        slow["measurements"].append({**other, "stage": "copy"})
        for document in documents:
            document["measurements"].append({**samples.cell(
                kind="d2h", source="nvidia:0", destination="host", noise=0), "stage": "copy"})
        document = self.merge(documents + [slow])
        self.assertEqual(len(document["stragglers"]), 2)
        self.assertEqual([(one["host"], one["device"], one["measurements"])
                          for one in document["blamed"]], [("node7", "nvidia:0", 2)])
        text = self.people(documents + [slow], code=1)
        self.assertRegex(text, r"(?m)^node7 +slow +slower than the others: nvidia:0 "
                               r"\[HT-STRAGGLER\]$")
        self.assertRegex(text, r"(?m)^node1-6 +accepted")
        rows = text.split("Stragglers [HT-STRAGGLER]\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual(len(rows), 2, rows)
        self.assertRegex(rows[1], r"^node7 +nvidia:0 +2 +\S+ +40\.0 GB/s +-23\.1 %$")

    def test_every_finding_has_its_code_in_every_format(self):
        document = self.merge([*(self.checked(f"node{number}") for number in range(1, 7)),
                               self.checked("node7", rate=40e9),
                               self.checked("node8", refused="nvidia:0")], code=1)
        self.assertEqual([(failure["host"], failure["kind"], failure["code"])
                          for failure in document["failures"]],
                         [("node7", "straggler", "HT-STRAGGLER"), ("node8", "run", "HT-COPY-RATE")])
        files = [str(path) for path in sorted(self.folder.glob("f*.json"))]
        for output in ("table", "markdown", "html", "junit", "prom"):
            text = program.run("report", "merge", *files, "--format", output).stdout
            for code in ("HT-STRAGGLER", "HT-COPY-RATE"):
                self.assertIn(code, text, output)

    def test_the_same_finding_on_the_same_slot_of_all_hosts_is_one_line(self):
        documents = [self.checked(f"node{number}", refused="nvidia:3", gpus=8)
                     for number in range(1, 65)]
        document = self.merge(documents, code=1)
        self.assertEqual(len(document["shared_findings"]), 1)
        finding = document["shared_findings"][0]
        self.assertEqual((finding["device"], finding["code"], finding["is_on_all"],
                          len(finding["hosts"]), finding["hosts"][9]),
                         ("nvidia:3", "HT-COPY-RATE", True, 64, "node10"))
        text = self.people(documents, code=1)
        self.assertIn("systematic: copy nvidia:3 on all 64 hosts (node1-64): h2d: 24.1 GB/s on "
                      "node1\n  [HT-COPY-RATE]\n  to do: look for one cause", text)
        self.assertTrue(text.startswith("FAILED: 1 systematic fault and 64 failed runs "), text)
        self.assertRegex(text, r"(?m)^node1-64  refused  copy nvidia:3 \[HT-COPY-RATE\]$")
        self.assertNotIn("failed run ", text)
        self.assertLess(len(text.splitlines()), 40, text)
        # Another slot of one host is its own, and what only some hosts have is not systematic.
        documents[5] = self.checked("node6", refused="nvidia:2", gpus=8)
        document = self.merge(documents, code=1)
        self.assertEqual([(one["device"], one["is_on_all"], len(one["hosts"]))
                          for one in document["shared_findings"]], [("nvidia:3", False, 63)])
        text = self.people(documents, code=1)
        self.assertIn("copy nvidia:3 on 63 hosts (node1-5, node7-64): ", text)
        self.assertIn("  to do: reseat it\n", text)
        self.assertIn("on node6: exit code 1: copy nvidia:2", text.replace("\n  ", " "))

    def test_one_host_over_time(self):
        days = [self.checked("node1", at=f"2026-03-0{day}T12:00:00Z", rate=rate)
                for day, rate in ((4, 45e9), (1, 52e9), (2, 53e9), (3, 51e9))]
        other = [self.checked("node2", at=f"2026-03-0{day}T12:00:00Z") for day in (1, 2)]
        document = self.merge(days + other, code=None)
        self.assertEqual([(one["host"], one["runs"], one["last_at"])
                          for one in document["trends"]],
                         [("node1", 4, "2026-03-04T12:00:00Z"),
                          ("node2", 2, "2026-03-02T12:00:00Z")])
        trend = document["trends"][0]
        self.assertAlmostEqual(trend["usual"], 52e9, delta=1)
        self.assertAlmostEqual(trend["change"], 45 / 52 - 1, delta=1e-6)
        text = self.people(days + other, code=document["exit_code"])
        self.assertRegex(text, r"node1 +4 +2026-03-04 +52\.0 GB/s +45\.0 GB/s +-13\.5 % +h2d\S+")
        self.assertIn("over time: 1 of 2 repeated measurements changed by 5 % or more\n", text)
        self.assertEqual(
            re.findall(r"(?m)^node1 +2026-03-0(\d)\S+ +(\w+)", text.split("Stragglers")[0]),
            [("4", "slow"), ("1", "accepted"), ("2", "accepted"), ("3", "accepted")])
        # One day alone is no trend.
        self.assertEqual(self.merge(days[:1] + other[:1], code=None)["trends"], [])

    def test_nothing_left_is_an_error(self):
        document = self.merge(["{", samples.head("devices")], code=4)
        self.assertIn("f00.json", document["error"]["message"])
        self.assertIn("f01.json", document["error"]["message"])
        self.assertEqual(program.run("report", "merge").returncode, 2)
        self.assertEqual(program.run("report", "merge", str(self.folder / "none")).returncode, 4)

    def test_exclude_list(self):
        path = self.folder / "exclude"
        slow = [host_document(index, rate=45e9) for index in (8, 7)]
        documents = [host_document(index) for index in range(7)] + slow
        self.merge(documents, "--exclude-list", str(path))
        self.assertEqual(path.read_text(encoding="utf-8"), "node07,node08\n")
        self.merge(documents[:7], "--exclude-list", str(path))
        self.assertEqual(path.read_text(encoding="utf-8"), "")
        result = program.run("report", "merge", "x", "--exclude-list", f"{self.folder}/no/x")
        self.assertEqual(result.returncode, 7)

    def test_what_is_no_host_name_is_never_pasted(self):
        for host, shown in (("a b",) * 2, ("$(rm)", "..rm."), ("-x",) * 2, ("a,b",) * 2,
                            ("a\nb", "a.*x0Ab"), ("", ".*f07"), (None, ".*f07"), (3, ".*f07")):
            documents = [host_document(index, rate=52e9 - index // 7 * 12e9) for index in range(8)]
            documents[7]["host"]["name"] = host
            document = self.merge(documents)
            self.assertEqual((len(document["stragglers"]), document["exclude_hosts"]), (1, []))
            self.assertRegex(str(document["shown"]["notes"]), f"not among the hosts.*: {shown}")

    def test_kernels_and_loads(self):
        kernels = [samples.run_kernel([samples.kernel_result(median_s=1e-3)], host=f"n{index}")
                   for index in range(6)]
        kernels.append(samples.run_kernel([samples.kernel_result(median_s=2e-3)], host="n9"))
        loads = [samples.load(host=f"n{index}") for index in range(6)]
        loads.append(samples.load(host="n8", rate=2e9))
        document = self.merge(kernels + loads)
        self.assertEqual(sorted(one["host"] for one in document["stragglers"]), ["n8", "n9"])
        self.assertEqual(document["exclude_hosts"], ["n8", "n9"])

    def test_people_and_programs(self):
        documents = [host_document(index) for index in range(7)] + [host_document(7, rate=40e9)]
        files = [samples.write(self.folder, f"{index}.json", document)
                 for index, document in enumerate(documents)]
        result = program.run("report", "merge", *files)
        self.assertTrue(result.stdout.startswith(
            "FAILED: 1 straggler among 8 results of 8 hosts\n"), result.stdout)
        self.assert_width(result.stdout)
        self.assertIn("exclude: node07", result.stdout)
        result = program.run("report", "merge", *files, "--format", "csv")
        self.assertNotIn("\n\n", result.stdout)
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual([row["host"] for row in rows], [f"node{index:02}" for index in range(8)])
        self.assertEqual([row["host"] for row in rows if row["straggler"] == "slow"], ["node07"])
        self.assertAlmostEqual(float(rows[7]["deviation"]), 45 / 52 - 1, delta=0.15)
        self.assertIn("| node07 |", program.run("report", "merge", *files, "--format",
                                                "markdown").stdout)
        self.assertIn("<td>node07</td>", program.run("report", "merge", *files, "--format",
                                                     "html").stdout)
        result = program.run("report", "merge", *files, "--format", "svg")
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    program.main(__doc__)
