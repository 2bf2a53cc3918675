# SPDX-License-Identifier: MIT
"""GitHub's workflows of this repository: their schema, rights, actions and packages.

Usage: workflows_test.py PROGRAM [unittest options].
"""
import pathlib
import re

import program
from program import CliTest
from vendor_schemas import check_schema, needed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Workflows(CliTest):
    def setUp(self):
        super().setUp()
        self.yaml = needed("yaml")

    def workflows(self):
        files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
        self.assertEqual([file.name for file in files], ["ci.yml", "release.yml"])
        return {file.name: file.read_text(encoding="utf-8") for file in files}

    def test_workflows_of_this_repository(self):
        for name, text in self.workflows().items():
            workflow = self.yaml.safe_load(text)
            with self.subTest(name):
                self.assertIn(workflow["permissions"], ({}, {"contents": "read"}))
                for job in workflow["jobs"].values():
                    self.assertTrue(job["timeout-minutes"])
                    for step in job["steps"]:
                        # A value that somebody outside chooses must not become shell text.
                        self.assertNotIn("${{", step.get("run", ""))
                        if step.get("uses", "").startswith("actions/checkout@"):
                            self.assertIs(step["with"]["persist-credentials"], False)
                check_schema(self, "github-workflows", workflow)

    def test_only_the_job_that_makes_a_draft_may_write(self):
        workflows = {name: self.yaml.safe_load(text) for name, text in self.workflows().items()}
        rights = {(name, key): job.get("permissions", workflow["permissions"])
                  for name, workflow in workflows.items()
                  for key, job in workflow["jobs"].items()}
        self.assertEqual(rights, {("ci.yml", "run"): {"contents": "read"},
                                  ("release.yml", "build"): {"contents": "read"},
                                  ("release.yml", "draft"): {"contents": "write"}})
        writer = workflows["release.yml"]["jobs"]["draft"]["steps"]
        self.assertFalse([step for step in writer if "checkout" in step.get("uses", "")])
        self.assertIn("--draft", writer[-1]["run"])

    def test_actions_are_pinned_to_commits(self):
        pinned = {}
        for text in self.workflows().values():
            for action in re.findall(r"uses: +(.*)", text):
                self.assertRegex(action, r"^actions/[a-z-]+@[0-9a-f]{40}   # v\d+\.\d+\.\d+$")
                name, _, commit = action.partition("@")
                self.assertEqual(pinned.setdefault(name, commit), commit)
        self.assertEqual(len(pinned), 3)

    def test_the_release_workflow_installs_what_the_script_names(self):
        script = (ROOT / "packaging" / "release").read_text(encoding="utf-8").replace("\\\n", "")
        packages = " ".join(re.findall(r'^(?:newer_)?packages="(.*?)"', script, re.MULTILINE))
        steps = self.yaml.safe_load(self.workflows()["release.yml"])["jobs"]["build"]["steps"]
        installed = steps[0]["run"].partition("--no-install-recommends ")[2].split()
        self.assertEqual(sorted(installed), sorted(["ca-certificates", *packages.split()]))

    def test_contributing_says_of_workflows_that_they_never_ran(self):
        text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
        self.assertTrue("Neither workflow has ever run" in text)
        self.assertNotIn("badge", (ROOT / "README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    program.main(__doc__)
