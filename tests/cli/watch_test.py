# SPDX-License-Identifier: MIT
"""Sensors of `hiptool devices` and `devices --watch` over a fake driver and a fake NVML, which
FAKE_CUDA and FAKE_NVML name. Nothing here was shown for a real device.

Usage: watch_test.py PROGRAM [unittest options].
"""
import csv
import fcntl
import io
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import program
from program import CliTest, clean_environment, default_signals, run

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"
LINE = (r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ nvidia:[01]: 41 C, 76 of 600 W, 2\.00 GiB of [\d.]+ "
        r"[GT]iB, busy 37 %, 1\.98 GHz, \d+ processes$")


def own_signals():
    """A process group of its own, whose parent is in the same session: Ctrl-Z can stop it."""
    default_signals()
    os.setpgid(0, 0)
    for number in (signal.SIGTSTP, signal.SIGQUIT, signal.SIGCONT):
        signal.signal(number, signal.SIG_DFL)


class WatchTest(CliTest):
    def setUp(self):
        super().setUp()
        # The name by which the driver's monitoring library is opened.
        libraries = pathlib.Path(self.folder, "lib")
        libraries.mkdir()
        (libraries / "libnvidia-ml.so.1").symlink_to(os.environ["FAKE_NVML"])
        self.variables = clean_environment(
            HIPTOOL_HIP_LIBRARY="/nowhere/hip", HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
            LD_LIBRARY_PATH=str(libraries), FAKE_NVML_BUS_IDS="0000:00:00.0,0000:01:00.0")


