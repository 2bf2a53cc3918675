# SPDX-License-Identifier: MIT
"""The Slurm recipes of docs/ci.md on a cluster of this machine alone: munged, slurmctld and slurmd
with their own folders and ports, which need neither root nor an installed configuration. Exits 77
where Slurm is not installed."""
import getpass
import os
import shutil
import socket
import stat
import subprocess
import sys
import time

import program

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
NodeName=node1 NodeAddr=127.0.0.1 NodeHostName={host} Port={ports[1]} CPUs={cpus}
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
        for _ in range(300):
            if happened():
                return
            time.sleep(0.2)
        logs = [f"{log.name}: {log.read_text(encoding='utf-8', errors='replace')}"
                for log in sorted(self.folder.glob("*.*")) if log.suffix in (".log", ".out")]
        self.fail("\n".join([f"{what} after 60 s", *logs]))

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
        self.environment = program.clean_environment(SLURM_CONF=f"{self.folder}/slurm.conf")
        self.environment["PATH"] = f"{self.work}:/usr/sbin:{self.environment['PATH']}"
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, user=getpass.getuser(), host=socket.gethostname().split(".")[0],
            ports=free_ports(2), cpus=os.cpu_count()), encoding="utf-8")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(stat.S_IRUSR)
        self.start(DAEMONS["munged"], "--foreground", "--force", f"--key-file={key}",
                   f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munged.pid",
                   f"--seed-file={self.folder}/munged.seed",
                   f"--log-file={self.folder}/munged.log")
        self.wait_for((self.folder / "munge.socket").exists, "munged has no socket")
        self.start(DAEMONS["slurmctld"], "-D", "-c")
        self.start(DAEMONS["slurmd"], "-D", "-N", "node1")
        self.wait_for(self.is_idle, "the node is not idle")

    def is_idle(self):
        result = subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.environment, text=True,
                                capture_output=True, check=False)
        return result.stdout.strip() == "idle"

    def test_two_ranks_and_their_merge(self):
        self.shell("srun -n2 hiptool bench-copy --device cpu --kind h2d --samples 9 "
                   "--size 64KiB --export json=out.json -q")
        self.assertEqual(sorted(file.name for file in self.work.glob("*.json")),
                         ["out.0.json", "out.1.json"])
        self.shell("hiptool report merge out.*.json", (0, 1))


if __name__ == "__main__":
    missing = [name for name, path in DAEMONS.items() if path is None]
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        sys.exit(77)
    program.main(__doc__)
