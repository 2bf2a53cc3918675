# SPDX-License-Identifier: MIT
"""Completion in the real shells, the manual page and the reference, all from the command tree.

Usage: completion_test.py PROGRAM bash|zsh|fish|documents. Exits 77 where the shell is not there.
"""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import unittest

import program
from program import CliTest, clean_environment, run

WHAT = sys.argv.pop(2) if len(sys.argv) > 2 else sys.exit(__doc__)
COMMANDS = {"devices", "inspect", "load", "make-model", "completion", "help"}
DAY = {"SOURCE_DATE_EPOCH": "1795435200"}   # 2026-11-23


class Shell(CliTest):
    """What every shell has to offer for a line that is not finished."""
    def setUp(self):
        super().setUp()
        self.script = self.folder / "_hiptool"
        result = run("completion", WHAT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.script.write_text(result.stdout, encoding="utf-8")
        (self.folder / "model.gguf").write_bytes(b"")

    def shell(self, words, text):
        result = subprocess.run([*words, text], cwd=self.folder, env=clean_environment(),
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                encoding="utf-8", timeout=60, check=False)
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.returncode, 0)
        return result.stdout

    def offers(self, line):
        raise NotImplementedError

    def check_all(self):
        self.assertLessEqual(COMMANDS, self.offers("hiptool "))
        self.assertEqual(self.offers("hiptool dev"), {"devices"})
        options = self.offers("hiptool devices --")
        self.assertLessEqual({"--doctor", "--topology", "--require", "--format"}, options)
        self.assertNotIn("--verify", options)
        self.assertEqual(self.offers("hiptool devices --require "), {"gpu", "amd", "nvidia"})
        self.assertEqual(self.offers("hiptool load --verify re"), {"readback"})
        self.assertEqual(self.offers("hiptool make-model --format s"), {"safetensors"})
        self.assertEqual(self.offers("hiptool devices --format m"), {"markdown"})
        self.assertEqual(self.offers("hiptool load mod"), {"model.gguf"})
        self.assertEqual(self.offers("hiptool load --trace mod"), {"model.gguf"})
        self.assertEqual(self.offers("hiptool inspect mod"), {"model.gguf"})
        self.assertEqual(self.offers("hiptool inspect --chat"), {"--chat-template"})
        self.assertEqual(self.offers("hiptool completion f"), {"fish"})
        self.assertEqual(self.offers("hiptool help exi"), {"exit-codes"})
        self.assertEqual(self.offers("hiptool --color n"), {"never"})
        self.assertEqual(self.offers("hiptool run-kernel rand_u"), {"rand_uniform"})
        self.assertEqual(self.offers("hiptool run-kernel stream-tr"), {"stream-triad"})
        self.assertEqual(self.offers("hiptool run-kernel --layout tr"), {"transposed"})
        self.assertEqual(self.offers("hiptool run-kernel --dtype bf"), {"bf16"})
        self.assertLessEqual({"own", "openblas"}, self.offers("hiptool run-kernel --lib o"))
        self.check_values()
        # The value of an option that is called like a command is no command.
        self.assertEqual(self.offers("hiptool --export load dev"), {"devices"})

    def last_parts(self, line):
        """What is offered without what is typed before it: shells differ in whether they repeat
        it. "json=" becomes "json"."""
        return {re.split("[=,]", word.rstrip("="))[-1] for word in self.offers(line)}

    def check_values(self):
        (self.folder / "two words.json").write_bytes(b"")
        (self.folder / "folder").mkdir()
        # Words of their place, then files.
        self.assertEqual(self.offers("hiptool report "), {"compare", "merge", "render"})
        self.assertEqual(self.offers("hiptool report re"), {"render"})
        self.assertEqual(self.offers("hiptool report compare mod"), {"model.gguf"})
        self.assertEqual(self.offers("hiptool report compare model.gguf mod"), {"model.gguf"})
        self.assertNotIn("render", self.offers("hiptool report compare "))
        self.assertEqual(self.offers("hiptool report --format prom com"), {"compare"})
        self.assertEqual(self.offers("hiptool load model.gguf mod"), {"model.gguf"})
        # A format and a file.
        formats = self.last_parts("hiptool load --export ")
        self.assertLessEqual({"json", "csv", "html", "junit", "prom"}, formats)
        self.assertNotIn("gbench", formats)
        self.assertIn("gbench", self.last_parts("hiptool bench-copy --export "))
        self.assertIn("gbench", self.last_parts("hiptool --export "))
        self.assertEqual(self.last_parts("hiptool load --export js"), {"json"})
        self.assertEqual(self.last_parts("hiptool load --export=ju"), {"junit"})
        for start in ("json=", "csv=", "prom="):
            self.assertEqual(self.last_parts(f"hiptool load --export {start}mod"), {"model.gguf"})
            self.assertEqual(self.last_parts(f"hiptool load --export={start}mod"), {"model.gguf"})
        self.assertEqual(self.last_parts("hiptool report render model.gguf --export html=mod"),
                         {"model.gguf"})
        # Lists with commas.
        kinds = self.last_parts("hiptool bench-copy --kind ")
        self.assertLessEqual({"h2d", "d2h", "d2d", "bidir", "p2p-read", "all-to-all"}, kinds)
        self.assertEqual(self.last_parts("hiptool bench-copy --kind bi"), {"bidir"})
        self.assertEqual(self.last_parts("hiptool bench-copy --kind h2d,d2"),
                         {"d2h", "d2d", "d2h-all"})
        self.assertEqual(self.last_parts("hiptool bench-copy --kind=h2d,d2d,bi"), {"bidir"})
        self.assertEqual(self.last_parts("hiptool bench-copy --memory pinned,pa"), {"pageable"})
        self.assertEqual(self.last_parts("hiptool bench-copy --engine k"), {"kernel"})
        self.assertEqual(self.last_parts("hiptool bench-copy --testcase host_to_device_memcpy_c"),
                         {"host_to_device_memcpy_ce"})
        self.assertEqual(self.last_parts("hiptool run-kernel --dtype f32,bf"), {"bf16"})
        self.assertEqual(self.last_parts("hiptool check --stage copy,mem"), {"memory"})
        self.assertEqual(self.last_parts("hiptool load --device cpu,al"), {"all"})
        # Words or a file.
        self.assertEqual(self.offers("hiptool run-kernel --shapes tr"), {"traps"})
        self.assertEqual(self.offers("hiptool run-kernel --shapes mod"), {"model.gguf"})
        self.assertEqual(self.offers("hiptool load --split re"), {"replicate"})
        self.assertEqual(self.offers("hiptool run-kernel matmul soft"), {"softmax"})


