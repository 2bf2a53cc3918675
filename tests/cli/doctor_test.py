# SPDX-License-Identifier: MIT
"""`devices --doctor` and `--topology` as a process: drivers that hang, exit codes, time.

FAKE_CUDA names the fake of the CUDA driver, FAKE_BLAS_FOLDER the folder of fake libraries.
Usage: doctor_test.py PROGRAM.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import program
from program import CliTest, clean_environment, run

NOTHING = {"HIPTOOL_HIP_LIBRARY": "/nowhere/hip", "HIPTOOL_CUDA_LIBRARY": "/nowhere/cuda",
           "HIPTOOL_LIBRARY_PATH": "/nowhere"}
IDS = {"driver-bound", "driver-hang", "kfd-missing", "kfd-perm", "kfd-einval", "kfd-nomem",
       "render-node", "hidden", "gfx-target", "libraries", "gfx-override", "driver-runtime",
       "iommu", "atomics", "large-bar", "link-down", "numa", "numa-balance", "throttle",
       "ecc", "xid", "reset", "busy", "queues", "env-trap", "xgmi", "nvlink", "acs", "p2p",
       "memlock", "shm", "nouveau", "uvm", "fabric", "mig", "partition", "persistence",
       "power-cap", "wsl"}


def fake_cuda(**more):
    return clean_environment(
        **{**NOTHING, "HIPTOOL_CUDA_LIBRARY": os.environ["FAKE_CUDA"], **more})


def children_of(process):
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            stat = (folder / "stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        except OSError:
            continue
        if b"probe-platform" in words and int(stat[1]) == process.pid and stat[0] != "Z":
            found.append(int(folder.name))
    return found


class Doctor(CliTest):
    def diagnose(self, *words, code=0, environment=None):
        result = run("devices", "--doctor", *words, "--format", "json",
                     environment=environment or fake_cuda())
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        document = self.assert_document(result.stdout, "devices.schema.json")
        self.assertEqual({check["id"] for check in document["checks"]}, IDS)
        return document, document["checks"]

    def only(self, checks, name):
        found = [check for check in checks if check["id"] == name]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_without_a_gpu_nothing_was_examined(self):
        if program.has_gpu_on_the_bus():
            self.skipTest("this machine has a GPU")
        document, checks = self.diagnose(code=3, environment=clean_environment(**NOTHING))
        self.assertEqual(document["error"]["code"], "unavailable")
        self.assertEqual(self.only(checks, "kfd-missing")["severity"], "unknown")
        result = run("devices", "--doctor", environment=clean_environment(**NOTHING))
        self.assert_width(result.stdout)
        self.assertIn("fix:", result.stdout)

    def test_a_driver_that_hangs_is_told(self):
        document, checks = self.diagnose(code=1, environment=fake_cuda(FAKE_CUDA_HOLD="init"))
        hangs = [check for check in checks
                 if check["id"] == "driver-hang" and check["severity"] == "fail"]
        self.assertEqual(len(hangs), 1)
        self.assertIn("nvidia: the driver hangs", hangs[0]["read"])
        platforms = {one["platform"]: one for one in document["platforms"]}
        self.assertEqual(platforms["nvidia"]["status"], "unavailable")
        self.assertEqual(platforms["cpu"]["status"], "ok")

    def test_the_patience_is_the_one_that_is_given(self):
        for words, limit in (((), "4.5 s"), (("--timeout", "0.3"), "0.3 s")):
            _, checks = self.diagnose(*words, code=1, environment=fake_cuda(FAKE_CUDA_HOLD="init"))
            # While a page of the child comes from the disk, the limit is a library's.
            self.assertRegex(" ".join(check["read"] for check in checks
                                      if check["id"] == "driver-hang"),
                             f"no answer within ({re.escape(limit)}|9.0 s)")

    def test_ctrl_c_ends_it_and_its_children_while_a_driver_hangs(self):
        hold = self.hold("init")
        with program.start("devices", "--doctor", stdout=subprocess.DEVNULL,
                           environment=fake_cuda(**hold.variables)) as process:
            hold.wait(process)
            children = children_of(process)
            self.assertGreaterEqual(len(children), 1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=program.GUARD_S)
            self.assertEqual(process.returncode, 130)
            self.assertEqual(children_of(process), [])
            for child in children:
                self.assertFalse(self.is_alive(child), child)

    @staticmethod
    def is_alive(process_id):
        return program.state_of(process_id) not in ("", "Z", "X")

    def test_a_child_does_not_outlive_a_parent_that_is_killed(self):
        hold = self.hold("init")
        with program.start("devices", "--doctor", stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL,
                           environment=fake_cuda(**hold.variables)) as process:
            hold.wait(process)   # the child has asked for its end before it starts the driver
            children = children_of(process)
            self.assertGreaterEqual(len(children), 1)
            process.kill()
            process.wait(timeout=program.GUARD_S)
        program.wait_until(lambda: not any(map(self.is_alive, children)), "the end of children")

    def test_devices_that_work(self):
        document, checks = self.diagnose()
        self.assertEqual([device["id"] for device in document["devices"]
                          if device["platform"] == "nvidia"], ["nvidia:0", "nvidia:1"])
        self.assertEqual(self.only(checks, "p2p")["severity"], "pass")
        targets = [check for check in checks if check["id"] == "gfx-target"]
        self.assertEqual([check["device"] for check in targets], ["nvidia:0", "nvidia:1"])

    def test_the_list_is_the_same_as_without_the_examination(self):
        plain = json.loads(run("devices", "--format", "json", environment=fake_cuda()).stdout)
        document, _ = self.diagnose()
        memory = "memory_free_bytes"   # of the cpu, from one moment to the next
        for one, other in zip(plain["devices"], document["devices"], strict=True):
            self.assertEqual({**one, memory: 0}, {**other, memory: 0})

    def test_both_name_the_test_of_a_model(self):
        for words in (["devices"], ["devices", "--doctor"]):
            found = run(*words, environment=fake_cuda())
            line = found.stdout.splitlines()[-1]
            self.assertEqual(line, "To test this machine: hiptool check; with a model: "
                                   "hiptool prove MODEL")
            self.assertLessEqual(len(line), 80)

    def test_one_device_and_one_that_is_not_there(self):
        document, checks = self.diagnose("nvidia:1")
        self.assertEqual([device["id"] for device in document["devices"]], ["nvidia:1"])
        self.assertNotIn("nvidia:0", json.dumps(checks))
        result = run("devices", "--doctor", "nvidia:7", environment=fake_cuda())
        self.assertEqual(result.returncode, 3)
        self.assertIn("nvidia:7", result.stderr)

    def test_variables_warn_and_do_not_fail(self):
        _, checks = self.diagnose(environment=fake_cuda(
            CUDA_LAUNCH_BLOCKING="1", CUDA_DEVICE_MAX_CONNECTIONS="1"))
        self.assertEqual(self.only(checks, "env-trap")["fix"], "`unset CUDA_LAUNCH_BLOCKING`")
        self.assertEqual(self.only(checks, "queues")["severity"], "warn")

    def test_screens_of_every_format(self):
        for columns in (80, 160):
            for words in (["--doctor"], ["--doctor", "--verbose"], ["--topology"],
                          ["nvidia:0", "--doctor"]):
                result = run("devices", *words, environment=fake_cuda(COLUMNS=str(columns)))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assert_width(result.stdout, columns)
        rows = run("devices", "--doctor", "--format", "csv", environment=fake_cuda()).stdout
        self.assertTrue(rows.startswith(
            "id,severity,device,read,source,expected,fix,code,action_class,applies,exit_code,"
            "passed\n"),
            rows)
        text = run("devices", "--doctor", "--verbose", environment=fake_cuda()).stdout
        for name in IDS:
            self.assertIn(f" {name}: ", text)

    def libraries(self, **more):
        document, checks = self.diagnose(environment=fake_cuda(**more))
        checks = [check for check in checks if check["id"] == "libraries"]
        return {one["name"]: one for one in document["libraries"]}, checks

    def test_libraries_have_a_version_and_a_path(self):
        folder = os.environ["FAKE_BLAS_FOLDER"]
        found, checks = self.libraries(HIPTOOL_LIBRARY_PATH=folder)
        self.assertEqual({name: (one["version"], one["reason"]) for name, one in found.items()},
                         {"cuBLAS": ("12.1.2", None), "cuBLASLt": ("12.1.2", None),
                          "cuDNN": ("9.19.0", None), "OpenBLAS": ("0.3.99", None)})
        self.assertEqual(found["cuBLAS"]["path"], folder + "/libcublas.so.12")
        reads = {check["read"]: check["severity"] for check in checks}
        self.assertEqual(reads["cuBLAS 12.1.2: " + found["cuBLAS"]["path"]], "info")
        self.assertEqual(reads["amd: BLAS and DNN libraries were not loaded: no runtime answered"],
                         "unknown")

    def test_libraries_that_are_missing_or_of_another_version_have_a_reason(self):
        found, checks = self.libraries(HIPTOOL_LIBRARY_PATH="/nowhere")
        self.assertIn("no cuBLAS was found (libcublas.so.13, .12 or .11)",
                      found["cuBLAS"]["reason"])
        for name in ("cuBLAS", "cuDNN", "OpenBLAS"):
            self.assertIn("HIPTOOL_LIBRARY_PATH is /nowhere, and no other folder was searched",
                          found[name]["reason"])
        self.assertEqual({check["severity"] for check in checks}, {"info", "unknown"})
        found, checks = self.libraries(HIPTOOL_LIBRARY_PATH=os.environ["FAKE_BLAS_FOLDER"],
                                       FAKE_BLAS_MAJOR="14")
        self.assertIn("reports version 14.1.2", found["cuBLAS"]["reason"])
        self.assertEqual({check["severity"] for check in checks}, {"warn", "unknown"})

    def test_a_library_that_aborts_is_named(self):
        _, checks = self.diagnose(code=1, environment=fake_cuda(
            HIPTOOL_LIBRARY_PATH=os.environ["FAKE_BLAS_FOLDER"], FAKE_CUBLASLT="abort-at-load"))
        crashed = [check["read"] for check in checks
                   if check["id"] == "driver-hang" and check["severity"] == "fail"]
        self.assertEqual(len(crashed), 1)
        self.assertIn("signal 6 (Aborted), while loading cublaslt", crashed[0])

    def test_topology(self):
        for words in ([], ["--doctor"]):
            result = run("devices", "--topology", *words, "--format", "json",
                         environment=fake_cuda())
            self.assertEqual(result.returncode, 0, result.stderr)
            topology = self.assert_document(result.stdout, "devices.schema.json")["topology"]
            self.assertEqual(topology["devices"], ["nvidia:0", "nvidia:1"])
            self.assertEqual([row[i] for i, row in enumerate(topology["kinds"])], ["self"] * 2)
            self.assertEqual([link["peer_access"] for link in topology["links"]], [True, True])

    def test_a_list_without_gpus_takes_less_than_a_tenth_of_a_second(self):
        if program.has_gpu_on_the_bus():
            self.skipTest("this machine has a GPU")
        # Beyond what starting a process takes, which other work on the machine only adds to.
        best = {"devices": 9.0, "--version": 9.0}
        for _ in range(10):
            for word in best:
                start = time.monotonic()
                run(word, environment=clean_environment())
                best[word] = min(best[word], time.monotonic() - start)
        self.assertLess(best["devices"] - best["--version"], 0.1)

    def test_the_hidden_command_is_in_no_help_and_refuses_other_words(self):
        self.assertNotIn("probe-platform", run("--help").stdout + run("help", "reference").stdout)
        self.assertEqual(run("probe-platform", "nvidia").returncode, 2)
        self.assertEqual(run("probe-platform", "intel", "/").returncode, 2)


if __name__ == "__main__":
    program.main(__doc__)
