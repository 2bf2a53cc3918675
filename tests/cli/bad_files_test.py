# SPDX-License-Identifier: MIT
"""Bad model files: refused with one sentence, at once and for little memory.

Usage: bad_files_test.py PROGRAM [unittest options].
"""
import pathlib
import sys

import program
from program import CliTest, clean_environment

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import bad_files  # noqa: E402 pylint: disable=wrong-import-position

MOST_SECONDS = 20    # of a processor; a second where nothing checks each access
MOST_EXTRA_BYTES = 64 << 20


class BadFiles(CliTest):
    def check_cost(self, path, header_bytes, status):
        found, seconds, peak, message = bad_files.measure(program.PROGRAM, path,
                                                          clean_environment())
        self.assertEqual(found, status, message)
        self.assertLess(seconds, MOST_SECONDS)
        if not program.is_sanitized():
            self.assertLess(peak, header_bytes + MOST_EXTRA_BYTES, message)
        return message

    def test_bad_files(self):
        kinds = {kind for kind, _, _ in bad_files.cases()}
        self.assertEqual(kinds, {"GGUF", "safetensors", "sets"})
        for kind, name, make in bad_files.cases():
            with self.subTest(f"{kind}: {name}"):
                folder = self.folder / f"{kind} {name}".replace("/", " ")
                folder.mkdir()
                path, header_bytes = make(folder)
                message = self.check_cost(path, header_bytes, 4)
                lines = message.splitlines()
                self.assertTrue(lines[0].startswith("error: "), message)
                self.assertTrue(all(line.startswith("hint: ") for line in lines[1:]), message)
                self.assertLess(len(message), 2000)
                for file in folder.iterdir():
                    file.unlink()

    def test_a_config_that_would_take_long_is_passed_over(self):
        path = self.folder / "m.safetensors"
        self.check_cost(path, bad_files.long_config(path, 1_390_000), 0)


if __name__ == "__main__":
    program.main(__doc__)