def as_readline_splits(line):
    """The words of a line; '=' and ':' are words of their own."""
    return [part for word in line.split(" ") for part in re.findall("[=:]+|[^=:]+", word) or [""]]


class Bash(Shell):
    def offers(self, line):
        words = as_readline_splits(line)
        quoted = " ".join(f"'{word}'" for word in words)
        text = self.shell(["bash", "--norc", "-c"], f"""
            source {self.script}
            complete -p hiptool > /dev/null || exit 1
            COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'
            COMP_POINT=${{#COMP_LINE}}; _hiptool hiptool
            printf '%s\\n' "${{COMPREPLY[@]}}" """)
        return {word for word in text.splitlines() if word}

    def test_bash(self):
        self.check_all()

    def test_a_value_after_an_equals_sign(self):
        self.assertEqual(self.offers("hiptool devices --require=nv"), {"nvidia"})
        self.assertEqual(self.offers("hiptool devices --require="), {"gpu", "amd", "nvidia"})
        self.assertEqual(self.offers("hiptool load --device nvidia:"), {"0"})
        self.assertEqual(self.offers("hiptool run-kernel --expect 0:mod"), {"model.gguf"})

    def completed(self, line):
        """The line after a tab, from a bash with readline on a terminal, in pieces."""
        leader, follower = pty.openpty()
        process = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], stdin=follower,
                                   stdout=follower, stderr=follower, cwd=self.folder,
                                   start_new_session=True,
                                   env=clean_environment(PS1="$ ", HISTFILE=os.devnull))
        os.close(follower)
        self.addCleanup(process.wait)
        self.addCleanup(os.close, leader)
        self.addCleanup(process.kill)
        # What is typed is echoed, so the marks are put together when they are printed.
        os.write(leader, f"source {self.script}; words() {{ printf '<%s>' MA''RK \"$@\"; echo; }}\n"
                 .encode())
        os.write(leader, f"{line}\t\x01words \n".encode())
        output = b""
        while b"<MARK>" not in output or not output.split(b"<MARK>")[-1].count(b"\n"):
            self.assertTrue(select.select([leader], [], [], 30)[0], output)
            output += os.read(leader, 65536)
        text = output.decode().split("<MARK>")[-1].splitlines()[0]
        return re.findall("<([^>]*)>", text)

    def test_readline_puts_the_words_together(self):
        (self.folder / "two words.json").write_bytes(b"")
        for line, words in (
                ("hiptool report ren", ["render"]), ("hiptool report render mod",
                                                     ["render", "model.gguf"]),
                ("hiptool load --export js", ["--export", "json="]),
                ("hiptool load --export json=mod", ["--export", "json=model.gguf"]),
                ("hiptool load --export=json=mod", ["--export=json=model.gguf"]),
                ("hiptool load --device nvi", ["--device", "nvidia:0"]),
                ("hiptool load --device nvidia:", ["--device", "nvidia:0"]),
                ("hiptool bench-copy --kind=h2d,bi", ["--kind=h2d,bidir"]),
                ("hiptool bench-copy --kind h2d,bi", ["--kind", "h2d,bidir"]),
                ("hiptool report render two", ["render", "two words.json"])):
            with self.subTest(line=line):
                self.assertEqual(self.completed(line)[2:], words)


