#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what is linked into a build as SPDX 2.3 (JSON), found from the build itself.

Usage: sbom.py --build FOLDER --version VERSION --commit HEX --output FILE [--licenses FOLDER]

Static libraries are those on the linker's command lines, headers those that the compilers read,
shared libraries those that the binaries name; the Debian package of each file has its version.
--licenses also copies the licences of all that is inside the binaries. A package whose licence is
not in the table below is an error: somebody must look at it. The time is SOURCE_DATE_EPOCH.
"""
import argparse
import datetime
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

# By source package, from debian/copyright of each: the licence of the part that we use.
LICENSES = {
    r"boost1\.\d+": "BSL-1.0",
    r"cli11": "BSD-3-Clause",
    r"fmtlib": "MIT",
    r"gcc-\d+": "GPL-3.0-or-later WITH GCC-exception-3.1",
    r"glibc": "LGPL-2.1-or-later",
    r"liburing": "MIT",                      # or LGPL-2.1-or-later
    r"linux": "GPL-2.0-only WITH Linux-syscall-note",
    r"llvm-toolchain-\d+": "Apache-2.0 WITH LLVM-exception",
    r"nettle": "LGPL-3.0-or-later OR GPL-2.0-or-later",
    r"nlohmann-json3": "MIT",
    r"valgrind": "bzip2-1.0.6",              # its headers only
    r"xxhash": "BSD-2-Clause",
    r"xz-utils": "LicenseRef-xz-public-domain",   # of liblzma before 5.6, later 0BSD
}
# SPDX has no name for them.
OWN_LICENSES = [{
    "licenseId": "LicenseRef-xz-public-domain",
    "name": "Public domain, as liblzma's files say",
    "extractedText": "This file has been put into the public domain. "
                     "You can do whatever you want with this file.",
}]
TOOLS = ["g++", "clang-19", "lld-19", "meson", "ninja", "python3", "ld"]
NEWER_TOOLS = ["clang-22", "lld-22"]   # make images for GPUs, where they are installed
STATIC = re.compile(r"(?<![\w./-])(/[\w./+-]+\.a)(?= |$)", re.MULTILINE)


def output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


@functools.lru_cache(maxsize=None)
def owners():
    """The Debian package of each installed file."""
    packages = {}
    for path in pathlib.Path("/var/lib/dpkg/info").glob("*.list"):
        package = path.stem.split(":")[0]
        for name in path.read_text(encoding="utf-8").splitlines():
            packages.setdefault(name, package)
    return packages


def package_of(path):
    """The Debian package of a file. dpkg knows files of /usr by the name that they had in it."""
    for name in (path, os.path.realpath(path)):
        for spelled in (name, re.sub(r"^/usr", "", name), "/usr" + name):
            if spelled in owners():
                return owners()[spelled]
    return sys.exit(f"error: no Debian package has {path}, so its version is not known")


def static_libraries(build):
    """Archives outside of the build, from the linker's command lines."""
    text = (build / "build.ninja").read_text(encoding="utf-8")
    libraries = {path for line in text.splitlines() if line.startswith(" LINK_ARGS")
                 for path in STATIC.findall(line)}
    # The compiler's own parts, which it adds to every binary.
    parts = [output_of("g++", f"-print-file-name={name}").strip()
             for name in ("libgcc.a", "crtbeginS.o", "crti.o")]
    return libraries | set(parts)


def headers(build):
    """System headers that compilers of the host and of the devices read."""
    texts = [output_of("ninja", "-C", str(build), "-t", "deps")]
    texts += [path.read_text(encoding="utf-8") for path in sorted(build.glob("kernels/*.d"))]
    paths = {word for text in texts for word in re.findall(r"(?<=\s)/usr/\S+", text)}
    return {os.path.normpath(path) for path in paths}


def shared_libraries(build):
    """Files of the libraries that the dynamic loader finds for the binaries."""
    paths = set()
    for binary in [build / "src/cli/hiptool", *build.glob("src/lib/libhiptool.so.*.*.*")]:
        if binary.is_file():
            paths.update(re.findall(r"(?:=> |^\t)(/\S+)", output_of("ldd", str(binary)),
                                    re.MULTILINE))
    return paths


