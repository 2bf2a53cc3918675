# SPDX-License-Identifier: MIT
"""Bad luck during a load: the file changes, somebody presses Ctrl-C, memory is short.

    load_events.py HIPTOOL FOLDER [--size 4GiB] [--device ID]

Each case is a line and says what it saw; exits 1 if one of them went otherwise than it should.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

FAILURES = []


def evict(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def check(name, ok, text):
    print(f"{'ok  ' if ok else 'FAIL'} {name}: {text}", flush=True)
    if not ok:
        FAILURES.append(name)


def start(options, path, *arguments):
    command = [options.hiptool, "load", path, "--format", "json", *arguments]
    if options.device:
        command += ["--device", options.device]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, json.loads(out) if out else {}, err


def wait_until_read(process, size):
    """Until the process has read so many bytes, or is gone."""
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/io", encoding="ascii") as file:
                counts = dict(line.split(": ") for line in file)
        except OSError:
            return
        if max(int(counts["rchar"]), int(counts["read_bytes"])) >= size:
            return


def phases_of(options, path, *arguments):
    code, document, err = finish(start(options, path, *arguments))
    if code != 0:
        sys.exit(f"a plain load fails: {err}")
    return {p["name"]: p for p in document["phases"]}, document["wall_time_s"]


def changes(options, model):
    copy = os.path.join(options.folder, "changing.gguf")

    def truncate():
        os.truncate(copy, os.path.getsize(copy) // 2)

    def grow():
        with open(copy, "ab") as file:
            file.write(b"more")

    def replace():
        other = copy + ".new"
        with open(other, "wb") as file:
            file.write(b"another file")
        os.replace(other, copy)

    def overwrite():
        with open(copy, "r+b") as file:
            file.seek(os.path.getsize(copy) - 4096)
            file.write(os.urandom(64))

    for change in (truncate, grow, replace, overwrite):
        for cold in (False, True):
            shutil.copyfile(model, copy)
            os.utime(copy, (time.time() - 3600, time.time() - 3600))
            arguments = ("--verify", "fast" if cold else "full")
            if cold:
                evict(copy)
            size = os.path.getsize(copy)
            process = start(options, copy, *arguments)
            # In the middle of the load; a cached file is read as a whole before it.
            wait_until_read(process, size // 3 if cold else size + size // 3)
            change()
            code, document, err = finish(process)
            message = document.get("error", {}).get("message", "")
            ok = code == 4 and copy in message
            check(f"{change.__name__}, {'cold' if cold else 'warm'}", ok, f"exit {code}: {message}"
                  if message else f"exit {code}, status {document.get('status')} {err[:200]}")
    os.remove(copy)


def interrupts(options, model):
    phases, whole = phases_of(options, model)
    for name, phase in phases.items():
        process = start(options, model)
        time.sleep(phase["start_s"] + phase["duration_s"] / 2 + 0.01)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        code, document, _ = finish(process)
        took = time.monotonic() - began
        ok = code in (0, 130) and took <= 0.5
        check(f"Ctrl-C during {name}", ok, f"exit {code} ({document.get('status')}) after "
              f"{took * 1e3:.0f} ms; the whole load takes {whole * 1e3:.0f} ms")


def too_large(options):
    path = os.path.join(options.folder, "huge.gguf")
    subprocess.run([options.hiptool, "make-model", path, "--size", "1GiB", "--quiet", "--force"],
                   check=True, capture_output=True)
    code, document, err = finish(start(options, path, "--context", "100000000", "--verify", "none"))
    message = document.get("error", {}).get("message", err)
    check("device memory too small", code == 3, f"exit {code}: {message}")
    os.remove(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hiptool")
    parser.add_argument("folder")
    parser.add_argument("--size", default="4GiB")
    parser.add_argument("--device")
    options = parser.parse_args()
    model = os.path.join(options.folder, "events.gguf")
    subprocess.run([options.hiptool, "make-model", model, "--size", options.size, "--quiet",
                    "--force"], check=True, capture_output=True)
    changes(options, model)
    interrupts(options, model)
    too_large(options)
    os.remove(model)
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
