# SPDX-License-Identifier: MIT
"""`check`: host memory that device and host use at once, and exchanges between devices, by kernels
and by NCCL. Faults are those of the fakes of CUDA and NCCL.

FAKE_CUDA names the fake of the CUDA driver, FAKE_BLAS_FOLDER and FAKE_NCCL_FOLDER folders of fake
libraries. Usage: check_exchange_test.py PROGRAM [unittest options].
"""
import os
import subprocess

import program
from check_test import Check, failed, fakes
from program import clean_environment, run
from slurm_test import free_ports

SMALL = ["check", "--size", "64KiB", "--spread", "90%"]


def with_nccl(**more):
    folders = f"{os.environ['FAKE_BLAS_FOLDER']}:{os.environ['FAKE_NCCL_FOLDER']}"
    return {"HIPTOOL_LIBRARY_PATH": folders, **more}


class Exchange(Check):
    def setUp(self):
        super().setUp()
        if program.is_sanitized():
            self.skipTest("kernels that wait for each other run one after the other here")

    def check(self, stage, code, timeout="200", words=(), **faults):
        """Every format of a run of this stage."""
        return self.verdict(f"memory,{stage}", code, "--timeout", timeout, *words, **faults)

    def quick(self, stage, code=0, timeout="200", words=(), **faults):
        """The JSON document alone."""
        return self.document(*SMALL, "--stage", f"memory,{stage}", "--timeout", timeout, *words,
                             code=code, environment=fakes(**faults))

    def only_fault(self, document, stage):
        of_stage = [one for one in document["stages"] if one["stage"] == stage]
        faults = [fault for one in of_stage for fault in one["faults"]]
        self.assertEqual(len(faults), 1, faults)
        return faults[0]

    def stage(self, document, name, device=None):
        return next(one for one in document["stages"]
                    if one["stage"] == name and one["device"] == device)


