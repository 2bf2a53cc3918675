# SPDX-License-Identifier: MIT
"""Standard streams, pipes, limits and signals that are not as a program expects them.

FAKE_CUDA names the fake of the CUDA driver. Usage: streams_test.py PROGRAM [unittest options].
"""
import ctypes
import json
import os
import resource
import signal
import subprocess

import program
from program import CliTest, clean_environment, run


class Streams(CliTest):
    def test_closed_standard_error_leaves_the_export_alone(self):
        path = self.folder / "out.json"
        process = subprocess.run(
            [program.PROGRAM, "load", "--demo", "--device", "cpu", "--export", f"json={path}"],
            env=clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            preexec_fn=lambda: os.close(2), timeout=120, check=False)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["status"], "verified")

    def test_all_standard_streams_closed(self):
        path = self.folder / "m.gguf"
        process = subprocess.run(
            [program.PROGRAM, "make-model", path, "--size", "1MiB", "--seed", "1"],
            env=clean_environment(), preexec_fn=lambda: os.closerange(0, 3), timeout=120,
            check=False)
        self.assertEqual(process.returncode, 0)
        again = self.folder / "again.gguf"
        self.assertEqual(run("make-model", again, "--size", "1MiB", "--seed", "1").returncode, 0)
        self.assertEqual(path.read_bytes(), again.read_bytes())

    def test_a_pipe_without_reader_is_refused(self):
        path = self.folder / "pipe"
        os.mkfifo(path)
        result = run("devices", "--platform", "cpu", "--export", f"json={path}")
        self.assertEqual(result.returncode, 7)
        self.assertIn("no process reads this pipe", result.stderr)

    def test_a_pipe_with_a_late_reader_gets_everything(self):
        path = self.folder / "pipe"
        os.mkfifo(path)
        with program.start("devices", "--platform", "cpu", "--export",
                           f"csv={self.folder / 'before'}", "--export",
                           f"json={path}") as process:
            program.wait_until(lambda: list(self.folder.glob("before.*")), "the file before it")
            program.wait_until_asleep(process)   # until there is a reader
            received = path.read_text(encoding="utf-8")
            _, errors = process.communicate(timeout=program.GUARD_S)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(json.loads(received)["schema"], "hiptool.devices/2")

    def test_a_file_size_limit_is_an_error(self):
        path = self.folder / "out.json"

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

        result = run("devices", "--platform", "cpu", "--export", f"json={path}", preexec_fn=limit)
        self.assertEqual(result.returncode, 7)
        self.assertIn("File too large", result.stderr)
        self.assertFalse(path.exists())

    def test_timeout_sends_two_signals_and_the_export_is_written(self):
        path = self.folder / "out.json"
        hold = self.hold("copy")
        with program.start("bench-copy", "--kind", "h2d", "--device", "nvidia:0", "--size", "1MiB",
                           "--export", f"json={path}",
                           environment=clean_environment(
                               HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
                               **hold.variables)) as process:
            hold.wait(process)
            # Both are pending when it continues: one for the process, one for its main thread.
            process.send_signal(signal.SIGSTOP)
            program.wait_until(lambda: program.state_of(process.pid) == "T", "the stop")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(ctypes.CDLL(None).tgkill(process.pid, process.pid, signal.SIGTERM), 0)
            process.send_signal(signal.SIGCONT)
            program.read_until(process.stderr, "interrupted, stopping")
            hold.release()
            process.communicate(timeout=program.GUARD_S)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["status"], "interrupted")


if __name__ == "__main__":
    program.main(__doc__)
