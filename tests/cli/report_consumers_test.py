# SPDX-License-Identifier: MIT
"""Output formats, read by the tools that they are for: PROGRAM
Prometheus|Junit|Markdown|Drawing. Exits 77 where that tool is not installed."""
import html.parser
import importlib
import shutil
import subprocess
import sys

import program
import report_samples as samples


def needed(name, have):
    if not have:
        print(f"skipped: {name} is not installed")
        sys.exit(77)


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Prometheus(samples.RenderTest):
    def test_prometheus(self):
        text = self.render(samples.all_kinds(), "prom")
        families = {family.name: family
                    for family in prometheus.text_string_to_metric_families(text)}
        for family in families.values():
            self.assertEqual(family.type, "gauge")
            self.assertTrue(family.documentation)
            for sample in family.samples:
                self.assertIsNone(sample.timestamp)
        rates = families["hiptool_bytes_per_second"].samples
        cells = samples.all_kinds()["measurements"]
        self.assertEqual({sample.labels["id"]: sample.value for sample in rates},
                         {cell["id"]: cell["bytes_per_s"] for cell in cells
                          if cell["status"] == "ok"})
        statuses = families["hiptool_measurement_status"].samples
        self.assertEqual(sorted({sample.labels["status"] for sample in statuses}),
                         ["failed", "mismatch", "ok", "skipped"])
        self.assertEqual(families["hiptool_start_time_seconds"].samples[0].value, 1772366400)
        odd = next(sample for sample in statuses if sample.labels["status"] == "failed")
        self.assertTrue(odd.labels["id"].startswith("a\"b\\c<d>&'e'\\x0A{f=\"g\"}\\x1B[2J"))
        self.assertEqual(text.count("# TYPE"), len(families))
        self.assertTrue(text.endswith("\n"))


    def test_prometheus_of_a_live_command(self):
        file = self.folder / "hiptool.prom"
        result = program.run("devices", "--export", f"prom={file}",
                             environment=program.clean_environment(HIPTOOL_CPU_DEVICES="3"))
        self.assertEqual(result.returncode, 0, result.stderr)
        families = {family.name: family for family in
                    prometheus.text_string_to_metric_families(file.read_text(encoding="utf-8"))}
        self.assertEqual(families["hiptool_success"].samples[0].value, 1)
        memory = {sample.labels["device"]: sample.value
                  for sample in families["hiptool_device_memory_total_bytes"].samples}
        self.assertGreaterEqual(memory.keys(), {"cpu:0", "cpu:1", "cpu:2"})
        self.assertGreater(memory["cpu:0"], 1 << 20)
        self.assertEqual(list(self.folder.iterdir()), [file])   # nothing half-written beside it



class Junit(samples.RenderTest):
    def test_junit(self):
        suites = junitparser.JUnitXml.fromstring(self.render(samples.all_kinds(), "junit").encode())
        suite = next(iter(suites))
        cells = samples.all_kinds()["measurements"]
        self.assertEqual((suite.tests, suite.failures, suite.errors, suite.skipped),
                         (len(cells), 1, 1, 1))
        self.assertEqual((suite.hostname, suite.timestamp), ("node01", "2026-03-01T12:00:00"))
        cases = list(suite)
        self.assertEqual(cases[0].name, cells[0]["id"])
        self.assertTrue(cases[0].is_passed)
        self.assertAlmostEqual(cases[0].time, sum(cells[0]["samples_s"]), delta=1e-6)
        self.assertIn("3 bytes differ", cases[-1].result[0].message)
        self.assertIsInstance(cases[-1].result[0], junitparser.Failure)
        self.assertIsInstance(cases[-2].result[0], junitparser.Skipped)
        self.assertIsInstance(cases[-3].result[0], junitparser.Error)


    def test_junit_is_never_green_for_what_failed(self):
        failed = {**samples.head("bench-copy", status="failed"),
                  "error": {"code": "unavailable", "message": "no device", "hint": None,
                            "native": None}}
        not_passed = {"exit_code": 1, "passed": False}
        wrong = samples.load(status="mismatch")
        wrong["verify"]["mismatches"] = [{"tensor": "t", "file": "f", "file_offset": 1,
                                          "device_offset": 2, "bytes": 3}]
        nan = {**samples.load(), **not_passed,
               "values": {"checked": 9, "nan": 1, "inf": 0, "tensors": []}}
        doctor = {**samples.head("devices"), **not_passed, "platforms": [], "devices": [],
                  "checks": [
            {"id": "iommu", "severity": "fail", "device": None, "read": "on", "source": "x",
             "expected": "pt", "fix": "set iommu=pt"}]}
        limit = {"threshold": "h2d>=60GB/s", "measurement": samples.cell()["id"],
                 "least_bytes_per_s": 60e9, "measured_bytes_per_s": 52e9, "met": 0, "measured": 1}
        missed = {**samples.bench_copy([samples.cell()]), **not_passed,
                  "thresholds": [{**limit, "is_met": False}, {**limit, "is_met": True}]}
        slower = {**samples.bench_copy([samples.cell()]), **not_passed, "comparisons": [
            {"id": samples.cell()["id"], "verdict": "SLOWER", "change": 0.1, "low": 0.09,
             "high": 0.11, "reason": None}]}
        interrupted = samples.bench_copy([samples.cell()], status="interrupted")
        old_ones = [samples.first_version(samples.load(status="mismatch")),
                    {**samples.first_version(samples.load()), "values": nan["values"]},
                    {**samples.first_version(samples.bench_copy([samples.cell()])),
                     "baseline": slower["comparisons"]}]
        for document in (failed, wrong, nan, doctor, missed, slower, interrupted, *old_ones):
            suites = junitparser.JUnitXml.fromstring(self.render(document, "junit").encode())
            self.assertEqual(suites.failures + suites.errors, 1, document["status"])
        for document in (samples.load(), samples.head("devices"), samples.bench_copy([]),
                         samples.first_version(samples.load())):
            suites = junitparser.JUnitXml.fromstring(self.render(document, "junit").encode())
            self.assertEqual((suites.tests > 0, suites.failures + suites.errors), (True, 0))


    def test_junit_of_a_comparison(self):
        files = [samples.write(self.folder, f"{rate}.json", samples.bench_copy(
            [samples.cell(rate=rate), samples.cell(kind="d2h"),
             samples.cell(kind="d2d", count=3)])) for rate in (52e9, 40e9)]
        result = program.run("report", "compare", *files, "--format", "junit")
        self.assertEqual(result.returncode, 1)
        suites = junitparser.JUnitXml.fromstring(result.stdout.encode())
        self.assertEqual((suites.tests, suites.failures, suites.skipped), (3, 1, 1))



