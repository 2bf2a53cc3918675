#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The validator refuses what is wrong, and the schemas accept and refuse synthetic documents."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import validate  # noqa: E402  (after the line above, which keeps the source tree clean)

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import cases  # noqa: E402  (in the folder named above)

HERE = pathlib.Path(__file__).resolve().parent

COMMON = {
    "tool": {"version": "0.2.0", "commit": None},
    "host": {"name": "synthetic", "kernel": "Linux 6.1", "cpu": None, "cores": 2,
             "memory_bytes": 1 << 34},
    "started_at": "2025-01-02T03:04:05Z",
    "exit_code": 0, "passed": True, "failures": [],
}
FAILURE = {"what": "link", "kind": "finding", "host": None, "device": "nvidia:0", "stage": None,
           "measurement": None, "tensor": None, "file": None, "expected": 16, "got": 8,
           "reason": None, "action": None, "code": None, "action_class": None}
MEASUREMENT = {
    "id": "load.m.gguf", "label": "load.m.gguf", "series": "load.m.gguf", "kind": "load",
    "stage": None, "source": None, "destination": "cpu:0", "devices": ["cpu:0"],
    "size_bytes": 4096, "dtype": None, "shape": None, "layout": None, "library": None,
    "status": "ok", "reason": None, "error": None, "samples_s": [],
    "process_samples": None, "median_s": 0.2,
    "bytes_per_s": 20480.0, "p05_bytes_per_s": None, "p95_bytes_per_s": None, "flops_per_s": None,
    "limit_bytes_per_s": None, "limit_source": None, "share_of_limit": None, "share_reason": None,
    "checked": None, "max_error": None, "tolerance": None, "details": {},
    "wrong": {"argument": 0, "first_bad_index": 1, "expected": None, "got": None, "xor_bits": 1,
              "count": 1, "reread_agrees": None},
}
ERROR = {"code": "unavailable", "message": "/dev/kfd is missing", "hint": None,
         "object": None,
         "native": {"platform": "amd", "code": 100, "name": "hipErrorNoDevice"}}
