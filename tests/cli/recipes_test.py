# SPDX-License-Identifier: MIT
"""The recipes of packaging/recipes: scripts of Slurm, manifests of Kubernetes, units of systemd.

Their scripts run with Slurm's variables, with programs of this test in place of Slurm's, and with
hiptool over the fake of the CUDA driver that FAKE_CUDA names, or a script that ends like hiptool.
Usage: recipes_test.py PROGRAM [unittest options].
"""
import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import program
from program import CliTest, clean_environment

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECIPES = ROOT / "packaging" / "recipes"
DOCUMENT = ROOT / "docs" / "recipes.md"
SCRIPTS = ["verdict", "slurm/drain", "slurm/prolog", "slurm/epilog", "slurm/healthcheck"]
MANIFESTS = ["kubernetes/init-container.yaml", "kubernetes/node-condition.yaml"]
UNITS = ["systemd/hiptool-check.service", "systemd/hiptool-check.timer"]
HOW = ["--size", "64KiB", "--spread", "95%"]   # fakes share the processor


class Recipes(CliTest):
    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.log = self.folder / "log"
        self.log.touch()
        self.put("logger", "")
        self.put("scontrol", '[ "$1" = update ] || echo "NodeName=n1 CfgTRES=cpu=2,gres/gpu=2 X=1"')
        self.put("sinfo", "echo idle", is_logged=False)
        self.environment = clean_environment(
            HIPTOOL_HIP_LIBRARY="/nowhere/hip", HIPTOOL_CUDA_LIBRARY=os.environ["FAKE_CUDA"],
            FAKE_CUDA_NAME="Fake GPU", FAKE_CUDA_UNITS="2", SLURMD_NODENAME="n1", SLURM_JOB_ID="7",
            SLURM_JOB_GPUS="0,1", HIPTOOL_LIMIT_S="200")
        self.environment["PATH"] = f"{self.bin}:{self.environment['PATH']}"

    def put(self, name, text, is_logged=True):
        """A program that runs in place of Slurm's, or of hiptool."""
        file = self.bin / name
        note = f"""printf '%s\\n' "{name} $*" >> {self.log}\n""" if is_logged else ""
        file.unlink(missing_ok=True)
        file.write_text(f"#!/bin/sh\n{note}{text}\n", encoding="utf-8")
        file.chmod(0o755)

    def hiptool_ends(self, code, line="", visible=False):
        """A hiptool that prints a line and ends so."""
        shown = 'echo "$CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES" >&2;' if visible else ""
        self.put("hiptool", f"{shown} echo '{line}'; exit {code}")

    def real_hiptool(self, *more):
        """The program, with smaller copies."""
        self.put("hiptool", f'exec {program.PROGRAM} "$@" {" ".join(more)}')

    def run_recipe(self, name, *words, **variables):
        return subprocess.run([RECIPES / name, *words], env={**self.environment, **variables},
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, encoding="utf-8", timeout=200, check=False)

    def logged(self, name):
        lines = self.log.read_text(encoding="utf-8").splitlines()
        self.log.write_text("", encoding="utf-8")
        return [line for line in lines if line.startswith(name + " ")]