class Tables(html.parser.HTMLParser):
    """The tables of a page, each a list of rows of texts."""

    def __init__(self):
        super().__init__()
        self.tables, self.cell, self.strong, self.items = [], None, [], 0
        self.is_strong = False

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.cell = ""
        elif tag == "strong":
            self.is_strong = True
            self.strong.append("")
        elif tag == "li":
            self.items += 1

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.tables[-1][-1].append(self.cell)
            self.cell = None
        elif tag == "strong":
            self.is_strong = False

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
        elif self.is_strong:
            self.strong[-1] += data


class Markdown(samples.RenderTest):
    def test_github_shows_what_the_document_does(self):
        hostile = "a|b\\c<d>&`e`*f*_g_[h](i)~j~#k$l"
        table = {"title": "T", "columns": [
            {"key": key, "title": key, "unit": unit} for key, unit in
            (("name", "none"), ("rate", "rate"))],
            "rows": [["plain", 52.4e9], [hostile, None], ["8 x NVIDIA H200", 1e12]],
            "tones": [["plain", "bad"]]}
        document = {**samples.bench_copy([samples.cell()]), "shown": {
            "lines": [{"tone": "good", "text": f"accepted: {hostile}"},
                      {"tone": "plain", "text": "  to do: nothing"}],
            "notes": [{"tone": "plain", "text": hostile}, {"tone": "plain", "text": "other"}],
            "tables": [table]}}
        page = Tables()
        page.feed(cmarkgfm.github_flavored_markdown_to_html(self.render(document, "markdown")))
        self.assertEqual([[cell.strip() for cell in row] for row in page.tables[0]],
                         [["name", "rate"], ["plain", "52.4 GB/s"], [hostile, "–"],
                          ["8 x NVIDIA H200", "1.00 TB/s"]])
        self.assertEqual(page.strong, [f"accepted: {hostile}", "to do: nothing"])
        self.assertEqual(page.items, 2)


class Drawing(samples.RenderTest):
    def test_svg_can_be_drawn(self):
        drawing = self.render(samples.all_kinds(), "svg").encode()
        picture = subprocess.run(["rsvg-convert"], input=drawing, capture_output=True, check=True,
                                 timeout=60).stdout
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreater(len(picture), 20_000)



if __name__ == "__main__":
    prometheus = module("prometheus_client.parser")
    junitparser = module("junitparser")
    cmarkgfm = module("cmarkgfm")
    if "Prometheus" in sys.argv:
        needed("prometheus_client", prometheus)
    if "Junit" in sys.argv:
        needed("junitparser", junitparser)
    if "Markdown" in sys.argv:
        needed("cmarkgfm", cmarkgfm)
    if "Drawing" in sys.argv:
        needed("rsvg-convert", shutil.which("rsvg-convert"))
    program.main(__doc__)
