# SPDX-License-Identifier: MIT
"""`report render FILE --format csv` writes what the run itself wrote with `--format csv`.

The environment is that of check_test.py. Usage: report_csv_test.py PROGRAM [unittest options].
"""
import csv
import io
import json

import program
import report_samples as samples
from check_test import fakes

H2D = ["bench-copy", "--kind", "h2d", "--size", "64KiB", "--memory", "pinned", "--device", "cpu"]
CHECK = ["check", "--size", "64KiB", "--timeout", "200"]
GPUS = [*CHECK, "--spread", "90%"]


class Csv(program.CliTest):
    def agree(self, *words, code=0, **faults):
        """Path of the document of such a run, whose rendered table is compared with the run's."""
        path = self.folder / f"{len(list(self.folder.iterdir()))}.json"
        table = path.with_suffix(".csv")
        result = program.run(*map(str, words), "--export", f"json={path}", "--export",
                             f"csv={table}", environment=fakes(**faults))
        self.assertEqual(result.returncode, code, result)
        rendered = program.run("report", "render", str(path), "--format", "csv").stdout
        self.assertEqual(rendered.splitlines(),
                         table.read_text(encoding="utf-8").splitlines(), words)
        return path

    def test_checks_and_their_merge(self):
        files = [self.agree(*CHECK, "--device", "cpu", "--stage", "copy,memory"),
                 self.agree(*GPUS, "--stage", "copy")]
        merged = self.agree("report", "merge", *files)
        table = merged.with_suffix(".csv").read_text(encoding="utf-8")
        hosts = {row["file"] for row in csv.DictReader(io.StringIO(table))}
        self.assertEqual(hosts, set(map(str, files)))

    def test_seconds_of_a_soak(self):
        path = self.agree("check", "--device", "cpu", "--stage", "soak", "--duration", "2s",
                          "--size", "64KiB")
        self.assertIn("\nrates of each second,", path.with_suffix(".csv").read_text("utf-8"))

    def test_a_check_that_fails(self):
        self.agree(*GPUS, "--stage", "memory", code=5,
                   FAKE_CUDA_FLAKY="1:hiptool_memtest_write")

    def test_devices(self):
        for words in ((), ("cpu",), ("--topology",)):
            self.agree("devices", *words)
        self.agree("devices", "--doctor", "--topology", code=self.code_of_doctor())

    def code_of_doctor(self):
        return program.run("devices", "--doctor", "--topology", environment=fakes()).returncode

    def test_measurements_and_comparisons(self):
        old = self.agree(*H2D)
        self.agree(*H2D, "--repeat", "2")
        self.agree("run-kernel", "fill", "--device", "cpu", "--dtype", "f32", "--size", "64KiB",
                   "--samples", "9")
        self.agree("run-kernel", "--list")
        self.agree("report", "compare", old, old)

    def test_models(self):
        model = self.folder / "m.safetensors"
        self.assertEqual(program.run("make-model", str(model), "--size", "64K").returncode, 0)
        for words in (("inspect", model), ("inspect", model, "--tensors"),
                      ("load", model, "--device", "cpu"),
                      ("load", model, "--device", "cpu", "--tensors")):
            self.agree(*words)

    def test_rows_of_another_width_are_not_taken(self):
        path = self.agree(*H2D)
        document = json.loads(path.read_text(encoding="utf-8"))
        document["shown"]["csv"] = {"columns": ["=a", "b"], "rows": [[1, "+c"]]}
        path.write_text(json.dumps(document), encoding="utf-8")
        render = ("report", "render", str(path), "--format", "csv")
        self.assertEqual(program.run(*render).stdout,
                         "'=a,b,exit_code,passed\n1,'+c,0,true\n")
        document["shown"]["csv"]["rows"] = [[1]]
        path.write_text(json.dumps(document), encoding="utf-8")
        self.assertEqual(program.run(*render).stdout,
                         path.with_suffix(".csv").read_text(encoding="utf-8"))

    def test_documents_without_what_was_shown(self):
        path = samples.write(self.folder, "a.json", samples.bench_copy([samples.cell()]))
        table = program.run("report", "render", path, "--format", "csv").stdout
        row, = csv.DictReader(io.StringIO(table))
        self.assertEqual((row["id"], row["exit_code"]), (samples.cell()["id"], "0"))


if __name__ == "__main__":
    program.main(__doc__)