class Fish(Shell):
    def offers(self, line):
        text = self.shell(["fish", "--no-config", "-c"],
                          f"source {self.script}; complete -C '{line}'")
        return {word.split("\t")[0] for word in text.splitlines()}

    def test_fish(self):
        self.check_all()


class Zsh(Shell):
    def offers(self, line):
        # A zsh of its own on a pseudo terminal lists what it would offer, between two marks. They
        # are put together when they are printed: what is typed may be echoed.
        text = self.shell(["zsh", "-f", "-c"], f"""
            zmodload zsh/zpty
            zpty shell "PS1= TERM=dumb zsh -f -i"
            zpty -w shell 'PS1= PS2=; stty -echo; fpath=({self.folder} $fpath)'
            zpty -w shell 'autoload -Uz compinit; compinit -D -u; LISTMAX=10000'
            zpty -w shell 'compadd() {{ builtin compadd -O found "$@" 2>/dev/null; \
                print -rl -- "MA""RK:"${{^found}}; builtin compadd "$@" }}'
            zpty -w shell 'offer() {{ zle complete-word; print DO${{:-NE}} }}; zle -N offer'
            zpty -w shell 'bindkey "^I" offer; print REA${{:-DY}}'
            zpty -m -r shell reply '*READY*'
            zpty -w -n shell '{line}'$'\\t'
            zpty -m -r shell reply '*DONE*'
            print -r -- $reply
            zpty -d shell""")
        return set(re.findall(r"MARK:([^\s:=]+)", text))

    def test_zsh(self):
        self.check_all()


