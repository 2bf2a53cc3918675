# SPDX-License-Identifier: MIT
"""Runs every hiptool command that README.md, CONTRIBUTING.md and docs/*.md show, so that none of
them goes stale, checks the configurations against their schemas, and what is generated against the
program. Of the other commands ELSEWHERE says what runs them, NOT_RUN why nothing does.

Usage: docs_test.py PROGRAM [unittest options].

Sizes and durations are cut down: the test is about options, arguments and exit codes, not about
rates. With HIPTOOL_RELEASE=FOLDER the commands for the tarball run on the one in FOLDER.
"""
import importlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import program
from program import CliTest, cases, clean_environment, run
from vendor_schemas import check_schema, needed

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REFERENCE = ROOT / "docs" / "reference.md"
CODES = ROOT / "docs" / "codes.md"
PICTURE = ROOT / "docs" / "terminal.svg"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md",
             *sorted(set((ROOT / "docs").glob("*.md")) - {REFERENCE})]
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
# A hiptool command as a shell, a workflow, a job of a scheduler or a container starts it.
COMMAND = re.compile(r"^(?:- run: |- |(?:srun|mpirun)(?: -\S+(?: \d+)?)* |command: \[|"
                     r"build/src/cli/)?(hiptool[ ,].*|sha256sum \w.*|check-jsonschema .*)$")
# Other commands by how they begin: what runs them, perhaps with other folders,
ELSEWHERE = {
    r"(sha256sum --|tar |hiptool-\S+/bin/hiptool|cp -r|cmake|export \w+PATH=|g\+\+|\./program)":
        "test_the_tarball, where HIPTOOL_RELEASE is set, as in .ci/run",
    r"\$\(command -v sudo\) apt-get|meson test -C build$": ".ci/run, in minimal roots",
    r"sudo apt-get (install|remove) ": ".ci/try_release",
    r"HIPTOOL_WRITE_SCREENS=1 ": "the test `screens`, without the variable",
    r"packaging/release ": ".ci/run; the comparison of two with RELEASE_TWICE",
    r"meson dist ": ".ci/try_dist",
    r"packaging/symbols.py ": "the test `package symbols`, without --update",
    r"c\+\+ |\./example ": "the test `pkg-config consumer`",
    r"srun |scontrol ": "slurm_test.py",
    r"sudo (cp|systemctl) .*(systemd/|hiptool-check)": "recipes_test.py, in other folders",
    r"export HIPTOOL_CPU_DEVICES": "the environment of the commands here",
    r"meson test -C build (base|--suite)|ninja -C build( clang-tidy)?$": "whoever makes a change",
}
# and why nothing does.
NOT_RUN = {
    r"(podman|docker) ": "Debian's minimal roots have no container engine",
    r"sudo usermod ": "it changes the user of the machine",
    r"git clone ": "who reads this has the repository",
    r"sudo ninja -C build uninstall": "it needs an installation into the system",
    r"ninja -C build clang-format ": "it changes the sources; .ci/run checks the format",
    r"\.ci/run": "it runs this test",
    r"ASAN_OPTIONS=\S+ fuzz/tests/fuzz/": "it needs a build by clang, and runs for minutes",
}

# Exit codes other than 0 that a command may have on a machine without the GPU that it is about.
MAY_EXIT = {r"--fail-below|--baseline|--against|report (compare|merge)": (0, 1),
            r"--doctor": (0, 1, 3),
            r"--watch": (3,), r"--costs": (0, 2), r"--require gpu|nvidia:0": (0, 3),
            r"check .*--expect": (0, 1, 2), r"--size 1PiB": (2,)}
