# SPDX-License-Identifier: MIT
"""`hiptool report merge`: stragglers, who is to blame, files that cannot be used."""
import csv
import io
import os

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
    def merge(self, documents, *words, code=0):
        files = [samples.write(self.folder, f"f{index:02}.json", document)
                 for index, document in enumerate(documents)]
        result = program.run("report", "merge", *files, "--format", "json", *words)
        self.assertEqual(result.returncode, code, result.stderr)
        return self.assert_document(result.stdout, "report.schema.json")

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
                         [("node02", "fast"), ("node03", "slow")])
        five = documents + [host_document(4, rate=51e9)]
        self.assertEqual(self.merge(five)["stragglers"], [])

    def test_no_straggler_among_fewer_than_three(self):
        for rates in ((52e9,), (52e9, 20e9), (20e9, 52e9)):
            documents = [host_document(index, rate=rate) for index, rate in enumerate(rates)]
            document = self.merge(documents)
            self.assertEqual([group["can_tell"] for group in document["groups"]], [False])
            self.assertEqual((document["stragglers"], document["blamed"],
                              document["exclude_hosts"]), ([], [], []))
        document = self.merge(documents + [host_document(2, rate=52e9)])
        self.assertEqual([group["can_tell"] for group in document["groups"]], [True])
        self.assertEqual([one["host"] for one in document["stragglers"]], ["node00"])

    def people(self, documents):
        files = [samples.write(self.folder, f"p{index:02}.json", document)
                 for index, document in enumerate(documents)]
        result = program.run("report", "merge", *files)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_width(result.stdout)
        return result.stdout

    def test_too_few_to_tell_is_said(self):
        two = [host_document(index, rate=rate) for index, rate in enumerate((52e9, 20e9))]
        text = self.people(two)
        self.assertTrue(
            text.startswith("too few to tell a straggler among 2 results of 2 hosts\n"), text)
        self.assertIn("too few to tell: 1 measurement with fewer than 3 results\n", text)
        other = samples.context(name="NVIDIA L4")
        more = [host_document(index, context_of=other) for index in range(2, 5)]
        text = self.people(two + more)
        self.assertTrue(text.startswith(
            "no straggler among 5 results of 5 hosts, 2 of them too few to tell\n"), text)
        failed = samples.bench_copy([samples.cell(status="failed", reason="lost")], host="node09")
        text = self.people(two + [failed])
        self.assertTrue(text.startswith(
            "1 failure among 2 results of 3 hosts, 2 of them too few to tell\n"), text)
        self.assertNotIn("too few", self.people(more))

    def test_fast_ones_are_named_but_not_excluded(self):
        documents = [host_document(index) for index in range(7)] + [host_document(7, rate=70e9)]
        document = self.merge(documents)
        self.assertEqual([one["direction"] for one in document["stragglers"]], ["fast"])
        self.assertEqual((document["blamed"], document["exclude_hosts"]), ([], []))

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
                              blamed["cells"]), (None, "nvidia:1", "nvidia:0", 1))

    def test_failures_are_told_and_excluded(self):
        bad = samples.bench_copy([samples.cell(status="mismatch", reason="3 bytes differ"),
                                  samples.cell(kind="d2h")], host="node09", status="mismatch")
        document = self.merge([host_document(0), bad])
        self.assertEqual([(one["host"], one["status"], one["reason"])
                          for one in document["failures"]],
                         [("node09", "mismatch", "3 bytes differ")])
        self.assertEqual(document["exclude_hosts"], ["node09"])

    def test_broken_and_duplicate_files_are_named(self):
        documents = [host_document(0), host_document(1), host_document(0), "{", "[]",
                     samples.head("devices"), {**host_document(2), "schema": "hiptool.load/9"}]
        document = self.merge(documents)
        self.assertEqual(document["hosts"], 2)
        reasons = {os.path.basename(one["path"]): one["reason"]
                   for one in document["skipped_files"]}
        self.assertEqual(sorted(reasons), ["f02.json", "f03.json", "f04.json", "f05.json",
                                           "f06.json"])
        self.assertIn("f00.json", reasons["f02.json"])
        self.assertIn("parse error", reasons["f03.json"])
        self.assertIn("no document of hiptool", reasons["f04.json"])
        self.assertIn("measured nothing", reasons["f05.json"])
        self.assertIn("does not know", reasons["f06.json"])

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
        for host in ("a b", "$(rm)", "-x", "a,b", "a\nb", "", None, 3):
            slow = host_document(8, rate=40e9)
            slow["host"]["name"] = host
            documents = [host_document(index) for index in range(7)] + [slow]
            document = self.merge(documents)
            self.assertEqual(len(document["stragglers"]), 1)
            self.assertEqual(document["exclude_hosts"], [])

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
        self.assertTrue(result.stdout.startswith("1 straggler among 8 results of 8 hosts\n"),
                        result.stdout)
        self.assert_width(result.stdout)
        self.assertIn("exclude: node07", result.stdout)
        result = program.run("report", "merge", *files, "--format", "csv")
        first = result.stdout.split("\n\n")[0]
        rows = list(csv.DictReader(io.StringIO(first)))
        self.assertEqual([row["host"] for row in rows], ["node07"])
        self.assertIn("| node07 |", program.run("report", "merge", *files, "--format",
                                                "markdown").stdout)
        self.assertIn("<td>node07</td>", program.run("report", "merge", *files, "--format",
                                                     "html").stdout)
        self.assertEqual(program.run("report", "merge", *files, "--format", "prom").returncode, 2)


if __name__ == "__main__":
    program.main(__doc__)