DEVICE = {
    "id": "nvidia:0", "platform": "nvidia", "ordinal": 0, "name": "Synthetic GPU", "arch": "sm_90",
    "uuid": None, "pci_bus_id": "0000:65:00.0", "memory_total_bytes": 150110011392,
    "memory_free_bytes": None, "compute_units": 132, "warp_size": 32, "clock_hz": 1.98e9,
    "memory_clock_hz": 3201000000, "memory_bus_width_bits": 6144, "memory_peak_bytes_per_s": 4.9e12,
    "memory_peak_source": "clock and width", "l2_cache_bytes": 62914560,
    "max_threads_per_block": 1024, "shared_memory_per_block_bytes": 49152, "integrated": False,
    "ecc_enabled": True, "numa_node": None, "kernel_image": None,
    "pcie": {"speed_gt_s": 32.0, "width": 16, "max_speed_gt_s": 32.0, "max_width": 16,
             "peak_bytes_per_s": 63015384615.4},
    "compute_unit_name": "SMs",
    "sensors": {"source": None, "reason": "NVML cannot be loaded", "temperature_c": None,
                "power_w": None, "power_limit_w": None, "memory_used_bytes": None,
                "busy_share": None, "clock_hz": None, "memory_clock_hz": None, "throttle": None,
                "processes": [{"pid": 7, "name": None, "memory_bytes": None}]},
}
DEVICES = {
    "schema": "hiptool.devices/2", **COMMON, "status": "ok",
    "platforms": [
        {"platform": "nvidia", "status": "ok", "library": "/usr/lib/libcuda.so.1",
         "runtime_version": "13.0", "driver_version": "580.0", "reason": None, "hint": None},
        {"platform": "amd", "status": "unavailable", "library": None, "runtime_version": None,
         "driver_version": None, "reason": "no AMD GPU", "hint": None}],
    "devices": [DEVICE],
    "checks": [{"id": "kfd", "severity": "unknown", "device": None, "read": None,
                "source": "/dev/kfd", "expected": "openable", "fix": "run as a user of render",
                "code": None, "action_class": None, "applies": True}],
}
LOAD = {
    "schema": "hiptool.load/2", **COMMON, "status": "verified",
    "model": {"path": "m.gguf", "format": "gguf", "files": 1, "tensors": 2, "bytes": 4096,
              "parameters": None, "architecture": "llama", "file_bytes": 5000, "name": None,
              "file_type": None, "quantization": [{"type": "F32", "tensors": 2, "bytes": 4096}],
              "context_length": 4096, "layers": 2, "embedding_length": 64, "heads": [2, 0],
              "kv_heads": 1, "key_length": 32, "value_length": 32, "sliding_window": None,
              "experts": None, "experts_used": None, "vocabulary_size": None},
    "devices": [{"id": "cpu:0", "tensors": 2, "bytes": 4096, "copy_time_s": 0.1,
                 "copy_bytes_per_s": 40960.0}],
    "verify": {"mode": "full", "algorithm": "xxh3", "blocks": 1, "digest": "00", "mismatches": []},
    "limits": {"h2d_bytes_per_s": None, "read_bytes_per_s": 1e9},
    "share_of_limit": None, "load_time_s": 0.2, "verdict_time_s": 0.25, "wall_time_s": 0.3,
    "bytes_per_s": 20480.0,
    "phases": [{"name": "plan", "start_s": 0.0, "duration_s": 0.01}],
    "residency": {"cached_bytes": 4096, "direct_bytes": None},
    "values": {"checked": 1024, "nan": 0, "inf": 0, "tensors": []},
    "decode": {"prompt_ids": [1, 2], "ids": [3], "text": None, "logits_digest": "00",
               "tokens_per_s": None, "share_of_peak": 0.5,
               "sampling": {"temperature": 0.8, "top_k": None, "top_p": 1.0, "seed": 0}},
    "fit": {"context": 4096, "weights_bytes": 1, "kv_cache_bytes": 1, "margin_bytes": 0,
            "total_bytes": 2, "shortfall_bytes": 0, "most_context": None, "verdict": "split",
            "devices": [{"id": "amd:0", "memory_total_bytes": 9, "memory_free_bytes": None,
                         "tensors": 2, "weights_bytes": 1, "kv_cache_bytes": 1,
                         "margin_bytes": 0}],
            "split": [1.0], "gpu_layers": None},
    "measurements": [MEASUREMENT],
    "tensors": [{"name": "a", "dtype": "F32", "shape": [2, 2], "bytes": 16, "file": "m.gguf",
                 "file_offset": 64, "device": "cpu:0", "device_offset": 0, "digest": None}],
}
MAKE_MODEL = {"schema": "hiptool.make-model/2", **COMMON, "status": "ok"}


def failed(document):
    return {"schema": document["schema"], **COMMON, "status": "failed", "error": ERROR,
            "exit_code": 3, "passed": False}


def errors(schema, document):
    return validate.Validator(HERE / f"{schema}.schema.json").errors(document)


def changed(document, path, value):
    """A copy with one value replaced; the last name of the path is removed for `...`."""
    result = copy.deepcopy(document)
    target = result
    for step in path[:-1]:
        target = target[step]
    if value is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return result


def check(schema, value):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.schema.json"
        path.write_text(json.dumps(schema))
        return validate.Validator(path).errors(value)


