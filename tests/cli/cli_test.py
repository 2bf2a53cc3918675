# SPDX-License-Identifier: MIT
"""The behaviour that all commands share, devices and make-model, run as a user would.

Usage: cli_test.py PROGRAM [unittest options].
"""
import json
import os
import pathlib
import re
import resource
import signal
import tempfile

import program
from program import CliTest, clean_environment, run, run_on_terminal

# Sanitizers and loaded machines are slow; the promise is made for the program people install.
START_LIMIT_S = 0.05
SLOW_FACTOR = 10
ESCAPE = b"\x1b["


class HelpAndVersion(CliTest):
    def test_bare_call_is_help(self):
        result = run()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("Examples:", result.stdout)
        self.assert_width(result.stdout)

    def test_help_of_each_command(self):
        overview = run("--help").stdout
        commands = re.search(r"Commands:\n((?:  .*\n)+)", overview)[1]
        names = re.findall(r"^  ([a-z-]+)", commands, re.MULTILINE)
        self.assertIn("devices", names)
        for name in names:
            with self.subTest(name):
                result = run("help", name)
                self.assertEqual(result.returncode, 0)
                self.assertIn("Examples:", result.stdout)
                self.assert_width(result.stdout)

    def test_topics_are_no_wider_than_a_terminal(self):
        for topic in ("exit-codes", "environment", "thresholds", "units"):
            result = run("help", topic)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assert_width(result.stdout)

    def test_the_code_of_a_finding(self):
        for word in ("HT-COPY-RATE", "ht-copy-rate"):
            text = run("help", word).stdout
            self.assertTrue(text.startswith("HT-COPY-RATE: "), text)
            self.assertIn("\nClass of action: config\n", text)
        for word in ("HT-NOTHING", "ht-nothing"):
            result = run("help", word)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr, f"error: unknown code '{word}'\n"
                                            "hint: see 'hiptool help codes' for all of them\n")

    def test_the_example_of_help_thresholds_works(self):
        text = run("help", "thresholds").stdout
        file = re.search(r"case-insensitive\):\n((?:  .+\n)+)", text).group(1)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "thresholds.txt")
            path.write_text(file, encoding="utf-8")
            copies = ("bench-copy", "--device", "cpu", "--samples", "1", "--kind", "h2d,d2h",
                      "--size", "64KiB", "--format", "json", "--fail-below")
            result = run(*copies, f"@{path}")
            self.assertIn(result.returncode, (0, 1), result.stderr)
            asked = json.loads(result.stdout)["thresholds"]
            self.assertEqual({one["threshold"] for one in asked}, {"h2d>=10GB/s"})
            # On the processor nobody knows the limit of a copy.
            path.write_text(file.replace("[H200]", "[]"), encoding="utf-8")
            self.assertEqual(run(*copies, f"@{path}").returncode, 2)
        names = re.search(r"(?m)^  (h2d\S+) .*\n.*\n  (stream\S+) ", text)
        for command, name in (("bench-copy", names[1]), ("run-kernel", names[2])):
            words = ("--kind", "h2d") if command == "bench-copy" else ("stream",)
            small = name.rpartition(".")[0] + ".64KiB"
            result = run(command, *words, "--device", "cpu", "--samples", "1", "--size", "64K",
                         "--quiet", "--fail-below", f"{small}>=1MB/s")
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_exit_codes_topic(self):
        text = run("help", "exit-codes").stdout
        for code in ("0", "1", "2", "3", "4", "5", "6", "7", "130", "143"):
            self.assertRegex(text, rf"(?m)^ +{code}  \S")

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^hiptool \d+\.\d+\.\d+ \(.+\)\n")
        self.assertIn("kernel targets:", result.stdout)

    def test_answers_at_once(self):
        for words in (["--help"], ["--version"], ["help", "devices"]):
            with self.subTest(words):
                times = []
                for _ in range(5):
                    before = resource.getrusage(resource.RUSAGE_CHILDREN)
                    run(*words)
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                    times.append(after.ru_utime + after.ru_stime - before.ru_utime -
                                 before.ru_stime)
                binary = pathlib.Path(program.PROGRAM).read_bytes()
                is_slow_build = b"__asan_init" in binary or b"__tsan_init" in binary
                limit = START_LIMIT_S * (SLOW_FACTOR if is_slow_build else 1)
                # Time of a processor, to which other work only ever adds: hence the best of five.
                self.assertLess(min(times), limit)

    def test_no_driver_is_opened(self):
        self.assertRegex(program.libraries_looked_for("devices"), program.DRIVERS)
        for words in (["--help"], ["--version"], ["help", "devices"], ["nonsense"]):
            with self.subTest(words):
                self.assertNotRegex(program.libraries_looked_for(*words), program.DRIVERS)


