# SPDX-License-Identifier: MIT
"""Seeds of the fuzz targets of reports: documents as text, and bytes that documents are made of."""
import json
import random

ALL = b"A"   # the byte that asks for every format; check_report.cpp


def document(kind, version=2, **fields):
    return {"schema": f"hiptool.{kind}/{version}", "tool": {"version": "1"},
            "host": {"name": "n1", "cores": 4}, "started_at": "2026-03-01T12:00:00Z",
            "status": "ok", "exit_code": 0, "passed": True, **fields}


def cell(source="host", destination="nvidia:0", size=1 << 20, **fields):
    label = f"h2d.pinned.{size}"
    return {"id": f"{label}@{source}>{destination}", "label": label, "series": "h2d.pinned",
            "kind": "h2d", "source": source, "destination": destination, "devices": [destination],
            "size_bytes": size, "status": "ok", "reason": None, "samples_s": [0.5, 0.25, 1],
            "median_s": 0.5, "bytes_per_s": 5e9, "p05_bytes_per_s": 4e9, "p95_bytes_per_s": 6e9,
            "share_of_limit": 0.9, "details": {"memory": "pinned", "engine": "copy"}, **fields}


def old_cell():
    fields = {**cell(), **cell()["details"]}
    fields["median_bytes_per_s"] = fields.pop("bytes_per_s")
    return {key: fields[key] for key in fields if key not in ("label", "series", "details")}


def result(dtype="f32"):
    label = f"fill.{dtype}.1024"
    return {"id": f"{label}@nvidia:0", "label": label, "series": f"fill.{dtype}", "kind": "kernel",
            "destination": "nvidia:0", "devices": ["nvidia:0"], "dtype": dtype, "status": "ok",
            "samples_s": [1e-3, 2e-3], "median_s": 1e-3, "bytes_per_s": 1e9, "flops_per_s": 1e12,
            "share_of_limit": 0.5, "details": {"kernel": "fill", "elements": 1024}}


def old_result(dtype="f32"):
    return {"kernel": "fill", "dtype": dtype, "device": "nvidia:0", "elements": 1024,
            "status": "ok", "samples_s": [1e-3, 2e-3], "median_s": 1e-3, "bytes_per_s": 1e9,
            "flops_per_s": 1e12, "share_of_peak": 0.5}


def text_seeds():
    devices = ["nvidia:0", "nvidia:1", "nvidia:2"]
    pairs = [cell(a, b, kind="p2p-read") for a in devices for b in devices if a != b]
    failure = {"what": "h2d", "expected": "48 GB/s", "got": 1.5}
    documents = {
        "bench-copy": document("bench-copy", measurements=[cell()]),
        "sizes": document("bench-copy", measurements=[cell(size=1 << power) for power in range(3)]),
        "pairs": document("bench-copy", measurements=pairs),
        "extremes": document("bench-copy", measurements=[
            cell(size=1, bytes_per_s=1.7e308), cell(size=2, bytes_per_s=1.7e308),
            cell(size=3, bytes_per_s=5e-324), cell(size=4, bytes_per_s=-0.0),
            cell(size=(1 << 64) - 1, samples_s=[1e308, 1e308, -1, 0], share_of_limit=1e-308)]),
        "failed": document("bench-copy", exit_code=6, passed=False, failures=[failure],
                           error={"code": "device", "message": "a\nb", "hint": None},
                           measurements=[cell(status="failed", reason="=1+1", samples_s=[])]),
        "thresholds": document("bench-copy", exit_code=1, passed=False, failures=[failure],
                               thresholds=[{"threshold": "h2d>=1GB/s", "measurement": "x",
                                            "is_met": False, "measured_bytes_per_s": 1,
                                            "least_bytes_per_s": 1e9}],
                               comparisons=[{"id": "x", "verdict": "SLOWER", "change": 0.5,
                                             "rate_change": -0.5}]),
        "run-kernel": document("run-kernel", measurements=[result(), result(dtype="f64")]),
        "old-copies": document("bench-copy", 1, cells=[old_cell()], baseline=[
            {"id": "x", "verdict": "SLOWER"}]),
        "old-kernels": document("run-kernel", 1, results=[old_result(), old_result("f64")]),
        "old-check": document("check", 1, cells=[old_cell()]),
        "old-comparison": document("report", 1, cells=[{"id": "x", "verdict": "SLOWER"}]),
        "load": document("load", 1, model={"path": "/m/a.gguf", "bytes": 1 << 30}, load_time_s=0.5,
                         bytes_per_s=2e9, values={"checked": 1, "nan": 1, "inf": 0},
                         devices=[{"id": "nvidia:0", "bytes": 1, "copy_time_s": 1e-3,
                                   "copy_bytes_per_s": 1e3}]),
        "devices": document("devices",
                            devices=[{"id": "nvidia:0", "name": "NVIDIA H200", "pcie": {
                                "width": 16}}], platforms=[{"platform": "amd", "status": "ok"}],
                            checks=[{"id": "iommu", "severity": "fail", "device": None,
                                     "read": "x", "source": "/sys", "fix": "y"}]),
        "report": document("report", verdict="SLOWER", comparisons=[
            {"id": "x", "verdict": "AMBIGUOUS", "change": 0.1, "reason": "few"}]),
        "column-without-key": document("report", verdict="SLOWER", comparisons=[
            {"": "AMBIGUOUS", "reason": "few"}]),
        "device-twice": document("load", 1, model={"path": "/m/a.gguf", "bytes": 1},
                                 load_time_s=0.5, devices=[{"id": "x", "copy_bytes_per_s": 1}] * 2),
        "hostile": document("devices", devices=[
            {"id": "=cmd|' /C calc'!A0", "name": "<b>&'\"\u202e\u001b[2J\ufffe", "@x": "-1+1",
             "uuid": "\uff1d1", "-": -5}]),
        "twice": b'{"schema":"hiptool.load/1","schema":"hiptool.load/1"}',
        "same-ids": document("bench-copy", measurements=[cell(), cell()]),
        "other-version": {"schema": "hiptool.load/3"},
        "manifest": {"schema": "hiptool.manifest/1"},
        "deep": b"[" * 70,
        "numbers": b'{"schema":"hiptool.load/1","a":[1e999,-1e999,1e-999,18446744073709551616]}',
        "not-hiptool": b"{}",
    }
    return {name: ALL + (data if isinstance(data, bytes) else
                         json.dumps(data, separators=(",", ":")).encode())
            for name, data in documents.items()}


def byte_seeds(name):
    """Of several lengths; the first byte is the format, the others are a document's fields."""
    dice = random.Random(name)
    seeds = {"empty": b"", "zeros": ALL + bytes(64), "ones": ALL + b"\xff" * 64}
    for index in range(12):
        first = ALL if index % 3 == 0 else bytes([index])
        seeds[f"any-{index}"] = first + dice.randbytes(60 + 60 * index)
    return seeds


def report_seeds():
    return {"report": text_seeds,
            **{f"report_{name}": lambda name=name: byte_seeds(name)
               for name in ("values", "compare", "merge")}}
