# SPDX-License-Identifier: MIT
"""HTML and SVG as a browser shows them, in light and in dark: no label is clipped, none lies on
another, text has a contrast of 4.5 or more (WCAG 2.1, 1.4.3), failed results are visible. Exits 77
where no Chromium is installed."""
import json
import re
import shutil
import subprocess
import sys

import program
import report_samples as samples

LEAST_CONTRAST = 4.5
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
               None)

# Looks at every text that is shown; writes what it finds into the title, which --dump-dom prints.
SCRIPT = r"""
function rgb(text) {
  const parts = text.match(/[\d.]+/g).map(Number);
  return {color: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1};
}
function blend(top, below) {
  return below.map((value, i) => top.color[i] * top.alpha + value * (1 - top.alpha));
}
function luminance(color) {
  const [r, g, b] = color.map(value => {
    value /= 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
function overlaps(a, b) {
  return a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 &&
         b.top < a.bottom - 1;
}
function backOf(element) {   // the backgrounds of HTML below it, the page first
  const layers = [];
  for (let at = element; at instanceof Element; at = at.parentElement) {
    layers.unshift(rgb(getComputedStyle(at).backgroundColor));
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  let color = dark ? [18, 18, 18] : [255, 255, 255];   // of the canvas
  for (const layer of layers) color = blend(layer, color);
  return color;
}
function look() {
  const found = {texts: 0, clipped: [], overlapping: [], faint: [], failed: 0,
                 dark: matchMedia("(prefers-color-scheme: dark)").matches};
  const check = (element, color, back) => {
    const ratio = contrast(color, back);
    if (ratio < LEAST) found.faint.push([element.textContent, ratio.toFixed(2), color.join()]);
  };
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")];
    const boxes = texts.map(text => text.getBoundingClientRect());
    const fields = [...svg.querySelectorAll("rect")].map(
        rect => [rect.getBoundingClientRect(), getComputedStyle(rect)]);
    texts.forEach((text, i) => {
      ++found.texts;
      const box = boxes[i];
      const isInside = box.left >= frame.left - 0.5 && box.right <= frame.right + 0.5 &&
                       box.top >= frame.top - 0.5 && box.bottom <= frame.bottom + 0.5;
      if (!isInside) found.clipped.push(text.textContent);
      for (let j = 0; j < i; ++j) {
        if (overlaps(box, boxes[j])) {
          found.overlapping.push([texts[j].textContent, text.textContent]);
        }
      }
      let back = backOf(svg);
      for (const [field, style] of fields) {
        if (style.fill === "none" || !overlaps(box, field)) continue;
        const fill = rgb(style.fill);
        fill.alpha *= Number(style.fillOpacity);
        back = blend(fill, back);
      }
      const style = getComputedStyle(text);
      if (/FAILED|WRONG/.test(text.textContent)) ++found.failed;
      check(text, rgb(style.fill).color, back);
    });
  }
  const walker = document.createTreeWalker(document.body || document.documentElement,
                                           NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest("svg, script, style")) continue;
    ++found.texts;
    if (/FAILED|WRONG/.test(node.textContent)) ++found.failed;
    check(element, rgb(getComputedStyle(element).color).color, backOf(element));
    if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 &&
        !element.closest(".scroll")) {
      found.clipped.push(node.textContent);
    }
  }
  return found;
}
""".replace("LEAST", str(LEAST_CONTRAST))
PRINT = """
const out = document.createElement("pre");
out.id = "found";
out.textContent = JSON.stringify(look());
document.body.append(out);
"""


def page_of_svg(drawing):
    """A browser shows an SVG file by itself; in a page a script can look at it."""
    drawing = re.sub(r"^<\?xml[^>]*\?>\s*", "", drawing)
    return ("<!DOCTYPE html><meta charset=utf-8><style>html{color-scheme:light dark}"
            "body{margin:0}svg{display:block}</style><body>" + drawing + "</body>")


