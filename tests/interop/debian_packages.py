# SPDX-License-Identifier: MIT
"""Packages of other Debian releases from this machine's own mirror, unpacked and never installed.

apt does the work with folders of its own: it finds what belongs together, checks the signature of
the release and the digest of each file.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Unreachable(Exception):
    """There is no mirror, or it does not answer, or its signature is wrong."""


def run(command, **options):
    return subprocess.run(command, text=True, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, **options)


def file_name(package, version, architecture):
    return f"{package}_{version.replace(':', '%3a')}_{architecture}.deb"


def find_mirror():
    """Where this machine's own release of Debian comes from."""
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise Unreachable(f"{tool} is not installed")
    lines = run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(ORIGIN)",
                 "Created-By: Packages", "Component: main"]).stdout.splitlines()
    for uri, release, origin in (line.split(" ", 2) for line in lines):
        # "bookworm-security" is another archive, without the other releases. An archive that was
        # never asked has no origin yet.
        is_debian = origin == "Debian" or origin.startswith("$")
        if uri.startswith(("http://", "https://")) and "-" not in release and is_debian:
            return uri
    raise Unreachable("apt's sources name no http mirror of Debian")


def unpack_without(file, names, target):
    """Unpacks all but these files, which become empty; answers what went wrong, else nothing."""
    with tempfile.NamedTemporaryFile("w") as list_file:
        list_file.write("".join(f"{name}\n" for name in names))
        list_file.flush()
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(file)],
                              stdout=subprocess.PIPE) as source:
            done = subprocess.run(["tar", "-x", "-C", str(target), "--no-wildcards",
                                   f"--exclude-from={list_file.name}"], stdin=source.stdout,
                                  text=True, capture_output=True, check=False)
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).touch()
    return done.stderr if done.returncode != 0 else ""


class Suite:
    """One release ("stable", "experimental") in a cache folder."""

    def __init__(self, mirror, name, folder):
        self.name = name
        self.folder = pathlib.Path(folder).resolve() / name
        for part in ("lists/partial", "archives/partial"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").write_text("")   # nothing is installed: all that is needed comes
        (self.folder / "apt.conf").write_text("")
        signed = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
        # Experimental holds only what differs from unstable.
        suites = [name] if name != "experimental" else [name, "unstable"]
        (self.folder / "sources.list").write_text(
            "".join(f"deb {signed}{mirror} {suite} main\n" for suite in suites))
        options = {
            "Dir::State": self.folder, "Dir::State::lists": self.folder / "lists",
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder, "Dir::Cache::archives": self.folder / "archives",
            "Dir::Etc::sourcelist": self.folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null", "Dir::Etc::preferencesparts": "/dev/null",
            "Debug::NoLocking": "1", "APT::Sandbox::User": "", "APT::Default-Release": name,
            "APT::Update::Error-Mode": "any", "Acquire::Languages": "none",
            "Acquire::Retries": "1", "Acquire::http::Timeout": "10",
            "Acquire::https::Timeout": "10",
        }
        self.options = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]

    def apt(self, tool, *words):
        done = run([tool, *self.options, *words], cwd=self.folder)
        if done.returncode != 0:
            lines = [line for line in (done.stderr + done.stdout).splitlines()
                     if line.startswith(("E:", "W:"))]
            raise Unreachable("; ".join(lines) or f"{tool} failed")
        return done.stdout

    def update(self):
        self.apt("apt-get", "-q", "update")

    def names(self, pattern):
        """Packages whose whole name matches."""
        out = self.apt("apt-cache", "search", "--names-only", f"^{pattern}$")
        return sorted(line.split(" ")[0] for line in out.splitlines())

    def version(self, package):
        """The version that apt would install; empty if there is none."""
        for line in self.apt("apt-cache", "policy", package).splitlines():
            if line.strip().startswith("Candidate:"):
                version = line.split()[1]
                return "" if version == "(none)" else version
        return ""

    def unpack(self, packages, target, is_emptied=None):
        """Unpacks these with all they depend on into the folder `target`; files whose names
        `is_emptied` picks become empty ones."""
        words = ["-q", "install", "-y", "--no-install-recommends", *packages]
        self.apt("apt-get", "--download-only", *words)
        plan = re.findall(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", self.apt("apt-get", "-s", *words),
                          re.MULTILINE)
        self._unpack_files([self.folder / "archives" / file_name(*entry) for entry in plan], target,
                           is_emptied)

    def unpack_alone(self, package, version, target):
        """Unpacks this one without what it depends on."""
        self.apt("apt-get", "-q", "download", f"{package}={version}")
        self._unpack_files(self.folder.glob(file_name(package, version, "*")), target)

    @staticmethod
    def _unpack_files(files, target, is_emptied=None):
        pathlib.Path(target).mkdir(parents=True, exist_ok=True)
        for file in files:
            names = []
            if is_emptied is not None:
                listed = run(["dpkg-deb", "-c", str(file)]).stdout.splitlines()
                names = [line.split(None, 5)[5] for line in listed if line.startswith("-")]
                names = [name for name in names if is_emptied(name)]
            if not names:
                done = run(["dpkg-deb", "-x", str(file), str(target)])
                error = done.stderr if done.returncode != 0 else ""
            else:
                error = unpack_without(file, names, pathlib.Path(target))
            if error:
                raise Unreachable(f"{file} cannot be unpacked: {error.strip()}")