# --watch would run until somebody ends it; the processor has nothing to watch.
SMALLER = ((r"/usr/share/hiptool/schemas", str(ROOT / "tests" / "schema")), (r"> docs/", "> "),
           (r"/(results|textfile|var/lib/prometheus/node-exporter)/", ""),
           (r"--watch \d+", r"\g<0> --platform cpu"),
           (r"hiptool check", "hiptool check --size 64KiB"),
           (r"hiptool check (?!.*--stage)", "hiptool check --stage memory "),
           (r"check (.*)--level standard", r"check \1"),
           (r"--stage soak --duration 1h", "--stage soak --duration 1s"),
           (r"--time \d+", "--time 1"), (r"--size (\d+%|\d+MiB)", "--size 64KiB"),
           (r"hiptool bench-copy", "hiptool bench-copy --samples 2 --size 64KiB"),
           (r"--level ci|--size 64KiB(?=.*--size)", ""), (r"--repeat \d+", "--repeat 2"),
           (r"run-kernel ops(?= |$)", "run-kernel ops --dtype f16 --layout transposed"),
           (r"--shape 512x4096", "--shape 64x256"), (r"--shape 512x512x512", "--shape 64x64x64"),
           (r"--shape 256x256x300", "--shape 32x32x30"),
           (r"--sweep full --dtype u8,f16", "--sweep full --dtype u8 --layout packed"),
           (r"run-kernel (?!.*(--module|--list|--time|--size|--shape|--sweep|\bops\b))",
            "run-kernel --size 64KiB "),
           (r"run-kernel (?!.*(--module|--list|--time|--samples|--sweep|\bops\b))",
            "run-kernel --samples 1 "))


def blocks_of(document, *languages):
    text = document.read_text(encoding="utf-8")
    return [textwrap.dedent(block) for language, block in BLOCK.findall(text)
            if language in languages]


def shell_lines(block):
    """The command lines of a block, without comments; if it has prompts, the rest is output."""
    lines = re.sub(r" *\\\n *", " ", block).splitlines()
    if any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [line for line in (re.sub(r"\s+#.*$", "", line) for line in lines) if line]


def commands_of(document):
    """The command lines of a document that are run here, without what starts them elsewhere."""
    for block in blocks_of(document, "", "sh"):
        for line in shell_lines(block):
            found = COMMAND.match(line)
            if found:
                yield found[1]
    for block in blocks_of(document, "yaml"):
        for line in map(str.strip, re.sub(r" *\\\n *", " ", block).splitlines()):
            found = COMMAND.match(line)
            if found:
                command = re.sub(r"\s+#.*$", "", found[1])
                is_list = line.startswith("command: [")
                yield command.rstrip("]").replace(",", "") if is_list else command


def made_smaller(command):
    for pattern, replacement in SMALLER:
        command = re.sub(pattern, replacement, command)
    return command


def allowed_exits(command):
    for pattern, codes in MAY_EXIT.items():
        if re.search(pattern, command):
            return codes
    return (0,)