class WrongUsage(CliTest):
    def test_each_is_exit_2_with_a_hint(self):
        cases = [
            (["devcies"], "did you mean 'devices'?"),
            (["devices", "--requier", "gpu"], "did you mean '--require'?"),
            (["--fromat", "json", "devices"], "did you mean '--format'?"),
            (["devices", "--format", "html"], "table, json, csv, markdown"),
            (["make-model", "m.gguf", "--size", "-1"], "64MiB"),
            (["make-model"], "see 'hiptool help make-model'"),
            (["--quiet"], "see 'hiptool help'"),
        ]
        for words, hint in cases:
            with self.subTest(words):
                result = run(*words)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertTrue(result.stderr.startswith("error: "))
                self.assertIn(hint, result.stderr)

    def test_old_names_of_options_are_accepted_and_not_shown(self):
        for command, old, new, value, more in (
                ("run-kernel", "--seconds", "--time", "1",
                 ("memset", "--device", "cpu", "--size", "64KiB", "--samples", "1")),
                ("bench-copy", "--preset", "--level", "ci",
                 ("--device", "cpu", "--kind", "h2d", "--size", "64KiB", "--samples", "5")),
                ("make-model", "--types", "--dtype", "F16", (str(self.folder / "m.gguf"),
                                                             "--size", "64KiB", "--force")),
                ("make-model", "--tensors", "--tensor-count", "3", (str(self.folder / "n.gguf"),
                                                                    "--size", "64KiB", "--force"))):
            for name in (old, new):
                done = run(command, *more, name, value)
                self.assertEqual(done.returncode, 0, (name, done.stderr))
                refused = run(command, *more, name, "")
                self.assertEqual(refused.returncode, 2, name)
                self.assertIn(f"{new} has an empty value", refused.stderr)
            for words in ((command, "--help"), ("help", "man", command), ("completion", "bash")):
                text = run(*words).stdout.replace("\\-", "-")
                self.assertIn(new, text)
                if words[0] != "completion" and old != "--tensors":   # a flag of other commands
                    self.assertNotIn(old, text, words)

    def test_as_json(self):
        for words in (["devices", "--format", "json", "--nothing"],
                      ["--format=json", "devices", "too", "many"]):
            result = run(*words)
            self.assertEqual(result.returncode, 2)
            document = self.assert_document(result.stdout, "devices.schema.json")
            self.assertEqual(document["status"], "failed")
            self.assertEqual(document["error"]["code"], "invalid_argument")
        result = run("nonsense", environment=clean_environment(HIPTOOL_FORMAT="json"))
        document = self.assert_document(result.stdout, "error.schema.json")
        self.assertEqual(document["schema"], "hiptool.hiptool/2")


