# SPDX-License-Identifier: MIT
"""`check`: its screens on terminals and in pipes, test cases, wrong usage, fleets.

FAKE_CUDA and FAKE_BLAS_FOLDER as in check_test.py. Usage: check_output_test.py PROGRAM [unittest
options].
"""
import json
import re
import xml.etree.ElementTree as xml

import program
from check_test import Check, SMALL, fakes
from program import run, run_on_terminal


class Output(Check):
    def test_fits_80_columns(self):
        for faults in ({}, {"FAKE_CUDA_FLAKY": "1:hiptool_memtest_write"}):
            result = run(*SMALL, "--stage", "copy,memory,libraries", environment=fakes(**faults))
            self.assert_width(result.stdout)
            first = result.stdout.splitlines()[0]
            self.assertRegex(first, "^(accepted: 2 GPUs, 3 stages each, 1 not examined, in |"
                                    "refused: nvidia:1: memory: memtest-)")
            self.assertRegex(result.stdout, r"(?m)^nvidia:0  copy  +passed  +h2d ")

    def test_on_terminals(self):
        for columns in (80, 120):
            code, output = run_on_terminal(*SMALL, "--stage", "copy", columns=columns,
                                           **{name: value for name, value in fakes(
                                               FAKE_CUDA_NO_PEER="0:1").items()
                                              if "CUDA" in name or "HIP" in name})
            drawn, text = self.screen(output.decode())
            self.assertEqual(code, 1, text)
            for line in drawn:
                self.assert_width(line, columns)
            self.assertIn("nvidia:0  0 of 1 stage passed; now copy", drawn)
            self.assertIn("nvidia:0  0 of 1 stage passed, FAILED: copy", drawn)
            self.assertIn("nvidia:1  1 of 1 stage passed", drawn)
            # What was drawn meanwhile is gone; the grid is there, the detailed table is not.
            self.assertTrue(text.startswith("refused: nvidia:0: copy:"), text)
            self.assertNotIn("of 1 stage passed", text)
            self.assertRegex(text, r"(?m)^Stage +machine +nvidia:0 +nvidia:1( |$)")
            self.assertNotRegex(text, r"(?m)^nvidia:0 +copy ")

    @staticmethod
    def screen(output):
        """Every line that was drawn, and what a terminal shows in the end: it knows colours, and a
        cursor that goes up and clears what is below."""
        drawn, lines = [], [""]
        for part in re.split(r"(\x1b\[\d*[AJ]|\n)", re.sub(r"\x1b\[[0-9;]*m|\r", "", output)):
            if part == "\n":
                drawn.append(lines[-1])
                lines.append("")
            elif re.fullmatch(r"\x1b\[\d*A", part):
                del lines[len(lines) - 1 - int(part[2:-1] or 1):]
                lines.append("")
            elif not part.startswith("\x1b["):
                lines[-1] += part
        return drawn, "\n".join(lines)

    def test_a_line_for_each_gpu_and_all_lines_with_verbose(self):
        variables = {name: value for name, value in fakes().items()
                     if "CUDA" in name or "HIP" in name}
        _, output = run_on_terminal(*SMALL, "--stage", "copy", "-v", **variables)
        _, text = self.screen(output.decode())
        self.assertRegex(text, r"(?m)^nvidia:1 +copy +passed ")
        _, output = run_on_terminal(*SMALL, "--stage", "copy", "-q", **variables)
        drawn, _ = self.screen(output.decode())
        self.assertNotIn("now copy", "\n".join(drawn))

    def test_a_pipe_gets_every_word(self):
        result = run(*SMALL, "--stage", "copy,memory", environment=fakes(
            FAKE_CUDA_FLAKY="1:hiptool_memtest_write", COLUMNS=""))
        self.assertGreater(max(map(len, result.stdout.splitlines())), 100)
        self.assertNotIn("...", result.stdout + result.stderr)
        self.assertNotIn("\x1b", result.stdout + result.stderr)
        fault = self.document(*SMALL, "--stage", "copy,memory", code=5, environment=fakes(
            FAKE_CUDA_FLAKY="1:hiptool_memtest_write"))["stages"][-1]["faults"][0]
        self.assertIn(fault["reason"], result.stdout)
        self.assertIn(fault["reason"], result.stderr)

    def test_a_test_case_for_each_device_and_stage(self):
        path = self.folder / "check.xml"
        run(*SMALL, "--stage", "copy,memory", "--export", f"junit={path}",
            environment=fakes(FAKE_CUDA_FLAKY="1:hiptool_memtest_write"))
        cases = {case.get("name"): case.find("failure") is None
                 for case in xml.parse(path).getroot().iter("testcase")}
        self.assertTrue(cases["memory nvidia:0"])
        self.assertFalse(cases["memory nvidia:1"])
        self.assertTrue(cases["copy nvidia:1"])

    def test_wrong_usage(self):
        for words in (["--level", "fast"], ["--stage", "copies"],
                      ["--spread", "100%"], ["--timeout", "0"], ["--size", "4097"],
                      ["--model", "/nowhere.gguf"], ["--expect", "/nowhere.json"]):
            result = run("check", "--device", "cpu", *words)
            self.assertEqual(result.returncode, 4 if "/nowhere" in words[1] else 2, result)
            self.assertIn(words[0] if words[1][0] != "/" else words[1], result.stderr)

    def test_a_fleet(self):
        paths = []
        for number, faults in enumerate(({}, {}, {"FAKE_CUDA_NO_PEER": "0:1"})):
            path = self.folder / f"{number}.json"
            run(*SMALL, "--stage", "copy", "--export", f"json={path}",
                environment=fakes(**faults))
            document = json.loads(path.read_text(encoding="utf-8"))
            document["host"]["name"] = f"node{number}"
            path.write_text(json.dumps(document), encoding="utf-8")
            paths.append(str(path))
        result = run("report", "merge", *paths, "--format", "json")
        merged = json.loads(result.stdout)
        self.assertEqual(result.returncode, 1, result)
        failures = [failure for failure in merged["failures"] if failure["kind"] == "run"]
        self.assertEqual([failure["host"] for failure in failures], ["node2"])
        self.assertIn("copy nvidia:0", failures[0]["reason"])
        table = run("report", "merge", *paths).stdout
        # The fakes' rates differ by themselves: one of the others may be slow, none is refused.
        rows = table.split("Machines\n")[1].split("\n\n")[0].splitlines()[1:]
        self.assertRegex(rows[0], r"^node2 +refused +copy nvidia:0 \[HT-PEER-MISSING\]$")
        for row in rows[1:]:
            self.assertRegex(row, r"^node(0|1|0-1) +(accepted +–|slow +slower than the others: )")
        for path in paths:
            rendered = run("report", "render", path)
            self.assertEqual(rendered.returncode, 0, rendered)
        rendered = run("report", "render", paths[2])
        self.assertIn("<title>FAILED: ", rendered.stdout)


if __name__ == "__main__":
    program.main(__doc__)
