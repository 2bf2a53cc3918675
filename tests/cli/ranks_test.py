# SPDX-License-Identifier: MIT
"""Several processes of one job, started by the real mpirun, write a file each. Exits 77 where
there is no mpirun."""
import os
import shutil
import socket
import subprocess
import sys

import docs_test
import program

MPIRUN = shutil.which("mpirun")


class Ranks(program.CliTest):
    def environment(self):
        # It refuses root and more processes than cores unless it is told otherwise; the variables
        # say so to Open MPI and are unknown to others.
        return program.clean_environment(
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_plm_rsh_agent="sh")

    def mpirun(self, count, name):
        result = subprocess.run(
            [MPIRUN, "-n", str(count), program.PROGRAM, "devices", "--device", "cpu", "--export",
             f"json={self.folder}/{name}"],
            env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        files = sorted(os.listdir(self.folder))
        for file in files:
            self.assert_document((self.folder / file).read_text(encoding="utf-8"),
                                 "devices.schema.json")
        return files

    def test_without_placeholder(self):
        self.assertEqual(self.mpirun(3, "out.json"), ["out.0.json", "out.1.json", "out.2.json"])

    def test_placeholders(self):
        host = socket.gethostname()
        self.assertEqual(self.mpirun(2, "{host}-{rank}.json"),
                         [f"{host}-0.json", f"{host}-1.json"])

    def test_one_process_keeps_its_name(self):
        self.assertEqual(self.mpirun(1, "out.json"), ["out.json"])

    def test_the_lines_of_the_document(self):
        text = (docs_test.ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
        section = text[text.index("## MPI"):text.index("## Kubernetes")]
        script = docs_test.BLOCK.findall(section)[0][1]
        self.assertIn("mpirun -N 1 ", script)
        script = script.replace("-N 1", "-n 2")  # this machine stands for two nodes
        (self.folder / "hiptool").symlink_to(program.PROGRAM)
        environment = {**self.environment(), "HIPTOOL_DEVICE": "cpu"}
        environment["PATH"] = f"{self.folder}:{environment['PATH']}"
        result = subprocess.run(["bash", "-e", "-c", docs_test.made_smaller(script)], text=True,
                                env=environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                                capture_output=True, encoding="utf-8", timeout=120, check=False)
        print(script + result.stdout)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("of 1 host", result.stdout)
        self.assertTrue((self.folder / "out.1.json").exists())


if __name__ == "__main__":
    if MPIRUN is None:
        print("skipped: mpirun is not installed")
        sys.exit(77)
    program.main(__doc__)
