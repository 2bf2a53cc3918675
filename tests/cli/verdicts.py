# SPDX-License-Identifier: MIT
"""Checks that every output format of a run carries the same verdict, with independent parsers."""
import csv
import html.parser
import io
import json
import re
import signal
import subprocess
import xml.etree.ElementTree as xml

import program

FAILING_WORDS = ("failed", "wrong", "mismatch", "slower", "interrupted", "not verified", "refused")
GREEN = "\x1b[32m"
RED = "\x1b[31m"


formats_of_commands = {}   # by the name of the command
seen_outcomes = set()   # (command, exit code) whose formats on standard output were read


def formats_of(words, environment=None):
    """The formats of --export of this command, from the error message for another one."""
    if words[0] not in formats_of_commands:
        refused = program.run(*words, "--export", "none=x", environment=environment)
        found = re.search(r"expected one of ([a-z, ]+)", refused.stderr)
        assert refused.returncode == 2 and found, refused
        formats_of_commands[words[0]] = found[1].strip().split(", ")
    return formats_of_commands[words[0]]


def says_failed(line):
    return line.lower().startswith(FAILING_WORDS)


class Page(html.parser.HTMLParser):
    """Title, verdict paragraphs and texts of a page, and whatever it would fetch or run."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.title = ""
        self.verdicts = []
        self.tables = 0
        self.foreign = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        fetched = {"src", "href", "srcset", "data", "action", "poster"}
        self.foreign += [(tag, name) for name, _ in attrs
                         if name in fetched or name.startswith("on")]
        if tag in ("script", "link", "iframe", "object", "embed", "base"):
            self.foreign.append((tag, ""))
        classes = (dict(attrs).get("class") or "").split()
        self.open.append((tag, "verdict" in classes))
        if "verdict" in classes:
            self.verdicts.append("")
        self.tables += tag == "table"

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:   # <meta> has no end
            pass

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "title":
            self.title += data
        if any(is_verdict for _, is_verdict in self.open):
            self.verdicts[-1] += data
        if self.open and self.open[-1][0] == "style" and re.search(r"url\(|@import", data):
            self.foreign.append(("style", data))


class Reader:
    """Asserts that a document of any format agrees with the exit code."""

    first_line = None   # of the run whose formats are read

    def __init__(self, test, code):
        self.test = test
        self.code = code
        self.has_passed = code == 0

    def read(self, output_format, text):
        with self.test.subTest(format=output_format):
            getattr(self, output_format)(text)

    def read_stdout(self, output_format, result):
        """False where there is nothing to show people but the error; programs are always told."""
        if self.code != 0 and output_format == "table" and not result.stdout:
            self.test.assertRegex(result.stderr, r"(?m)^(\x1b\[[0-9;]*m)?error:")
            return False
        self.read(output_format, result.stdout)
        return True

    def agree(self, passed, what):
        self.test.assertEqual(bool(passed), self.has_passed, what)

    def json(self, text):
        document = json.loads(text)
        schema = document["schema"].removeprefix("hiptool.").split("/")[0]
        self.test.assert_document(text, f"{schema}.schema.json")
        self.test.assertEqual(document["exit_code"], self.code, document["exit_code"])
        self.agree(document["passed"], document["passed"])
        if self.code == 1:
            self.test.assertTrue(document["failures"])
        if self.has_passed:
            self.test.assertEqual(document["failures"], [])
            self.test.assertNotIn(document["status"], ("failed", "mismatch", "interrupted"))
        else:
            self.test.assertNotEqual(document["status"], "ok")
        self.test.assertEqual(document["status"] == "interrupted", self.code in (130, 143))
        if schema == "completion" and self.has_passed:   # a script begins with its own first line
            return
        self.first_line = document["shown"]["lines"][0]["text"]
        self.agree(not says_failed(self.first_line), self.first_line)

    def prom(self, text):
        values = {line.split("{")[0]: float(line.rsplit(" ", 1)[1])
                  for line in text.splitlines() if not line.startswith("#")}
        self.test.assertEqual(values["hiptool_success"], 1 if self.has_passed else 0)
        self.test.assertEqual(values["hiptool_exit_code"], self.code)

    def junit(self, text):
        root = xml.fromstring(text)
        cases = list(root.iter("testcase"))
        bad = [case for case in cases if case.find("failure") is not None or
               case.find("error") is not None]
        self.test.assertTrue(cases)
        self.agree(not bad, text)
        for element in (root, root.find("testsuite")):
            for name, tag in (("failures", "failure"), ("errors", "error"),
                              ("skipped", "skipped")):
                self.test.assertEqual(int(element.get(name)), len(list(root.iter(tag))), text)
            self.test.assertEqual(int(element.get("tests")), len(cases))
        names = [case.get("name") for case in cases]
        self.test.assertEqual(len(set(names)), len(names), names)

    def gha(self, text):
        first = json.loads(text)[0]
        self.test.assertTrue(first["name"].endswith(" verdict"), first)
        self.test.assertEqual(first["value"], 1 if self.has_passed else 0)

    def bmf(self, text):
        verdicts = [entry for name, entry in json.loads(text).items()
                    if name.endswith(" verdict")]
        self.test.assertEqual(verdicts, [{"passed": {"value": 1 if self.has_passed else 0}}])

    def gbench(self, text):
        context = json.loads(text)["context"]
        self.test.assertEqual(context["hiptool_exit_code"], self.code)
        self.agree(context["hiptool_passed"], context)

    def html(self, text):
        page = Page(text)
        self.test.assertEqual(page.foreign, [])
        self.test.assertNotRegex(text, "https?://")
        self.test.assertEqual(page.verdicts[0], self.first_line)
        self.agree(not page.title.startswith("FAILED: "), page.title)
        classes = re.findall(r'<p class="verdict([a-z ]*)">', text)
        self.agree("bad" not in classes[0], classes)
        self.agree("<title>FAILED: " not in text, text[:400])
        if not self.has_passed:
            self.test.assertNotIn(" good", classes)

    def svg(self, text):
        said = [element.text or "" for element in xml.fromstring(text).iter()
                if element.tag.endswith("text")]
        self.agree(not any(line.startswith("FAILED") for line in said), said)

    def markdown(self, text):
        first = text.splitlines()[0]
        self.test.assertRegex(first, r"^\*\*.*\*\*$")
        self.agree(not says_failed(first[2:]), first)

    def csv(self, text):
        rows = list(csv.reader(io.StringIO(text)))
        self.test.assertEqual(rows[0][-2:], ["exit_code", "passed"])
        self.test.assertEqual(len(set(rows[0])), len(rows[0]), rows[0])
        self.test.assertGreater(len(rows), 1)
        for row in rows[1:]:   # one table: no second header, no empty line
            self.test.assertEqual(len(row), len(rows[0]), row)
            self.test.assertEqual(row[-2:], [str(self.code), str(self.has_passed).lower()])

    def table(self, text):
        first = text.splitlines()[0]
        self.agree(not says_failed(first.replace(RED, "")), first)
        if "\x1b" in text:
            self.agree(RED not in first, first)
        if not self.has_passed:
            self.test.assertNotIn(GREEN, text)


def check_one_verdict(test, words, code, environment=None, stdout_formats=None, stop_at=None,
                      hold=None, formats=None):
    """Runs the command once, with the coloured table on standard output and an export of every
    format that it has, and asserts that the exit code is `code`, that every format says so, and
    that `report render` shows the same table. Returns the JSON document.

    `test` is a program.CliTest; `words` the command and its options without formats;
    `stdout_formats` are also written to standard output, each in a run of its own (default: all
    others, where no earlier case of this process had this command and exit code). `stop_at`: send
    SIGINT when this text appears on standard error; `hold`: while the fake driver is in this call
    (program.Hold). `formats`: those of the command, if its error message does not list them."""
    words = [str(word) for word in words]
    reader = Reader(test, code)
    formats = formats or formats_of(words, environment)
    outcome = (*words[:2 if words[0] == "report" else 1], code)
    if stdout_formats is None:
        stdout_formats = [name for name in ("json", "csv", "markdown")
                          if name in formats and outcome not in seen_outcomes]
        seen_outcomes.add(outcome)
    files = {name: test.folder / f"verdict.{name}" for name in formats}
    exports = [word for name, path in files.items() for word in ("--export", f"{name}={path}")]
    color = ["--color", "always"]

    def run(*more):
        if hold is not None:
            return test.interrupt(hold, *words, *more, environment=environment)
        return run_until([*words, *more], environment, stop_at)

    result = run("--format", "table", *color, *exports)
    test.assertEqual(result.returncode, code, result.stdout + result.stderr)
    text = files["json"].read_text(encoding="utf-8")
    for name in ["json", *(name for name in formats if name != "json")]:   # it has the first line
        reader.read(name, files[name].read_text(encoding="utf-8"))
    if reader.read_stdout("table", result):
        rendered = program.run("report", "render", files["json"], "--format", "table", *color,
                               environment=environment)
        test.assertEqual(rendered.stdout, result.stdout)
        if stdout_formats:   # a table of one plain line has no colours
            test.assertIn("\x1b", result.stdout)
    for path in files.values():
        path.unlink()
    for name in stdout_formats:
        again = run("--format", name)
        test.assertEqual(again.returncode, code, again.stdout + again.stderr)
        if reader.read_stdout(name, again):
            test.assertNotIn("\x1b", again.stdout)
    return json.loads(text)


def run_until(words, environment, stop_at):
    if stop_at is None:
        return program.run(*words, environment=environment)
    steps = program.LockStep()
    with program.start(*words, environment=environment, stderr=steps.writer) as process:
        before = steps.read_until(stop_at)
        process.send_signal(signal.SIGINT)
        rest = steps.rest()
        stdout, _ = process.communicate(timeout=program.GUARD_S)
        result = subprocess.CompletedProcess(process.args, process.returncode, stdout,
                                             before + rest.join())
    program.check_exit_code(result)
    return result
