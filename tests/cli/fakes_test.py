# SPDX-License-Identifier: MIT
"""The program over fakes for the vendors' libraries, which FAKE_AMD5, FAKE_AMD7 and FAKE_CUDA
name. They run hiptool's own kernels on the processor, so nothing here was shown for a real device.

Usage: fakes_test.py PROGRAM [unittest options].
"""
import hashlib
import os
import pathlib

import program
from load_test import write_safetensors
from program import CliTest, clean_environment, run

# A device, its library, the kernel image that it must find.
CASES = [("amd:0", "FAKE_AMD5", "gfx90a"), ("amd:1", "FAKE_AMD7", "gfx90a"),
         ("nvidia:0", "FAKE_CUDA", "sm_90")]


def environment(library, **more):
    """The one library, and nothing of the other vendor."""
    names = {"HIPTOOL_HIP_LIBRARY": "/nowhere/hip", "HIPTOOL_CUDA_LIBRARY": "/nowhere/cuda"}
    which = "HIPTOOL_CUDA_LIBRARY" if library == "FAKE_CUDA" else "HIPTOOL_HIP_LIBRARY"
    return clean_environment(**{**names, which: os.environ[library]}, **more)


def image_of_build(image):
    """Only a cubin is for sm_90: a build without a ptxas has PTX for sm_60."""
    has_cubins = "sm_90" in run("--version").stdout.split()
    return "sm_60" if image == "sm_90" and not has_cubins else image