class Sensors(WatchTest):
    def test_the_document_has_every_value_in_base_units(self):
        result = run("devices", "--format", "json", environment=self.variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        document = self.assert_document(result.stdout, "devices.schema.json")
        devices = {device["id"]: device for device in document["devices"]}
        sensors = devices["nvidia:0"]["sensors"]
        self.assertIn("libnvidia-ml.so.1", sensors["source"])
        self.assertIsNone(sensors["reason"])
        self.assertEqual(sensors["temperature_c"], 41)
        self.assertEqual(sensors["power_w"], 75.5)
        self.assertEqual(sensors["memory_used_bytes"], 2 << 30)
        self.assertEqual(sensors["busy_share"], 0.37)
        parent = sensors["processes"][0]
        self.assertEqual(parent["pid"], os.getpid())
        self.assertEqual(parent["name"], pathlib.Path("/proc/self/comm").read_text().strip())
        self.assertEqual(parent["memory_bytes"], 1 << 30)
        self.assertIsNone(sensors["processes"][1]["name"])
        self.assertEqual(devices["nvidia:0"]["compute_unit_name"], "SMs")
        cpu = devices["cpu:0"]["sensors"]
        self.assertEqual(cpu["reason"], "the cpu platform has no sensors")
        self.assertTrue(all(value is None for key, value in cpu.items() if key != "reason"), cpu)

    def test_the_program_is_not_among_the_processes(self):
        self.variables["FAKE_NVML_SELF"] = "1"
        document = json.loads(run("devices", "--format", "json",
                                  environment=self.variables).stdout)
        self.assertEqual([process["pid"] for process in
                          document["devices"][0]["sensors"]["processes"]], [(1 << 22) + 1])

    def test_doctor_reports_the_same_sensors(self):
        result = run("devices", "--doctor", "--format", "json", environment=self.variables)
        document = self.assert_document(result.stdout, "devices.schema.json")
        sensors = document["devices"][0]["sensors"]
        self.assertEqual(sensors["memory_used_bytes"], 2 << 30)
        self.assertIn({"pid": (1 << 22) + 1, "name": None, "memory_bytes": None},
                      sensors["processes"])

    def test_without_the_library_the_reason_is_given(self):
        if program.has_gpu_on_the_bus():
            self.skipTest("this machine has a GPU")
        self.variables["LD_LIBRARY_PATH"] = str(self.folder)
        self.variables["FAKE_NVML_INIT"] = "9"
        result = run("devices", environment=self.variables)
        self.assertEqual(result.returncode, 0)
        self.assertNotIn("State", result.stdout)
        self.assertRegex(result.stdout.replace("\n  ", " "),
                         r"nvidia:0-1: no temperature, power or processes: NVML ")

    def test_table_csv_and_prometheus(self):
        result = run("devices", environment=self.variables)
        self.assert_width(result.stdout)
        self.assertRegex(result.stdout, r"(?m)^nvidia:1 +0000:01:00\.0 +41 °C +76 of 600 W +"
                                        r"2\.00 GiB +37 % +\d+$")
        rows = list(csv.DictReader(io.StringIO(
            run("devices", "--format", "csv", environment=self.variables).stdout)))
        self.assertEqual(rows[0]["temperature_c"], "41")
        self.assertEqual(rows[-1]["temperature_c"], "")
        file = self.folder / "metrics.prom"
        run("devices", "--export", f"prom={file}", environment=self.variables)
        self.assertIn('hiptool_device_sensors_temperature_celsius{device="nvidia:0"} 41\n',
                      file.read_text(encoding="utf-8"))


class Lines(WatchTest):
    def start(self, *words, **options):
        return subprocess.Popen([program.PROGRAM, "devices", "--watch", *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                stdin=subprocess.DEVNULL, env=self.variables,
                                preexec_fn=default_signals, **options)

    def test_a_line_for_each_device_at_once_and_130_for_an_interrupt(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.start("0.1")
            lines = [process.stdout.readline().rstrip("\n") for _ in range(4)]
            process.send_signal(number)
            rest, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, code, errors)
            for line in lines + rest.splitlines():
                self.assertRegex(line, LINE)
            self.assertEqual([re.search(r"nvidia:\d", line)[0] for line in lines],
                             ["nvidia:0", "nvidia:1"] * 2)
            self.assertNotIn("error", errors)

    def test_an_interrupt_does_not_wait_for_a_driver_that_hangs(self):
        hang = self.folder / "hang"
        self.variables["FAKE_NVML_HANG"] = str(hang)
        reached = pathlib.Path(f"{hang}.reached")
        process = self.start("0.1")   # it hangs while it watches
        process.stdout.readline()
        hang.touch()
        program.wait_until(reached.exists, "the driver that hangs")
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        for line in rest.splitlines():   # none of readings that were cut short
            self.assertRegex(line, LINE)
        self.assertIn("warning: the sensors do not respond", errors)
        reached.unlink()
        process = self.start("0.1")   # and before it does
        program.wait_until(reached.exists, "the driver that hangs")
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, rest), (130, ""), errors)
        self.assertIn("devices was interrupted", errors)

    def test_the_interval_is_kept(self):
        process = self.start("0.5", "--device", "nvidia:1")
        process.stdout.readline()
        started = time.monotonic()
        for _ in range(3):
            self.assertIn("nvidia:1", process.stdout.readline())
        took = time.monotonic() - started
        process.kill()
        process.communicate()
        self.assertGreater(took, 1.2)

    def test_a_reader_that_leaves_ends_it_quietly(self):
        process = self.start("0.1")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(process.stderr.read(), "")
        process.stderr.close()

    def test_csv_has_one_head(self):
        process = self.start("0.1", "--format", "csv")
        text = "".join(process.stdout.readline() for _ in range(5))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["id"] for row in rows], ["nvidia:0", "nvidia:1"] * 2)
        self.assertEqual(rows[0]["power_w"], "75.5")
        self.assertEqual(rows[0]["memory_used_bytes"], str(2 << 30))

    def test_an_id_after_watch_is_no_number_of_seconds(self):
        process = self.start("nvidia:1")
        self.assertIn("nvidia:1", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)

    def test_wrong_usage(self):
        for words in (["--watch", "0"], ["--watch", "-1"], ["--watch", "1e9"], ["--watch", "nan"],
                      ["nvidia:0", "--watch", "soon"], ["--watch", "--format", "json"],
                      ["--watch", "--doctor"], ["--watch", "--require", "gpu"],
                      ["--watch", "--export", f"json={self.folder}/x.json"]):
            result = run("devices", *words, environment=self.variables)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn("hint:", result.stderr)
        cpu = run("devices", "--platform", "cpu", "--watch")
        self.assertEqual(cpu.returncode, 3)
        self.assertIn("cpu:0: the cpu platform has no sensors", cpu.stderr)


