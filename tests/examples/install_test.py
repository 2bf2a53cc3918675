# SPDX-License-Identifier: MIT
"""Installs into a temporary folder and uses what is there as a stranger would.

Usage: install_test.py files|pkg-config|cmake|meson MESON BUILD_FOLDER EXAMPLE COMPILER...

files: exactly the files that there should be. pkg-config, cmake, meson: the example, found by
these, built and run, with the static library too where it is installed. pkg-config: also what a
program gets that does not name its C++.
"""
import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from example_model import run_example

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def install(meson, build, stage):
    subprocess.run([meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", stage],
                   check=True)


def pkg_config_environment(stage):
    folder = next(stage.rglob("hiptool.pc")).parent
    return {**os.environ, "PKG_CONFIG_PATH": str(folder), "PKG_CONFIG_SYSROOT_DIR": str(stage)}


def flags_of(name, stage):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", name], check=True, text=True,
                           env=pkg_config_environment(stage), capture_output=True).stdout.split()
    print(f"pkg-config {name}:", *flags)
    return flags


def use_pkg_config(stage, example, compiler):
    library_folder = next(stage.rglob("libhiptool.so")).parent
    warnings = ["-std=c++20", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*compiler, *warnings, example, "-o", stage / "shared",
                    *flags_of("hiptool", stage)], check=True)
    run_example(stage / "shared", stage, {"LD_LIBRARY_PATH": str(library_folder)})
    check_older_standard(stage, compiler)
    if not (library_folder / "libhiptool.a").exists():
        print("no static library: not a portable build")
        return
    subprocess.run([*compiler, *warnings, example, HERE / "own_names.cpp", "-o", stage / "static",
                    *flags_of("hiptool-static", stage)], check=True)
    run_example(stage / "static", stage)


def check_older_standard(stage, compiler):
    """Each header says what it needs; the one of all headers as the first error."""
    headers = sorted(stage.rglob("include/hiptool/*.hpp"))
    assert headers
    for header in headers:
        what = "-fsyntax-only" if header.name == "hiptool.hpp" else "-E"
        refused = subprocess.run([*compiler, "-std=c++17", f"-I{header.parent.parent}", "-x", "c++",
                                  what, header], stdout=subprocess.DEVNULL, text=True, check=False,
                                 stderr=subprocess.PIPE)
        errors = [line for line in refused.stderr.splitlines() if "error:" in line]
        assert errors and "compile with -std=c++20" in errors[0], f"{header.name}: {errors[:1]}"


def use_meson(meson, stage, example, compiler):
    project = stage / "project"
    project.mkdir()
    found = re.search(r"^```meson\n(.*?)^```", (ROOT / "docs/library.md").read_text("utf-8"),
                      re.MULTILINE | re.DOTALL)[1]
    (project / "meson.build").write_text(
        f"project('program', 'cpp', default_options: 'cpp_std=c++20')\n{found}"
        "executable('program', 'program.cpp', dependencies: hiptool)\n", "utf-8")
    (project / "program.cpp").write_bytes(example.read_bytes())
    environment = {**pkg_config_environment(stage), "CXX": shlex.join(compiler)}
    for arguments in (["setup", "--wrap-mode=nofallback", "build"], ["compile", "-C", "build"]):
        subprocess.run([meson, *arguments], cwd=project, env=environment, check=True)
    library_folder = next(stage.rglob("libhiptool.so")).parent
    run_example(project / "build/program", stage, {"LD_LIBRARY_PATH": str(library_folder)})


