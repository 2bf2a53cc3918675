# SPDX-License-Identifier: MIT
"""A test case that asserts nothing fails, in C++ and in Python. Usage: cases_test.py PLANTED"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import cases  # noqa: E402  (after the line above, which keeps the source tree clean)

HERE = pathlib.Path(__file__).resolve().parent
EMPTY = ["is empty", "only prints", "loops over nothing",
         "returns early after one that skipped"]
PLANTED = ""


class Doctest(unittest.TestCase):
    def run_case(self, name):
        result = subprocess.run([PLANTED, f"--test-case=planted: {name}"], capture_output=True,
                                text=True, check=False, timeout=60)
        return result.returncode, result.stdout

    def test_cases_without_assertions_fail(self):
        for name in EMPTY:
            with self.subTest(name=name):
                code, out = self.run_case(name)
                self.assertEqual(code, 1, out)
                self.assertIn(f'FAILED: the case "planted: {name}" made no assertion', out)

    def test_each_of_them_is_named(self):
        code, out = self.run_case("*")
        self.assertEqual(code, 1, out)
        self.assertEqual(re.findall(r'FAILED: the case "planted: (.*)" made', out), EMPTY)

    def test_cases_that_assert_pass(self):
        for name in ("asserts", "asserts in a subcase only"):
            with self.subTest(name=name):
                code, out = self.run_case(name)
                self.assertEqual(code, 0, out)
                self.assertNotIn("FAILED", out)

    def test_a_skip_passes_and_is_counted(self):
        code, out = self.run_case("skips")
        self.assertEqual(code, 0, out)
        self.assertIn("\nskipped case: planted / skips: no such device: amd:7\n", out)

    def test_a_failure_stays_one_failure(self):
        code, out = self.run_case("throws")
        self.assertEqual(code, 1, out)
        self.assertNotIn("made no assertion", out)

    def test_a_filter_that_matches_nothing_fails(self):
        code, out = self.run_case("renamed")
        self.assertEqual(code, 1, out)
        self.assertIn("FAILED: no case ran", out)
        listed = subprocess.run([PLANTED, "--list-test-cases"], capture_output=True, text=True,
                                check=False, timeout=60)
        self.assertEqual(listed.returncode, 0, listed.stdout)


PYTHON_CASES = '''
import sys
import unittest
sys.dont_write_bytecode = True
sys.path.insert(0, {folder!r})
import cases

class Planted(unittest.TestCase):
    def test_asserts(self):
        self.assertEqual(1, 1)
    def test_asserts_in_a_helper(self):
        with self.assertRaises(ValueError):
            int("x")
    def test_counts_a_check_of_its_own(self):
        cases.asserted()
    def test_skips(self):
        self.skipTest("no such device: amd:7")
    @unittest.expectedFailure
    def test_fails_as_expected(self):
        self.assertEqual(1, 2)
    def test_is_empty(self):
        pass
    def test_loops_over_nothing(self):
        for number in []:
            self.assertEqual(number, 1)
    def test_part_loops_over_nothing(self):
        for numbers in ([1], []):
            with self.subTest(numbers=numbers):
                for number in numbers:
                    self.assertEqual(number, 1)

class Setup(unittest.TestCase):
    def setUp(self):
        self.assertTrue(True)
    def test_asserts_in_its_set_up_only(self):
        pass

cases.main()
'''


class Python(unittest.TestCase):
    def run_cases(self, *words, text=PYTHON_CASES):
        with tempfile.TemporaryDirectory(prefix="hiptool-cases-") as folder:
            path = pathlib.Path(folder, "planted.py")
            path.write_text(text.format(folder=str(HERE)), encoding="utf-8")
            return subprocess.run([sys.executable, path, *words], capture_output=True, text=True,
                                  check=False, timeout=60)

    def test_cases_without_assertions_fail(self):
        result = self.run_cases()
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(
            sorted(re.findall(r"^FAIL: (\w+) .*?(\(numbers=.*\))?$", result.stderr, re.M)),
            [("test_asserts_in_its_set_up_only", ""), ("test_is_empty", ""),
             ("test_loops_over_nothing", ""), ("test_part_loops_over_nothing", "(numbers=[])")])
        self.assertEqual(result.stderr.count("made no assertion and was not skipped\n"), 4)

    def test_the_others_pass(self):
        result = self.run_cases("Planted.test_asserts", "Planted.test_asserts_in_a_helper",
                                "Planted.test_counts_a_check_of_its_own", "Planted.test_skips",
                                "Planted.test_fails_as_expected")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("skipped case: __main__.Planted.test_skips: no such device: amd:7\n",
                      result.stdout)


if __name__ == "__main__":
    PLANTED = sys.argv.pop(1)
    cases.main()
