# SPDX-License-Identifier: MIT
"""`hiptool load` of a file that another process changes meanwhile: no false verdict.

Usage: changing_file_test.py PROGRAM [unittest options]. HIPTOOL_RACE_ROUNDS is the number of loads
for each test and folder.
"""
import hashlib
import json
import mmap
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import program
from program import CliTest, clean_environment, run

try:
    import xxhash
except ImportError:
    xxhash = None

ROUNDS = int(os.environ.get("HIPTOOL_RACE_ROUNDS", "6"))
BLOCK = 16 << 10
MEMORY = pathlib.Path("/dev/shm")


CHANGED_BYTES = 64 << 10   # in one call, so that no load sees half of it without a new ctime


def flip(data):
    return data.translate(bytes(byte ^ 0x55 for byte in range(256)))


def write_model(path):
    """A safetensors file of some tensors; gives where they begin, and the tensors."""
    tensors = {f"t{i}": random.Random(i).randbytes((8 << 20) + i * 1001) for i in range(4)}
    header, offset = {}, 0
    for name, data in tensors.items():
        header[name] = {"dtype": "U8", "shape": [len(data)],
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensors.values()))
    return 8 + len(text), tensors


def model_digest(tensors):
    """By the public definition (hiptool/verify.hpp), with a library of its own."""
    model = xxhash.xxh3_64()
    for name, data in sorted(tensors.items()):
        blocks = b"".join(xxhash.xxh3_64(data[at:at + BLOCK]).digest()[::-1]
                          for at in range(0, len(data), BLOCK))
        model.update(name.encode() + b"\0U8\0" + struct.pack("<QQ", 1, len(data)))
        model.update(xxhash.xxh3_64(blocks).digest()[::-1])
    return model.hexdigest()


def change(path, start):
    """The other process. For each line "HOW SECONDS": changes parts of the tensors at random times,
    puts the bytes back and tries to put the time of writing back."""
    file = os.open(path, os.O_RDWR)
    size = os.fstat(file).st_size
    mapping = mmap.mmap(file, size)
    original = bytes(mapping)
    changed = flip(original)
    print("ready", flush=True)
    for line in sys.stdin:
        how, duration = line.split()
        end = time.monotonic() + float(duration)
        places = []
        for _ in range(random.choice((0, 1, 2, 5))):
            time.sleep(max(0, end - time.monotonic()) * random.random())
            status = os.fstat(file)
            first = start + int((size - start) * random.random())
            last = min(size, first + CHANGED_BYTES)
            places.append(first - start)
            for data in (changed, original):
                if how == "write":
                    os.pwrite(file, data[first:last], first)
                else:
                    mapping[first:last] = data[first:last]
                if data is changed:
                    time.sleep(float(duration) * 0.2 * random.random())
            if how == "write":
                os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        print(json.dumps(places), flush=True)


class ChangingFile(CliTest):
    def start(self, folder):
        """A published model in that folder and a process that changes it."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hiptool-race-", dir=folder))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.model = self.folder / "m.safetensors"
        start, self.tensors = write_model(self.model)
        self.hash = hashlib.sha256(self.model.read_bytes()).hexdigest()
        notes = self.folder / ".cache" / "huggingface" / "download"
        notes.mkdir(parents=True)
        (notes / "m.safetensors.metadata").write_text(f"{'a' * 40}\n{self.hash}\n1700000000.5\n")
        self.changer = subprocess.Popen(
            [sys.executable, __file__, "--change", str(self.model), str(start)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.stop)
        self.assertEqual(self.changer.stdout.readline(), "ready\n")
        began = time.monotonic()
        code, document, errors = self.load("published")
        self.time = time.monotonic() - began
        self.assertEqual(code, 0, errors)
        self.digest = document["verify"]["digest"]
        if xxhash:
            self.assertEqual(self.digest, model_digest(self.tensors))

    def stop(self):
        self.changer.communicate("", timeout=60)

    def load(self, mode):
        done = run("load", str(self.model), "--device", "cpu", "--verify", mode, "--format", "json")
        return done.returncode, json.loads(done.stdout), done.stderr

    def load_during_change(self, how, mode):
        self.changer.stdin.write(f"{how} {self.time}\n")
        self.changer.stdin.flush()
        outcome = self.load(mode)
        self.places = json.loads(self.changer.stdout.readline())
        return outcome

    def digests_of_changed(self):
        """Of the file as it was between a change and the next one: a load may fit in between."""
        for place in self.places:
            tensors, begin = {}, 0
            for name, data in self.tensors.items():
                first = min(max(place - begin, 0), len(data))
                last = min(max(place + CHANGED_BYTES - begin, 0), len(data))
                tensors[name] = data[:first] + flip(data[first:last]) + data[last:]
                begin += len(data)
            yield model_digest(tensors)

    def check(self, outcome, mode):
        """0 where what was loaded was the file at one time, and for published the file that was
        published; else 4 with the file's name."""
        code, document, errors = outcome
        self.assertIn(code, (0, 4), errors + json.dumps(document, indent=1))
        if code == 4:
            self.assertIn(str(self.model), document["error"]["message"])
            return
        self.assertEqual(document["status"], "verified")
        digest = document["verify"]["digest"]
        if mode != "published" and digest != self.digest and xxhash:
            self.assertIn(digest, list(self.digests_of_changed()))
            return
        self.assertEqual(digest, self.digest)
        if mode == "published":
            self.assertEqual(document["verify"]["published"],
                             [{"file": str(self.model), "published": self.hash,
                               "found": self.hash, "source": ".cache/huggingface/download"}])

    def races(self, folder, how, modes, check):
        self.start(folder)
        codes = {}
        for number in range(ROUNDS):
            mode = modes[number % len(modes)]
            with self.subTest(round=number, mode=mode, folder=str(folder)):
                outcome = self.load_during_change(how, mode)
                codes[mode, outcome[0]] = codes.get((mode, outcome[0]), 0) + 1
                check(outcome, mode)
        counts = ", ".join(f"{mode} exit {code}: {count}"
                           for (mode, code), count in sorted(codes.items()))
        print(f"{how} in {folder}: {counts}", file=sys.stderr)

    def test_written_and_restored_on_disk(self):
        self.races(pathlib.Path.cwd(), "write", ("published", "full", "fast"), self.check)

    def test_written_and_restored_in_memory(self):
        self.races(MEMORY, "write", ("published", "full", "fast"), self.check)

    def test_changed_through_a_mapping(self):
        """Which moves no time on tmpfs: whatever is said, other bytes are never published ones."""
        def check(outcome, mode):
            code, document, _ = outcome
            self.assertIn(code, (0, 4, 5))
            if code == 0:
                self.check(outcome, mode)
            else:
                self.assertNotEqual(document["status"], "verified")
        self.races(MEMORY, "map", ("published",), check)


if __name__ == "__main__":
    if sys.argv[1] == "--change":
        change(sys.argv[2], int(sys.argv[3]))
    else:
        program.main(__doc__)