class Verdict(Recipes):
    def assert_verdict(self, code, line, **variables):
        result = self.run_recipe("verdict", "--level", "prolog", **variables)
        self.assertEqual((result.returncode, result.stderr), (code, ""), result.stdout)
        self.assertRegex(result.stdout, f"^{line}\n$")

    def test_each_exit_code_of_hiptool(self):
        refused = "refused: nvidia:0: copy: too \"slow\" [HT-COPY-RATE]"
        for code, line, verdict, said in (
                (0, "accepted: 2 GPUs, 3 stages each", 0, "accepted: 2 GPUs, 3 stages each"),
                (1, refused, 1, "HT-COPY-RATE: nvidia:0: copy: too slow"),
                (5, refused, 1, "HT-COPY-RATE: nvidia:0: copy: too slow"),
                (6, "error: cuInit failed", 1, "HT-CALL-FAILED: cuInit failed"),
                (6, "", 1, "HT-CALL-FAILED: hiptool ended with exit code 6"),
                (2, "error: unknown option", 2, r"not examined: unknown option \(exit code 2\)"),
                (3, "error: no device", 2, r"not examined: no device \(exit code 3\)"),
                (4, "error: no file", 2, r"not examined: no file \(exit code 4\)"),
                (7, "error: disk full", 2, r"not examined: disk full \(exit code 7\)"),
                (130, "", 2, r"not examined: hiptool ended with exit code 130 \(exit code 130\)"),
                (137, "", 2, r"not examined: .* 137\)"), (143, "", 2, r"not examined: .* 143\)")):
            with self.subTest(code=code, line=line):
                self.hiptool_ends(code, line)
                self.assert_verdict(verdict, said)

    def test_a_hiptool_that_is_missing_or_does_not_end(self):
        for name in ("timeout", "sed", "head", "tr", "cut"):
            (self.bin / name).symlink_to(shutil.which(name))
        self.assert_verdict(2, "not examined: hiptool is not installed in .*", PATH=str(self.bin))
        self.put("hiptool", "exec sleep 1000")
        self.assert_verdict(2, "not examined: hiptool did not end within 0.1 s",
                            HIPTOOL_LIMIT_S="0.1")

    def test_gpus_that_are_missing(self):
        for line, wanted, code, said in (
                ("accepted: 8 GPUs, 3 stages", "8", 0, "accepted: .*"),
                ("accepted: 7 GPUs, 3 stages", "8", 1, "HT-GPU-COUNT: 7 of 8 GPUs can be used"),
                ("accepted: 1 GPU, 3 stages", "1", 0, "accepted: .*"),
                ("accepted: no GPU found, CPU checked: 1 device", "1", 1,
                 "HT-GPU-COUNT: 0 of 1 GPUs can be used"),
                ("accepted: no GPU found, CPU checked: 1 device", "0", 0, "accepted: .*")):
            with self.subTest(line=line, wanted=wanted):
                self.hiptool_ends(0, line)
                self.assert_verdict(code, said, HIPTOOL_GPUS=wanted)

    def test_the_program_over_fakes(self):
        self.real_hiptool(*HOW)
        self.assert_verdict(0, r"accepted: 2 GPUs, 3 stages each.*", COLUMNS="40")
        self.assert_verdict(1, "HT-GPU-COUNT: 2 of 3 GPUs can be used", HIPTOOL_GPUS="3")
        self.assert_verdict(1, "HT-GPU-COUNT: 0 of 2 GPUs can be used", HIPTOOL_GPUS="2",
                            FAKE_CUDA_INIT="999")
        self.real_hiptool(*HOW, "--no-such-option")
        self.assert_verdict(2, r"not examined: unknown option '--no-such-option' \(exit code 2\)")

    def test_wrong_data_and_a_rate(self):
        self.real_hiptool(*HOW, "--stage", "memory")
        self.assert_verdict(1, "HT-MEMORY-DATA: nvidia:1: memory: .*",
                            FAKE_CUDA_FLAKY="1:hiptool_memtest_write")
        self.real_hiptool("--size", "64KiB", "--spread", "90%")
        self.assert_verdict(1, "HT-SIBLING-RATE: nvidia:1: copy: .*", FAKE_CUDA_SLOW_COPY="1:20",
                            FAKE_CUDA_DEVICES="3", HIPTOOL_GPUS="3")


