# SPDX-License-Identifier: MIT
"""The suite `real-hip` over a fake HIP runtime: what it calls right, wrong and not possible there.

Usage: real_hip_test.py REAL_HIP HIPTOOL CONFORMANCE SWEEP EVENT_ORDER FAKE_HIP LATE_COPIES
"""
import json
import os
import pathlib
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import cases  # noqa: E402  (in the folder named above)

TABLE = str(pathlib.Path(__file__).resolve().parent / "real_hip_table.py")
DRIVER, HIPTOOL, CONFORMANCE, SWEEP, EVENT_ORDER, FAKE, LATE = sys.argv[1:8]
PROGRAMS = [HIPTOOL, CONFORMANCE, SWEEP, EVENT_ORDER]

# Stands where an emulator would: a program is run, and what it does is changed.
PLANTED = """
import os, subprocess, sys
kind, words = sys.argv[1], sys.argv[2:]
done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
is_load = words[1] == "load"
if kind == "digest" and is_load:
    done.stdout = done.stdout.replace('"digest": "', '"digest": "0')
if kind == "dies" and is_load:
    os.abort()
if kind == "lacks" and is_load:
    print("emulator: unimplemented opcode 0x1d", file=sys.stderr, flush=True)
    os.abort()
marker = sys.argv[0] + ".began"
is_first = kind == "hangs-once" and is_load and "fast" in words and not os.path.exists(marker)
if is_first:
    open(marker, "w").close()
if is_first or kind == "hangs" and is_load and "fast" in words:
    child = "import os, sys; to = open(sys.argv[1], 'w'); print('here', file=to, flush=True); "
    child += "os.read(os.pipe()[0], 1)"
    subprocess.run([sys.executable, "-c", child, sys.argv[0] + ".alive"], check=False)
sys.stdout.write(done.stdout)
sys.exit(done.returncode)
"""


