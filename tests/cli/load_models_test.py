# SPDX-License-Identifier: MIT
"""`hiptool load` of several models: one document, one verdict, each model on its own.

FAKE_CUDA names the fake of the CUDA driver. Usage: load_models_test.py PROGRAM.
"""
import csv
import hashlib
import io
import os
import re
import signal
import xml.etree.ElementTree as xml

import program
from load_test import write_safetensors
from program import CliTest, clean_environment, run
from verdict_load_test import NOTHING, write_floats
from verdicts import check_one_verdict


def fake_cuda(**more):
    return clean_environment(**{**NOTHING, "HIPTOOL_CUDA_LIBRARY": os.environ["FAKE_CUDA"]},
                             **more)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Models(CliTest):
    def setUp(self):
        super().setUp()
        self.a = write_safetensors(self.folder / "a.safetensors", {"x": os.urandom(100_000)})
        self.b = write_safetensors(self.folder / "b.safetensors",
                                   {"y": os.urandom(300_000), "z": os.urandom(5)})
        self.c = write_safetensors(self.folder / "c.safetensors", {"w": os.urandom(1000)})
        self.missing = self.folder / "missing.gguf"

    def document(self, code, *words, environment=None):
        result = run("load", *words, "--device", "cpu", "--format", "json",
                     environment=environment)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return self.assert_document(result.stdout, "load.schema.json")

    def check(self, code, *words, device="cpu", **more):
        return check_one_verdict(self, ["load", *words, "--device", device], code, **more)

    def table(self, *words, device="cpu", environment=None):
        """The first line, and the rows by model."""
        result = run("load", *words, "--device", device, environment=environment)
        self.assert_width(result.stdout)
        first, _, rest = result.stdout.partition("\n\n")
        lines = rest.split("\n\n")[0].splitlines()
        rows = {re.split(r"  +", line)[0]: re.split(r"  +", line)[1:] for line in lines}
        return " ".join(first.split()), rows

    # ---- what a user sees

    def test_all_are_verified(self):
        document = self.check(0, self.a, self.b, self.c)
        self.assertEqual(document["status"], "verified")
        self.assertNotIn("model", document)
        self.assertEqual([one["path"] for one in document["models"]],
                         [str(self.a), str(self.b), str(self.c)])
        for one, path in zip(document["models"], (self.a, self.b, self.c)):
            self.assertEqual((one["status"], one["exit_code"], one["passed"], one["error"],
                              one["failures"]), ("verified", 0, True, None, []))
            alone = self.document(0, path)
            self.assertEqual(one["verify"]["digest"], alone["verify"]["digest"])
            self.assertEqual(one["model"]["file_bytes"], path.stat().st_size)
            self.assertEqual([device["id"] for device in one["devices"]], ["cpu:0"])
            for absent in ("schema", "tool", "host", "started_at", "measured_on", "shown"):
                self.assertNotIn(absent, one)
        self.assertGreaterEqual(document["verdict_time_s"],
                                sum(one["verdict_time_s"] for one in document["models"]))
        first, rows = self.table(self.a, self.b, self.c)
        self.assertRegex(first, r"^verified 3 models, 392 KiB on cpu:0 in [\d.]+ m?s$")
        self.assertEqual(list(rows), ["Model", "a.safetensors", "b.safetensors", "c.safetensors"])
        self.assertEqual(rows["Model"], ["Status", "Size", "Time", "Rate", "Digest"])
        self.assertEqual(rows["b.safetensors"][:2], ["verified", "293 KiB"])
        self.assertEqual(rows["b.safetensors"][-1], document["models"][1]["verify"]["digest"])

    def test_one_model_has_no_list_of_models(self):
        self.assertNotIn("models", self.document(0, self.a))

    def test_a_missing_one_does_not_stop_the_others(self):
        document = self.check(4, self.a, self.missing, self.b)
        self.assertEqual([(one["status"], one["exit_code"]) for one in document["models"]],
                         [("verified", 0), ("failed", 4), ("verified", 0)])
        self.assertEqual(document["error"]["code"], "input_failed")
        self.assertEqual(document["models"][1]["error"], document["error"])
        self.assertIsNone(document["models"][1]["model"])
        first, rows = self.table(self.a, self.missing, self.b)
        self.assertEqual(first, "FAILED: 1 of 3 models failed: missing.gguf: cannot open: "
                         "No such file or directory")
        self.assertEqual(rows["Model"][-1], "Digest or reason")
        self.assertEqual(rows["missing.gguf"][0], "failed")
        self.assertTrue(rows["missing.gguf"][-1].startswith("cannot open: "), rows)
        self.assertEqual(rows["b.safetensors"][0], "verified")
        result = run("load", self.a, self.missing, self.b, "--device", "cpu")
        self.assertEqual(result.stderr.count("error: "), 1)
        self.assertIn(f"cannot open {self.missing}", result.stderr)

    def test_several_fail_and_the_worst_is_named_with_its_reason(self):
        short = self.folder / "short.safetensors"
        short.write_bytes(self.a.read_bytes()[:-1])
        bad = write_floats(self.folder / "nan.safetensors", {"t": [float("nan"), 1.0]})
        document = self.check(4, bad, short, self.a, "--check-tensors")
        self.assertEqual([one["exit_code"] for one in document["models"]], [1, 4, 0])
        self.assertEqual(document["failures"][0]["what"], "nan.safetensors: tensor t")
        self.assertEqual(document["models"][0]["failures"][0]["what"], "tensor t")
        first, rows = self.table(bad, short, self.a, "--check-tensors")
        self.assertRegex(first, r"^FAILED: 2 of 3 models failed: short\.safetensors: .*; also "
                         r"nan\.safetensors$")
        self.assertEqual([rows[name][0] for name in ("nan.safetensors", "short.safetensors",
                                                     "a.safetensors")],
                         ["failed", "failed", "verified"])

    def test_nan_alone_is_exit_1(self):
        bad = write_floats(self.folder / "nan.safetensors", {"t": [float("nan"), 1.0]})
        document = self.check(1, self.a, bad, "--check-tensors")
        self.assertEqual((document["status"], document.get("error")), ("verified", None))
        first, rows = self.table(self.a, bad, "--check-tensors")
        self.assertEqual(first, "FAILED: 1 of 2 models failed: nan.safetensors: NaN: 1 value in "
                         "1 tensor (t)")
        self.assertEqual(rows["nan.safetensors"][0], "failed")
        self.assertIn("of nan.safetensors",
                      run("load", self.a, bad, "--device", "cpu", "--check-tensors").stdout)

    def test_wrong_bytes_on_a_device_outrank_a_damaged_file(self):
        environment = fake_cuda(FAKE_CUDA_CORRUPT_FROM="200000")
        document = self.check(5, self.a, self.missing, self.b, self.c, device="nvidia:0",
                              environment=environment)
        self.assertEqual([one["exit_code"] for one in document["models"]], [0, 4, 5, 0])
        self.assertEqual((document["status"], document.get("error")), ("mismatch", None))
        self.assertEqual(document["models"][2]["verify"]["mismatches"][0]["tensor"], "y")
        first, rows = self.table(self.a, self.missing, self.b, device="nvidia:0",
                                 environment=environment)
        self.assertRegex(first, r"^FAILED: 2 of 3 models failed: b\.safetensors: WRONG DATA on "
                         r"nvidia:0: \d+ of \d+ pieces differ from the file; also missing\.gguf$")
        self.assertEqual(rows["b.safetensors"][0], "mismatch")

    def test_the_same_path_twice_and_equal_names(self):
        folder = self.folder / "d"
        folder.mkdir()
        twin = write_safetensors(folder / "a.safetensors", {"x": os.urandom(5000)})
        report = self.folder / "saved.json"
        document = self.check(0, self.a, twin, self.a)
        self.assertEqual(len({one["verify"]["digest"] for one in document["models"]}), 2)
        shown = run("load", "a.safetensors", "d/a.safetensors", "--device", "cpu",
                    cwd=self.folder).stdout
        self.assertRegex(shown, r"(?m)^d/a\.safetensors  verified ")
        # Ids of measurements are unique, which reading the document back checks.
        run("load", self.a, twin, self.a, "--device", "cpu", f"--export=json={report}")
        self.assertEqual(run("report", "render", report).returncode, 0)
        prom = run("load", self.a, twin, self.a, "--device", "cpu", "--export", "prom=-", "-q")
        values = [line for line in prom.stdout.splitlines()
                  if line.startswith("hiptool_model_success{")]
        self.assertEqual(values, [f'hiptool_model_success{{model="{self.a}"}} 1',
                                  f'hiptool_model_success{{model="{twin}"}} 1',
                                  f'hiptool_model_success{{model="{self.a}#2"}} 1'])

    def test_long_names_stay_in_one_row(self):
        names = [f"Meta-Llama-3.1-8B-Instruct-{end}.gguf" for end in ("Q4_K_M", "Q5_K_M")]
        for name in names:
            (self.folder / name).write_bytes(self.a.read_bytes())
        first, rows = self.table(*(self.folder / name for name in names))
        self.assertEqual(len(rows), 3, rows)
        self.assertTrue(first.startswith("verified 2 models"))
        shown = [name for name in rows if name != "Model"]
        self.assertEqual([name[-11:] for name in shown], ["Q4_K_M.gguf", "Q5_K_M.gguf"])
        # Names that would look alike are whole, in lists.
        names = [f"model-{middle}-of-a-very-long-name.gguf" for middle in ("one", "two")]
        for name in names:
            (self.folder / name).write_bytes(self.a.read_bytes())
        result = run("load", *(self.folder / name for name in names), "--device", "cpu")
        for name in names:
            self.assertIn(f"Model {name}\n", result.stdout)

    def test_the_share_of_the_limit_where_names_leave_room(self):
        # A load of 1 GiB and more is compared with the limit: here the link, from a disk too.
        names = ["g.safetensors", "a-name-of-more-than-20-letters.safetensors"]
        for name in names:
            write_safetensors(self.folder / name, {}, sparse_bytes=1 << 30)
        gpu = {"device": "nvidia:0", "environment": fake_cuda()}
        _, rows = self.table(self.folder / names[0], self.a, **gpu)
        self.assertEqual(rows["Model"][4], "Limit")
        self.assertRegex(rows["g.safetensors"][4], r"^\d+ %$")
        _, rows = self.table(self.folder / names[1], self.a, **gpu)
        self.assertEqual(rows["Model"], ["Status", "Size", "Time", "Rate", "Digest"])
        self.assertEqual(len(rows), 3)

    # ---- formats

    def test_junit_has_one_case_for_each_model(self):
        path = self.folder / "j.xml"
        bad = write_floats(self.folder / "nan.safetensors",
                           {"t": [float("nan")], "u": [float("inf")]})
        run("load", self.a, self.missing, bad, "--device", "cpu", "--check-tensors",
            f"--export=junit={path}")
        cases = list(xml.parse(path).getroot().iter("testcase"))
        self.assertEqual([case.get("name") for case in cases],
                         [f"load {one}" for one in (self.a, self.missing, bad)])
        self.assertEqual([[child.tag for child in case] for case in cases],
                         [[], ["error"], ["failure"]])
        self.assertIn("No such file", cases[1][0].get("message"))
        self.assertIn("tensor t", cases[2][0].get("message"))
        self.assertIn("tensor u", cases[2][0].get("message"))

    def test_prom_has_the_verdict_of_all_and_of_each(self):
        result = run("load", self.a, self.missing, "--device", "cpu", "--export", "prom=-", "-q")
        lines = result.stdout.splitlines()
        self.assertIn('hiptool_success{command="load"} 0', lines)
        self.assertIn('hiptool_exit_code{command="load"} 4', lines)
        self.assertIn(f'hiptool_model_success{{model="{self.a}"}} 1', lines)
        self.assertIn(f'hiptool_model_success{{model="{self.missing}"}} 0', lines)
        self.assertIn(f'hiptool_model_exit_code{{model="{self.missing}"}} 4', lines)
        self.assertIn(f'hiptool_model_bytes{{model="{self.a}"}} 1e+05', lines)

    def test_csv_has_a_row_for_each_model_or_each_tensor(self):
        result = run("load", self.a, self.missing, self.b, "--device", "cpu", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual([(row["path"], row["status"]) for row in rows],
                         [(str(self.a), "verified"), (str(self.missing), "failed"),
                          (str(self.b), "verified")])
        result = run("load", self.a, self.b, "--device", "cpu", "--format", "csv", "--tensors")
        rows = list(csv.DictReader(io.StringIO(result.stdout)))
        self.assertEqual([(row["table"], row["name"]) for row in rows],
                         [(str(self.a), "x"), (str(self.b), "y"), (str(self.b), "z")])
        document = self.document(0, self.a, self.b, "--tensors")
        self.assertEqual([[tensor["name"] for tensor in one["tensors"]]
                          for one in document["models"]], [["x"], ["y", "z"]])

    def test_progress_names_the_number_of_the_model(self):
        large = self.folder / "l.gguf"
        run("make-model", large, "--size", "64MiB")
        err = run("load", self.a, large, "--device", "cpu").stderr
        self.assertRegex(err, r"(?m)^1/2 load: 97\.7 KiB in ")
        self.assertRegex(err, r"(?m)^2/2 load: 64\.0 MiB in ")

    # ---- options

    def test_given_hashes_follow_the_order_of_the_files(self):
        hashes = [word for path in (self.a, self.b) for word in ("--sha256", sha256(path))]
        document = self.check(0, self.a, self.b, *hashes)
        self.assertEqual([one["verify"]["published"][0]["found"] for one in document["models"]],
                         [sha256(self.a), sha256(self.b)])
        swapped = self.document(4, self.b, self.a, *hashes)
        self.assertEqual([one["error"]["code"] for one in swapped["models"]],
                         ["manifest_mismatch"] * 2)
        one_wrong = self.document(4, self.a, self.b, *hashes[:2], "--sha256", "0" * 64)
        self.assertEqual([one["passed"] for one in one_wrong["models"]], [True, False])
        # That of a missing model is not taken for another one.
        missing = self.document(4, self.missing, self.b, "--sha256", "0" * 64, *hashes[2:])
        self.assertEqual([one["passed"] for one in missing["models"]], [False, True])

    def test_a_set_takes_one_hash_for_each_of_its_files(self):
        run("make-model", self.folder / "s.gguf", "--size", "100KiB", "--shards", "2")
        shards = sorted(self.folder.glob("s-*.gguf"))
        self.assertEqual(len(shards), 2)
        hashes = [word for path in (*shards, self.a) for word in ("--sha256", sha256(path))]
        self.document(0, shards[0], self.a, *hashes)
        for count in (2, 8):
            refused = run("load", shards[0], self.a, "--device", "cpu", *(hashes * 2)[:count])
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f"the 2 models have 3 files, and {count // 2} SHA-256 were given",
                          " ".join(refused.stderr.split()))

    def test_all_shards_of_a_set_are_one_model(self):
        run("make-model", self.folder / "s.gguf", "--size", "100KiB", "--shards", "3")
        shards = sorted(self.folder.glob("s-*.gguf"))
        self.assertEqual(len(shards), 3)
        alone = self.document(0, *shards)
        self.assertEqual((alone["model"]["path"], alone["model"]["files"]), (str(shards[0]), 3))
        document = self.document(0, *shards, self.a, self.folder / "." / shards[1].name)
        self.assertEqual([one["path"] for one in document["models"]],
                         [str(shards[0]), str(self.a)])
        folder = self.folder / "set"
        folder.mkdir()
        for shard in shards:
            shard.rename(folder / shard.name)
        document = self.document(0, folder, folder / shards[2].name, self.a)
        self.assertEqual([one["path"] for one in document["models"]],
                         [str(folder), str(self.a)])
        # The same path again is another load, of a set as of a file.
        document = self.document(0, folder / shards[0].name, folder / shards[0].name)
        self.assertEqual(len(document["models"]), 2)
        # One of them is missing: each path says so.
        (folder / shards[1].name).unlink()
        self.document(4, folder / shards[0].name, folder / shards[2].name)

    def test_an_empty_path_is_refused(self):
        refused = run("load", self.a, "", "--device", "cpu")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("PATH has an empty value", refused.stderr)

    def test_options_for_one_model_are_refused(self):
        for option in ("--trace", "--write-manifest", "--check-manifest"):
            refused = run("load", self.a, self.b, "--device", "cpu", option, self.folder / "f")
            self.assertEqual(refused.returncode, 2, option)
            self.assertIn(f"{option} is for one model", refused.stderr)
        for option in ("--write-golden", "--check-golden"):
            refused = run("load", self.a, self.b, "--prove", option, self.folder / "f")
            self.assertEqual(refused.returncode, 2, option)
            self.assertIn(f"{option} is for one model", refused.stderr)
        self.assertFalse((self.folder / "f").exists())

    def test_a_dry_run_lists_whether_each_fits(self):
        huge = write_safetensors(self.folder / "huge.safetensors", {}, sparse_bytes=1 << 41)
        self.check(0, self.a, self.b, "--dry-run")
        first, _ = self.table(self.a, self.b, "--dry-run")
        self.assertEqual(first, "planned 2 models, 391 KiB on cpu:0, each of which fits")
        document = self.check(3, self.a, huge, "--dry-run")
        self.assertEqual([one["status"] for one in document["models"]], ["planned", "failed"])
        result = run("load", self.a, self.b, "--dry-run")
        self.assertEqual(result.stdout.splitlines()[0],
                         "planned 2 models, 391 KiB, no device was opened")
        models = []
        for seed in ("1", "2"):
            models.append(self.folder / f"llama{seed}.gguf")
            run("make-model", models[-1], "--architecture", "llama", "--seed", seed)
        document = self.document(0, *models, "--dry-run", "--context", "128")
        self.assertEqual([one["fit"]["verdict"] for one in document["models"]], ["fits"] * 2)
        _, rows = self.table(*models, "--dry-run", "--context", "128")
        self.assertEqual(rows["llama1.gguf"][-1], "fits cpu:0 with a context of 128")

    def test_computations_of_each(self):
        models = []
        for seed in ("1", "2"):
            models.append(self.folder / f"llama{seed}.gguf")
            run("make-model", models[-1], "--architecture", "llama", "--seed", seed)
        document = self.check(0, *models, "--prove", stdout_formats=())
        self.assertEqual((document["status"], [one["status"] for one in document["models"]]),
                         ("proved", ["proved"] * 2))
        self.assertTrue(all(one["prove"]["first_wrong"] is None for one in document["models"]))
        document = self.check(4, models[0], self.a, "--prove", stdout_formats=())
        self.assertEqual([one["exit_code"] for one in document["models"]], [0, 4])
        shown = run("load", *models, "--prove", "--device", "cpu").stdout
        self.assertEqual(shown.count("\nprompt  "), 2, shown)
        self.assertIn("\nproved: llama2.gguf computes right on cpu:0", shown)
        document = self.document(0, *models, "--decode", "2")
        self.assertEqual([len(one["decode"]["ids"]) for one in document["models"]], [2, 2])

    def test_an_empty_model_among_others(self):
        empty = write_floats(self.folder / "e.safetensors", {})
        document = self.check(0, empty, self.a)
        self.assertEqual(document["status"], "verified")
        first, _ = self.table(empty, self.a)
        self.assertRegex(first, r"^verified 1 model, 97\.7 KiB on cpu:0 in .*; 1 empty$")
        document = self.check(2, empty, self.b, "--self-test")
        self.assertEqual([one["exit_code"] for one in document["models"]], [2, 0])

    # ---- failures of the machine

    def test_too_little_memory_for_the_second(self):
        huge = write_safetensors(self.folder / "huge.safetensors", {}, sparse_bytes=1 << 41)
        document = self.check(3, self.a, huge, self.b)
        self.assertEqual([one["exit_code"] for one in document["models"]], [0, 3, 0])
        self.assertEqual(document["error"]["code"], "out_of_memory")
        self.assertIn("huge.safetensors", document["error"]["message"])

    def test_memory_is_released_before_the_next_model(self):
        if program.is_sanitized():
            self.skipTest("a sanitizer keeps freed memory")
        models = []
        for seed in range(3):
            models.append(self.folder / f"l{seed}.gguf")
            run("make-model", models[-1], "--size", "256MiB", "--seed", str(seed))

        def peak_bytes(*paths):
            words = [program.PROGRAM, "load", *paths, "--device", "nvidia:0", "-q"]
            silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
            process = os.posix_spawn(words[0], [str(word) for word in words], fake_cuda(),
                                     file_actions=silent)
            _, status, usage = os.wait4(process, 0)
            self.assertEqual(status, 0)
            return usage.ru_maxrss * 1024

        self.assertLess(peak_bytes(*models), peak_bytes(models[0]) + (128 << 20))

    def test_no_device_is_said_once(self):
        result = run("load", self.a, self.b, "--device", "nvidia:0", "--format", "json",
                     environment=clean_environment(**NOTHING))
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
        document = self.assert_document(result.stdout, "load.schema.json")
        self.assertEqual([one["error"]["code"] for one in document["models"]],
                         ["unavailable"] * 2)
        self.assertNotIn("a.safetensors", document["error"]["message"])

    def test_four_devices(self):
        environment = fake_cuda(FAKE_CUDA_DEVICES="4")
        document = self.check(0, self.a, self.b, device="all", environment=environment)
        for one in document["models"]:
            self.assertEqual([device["id"] for device in one["devices"]],
                             [f"nvidia:{i}" for i in range(4)])
        first, _ = self.table(self.a, self.b, device="all", environment=environment)
        self.assertRegex(first, r"^verified 2 models, 391 KiB on nvidia:0-3 in ")

    def test_a_full_disk(self):
        result = run("load", self.a, self.b, "--device", "cpu", "--export", "json=/dev/full")
        self.assertEqual(result.returncode, 7)
        self.assertIn("No space left on device", result.stderr)

    def test_an_export_never_replaces_a_part_of_a_model(self):
        run("make-model", self.folder / "s.gguf", "--size", "100KiB", "--shards", "2")
        shards = sorted(self.folder.glob("s-*.gguf"))
        before = shards[1].read_bytes()
        result = run("load", self.a, shards[0], "--device", "cpu", f"--export=json={shards[1]}")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(shards[1].read_bytes(), before)

    def test_interrupted_in_the_second(self):
        large = write_safetensors(self.folder / "l.safetensors", {}, sparse_bytes=128 << 20)
        document = self.check(130, self.a, large, self.b, device="nvidia:0", hold="copy:4",
                              environment=fake_cuda(), stdout_formats=())
        first, second, third = document["models"]
        self.assertEqual((first["status"], first["exit_code"]), ("verified", 0))
        self.assertEqual((second["status"], second["exit_code"]), ("interrupted", 130))
        self.assertEqual((third["status"], third["exit_code"]), ("interrupted", 130))
        self.assertIn("not started", document["models"][2]["error"]["message"])

    def test_terminated_by_a_signal_of_a_scheduler(self):
        large = write_safetensors(self.folder / "l.safetensors", {}, sparse_bytes=128 << 20)
        saved = self.folder / "saved.json"
        result = self.interrupt("copy:2", "load", self.missing, large, self.a, "--device",
                                "nvidia:0", f"--export=json={saved}", environment=fake_cuda(),
                                number=signal.SIGTERM)
        self.assertEqual(result.returncode, 143)
        document = self.assert_document(saved.read_text("utf-8"), "load.schema.json")
        self.assertEqual([one["exit_code"] for one in document["models"]], [4, 143, 143])

    def test_interrupted_after_a_failure(self):
        large = write_safetensors(self.folder / "l.safetensors", {}, sparse_bytes=128 << 20)
        result = self.interrupt("copy:2", "load", self.missing, large, "--device", "nvidia:0",
                                environment=fake_cuda())
        self.assertEqual(result.returncode, 130)
        self.assertRegex(result.stdout,
                         r"^interrupted after 1 of 2 models in [\d.]+ [mu]?s; 1 failed\n")


if __name__ == "__main__":
    program.main(__doc__)
