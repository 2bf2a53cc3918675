# SPDX-License-Identifier: MIT
"""Vendor libraries that end the process while they start: every command reports them.

FAKE_AMD7 and FAKE_CUDA name fake vendor libraries. Usage: crash_test.py PROGRAM.
"""
import os
import signal

import program
from program import CliTest, clean_environment, run

NOWHERE = {"HIPTOOL_HIP_LIBRARY": "/nowhere/hip", "HIPTOOL_CUDA_LIBRARY": "/nowhere/cuda"}


def crashing(number=signal.SIGABRT, **more):
    return clean_environment(**{**NOWHERE, "HIPTOOL_HIP_LIBRARY": os.environ["FAKE_AMD7"],
                                "FAKE_HIP_INIT_SIGNAL": str(int(number)), **more})


class Crash(CliTest):
    def platforms(self, environment, *words, code=0):
        result = run("devices", *words, "--format", "json", environment=environment)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        document = self.assert_document(result.stdout, "devices.schema.json")
        return {one["platform"]: one for one in document["platforms"]}, document

    def test_devices_names_the_library_and_the_signal(self):
        for number, name in ((signal.SIGABRT, "Aborted"), (signal.SIGSEGV, "Segmentation fault"),
                             (signal.SIGILL, "Illegal instruction"), (signal.SIGBUS, "Bus error"),
                             (signal.SIGFPE, "Floating point exception")):
            with self.subTest(name):
                platforms, document = self.platforms(crashing(number))
                amd = platforms["amd"]
                self.assertEqual(amd["status"], "unavailable")
                self.assertEqual(amd["library"], os.environ["FAKE_AMD7"])
                self.assertIn(f"crashed during initialisation: signal {int(number)} ({name})",
                              amd["reason"])
                self.assertIn("devices --doctor", amd["hint"])
                self.assertEqual(platforms["cpu"]["status"], "ok")
                self.assertEqual([one["id"] for one in document["devices"]], ["cpu:0"])

    def test_people_read_the_same(self):
        result = run("devices", environment=crashing())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("amd: not usable: the HIP runtime", result.stdout)
        self.assertIn("signal 6 (Aborted)", result.stdout.replace("\n", " "))
        self.assertEqual(result.stderr, "")

    def test_a_failed_assertion_is_quoted_and_the_variable_behind_it_named(self):
        environment = clean_environment(**{**NOWHERE, "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
                                           "HIPTOOL_HIP_LIBRARY": os.environ["FAKE_AMD7"]})
        amd = self.platforms(environment)[0]["amd"]
        self.assertIn("signal 6 (Aborted): ", amd["reason"])
        self.assertIn("Unknown chip revision", amd["reason"])
        self.assertNotIn("\n", amd["reason"])
        self.assertIn('HSA_OVERRIDE_GFX_VERSION is "11.0.0"', amd["hint"])
        self.assertIn("`unset HSA_OVERRIDE_GFX_VERSION`", amd["hint"])

    def test_arguments_and_exit_codes_stay(self):
        self.platforms(crashing(), "--require", "amd", code=3)
        result = run("run-kernel", "stream-copy", "--device", "amd:0", environment=crashing())
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("signal 6 (Aborted)", result.stderr)
        result = run("run-kernel", "stream-copy", "--device", "cpu", "--size", "4KiB",
                     environment=crashing())
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_two_libraries_that_crash(self):
        platforms, _ = self.platforms(crashing(
            HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"], FAKE_CUDA_INIT_SIGNAL="11"))
        self.assertIn("signal 6 (Aborted)", platforms["amd"]["reason"])
        self.assertIn("signal 11 (Segmentation fault)", platforms["nvidia"]["reason"])
        self.assertEqual(platforms["nvidia"]["library"], os.environ["FAKE_CUDA"])

    def test_one_crashes_and_the_other_works(self):
        _, document = self.platforms(crashing(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"]))
        self.assertEqual([one["id"] for one in document["devices"]],
                         ["nvidia:0", "nvidia:1", "cpu:0"])

    def test_no_folder_is_left_behind(self):
        if program.has_gpu_on_the_bus():
            self.skipTest("this machine has a GPU")
        result = run("load", "--demo", "--quiet",
                     environment=crashing(TMPDIR=str(self.folder)))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_doctor_reports_its_child(self):
        platforms, document = self.platforms(crashing(), "--doctor", code=1)
        self.assertIn("signal 6 (Aborted)", platforms["amd"]["reason"])
        failed = [one for one in document["checks"] if one["severity"] == "fail"]
        self.assertTrue(any("signal 6" in one["read"] for one in failed), failed)

    def test_a_variable_that_means_nothing_changes_nothing(self):
        for text in ("", "amd", "amd:6", "amd:x:/lib", "intel:6:/lib", "cpu:6:/lib", ":::\n\n"):
            with self.subTest(text):
                environment = crashing(0, HIPTOOL_CRASHED=text)
                platforms, _ = self.platforms(environment)
                self.assertEqual(platforms["amd"]["status"], "ok")


if __name__ == "__main__":
    program.main(__doc__)