def use_cmake(stage, example, compiler):
    prefix = next(stage.rglob("include")).parent
    build = stage / "build"
    subprocess.run(["cmake", "-S", HERE, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
                    f"-DCMAKE_CXX_COMPILER={compiler[-1]}", f"-DEXAMPLE={example}",
                    "-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF"], check=True)
    found = re.search(r"^hiptool_DIR:PATH=(.*)$", (build / "CMakeCache.txt").read_text("utf-8"),
                      re.MULTILINE)[1]
    assert found.startswith(str(stage)), f"found another hiptool: {found}"
    subprocess.run(["cmake", "--build", build], check=True)
    run_example(build / "shared", stage)
    has_static = next(stage.rglob("libhiptool.so")).with_name("libhiptool.a").exists()
    assert (build / "static").exists() == has_static, "the static library's target"
    if has_static:
        run_example(build / "static", stage)
    refused = subprocess.run(["cmake", "-S", HERE, "-B", stage / "other", "-DWANTED=0.1",
                              f"-DCMAKE_PREFIX_PATH={prefix}",
                              f"-DEXAMPLE={example}"],
                             capture_output=True, text=True, check=False)
    assert refused.returncode != 0 and "hiptool-config.cmake, version:" in refused.stderr, \
        f"another minor version was accepted: {refused.stderr}"


def expected_files(stage):
    """What a user gets, by what the sources have; paths from the prefix on."""
    library = next(stage.rglob("libhiptool.so")).parent
    prefix = next(stage.rglob("include")).parent
    libdir = library.relative_to(prefix)
    version = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text("utf-8"))[1]
    files = {libdir / "libhiptool.so", libdir / "libhiptool.so.1",
             libdir / f"libhiptool.so.{version}", libdir / "pkgconfig/hiptool.pc",
             libdir / "cmake/hiptool/hiptool-config.cmake",
             libdir / "cmake/hiptool/hiptool-config-version.cmake"}
    if (library / "libhiptool.a").exists():
        files |= {libdir / "libhiptool.a", libdir / "pkgconfig/hiptool-static.pc"}
    include = ROOT / "include/hiptool"
    files |= {pathlib.Path("include/hiptool", path.name)
              for path in [*include.glob("*.hpp"), *include.glob("*.def")]}
    files |= {pathlib.Path("share/hiptool/schemas", path.name)
              for path in (ROOT / "tests/schema").glob("*.schema.json")}
    recipes = ROOT / "packaging/recipes"
    files |= {pathlib.Path("share/hiptool/recipes", path.relative_to(recipes))
              for path in recipes.rglob("*") if path.is_file()}
    tool = prefix / "bin/hiptool"
    words = subprocess.run([tool, "help"], check=True, capture_output=True, text=True).stdout
    commands = re.findall(r"^  ([a-z][a-z-]+)  ", words, re.MULTILINE)
    assert "load" in commands, words
    names = ["bin/hiptool", "share/bash-completion/completions/hiptool",
             "share/zsh/site-functions/_hiptool", "share/fish/vendor_completions.d/hiptool.fish",
             "share/doc/hiptool/reference.md", "share/man/man1/hiptool.1"]
    names += [f"share/man/man1/hiptool-{command}.1" for command in commands]
    return prefix, files | {pathlib.Path(name) for name in names}


def check_files(stage):
    prefix, expected = expected_files(stage)
    installed = {path.relative_to(prefix) for path in prefix.rglob("*") if not path.is_dir()}
    assert installed == expected, (f"missing {sorted(map(str, expected - installed))}, "
                                   f"not expected {sorted(map(str, installed - expected))}")
    subprocess.run([prefix / "bin/hiptool", "--version"], check=True)
    for name in ("verdict", "slurm/prolog"):
        assert os.access(prefix / "share/hiptool/recipes" / name, os.X_OK), name
    page = (prefix / "share/man/man1/hiptool-load.1").read_text("utf-8")
    assert "hiptool\\-load \\-" in page, page[:200]
    print(len(installed), "files")


def main():
    what, meson, build, example, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        example = pathlib.Path(example).resolve()
        install(meson, build, stage)
        if what == "files":
            check_files(stage)
        else:
            {"pkg-config": use_pkg_config, "cmake": use_cmake,
             "meson": functools.partial(use_meson, meson)}[what](stage, example, compiler)


main()