class RealHip(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="real-hip-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def suite(self, groups, *options, prefix="", **variables):
        """Its exit code, its cases by name, and what it printed."""
        path = self.folder / "real-hip.json"
        environment = {**os.environ, "HIPTOOL_HIP_LIBRARY": FAKE, "HIPTOOL_REAL_HIP": prefix,
                       "HIPTOOL_CUDA_LIBRARY": "/nowhere", **variables}
        done = subprocess.run([sys.executable, DRIVER, *PROGRAMS, "--json", str(path), "--groups",
                               groups, *options], env=environment, text=True, capture_output=True,
                              check=False, timeout=300)
        found = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []
        return done.returncode, {case["name"]: case for case in found}, done.stdout + done.stderr

    def planted(self, kind, *options):
        program = self.folder / "planted.py"
        program.write_text(PLANTED, encoding="utf-8")
        prefix = shlex.join([sys.executable, str(program), kind])
        return self.suite("load", *options, prefix=prefix)

    def count(self, found, status):
        return sum(case["status"] == status for case in found.values())

    def test_a_runtime_that_works_is_right(self):
        code, found, said = self.suite("events,devices,doctor,load,copies,failures,prove")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.count(found, "right"), len(found), said)
        self.assertGreater(len(found), 20)

    def test_parts_of_the_long_groups_are_right(self):
        code, found, said = self.suite("kernels,conformance,operations,faults", "--match",
                                       "^(swiglu|eq|events: without.*|events: flags)$")
        self.assertEqual(code, 0, said)
        for name in ("swiglu.f32.64KiB@amd:0", "eq.i32@amd:0", "eq.f16@amd:0",
                     "events: without timing there is no time"):
            self.assertEqual(found[name]["status"], "right", said)

    def test_check_runs_the_stage_of_a_model(self):
        code, found, said = self.suite("check", "--match", "^model$")
        self.assertEqual((code, list(found)), (0, ["check: model"]), said)
        self.assertEqual(found["check: model"]["status"], "right", said)

    def test_a_call_that_fails_is_wrong(self):
        code, found, said = self.suite("conformance", "--match", "streams: host functions in order",
                                       FAKE_HIP_HOST_FUNC="2")
        case = found["scenario: streams: host functions in order"]
        self.assertEqual((code, case["status"]), (1, "wrong"), said)
        self.assertIn("out_of_memory: hipLaunchHostFunc", case["message"])

    def test_a_case_that_is_skipped_is_not_possible(self):
        code, found, said = self.suite("conformance", "--match", "^devices: peers",
                                       FAKE_HIP_DEVICES="1")
        case = found["devices: peers"]
        self.assertEqual((code, case["status"]), (0, "not possible there"), said)
        self.assertEqual(case["message"], "there is only one device")

    def test_other_bytes_than_the_processors_are_wrong(self):
        code, found, said = self.planted("digest")
        self.assertEqual(code, 1, said)
        self.assertEqual(found["load --verify full"]["status"], "wrong", said)
        self.assertEqual(found["load --verify none"]["status"], "right", said)

    def test_a_death_without_a_reason_is_wrong(self):
        code, found, said = self.planted("dies")
        self.assertEqual(code, 1, said)
        self.assertEqual(self.count(found, "wrong"), len(found), said)
        self.assertIn("killed, exit code -6", found["load --verify full"]["message"])

    def test_what_an_emulator_says_it_lacks_is_not_possible(self):
        code, found, said = self.planted("lacks")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.count(found, "not possible there"), len(found), said)
        self.assertIn("unimplemented opcode 0x1d", found["load --verify full"]["message"])
        self.assertRegex(said, r"load +0 +0  5\n")

    def pipe_of_children(self):
        """What a hanging child holds open."""
        path = self.folder / "planted.py.alive"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        return reader

    def read_some(self, reader):
        self.assertTrue(select.select([reader], [], [], 60)[0], "a child is still there")
        return os.read(reader, 100)

    def test_a_hang_is_not_possible_behind_a_prefix(self):
        reader = self.pipe_of_children()
        code, found, said = self.planted("hangs", "--limit", "20")
        self.assertEqual(code, 0, said)
        self.assertEqual(found["load --verify full"]["status"], "right", said)
        self.assertIn("no end within 20 s", found["load --verify fast"]["message"])
        self.assertEqual(self.read_some(reader), b"here\n")
        self.assertEqual(self.read_some(reader), b"")

    def test_what_does_not_end_is_begun_anew(self):
        self.pipe_of_children()
        code, found, said = self.planted("hangs-once", "--limit", "20", "--tries", "2")
        self.assertEqual((code, self.count(found, "right")), (0, 5), said)
        self.assertEqual(found["load --verify fast"]["message"],
                         "try 2, those before did not end")
        self.assertEqual(found["load --verify none"]["message"], "")

    def test_a_run_is_continued(self):
        self.pipe_of_children()
        code, found, said = self.planted("hangs", "--limit", "20")
        self.assertEqual((code, self.count(found, "not possible there")), (0, 1), said)
        code, found, said = self.suite("doctor", "--continue")
        self.assertEqual((code, self.count(found, "not possible there")), (0, 1), said)
        # Whatever is not kept and compares a digest is wrong now.
        code, found, said = self.planted("digest", "--continue")
        self.assertEqual((code, self.count(found, "right")), (0, 6), said)
        code, found, said = self.planted("digest")
        self.assertEqual((code, self.count(found, "wrong")), (1, 2), said)

    def test_a_run_on_another_machine_is_not_continued(self):
        self.planted("")
        path = self.folder / "real-hip.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**document, "arch": "gfx906"}), encoding="utf-8")
        code, _, said = self.planted("", "--continue")
        self.assertEqual(code, 1, said)
        self.assertIn("real-hip.json is of gfx906, not of gfx90a", said)

    def test_groups_that_are_not_run_stay_in_the_file(self):
        self.suite("doctor")
        code, found, said = self.suite("devices", "--continue")
        self.assertEqual((code, list(found)), (0, ["devices", "devices amd:0", "devices --doctor"]),
                         said)

    def test_an_interrupted_run_leaves_what_it_found(self):
        reader = self.pipe_of_children()
        path = self.folder / "real-hip.json"
        program = self.folder / "planted.py"
        program.write_text(PLANTED, encoding="utf-8")
        environment = {**os.environ, "HIPTOOL_HIP_LIBRARY": FAKE,
                       "HIPTOOL_CUDA_LIBRARY": "/nowhere",
                       "HIPTOOL_REAL_HIP": shlex.join([sys.executable, str(program),
                                                       "hangs"])}
        words = ["--json", str(path), "--groups", "load", "--limit", "120"]
        with subprocess.Popen([sys.executable, DRIVER, *PROGRAMS, *words], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
            poll = select.poll()
            poll.register(reader, select.POLLIN)
            self.assertTrue(poll.poll(120_000), "no child")
            self.assertEqual(os.read(reader, 100), b"here\n")
            driver.send_signal(signal.SIGINT)
            self.assertEqual(self.read_some(reader), b"")
        found = json.loads(path.read_text(encoding="utf-8"))["cases"]
        self.assertEqual([(case["name"], case["status"]) for case in found],
                         [("load --verify full", "right")])

    def test_events_out_of_order_are_found(self):
        done = subprocess.run([EVENT_ORDER, LATE, "1", "1"], text=True, capture_output=True,
                              check=False, timeout=60)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("wrong: 524288 of 1048576 bytes", done.stdout)

    def test_no_device_is_a_failure(self):
        code, found, said = self.suite("events", HIPTOOL_HIP_LIBRARY="/nowhere")
        self.assertEqual((code, found), (1, {}), said)
        self.assertIn("no AMD GPU: ", said)

    def test_without_the_variable_it_is_skipped(self):
        environment = {name: value for name, value in os.environ.items()
                       if name != "HIPTOOL_REAL_HIP"}
        done = subprocess.run([sys.executable, DRIVER, *PROGRAMS], env=environment, text=True,
                              capture_output=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("HIPTOOL_REAL_HIP is not set", done.stdout)


class Table(unittest.TestCase):
    """A document's table of what runs found."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="real-hip-table-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, hip, *found):
        """Of cases (group, name, status, message), each a unit."""
        keys = ("group", "name", "status", "message")
        listed = [{**dict(zip(keys, case)), "unit": case[1]} for case in found]
        path = self.folder / name
        path.write_text(json.dumps({"hip": hip, "arch": "gfx942", "cases": listed,
                                    "units": [case[:2] for case in found]}), encoding="utf-8")
        return path

    def run_table(self, *words):
        return subprocess.run([sys.executable, TABLE, *map(str, words)], text=True,
                              capture_output=True, check=False, timeout=60)

    def files(self):
        return [self.write("a.json", "7.2.53211", ("operations", "add.f32@amd:0", "right", ""),
                           ("operations", "div.f32@amd:0", "wrong", "element [1]"),
                           ("events", "plain", "not possible there",
                            "no end within 20 s: pid 17")),
                self.write("b.json", "6.4.1", ("operations", "div.f32@amd:0", "wrong",
                                               "element [1]")),
                self.write("c.json", "7.2.53211", ("events", "plain", "right", ""))]

    def test_each_runtime_has_a_column(self):
        said = self.run_table(*self.files()[:2]).stdout
        self.assertEqual(said, """\
| | 7.2, gfx942 | 6.4, gfx942 |
|---|---|---|
| events without hiptool | 0 / 1 | not run |
| operations in f32, f16, i32 | 1 / 0, **1 wrong** | 0 / 0, **1 wrong** |

Wrong:

* element [1]: `div.f32` (all)

Not possible there:

* no end in time: `plain` (7.2, gfx942)
""")

    def test_a_later_run_replaces_units(self):
        said = self.run_table(*self.files()).stdout
        self.assertIn("| events without hiptool | 1 / 0 | not run |", said)
        self.assertNotIn("Not possible there", said)

    def test_only_the_marked_part_is_replaced(self):
        document = self.folder / "tested.md"
        begin, end = "<!-- real-hip: begin -->\n", "<!-- real-hip: end -->\n"
        document.write_text(f"before\n{begin}old\n{end}after\n", encoding="utf-8")
        files = self.files()
        done = self.run_table("--write", document, *files)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        table = self.run_table(*files).stdout
        self.assertEqual(document.read_text(encoding="utf-8"),
                         f"before\n{begin}{table}{end}after\n")
        document.write_text("without lines\n", encoding="utf-8")
        done = self.run_table("--write", document, *files)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(document.read_text(encoding="utf-8"), "without lines\n")


if __name__ == "__main__":
    cases.main(argv=sys.argv[:1] + sys.argv[8:])
