# SPDX-License-Identifier: MIT
"""Output formats for other tools, read by independent parsers; see report_consumers_test.py too."""
import html.parser
import json
import pathlib
import re
import xml.etree.ElementTree as xml

import program
import report_samples as samples

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Outline(html.parser.HTMLParser):
    """Refuses tags that do not nest, and collects them."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.tags = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.text += data


class Formats(samples.RenderTest):
    def test_outputs_replace_neither_inputs_nor_each_other(self):
        path = pathlib.Path(samples.write(self.folder, "run.json",
                                          samples.bench_copy([samples.cell()])))
        before = path.read_bytes()
        link = self.folder / "link.json"
        link.symlink_to(path)
        for words in (("render", path, "--export", f"html={path}"),
                      ("render", path, "--export", f"html={link}"),
                      ("compare", path, path, "--export", f"json={path}"),
                      ("merge", path, "--exclude-list", path),
                      ("render", path, "--export", f"html={self.folder}/a",
                       "--export", f"svg={self.folder}/a")):
            result = program.run("report", *map(str, words))
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("name the same file", result.stderr)
            self.assertEqual(path.read_bytes(), before)

    def test_google_benchmark(self):
        # The fields that its tools/compare.py reads, and how it groups repetitions.
        document = json.loads(self.render(samples.all_kinds(), "gbench"))
        for name in ("date", "num_cpus", "host_name", "executable", "caches"):
            self.assertIn(name, document["context"])
        first = samples.all_kinds()["measurements"][0]
        runs = [one for one in document["benchmarks"] if one["run_name"] == first["id"]]
        for run in runs:
            self.assertTrue({"name", "run_type", "real_time", "cpu_time", "time_unit",
                             "iterations"} <= run.keys())
        repetitions = [one for one in runs if one["run_type"] == "iteration"]
        for wrong, right in zip((one["real_time"] * 1e-6 for one in repetitions),
                                first["samples_s"]):
            self.assertAlmostEqual(wrong, right, places=12)
        self.assertEqual(len(repetitions), 15)
        self.assertEqual([one["repetition_index"] for one in repetitions], list(range(15)))
        median = next(one for one in runs if one["run_type"] == "aggregate")
        self.assertEqual((median["aggregate_name"], median["name"]),
                         ("median", first["id"] + "_median"))
        self.assertAlmostEqual(median["real_time"] * 1e-6, sorted(first["samples_s"])[7],
                               places=12)
        self.assertAlmostEqual(median["bytes_per_second"] / first["bytes_per_s"], 1,
                               places=6)
        errors = [one for one in document["benchmarks"] if one.get("error_occurred")]
        self.assertEqual([one["error_message"] for one in errors][1:],
                         ["skipped: no peer", "mismatch: 3 bytes differ"])

    def test_github_action_benchmark(self):
        entries = json.loads(self.render(samples.all_kinds(), "gha"))
        for entry in entries:
            self.assertLessEqual(entry.keys(), {"name", "unit", "value", "range", "extra"})
            self.assertIsInstance(entry["name"], str)
            self.assertIsInstance(entry["unit"], str)
            self.assertIsInstance(entry["value"], (int, float))
            self.assertIsInstance(entry.get("range", ""), str)
            self.assertIsInstance(entry.get("extra", ""), str)
        first = samples.all_kinds()["measurements"][0]
        verdict = entries.pop(0)   # of a document that does not hold its exit code
        self.assertEqual((verdict["name"], verdict["value"]), ("bench-copy verdict", 0))
        self.assertEqual(entries[0]["name"], first["id"])
        self.assertEqual(entries[0]["unit"], "GB/s")
        self.assertAlmostEqual(entries[0]["value"], first["bytes_per_s"] / 1e9)
        half = (first["p95_bytes_per_s"] - first["p05_bytes_per_s"]) / 2e9
        self.assertAlmostEqual(float(entries[0]["range"].removeprefix("± ")), half, delta=6e-4)
        # What went wrong raises the alert of "bigger is better"; what was skipped cannot.
        self.assertEqual([entry["value"] for entry in entries].count(0), 2)
        self.assertEqual(len(entries), len(samples.all_kinds()["measurements"]) - 1)
        self.assertEqual(len({entry["name"] for entry in entries}), len(entries))
        kernel = samples.kernel_result()
        kernel["bytes_per_s"] = None
        entry = json.loads(self.render(samples.run_kernel([kernel]), "gha"))[1]
        self.assertEqual((entry["unit"], entry["value"]), ("GFLOP/s", kernel["flops_per_s"] / 1e9))

    def test_bencher(self):
        document = json.loads(self.render(samples.all_kinds(), "bmf"))
        first = samples.all_kinds()["measurements"][0]
        self.assertEqual(document[first["id"]], {"bytes-per-second": {
            "value": first["bytes_per_s"], "lower_value": first["p05_bytes_per_s"],
            "upper_value": first["p95_bytes_per_s"]}})
        self.assertEqual(document["bench-copy verdict"], {"passed": {"value": 0}})
        self.assertEqual(len(document), len(samples.all_kinds()["measurements"]) - 3 + 1)

    def test_svg(self):
        root = xml.fromstring(self.render(samples.all_kinds(), "svg"))
        space = "{http://www.w3.org/2000/svg}"
        texts = [element.text for element in root.iter(f"{space}text")]
        for text in ("Rate over size", "h2d.pinned.copy, host to nvidia:0", "4 KiB", "1 GiB",
                     "p2p-read.pinned.copy.256MiB: from row to column, GB/s", "389.99"):
            self.assertIn(text, texts)
        curves = [path.get("d") for path in root.iter(f"{space}path")
                  if "curve" in path.get("class")]
        self.assertEqual(len(curves), 2)
        points = [tuple(map(float, point.split())) for point in re.split("[ML]", curves[0])[1:]]
        self.assertEqual(len(points), 7)
        # Equal factors of the size are equal distances; more rate is further up.
        steps = [right[0] - left[0] for left, right in zip(points, points[1:])]
        self.assertLess(max(steps) - min(steps), 0.05)
        self.assertTrue(all(right[1] < left[1] for left, right in zip(points, points[1:])))
        width, height = (float(root.get(name)) for name in ("width", "height"))
        for element in root.iter():
            for name, most in (("x", width), ("cx", width), ("x2", width)):
                self.assertTrue(0 <= float(element.get(name, 0)) <= most, element.attrib)
        self.assertLess(height, 4000)
        empty = xml.fromstring(self.render(samples.bench_copy([]), "svg"))
        self.assertIn("nothing was measured", [e.text for e in empty.iter(f"{space}text")])

    def test_html(self):
        text = self.render(samples.all_kinds(), "html")
        page = Outline()
        page.feed(text)
        self.assertEqual(page.open, [])
        names = [tag for tag, _ in page.tags]
        self.assertNotIn("script", names)
        self.assertGreater(names.count("svg"), 0)
        for _, attributes in page.tags:   # nothing is fetched
            self.assertFalse({"src", "href", "onload", "onclick"} & attributes.keys())
        self.assertNotRegex(text, r"url\(|@import|https?://")
        self.assertIn("prefers-color-scheme:dark", text)
        self.assertIn("bench-copy on node01", page.text)
        self.assertIn("3 bytes differ", page.text)
        self.assertNotIn("\x1b", text)
        heat = [attributes["style"] for tag, attributes in page.tags
                if tag == "td" and "style" in attributes]
        strengths = [float(re.search(r",([\d.]+)\)", style)[1]) for style in heat]
        self.assertEqual(len(strengths), 64)
        self.assertEqual(sum(strength > 0.5 for strength in strengths), 55)
        self.assertEqual(sum(0 < strength < 0.1 for strength in strengths), 1)
        self.assertEqual(page.text.count("from row to column"), 1)

    def test_html_names_the_machine_that_was_measured(self):
        document = samples.all_kinds()
        document["context"] = {}
        document["measured_on"] = [
            {"id": f"nvidia:{number}", "name": "NVIDIA H200", "arch": "sm_90",
             "uuid": f"GPU-{number}", "pci_bus_id": f"0000:{number:02x}:00.0",
             "driver": "580.95.05", "runtime": "13.0"}
            for number in (10, 9)]
        page = Outline()
        page.feed(self.render(document, "html"))
        for text in ("bench-copy on node01", "580.95.05", "0000:0a:00.0", "GPU-9"):
            self.assertIn(text, page.text)
        self.assertLess(page.text.index("nvidia:9"), page.text.index("nvidia:10"))
        here = json.loads(program.run("load", "--demo", "--device", "cpu", "--format",
                                      "json").stdout)["host"]
        first = samples.write(self.folder, "a.json", document)
        document["host"]["name"] = "node02"
        document["started_at"] = "2026-03-02T12:00:00Z"
        second = samples.write(self.folder, "b.json", document)
        for words in (["merge", first, second], ["compare", first, second]):
            path = self.folder / "page.html"
            program.run("report", *words, "--export", f"html={path}")
            page = Outline()
            page.feed(path.read_text(encoding="utf-8"))
            self.assertEqual(page.open, [])
            for text in ("hiptool report " + words[0], "node01", "node02", "2 x NVIDIA H200",
                         "580.95.05"):
                self.assertIn(text, page.text)
            self.assertNotIn(here["kernel"], page.text)   # nothing was measured here

    def test_html_is_the_default_and_other_documents_render_too(self):
        for document in (samples.load(), samples.run_kernel([samples.kernel_result()]),
                         samples.head("devices"), samples.all_kinds()):
            path = samples.write(self.folder, "document.json", document)
            result = program.run("report", "render", path)
            self.assertTrue(result.stdout.startswith("<!DOCTYPE html>"))
            page = Outline()
            page.feed(result.stdout)
            self.assertEqual(page.open, [])
            self.assertIn("ended " + document["status"], page.text)
            for output_format in ("table", "csv", "markdown"):
                self.render(document, output_format)
        self.assertEqual(json.loads(self.render(samples.all_kinds(), "json")), samples.all_kinds())
        self.assertIn("| 13.0 GiB |", self.render(samples.load(), "markdown"))

    def test_matrix_as_nvbandwidth_shows_it(self):
        text = self.render(samples.bench_copy(samples.pairs()), "table")
        lines = text[text.index("from row to column"):].splitlines()
        self.assertEqual(lines[1].split(), ["nvidia", *map(str, range(8))])
        self.assertEqual(lines[4].split(),
                         ["2", "389.99", "389.99", "–", "389.99", "389.99", "40.00", "389.99",
                          "389.99"])
        self.assert_width(text)

    def test_live_commands(self):
        files = {name: self.folder / f"out.{name}" for name in ("html", "junit", "svg", "gha",
                                                                "bmf", "prom")}
        words = [word for name, path in files.items() for word in ("--export", f"{name}={path}")]
        result = program.run("load", "--demo", "--device", "cpu", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        Outline().feed(files["html"].read_text(encoding="utf-8"))
        xml.parse(files["svg"])
        suite = xml.parse(files["junit"]).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "0"))
        self.assertGreater(json.loads(files["gha"].read_text(encoding="utf-8"))[0]["value"], 0)
        # Programs' formats are for files; standard output keeps to its four.
        self.assertEqual(program.run("devices", "--format", "prom").returncode, 2)
        self.assertEqual(program.run("devices", "--export", "svg=x").returncode, 2)

    def test_wrong_words(self):
        for words in (("render",), ("render", "a", "b"), ("render", "a", "--effect", "3%"),
                      ("render", "a", "--exclude-list", "x"), ("merge", "a", "--effect", "3%"),
                      ("compare", "a", "b", "--exclude-list", "x"),
                      ("compare", "a", "b", "--format", "svg")):
            self.assertEqual(program.run("report", *words).returncode, 2, words)
        self.assertEqual(program.run("report", "render", str(self.folder / "none")).returncode, 4)


class Contrast(samples.RenderTest):
    """Text against what is behind it, 4.5 or more (WCAG 2.1, 1.4.3), from the colours in the file.
    The test in a browser looks at each text; this one runs everywhere."""

    @staticmethod
    def luminance(color):
        parts = [value / 255 for value in color]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
                            for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    @staticmethod
    def color(text):
        digits = text.removeprefix("#")
        if len(digits) == 3:
            digits = "".join(2 * digit for digit in digits)
        return tuple(int(digits[at:at + 2], 16) for at in (0, 2, 4))

    def assert_contrast(self, text, back, what):
        low, high = sorted((self.luminance(text), self.luminance(back)))
        self.assertGreaterEqual((high + 0.05) / (low + 0.05), 4.5, what)

    @staticmethod
    def styles(text):
        """The rules for light and those that dark adds."""
        style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
        dark = re.findall(r"@media screen and \(prefers-color-scheme:dark\)"
                          r"\{((?:[^{}]*\{[^{}]*\})*)\s*\}", style)
        light = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*\s*\}", "", style)
        return light, "".join(dark)

    def test_pages(self):
        light, dark = self.styles(self.render(samples.all_kinds(), "html"))
        colors = dict(re.findall(r"--(\w+):(#\w+)", light))
        self.assertLessEqual({"text", "faint", "back", "shade", "good", "warning", "bad"},
                             set(colors))
        for name, of_mode in (("light", colors),
                              ("dark", {**colors, **dict(re.findall(r"--(\w+):(#\w+)", dark))})):
            self.assertTrue(name == "light" or of_mode["back"] != colors["back"])
            back = self.color(of_mode["back"])
            for text in ("text", "faint", "good", "warning", "bad"):
                self.assert_contrast(self.color(of_mode[text]), back, (name, text))
            self.assert_contrast(self.color(of_mode["text"]), self.color(of_mode["shade"]), name)
            for strength in (0.2, 0.4, 0.6):   # of a heat map
                heat = tuple(strength * top + (1 - strength) * below
                             for top, below in zip((0, 114, 178), back))
                self.assert_contrast(self.color(of_mode["text"]), heat, (name, strength))

    def test_drawings(self):
        light, dark = self.styles(self.render(samples.all_kinds(), "svg"))
        fills = {}
        for name, rules in (("light", light), ("dark", dark)):
            for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", rules):
                found = re.search(r"(?<![-\w])fill:(#\w+)", body)
                for selector in selectors.split(",") if found else ():
                    fills[selector.strip().removeprefix(".chart ")] = self.color(found[1])
            for text in ("text", ".faint", ".failed", ".bad"):
                self.assert_contrast(fills[text], fills[".back"], (name, text))
            self.assertEqual(name == "dark", sum(fills[".back"]) < 300)


if __name__ == "__main__":
    program.main(__doc__)