class Streams(CliTest):
    def test_closed_pipe_keeps_the_code(self):
        for words, code in ((["devices"], 0), (["--version"], 0), (["devices", "nvidia:99"], 3)):
            with self.subTest(words):
                reader, writer = os.pipe()
                os.close(reader)
                result = run(*words, stdout=writer)
                os.close(writer)
                self.assertEqual(result.returncode, code)
                if code == 0:
                    self.assertEqual(result.stderr, "")

    def test_an_export_whose_reader_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            reader, writer = os.pipe()
            os.close(reader)
            file = os.path.join(folder, "out.csv")
            result = run("devices", "--device", "cpu", "--export", "json=-", "--export",
                         f"csv={file}", stdout=writer)
            os.close(writer)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            with open(file, encoding="utf-8") as table:
                self.assertIn("cpu:0,", table.read())

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        with open("/dev/full", "w", encoding="utf-8") as full:
            for words in (["--help"], ["devices"], ["devices", "--format", "json"]):
                result = run(*words, stdout=full)
                self.assertEqual(result.returncode, 7)
                self.assertIn("No space left on device", result.stderr)

    def test_documents_keep_the_code_of_a_run_whose_export_fails(self):
        """Of the codes of the run and of the export the process has the first of 5, 6, 7, 4, 3, 2,
        1; documents and metrics have the run's."""
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        copy = ["bench-copy", "--kind", "h2d", "--size", "64KiB", "--samples", "1"]
        fakes = clean_environment(HIPTOOL_HIP_LIBRARY="/nowhere/hip",
                                  HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
                                  FAKE_CUDA_CORRUPT_FROM="65536")
        for words, own, code in (
                ([*copy, "--device", "cpu"], 0, 7),
                ([*copy, "--device", "cpu", "--fail-below", "h2d>=1000TB/s"], 1, 7),
                ([*copy, "--device", "nvidia:9"], 3, 7),
                ([*copy, "--device", "nvidia:0"], 5, 5)):
            with self.subTest(words), tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "out.json")
                metrics = os.path.join(folder, "out.prom")
                result = run(*words, "--export", f"json={file}", "--export", "csv=/dev/full",
                             "--export", f"prom={metrics}", environment=fakes)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn("error: cannot write /dev/full", result.stderr)
                with open(file, encoding="utf-8") as text:
                    document = self.assert_document(text.read(), "bench-copy.schema.json")
                self.assertEqual((document["exit_code"], document["passed"]), (own, own == 0))
                with open(metrics, encoding="utf-8") as text:
                    self.assertIn(f'hiptool_exit_code{{command="bench-copy"}} {own}\n',
                                  text.read())

    def test_colour(self):
        cases = [
            ({}, [], True),
            ({"NO_COLOR": "1"}, [], False),
            ({"TERM": "dumb"}, [], False),
            ({"NO_COLOR": "1"}, ["--color", "always"], True),
            ({}, ["--color=never"], False),
        ]
        for variables, words, is_colored in cases:
            with self.subTest(f"{variables} {words}"):
                code, output = run_on_terminal("devices", *words, **variables)
                self.assertEqual(code, 0)
                self.assertEqual(ESCAPE in output, is_colored)
        self.assertNotIn("\x1b[", run("devices").stdout)
        forced = run("devices", environment=clean_environment(CLICOLOR_FORCE="1"))
        self.assertIn("\x1b[", forced.stdout)

    def test_plain_ascii_without_utf8(self):
        result = run("devices", environment=clean_environment(LC_ALL="C"))
        self.assertTrue(result.stdout.isascii())


class Devices(CliTest):
    def test_the_processor_has_no_runtime(self):
        self.assertNotIn("1 device, runtime", run("devices", "--device", "cpu").stdout)

    def test_table_fits(self):
        result = run("devices")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assert_width(result.stdout)
        self.assertIn("cpu:0", result.stdout)
        _, output = run_on_terminal("devices", columns=60, NO_COLOR="1")
        self.assert_width(output.decode().replace("\r", ""), 60)

    def test_document(self):
        result = run("devices", "--format", "json")
        self.assertEqual(result.returncode, 0)
        document = self.assert_document(result.stdout, "devices.schema.json")
        self.assertEqual([entry["platform"] for entry in document["platforms"]],
                         ["amd", "nvidia", "cpu"])
        self.assertIn("cpu:0", [device["id"] for device in document["devices"]])
        for entry in document["platforms"]:
            self.assertEqual(entry["status"] == "ok", entry["reason"] is None)

    def test_every_id_can_be_asked_for(self):
        document = json.loads(run("--format", "json", "devices").stdout)
        for device in document["devices"]:
            result = run("devices", device["id"], "--format=json")
            self.assertEqual(result.returncode, 0)
            alone = self.assert_document(result.stdout, "devices.schema.json")["devices"]
            self.assertEqual([entry["id"] for entry in alone], [device["id"]])

    def test_absent_device(self):
        for device in ("nvidia:99", "amd:99", "cpu:99"):
            result = run("devices", device, "--format", "json")
            self.assertEqual(result.returncode, 3)
            document = self.assert_document(result.stdout, "devices.schema.json")
            self.assertEqual(document["error"]["code"], "unavailable")
            self.assertTrue(result.stderr.startswith("error: "))

    def test_requirement(self):
        platforms = json.loads(run("devices", "--format", "json").stdout)["platforms"]
        for entry in platforms[:2]:
            result = run("devices", "--require", entry["platform"], "--format", "json")
            self.assertEqual(result.returncode, 0 if entry["status"] == "ok" else 3)
            self.assert_document(result.stdout, "devices.schema.json")

    def test_export(self):
        file = self.folder / "devices.json"
        result = run("devices", "--export", f"json={file}")
        self.assertEqual(result.returncode, 0)
        self.assert_document(file.read_text(encoding="utf-8"), "devices.schema.json")
        self.assertEqual(os.listdir(self.folder), ["devices.json"])
        result = run("devices", "--export", f"json={self.folder}/none/x.json")
        self.assertEqual((result.returncode, result.stdout), (7, ""))


