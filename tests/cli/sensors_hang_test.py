# SPDX-License-Identifier: MIT
"""Where the driver's monitoring library hangs, commands go on without sensors; so does `check`, see
check_test.py.

FAKE_CUDA names the fake of the CUDA driver, FAKE_NVML that of NVML. Usage: sensors_hang_test.py
PROGRAM [unittest options].
"""
import json
import os

import program
from program import CliTest, clean_environment, start

NO_ANSWER = "the sensors do not respond"
COMMANDS = {
    "devices": ("devices",),
    "bench-copy": ("bench-copy", "--device", "nvidia:0", "--size", "64KiB"),
    "run-kernel": ("run-kernel", "stream-triad", "--device", "nvidia:0", "--size", "64KiB"),
}


class Hang(CliTest):
    def results(self, variable):
        """(exit code, document) of each command; all at once, since they mostly wait."""
        libraries = self.folder / "lib"
        libraries.mkdir()
        (libraries / "libnvidia-ml.so.1").symlink_to(os.environ["FAKE_NVML"])
        environment = clean_environment(**{
            "HIPTOOL_HIP_LIBRARY": "/nowhere/hip", "HIPTOOL_CUDA_LIBRARY": os.environ["FAKE_CUDA"],
            "LD_LIBRARY_PATH": str(libraries), "FAKE_NVML_BUS_IDS": "0000:00:00.0,0000:01:00.0",
            "FAKE_CUDA_UNITS": "2"})
        running = {}
        for name, words in COMMANDS.items():
            hang = self.folder / name
            hang.touch()
            running[name] = start(*words, "--format", "json",
                                  environment={**environment, variable: str(hang)})
        found = {}
        for name, process in running.items():
            with process:
                output, errors = process.communicate(timeout=200)
            self.assertIn(f"warning: {NO_ANSWER}", errors, name)
            self.assertTrue((self.folder / f"{name}.reached").exists(), name)
            found[name] = (process.returncode, json.loads(output))
        return found

    def check_results(self, variable):
        found = self.results(variable)
        self.assertEqual({name: code for name, (code, _) in found.items()},
                         dict.fromkeys(COMMANDS, 0), found)
        devices = [device for device in found["devices"][1]["devices"]
                   if device["platform"] == "nvidia"]
        self.assertEqual(len(devices), 2)
        for device in devices:
            self.assertIn(NO_ANSWER, json.dumps(device))
        self.assertIn(f"nvidia:0: {NO_ANSWER}, so throttling may be missed",
                      json.dumps(found["bench-copy"][1]["shown"]))

    def test_readings_that_hang(self):
        self.check_results("FAKE_NVML_HANG")

    def test_a_start_that_hangs(self):
        self.check_results("FAKE_NVML_HANG_INIT")


if __name__ == "__main__":
    program.main(__doc__)
