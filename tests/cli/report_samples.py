# SPDX-License-Identifier: MIT
"""Documents of bench-copy, run-kernel, load and devices, as the command line promises them; made
without hiptool, so that the report command is not tested with its own writer alone."""
import json
import random

import program

GIB = 1 << 30
MIB = 1 << 20
HOSTILE = "a\"b\\c<d>&'e'\n{f=\"g\"}\x1b[2J\u202e\uffff\u00e4"


def head(command, host="node01", status="ok", measured=()):
    return {
        "schema": f"hiptool.{command}/2",
        "tool": {"version": "1.2.3", "commit": "1.2.3-4-gabcdef0"},
        "host": {"name": host, "kernel": "6.1.0", "cpu": "Some CPU", "cores": 64,
                 "memory_bytes": 512 * GIB},
        "started_at": "2026-03-01T12:00:00Z",
        "status": status,
        **verdict(status, measured),
    }


def verdict(status, measured=()):
    """A run failed whose measurements did, or in which every one was skipped."""
    states = [one["status"] for one in measured]
    code = {"mismatch": 5, "wrong": 5, "failed": 6, "interrupted": 130}.get(status, 0)
    if code == 0 and states:
        code = (5 if "mismatch" in states else 6 if "failed" in states
                else 3 if set(states) == {"skipped"} else 0)
    return {"exit_code": code, "passed": code == 0, "failures": []}


def times(median_s, count=15, seed=1, noise=0.004):
    dice = random.Random(seed)
    return [median_s * (1 + dice.gauss(0, noise)) for _ in range(count)]


def cell_id(series, size, source, destination):
    unit, name = next((unit, name) for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (1 << 10, "KiB"))
                      if size >= unit)
    devices = ">".join(end for end in (source, destination) if end != "host")
    return f"{series}.{size // unit}{name}@{devices}"


def measurement(details, **fields):
    """One of `measurements`: every key is there."""
    return {**dict.fromkeys([
        "id", "label", "series", "kind", "stage", "source", "destination", "devices", "size_bytes",
        "dtype", "shape", "layout", "library", "status", "reason", "error", "samples_s",
        "process_samples",
        "median_s", "bytes_per_s", "p05_bytes_per_s", "p95_bytes_per_s", "flops_per_s",
        "limit_bytes_per_s", "limit_source", "share_of_limit", "share_reason", "checked",
        "max_error", "tolerance", "wrong"]), **fields, "details": details}