class Slurm(Recipes):
    DRAIN = "scontrol update nodename=n1 state=drain reason=hiptool: "

    def test_accepted(self):
        self.real_hiptool(*HOW)
        for name in ("prolog", "epilog", "healthcheck"):
            with self.subTest(name):
                result = self.run_recipe(f"slurm/{name}")
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
                self.assertNotIn("state=drain", self.log.read_text(encoding="utf-8"))

    def test_refused(self):
        """Prolog: the job is requeued; the others end well when the node is drained."""
        reason = "HT-COPY-RATE: nvidia:0: copy: slow"
        for name, code in (("prolog", 1), ("epilog", 0), ("healthcheck", 0)):
            for exit_code in (1, 5, 6):
                with self.subTest(name, exit_code=exit_code):
                    self.hiptool_ends(exit_code, "refused: nvidia:0: copy: slow [HT-COPY-RATE]")
                    result = self.run_recipe(f"slurm/{name}")
                    self.assertEqual(result.returncode, code, result.stderr)
                    self.assertEqual(self.logged("scontrol")[-1], self.DRAIN + reason)

    def test_not_examined_is_logged_and_fails_no_job(self):
        for name in ("prolog", "epilog", "healthcheck"):
            for code in (2, 3, 4, 7, 127, 130, 137):
                with self.subTest(name, code=code):
                    self.hiptool_ends(code, "error: cannot look")
                    result = self.run_recipe(f"slurm/{name}")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertNotIn("drain", self.log.read_text(encoding="utf-8"))
                    self.assertRegex(self.logged("logger")[0], "not examined: ")

    def test_a_fault_over_fakes(self):
        self.real_hiptool("--size", "64KiB", "--spread", "90%")
        for name, code in (("prolog", 1), ("epilog", 0)):
            with self.subTest(name):
                result = self.run_recipe(f"slurm/{name}", FAKE_CUDA_SLOW_COPY="1:20",
                                         FAKE_CUDA_DEVICES="3", SLURM_JOB_GPUS="0,1,2")
                self.assertEqual(result.returncode, code, result.stderr)
                reason, = self.logged("scontrol")
                self.assertRegex(reason, f"^{self.DRAIN}HT-SIBLING-RATE: nvidia:1: copy: ")

    def test_a_gpu_of_the_job_that_is_gone(self):
        self.real_hiptool(*HOW)
        result = self.run_recipe("slurm/prolog", SLURM_JOB_GPUS="0,1,2")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.logged("scontrol"),
                         [self.DRAIN + "HT-GPU-COUNT: 2 of 3 GPUs can be used"])
        self.real_hiptool()
        result = self.run_recipe("slurm/healthcheck", FAKE_CUDA_DEVICES="1")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(self.logged("scontrol")[-1],
                         self.DRAIN + "HT-GPU-COUNT: 1 of 2 GPUs can be used")

    def test_a_job_without_gpus_is_not_checked(self):
        self.hiptool_ends(1, "refused: ")
        for name in ("prolog", "epilog"):
            with self.subTest(name):
                self.assertEqual(self.run_recipe(f"slurm/{name}", SLURM_JOB_GPUS="").returncode, 0)
                self.assertEqual(self.log.read_text(encoding="utf-8"), "")

    def test_only_the_gpus_of_the_job_are_visible(self):
        for variables, seen in (({}, "0,1 "), ({"ROCR_VISIBLE_DEVICES": "4,5"}, " 4,5"),
                                ({"CUDA_VISIBLE_DEVICES": "2,3"}, "2,3 ")):
            for name in ("prolog", "epilog"):
                with self.subTest(name, seen=seen):
                    self.put("hiptool", f'echo "$CUDA_VISIBLE_DEVICES $ROCR_VISIBLE_DEVICES" >'
                             f"{self.folder}/seen; echo 'accepted: 2 GPUs'")
                    self.assertEqual(self.run_recipe(f"slurm/{name}", **variables).returncode, 0)
                    self.assertEqual((self.folder / "seen").read_text(encoding="utf-8"),
                                     seen + "\n")

    def test_a_node_that_is_drained_keeps_its_first_reason(self):
        self.hiptool_ends(1, "refused: x [HT-PEER-RATE]")
        for state in ("drained", "draining", "down*"):
            with self.subTest(state):
                self.put("sinfo", f"echo '{state}'", is_logged=False)
                self.assertEqual(self.run_recipe("slurm/epilog").returncode, 0)
                self.assertEqual(self.logged("scontrol"), [])

    def test_an_epilog_that_cannot_drain_fails_so_that_slurm_does(self):
        self.hiptool_ends(1, "refused: x [HT-PEER-RATE]")
        self.put("scontrol", "exit 1")
        self.assertEqual(self.run_recipe("slurm/epilog").returncode, 1)