def failing():
    """A check of eight GPUs with faults: names of every length, rates of every size."""
    cells = []
    for gpu in range(8):
        end = f"nvidia:{gpu}"
        cells.append(samples.cell(destination=end, rate=52e9))
        cells.append(samples.cell(kind="d2d", source=end, destination=end, rate=1.3e12))
        cells += [samples.cell(kind="p2p-write", source=end, destination=f"nvidia:{other}",
                               rate=371e9, status="mismatch" if (gpu, other) == (3, 5) else "ok",
                               reason="3 bytes differ" if (gpu, other) == (3, 5) else None)
                  for other in range(8) if other != gpu]
    cells.append(samples.cell(kind="d2h", source="nvidia:3", destination="host", status="failed",
                              reason="a call failed"))
    cells.append(samples.cell(kind="all-to-all", source=",".join(f"nvidia:{i}" for i in range(8)),
                              destination=",".join(f"nvidia:{i}" for i in range(8)), rate=2.1e12))
    sizes = [samples.cell(kind="bidir", destination="nvidia:0", size=samples.MIB << step,
                          rate=(30 + 5 * step) * 1e9) for step in range(6)]
    document = samples.bench_copy(cells + sizes, status="mismatch")
    return {**document, "shown": {
        "lines": [{"tone": "bad", "text": "refused: nvidia:3: memory: 1 value wrong"},
                  {"tone": "plain", "text": "  to do: reset the GPU"}],
        "notes": [{"tone": "warning", "text": "1 warning: persistence"}],
        "tables": [{"title": "8 x NVIDIA H200", "columns": [
            {"key": key, "title": key, "unit": "none"} for key in ("Stage", "a", "b")],
            "rows": [["copy", "passed", "FAILED"], ["memory", "skipped", None]],
            "tones": [["plain", "good", "bad"], ["plain", "warning", "plain"]]}]}}


class Browser(samples.RenderTest):
    def look(self, page, is_dark):
        file = self.folder / f"{is_dark}.html"
        file.write_text(page.replace("</body>", f"<script>{SCRIPT}{PRINT}</script></body>"),
                        encoding="utf-8")
        words = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                 f"--user-data-dir={self.folder}/profile", "--window-size=1280,1000"]
        if is_dark:
            words.append("--blink-settings=preferredColorScheme=0")
        result = subprocess.run([*words, f"file://{file}"], capture_output=True, text=True,
                                timeout=program.GUARD_S, check=True)
        text = re.search(r'<pre id="found">(.*?)</pre>', result.stdout, re.S)
        self.assertIsNotNone(text, result.stderr)
        found = json.loads(text[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        self.assertEqual(found["dark"], is_dark)
        return found

    def check(self, page, failed):
        for is_dark in (False, True):
            with self.subTest(is_dark=is_dark):
                found = self.look(page, is_dark)
                self.assertGreater(found["texts"], 20)
                self.assertEqual((found["clipped"], found["overlapping"], found["faint"]),
                                 ([], [], []))
                self.assertGreaterEqual(found["failed"], failed)

    def test_a_page(self):
        self.check(self.render(failing(), "html"), 3)
        self.check(self.render(samples.all_kinds(), "html"), 1)

    def test_drawings(self):
        self.check(page_of_svg(self.render(failing(), "svg")), 3)

    def test_the_test_sees_what_it_should(self):
        faults = ('<text x="700" y="20">a label far beyond the edge of the drawing</text>'
                  '<text x="20" y="20">one</text><text x="22" y="20">other</text>'
                  '<text x="20" y="60" style="fill:#999">faint</text>')
        page = page_of_svg('<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="760" '
                           f'height="100"><rect width="100%" height="100%" fill="#fff"/>{faults}'
                           '</svg>')
        found = self.look(page, False)
        self.assertEqual((len(found["clipped"]), len(found["overlapping"]), len(found["faint"])),
                         (1, 1, 1), found)


if __name__ == "__main__":
    if BROWSER is None:
        print("skipped: no Chromium is installed")
        sys.exit(77)
    program.main(__doc__)