class StandIn(CliTest):
    def load(self, *words, **options):
        result = run("load", *words, "--format", "json", **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return self.assert_document(result.stdout, "load.schema.json")

    def devices(self, library, **more):
        result = run("devices", "--format", "json", environment=environment(library, **more))
        self.assertEqual(result.returncode, 0, result.stderr)
        document = self.assert_document(result.stdout, "devices.schema.json")
        return document, {device["id"]: device for device in document["devices"]}

    def test_load_verifies_by_the_kernel_of_the_devices_arch(self):
        model = str(write_safetensors(self.folder / "m.safetensors", {
            "a": os.urandom(100_000), "b": os.urandom(16_384), "c": os.urandom(3)}))
        on_cpu = self.load(model, "--device", "cpu")
        for device, library, image in CASES:
            for path in ("native", "fibers"):
                with self.subTest(device=device, library=library, path=path):
                    variables = environment(library, FAKE_KERNEL_PATH=path)
                    document = self.load(model, "--device", device, "--self-test",
                                         environment=variables)
                    self.assertEqual(document["status"], "verified")
                    self.assertEqual(document["verify"]["mode"], "full")
                    self.assertEqual(document["verify"]["digest"], on_cpu["verify"]["digest"])
                    self.assertTrue(all(fault["caught"] for fault in document["self_test"]))
                    text = run("load", model, "--device", device, environment=variables)
                    self.assertIn(f"kernel image {image_of_build(image)}", text.stdout)

    def test_a_driver_that_refuses_the_cubin_loads_the_ptx(self):
        model = str(write_safetensors(self.folder / "m.safetensors", {"a": os.urandom(100_000)}))
        digest = self.load(model, "--device", "cpu")["verify"]["digest"]
        for error in ("200", "209", "222"):
            with self.subTest(error=error):
                variables = environment("FAKE_CUDA", FAKE_CUDA_CUBIN_ERROR=error)
                result = run("load", model, "--device", "nvidia:0", "--check-tensors",
                             environment=variables)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertIn("kernel image sm_60", result.stdout)
                document = self.load(model, "--device", "nvidia:0", environment=variables)
                self.assertEqual(document["verify"]["mode"], "full")
                self.assertEqual(document["verify"]["digest"], digest)

    def test_copies_are_gated_by_a_kernel_and_checked_by_kernels(self):
        for device, library, _ in CASES:
            with self.subTest(device=device, library=library):
                result = run("bench-copy", "--device", device, "--kind", "h2d,d2h,d2d", "--engine",
                             "copy,kernel", "--size", "64KiB", "--samples", "9", "--format", "json",
                             environment=environment(library))
                self.assertEqual(result.returncode, 0, result.stderr)
                document = self.assert_document(result.stdout, "bench-copy.schema.json")
                cells = document["measurements"]
                self.assertEqual([cell["status"] for cell in cells], ["ok"] * 6)
                # The gate's kernel spins much faster here than on a GPU: on a busy machine it may
                # be open too early in a cell or two.
                self.assertGreaterEqual(sum(cell["gated"] for cell in cells), 4, result.stdout)

    def test_devices_of_every_kind(self):
        for device, library, _ in CASES:
            with self.subTest(device=device, library=library):
                document, devices = self.devices(library)
                self.assertIn(device, devices)
                self.assertIn(os.environ[library],
                              [platform["library"] for platform in document["platforms"]])

    def test_what_amd_tells_in_a_way_of_its_own(self):
        for library in ("FAKE_AMD5", "FAKE_AMD7"):
            _, devices = self.devices(library)
            self.assertEqual(devices["amd:1"]["uuid"], "GPU-5a1d00c0ffee0001")
            self.assertEqual(devices["amd:1"]["arch"], "gfx90a")
            self.assertEqual(devices["amd:1"]["compute_units"], 96)
            _, devices = self.devices(library, FAKE_HIP_ARCH="gfx1100")
            self.assertEqual(devices["amd:0"]["compute_units"], 96)
            self.assertEqual(devices["amd:0"]["warp_size"], 32)

    def test_the_first_line_names_the_chosen_gpu_and_why(self):
        if program.has_gpu_on_the_bus():
            self.skipTest("this machine has a GPU")
        both = {**environment("FAKE_CUDA"), "HIPTOOL_HIP_LIBRARY": os.environ["FAKE_AMD7"]}
        for variables, chosen in (
                ({"FAKE_HIP_INTEGRATED": "1,1", "FAKE_HIP_MEMORY_GIB": "62,62",
                  "FAKE_CUDA_MEMORY_GIB": "8,16"},
                 "nvidia:1 by default: the discrete GPU with the most memory"),
                ({"FAKE_CUDA_INTEGRATED": "1,1", "FAKE_HIP_INTEGRATED": "1,0"},
                 "amd:1 by default: the only discrete GPU"),
                ({"FAKE_HIP_MEMORY_GIB": "80,80", "FAKE_CUDA_MEMORY_GIB": "79,80"},
                 "amd:0 by default: the first of 4 GPUs with equal memory")):
            with self.subTest(chosen):
                result = run("run-kernel", "stream-copy", "--size", "4KiB",
                             environment={**both, **variables})
                self.assertEqual(result.returncode, 0, result.stderr)
                first = " ".join(result.stdout.split("\n\n")[0].split())
                self.assertIn(f"({chosen})", first)
                named = run("run-kernel", "stream-copy", "--size", "4KiB", "--device",
                            chosen.split()[0], environment={**both, **variables})
                self.assertNotIn("by default", named.stdout)

    def test_instances_of_a_divided_gpu(self):
        mig = environment("FAKE_CUDA", FAKE_CUDA_MIG="1")
        _, devices = self.devices("FAKE_CUDA", FAKE_CUDA_MIG="1")
        first, second = devices["nvidia:0"]["uuid"], devices["nvidia:1"]["uuid"]
        self.assertEqual(second, "MIG-b1b1b1b1-b1b1-b1b1-b1b1-b1b1b1b1b1b1")
        self.assertIn("MIG 2g.10gb", devices["nvidia:1"]["name"])
        self.assertTrue(self.devices("FAKE_CUDA")[1]["nvidia:0"]["uuid"].startswith("GPU-a0"))
        result = run("devices", second.upper().replace("MIG", "mig"), "--format", "json",
                     environment=mig)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nvidia:1", result.stdout)
        for absent in ("MIG-377e0049-554c-540b-93c6-d0976f8426cb", "MIG-GPU-377e0049/1/0"):
            with self.subTest(absent):
                result = run("run-kernel", "stream-copy", "--device", absent, environment=mig)
                self.assertEqual(result.returncode, 3, result.stderr)
                text = " ".join(result.stderr.split())
                self.assertIn(f"nvidia:0 is {first}, nvidia:1 is {second}", text)
                self.assertIn(f"CUDA_VISIBLE_DEVICES={absent}", text)

    def test_the_release_beside_the_runtime(self):
        library = self.folder / "rocm-7.1.0" / "lib" / "libamdhip64.so.7"
        library.parent.mkdir(parents=True)
        library.symlink_to(os.path.realpath(os.environ["FAKE_AMD7"]))
        variables = clean_environment(HIPTOOL_HIP_LIBRARY=str(library),
                                      HIPTOOL_CUDA_LIBRARY="/nowhere/cuda")
        result = run("devices", "--format", "json", environment=variables)
        amd = self.assert_document(result.stdout, "devices.schema.json")["platforms"][0]
        self.assertEqual((amd["release"], amd["runtime_version"]), ("ROCm 7.1.0", "7.2.53211"))
        self.assertIn("runtime 7.2.53211 of ROCm 7.1.0",
                      run("devices", environment=variables).stdout)

    def test_without_a_kernel_the_note_is_short_and_the_compilers_log_is_kept(self):
        model = str(write_safetensors(self.folder / "m.safetensors", {"a": os.urandom(100_000)}))
        variables = environment("FAKE_AMD5", FAKE_HIP_ARCH="gfx999")
        result = run("load", model, "--device", "amd:0", environment=variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("verified", result.stdout)
        self.assertIn("read back", result.stdout)
        self.assertIn("image of the kernels 'digest' for amd:0 (gfx999)", result.stdout)
        self.assertLess(len(result.stdout.splitlines()), 25)
        self.assertNotIn("__global__", result.stdout + result.stderr)
        text = " ".join(result.stdout.split())
        self.assertIn("HIPRTC_ERROR_COMPILATION (6)", text)
        self.assertIn("knows no such source for gfx999", text)
        verbose = run("load", model, "--device", "amd:0", "--verbose", environment=variables)
        self.assertIn("__global__", verbose.stderr)

    def test_published_without_a_kernel_is_read_back_from_the_hashed_bytes(self):
        model = write_safetensors(self.folder / "m.safetensors", {"a": os.urandom(100_000)})
        notes = self.folder / ".cache" / "huggingface" / "download" / "m.safetensors.metadata"
        notes.parent.mkdir(parents=True)
        found = hashlib.sha256(pathlib.Path(model).read_bytes()).hexdigest()
        variables = environment("FAKE_AMD5", FAKE_HIP_ARCH="gfx999")
        for published, code in ((found, 0), ("0" * 64, 4)):
            notes.write_text(f"{'a' * 40}\n{published}\n1\n")
            result = run("load", str(model), "--device", "amd:0", "--verify", "published",
                         "--format", "json", environment=variables)
            self.assertEqual(result.returncode, code, result.stderr)
            verify = self.assert_document(result.stdout, "load.schema.json")["verify"]
            self.assertEqual((verify["mode"], verify["algorithm"]), ("published", "byte-compare"))
            self.assertEqual(verify["published"][0]["found"], found)

    def test_an_arch_that_is_no_gfx_name_is_unknown_and_no_compiler_starts(self):
        model = str(write_safetensors(self.folder / "m.safetensors", {"a": os.urandom(100_000)}))
        kernel = self.folder / "k.hip"
        kernel.write_text('extern "C" __global__ void k(int* out) { out[0] = 1; }\n',
                          encoding="ascii")
        for arch in ("Radeon", "gfx", "gfx90z", "sm_90", "amdgcn"):
            with self.subTest(arch):
                variables = environment("FAKE_AMD5", FAKE_HIP_ARCH=arch)
                _, devices = self.devices("FAKE_AMD5", FAKE_HIP_ARCH=arch)
                self.assertIsNone(devices["amd:0"]["arch"])
                result = run("load", model, "--device", "amd:0", environment=variables)
                self.assertEqual(result.returncode, 0, result.stderr)
                text = " ".join(result.stdout.split())
                self.assertIn("the architecture of amd:0 is unknown", text)
                self.assertNotIn("compil", text)
                result = run("run-kernel", "--module", str(kernel), "--name", "k", "--grid", "1",
                             "--block", "1", "--arg", "buf:i32:1:zeros", "--device", "amd:0",
                             environment=variables)
                self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                self.assertIn("the architecture of amd:0 is unknown", result.stderr)

    def test_a_runtime_that_tells_no_attributes(self):
        _, devices = self.devices("FAKE_AMD7", FAKE_HIP_ATTRIBUTE_ERRORS="1")
        self.assertEqual(devices["amd:0"]["name"], "Fake Instinct 0")
        self.assertIsNone(devices["amd:0"]["compute_units"])


if __name__ == "__main__":
    program.main(__doc__)