class Kernels(Exchange):
    def test_devices_of_the_processor(self):
        for devices in ("2", "3", "4"):
            result = run("check", "--platform", "cpu", "--stage", "copy,collective", "--size",
                         "100KiB", "--timeout", "200", "--format", "json",
                         environment=clean_environment(HIPTOOL_CPU_DEVICES=devices))
            self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
            document = self.assert_document(result.stdout, "check.schema.json")
            cells = {cell["kind"]: cell for cell in document["measurements"]
                     if cell["kind"].startswith("exchange")}
            self.assertEqual(set(cells), {"exchange-ring", "exchange-all"})
            for cell in cells.values():
                count = int(devices)
                self.assertEqual(len(cell["devices"]), count)
                # Whole chunks of 16 bytes, on each device, checked twice.
                self.assertGreaterEqual(cell["size_bytes"], 100 * 1024)
                self.assertEqual(cell["checked"], 2 * count * cell["size_bytes"] // 4)
                self.assertEqual(cell["details"]["memory"], "peer")
                self.assertEqual(cell["details"]["rounds"], 4 * 4)
                self.assertGreater(cell["bytes_per_s"], 0)

    def test_one_device_has_nothing_to_exchange(self):
        document = self.quick("collective", FAKE_CUDA_DEVICES="1")
        stage = self.stage(document, "collective")
        self.assertEqual((stage["status"], stage["reason"]),
                         ("skipped", "one GPU: nothing to exchange"))

    def test_through_the_host_where_peers_cannot_be_reached(self):
        document = self.quick("collective", FAKE_CUDA_NO_PEER="*", **with_nccl())
        stage = self.stage(document, "collective")
        self.assertIn("through the host: nvidia:0 has no access to the memory of nvidia:1",
                      stage["figures"])
        cell = next(one for one in document["measurements"] if one["kind"] == "exchange-ring")
        self.assertEqual(cell["details"]["memory"], "host")

    def test_a_peer_that_drops_the_last_bytes_of_a_ring_step(self):
        document = self.check("collective", 5, FAKE_CUDA_DEVICES="3",
                              FAKE_CUDA_FAULTY_KERNEL="hiptool_exchange_ring:dropped",
                              **with_nccl())
        self.assertEqual(failed(document), [(None, "collective")])
        fault = self.only_fault(document, "collective")
        self.assertEqual(fault["code"], "HT-EXCHANGE-DATA")
        self.assertRegex(fault["reason"], r"^step 1 of 4, from nvidia:1 to nvidia:2: 16 words of a "
                                          r"chunk of .* wrong in its last 64 bytes$")
        cell = next(one for one in document["measurements"] if one["kind"] == "exchange-ring")
        self.assertEqual((cell["status"], cell["details"]["sender"], cell["details"]["receiver"]),
                         ("mismatch", "nvidia:1", "nvidia:2"))

    def test_a_flag_that_is_lost(self):
        for kernel, step in (("ring", "step 1 of round 1"), ("all", "step [12] of round 1")):
            document = self.quick("collective", 6, "20", FAKE_CUDA_DEVICES="2", **with_nccl(
                FAKE_CUDA_FAULTY_KERNEL=f"hiptool_exchange_{kernel}:silent"))
            fault = self.only_fault(document, "collective")
            self.assertEqual(fault["code"], "HT-EXCHANGE-LOST")
            self.assertRegex(fault["reason"], f"nvidia:0 waited .* for nvidia:1 in {step}: "
                                              "data did not come")


class Nccl(Exchange):
    def test_right_sums(self):
        record = self.folder / "starts"
        document = self.quick("collective", **with_nccl(FAKE_NCCL_RECORD=str(record)))
        self.assertEqual(record.read_text(), "NCCL_NVLS_ENABLE=0 NCCL_DEBUG=unset\n")
        cell = next(one for one in document["measurements"] if one["kind"] == "all-reduce")
        self.assertEqual((cell["library"], cell["details"]["library_version"]), ("nccl", "2.21.5"))
        self.assertEqual(cell["checked"], 2 * 2 * 64 * 1024 // 4)
        self.assertLessEqual(cell["max_error"], 1)
        self.assertRegex(self.stage(document, "collective")["figures"], "nccl 2.21.5 [0-9.]+ .B/s")

    def test_variables_of_the_caller_are_passed_on(self):
        record = self.folder / "starts"
        self.quick("collective", **with_nccl(FAKE_NCCL_RECORD=str(record), NCCL_NVLS_ENABLE="1",
                                             NCCL_DEBUG="WARN"))
        self.assertEqual(record.read_text(), "NCCL_NVLS_ENABLE=1 NCCL_DEBUG=WARN\n")

    def test_a_library_that_hangs(self):
        document = self.check("collective", 6, timeout="8", **with_nccl(FAKE_NCCL="hang"))
        self.assertEqual(failed(document), [(None, "collective")])
        fault = self.only_fault(document, "collective")
        self.assertEqual(fault["code"], "HT-NCCL-HANG")
        self.assertEqual(fault["reason"], "nccl did not return within 8.00 s and was killed "
                                          "during: the sum of whole numbers")
        self.assertIn("NCCL_DEBUG=INFO", fault["action"])

    def test_wrong_sums(self):
        for fault_word, data in (("last", "whole numbers on nvidia:1"), ("halves", "floats on ")):
            one = self.check if fault_word == "last" else self.quick
            document = one("collective", 5, **with_nccl(FAKE_NCCL=fault_word))
            fault = self.only_fault(document, "collective")
            self.assertEqual(fault["code"], "HT-NCCL-DATA")
            self.assertIn(f"sums of {data}", fault["reason"])

    def test_a_missing_library(self):
        document = self.check("collective", 0)
        stage = self.stage(document, "collective")
        self.assertEqual(stage["status"], "passed")
        self.assertEqual([one["code"] for one in stage["warnings"]], ["HT-NCCL-MISSING"])

    def test_a_library_that_fails(self):
        for fault_word, reason in (
                ("error", r"ncclGroupEnd of nccl: internal error \(3\): a fake's error"),
                ("async", r"an all-reduce of nccl: internal error \(3\): a fake's error"),
                ("abort", r"the process of nccl was ended by signal 6 .* during: connecting")):
            one = self.check if fault_word == "error" else self.quick
            document = one("collective", 6, **with_nccl(FAKE_NCCL=fault_word))
            fault = self.only_fault(document, "collective")
            self.assertEqual(fault["code"], "HT-NCCL-ERROR")
            self.assertRegex(fault["reason"], reason)

    def test_the_slow_gpu_is_named(self):
        document = self.quick("collective", 1, words=("--level", "standard"),
                              FAKE_CUDA_DEVICES="3", **with_nccl(FAKE_NCCL="slow:1"))
        fault = self.only_fault(document, "collective")
        self.assertEqual((fault["code"], fault["what"].split("@")[1]),
                         ("HT-NCCL-RATE", "nvidia:1"))
        self.assertIn(("nvidia:1", "collective"), failed(document))

    def test_a_second_sum_of_all_gpus_that_fails(self):
        """Sums of all GPUs, without each of three, and of all again, whose start fails: the first
        sum of all is the measurement."""
        document = self.quick("collective", 6, words=("--level", "standard"),
                              FAKE_CUDA_DEVICES="3",
                              **with_nccl(FAKE_NCCL="slow:1", FAKE_NCCL_FAILING_START="5",
                                          FAKE_NCCL_RECORD=str(self.folder / "starts")))
        self.assertEqual(self.only_fault(document, "collective")["code"], "HT-NCCL-ERROR")
        ids = [one["id"] for one in document["measurements"]]
        self.assertEqual(len(ids), len(set(ids)), ids)
        sums = [one["status"] for one in document["measurements"] if one["library"] == "nccl"]
        self.assertEqual(sums, ["ok"])

    def test_a_library_that_is_wrong_without_one_gpu(self):
        for fault_word, code in (("last", "HT-NCCL-DATA"), ("error", "HT-NCCL-ERROR")):
            document = self.quick("collective", 5 if fault_word == "last" else 6,
                                  words=("--level", "standard"), FAKE_CUDA_DEVICES="3",
                                  **with_nccl(FAKE_NCCL=f"{fault_word}:-1"))
            fault = self.only_fault(document, "collective")
            self.assertEqual(fault["code"], code)
            self.assertIn("@nvidia:0+nvidia:2", fault["what"])
            self.assertFalse(any(device["passed"] for device in document["devices"]))


class Coherence(Exchange):
    def test_every_kind_of_memory(self):
        for environment, words in ((fakes(), SMALL),
                                   (clean_environment(), [*SMALL[:3], "--device", "cpu"])):
            result = run(*words, "--timeout", "200", "--stage", "memory,coherence", "--format",
                         "json", environment=environment)
            self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
            document = self.assert_document(result.stdout, "check.schema.json")
            for device in document["devices"]:
                cells = [one for one in document["measurements"]
                         if one["kind"] == "coherence" and one["devices"] == [device["id"]]]
                self.assertEqual([one["details"]["memory"] for one in cells],
                                 ["pinned", "registered", "mapped", "managed"])
                for cell in cells:
                    self.assertEqual(cell["status"], "ok", cell)
                    self.assertTrue(cell["details"]["at_the_same_time"])
                    self.assertEqual(cell["details"]["rounds"], 64 + 4)

    def test_a_stale_read(self):
        document = self.check("coherence", 5, words=("--device", "nvidia:1"),
                              FAKE_CUDA_FAULTY_KERNEL="hiptool_coherence_turns:stale")
        self.assertEqual(failed(document), [("nvidia:1", "coherence")])
        stage = self.stage(document, "coherence", "nvidia:1")
        self.assertEqual({fault["code"] for fault in stage["faults"]}, {"HT-COHERENCE-DATA"})
        self.assertEqual(len(stage["faults"]), 4)
        self.assertRegex(stage["faults"][0]["reason"],
                         "^pinned memory at offset 4160: the kernel read 0x[0-9a-f]{8} in turn 3, "
                         "0x[0-9a-f]{8} was written; that is the value of two turns before: a "
                         "stale read$")

    def test_turns_that_are_not_seen(self):
        document = self.quick("coherence", 6, "12", words=("--device", "nvidia:0"),
                              FAKE_CUDA_FAULTY_KERNEL="hiptool_coherence_turns:deaf")
        stage = self.stage(document, "coherence", "nvidia:0")
        self.assertEqual({fault["code"] for fault in stage["faults"]}, {"HT-COHERENCE-LOST"})
        self.assertIn("pinned memory: host and kernel did not see each other's turn 1 of 64",
                      stage["faults"][0]["reason"])


class Network(Check):
    """Processes of this machine stand for hosts, by addresses of their own."""

    def start(self, number, port, hosts="127.0.0.1,127.0.0.2,127.0.0.3", timeout="60",
              stages="coherence,network", environment=None, words=("--device", "cpu")):
        environment = dict(clean_environment() if environment is None else environment,
                           SLURM_PROCID=str(number), SLURM_STEP_NUM_TASKS="3",
                           SLURM_NODEID=str(number), SLURM_LOCALID="0", SLURM_JOB_NODELIST=hosts)
        words = [program.PROGRAM, "check", *words, "--stage", stages,
                 "--peer-port", str(port), "--timeout", timeout, "--format", "json"]
        return subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def documents(self, processes, code):
        documents = []
        for process in processes:
            out, errors = process.communicate(timeout=program.GUARD_S)
            self.assertEqual(process.returncode, code, out + errors)
            documents.append(self.assert_document(out, "check.schema.json"))
        return documents

    def test_three_hosts(self):
        port = free_ports(1)[0]
        documents = self.documents([self.start(number, port) for number in range(3)], 0)
        for number, document in enumerate(documents):
            stage = next(one for one in document["stages"] if one["stage"] == "network")
            self.assertEqual((stage["device"], stage["status"]), (None, "passed"))
            reached = {cell["id"] for cell in document["measurements"] if cell["kind"] == "tcp"}
            self.assertEqual(reached, {f"tcp.127.0.0.{i + 1}" for i in range(3) if i != number})

    def test_a_host_that_is_not_there(self):
        port = free_ports(1)[0]
        document, = self.documents([self.start(0, port, "127.0.0.[1-2]", "3",
                                               "network")], 1)
        stage = next(one for one in document["stages"] if one["stage"] == "network")
        self.assertEqual([fault["code"] for fault in stage["faults"]], ["HT-NET-UNREACHED"])
        self.assertEqual(stage["faults"][0]["reason"], "127.0.0.2: Connection refused")
        self.assertIn(f"port {port}", stage["faults"][0]["action"])

    def test_only_in_jobs(self):
        result = run("check", "--device", "cpu", "--stage", "network,coherence", "--format", "json",
                     environment=clean_environment())
        document = self.assert_document(result.stdout, "check.schema.json")
        stage = next(one for one in document["stages"] if one["stage"] == "network")
        self.assertEqual(stage["reason"],
                         "not a job of several processes: start it with srun or mpirun")
        # Without --stage it is not in the list at all.
        plain = run("check", "--device", "cpu", "--size", "64KiB", "--format", "json",
                    environment=clean_environment())
        self.assertNotIn("network", {one["stage"] for one in self.assert_document(
            plain.stdout, "check.schema.json")["stages"]})

    def test_a_wrong_list(self):
        for peers in ("node[1-", "node[3-1]", "a,,b"):
            result = run("check", "--device", "cpu", "--stage", "network", "--peers", peers,
                         environment=clean_environment())
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertIn(f"'{peers}' is not a list of hosts", result.stderr)

    # ---- NCCL over the hosts

    HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")

    def over_hosts(self, code, timeout="200", devices=("2", "1", "1"), more=None, **of_second):
        """The stage of each of three hosts with GPUs; `of_second` is the environment of the second
        alone, `more` that of all."""
        port = free_ports(1)[0]
        processes = []
        for number in range(3):
            own = of_second if number == 1 else {}
            environment = fakes(**{"FAKE_CUDA_DEVICES": devices[number], **with_nccl(),
                                   **(more or {}), **own})
            words = ("--platform", "nvidia", *SMALL[1:])
            processes.append(self.start(number, port, timeout=timeout, stages="memory,network",
                                        environment=environment, words=words))
        documents = self.documents(processes, code)
        self.stages = [next(one for one in document["stages"] if one["stage"] == "network")
                       for document in documents]
        return documents

    def reasons(self, code):
        """What each host says of the one fault."""
        for stage in self.stages:
            self.assertEqual([one["code"] for one in stage["faults"]], [code], stage)
        return [stage["faults"][0]["reason"] for stage in self.stages]

    def test_sums_over_three_hosts(self):
        record = self.folder / "starts"
        documents = self.over_hosts(0, more={"FAKE_NCCL_RECORD": str(record),
                                             "NCCL_DEBUG": "WARN"})
        for document, stage, devices in zip(documents, self.stages, (2, 1, 1)):
            self.assertRegex(stage["figures"], "nccl 2.21.5 over 3 hosts, 4 GPUs: [0-9.]+ .B/s")
            cell = next(one for one in document["measurements"] if one["kind"] == "all-reduce")
            self.assertTrue(cell["id"].startswith("all-reduce.f32.64KiB.nccl.3hosts@nvidia:0"))
            self.assertEqual((cell["status"], cell["checked"]),
                             ("ok", 2 * devices * 64 * 1024 // 4))
        self.assertEqual(record.read_text().splitlines(),
                         ["NCCL_NVLS_ENABLE=0 NCCL_DEBUG=WARN"] * 4)

    def test_wrong_sums_on_one_host(self):
        for fault_word, data in (("last", "whole numbers"), ("halves", "floats")):
            self.over_hosts(5, FAKE_NCCL=fault_word)
            for reason in self.reasons("HT-NCCL-DATA"):
                self.assertRegex(reason, f"^127.0.0.2: .* wrong, .*; sums of {data} on nvidia:0$")

    def test_a_library_that_one_host_lacks(self):
        self.over_hosts(0, HIPTOOL_LIBRARY_PATH="/nonexistent")
        for stage in self.stages:
            self.assertEqual([one["code"] for one in stage["warnings"]], ["HT-NCCL-MISSING"])
            self.assertTrue(stage["warnings"][0]["reason"].startswith("127.0.0.2: "))

    def test_another_major_version_on_one_host(self):
        self.over_hosts(0, FAKE_NCCL_VERSION="30000")
        for stage in self.stages:
            self.assertEqual([one["code"] for one in stage["warnings"]], ["HT-NCCL-MISSING"])
            self.assertRegex(stage["warnings"][0]["reason"], "^127.0.0.2: .*3.0.0")

    def test_another_version_on_one_host(self):
        self.over_hosts(6, FAKE_NCCL_VERSION="22800")
        for reason in self.reasons("HT-NCCL-ERROR"):
            self.assertIn("the hosts have different versions of NCCL: 2.21.5 on 127.0.0.1, "
                          "127.0.0.3; 2.28.0 on 127.0.0.2", reason)

    def test_a_library_that_fails_on_one_host(self):
        # The others have begun to wait for its sum, and stop at once.
        for fault_word, reason in (("error", "ncclGroupEnd of nccl: internal error"),
                                   ("async", "an all-reduce of nccl: internal error"),
                                   ("die", "the process of nccl was ended by signal 6")):
            self.over_hosts(6, FAKE_NCCL=fault_word)
            for one in self.reasons("HT-NCCL-ERROR"):
                self.assertTrue(one.startswith(f"127.0.0.2: {reason}"), one)

    def test_a_library_that_hangs_on_one_host(self):
        self.over_hosts(6, timeout="8", FAKE_NCCL="hang")
        for reason in self.reasons("HT-NCCL-HANG"):
            # Who waits for it may be killed first, or see that it is gone.
            self.assertRegex(reason, "^(127.0.0.1, )?127.0.0.2(, 127.0.0.3)?: nccl did not return "
                                     "within 8.00 s and was killed during: the sum of whole "
                                     "numbers$")

    def test_a_host_without_gpus(self):
        port = free_ports(1)[0]
        with_gpus = {"stages": "memory,network", "environment": fakes(**with_nccl()),
                     "words": ("--platform", "nvidia", *SMALL[1:])}
        processes = [self.start(number, port, **({} if number == 1 else with_gpus))
                     for number in range(3)]
        for document in self.documents(processes, 0):
            stage = next(one for one in document["stages"] if one["stage"] == "network")
            self.assertIn("no NCCL or RCCL over the hosts: no GPU on 127.0.0.2", stage["figures"])


if __name__ == "__main__":
    program.main(__doc__)