class Kubernetes(Recipes):
    def setUp(self):
        super().setUp()
        try:
            self.yaml = importlib.import_module("yaml")
        except ImportError as error:
            raise unittest.SkipTest("yaml is not installed") from error

    def documents(self, name):
        return list(self.yaml.safe_load_all((RECIPES / name).read_text(encoding="utf-8")))

    def run_container(self, container, *replaced, **variables):
        """The command of a container, whose paths are those of this test."""
        words = [*container["command"], *container.get("args", [])]
        self.assertEqual(words[:2], ["sh", "-c"])
        text = words[2].replace("/usr/share/hiptool/recipes", str(RECIPES))
        for path, own in replaced:
            self.assertIn(path, text)
            text = text.replace(path, own)
        given = {one["name"]: one["value"] for one in container["env"] if "value" in one}
        return subprocess.run(["sh", "-c", text], env={**self.environment, **given, **variables},
                              capture_output=True, text=True, timeout=200, check=False)

    def test_the_init_container(self):
        job, = self.documents("kubernetes/init-container.yaml")
        pod = job["spec"]["template"]["spec"]
        gate, = pod["initContainers"]
        main, = pod["containers"]
        self.assertEqual(gate["resources"], main["resources"])
        gpus, = gate["resources"]["limits"].values()
        self.assertEqual([one for one in gate["env"] if one["name"] == "HIPTOOL_GPUS"][0]["value"],
                         str(gpus))
        for code, line, end in ((0, "accepted: 8 GPUs", 0), (0, "accepted: 7 GPUs", 1),
                                (1, "refused: x [HT-COPY-RATE]", 1), (6, "error: x", 1),
                                (3, "error: no device", 0), (127, "", 0)):
            with self.subTest(code=code, line=line):
                self.hiptool_ends(code, line)
                result = self.run_container(gate)
                self.assertEqual(result.returncode, end, result.stderr)
                self.assertEqual(result.stdout.count("\n"), 1)
        self.real_hiptool(*HOW)
        self.assertEqual(self.run_container(gate, HIPTOOL_GPUS="2").returncode, 0)
        self.assertEqual(self.run_container(gate).stdout, "HT-GPU-COUNT: 2 of 8 GPUs can be used\n")

    def test_the_node_condition(self):
        account, binding, config, daemons = self.documents("kubernetes/node-condition.yaml")
        self.assertEqual([one["kind"] for one in (account, binding, config, daemons)],
                         ["ServiceAccount", "ClusterRoleBinding", "ConfigMap", "DaemonSet"])
        pod = daemons["spec"]["template"]["spec"]
        self.assertEqual({account["metadata"]["name"], binding["subjects"][0]["name"]},
                         {pod["serviceAccountName"]})
        looks, tells = pod["containers"]
        names = {volume["name"] for volume in pod["volumes"]}
        self.assertLessEqual({mount["name"] for one in (looks, tells)
                              for mount in one["volumeMounts"]}, names)
        monitor = importlib.import_module("json").loads(config["data"]["gpu.json"])
        rule, = monitor["rules"]
        self.assertEqual(rule["condition"], monitor["conditions"][0]["type"])
        self.assertEqual(rule["path"], "/config/gpu")
        self.assertIn("--config.custom-plugin-monitor=/config/gpu.json", tells["command"])
        plugin = self.folder / "gpu"
        plugin.write_text(config["data"]["gpu"].replace("/verdict/", f"{self.folder}/"), "utf-8")
        plugin.chmod(0o755)
        (self.bin / "sleep").write_text("#!/bin/sh\nkill $PPID\n", encoding="utf-8")
        (self.bin / "sleep").chmod(0o755)   # ends the loop after its first turn
        before = subprocess.run([plugin], capture_output=True, text=True, check=False)
        self.assertEqual((before.returncode, before.stdout), (2, "not examined yet\n"))
        for code, line, end, said in (
                (0, "accepted: 8 GPUs", 0, "accepted: 8 GPUs"),
                (1, "refused: nvidia:3: x [HT-ECC-PENDING]", 1, "HT-ECC-PENDING: nvidia:3: x"),
                (0, "accepted: 7 GPUs", 1, "HT-GPU-COUNT: 7 of 8 GPUs can be used"),
                (3, "error: none", 2, "not examined: none (exit code 3)")):
            with self.subTest(code=code, line=line):
                self.hiptool_ends(code, line)
                self.run_container(looks, ("/verdict/new", f"{self.folder}/new"),
                                   (" /verdict/verdict", f" {self.folder}/verdict"))
                result = subprocess.run([plugin], capture_output=True, text=True, check=False)
                self.assertEqual((result.returncode, result.stdout), (end, said + "\n"))
                self.assertFalse((self.folder / "new").exists())


