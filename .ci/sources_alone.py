# SPDX-License-Identifier: MIT
"""Checks that each source of the program and library compiles alone, without making objects.

Usage: sources_alone.py BUILD_FOLDER [--generated | --since COMMIT]
--generated: prints the generated sources instead, which ninja must make before.
--since COMMIT: only sources that differ from that commit, or all if git does not have it.
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


def changed_since(commit):
    """Names of the files that changed; None where git does not know."""
    run = subprocess.run(["git", "diff", "--name-only", commit], capture_output=True, text=True)
    return {pathlib.Path(name).resolve() for name in run.stdout.split()} if not run.returncode \
        else None


def main():
    build = sys.argv[1]
    commands = commands_of(build)
    if "--generated" in sys.argv:
        print(*[source for source in commands if not source.startswith("..")])
        return
    changed = changed_since(sys.argv[3]) if "--since" in sys.argv else None
    if changed is not None:
        commands = {source: command for source, command in commands.items()
                    if pathlib.Path(build, source).resolve() in changed}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda command: errors_of(build, command), commands.values()))
    errors = [error for error in results if error is not None]
    print(*errors, sep="\n")
    print(f"{len(commands) - len(errors)} of {len(commands)} sources compile alone")
    sys.exit(1 if errors else 0)


main()
