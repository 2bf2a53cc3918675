# SPDX-License-Identifier: MIT
"""Our declarations of NVML against NVIDIA's own Python binding (package nvidia-ml-py), which is
made from the same header. Usage: nvml_reference.py NVML_DUMP"""
import ctypes
import json
import subprocess
import sys

try:
    import pynvml
except ImportError:
    print("skipped: no Python package nvidia-ml-py")
    sys.exit(77)

REASONS = {
    "power cap": "SwPowerCap",
    "hardware slowdown": "HwSlowdown",
    "sync boost": "SyncBoost",
    "thermal slowdown by software": "SwThermalSlowdown",
    "thermal slowdown by hardware": "HwThermalSlowdown",
    "power brake": "HwPowerBrakeSlowdown",
    "display clock setting": "DisplayClockSetting",
    "board limit": "BoardLimit",
    "reliability": "Reliability",
}

ours = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True).stdout)
reasons = ours.pop("reasons")
theirs = {name: getattr(pynvml, name) for name in ours if name.startswith("NVML")}
theirs["sizeof bar1"] = ctypes.sizeof(pynvml.c_nvmlBAR1Memory_t)
theirs["sizeof field"] = ctypes.sizeof(pynvml.c_nvmlFieldValue_t)
theirs["offset scope"] = pynvml.c_nvmlFieldValue_t.scopeId.offset
theirs["offset value type"] = pynvml.c_nvmlFieldValue_t.valueType.offset
theirs["offset field return"] = pynvml.c_nvmlFieldValue_t.nvmlReturn.offset
theirs["offset value"] = pynvml.c_nvmlFieldValue_t.value.offset
theirs["sizeof pci"] = ctypes.sizeof(pynvml.nvmlPciInfo_t)
theirs["offset busId"] = pynvml.nvmlPciInfo_t.busId.offset
theirs["sizeof memory"] = ctypes.sizeof(pynvml.c_nvmlMemory_t)
theirs["sizeof memory 2"] = ctypes.sizeof(pynvml.c_nvmlMemory_v2_t)
theirs["offset used"] = pynvml.c_nvmlMemory_t.used.offset
theirs["offset used 2"] = pynvml.c_nvmlMemory_v2_t.used.offset
theirs["nvmlMemory_v2"] = pynvml.nvmlMemory_v2
theirs["sizeof utilization"] = ctypes.sizeof(pynvml.c_nvmlUtilization_t)
theirs["sizeof process"] = ctypes.sizeof(pynvml.c_nvmlProcessInfo_v2_t)
# Older releases of the binding lack the newest reasons.
their_reasons = {text: getattr(pynvml, "nvmlClocksThrottleReason" + name)
                 for text, name in REASONS.items()
                 if hasattr(pynvml, "nvmlClocksThrottleReason" + name)}
wrong = [f"{name}: ours {ours[name]}, theirs {theirs[name]}"
         for name in ours if ours[name] != theirs[name]]
wrong += [f"reason {text}: ours {reasons.get(text)}, theirs {bit}"
          for text, bit in their_reasons.items() if reasons.get(text) != bit]
if len(their_reasons) < 7 or len(reasons) != len(REASONS):
    wrong.append(f"{len(reasons)} reasons of ours, {len(their_reasons)} of theirs")
print("\n".join(wrong) or f"{len(ours) + len(their_reasons)} declarations are equal")
sys.exit(1 if wrong else 0)