class MakeModel(CliTest):
    def test_writes_both_formats(self):
        for name in ("m.gguf", "m.safetensors"):
            with self.subTest(name):
                path = self.folder / name
                result = run("make-model", str(path), "--size", "1MiB",
                             environment=clean_environment(HIPTOOL_FORMAT="json"))
                self.assertEqual(result.returncode, 0, result.stderr)
                document = self.assert_document(result.stdout, "make-model.schema.json")
                self.assertEqual(document["model"]["file_bytes"], path.stat().st_size)

    def test_same_seed_same_bytes(self):
        for name in ("a.gguf", "b.gguf"):
            run("make-model", str(self.folder / name), "--size", "1M", "--seed", "7", "--quiet")
        self.assertEqual((self.folder / "a.gguf").read_bytes(),
                         (self.folder / "b.gguf").read_bytes())

    def test_progress_on_a_terminal_is_gone_at_the_end(self):
        code, output = run_on_terminal("make-model", str(self.folder / "m.gguf"), "--size", "64M")
        self.assertEqual(code, 0)
        last = output.split(b"\x1b[K")[-1]
        self.assertNotIn("█".encode(), last)
        self.assertIn(b"wrote ", last)

    def test_a_driver_that_keeps_a_run_waiting_is_named_on_a_terminal(self):
        # What `devices` has found is whole.
        for code, *words in ((0, "devices"), (130, "bench-copy"),
                             (130, "run-kernel", "stream-triad")):
            with self.subTest(words):
                hold = self.hold("init")
                environment = {**clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"]),
                               **hold.variables}
                process, leader = program.start_on_terminal(
                    *words, "--device", "nvidia:0", environment=environment)
                hold.wait(process)
                # It repeats, with the time.
                program.read_until(leader, "starting the devices, 2 s")
                process.send_signal(signal.SIGINT)
                program.read_until(leader, "stopping, 1 s; still in: starting the devices")
                hold.release()
                ended, rest = program.end_on_terminal(process, leader)
                self.assertEqual(ended, code, rest)

    def test_no_sign_of_life_if_quiet(self):
        threads = []
        for words in ([], ["-q"]):
            hold = self.hold("init")
            environment = {**clean_environment(HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"]),
                           **hold.variables}
            process = program.start("devices", "--device", "nvidia:0", *words,
                                    environment=environment)
            hold.wait(process)
            threads.append(len(os.listdir(f"/proc/{process.pid}/task")))
            hold.release()
            process.communicate(timeout=program.GUARD_S)
            self.assertEqual(process.returncode, 0)
        self.assertEqual(threads[0], threads[1] + 1)

    def test_quiet_off_a_terminal(self):
        path = str(self.folder / "m.gguf")
        self.assertRegex(run("make-model", path, "--size", "1M").stderr, r"^write: .+\n$")
        self.assertEqual(run("make-model", path, "--size", "1M", "--quiet", "--force").stderr, "")

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                path = self.folder / "big.gguf"
                process = program.start("make-model", str(path), "--size", "16GiB",
                                        environment=clean_environment(HIPTOOL_FORMAT="json"))
                program.wait_until(lambda: os.listdir(self.folder), "the file")
                process.send_signal(number)
                out, err = process.communicate(timeout=program.GUARD_S)
                self.assertEqual(process.returncode, 128 + number)
                self.assertIn("interrupted, stopping; a second signal quits at once\n", err)
                document = self.assert_document(out, "make-model.schema.json")
                self.assertEqual(document["status"], "interrupted")
                self.assertEqual(document["error"]["code"], "cancelled")
                self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    program.main(__doc__)
