#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NVIDIA's assembler takes the embedded PTX.

Usage: kernel_ptxas.py IMAGES_BIN
"""
import pathlib
import subprocess
import sys
import tempfile

from kernel_images import finish, images, tool


def main():
    found = [image for image in images(sys.argv[1], "sm_") if not image[2].startswith(b"\x7fELF")]
    ptxas = tool("ptxas", "/usr/local/cuda/bin/ptxas")
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        for source, target, data in found:
            if data[-1:] != b"\0" or b"\0" in data[:-1]:
                findings.append(f"{source} for {target}: not one text that ends in NUL")
            text = pathlib.Path(folder) / f"{source}.ptx"
            text.write_bytes(data.rstrip(b"\0"))
            for device in [target] if target.endswith("a") else ["sm_75", "sm_90"]:
                # PTX is for its own target and later ones, that of "sm_90a" for its own alone.
                if int(device[3:].rstrip("a")) < int(target[3:].rstrip("a")):
                    continue
                done = subprocess.run([ptxas, f"-arch={device}", str(text), "-o",
                                       str(text.with_suffix(".cubin"))],
                                      capture_output=True, text=True, check=False)
                if done.returncode != 0:
                    findings.append(f"{source} on {device}: {done.stdout}{done.stderr}")
    finish(len(found), findings)


if __name__ == "__main__":
    main()