class Documents(CliTest):
    def prepare(self):
        """The files that the documents' commands read."""
        run("make-model", "model.gguf", "--architecture", "llama", "-q", cwd=self.folder)
        run("load", "model.gguf", "--device", "cpu", "--write-manifest", "model.json", "-q",
            cwd=self.folder)
        for name in ("old.json", "new.json", "run.json", "out.0.json", "out.1.json", "out.2.json"):
            run("bench-copy", "--device", "cpu", "--samples", "2", "--size", "64KiB", "--kind",
                "h2d", "--export", f"json={name}", "-q", cwd=self.folder)
        kernel = blocks_of(ROOT / "docs" / "kernels.md", "cpp")[0]
        (self.folder / "saxpy.hip").write_text(kernel, encoding="utf-8")
        thresholds = blocks_of(ROOT / "docs" / "ci.md", "text")[0]
        (self.folder / "copies.txt").write_text(thresholds, "utf-8")
        (self.folder / "kernels.txt").write_text("stream>=1kB/s\n", "utf-8")
        (self.folder / "llama-13b.gguf").hardlink_to(self.folder / "model.gguf")
        run("make-model", "other.gguf", "--architecture", "llama", "-q", cwd=self.folder)
        for name in ("hiptool", "hiptool-0.2.0"):
            (self.folder / name).symlink_to(os.path.abspath(program.PROGRAM))

    def test_every_command_of_the_documents(self):
        self.prepare()
        environment = clean_environment(HIPTOOL_CPU_DEVICES="2")
        environment["PATH"] = f"{self.folder}:{environment['PATH']}"
        for document in DOCUMENTS:
            for command in commands_of(document):
                missing = [each for each in ("check-jsonschema", "jq")
                           if each in command.split() and not shutil.which(each)]
                with self.subTest(document=document.name, command=command):
                    if missing:
                        self.skipTest(f"{missing[0]} is not installed")
                    result = subprocess.run(["bash", "-c", made_smaller(command)], text=True,
                                            env=environment, cwd=self.folder, timeout=240,
                                            stdin=subprocess.DEVNULL, capture_output=True,
                                            encoding="utf-8", check=False)
                    self.assertIn(result.returncode, allowed_exits(command), result.stderr)

    def test_tables_in_documents_have_the_columns_of_today(self):
        self.prepare()
        environment = clean_environment(PATH=f"{self.folder}:{os.environ['PATH']}")
        tables = 0
        for document in DOCUMENTS:
            for block in blocks_of(document, ""):
                command, _, shown = block.replace("\\\n", "").partition("\n")
                if not command.startswith("$ hiptool"):
                    continue
                output = subprocess.run(["bash", "-c", made_smaller(command[2:])], text=True,
                                        env=environment, cwd=self.folder, check=True,
                                        capture_output=True, encoding="utf-8").stdout
                # A title may be above the columns.
                headers = re.findall(r"\n\n(?:(?!.*  ).+\n)?(.*  .*)\n", output)
                headers = headers[:shown.count("\n\n")]
                lines = [re.split(" {2,}", line.strip()) for line in shown.splitlines()]
                for header in headers:
                    columns = set(re.split(" {2,}", header.strip()))
                    tables += 1
                    with self.subTest(document=document.name, columns=columns):
                        self.assertTrue(any(columns <= set(line) for line in lines), shown)
        self.assertGreaterEqual(tables, 4)

    def test_no_document_is_without_commands_by_mistake(self):
        counts = {document.name: len(list(commands_of(document))) for document in DOCUMENTS}
        for name, least in {"README.md": 8, "bring-up.md": 10, "check.md": 7, "ci.md": 20,
                            "kernels.md": 13, "loading.md": 25, "tested.md": 2}.items():
            self.assertGreaterEqual(counts[name], least, counts)

    def test_every_other_command_has_a_place_where_it_runs_or_a_reason(self):
        unused = {*ELSEWHERE, *NOT_RUN}
        for document in DOCUMENTS:
            for line in (line for block in blocks_of(document, "", "sh")
                         for line in shell_lines(block)):
                found = [each for each in {**ELSEWHERE, **NOT_RUN} if re.match(each, line)]
                unused -= set(found)
                with self.subTest(document=document.name, line=line):
                    self.assertTrue(found or COMMAND.match(line))
        self.assertEqual(unused, set())

    def test_links_and_paths_in_documents(self):
        missing = []
        for document in [*DOCUMENTS, ROOT / "SECURITY.md", *(ROOT / ".github").rglob("*.md")]:
            text = document.read_text(encoding="utf-8")
            # ../../ leads to pages of the site that hosts the repository.
            links = [document.parent / link
                     for link in re.findall(r"\]\((?!https?:|\.\./\.\./)([^)#]+)[^)]*\)", text)]
            paths = re.findall(r"`((?:tests|src|docs|kernels|include)/[\w./-]+)[` ]", text)
            missing += [f"{document.name}: {target}"
                        for target in links + [ROOT / path for path in paths]
                        if not target.exists()]
        self.assertEqual(missing, [])

    def test_each_feature_of_the_table_is_shown_by_a_test(self):
        text = (ROOT / "docs" / "tested.md").read_text(encoding="utf-8")
        section = text[text.index("## What a node is examined for"):].split("\n## ")[0]
        rows = re.findall(r"^\| (?!feature)([^|]+) \| ([^|]+) \| ?([^|]*?) ?\|$", section,
                          re.MULTILINE)
        self.assertGreaterEqual(len(rows), 20)
        for feature, answer, test in rows:
            with self.subTest(feature):
                self.assertEqual(answer.startswith("yes"), bool(test))
                if test:
                    file, name = re.fullmatch(r"`([^`]+)`: `([^`]+)`", test).groups()
                    cases_of = re.findall(r"def (\w+)|TEST_CASE\w*\(\s*(?:\w+, )?\"(.*?)\"",
                                          (ROOT / file).read_text(encoding="utf-8"))
                    self.assertTrue(any(name in one for pair in cases_of for one in pair), test)

    def test_the_readme_shows_each_command_that_people_start_with(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        overview = run("--help").stdout
        commands = re.search(r"Commands:\n((?:  .*\n)+)", overview)[1]
        names = set(re.findall(r"^  ([a-z-]+)", commands, re.MULTILINE)) - {"completion", "report"}
        self.assertGreaterEqual(len(names), 8)
        missing = [name for name in sorted(names) if not re.search(rf"hiptool {name}\b", text)]
        self.assertEqual(missing, [])
        for name in ("devices", "check", "load", "prove", "bench-copy"):   # with what they print
            self.assertRegex(text, rf"(?m)^\$ hiptool {name}\b")

    def test_anchors_of_links(self):
        def anchors(text):
            titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
        for document in [*DOCUMENTS, ROOT / "SECURITY.md"]:
            text = document.read_text(encoding="utf-8")
            for target, anchor in re.findall(r"\]\(([^):#]*)#([^)]+)\)", text.replace("\n", " ")):
                other = document.parent / target if target else document
                self.assertIn(anchor, anchors(other.read_text(encoding="utf-8")), document.name)

    def test_the_first_change_is_still_to_be_made(self):
        walk = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        for file, text in (("tests/unit/base/units_test.cpp", '"1.5GiB"'),
                           ("src/base/units.cpp", '"TiB"'),
                           ("src/cli/help/help_topics.cpp", "also MiB GiB TiB, M G T")):
            self.assertIn(file, walk)
            self.assertIn(text, walk)
            self.assertIn(text, (ROOT / file).read_text(encoding="utf-8"))
        self.assertEqual(run("make-model", f"{self.folder}/x.gguf", "--size", "1PiB").returncode, 2)

    def test_every_shell_command_parses(self):
        for document in DOCUMENTS:
            for block in blocks_of(document, "", "sh"):
                commands = shell_lines(block)
                with self.subTest(document=document.name, commands=commands):
                    result = subprocess.run(["bash", "-n"], input="\n".join(commands), text=True,
                                            capture_output=True, check=False)
                    self.assertEqual(result.stderr, "")

    def test_versions_are_those_of_the_build(self):
        """Archives, images and the versions that other builds require; `--against` is older."""
        version = re.search(r"^  version: '([\d.]+)'", (ROOT / "meson.build").read_text("utf-8"),
                            re.MULTILINE)[1]
        wanted = re.compile(r"(?<!--against \./)hiptool[-:](\d+\.\d+\.\d+)|"
                            r"find_package\(hiptool ([\d.]+)|version: '>=([\d.]+)', fallback: 'hip")
        found = 0
        for document in [*DOCUMENTS, *(ROOT / "packaging").rglob("*.yaml")]:
            for numbers in wanted.findall(document.read_text(encoding="utf-8")):
                for number in filter(None, numbers):
                    found += 1
                    self.assertTrue(f"{version}.".startswith(f"{number}."),
                                    f"{document}: {number} in place of {version}")
        self.assertGreater(found, 10)

    def test_lines_fit_a_terminal(self):
        for document in DOCUMENTS:
            for line in document.read_text(encoding="utf-8").splitlines():
                if not re.match(r"\||\[[\w-]+\]: |\$\(command -v sudo\)", line):
                    self.assertLessEqual(len(line), 100, f"{document.name}: {line}")

    def test_the_reference_is_what_the_program_prints(self):
        self.assertEqual(run("help", "reference").stdout, REFERENCE.read_text(encoding="utf-8"),
                         "run `hiptool help reference > docs/reference.md`")

    def test_the_codes_are_what_the_program_prints(self):
        self.assertEqual(run("help", "codes").stdout, CODES.read_text(encoding="utf-8"),
                         "run `hiptool help codes > docs/codes.md`")

    def test_the_tarball(self):
        folder = os.environ.get("HIPTOOL_RELEASE")
        if not folder:
            self.skipTest("HIPTOOL_RELEASE is not set")
        for pattern in ("hiptool-*-linux-*.tar.gz", "SHA256SUMS"):
            for file in pathlib.Path(folder).glob(pattern):
                shutil.copy(file, self.folder)
        packaging = ROOT / "docs" / "packaging.md"
        (self.folder / "CMakeLists.txt").write_text(blocks_of(packaging, "cmake")[0], "utf-8")
        (self.folder / "program.cpp").write_text(
            "#include <hiptool/version.hpp>\nint main() { return *hiptool::version() != '0'; }\n",
            "utf-8")
        blocks = [block for document in (ROOT / "README.md", packaging)
                  for block in blocks_of(document, "")
                  if re.search(r"^(tar|sha256sum|cp|cmake|g\+\+) ", block, re.MULTILINE)]
        self.assertGreaterEqual(len(blocks), 5)
        for block in blocks:
            (self.folder / "usr").mkdir(exist_ok=True)
            block = block.replace("/usr/local && ldconfig", "usr")
            with self.subTest(block=block):
                result = subprocess.run(["bash", "-e", "-c", block], cwd=self.folder, text=True,
                                        env=clean_environment(), capture_output=True, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)
                if "--demo" in block:
                    self.assertIn("verified 64.0 MiB", result.stdout)
        self.assertTrue((self.folder / "usr" / "bin" / "hiptool").exists())


class Picture(CliTest):
    def labels(self, lines):
        """Prompts, first words of verdicts, headers and the first columns: not figures."""
        found = []
        in_notes = False   # they depend on the machine
        for line in lines:
            style, text = line[0][1:] if line else ("", "")
            in_notes = style != "prompt" and (in_notes or text.startswith("skipped"))
            if style in ("prompt", "bold"):
                parts = [part for _, _, part in line]
                if parts[0] == "Stage" and found and len(found[-1]) == 1:
                    found.pop()   # the title, which names this machine's processor
                found.append(parts)
            elif style:
                found.append((style, text.split()[0].rstrip(":")))
            elif text and not in_notes:
                found.append([text])
        return found

    def test_it_shows_what_the_program_prints(self):
        if run("devices", "--require", "gpu").returncode == 0:
            self.skipTest("no GPU: this machine has a GPU")
        if program.is_sanitized():
            self.skipTest("a sanitizer is too slow for the time limit of a step")
        sys.path.insert(0, str(ROOT / "docs"))
        picture = importlib.import_module("picture")
        cell, step = picture.CELL, picture.LINE
        drawn = {}
        for x, y, style, text in re.findall(
                r'<text x="([\d.]+)" y="(\d+)" class="(\w*)">(.*?)</text>',
                PICTURE.read_text(encoding="utf-8")):
            line = (int(y) - picture.BAR) // step
            column = round((float(x) - picture.MARGIN) / cell)
            drawn.setdefault(line, []).append((column, style, text))
        lines = list(picture.lines_of(os.path.abspath(program.PROGRAM)))
        self.assertEqual(self.labels(drawn[line] for line in sorted(drawn)), self.labels(lines),
                         "run `python3 docs/picture.py HIPTOOL` and keep what it prints")
        self.assertLessEqual(max(run[0] + len(run[2]) for line in drawn.values() for run in line),
                             picture.COLUMNS)


class Configurations(CliTest):
    """The YAML of the documents, each kind against the schema of who reads it."""
    def setUp(self):
        super().setUp()
        self.yaml = needed("yaml")

    def documents(self, key, forms=DOCUMENTS):
        texts = [block for document in forms for block in blocks_of(document, "yaml")]
        found = [document for text in texts for document in self.yaml.safe_load_all(text)
                 if key in document]
        self.assertTrue(found, key)
        return found

    def check_schema(self, name, document):
        """To be called last: without the package the case is skipped here."""
        check_schema(self, name, document)

    def test_kubernetes(self):
        kinds = {}
        for document in self.documents("apiVersion"):
            kinds.setdefault(document["kind"], []).append(document)
            if document["kind"] in ("Job", "DaemonSet"):
                self.check_pod(document)
            with self.subTest(kind=document["kind"], name=document["metadata"]["name"]):
                schemas = needed("kubernetes_validate")
                schemas.validate(document, schemas.latest_version(), strict=True)
                cases.asserted()
        self.assertEqual(set(kinds), {"Job", "DaemonSet", "ServiceAccount", "ClusterRoleBinding",
                                      "ConfigMap"})
        for daemons in kinds["DaemonSet"]:
            spec = daemons["spec"]
            self.assertEqual(spec["selector"]["matchLabels"],
                             spec["template"]["metadata"]["labels"])
        for job in kinds["Job"]:
            self.assertEqual(job["spec"]["template"]["spec"]["restartPolicy"], "Never")

    def check_pod(self, document):
        """Volumes, and the rights of our containers."""
        pod = document["spec"]["template"]["spec"]
        containers = [*pod.get("initContainers", []), *pod["containers"]]
        mounts = {mount["name"] for container in containers
                  for mount in container.get("volumeMounts", [])}
        self.assertEqual(mounts, {volume["name"] for volume in pod["volumes"]})
        self.assertTrue(all(container["image"] for container in containers))
        own = [container for container in containers if "/hiptool:" in container["image"]]
        self.assertTrue(own)
        for container in own:
            rights = container["securityContext"]
            self.assertEqual((rights["allowPrivilegeEscalation"], rights["capabilities"],
                              rights["readOnlyRootFilesystem"], rights.get("privileged")),
                             (False, {"drop": ["ALL"]}, True, None))
            # The image's user, except where the document says why it is root.
            rights = {**pod.get("securityContext", {}), **rights}
            self.assertEqual(rights["seccompProfile"], {"type": "RuntimeDefault"})
            is_root = document["metadata"]["name"] == "hiptool-metrics"
            self.assertEqual((rights["runAsUser"], rights.get("runAsNonRoot")),
                             (0, None) if is_root else (self.user(), True))

    @staticmethod
    def user():
        """The number of the user that the image runs as."""
        text = (ROOT / "packaging" / "Containerfile").read_text(encoding="utf-8")
        return int(re.search(r"^USER (\d+)", text, re.MULTILINE).group(1))

    def test_privileged_is_said_to_be_needed_for_one_thing_only(self):
        text = " ".join((ROOT / "docs" / "ci.md").read_text(encoding="utf-8").split())
        sentences = [one for one in re.split(r"(?<=[.]) ", text) if "privileged" in one]
        self.assertEqual([one.partition("privileged")[0] for one in sentences],
                         ["No command needs `--", "Only that needs `"])

    def test_the_image_has_a_user_and_a_base_that_can_be_pinned(self):
        lines = (ROOT / "packaging" / "Containerfile").read_text(encoding="utf-8").splitlines()
        bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
        self.assertEqual(set(bases), {"${BASE}"})
        base = next(line for line in lines if line.startswith("ARG BASE="))
        self.assertRegex(base, r"=docker\.io/library/debian(:\d\S+|@sha256:[0-9a-f]{64})$")
        users = [line.split()[1] for line in lines if line.startswith("USER ")]
        self.assertEqual(len(users), 1)
        self.assertGreater(int(users[0].split(":")[0]), 0)
        self.assertLess(lines.index("USER " + users[0]),
                        next(i for i, line in enumerate(lines) if line.startswith("ENTRYPOINT")))

    def test_github_workflow(self):
        for workflow in self.documents("jobs"):
            self.assertTrue(workflow[True])   # `on`
            for job in workflow["jobs"].values():
                self.assertTrue(job["runs-on"])
                self.assertTrue(all("run" in step or "uses" in step for step in job["steps"]))
            self.check_schema("github-workflows", workflow)

    def test_gitlab_pipeline(self):
        for pipeline in self.documents("gpu"):
            self.assertTrue(pipeline["gpu"]["script"])
            self.check_schema("gitlab-ci", pipeline)

    def test_prometheus_rules(self):
        for rules in self.documents("groups"):
            for rule in rules["groups"][0]["rules"]:
                self.assertIn("hiptool_", rule["expr"])
            with self.subTest("promtool"):
                if not shutil.which("promtool"):
                    self.skipTest("promtool is not installed")
                file = self.folder / "rules.yml"
                file.write_text(self.yaml.safe_dump(rules), encoding="utf-8")
                result = subprocess.run(["promtool", "check", "rules", file], text=True,
                                        capture_output=True, check=False)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_issue_forms(self):
        folder = ROOT / ".github" / "ISSUE_TEMPLATE"
        forms = sorted(folder.glob("*.yml"))
        self.assertGreaterEqual(len(forms), 3)
        for form in forms:
            kind = "github-issue-config" if form.name == "config.yml" else "github-issue-forms"
            with self.subTest(form=form.name):
                self.check_schema(kind, self.yaml.safe_load(form.read_text(encoding="utf-8")))


if __name__ == "__main__":
    program.main(__doc__)
