# SPDX-License-Identifier: MIT
"""Tests of kernels/pack.py: finished packs, what is refused of them, and AMD's families."""
import lzma
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

from kernel_images import KERNELS, pack

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import cases  # noqa: E402  (in the folder named above)


def code_object(target, number):
    """The head of an ELF file with what pack.py changes in it."""
    data = bytearray(256)
    data[:4] = b"\x7fELF"
    data[pack.FLAGS_PLACE] = number
    name = (pack.TRIPLE + target).encode()
    data[100:100 + len(name)] = name
    return bytes(data)


def bundle(images):
    """What clang's bundler writes for {target: code object}, by its documentation."""
    head = pack.BUNDLE_MAGIC + struct.pack("<Q", len(images))
    entries = [(pack.BUNDLE_PREFIX + target).encode() for target in images]
    place = len(head) + sum(24 + len(entry) for entry in entries)
    for entry, image in zip(entries, images.values()):
        head += struct.pack("<QQQ", place, len(image), len(entry)) + entry
        place += len(image)
    return head + b"".join(images.values())


class Pack(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.text = self.file("fill.hip", b"a kernel")
        self.made = str(self.folder / "made.bin")

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def run_pack(self, *words):
        return subprocess.run([sys.executable, KERNELS / "pack.py", *words], text=True,
                              capture_output=True, check=False)

    def make(self, *words, to=None):
        return self.run_pack(to or self.made, self.folder / "made.S", *words)

    def inputs(self, flags="-O3", version="19"):
        return ("--flags", "amd", flags, "--text", "fill", self.text,
                "--compiler", "clang", version, "--compiler", "ptxas", "13")

    def make_finished(self):
        images = self.file("amd", bundle({"gfx1100": code_object("gfx1100", 0x41)}))
        ptx = self.file("ptx", b"// ptx")
        result = self.make("--flags", "amd", "-O3", "--text", "fill", self.text, "--compiler",
                           "clang", "19", "--twin", "gfx1100", "gfx1103", "--bundle", "fill",
                           images, "--image", "fill", "sm_60", ptx, "--object", "fill", "sm_90",
                           ptx)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_finished_pack_is_taken_as_it_is(self):
        self.make_finished()
        again = str(self.folder / "again.bin")
        result = self.make(*self.inputs(), "--finished", self.made, "same-compiler", to=again)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(pathlib.Path(again).read_bytes(), pathlib.Path(self.made).read_bytes())
        described = self.run_pack("describe", self.made)
        self.assertEqual(described.stdout.split("\n"),
                         ["gfx1100 gfx1103", "sm_60", "sm_90", "clang 19", ""])

    def test_a_code_object_is_stored_as_that_of_a_bundle(self):
        image = code_object("gfx1100", 0x41)
        alone = str(self.folder / "alone.bin")
        for word, content, made in (("--bundle", bundle({"gfx1100": image}), self.made),
                                    ("--code", image, alone)):
            target = ("gfx1100",) if word == "--code" else ()
            result = self.make(word, "fill", *target, self.file("amd", content), to=made)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(pathlib.Path(alone).read_bytes(), pathlib.Path(self.made).read_bytes())

    def test_what_devices_load_is_an_xz_file(self):
        rows = b"".join(struct.pack("<IIQ", n % 97, n * n % 251, n % 13) for n in range(5000))
        ptx = b"".join(b"mov.u32 %%r%d, %%r%d;\n" % (n % 97, n * n % 89) for n in range(5000))
        images = self.file("amd", bundle({"gfx1100": code_object("gfx1100", 0x41) + rows}))
        result = self.make(*self.inputs(), "--bundle", "fill", images,
                           "--image", "fill", "sm_60", self.file("fill.ptx", ptx),
                           "--object", "fill", "sm_90", self.file("fill.cubin", rows))
        self.assertEqual(result.returncode, 0, result.stderr)
        made = pathlib.Path(self.made).read_bytes()
        unpacked = {target: data for _, target, data in pack.unpack(made)}
        self.assertEqual(unpacked["gfx1100"], code_object("gfx1100", 0x41) + rows)
        self.assertEqual(unpacked["sm_60"], ptx + b"\0")
        self.assertEqual(unpacked["sm_90"], rows)
        places = [i for i in range(len(made)) if made.startswith(b"\xfd7zXZ\0", i)]
        self.assertEqual(len(places), 3)
        for place in places:
            reader = lzma.LZMADecompressor(lzma.FORMAT_XZ)
            data = reader.decompress(made[place:])
            self.assertTrue(reader.eof)
            self.assertEqual(reader.check, lzma.CHECK_CRC32)
            stored = len(made) - place - len(reader.unused_data)
            self.assertLess(stored, len(zlib.compress(data, 9)))

    def test_other_sources_flags_and_compilers_are_refused(self):
        self.make_finished()
        finished = ("--finished", self.made, "same-compiler")
        checked = self.run_pack("check", *self.inputs(), *finished)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        for inputs, word in ((self.inputs(flags="-O2"), "other kernel sources or flags"),
                             (self.inputs(version="22"), "kernel_pack_any_compiler"),
                             (self.inputs()[:6], "no device compiler")):
            with self.subTest(word):
                result = self.run_pack("check", *inputs, *finished)
                self.assertEqual(result.returncode, 1)
                self.assertIn(word, result.stderr)
        result = self.run_pack("check", *self.inputs(version="22"), *finished[:2], "any-compiler")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.file("fill.hip", b"another kernel")
        result = self.run_pack("check", *self.inputs(), *finished[:2], "any-compiler")
        self.assertIn("other kernel sources or flags", result.stderr)

    def test_what_is_no_pack_is_refused(self):
        whole = pathlib.Path(self.made)
        self.make_finished()
        data = whole.read_bytes()
        for name, content in (("empty", b""), ("cut", data[:-1]), ("head", data[:16]),
                              ("without a record", data[:data.index(pack.RECORD_MAGIC) - 40])):
            with self.subTest(name):
                result = self.run_pack("describe", self.file("other", content))
                self.assertEqual(result.returncode, 1)
                self.assertIn("not a file of kernel images", result.stderr)
        missing = self.run_pack("describe", "/nonexistent")
        self.assertIn("/nonexistent", missing.stderr)

    def test_an_image_of_a_family_has_the_name_and_number_of_each(self):
        self.make_finished()
        images = {target: data for source, target, data in
                  pack.unpack(pathlib.Path(self.made).read_bytes()) if target.startswith("gfx")}
        self.assertEqual(images["gfx1103"], code_object("gfx1103", 0x44))
        self.assertEqual(images["gfx1100"], code_object("gfx1100", 0x41))

    def test_a_number_that_the_compiler_has_not_is_refused(self):
        images = self.file("amd", bundle({"gfx1103": code_object("gfx1103", 0x41)}))
        result = self.make("--bundle", "fill", images)
        self.assertEqual(result.returncode, 1)
        self.assertIn("AMD_NUMBERS", result.stderr)


cases.main()
