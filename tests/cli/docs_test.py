# SPDX-License-Identifier: MIT
"""Runs every hiptool command that README.md and docs/*.md show, so that none of them goes stale.

Usage: docs_test.py PROGRAM [unittest options].

Sizes and durations are cut down: the test is about options, arguments and exit codes, not about
rates.
"""
import hashlib
import os
import pathlib
import re
import subprocess

import program
from program import CliTest, clean_environment, run

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ |- run: |srun )?(hiptool .*)$")

# Exit codes other than 0 that a command may have on a machine without the GPU that it is about.
MAY_EXIT = {r"--fail-below|--baseline|report (compare|merge)": (0, 1), r"--doctor": (0, 1, 3),
            r"--watch": (3,), r"--require gpu|nvidia:0": (0, 3), r"check .*--expect": (0, 1, 2)}
# --watch would run until somebody ends it; the processor has nothing to watch.
SMALLER = ((r"--watch \d+", r"\g<0> --platform cpu"),
           (r"hiptool check", "hiptool check --size 64KiB"),
           (r"hiptool check (?!.*--stage)", "hiptool check --stage memory "),
           (r"check (.*)--level standard", r"check \1"),
           (r"--seconds \d+", "--seconds 1"), (r"--size (\d+%|\d+MiB)", "--size 64KiB"),
           (r"hiptool bench-copy", "hiptool bench-copy --samples 2 --size 64KiB"),
           (r"--preset ci|--size 64KiB(?=.*--size)", ""),
           (r"run-kernel ops(?= |$)", "run-kernel ops --dtype f16 --layout transposed"),
           (r"--shape 512x4096", "--shape 64x256"), (r"--shape 512x512x512", "--shape 64x64x64"),
           (r"--shape 256x256x300", "--shape 32x32x30"),
           (r"--sweep full --dtype u8,f16", "--sweep full --dtype u8 --layout packed"),
           (r"run-kernel (?!.*(--module|--list|--seconds|--size|--shape|--sweep|\bops\b))",
            "run-kernel --size 64KiB "),
           (r"run-kernel (?!.*(--module|--list|--seconds|--samples|--sweep|\bops\b))",
            "run-kernel --samples 1 "))

SAXPY = """#include <hip/hip_runtime.h>

extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


def commands_of(document):
    """The command lines of a document, without prompts, comments and output."""
    text = document.read_text(encoding="utf-8")
    for language, block in BLOCK.findall(text):
        if language in ("", "yaml"):
            for line in block.replace("\\\n", "").splitlines():
                found = COMMAND.match(line.strip())
                if found:
                    yield re.sub(r"\s+#.*$", "", found[1])


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
        run("make-model", "model.gguf", "--size", "1MiB", "-q", cwd=self.folder)
        run("load", "model.gguf", "--device", "cpu", "--write-manifest", "model.json", "-q",
            cwd=self.folder)
        for name in ("old.json", "new.json", "run.json", "out.0.json", "out.1.json", "out.2.json"):
            run("bench-copy", "--device", "cpu", "--samples", "2", "--size", "64KiB", "--kind",
                "h2d", "--export", f"json={name}", "-q", cwd=self.folder)
        (self.folder / "saxpy.hip").write_text(SAXPY, encoding="utf-8")
        (self.folder / "copies.txt").write_text("h2d>=1kB/s\n[H200]\nd2h>=48GB/s\n", "utf-8")
        (self.folder / "kernels.txt").write_text("stream>=1kB/s\n", "utf-8")
        (self.folder / "llama-13b.gguf").hardlink_to(self.folder / "model.gguf")
        (self.folder / "x.bin").write_bytes(bytes(4096))
        digest = hashlib.sha256((self.folder / "model.gguf").read_bytes()).hexdigest()
        (self.folder / "SHA256SUMS").write_text(f"{digest}  model.gguf\n", encoding="utf-8")
        (self.folder / "hiptool").symlink_to(os.path.abspath(program.PROGRAM))

    def test_every_command_of_the_documents(self):
        self.prepare()
        environment = clean_environment(HIPTOOL_CPU_DEVICES="2")
        environment["PATH"] = f"{self.folder}:{environment['PATH']}"
        for document in DOCUMENTS:
            for command in commands_of(document):
                with self.subTest(document=document.name, command=command):
                    result = subprocess.run(["bash", "-c", made_smaller(command)], text=True,
                                            env=environment, cwd=self.folder, timeout=240,
                                            stdin=subprocess.DEVNULL, capture_output=True,
                                            encoding="utf-8", check=False)
                    self.assertIn(result.returncode, allowed_exits(command), result.stderr)

    def test_no_document_is_without_commands_by_mistake(self):
        counts = {document.name: len(list(commands_of(document))) for document in DOCUMENTS}
        for name in ("README.md", "bring-up.md", "check.md", "ci.md", "kernels.md", "loading.md"):
            self.assertGreater(counts[name], 3, counts)

    def test_links_and_paths_in_documents(self):
        missing = []
        for document in [*DOCUMENTS, ROOT / "CONTRIBUTING.md"]:
            text = document.read_text(encoding="utf-8")
            links = [document.parent / link for link in re.findall(r"\]\(([^):#]+)\)", text)]
            paths = re.findall(r"`((?:tests|src|docs|kernels|include)/[\w./-]+)[` ]", text)
            missing += [f"{document.name}: {target}"
                        for target in links + [ROOT / path for path in paths]
                        if not target.exists()]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    program.main(__doc__)
