# SPDX-License-Identifier: MIT
"""The tables of docs/architectures.md, held against the program.

Usage: architectures_test.py PROGRAM [unittest options].
"""
import pathlib
import re

import program
from program import CliTest, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Architectures(CliTest):
    def known_architectures(self, name):
        """As the program lists them where it refuses another one."""
        path = self.folder / "unknown" / name
        path.parent.mkdir(exist_ok=True)
        run("make-model", str(path), "--architecture", "llama", "-q", "--force")
        if path.suffix == ".gguf":
            path.write_bytes(path.read_bytes().replace(b"llama", b"other"))
        else:
            config = path.parent / "config.json"
            config.write_text(config.read_text("utf-8").replace('"llama"', '"other"'), "utf-8")
        result = run("prove", str(path), "--device", "cpu")
        self.assertEqual(result.returncode, 4, result.stderr)
        message = " ".join(result.stderr.split())
        return re.split(", | and ", re.search(r"supported are ([\w, -]+)", message)[1])

    def test_architectures_are_those_that_the_program_knows(self):
        text = (ROOT / "docs" / "architectures.md").read_text(encoding="utf-8")
        first, second = (re.findall(r"^\| (?!`)(.*) \|$", part, re.MULTILINE)[0:]
                         for part in text.split("## The thirty"))
        rows = [row.split(" | ") for row in first if "---" not in row]
        self.assertEqual(sorted(row[0] for row in rows if row[0] != "none"),
                         sorted(self.known_architectures("m.gguf")))
        known = self.known_architectures("m.safetensors")
        self.assertEqual(sorted(name for row in rows for name in row[1].split(", ")),
                         sorted(known))
        models = [row.split(" | ") for row in second if "/" in row]
        self.assertEqual(len(models), 30)
        self.assertEqual([float(row[1]) for row in models],
                         sorted((float(row[1]) for row in models), reverse=True))
        for name, _, kind, answer in models:
            with self.subTest(name):
                self.assertIn(answer, ("yes", "no: architecture", "no: `quantization_config`"))
                self.assertEqual(kind in known, answer != "no: architecture")


if __name__ == "__main__":
    program.main(__doc__)
