# SPDX-License-Identifier: MIT
"""Prometheus' node exporter reads the files that the recipes of docs/ci.md export. Exits 77 where
the exporter is not installed."""
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import program

EXPORTER = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")


class NodeExporter(program.CliTest):
    def setUp(self):
        super().setUp()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        log = (self.folder / "exporter.log").open("wb")
        self.addCleanup(log.close)
        exporter = subprocess.Popen(
            [EXPORTER, f"--web.listen-address={self.address}", "--collector.disable-defaults",
             "--collector.textfile", f"--collector.textfile.directory={self.folder}"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(exporter.wait, 60)
        self.addCleanup(exporter.terminate)

    def metrics(self):
        def read():
            try:
                with urllib.request.urlopen(f"http://{self.address}/metrics",
                                            timeout=program.GUARD_S) as page:
                    return page.read().decode()
            except urllib.error.URLError:   # not listening yet
                return None
        return program.wait_until(read, "the exporter's page")

    def export(self, *words, name, code=0):
        result = program.run(*words, "-q", "--export", f"prom={self.folder}/{name}")
        self.assertEqual(result.returncode, code, result.stderr)

    def test_a_file_for_each_command(self):
        self.export("devices", name="devices.prom")
        self.export("check", "--device", "cpu", "--stage", "copy", "--size", "64KiB",
                    name="check.prom")
        text = self.metrics()
        for line in (r"node_textfile_scrape_error 0", r'hiptool_success\{command="devices"\} 1',
                     r'hiptool_success\{command="check"\} 1',
                     r'hiptool_device_info\{.*"cpu:0".*\} 1',
                     r'hiptool_check\{check="copy",device="cpu:0",severity="pass"\} 1'):
            self.assertRegex(text, re.compile(f"^{line}$", re.MULTILINE))

    def test_a_failed_run_is_a_metric_too(self):
        if program.run("devices", "--require", "gpu").returncode == 0:
            self.skipTest("no GPU: this machine has a GPU")
        self.export("devices", "--require", "gpu", name="devices.prom", code=3)
        text = self.metrics()
        self.assertRegex(text, r'hiptool_success\{command="devices"\} 0')
        self.assertRegex(text, r'hiptool_exit_code\{command="devices"\} 3')

    def test_two_files_of_one_command_are_an_error(self):
        self.export("devices", name="one.prom")
        self.export("devices", name="two.prom")
        self.metrics()
        log = (self.folder / "exporter.log").read_text(encoding="utf-8")
        self.assertIn("was collected before with the same name and label values", log)


if __name__ == "__main__":
    if EXPORTER is None:
        print("skipped: prometheus-node-exporter is not installed")
        sys.exit(77)
    program.main(__doc__)
