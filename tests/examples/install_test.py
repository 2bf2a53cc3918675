# SPDX-License-Identifier: MIT
"""Installs into a temporary folder, then builds and runs the example as a stranger would.

Usage: install_test.py MESON BUILD_FOLDER PKG_CONFIG EXAMPLE COMPILER...
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from example_model import run_example


def install_test(meson, build, pkg_config, example, compiler, stage):
    subprocess.run([meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", stage],
                   check=True)
    description = next(stage.rglob("hiptool.pc"))
    library_folder = next(stage.rglob("libhiptool.so")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(description.parent),
                   "PKG_CONFIG_SYSROOT_DIR": str(stage)}
    flags = subprocess.run([pkg_config, "--cflags", "--libs", "hiptool"], env=environment,
                           check=True, capture_output=True, text=True).stdout.split()
    print("pkg-config:", *flags)
    program = stage / "example"
    subprocess.run([*compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", example, "-o", program,
                    *flags], check=True)
    run_example(program, stage, {"LD_LIBRARY_PATH": str(library_folder)})
    installed = {path.name for path in stage.rglob("*")}
    assert {"hiptool.hpp", "error.hpp", "libhiptool.so.0"} <= installed, installed
    for tool in stage.rglob("bin/hiptool"):
        subprocess.run([tool, "--version"], check=True)


def main():
    meson, build, pkg_config, example, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        install_test(meson, build, pkg_config, example, compiler, pathlib.Path(folder))


main()