class Keywords(unittest.TestCase):
    def test_each_keyword_accepts_and_refuses(self):
        for schema, good, bad in [
                ({"type": "integer"}, 3, 3.0),
                ({"type": "integer"}, 18446744073709551615, True),
                ({"type": "number"}, 1, "1"),
                ({"type": ["string", "null"]}, None, 0),
                ({"type": "boolean"}, False, 0),
                ({"type": "array"}, [], {}),
                ({"required": ["a"]}, {"a": None}, {"b": 1}),
                ({"properties": {"a": {"type": "null"}}}, {"b": 1}, {"a": 1}),
                ({"properties": {"a": False}}, {}, {"a": None}),
                ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, {"b": 1}),
                ({"items": {"minimum": 2}}, [2, 3], [2, 1]),
                ({"enum": ["a", 1]}, 1, True),
                ({"const": 1}, 1, True),
                ({"pattern": "^a+$"}, "aa", "ab"),
                ({"minLength": 1}, "a", ""),
                ({"minItems": 1}, [1], []),
                ({"minimum": 0}, 0, -0.1),
                ({"anyOf": [{"type": "null"}, {"minimum": 1, "type": "number"}]}, None, 0),
                ({"allOf": [{"minimum": 1}, {"type": "integer"}]}, 1, 1.5),
                ({"if": {"const": 1}, "then": False}, 2, 1),
                ({"if": {"const": 1}, "else": False}, 1, 2),
                ({"$defs": {"n": {"const": 1}}, "$ref": "#/$defs/n"}, 1, 2)]:
            with self.subTest(schema=schema):
                self.assertEqual(check(schema, good), [])
                self.assertNotEqual(check(schema, bad), [])

    def test_errors_say_where(self):
        schema = {"properties": {"a": {"items": {"type": "null"}}}}
        self.assertEqual(check(schema, {"a": [None, 5]}), ["$.a[1]: 5 is not of type null"])

    def test_anyof_reports_the_branch_that_was_meant(self):
        schema = {"anyOf": [{"type": "object", "properties": {"a": {"const": 1}}},
                            {"type": "null"}]}
        self.assertEqual(check(schema, {"a": 2}), ["$.a: 2 is not 1"])

    def test_a_schema_that_promises_too_much_is_refused(self):
        for schema in ({"maxLength": 3}, {"type": "text"}, {"$ref": "#/$defs/none"},
                       {"$ref": "none.json#/a"}):
            with self.subTest(schema=schema), self.assertRaises(validate.SchemaError):
                check(schema, "abc")

    def test_documents_that_are_no_json(self):
        for text in ("", "{} {}", "NaN", "[Infinity]", '{"a": 1, "a": 2}', "{'a': 1}"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                validate.read_json(text)


class Schemas(unittest.TestCase):
    def assert_refused(self, schema, document, part):
        found = errors(schema, document)
        self.assertTrue(any(part in line for line in found), f"{part!r} not in {found}")

    def test_synthetic_documents_are_accepted(self):
        for schema, document in (("devices", DEVICES), ("load", LOAD), ("make-model", MAKE_MODEL)):
            with self.subTest(schema=schema):
                self.assertEqual(errors(schema, document), [])
                self.assertEqual(errors(schema, failed(document)), [])
                self.assertEqual(errors("error", failed(document)), [])
                self.assertEqual(errors(schema, {**document, "new_field": [1]}), [])

    def test_every_field_of_a_document_is_required(self):
        optional = {("checks",), ("values",), ("decode",), ("fit",), ("tensors",)}

        def paths(value, path=()):
            members = value.items() if isinstance(value, dict) else enumerate(value)
            for name, member in members:
                if isinstance(value, dict):
                    yield path + (name,)
                if isinstance(member, (dict, list)):
                    yield from paths(member, path + (name,))

        for schema, document in (("devices", DEVICES), ("load", LOAD), ("make-model", MAKE_MODEL),
                                 ("error", failed(DEVICES))):
            for path in set(paths(document)) - optional:
                with self.subTest(schema=schema, path=path):
                    self.assert_refused(schema, changed(document, path, ...),
                                        f"{path[-1]} is missing")

    def test_wrong_devices(self):
        for path, value, part in [
                (("schema",), "hiptool.load/1", "$.schema"),
                (("status",), "fine", "$.status"),
                (("started_at",), "yesterday", "$.started_at"),
                (("host", "cores"), "2", "$.host.cores"),
                (("error",), ERROR, "$.error"),
                (("devices", 0, "id"), "cuda:0", "$.devices[0].id"),
                (("devices", 0, "memory_total_bytes"), 1.5, "memory_total_bytes"),
                (("devices", 0, "memory_total_bytes"), -1, "memory_total_bytes"),
                (("devices", 0, "pcie", "width"), "x16", "$.devices[0].pcie.width"),
                (("devices", 0, "integrated"), 1, "integrated"),
                (("devices", 0, "compute_unit_name"), "CU", "compute_unit_name"),
                (("devices", 0, "sensors", "reason"), None, "$.devices[0].sensors.reason"),
                (("devices", 0, "sensors", "processes", 0, "pid"), 0, "pid"),
                (("platforms", 0, "runtime_version"), 13, "runtime_version"),
                (("platforms", 1, "reason"), None, "$.platforms[1].reason"),
                (("checks", 0, "source"), None, "$.checks[0].source"),
                (("checks", 0, "fix"), None, "$.checks[0].fix"),
                (("checks", 0, "severity"), "bad", "severity"),
                (("checks", 0, "severity"), "warn", "$.checks[0].code"),
                (("checks", 0, "code"), "copy-rate", "$.checks[0].code")]:
            with self.subTest(path=path):
                self.assert_refused("devices", changed(DEVICES, path, value), part)

    def test_wrong_loads(self):
        for path, value, part in [
                (("status",), "ok", "$.status"),
                (("model",), None, "$.model"),
                (("model", "format"), "onnx", "$.model.format"),
                (("verify", "mode"), "some", "$.verify.mode"),
                (("verify", "mismatches"), [{"tensor": "a"}], "file_offset is missing"),
                (("limits",), None, "$.limits"),
                (("load_time_s",), "0.2", "$.load_time_s"),
                (("tensors", 0, "shape"), [2, -2], "$.tensors[0].shape[1]"),
                (("values", "nan"), None, "$.values.nan")]:
            with self.subTest(path=path):
                self.assert_refused("load", changed(LOAD, path, value), part)

    def test_wrong_errors(self):
        document = failed(LOAD)
        for path, value, part in [
                (("error",), ..., "error is missing"),
                (("error", "code"), "oops", "$.error.code"),
                (("error", "message"), "", "$.error.message"),
                (("error", "native", "code"), "100", "$.error.native.code"),
                (("status",), "ok", "$.status")]:
            with self.subTest(path=path):
                self.assert_refused("error", changed(document, path, value), part)
        self.assertEqual(errors("load", changed(document, ("error", "native"), None)), [])


    def test_wrong_texts(self):
        document = {**DEVICES, "measured_on": [
            {"id": "nvidia:0", "name": "GPU", "arch": "sm_90", "uuid": None, "pci_bus_id": None,
             "driver": "580.1", "runtime": "13.0"}],
            "shown": {"lines": [{"tone": "good", "text": "1 GPU usable"}], "notes": [], "tables": [
                {"title": "", "columns": [{"key": "id", "title": "ID", "unit": "none"}],
                 "rows": [["nvidia:0"]], "heat": [[0.5]]}]}}
        self.assertEqual(errors("devices", document), [])
        for path, value, part in [
                (("measured_on",), [], "$.measured_on"),
                (("measured_on", 0, "id"), "host", "$.measured_on[0].id"),
                (("measured_on", 0, "driver"), ..., "driver is missing"),
                (("shown", "lines"), ..., "lines is missing"),
                (("shown", "lines", 0, "tone"), "green", "$.shown.lines[0].tone"),
                (("shown", "tables", 0, "columns", 0, "unit"), "ms", "unit"),
                (("shown", "tables", 0, "rows"), ..., "rows is missing")]:
            with self.subTest(path=path):
                self.assert_refused("devices", changed(document, path, value), part)

    def test_wrong_verdicts(self):
        missed = {**DEVICES, "status": "failed", "exit_code": 1, "passed": False,
                  "failures": [FAILURE]}
        self.assertEqual(errors("devices", missed), [])   # a verdict, and no error
        for path, value, part in [
                (("exit_code",), 0, "$.passed"),
                (("exit_code",), 3, "error is missing"),
                (("exit_code",), 9, "$.exit_code"),
                (("passed",), True, "$.passed"),
                (("failures",), [], "$.failures"),
                (("failures", 0, "what"), ..., "what is missing"),
                (("failures", 0, "expected"), ..., "expected is missing"),
                (("failures", 0, "got"), ..., "got is missing")]:
            with self.subTest(path=path, value=value):
                self.assert_refused("devices", changed(missed, path, value), part)


class Program(unittest.TestCase):
    def run_with(self, *arguments, text):
        return subprocess.run([sys.executable, HERE / "validate.py", *arguments], input=text,
                              capture_output=True, text=True, check=False)

    def test_exit_codes(self):
        schema = str(HERE / "devices.schema.json")
        self.assertEqual(self.run_with(schema, text=json.dumps(DEVICES)).returncode, 0)
        wrong = self.run_with(schema, text=json.dumps({**DEVICES, "status": 1}))
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("$.status: 1 is none of", wrong.stderr)
        self.assertEqual(self.run_with(schema, text="").returncode, 1)
        self.assertEqual(self.run_with(schema, text="{}{}").returncode, 1)
        self.assertEqual(self.run_with(text="{}").returncode, 2)
        self.assertEqual(self.run_with("missing.json", text="{}").returncode, 2)


if __name__ == "__main__":
    cases.main()
