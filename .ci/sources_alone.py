# SPDX-License-Identifier: MIT
"""Checks that each source of the program and library compiles alone, without making objects.

Usage: sources_alone.py BUILD_FOLDER [--generated]
--generated: prints the generated sources instead, which ninja must make before.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def commands_of(build):
    """The command of each C++ source; of those that several targets compile, the first."""
    commands = {}
    for entry in json.loads(pathlib.Path(build, "compile_commands.json").read_text("utf-8")):
        if entry["file"].endswith(".cpp") and "/tests/" not in entry["file"]:
            commands.setdefault(entry["file"], entry["command"])
    return commands


def errors_of(build, command):
    """What the compiler says of one source, None where it compiles."""
    words = shlex.split(command)
    words = words[:words.index("-MD")] + ["-fsyntax-only", words[-1]]
    run = subprocess.run(words, cwd=build, capture_output=True, text=True)
    return None if run.returncode == 0 else run.stderr


def main():
    build = sys.argv[1]
    commands = commands_of(build)
    if "--generated" in sys.argv:
        print(*[source for source in commands if not source.startswith("..")])
        return
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda command: errors_of(build, command), commands.values()))
    errors = [error for error in results if error is not None]
    print(*errors, sep="\n")
    print(f"{len(commands) - len(errors)} of {len(commands)} sources compile alone")
    sys.exit(1 if errors or not commands else 0)


main()
