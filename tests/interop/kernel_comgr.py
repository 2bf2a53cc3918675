#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""AMD's code object manager knows each embedded code object for what its name says.

Usage: kernel_comgr.py IMAGES_BIN
Old releases know fewer processors; images for those that this one does not know are left out.
"""
import ctypes
import sys

from kernel_images import finish, images, skip

EXECUTABLE = 8
PREFIX = "amdgcn-amd-amdhsa--"


class Data(ctypes.Structure):
    _fields_ = [("handle", ctypes.c_uint64)]


def load():
    for name in ("libamd_comgr.so.2", "libamd_comgr.so.3", "libamd_comgr.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return skip("libamd_comgr is not installed")


def known_targets(comgr):
    count = ctypes.c_size_t()
    if comgr.amd_comgr_get_isa_count(ctypes.byref(count)) != 0:
        sys.exit("amd_comgr_get_isa_count failed")
    known = set()
    for i in range(count.value):
        name = ctypes.c_char_p()
        if comgr.amd_comgr_get_isa_name(ctypes.c_size_t(i), ctypes.byref(name)) == 0:
            known.add(name.value.decode().removeprefix(PREFIX).split(":")[0])
    return known


def isa_name(comgr, code):
    """The name that the library reads from a code object, or what went wrong."""
    data = Data()
    comgr.amd_comgr_create_data.argtypes = [ctypes.c_int, ctypes.POINTER(Data)]
    comgr.amd_comgr_set_data.argtypes = [Data, ctypes.c_size_t, ctypes.c_char_p]
    comgr.amd_comgr_get_data_isa_name.argtypes = [Data, ctypes.POINTER(ctypes.c_size_t),
                                                  ctypes.c_char_p]
    comgr.amd_comgr_release_data.argtypes = [Data]
    if comgr.amd_comgr_create_data(EXECUTABLE, ctypes.byref(data)) != 0:
        return "amd_comgr_create_data failed"
    try:
        if comgr.amd_comgr_set_data(data, len(code), code) != 0:
            return "amd_comgr_set_data failed"
        text = ctypes.create_string_buffer(256)
        size = ctypes.c_size_t(len(text))
        status = comgr.amd_comgr_get_data_isa_name(data, ctypes.byref(size), text)
        return text.value.decode() if status == 0 else f"status {status}"
    finally:
        comgr.amd_comgr_release_data(data)


def main():
    found = images(sys.argv[1], "gfx")
    comgr = load()
    known = known_targets(comgr)
    checked = [image for image in found if image[1] in known]
    findings = []
    for source, target, data in checked:
        name = isa_name(comgr, data)
        if name != PREFIX + target:
            findings.append(f"{source} for {target} is read as {name}")
    print(f"known here: {' '.join(sorted({image[1] for image in checked}))}")
    finish(len(checked), findings)


if __name__ == "__main__":
    main()
