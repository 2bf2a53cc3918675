# SPDX-License-Identifier: MIT
"""The README's picture: commands and their output on a terminal of 80 columns, as SVG.

Usage: picture.py PROGRAM > terminal.svg

The window has its own background, so that it is legible on light and dark pages.
"""
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios

COMMANDS = ("hiptool load --demo -q", "hiptool check --device cpu -q")
COLUMNS = 80
CELL, LINE, MARGIN, BAR = 8.4, 19, 18, 34   # pixels; CELL fits monospaced fonts of 14 pixels
COLOURS = {"31": "bad", "32": "good", "33": "warn", "1": "bold", "2": "dim"}
STYLE = """
text { font: 14px "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, monospace;
  fill: #d6dce4; white-space: pre }
.good { fill: #6fd58f } .bad { fill: #ff8a80 } .warn { fill: #f2cc60 }
.bold { font-weight: bold } .dim { fill: #9aa5b1 } .prompt { fill: #7cb7ff }
"""


def output_of(program, command):
    """What the command writes to a terminal, without carriage returns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    with subprocess.Popen([program, *command.split()[1:]], stdin=follower, stdout=follower,
                          stderr=follower, env=environment) as process:
        os.close(follower)
        output = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:   # the program closed its end
                break
            if not part:
                break
            output += part
    os.close(leader)
    if process.returncode != 0:
        sys.exit(f"{command}: exit {process.returncode}\n{output.decode()}")
    return output.decode().replace("\r", "")


def runs_of(line):
    """(column, class, text) of a line: the parts between colours and between wide gaps."""
    column, style = 0, ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b"):
            style = " ".join(COLOURS[code] for code in part[2:-1].split(";") if code in COLOURS)
            continue
        for word in re.finditer(r"\S+(?: \S+)*", part):
            yield column + word.start(), style, word[0]
        column += len(part)


def lines_of(program):
    for command in COMMANDS:
        yield [(0, "prompt", "$"), (2, "bold", command)]
        for line in output_of(program, command).rstrip("\n").split("\n"):
            yield list(runs_of(line))
        yield []


def picture(lines):
    while not lines[-1]:
        lines.pop()
    width = round(COLUMNS * CELL + 2 * MARGIN)
    height = BAR + LINE * len(lines) + MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'width="{width}" height="{height}" role="img">',
             "<title>hiptool in a terminal</title>", f"<style>{STYLE}</style>",
             f'<rect width="{width}" height="{height}" rx="9" fill="#1b1f27"/>']
    parts += [f'<circle cx="{MARGIN + 18 * number}" cy="17" r="5.5" fill="#4a5260"/>'
              for number in range(3)]
    for number, line in enumerate(lines):
        for column, style, text in line:
            parts.append(f'<text x="{MARGIN + column * CELL:.1f}" '
                         f'y="{BAR + LINE * number + 14}" class="{style}">'
                         f"{html.escape(text)}</text>")
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.stdout.write(picture(list(lines_of(os.path.abspath(sys.argv[1])))))