class Systemd(Recipes):
    def unit(self):
        text = (RECIPES / UNITS[0]).read_text(encoding="utf-8").replace("\\\n", " ")
        return {key: value for key, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)}

    def test_the_units_are_valid(self):
        analyze = shutil.which("systemd-analyze")
        if not analyze:
            self.skipTest("systemd-analyze is not installed")
        for name in UNITS:   # the program of the unit is that of this test
            text = (RECIPES / name).read_text(encoding="utf-8")
            (self.folder / pathlib.Path(name).name).write_text(
                text.replace("/usr/bin/hiptool", program.PROGRAM), encoding="utf-8")
        result = subprocess.run(
            [analyze, "verify", "--man=no", *(self.folder / pathlib.Path(name).name
                                              for name in UNITS)],
            env={**self.environment, "SYSTEMD_UNIT_PATH": f"{self.folder}:"}, capture_output=True,
            text=True, check=False)
        own = [line for line in result.stderr.splitlines() if "hiptool" in line]
        self.assertEqual((result.returncode, own), (0, []), result.stderr)

    def test_the_command_writes_whole_files(self):
        command = self.unit()["ExecStart"]
        target = "/var/lib/prometheus/node-exporter/"
        self.assertIn(target, command)
        self.assertEqual(self.unit()["ReadWritePaths"] + "/", target)
        words = command.replace(target, f"{self.folder}/").split()
        self.assertEqual(words[0], "/usr/bin/hiptool")
        file = self.folder / "hiptool_check.prom"
        successes = {0, *map(int, self.unit()["SuccessExitStatus"].split())}
        refused = {"FAKE_CUDA_DEVICES": "1"}   # accepted too: nothing says that there were two
        self.assertIn(self.end(words), successes)
        first = file.read_text(encoding="utf-8")
        self.assertRegex(first, r'(?m)^hiptool_success\{command="check"\} 1$')
        with file.open(encoding="utf-8") as reader:   # an exporter that reads meanwhile
            self.assertIn(self.end(words, **refused), successes)
            self.assertEqual(reader.read(), first)
        self.assertNotEqual(file.read_text(encoding="utf-8"), first)
        self.assertEqual([path.name for path in self.folder.glob("*prom*")], [file.name])
        self.assertEqual(file.stat().st_mode & 0o777, 0o644)

    def end(self, words, **variables):
        return subprocess.run([program.PROGRAM, *words[1:]], env={**self.environment, **variables},
                              stdout=subprocess.DEVNULL, umask=0o022, timeout=200,
                              check=False).returncode

    def test_a_refused_machine_is_a_metric_and_no_failed_unit(self):
        self.assertEqual(set(self.unit()["SuccessExitStatus"].split()), {"1", "5", "6"})


class Documented(Recipes):
    def test_every_recipe_is_in_the_document_as_it_is_in_the_file(self):
        text = DOCUMENT.read_text(encoding="utf-8")
        blocks = re.findall(r"^```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        files = sorted(str(file.relative_to(RECIPES)) for file in RECIPES.rglob("*")
                       if file.is_file())
        self.assertEqual(files, sorted([*SCRIPTS, *MANIFESTS, *UNITS]))
        for name in files:
            with self.subTest(name):
                self.assertIn((RECIPES / name).read_text(encoding="utf-8"), blocks)
                self.assertIn(f"`{name}`", text)

    def test_scripts_are_for_every_shell(self):
        for name in SCRIPTS:
            with self.subTest(name):
                self.assertTrue(os.access(RECIPES / name, os.X_OK))
                self.assertTrue((RECIPES / name).read_text("utf-8").startswith("#!/bin/sh\n"))
                result = subprocess.run(["sh", "-n", RECIPES / name], capture_output=True,
                                        text=True, check=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    if sys.version_info < (3, 9):
        sys.exit("Python 3.9 is needed")   # for the umask of a process
    program.main(__doc__)
