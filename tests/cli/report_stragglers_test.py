# SPDX-License-Identifier: MIT
"""The table of stragglers of `hiptool report merge`: the same place of several hosts is one line.

Usage: report_stragglers_test.py PROGRAM [unittest options].
"""
import json

import program
import report_samples as samples

FAST, SLOW, SLOWER, SLOWEST = 52e9, 40e9, 39e9, 30e9


def document_of(host, rates):
    """Of bench-copy on GPUs with these rates."""
    cells = [samples.cell(destination=f"nvidia:{index}", rate=rate, noise=0)
             for index, rate in enumerate(rates)]
    return samples.bench_copy(cells, host=host)


class Stragglers(program.CliTest):
    def merge(self, *words):
        result = program.run("report", "merge", *self.files, *words)
        self.assertEqual(result.returncode, 1, result.stderr)
        return result.stdout

    def test_the_same_slow_slot_of_all_hosts_is_one_line(self):
        hosts = {f"node{number}": [FAST] * 8 for number in range(1, 13)}
        for rates in hosts.values():
            rates[3] = SLOW
        hosts["node12"][3] = SLOWER
        hosts["node5"][6] = SLOWEST
        self.files = [samples.write(self.folder, f"{host}.json", document_of(host, rates))
                      for host, rates in hosts.items()]
        text = self.merge()
        rows = text.split("Stragglers [HT-STRAGGLER]\n")[1].split("\n\n")[0].splitlines()
        # The figures are those of the worst host: 30 / 52 = 0.577, 39 / 52 = 0.75.
        self.assertEqual([" ".join(row.split()) for row in rows[1:]], [
            "node5 nvidia:6 1 h2d.pinned.copy.256MiB 30.0 GB/s -42.3 %",
            "node1-12 nvidia:3 12 h2d.pinned.copy.256MiB 39.0 GB/s -25.0 %"])
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertEqual(len(json.loads(self.merge("--format", "json"))["blamed"]), 13)


if __name__ == "__main__":
    program.main(__doc__)
