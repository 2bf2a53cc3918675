#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The installed AMD runtime says "no device" for many causes; hiptool must tell which it is.

Usage: amd_no_device.py HIPTOOL REPORT [WAY]
  HIPTOOL  the program       REPORT  amd_runtime_report

Each cause is made in files. In the ways "root" and "user" the program runs in a mount namespace
whose /sys and /dev are ours, so that the runtime meets the same /dev/kfd as hiptool. Where neither
is permitted only "tree" is left: hiptool's binding reads a folder, the runtime the machine. "tree"
is always run too.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

GPU = "0000:65:00.0"
NODE_MODE = 0o666
RENDER = 109      # the group of the forbidden node where we may choose it
NOBODY = 65534
UNSHARE = {"root": ["unshare", "--mount"],
           "user": ["unshare", "--user", "--map-root-user", "--mount"]}
# Root of a user namespace still passes every check of permission.
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-all"]

# What hiptool must say about each cause: parts of the reason, parts of the hint.
CASES = {
    "no GPU": (["no AMD GPU is on the PCI bus"], ["`lspci -nn -d 1002:`"]),
    "no driver": ([f"AMD GPU {GPU} is present, but the kernel driver amdgpu is not loaded"],
                  ["`sudo modprobe amdgpu`"]),
    "vfio-pci": (["is bound to vfio-pci (set aside for a virtual machine)"],
                 ["/sys/bus/pci/drivers/vfio-pci/unbind"]),
    "no /dev/kfd": (["/dev/kfd is missing although amdgpu is loaded"],
                    ["--device /dev/kfd --device /dev/dri", "CONFIG_HSA_AMD"]),
    "forbidden": (["no permission to open /dev/kfd: "], ["`sudo "]),
    "driverless": (["/dev/kfd has no driver"], ["`sudo rm /dev/kfd`"]),
    "no GPU node": (["registered none of the AMD GPUs for compute"], ["dmesg | grep -i kfd"]),
    "no render node": (["/dev/dri/renderD128, the render node of an AMD GPU, is missing"],
                       ["--device /dev/dri"]),
    "hidden": (["may be hidden by ROCR_VISIBLE_DEVICES, which is \"9\""],
               ["`unset ROCR_VISIBLE_DEVICES`"]),
    "unknown chip": ([f"the AMD GPU at {GPU} (gfx1031) is present and can be opened"],
                     ["HSA_OVERRIDE_GFX_VERSION=10.3.0"]),
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="ascii")


def free_major():
    """A number of character devices that no driver of this kernel has."""
    lines = pathlib.Path("/proc/devices").read_text(encoding="ascii").split("\n\n")[0].splitlines()
    taken = {line.split()[0] for line in lines[1:]}
    return next(major for major in range(254, 0, -1) if str(major) not in taken)


