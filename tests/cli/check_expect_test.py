# SPDX-License-Identifier: MIT
"""`check --expect` and `check --write-expect`. Variables and usage as check_test.py."""
import json

import program
from check_test import ON_CPU, SMALL, Check, failed, fakes, small
from program import run
from verdicts import check_one_verdict, run_until


class Expectations(Check):
    WORDS = [*ON_CPU, "--stage", "copy,memory"]

    def written(self, change=lambda kinds: None):
        path = self.folder / "expect.json"
        result = run(*self.WORDS, "--write-expect", path, "--margin", "90%")
        self.assertEqual(result.returncode, 0, result)
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document["gpus"])
        path.write_text(json.dumps(document), encoding="utf-8")
        return document, path

    def test_ranks_write_a_file_each(self):
        for rank in "01":
            result = run(*self.WORDS, "--write-expect", self.folder / "e.json",
                         environment=program.clean_environment(SLURM_PROCID=rank,
                                                               SLURM_NTASKS="2"))
            self.assertEqual(result.returncode, 0, result)
        self.assertEqual(sorted(path.name for path in self.folder.glob("e*")),
                         ["e.0.json", "e.1.json"])

    def expect(self, code, change):
        _, path = self.written(change)
        return check_one_verdict(self, [*self.WORDS, "--expect", str(path)], code,
                                 stdout_formats=())

    LIBRARIES = [*small("libraries"), "--device", "nvidia:0"]

    def written_of_libraries(self, change=lambda floors: None):
        path = self.folder / "expect.json"
        result = run(*self.LIBRARIES, "--write-expect", path, "--margin", "95%",
                     environment=fakes())
        self.assertEqual(result.returncode, 0, result)
        document = json.loads(path.read_text(encoding="utf-8"))
        floors, = document["gpus"].values()
        change(floors)
        path.write_text(json.dumps(document), encoding="utf-8")
        return floors, ["--expect", str(path)]

    def test_libraries_have_floors(self):
        floors, expect = self.written_of_libraries()
        self.assertEqual(set(floors), {"matmul.f32.64x64x64.cublas",
                                       "matmul.f32.64x64x64.cublaslt",
                                       "conv2d.f32.n1c8h14w14:k8r3s3p1.cudnn"})
        self.assertTrue(all(floor["flops_per_s"] > 0 for floor in floors.values()))
        document = self.document(*self.LIBRARIES, *expect)
        self.assertEqual(document["expect"]["judged"], 3)
        # Floors of a stage that was not chosen are no reason to refuse the machine.
        document = self.document(*SMALL, "--stage", "kernels", "--device", "nvidia:0", *expect)
        self.assertEqual(len(document["expect"]["not_measured"]), 3)

    def test_a_library_below_its_floor(self):
        def demand(floors):
            del floors["matmul.f32.64x64x64.cublaslt"]
            floors["matmul.f32.64x64x64.cublas"]["flops_per_s"] = 1e18
        _, expect = self.written_of_libraries(demand)
        document = self.verdict("libraries", 1, "--device", "nvidia:0", *expect,
                                stdout_formats=())
        self.assertEqual(failed(document), [("nvidia:0", "libraries")])
        self.assertEqual(document["expect"]["judged"], 2)   # only what the file names
        fault, = document["stages"][0]["faults"]
        self.assertEqual(fault["what"], "matmul.f32.64x64x64.cublas@nvidia:0")

    def test_an_expected_library_that_is_missing(self):
        _, expect = self.written_of_libraries()
        document = self.document(*self.LIBRARIES, *expect, code=1,
                                 environment=fakes(HIPTOOL_LIBRARY_PATH=str(self.folder)))
        self.assertIn("not measured", document["stages"][0]["reason"])

    def test_what_is_written(self):
        document, _ = self.written()
        self.assertEqual(document["schema"], "hiptool.expect/1")
        self.assertEqual(document["level"], "quick")
        floors, = document["gpus"].values()
        self.assertEqual(set(floors), {"h2d.pinned.copy.64KiB", "d2h.pinned.copy.64KiB",
                                       "d2d.copy.64KiB", "memtest-address.u32.64KiB",
                                       "memtest-random.u32.64KiB"})
        for floor in floors.values():
            self.assertGreater(floor["bytes_per_s"], 0)

    def test_repeats(self):
        path = self.folder / "repeated.json"
        for words, repeats in ((["--repeat", "2"], 2), ([], 3)):
            document = self.document(*self.WORDS, "--write-expect", str(path), *words,
                                     environment=program.clean_environment())
            written = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual(written["repeats"], repeats)
            rates, = written["gpus"].values()
            self.assertTrue(all(0 <= rate["spread"] < 1 for rate in rates.values()), rates)
            for cell in document["measurements"]:
                rate = rates[cell["label"]]
                least = cell["bytes_per_s"] * (1 - max(0.05, rate["spread"]))
                self.assertLessEqual(rate["bytes_per_s"], least + 1, cell["label"])
        for words, reason in ((["--repeat", "0"], "from 1 to 20"), (["--repeat", "21"], "1 to 20")):
            result = run(*self.WORDS, "--write-expect", path, *words)
            self.assertEqual(result.returncode, 2, result)
            self.assertIn(reason, result.stderr)
        result = run(*self.WORDS, "--repeat", "3")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("--write-expect", result.stderr)

    def test_an_interrupted_repeat_writes_nothing(self):
        path = self.folder / "e.json"
        words = [*self.WORDS, "--repeat", "20", "--write-expect", str(path)]
        result = run_until(words, None, "cpu:0 memory: passed")
        self.assertEqual(result.returncode, 130, result)
        self.assertFalse(path.exists())

    def test_a_file_without_numbers_of_gpus_is_complete(self):
        path = self.folder / "e.json"
        words = [*SMALL, "--stage", "copy", "--device", "nvidia:0"]
        self.document(*words, "--write-expect", str(path), "--margin", "95%")
        self.assertNotIn("machines", json.loads(path.read_text(encoding="utf-8")))
        document = self.document(*words, "--expect", str(path))
        self.assertNotIn("number of GPUs", str(document["shown"]))

    def gpus(self, level, *words, code=0, **more):
        return self.document("check", "--size", "64KiB", "--spread", "90%", "--timeout", "200",
                             "--level", level, "--stage", "copy", *words, code=code,
                             environment=fakes(**more))

    def test_gpus_that_a_variable_hides(self):
        path = self.folder / "four.json"
        write = ("--write-expect", str(path), "--margin", "99%", "--repeat", "1", "--force")
        expect = ("--expect", str(path))
        hidden = {"FAKE_CUDA_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "0,1"}
        self.gpus("prolog", *write, FAKE_CUDA_DEVICES="4")
        self.assertEqual(json.loads(path.read_text())["machines"], [{"Fake GPU": 4}])
        # The GPUs of a job are a choice, at the level that is for jobs.
        document = self.gpus("prolog", *expect, **hidden)
        self.assertIn("the number of GPUs was not compared: 2 of 4 Fake GPU visible with "
                      "CUDA_VISIBLE_DEVICES=0,1", str(document["shown"]["notes"]))
        for level, variables in (("prolog", {"FAKE_CUDA_DEVICES": "2"}), ("quick", hidden)):
            document = self.gpus(level, *expect, code=1, **variables)
            fault, = document["stages"][0]["faults"]
            self.assertEqual(fault["code"], "HT-GPU-COUNT")
            is_named = "CUDA_VISIBLE_DEVICES" in fault["reason"]
            self.assertEqual(is_named, "CUDA_VISIBLE_DEVICES" in variables)
            self.assertEqual("seating" in fault["action"], not is_named)
        # One that hides nothing changes nothing; one of another vendor neither.
        self.gpus("prolog", *expect, FAKE_CUDA_DEVICES="4", CUDA_VISIBLE_DEVICES="0,1,2,3")
        self.gpus("prolog", *expect, code=1, FAKE_CUDA_DEVICES="2", ROCR_VISIBLE_DEVICES="0")
        document = self.gpus("prolog", *write, **hidden)
        self.assertNotIn("machines", json.loads(path.read_text()))
        self.assertIn("without the number of GPUs", str(document["shown"]["notes"]))

    def test_gpus_of_several_kinds(self):
        path = self.folder / "mixed.json"
        mixed = {"FAKE_CUDA_DEVICES": "2"}
        environment = fakes(**mixed)
        del environment["FAKE_CUDA_NAME"]   # "Fake GPU 0" and "Fake GPU 1"
        words = ["check", "--size", "64KiB", "--timeout", "200", "--stage", "copy"]
        expect = [*words, "--expect", str(path)]
        self.document(*words, "--write-expect", str(path), "--margin", "99%", "--repeat", "1",
                      environment=environment)
        document = json.loads(path.read_text(encoding="utf-8"))
        first, second = "Fake GPU 0", "Fake GPU 1"
        self.assertEqual(document["machines"], [{first: 1, second: 1}])
        self.assertEqual({key: set(map(lambda label: label.split(".")[0], labels))
                          for key, labels in document["gpus"].items()},
                         {first: {"h2d", "d2h", "d2d"}, second: {"h2d", "d2h", "d2d"},
                          f"{first} > {second}": {"p2p-write"},
                          f"{second} > {first}": {"p2p-write"},
                          f"{first} + {second}": {"h2d-all", "d2h-all"}})
        for _ in range(5):
            judged = self.document(*expect, environment=environment)["expect"]
            self.assertEqual((judged["judged"], judged["not_measured"]), (10, []))
        # The link between two of one kind, from another machine, is not that to the other kind.
        gpus = document["gpus"]
        gpus[first]["p2p-write.copy.64KiB"] = {"bytes_per_s": 1e18, "devices": 2}
        path.write_text(json.dumps(document), encoding="utf-8")
        judged = self.document(*expect, environment=environment)["expect"]
        self.assertEqual(judged["not_measured"], [f"{first}: p2p-write.copy.64KiB"])
        gpus[f"{first} > {second}"]["p2p-write.copy.64KiB"]["bytes_per_s"] = 1e18
        path.write_text(json.dumps(document), encoding="utf-8")
        fault, = self.document(*expect, code=1, environment=environment)["failures"]
        self.assertEqual(fault["measurement"], "p2p-write.copy.64KiB@nvidia:0>nvidia:1")
        # Two of the first kind in place of one of each, and two of an unknown kind.
        document = self.document(*expect, code=1, environment=fakes(FAKE_CUDA_NAME=first))
        self.assertEqual(document["stages"][0]["faults"][0]["code"], "HT-GPU-COUNT")
        self.assertEqual(run(*expect, environment=fakes(FAKE_CUDA_NAME="Other")).returncode, 2)

    def test_met(self):
        document = self.expect(0, lambda kinds: None)
        self.assertEqual(document["expect"]["judged"], 5)

    def test_missed(self):
        def demand(kinds):
            for floors in kinds.values():
                floors["d2h.pinned.copy.64KiB"]["bytes_per_s"] = 1e15
        document = self.expect(1, demand)
        self.assertEqual(failed(document), [("cpu:0", "copy")])
        self.assertEqual(document["failures"][0]["what"], "copy cpu:0")
        self.assertEqual(document["failures"][0]["expected"], "1000 TB/s")

    def test_another_figure_than_the_measured_one(self):
        def demand(name, rate):
            return lambda kinds: next(iter(kinds.values())).update(
                {"d2h.pinned.copy.64KiB": {name: rate, "devices": 1}})
        for rate in (5, 1e18):
            document = self.expect(2, demand("flops_per_s", rate))
            self.assertEqual(failed(document), [])   # the file does not fit: no device is blamed
            self.assertIn("'d2h.pinned.copy.64KiB' of", document["error"]["message"])
            self.assertIn("measured in another unit", document["error"]["message"])
            self.assertEqual(document["expect"]["judged"], 4)
        # A time is an upper limit of anything that has one.
        for most_s, code in ((1e9, 0), (1e-12, 1)):
            self.expect(code, demand("most_s", most_s))

    def test_an_unknown_kind_of_gpu(self):
        def rename(kinds):
            kinds["Other GPU"] = kinds.pop(next(iter(kinds)))
        _, path = self.written(rename)
        result = run(*self.WORDS, "--expect", path)
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("it has Other GPU", result.stderr)

    def test_an_unknown_measurement(self):
        for name, message, code in (
                ("h3d.pinned.copy.64KiB", "makes no measurement 'h3d.", 4),
                ("matmul.f32.64x64x64.mkl", "makes no measurement 'matmul.", 4),
                ("h2d.pinned.copy.63KiB", "did not measure", 2)):
            _, path = self.written(
                lambda kinds, name=name: next(iter(kinds.values())).update(
                    {name: {"bytes_per_s": 1, "devices": 1}}))
            result = run(*self.WORDS, "--expect", path)
            self.assertEqual(result.returncode, code, result)
            self.assertIn(message, result.stderr)
        # The last one ended after the measurements: its code is in every format.
        for output in ("table", "csv", "markdown", "json"):
            text = run(*self.WORDS, "--expect", path, "--format", output).stdout
            self.assertIn("HT-NOT-MEASURED", text, output)
        written = self.folder / "refused.json"
        written.write_text(text, encoding="utf-8")
        for output in ("html", "prom", "junit"):
            self.assertIn("HT-NOT-MEASURED",
                          run("report", "render", written, "--format", output).stdout, output)
        failure = json.loads(text)["failures"][0]
        self.assertEqual((failure["code"], failure["action_class"], failure["kind"]),
                         ("HT-NOT-MEASURED", "config", "error"))

    def test_a_refused_machine_writes_nothing(self):
        path = self.folder / "expect.json"
        result = run(*SMALL, "--stage", "copy", "--write-expect", path,
                     environment=fakes(FAKE_CUDA_NO_PEER="0:1"))
        self.assertEqual(result.returncode, 1, result)
        self.assertFalse(path.exists())
        self.assertIn(f"no expectations were written to {path}, because this run did not pass",
                      " ".join(result.stdout.split()))

    def test_an_older_file_stays_as_it_is(self):
        _, path = self.written()
        before = path.read_bytes()
        document = self.document(*SMALL, "--stage", "copy", "--write-expect", str(path), code=1,
                                 environment=fakes(FAKE_CUDA_NO_PEER="0:1"))
        self.assertIsNone(document["written"])
        self.assertIn("no expectations were written", str(document["shown"]["notes"]))
        self.assertEqual(path.read_bytes(), before)

    def test_stages_without_rates_write_nothing(self):
        result = run(*small("operations,model"), "--device", "cpu", "--write-expect",
                     self.folder / "e.json")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("none of the chosen stages measures a rate", result.stderr)

    def test_shares(self):
        on_gpu = ["check", "--device", "nvidia:0", *ON_CPU[3:]]
        for option, base, words in (
                ("--margin", ON_CPU, ["--write-expect", str(self.folder / "e.json")]),
                ("--spread", on_gpu, [])):
            for text in ("0.05", ".5", "1e-3"):
                result = run(*base, "--stage", "copy", *words, option, text, environment=fakes())
                self.assertEqual(result.returncode, 2, result)
                self.assertIn(f"{option}: '{text}' is below 1 and has no % sign", result.stderr)
                self.assertIn(f"or {option} {text}% for less", result.stderr)
            self.assertIn(f"hint: write {option} 5%, or",
                          run(*base, *words, option, "0.05", environment=fakes()).stderr)
            for text, share in (("0", 0), ("0.5%", 0.005), ("1", 0.01), ("10%", 0.1)):
                document = self.document(*base, "--stage", "copy", *words, option, text,
                                         environment=fakes())
                written = document["spread"]
                if words:
                    written = json.loads((self.folder / "e.json").read_text())["margin"]
                self.assertAlmostEqual(written, share)
        result = run(*ON_CPU, "--stage", "copy", "--spread", "10%")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("only the processor was chosen", result.stderr)

    def test_a_peer_that_is_expected(self):
        path = self.folder / "expect.json"
        words = [*SMALL, "--stage", "copy"]
        result = run(*words, "--write-expect", path, "--margin", "95%", environment=fakes())
        self.assertEqual(result.returncode, 0, result)
        document = self.document(*words, "--expect", str(path), code=1,
                                 environment=fakes(FAKE_CUDA_NO_PEER="*"))
        self.assertIn("not measured (nvidia:0 has no access", document["stages"][0]["reason"])


if __name__ == "__main__":
    program.main(__doc__)