class Documents(CliTest):
    def pages(self):
        """The manual pages by their names."""
        words = re.findall(r"^  ([a-z][a-z-]+)  ", run("help").stdout, re.MULTILINE)
        self.assertLessEqual(COMMANDS, set(words))
        environment = clean_environment(**DAY)
        pages = {"hiptool": run("help", "man", environment=environment)}
        for word in words:
            pages[f"hiptool-{word}"] = run("help", "man", word, environment=environment)
        for name, page in pages.items():
            self.assertEqual(page.returncode, 0, f"{name}: {page.stderr}")
        return {name: page.stdout for name, page in pages.items()}

    def test_manual_pages_are_clean(self):
        for name, text in self.pages().items():
            page = self.folder / f"{name}.1"
            page.write_text(text, encoding="utf-8")
            checks = [["man", "--warnings", "-l", str(page)],
                      ["groff", "-man", "-ww", "-z", str(page)],
                      ["mandoc", "-T", "lint", str(page)]]
            installed = [words for words in checks if shutil.which(words[0])]
            if not installed:
                self.skipTest("groff is not installed, nor are man and mandoc")
            for words in installed:
                result = subprocess.run(words, capture_output=True, text=True, check=False,
                                        env=clean_environment(MANWIDTH="80"))
                text = result.stderr + (result.stdout if words[0] == "mandoc" else "")
                self.assertEqual(text, "", f"{name}: {words[0]}")

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_the_manual_page_fits_80_columns(self):
        text = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", "-rLL=78n"],
                              input=run("help", "man").stdout, text=True, encoding="utf-8",
                              capture_output=True, check=True).stdout
        self.assertIn("HIPTOOL_HIP_LIBRARY", text)
        self.assert_width(text)

    def test_manual_pages_are_whole(self):
        pages = self.pages()
        for name, text in pages.items():
            sections = re.findall(r"^\.SH (.*)$", text, re.MULTILINE)
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "ENVIRONMENT",
                            "SEE ALSO"):
                self.assertIn(section, sections, name)
            self.assertEqual("OPTIONS" in sections, name != "hiptool-help", name)
            self.assertIn(' 1 "2026-11-23" "hiptool ', text.splitlines()[0])
            self.assertRegex(text, r"\.SH DESCRIPTION\n[A-Z]", name)
            others = set(re.findall(r"^\.BR (\S+) \(1\)", text.partition(".SH SEE ALSO")[2],
                                    re.MULTILINE))
            self.assertEqual({other.replace("\\-", "-") for other in others},
                             set(pages) - {name})
            command = name.partition("-")[2]
            lines = run("help", command).stdout.splitlines() if command != "help" else []
            for line in lines:
                words = [word for word in line.split() if word.startswith("--")]
                if line.startswith("  -") or line.startswith("      --"):
                    for word in words:
                        self.assertIn(word.rstrip(",").replace("-", "\\-"), text, name)
        for word in ["HIPTOOL_DEVICE", "1.5GiB", "h2d.pinned>=48GB/s"]:
            self.assertIn(word, pages["hiptool"])

    def test_manual_pages_without_a_date_or_a_command(self):
        for value in ("", "soon", "12h", "99999999999999999999"):
            page = run("help", "man", environment=clean_environment(SOURCE_DATE_EPOCH=value))
            self.assertTrue(page.stdout.startswith('.TH HIPTOOL 1 "" '), value)
        wrong = run("help", "man", "laod")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("did you mean 'load'?", wrong.stderr)
        self.assertEqual(run("help", "load", "load").returncode, 2)

    def test_the_reference_has_every_option_that_help_has(self):
        text = run("help", "reference").stdout
        for command in COMMANDS - {"help"}:
            self.assertIn(f"## hiptool {command}\n", text)
            for line in run("help", command).stdout.splitlines():
                words = [word for word in line.split() if word.startswith("--")]
                if line.startswith("  -") or line.startswith("      --"):
                    for word in words:
                        self.assertIn(word.rstrip(","), text, command)

    def test_completion_without_a_shell_or_for_another_one(self):
        self.assertEqual(run("completion").returncode, 2)
        wrong = run("completion", "tcsh")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("bash, zsh, fish", wrong.stderr)

    def test_one_document_on_request_and_a_script_whatever_the_default_format_is(self):
        script = run("completion", "bash").stdout
        document = self.assert_document(run("completion", "bash", "--format", "json").stdout,
                                        "completion.schema.json")
        self.assertEqual(document["script"], script)
        for name in ("csv", "markdown"):
            variables = clean_environment(HIPTOOL_FORMAT=name)
            self.assertEqual(run("completion", "bash", environment=variables).stdout, script)
        self.assertEqual(json.loads(json.dumps(document["shell"])), "bash")


CLASSES = {"bash": Bash, "fish": Fish, "zsh": Zsh, "documents": Documents}


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase(CLASSES[WHAT])


if __name__ == "__main__":
    if WHAT != "documents" and shutil.which(WHAT) is None:
        print(f"skipped: {WHAT} is not installed")
        sys.exit(77)
    program.main(__doc__)