def make_sys(root, case):
    if case == "no GPU":
        return
    device = root / f"sys/bus/pci/devices/{GPU}"
    for name, text in (("vendor", "0x1002"), ("device", "0x73df"), ("class", "0x030000")):
        write(device / name, text)
    if case == "no driver":
        return
    driver = "vfio-pci" if case == "vfio-pci" else "amdgpu"
    (device / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")
    write(root / "sys/module/amdgpu/version", "6.16.6")
    nodes = root / "sys/class/kfd/kfd/topology/nodes"
    write(nodes / "0/gpu_id", "0")
    write(nodes / "1/gpu_id", "0" if case == "no GPU node" else "51216")
    write(nodes / "1/properties", "gfx_target_version 100301\ndrm_render_minor 128")


def make_dev(root, case, way):
    (root / "dev/dri").mkdir(parents=True)
    if case != "no render node":
        (root / "dev/dri/renderD128").touch()
        (root / "dev/dri/renderD128").chmod(NODE_MODE)
    kfd = root / "dev/kfd"
    if case == "no /dev/kfd":
        return
    if case == "driverless" and way == "root":
        os.mknod(kfd, 0o020666, os.makedev(free_major(), 0))
    elif case == "driverless":   # opening a socket's file fails with the same number, ENXIO
        with socket.socket(socket.AF_UNIX) as listener:
            folder = os.open(kfd.parent, os.O_PATH)   # paths of sockets are short
            listener.bind(f"/proc/self/fd/{folder}/kfd")
            os.close(folder)
    else:
        kfd.touch()
        kfd.chmod(NODE_MODE)
        if case == "forbidden":
            kfd.chmod(0o660 if way == "root" else 0)
            if way == "root":
                os.chown(kfd, 0, RENDER)
    if case == "driverless":
        kfd.chmod(NODE_MODE)


def environment(case):
    kept = {name: os.environ[name] for name in ("PATH", "UBSAN_OPTIONS", "TSAN_OPTIONS")
            if name in os.environ}
    # The leak checker looks at the whole process, for which it lacks rights here.
    kept["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    if case == "hidden":
        kept["ROCR_VISIBLE_DEVICES"] = "9"
    return {**kept, "LC_ALL": "C.UTF-8"}


def as_ordinary_user(case, way):
    """Words before the command and options of the process that take the rights away."""
    if case != "forbidden":
        return [], {}
    if way == "user":
        return WITHOUT_RIGHTS, {}
    if os.geteuid() == 0:
        return [], {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    return [], {}


def run_inside(way, case, root, program):
    """In the namespace: puts /sys and /dev in place and becomes the program."""
    make_sys(root, case)
    make_dev(root, case, way)
    (root / "sys").mkdir(exist_ok=True)
    (root / "dev/null").touch()
    for source, target in (("/dev/null", root / "dev/null"), (root / "sys", "/sys"),
                           (root / "dev", "/dev")):
        subprocess.run(["mount", "--rbind", source, target], check=True, stdin=subprocess.PIPE)
    before, options = as_ordinary_user(case, way)
    sys.exit(subprocess.run([*before, program, "devices", "--format", "json"], check=False,
                            env=environment(case), stdin=subprocess.DEVNULL, **options).returncode)


def ask_program(way, case, root, program):
    # A file system of the namespace itself: nodes in it work, and nothing is left behind.
    script = f'mount -t tmpfs -o mode=755 tmpfs "{root}" && exec "$@"'
    done = subprocess.run([*UNSHARE[way], "sh", "-c", script, "sh", sys.executable, __file__,
                           "--inside", way, case, root, program],
                          text=True, capture_output=True, check=False, timeout=60)
    if done.returncode != 0 or done.stderr:
        return {"reason": f"ends with {done.returncode}: {done.stderr.strip()}"}
    return json.loads(done.stdout)["platforms"][0]


def ask_binding(case, root, report):
    make_sys(root, case)
    make_dev(root, case, "tree")
    before, options = as_ordinary_user(case, "tree")
    done = subprocess.run([*before, report, root], text=True, capture_output=True, check=False,
                          env=environment(case), timeout=60, **options)
    if done.returncode != 0 or done.stderr:
        return {"reason": f"ends with {done.returncode}: {done.stderr.strip()}"}
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def is_permitted(way):
    if any(shutil.which(tool) is None for tool in ("unshare", "setpriv", "mount")):
        return False
    command = [*UNSHARE[way], "sh", "-c", "mount -t tmpfs tmpfs /mnt"]
    return (way != "root" or os.geteuid() == 0) and subprocess.run(
        command, capture_output=True, check=False).returncode == 0


def check(way, case, facts):
    """Sentences on what is wrong with what was said."""
    reasons, hints = CASES[case]
    if case == "forbidden" and way == "root":
        reasons = ["no permission to open /dev/kfd: it belongs to group", f"{RENDER}",
                   "which this process is not in"]
        hints = ["usermod -aG"]
    prefix = r"the HIP runtime /\S+ (\(ROCm [0-9.]+\) )?reports no device: "
    reason, hint = facts.get("reason") or "", facts.get("hint") or ""
    if not (re.match(prefix, reason) and facts.get("library") and facts.get("runtime_version")):
        yield f"{way}, {case}: no runtime said so: {facts}"
    for part in reasons:
        if part not in reason:
            yield f"{way}, {case}: the reason lacks '{part}': {reason}"
    for part in hints:
        if part not in hint:
            yield f"{way}, {case}: the hint lacks '{part}': {hint}"


def main():
    if sys.argv[1:2] == ["--inside"]:
        run_inside(sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]), sys.argv[5])
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    permitted = [way for way in UNSHARE if is_permitted(way)]
    ways = sys.argv[3:] or permitted[:1] + ["tree"]
    findings = []
    with tempfile.TemporaryDirectory(prefix="hiptool-no-device-") as scratch:
        folder = pathlib.Path(scratch)
        folder.chmod(0o755)   # an ordinary user runs what is in it
        program, report = (shutil.copy(path, folder) for path in sys.argv[1:3])
        machine = subprocess.run([report, "/nowhere"], text=True, capture_output=True, check=True)
        facts = dict(line.split(" ", 1) for line in machine.stdout.splitlines())
        if not facts["library"] or facts["usable"] == "1":
            print("skipped: no AMD runtime is installed, or it has a device")
            sys.exit(77)
        print(f"{facts['library']}, version {facts['runtime_version']}; ways: {', '.join(ways)}")
        if not permitted:
            print("mount namespaces are not permitted here: the runtime saw the machine's own /dev")
        for way in ways:
            for case in CASES:
                root = folder / f"{way}-{case.replace('/', '').replace(' ', '-')}"
                root.mkdir(mode=0o755)
                said = (ask_binding(case, root, report) if way == "tree"
                        else ask_program(way, case, root, program))
                print(f"{way}, {case}: {said.get('reason')}\n    hint: {said.get('hint')}")
                findings += check(way, case, said)
    for finding in findings:
        print("WRONG: " + finding)
    print(f"{len(ways) * len(CASES)} checked, {len(findings)} wrong")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
