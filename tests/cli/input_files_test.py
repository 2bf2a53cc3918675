# SPDX-License-Identifier: MIT
"""Small files that options name: whatever stands there, there is a clear error, at once and for
little memory; and JSON with a key twice, of which nobody knows which one is meant.

Usage: input_files_test.py PROGRAM [unittest options].
"""
import hashlib
import json
import os
import signal
import struct
import subprocess

import program
import report_samples as samples

BENCH = ("bench-copy", "--device", "cpu", "--size", "4K", "--samples", "1", "--kind", "h2d")
INSPECT = ("load", "--dry-run")


class InputFiles(program.CliTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.gguf"
        self.assertEqual(program.run("make-model", str(self.model), "--size", "64K").returncode, 0)

    def commands(self, path, names_pipes=False):
        """All that read a small file whole; the last ones need a file, not a pipe."""
        yield ("report", "render", path)
        yield ("report", "compare", path, path)
        yield ("report", "merge", path)
        yield (*BENCH, "--baseline", path)
        yield (*BENCH, "--fail-below", "@" + path)
        yield ("run-kernel", "stream-copy", "--device", "cpu", "--size", "4K", "--fail-below",
               "@" + path)
        yield ("compile-kernel", path, "--target", "gfx90a", "--out", str(self.folder / "out"))
        if not names_pipes:
            yield ("load", str(self.model), "--device", "cpu", "--check-manifest", path)
            yield ("run-kernel", "--device", "cpu", "--module", path, "--name", "k", "--grid", "1",
                   "--block", "1")

    def check_refused(self, path, *reasons, **options):
        for words in self.commands(str(path), **options):
            with self.subTest(words=words):
                result = program.run(*words)
                self.assertEqual(result.returncode, 4, result.stderr)
                self.assertTrue(any(reason in result.stderr for reason in reasons), result.stderr)
                self.assertLess(len(result.stderr), 2000)

    def test_what_is_missing(self):
        self.check_refused(self.folder / "none", "No such file", "no such file")

    def test_a_folder(self):
        self.check_refused(self.folder, "it is a folder")

    def test_a_device_without_an_end(self):
        self.check_refused("/dev/zero", "not a regular file", "neither a regular file nor a pipe")

    def test_a_file_larger_than_memory(self):
        path = self.folder / "large"
        with open(path, "wb") as file:
            file.truncate(1 << 42)
        self.check_refused(path, "it has more than", "too large", "larger than 4 GiB",
                           "neither a kernel image", "not a kernel image")

    def test_a_pipe_without_an_end(self):
        for words in self.commands("/dev/stdin", names_pipes=True):
            if words[1] in ("render", "compare", "merge") or "--baseline" in words:
                continue   # 256 MiB take long under a sanitizer
            with self.subTest(words=words), program.Process(
                    ["cat", "/dev/zero"], stdout=subprocess.PIPE) as endless:
                result = subprocess.run([program.PROGRAM, *words], stdin=endless.stdout,
                                        env=program.clean_environment(), capture_output=True,
                                        text=True, timeout=120, check=False)
                endless.stdout.close()
                endless.kill()
                self.assertEqual(result.returncode, 4, result.stderr)
                self.assertIn("it has more than", result.stderr)

    def write_report(self):
        path = self.folder / "run.json"
        path.write_text(json.dumps(samples.bench_copy([samples.cell()])), "utf-8")
        return path

    def test_pipes_of_the_shell(self):
        report = self.write_report()
        limits = self.folder / "limits"
        limits.write_text("h2d>=0GB/s\n", "utf-8")
        go = self.folder / "go"
        os.mkfifo(go)
        for line in ("report render <(cat {report}) --format csv",
                     "report compare <(cat {report}) {report}",
                     "report merge <(read < {go}; cat {report}) <(sed s/node01/node02/ {report}; "
                     "echo > {go})",   # the first begins when the second has written
                     " ".join(BENCH) + " --fail-below @<(cat {limits})"):
            line = "'" + program.PROGRAM + "' " + line.format(report=report, limits=limits, go=go)
            with self.subTest(line=line):
                result = subprocess.run(["bash", "-c", line.replace("@<(", "@\"\"<(")],
                                        env=program.clean_environment(), capture_output=True,
                                        text=True, timeout=120, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_named_pipe_whose_writer_comes_late(self):
        report = self.write_report()
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with program.start("report", "render", str(pipe), "--format", "json") as process:
            program.wait_until_asleep(process, pipe)
            pipe.write_bytes(report.read_bytes())
            _, errors = process.communicate(timeout=program.GUARD_S)
        self.assertEqual(process.returncode, 0, errors)

    def test_an_interrupt_ends_the_wait_for_a_writer(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for words in (("report", "merge", str(pipe)), (*BENCH, "--fail-below", f"@{pipe}")):
            with self.subTest(words=words), program.start(*words) as waiting:
                program.wait_until_asleep(waiting, pipe)
                waiting.send_signal(signal.SIGINT)
                waiting.communicate(timeout=program.GUARD_S)
                self.assertEqual(waiting.returncode, 130)

    def test_a_pipe_without_a_writer(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        result = program.run("report", "render", str(pipe), "--format", "json")
        self.assertEqual(result.returncode, 4)
        self.assertIn("no process has opened the pipe", result.stderr)

    def test_a_long_line_of_a_file_of_thresholds_is_cut(self):
        path = self.folder / "limits"
        path.write_text("x" * 100_000, "utf-8")
        result = program.run(*BENCH, "--fail-below", f"@{path}")
        self.assertEqual(result.returncode, 2)
        self.assertLess(len(result.stderr), 1000)


class Unreadable(program.CliTest):
    def test_merge_names_the_file_once(self):
        for name in (str(self.folder / "missing.json"), str(self.folder)):
            result = program.run("report", "merge", name)
            self.assertEqual(result.returncode, 4, result)
            self.assertRegex(result.stderr, r"^error: no file is left to merge\n  cannot read ")
            self.assertEqual(result.stderr.count(name), 1, result)


class ListsOfOneFile(program.CliTest):
    """FILE.sha256 is for that file, wherever it was made: `sha256sum models/m.gguf`."""

    def test_names_with_folders(self):
        model = self.folder / "m.gguf"
        self.assertEqual(program.run("make-model", str(model), "--size", "64K").returncode, 0)
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
        for name, line, code in (("m.gguf.sha256", "models/m.gguf", 0),
                                 ("m.gguf.sha256.txt", "C:\\models\\m.gguf", 0),
                                 ("m.gguf.sha256sum", "models/other.gguf", 2),
                                 ("SHA256SUMS", "models/m.gguf", 2)):
            with self.subTest(name):
                (self.folder / name).write_text(f"{digest}  {line}\n", "utf-8")
                result = program.run("load", str(model), "--device", "cpu", "--verify", "published")
                self.assertEqual(result.returncode, code, result.stderr)
                (self.folder / name).unlink()


class KeysTwice(program.CliTest):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, "utf-8")
        return str(path)

    def check_refused(self, *words):
        result = program.run(*words)
        self.assertEqual(result.returncode, 4, result.stdout + result.stderr)
        self.assertIn("appears twice", result.stderr)

    def write_model(self):
        header = b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
        path = self.folder / "m.safetensors"
        path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0")
        return path

    def test_reports(self):
        text = '{"schema":"hiptool.load/1","host":{"name":"a","name":"b"},"status":"ok"}'
        path = self.write("run.json", text)
        for action in (("render", path), ("merge", path), ("compare", path, path)):
            self.check_refused("report", *action)

    def test_indexes(self):
        self.write_model()
        for metadata in ('{"x":1,"x":2}', '{"total_size":1,"total_size":2}', '{"x":"a","x":true}'):
            self.check_refused(*INSPECT, self.write(
                "model.safetensors.index.json",
                '{"metadata":' + metadata + ',"weight_map":{"a":"m.safetensors"}}'))

    def test_manifests_of_ollama(self):
        layer = ('{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:' + "0" * 64
                 + '"%s}')
        for text in ('{"layers":[' + layer % "" + '],"layers":[]}',
                     '{"layers":[' + layer % ',"size":1,"size":2' + "]}"):
            self.check_refused(*INSPECT, self.write("manifest", text))

    def test_a_config_is_passed_over(self):
        path = self.write_model()
        long = '"' + "x" * 90_000 + '"'
        for text, key, values in (
                ('{"num_hidden_layers":1,"num_hidden_layers" : 2}', "num_hidden_layers",
                 "with the values '1' and '2'"),
                ('{"text_config":{"hidden_size":1,"hidden_size":NaN}}', "hidden_size",
                 "with the values '1' and 'NaN'"),
                ('{"a":1,"a":1.0,"a":[1]}', "a", "with the values '1.0' and '[1]'"),
                ('{"a":%s,"a":null}' % long, "a", "x'... and 'null'")):
            self.write("config.json", text)
            result = program.run(*INSPECT, str(path))
            self.assertEqual(result.returncode, 0, result.stderr)
            output = " ".join((result.stdout + result.stderr).split())
            self.assertIn(f"key '{key}' at offset ", output)
            self.assertIn("appears twice, " if "x'" in values else "twice, " + values, output)
            self.assertIn(values, output)
            self.assertLess(len(output), 2000)

    def test_a_config_that_repeats_itself_is_read(self):
        path = self.write_model()
        for more in ('"vocab_size":0x,"vocab_size":0x', '"a":{"b":[1,NaN]},"a":{"b":[1.0, NaN]}',
                     '"model_type":"llama"'):
            self.write("config.json", '{"model_type":"llama",%s}' % more.replace("0x", "7"))
            result = program.run(*INSPECT, str(path))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("twice", result.stdout + result.stderr)
            self.assertNotIn("is ignored", result.stdout + result.stderr)


if __name__ == "__main__":
    program.main(__doc__)
