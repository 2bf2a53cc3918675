#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the files of a release that packaging/release made: release_files.py FOLDER

The packages together hold what the tarball holds, each file once, and nothing else but Debian's own
documents; owners, modes and times are the same on every machine; no path of the build is inside;
every file has its checksum.
"""
import gzip
import hashlib
import io
import pathlib
import re
import subprocess
import sys
import tarfile

FAILURES = []
BUILD_PATH = re.compile(rb"/[^\x00\n]*hiptool-release\.[A-Za-z0-9]{6}")
# The notices that the tarball has once are in each package that can be installed alone.
NOTICES = {name: f"share/doc/{name}/licenses/" for name in ("hiptool", "libhiptool1")}
DEBIAN_ONLY = re.compile(r"share/doc/[\w-]+/(changelog(\.Debian)?|copyright)$")
TOP_FILES = {"LICENSE", "README.md", "CHANGELOG.md"}


def expect(condition, what):
    if not condition:
        FAILURES.append(what)


def read(archive, what, prefix):
    """Files by their path below the prefix, unpacked; checks what must not depend on a machine."""
    files = {}
    times = set()
    for member in archive.getmembers():
        name = member.name.removeprefix("./").removeprefix(prefix)
        times.add(member.mtime)
        expect((member.uid, member.gid) == (0, 0), f"{what}: owner of {name}")
        if member.isdir():
            expect(member.mode == 0o755, f"{what}: mode {member.mode:o} of {name}/")
            continue
        if member.issym():
            files[name] = member.linkname.encode()
            continue
        data = archive.extractfile(member).read()
        runs = "/bin/" in f"/{name}" or re.search(r"\.so\.[\d.]+$|/recipes/(slurm/)?\w+$", name)
        modes = (0o755, 0o644) if ".so." in name else (0o755,) if runs else (0o644,)
        expect(member.mode in modes, f"{what}: mode {member.mode:o} of {name}")
        if name.endswith(".gz"):
            expect(data[4:8] == bytes(4), f"{what}: {name} has the time when it was packed")
            name, data = name.removesuffix(".gz"), gzip.decompress(data)
        found = BUILD_PATH.search(data)
        expect(not found, f"{what}: {name} has the path {found and found[0]}")
        files[name] = data
    expect(len(times) == 1, f"{what}: {len(times)} different times")
    return files


def read_package(path):
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(data.stdout)) as archive:
        return read(archive, path.name, "usr/")


def in_tarball(name):
    """The name that a file of a package has in the tarball."""
    name = re.sub(r"^lib/[\w]+-linux-gnu/", "lib/", name)
    return name.replace("share/zsh/vendor-completions/", "share/zsh/site-functions/")


def check_notices(package, files, tarball):
    def below(folder, files):
        return {name.removeprefix(folder): data for name, data in files.items()
                if name.startswith(folder)}
    expected = below(NOTICES["hiptool"], tarball)
    expect(expected, "the tarball has no notices of what is linked in")
    folder = NOTICES.get(package.split("_")[0])
    expect(folder is None or below(folder, files) == expected,
           f"{package} lacks notices of what is linked in")


def check_packages(folder, tarball):
    seen = {}
    for path in sorted(folder.glob("*.deb")):
        files = read_package(path)
        check_notices(path.name, files, tarball)
        for name in files:
            if name.startswith(NOTICES["libhiptool1"]):
                continue
            if DEBIAN_ONLY.search(name):
                continue
            other = seen.setdefault(in_tarball(name), path.name)
            expect(other == path.name, f"{name} is in {other} and {path.name}")
    expected = set(tarball) - TOP_FILES
    expect(TOP_FILES <= set(tarball), f"the tarball lacks {sorted(TOP_FILES - set(tarball))}")
    expect(not expected - set(seen), f"no package has {sorted(expected - set(seen))}")
    expect(not set(seen) - expected, f"the tarball lacks {sorted(set(seen) - expected)}")


def check_sums(folder):
    lines = (folder / "SHA256SUMS").read_text("utf-8").splitlines()
    sums = {line[66:]: line[:64] for line in lines}
    names = {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    expect(set(sums) == names, f"SHA256SUMS: {sorted(set(sums) ^ names)}")
    for name in names & set(sums):
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        expect(digest == sums[name], f"SHA256SUMS: {name}")


def main():
    folder = pathlib.Path(sys.argv[1])
    path = next(folder.glob("hiptool-*-linux-*.tar.gz"))
    with tarfile.open(path) as archive:
        tarball = read(archive, path.name, path.name.removesuffix(".tar.gz") + "/")
    tarball.pop(path.name.removesuffix(".tar.gz"), None)
    source = next(each for each in folder.glob("hiptool-*.tar.gz") if "-linux-" not in each.name)
    with tarfile.open(source) as archive:
        commit = archive.extractfile(f"{source.name[:-7]}/src/base/git_archive.txt").readline()
    expect(commit[:12] in tarball["bin/hiptool"], "the program does not name the commit")
    check_packages(folder, tarball)
    check_sums(folder)
    for line in FAILURES:
        print(line)
    print(f"{len(tarball)} files, {len(FAILURES)} failures")
    sys.exit(1 if FAILURES else 0)


main()