def cell(kind="h2d", memory="pinned", engine="copy", source="host", destination="nvidia:0",
         size=256 * MIB, rate=52e9, count=15, seed=1, noise=0.004, status="ok", reason=None):
    samples = times(size / rate, count, seed, noise) if status == "ok" else []
    rates = sorted(size / sample for sample in samples)
    middle = rates[len(rates) // 2] if rates else None
    name = cell_id(f"{kind}.{memory}.{engine}", size, source, destination)
    label = name.split("@")[0]
    return measurement(
        {"memory": memory, "engine": engine, "min_bytes_per_s": rates[0] if rates else None,
         "max_bytes_per_s": rates[-1] if rates else None, "cv": noise if rates else None,
         "latency_s": None, "traffic_bytes_per_s": 2 * middle if middle else None,
         "wall_bytes_per_s": middle, "overlap": None},
        id=name, label=label, series=label.rpartition(".")[0], kind=kind, source=source,
        destination=destination,
        devices=[end for end in dict.fromkeys(f"{source},{destination}".split(","))
                 if end != "host"],
        size_bytes=size, status=status, reason=reason, samples_s=samples,
        median_s=size / middle if middle else None, bytes_per_s=middle,
        p05_bytes_per_s=rates[0] if rates else None, p95_bytes_per_s=rates[-1] if rates else None,
        limit_bytes_per_s=63e9, limit_source="pcie-link",
        share_of_limit=middle / 63e9 if middle else None)


def context(clock=1980e6, speed=32.0, width=16, idle_speed=2.5, throttle=(),
            name="NVIDIA H200", driver="560.35.05"):
    """Only the first device differs from the usual, apart from its name."""
    def moment(speed_gt_s):
        return {"link": {"speed_gt_s": speed_gt_s, "width": width}, "clock_hz": clock,
                "temperature_c": 40, "throttle": list(throttle)}
    return {"driver": driver, "runtime": "12.6",
            "devices": [{"id": "nvidia:0", "name": name, "before": moment(idle_speed),
                         "during": moment(speed), "after": moment(idle_speed)},
                        *({"id": f"nvidia:{index}", "name": name} for index in range(1, 16))]}


def bench_copy(cells, host="node01", status="ok", context_of=None):
    return {**head("bench-copy", host, status, cells), "context": context_of or context(),
            "measurements": list(cells)}


def kernel_result(kernel="add", dtype="f32", elements=1 << 26, median_s=1e-3, device="nvidia:0",
                  count=15, seed=1, status="ok", reason=None):
    series = f"{kernel}.{dtype}"
    return measurement(
        {"kernel": kernel, "elements": elements}, id=f"{series}.{elements}.{device}",
        label=f"{series}.{elements}", series=series, kind="kernel", destination=device,
        devices=[device], dtype=dtype, status=status, reason=reason, checked=elements,
        max_error=0.0, tolerance=0.0, samples_s=times(median_s, count, seed), median_s=median_s,
        bytes_per_s=12 * elements / median_s, flops_per_s=elements / median_s, share_of_limit=0.9,
        limit_source="memory-clock")


def run_kernel(results, host="node01"):
    return {**head("run-kernel", host, measured=results), "context": context(),
            "measurements": list(results)}


def load(host="node01", status="verified", rate=5.5e9, path="/models/a.gguf"):
    return {
        **head("load", host, status),
        "model": {"path": path, "format": "gguf", "files": 1, "tensors": 291,
                  "bytes": 13 * GIB, "parameters": 7_000_000_000, "architecture": "llama",
                  "file_bytes": 13 * GIB + 4096},
        "devices": [{"id": "nvidia:0", "tensors": 291, "bytes": 13 * GIB, "copy_time_s": 0.27,
                     "copy_bytes_per_s": 13 * GIB / 0.27}],
        "verify": {"mode": "full", "algorithm": "xxh3-64 of 16 KiB blocks", "blocks": 100,
                   "digest": "0123456789abcdef", "mismatches": []},
        "limits": {"h2d_bytes_per_s": 63e9, "read_bytes_per_s": None}, "share_of_limit": 0.1,
        "load_time_s": 13 * GIB / rate, "wall_time_s": 13 * GIB / rate + 1, "bytes_per_s": rate,
        "phases": [{"name": "read", "start_s": 0.0, "duration_s": 1.0}],
        "residency": {"cached_bytes": 0, "direct_bytes": 13 * GIB},
        "measurements": load_measurements(path.rpartition("/")[2], rate, status),
    }


def load_measurements(name, rate, status):
    fields = {"devices": ["nvidia:0"], "destination": "nvidia:0", "size_bytes": 13 * GIB,
              "status": "ok" if status == "verified" else status, "samples_s": []}
    return [
        measurement({}, id=f"load.{name}", label=f"load.{name}", series=f"load.{name}",
                    kind="load", median_s=13 * GIB / rate, bytes_per_s=rate, share_of_limit=0.1,
                    **fields),
        measurement({}, id=f"load-copy.{name}.nvidia:0", label=f"load-copy.{name}",
                    series=f"load-copy.{name}", kind="load-copy", median_s=0.27,
                    bytes_per_s=13 * GIB / 0.27, **fields)]


def sweep():
    return [cell(kind=kind, size=1 << power, rate=52e9 * (1 << power) / ((1 << power) + 5e5))
            for kind in ("h2d", "d2h") for power in range(12, 31, 3)]


def pairs(count=8):
    return [cell(kind="p2p-read", source=f"nvidia:{a}", destination=f"nvidia:{b}",
                         rate=40e9 if (a, b) == (2, 5) else 389.994e9, noise=0)
            for a in range(count) for b in range(count) if a != b]


def all_kinds():
    """Every status, sizes, pairs, and a hostile name."""
    odd = cell(kind="bidir", status="failed", reason=HOSTILE)
    odd["id"] = HOSTILE
    return bench_copy(
        [*sweep(), *pairs(), odd, cell(kind="d2d", status="skipped", reason="no peer"),
         cell(memory="registered", status="mismatch", reason="3 bytes differ")])


def first_version(document):
    """The same as hiptool 0.2.0 wrote it, of bench-copy, run-kernel and load."""
    command = document["schema"].partition(".")[2].partition("/")[0]
    old = {**document, "schema": f"hiptool.{command}/1"}
    for added in ("exit_code", "passed", "failures"):   # documents before 0.2.0 lacked them, too
        del old[added]
    measured = [{**one, **one["details"]} for one in old.pop("measurements")]
    for one in measured:
        del one["details"], one["label"], one["series"], one["devices"]
        if command == "bench-copy":
            del one["median_s"]
            one["median_bytes_per_s"] = one.pop("bytes_per_s")
        else:
            del one["id"]
            one["device"] = one.pop("destination")
            one["share_of_peak"] = one.pop("share_of_limit")
    if command != "load":   # whose measurements followed from its other fields
        old["cells" if command == "bench-copy" else "results"] = measured
    return old


def write(folder, name, document):
    """The path of a file that holds the document."""
    path = folder / name
    text = document if isinstance(document, str) else json.dumps(document)
    path.write_text(text, encoding="utf-8")
    return str(path)


class RenderTest(program.CliTest):
    def render(self, document, output_format, code=0):
        path = write(self.folder, "document.json", document)
        result = program.run("report", "render", path, "--format", output_format)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stdout
