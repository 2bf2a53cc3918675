# SPDX-License-Identifier: MIT
"""The Slurm recipes of docs/ci.md and packaging/recipes on a cluster of this machine alone: munged,
slurmctld and slurmd with their own folders and ports, which need neither root nor an installed
configuration. Its GPUs are device files. Exits 77 where Slurm is not installed."""
import getpass
import os
import re
import shutil
import socket
import stat
import subprocess
import sys

import docs_test
import program

DOCUMENT = docs_test.ROOT / "docs" / "ci.md"
RECIPES = docs_test.ROOT / "packaging" / "recipes" / "slurm"
DAEMONS = {name: shutil.which(name, path="/usr/sbin:/sbin:" + os.environ["PATH"])
           for name in ("munged", "slurmctld", "slurmd", "srun")}

CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 NodeHostName={host} Port={ports[1]} CPUs={cpus} Gres=gpu:2
Prolog={folder}/prolog
PrologFlags=Alloc
Epilog={folder}/epilog
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Slurm(program.CliTest):
    def start(self, *words):
        log = (self.folder / (os.path.basename(words[0]) + ".out")).open("wb")
        self.addCleanup(log.close)
        daemon = subprocess.Popen(words, env=self.environment, cwd=self.folder, stdout=log,
                                  stderr=log, stdin=subprocess.DEVNULL)
        self.addCleanup(daemon.wait, 60)
        self.addCleanup(daemon.terminate)

    def wait_for(self, happened, what):
        try:
            program.wait_until(happened, what)
            return
        except AssertionError:
            pass
        logs = [f"{log.name}: {log.read_text(encoding='utf-8', errors='replace')}"
                for log in sorted(self.folder.glob("*.*")) if log.suffix in (".log", ".out")]
        self.fail("\n".join([f"{what} after {program.GUARD_S} s", *logs]))

    def shell(self, command, allowed=(0,)):
        """Runs a line of the document."""
        result = subprocess.run(["bash", "-c", command], env=self.environment, cwd=self.work,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                encoding="utf-8", timeout=120, check=False)
        print(f"$ {command}\n{result.stdout}{result.stderr}exit {result.returncode}", flush=True)
        self.assertIn(result.returncode, allowed, result.stdout + result.stderr)
        return result

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)   # munged refuses a socket that others could replace
        self.work = self.folder / "work"
        for name in ("state", "spool", "work"):
            (self.folder / name).mkdir()
        (self.work / "hiptool").symlink_to(program.PROGRAM)
        self.host = socket.gethostname().split(".")[0]
        self.environment = program.clean_environment(SLURM_CONF=f"{self.folder}/slurm.conf",
                                                     HIPTOOL_DEVICE="cpu")
        self.environment["PATH"] = f"{self.work}:/usr/sbin:{self.environment['PATH']}"
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, user=getpass.getuser(), host=self.host,
            ports=free_ports(2), cpus=max(2, os.cpu_count())), encoding="utf-8")
        (self.folder / "gres.conf").write_text(
            f"NodeName={self.host} Name=gpu File=/dev/zero\n"
            f"NodeName={self.host} Name=gpu File=/dev/null\n", encoding="utf-8")
        for name in ("prolog", "epilog"):
            self.recipe(name, "echo 'accepted: 2 GPUs, 3 stages each'")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(stat.S_IRUSR)
        self.start(DAEMONS["munged"], "--foreground", "--force", f"--key-file={key}",
                   f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munged.pid",
                   f"--seed-file={self.folder}/munged.seed",
                   f"--log-file={self.folder}/munged.log")
        self.wait_for((self.folder / "munge.socket").exists, "munged has no socket")
        self.start(DAEMONS["slurmctld"], "-D", "-c")
        self.start(DAEMONS["slurmd"], "-D", "-N", self.host)
        self.wait_for(lambda: self.state() == "idle", "the node is not idle")

    def recipe(self, name, hiptool):
        """Lets Slurm run the recipe of that name, with a hiptool of this text."""
        folder = self.folder / f"bin-{name}"
        folder.mkdir(exist_ok=True)
        (folder / "hiptool").write_text(f"#!/bin/sh\n{hiptool}\n", encoding="utf-8")
        file = self.folder / name
        file.write_text(f"#!/bin/sh\nexport PATH={folder}:{self.environment['PATH']}\n"
                        f"exec {RECIPES}/{name}\n", encoding="utf-8")
        for each in (file, folder / "hiptool"):
            each.chmod(0o755)

    def reason(self):
        """Why the node is drained."""
        return subprocess.run(["sinfo", "-h", "-o", "%E"], env=self.environment, text=True,
                              capture_output=True, check=False).stdout.strip()

    def state(self):
        return subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.environment, text=True,
                              capture_output=True, check=False).stdout.strip()

    def lines(self):
        """Those of the document, for two processes on the only node, and of little work."""
        text = DOCUMENT.read_text(encoding="utf-8")
        section = text[text.index("## Slurm"):text.index("## MPI")]
        lines = [line for block in docs_test.BLOCK.findall(section)
                 for line in re.sub(r" *\\\n *", " ", block[1]).splitlines()]
        self.assertEqual([line.split()[0] for line in lines],
                         ["srun", "hiptool", "srun", "scontrol"])
        check = docs_test.made_smaller(lines[0])
        check = check.replace("-N 16 --ntasks-per-node=1 --gpus-per-node=8",
                              "-N 1 --ntasks-per-node=2")
        self.assertIn("=2 hiptool", check)
        return [check, *lines[1:]]

    def test_a_good_node(self):
        check, merge, without, _ = self.lines()
        self.shell(check)
        self.assertEqual(sorted(file.name for file in self.work.glob("*.json")),
                         ["out.0.json", "out.1.json"])
        self.shell(merge)
        self.assertEqual((self.work / "bad.txt").read_text(encoding="utf-8").strip(), "")
        self.assertIn(socket.gethostname(), self.shell(without).stdout)

    def test_a_node_that_is_refused(self):
        check, merge, _, drain = self.lines()
        self.shell(check.replace("--export", "--write-expect good.json --export"))
        expected = (self.work / "good.0.json").read_text(encoding="utf-8")
        (self.work / "better.json").write_text(
            re.sub(r'(?<="bytes_per_s": )\d+', "9" * 18, expected), encoding="utf-8")
        self.shell(check.replace("--export", "--expect better.json --export"), (1,))
        self.shell(merge, (1,))
        self.shell(drain)
        self.assertIn(self.state(), ("drained", "draining"))

    def job(self):
        """A job of two GPUs, which leaves a file."""
        file = self.folder / "ran"
        script = f"#!/bin/sh\ntouch {file}\n"
        return file, subprocess.run(
            ["sbatch", "--gres=gpu:2", "-o", "/dev/null"], input=script, env=self.environment,
            cwd=self.work, text=True, capture_output=True, check=True)

    def test_a_prolog_that_accepts_or_cannot_look_lets_the_job_run(self):
        for hiptool in ("echo 'accepted: 2 GPUs, 3 stages each'", "exit 3", "exit 127"):
            with self.subTest(hiptool):
                self.recipe("prolog", hiptool)
                file, _ = self.job()
                self.wait_for(file.exists, "the job did not run")
                self.assertEqual(self.reason(), "none")
                self.wait_for(lambda: self.state() == "idle", "the node is not idle")
                file.unlink()

    def test_a_prolog_that_refuses_drains_the_node_with_the_code_and_requeues_the_job(self):
        self.recipe("prolog", "echo 'refused: nvidia:1: copy: 3 GB/s [HT-COPY-RATE]'; exit 1")
        file, _ = self.job()
        self.wait_for(lambda: self.state() in ("drained", "draining"), "the node is not drained")
        self.wait_for(lambda: self.jobs() == "PENDING", "the job is not requeued")
        self.assertEqual(self.reason(), "hiptool: HT-COPY-RATE: nvidia:1: copy: 3 GB/s")
        self.assertFalse(file.exists())

    def test_an_epilog_that_refuses_drains_the_node_after_the_job(self):
        self.recipe("epilog", "echo 'refused: nvidia:0: left [HT-MEMORY-LEFT]'; exit 1")
        file, _ = self.job()
        self.wait_for(lambda: self.state() == "drained", "the node is not drained")
        self.assertTrue(file.exists())
        self.assertEqual(self.reason(), "hiptool: HT-MEMORY-LEFT: nvidia:0: left")

    def jobs(self):
        return subprocess.run(["squeue", "-h", "-o", "%T"], env=self.environment, text=True,
                              capture_output=True, check=False).stdout.strip()


if __name__ == "__main__":
    missing = [name for name, path in DAEMONS.items() if path is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        sys.exit(77)
    program.main(__doc__)