class Screen(WatchTest):
    def start(self, *words, rows=24, columns=80):
        try:
            self.leader, self.terminal = pty.openpty()
        except OSError as error:   # a container without /dev/pts
            raise unittest.SkipTest(f"no pseudo-terminal available: {error}") from error
        self.addCleanup(os.close, self.leader)
        self.addCleanup(os.close, self.terminal)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.terminal)
        self.output = b""
        process = subprocess.Popen(
            [program.PROGRAM, "devices", "--watch", "0.2", *words], stdin=self.terminal,
            stdout=self.terminal, stderr=self.terminal, env=self.variables,
            preexec_fn=own_signals)
        self.addCleanup(self.end, process)
        self.read_until(b"rocesses")   # the head of the table, the end of a line
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
            process.wait()

    def read_until(self, part):
        """Reads what the terminal shows until `part` appears after what was read before."""
        start = len(self.output)
        while part not in self.output[start:]:
            self.assertTrue(select.select([self.leader], [], [], program.GUARD_S)[0], self.output)
            self.output += os.read(self.leader, 65536)

    def is_raw(self):
        modes = termios.tcgetattr(self.terminal)
        return not modes[3] & (termios.ICANON | termios.ECHO)

    def assert_restored(self):
        if LEAVE not in self.output.rpartition(ENTER)[2]:
            self.read_until(LEAVE)
        self.assertIn(SHOW_CURSOR, self.output.rpartition(ENTER)[2])
        self.assertEqual(termios.tcgetattr(self.terminal), self.before)

    def test_q_ends_the_screen_and_keeps_the_terminal(self):
        process = self.start()
        self.assertTrue(self.is_raw())
        self.read_until(b"Processes")   # drawn again
        os.write(self.leader, b"q")
        self.assertEqual(process.wait(timeout=60), 0)
        self.assert_restored()
        screen = re.sub(rb"\x1b\[[?\d]*[A-Za-z]", b"", self.output).decode()
        self.assert_width(screen.replace("\r", ""), 79)
        self.assertIn("every 0.2 s; q quits", screen)
        self.assertIn("41 °C", screen)

    def test_every_signal_restores_the_terminal(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129),
                             (signal.SIGQUIT, -signal.SIGQUIT), (signal.SIGSEGV, -signal.SIGSEGV)):
            with self.subTest(number):
                process = self.start()
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=60), code)
                self.assert_restored()

    def test_a_signal_restores_the_terminal_while_the_driver_hangs(self):
        hang = self.folder / "hang"
        self.variables["FAKE_NVML_HANG"] = str(hang)
        process = self.start()
        hang.touch()
        reached = pathlib.Path(f"{hang}.reached")
        program.wait_until(reached.exists, "the driver that hangs")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 130)
        self.assertTrue(hang.exists())
        self.assert_restored()
        self.assertIn(b"interrupted, stopping", self.output)
        self.assertNotIn(b"no value", self.output)

    def test_ctrl_z_restores_the_terminal_and_continuing_draws_again(self):
        process = self.start()
        for _ in range(2):
            process.send_signal(signal.SIGTSTP)
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            self.assertTrue(os.WIFSTOPPED(status), status)
            self.assert_restored()
            process.send_signal(signal.SIGCONT)
            self.read_until(ENTER)
            if b"Processes" not in self.output.rpartition(ENTER)[2]:
                self.read_until(b"Processes")
            self.assertTrue(self.is_raw())
        os.write(self.leader, b"q")
        self.assertEqual(process.wait(timeout=60), 0)
        self.assert_restored()

    def test_a_small_terminal_gets_no_more_lines_than_it_has(self):
        process = self.start(rows=4)
        os.write(self.leader, b"q")
        process.wait(timeout=60)
        self.assert_restored()
        frames = self.output.split(b"\x1b[H")[2:]
        for frame in frames:
            self.assertLessEqual(frame.partition(b"\x1b[J")[0].count(b"\n"), 3, frame)

    def test_a_dumb_terminal_gets_lines(self):
        self.variables["TERM"] = "dumb"
        process = self.start()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 130)
        self.assertNotIn(b"\x1b", self.output)


if __name__ == "__main__":
    program.main(__doc__)