def license_of(source):
    for pattern, name in LICENSES.items():
        if re.fullmatch(pattern, source):
            return name
    return sys.exit(f"error: the licence of {source} is not in packaging/sbom.py")


@functools.lru_cache(maxsize=None)
def fields_of(package):
    form = "${Package}\t${Version}\t${source:Package}\t${Homepage}\t${Architecture}\n"
    return output_of("dpkg-query", "-W", "-f", form, package).splitlines()[0].split("\t")


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def described(package, is_tool):
    name, version, source, homepage, architecture = fields_of(package)
    declared = "NOASSERTION" if is_tool else license_of(source)
    return {
        "SPDXID": spdx_id(name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "homepage": homepage or "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": declared,
        "licenseDeclared": declared,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch={architecture}",
        }],
    }


def used_packages(build):
    """Package to its relationship to hiptool; the closest one of several."""
    ways = [("STATIC_LINK", static_libraries(build)), ("CONTAINS", headers(build)),
            ("DYNAMIC_LINK", shared_libraries(build)),
            ("BUILD_TOOL_OF", {f"/usr/bin/{tool}" for tool in TOOLS} |
             {f"/usr/bin/{tool}" for tool in NEWER_TOOLS
              if pathlib.Path(f"/usr/bin/{tool}").exists()})]
    packages = {}
    for way, paths in ways:
        for package in {package_of(path) for path in paths}:
            packages.setdefault(package, way)
    return packages


def document(arguments, packages):
    own = {
        "SPDXID": "SPDXRef-hiptool",
        "name": "hiptool",
        "versionInfo": arguments.version,
        "supplier": "Organization: The hiptool authors",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "MIT",
        "licenseDeclared": "MIT",
        "copyrightText": "Copyright (c) 2026 The hiptool authors",
        "sourceInfo": f"built from commit {arguments.commit}",
        "primaryPackagePurpose": "APPLICATION",
    }
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"], "")]
    comments = {"STATIC_LINK": "inside the binaries",
                "CONTAINS": "code of its headers is inside the binaries",
                "DYNAMIC_LINK": "found by the dynamic loader", "BUILD_TOOL_OF": ""}
    for package, way in sorted(packages.items()):
        ends = [own["SPDXID"], spdx_id(fields_of(package)[0])]
        if way == "BUILD_TOOL_OF":
            ends.reverse()
        relations.append((ends[0], way, ends[1], comments[way]))
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    name = f"hiptool-{arguments.version}-{arguments.commit[:12]}"
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: hiptool-packaging-sbom"]},
        "packages": [own] + [described(package, way == "BUILD_TOOL_OF")
                             for package, way in sorted(packages.items())],
        "hasExtractedLicensingInfos": OWN_LICENSES,
        "relationships": [
            {"spdxElementId": left, "relationshipType": way, "relatedSpdxElement": right,
             **({"comment": comment} if comment else {})}
            for left, way, right, comment in relations],
    }


def copy_licenses(folder, packages):
    """The notices of what is inside the binaries, as its licences demand."""
    folder.mkdir(parents=True, exist_ok=True)
    for package, way in sorted(packages.items()):
        notice = pathlib.Path("/usr/share/doc", package, "copyright")
        if way in ("STATIC_LINK", "CONTAINS"):   # one file for all packages of a source
            shutil.copyfile(notice, folder / f"{fields_of(package)[2]}.txt")


def main():
    parser = argparse.ArgumentParser(description="writes what is linked into a build as SPDX")
    for name in ("build", "output"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    for name in ("version", "commit"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--licenses", type=pathlib.Path)
    arguments = parser.parse_args()
    packages = used_packages(arguments.build)
    text = json.dumps(document(arguments, packages), indent=2) + "\n"
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(text, encoding="utf-8")
    if arguments.licenses:
        copy_licenses(arguments.licenses, packages)
    for package, way in sorted(packages.items()):
        print(f"{way:13} {package}")


main()
