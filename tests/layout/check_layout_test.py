# SPDX-License-Identifier: MIT
"""Plants one violation at a time in an empty tree and asserts that the check names it."""
import pathlib
import sys
import tempfile
import unittest

from check_layout import check_tree

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent))
import cases  # noqa: E402  (in the folder named above)

SPDX = "// SPDX-License-Identifier: MIT\n"


class CheckLayoutTest(unittest.TestCase):
    def findings(self, path, text, head=SPDX):
        return self.findings_of({path: text}, head)

    def findings_of(self, files, head=SPDX):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(head + text, encoding="utf-8")
            return check_tree(folder)

    def assert_found(self, path, text, sentence, line=2, head=SPDX):
        findings = self.findings(path, text, head)
        self.assertEqual(len(findings), 1, findings)
        self.assertTrue(findings[0].startswith(f"{path}:{line}: "), findings[0])
        self.assertIn(sentence, findings[0])

    def assert_clean(self, path, text, head=SPDX):
        self.assertEqual(self.findings(path, text, head), [])

    def test_includes_between_layers(self):
        up = "it is a higher layer"
        self.assert_found("src/base/a.cpp", '#include "hip/api.hpp"\n', up)
        self.assert_found("src/hip/amd/a.cpp", '#include "core/a.hpp"\n', up)
        self.assert_found("src/load/a.hpp", '#include "report/report.hpp"\n', up)
        self.assert_found("src/report/a.cpp", '#include "system/pci.hpp"\n', up)
        self.assert_found("src/measure/a.cpp", '#  include "cli/a.hpp"\n', up)
        self.assert_found("src/machine/a.cpp", '#include "measure/a.hpp"\n', up)
        self.assert_found("src/measure/a.cpp", '#include "user_kernel/a.hpp"\n', up)
        self.assert_found("src/measure/a.cpp", '#include "accept/a.hpp"\n', up)
        self.assert_clean("src/accept/a.cpp", '#include "measure/a.hpp"\n')
        self.assert_clean("src/measure/a.cpp", '#include "machine/a.hpp"\n')
        self.assert_found("src/base/a.cpp", "#include <hip/api.hpp>\n#include \"model/a.hpp\"\n",
                          up, line=3)
        self.assert_found("tests/unit/model/a_test.cpp", '#include "load/a.hpp"\n', up)
        self.assert_found("src/load/a.cpp", '#include "model_writer/a.hpp"\n', up)
        self.assert_found("src/ops/a.cpp", '#include "reference/ops/a.hpp"\n', up)
        self.assert_found("src/reference/a.cpp", '#include "report/report.hpp"\n', up)
        self.assert_clean("tests/unit/ops/a_test.cpp", '#include "reference/ops/a.hpp"\n')
        self.assert_found("src/model_writer/a.cpp", '#include "hip/api.hpp"\n', up)
        self.assert_clean("tests/unit/load/a_test.cpp", '#include "model_writer/a.hpp"\n')
        self.assert_clean("src/load/a.cpp", '#include "load/a.hpp"\n#include "base/file.hpp"\n')
        self.assert_clean("src/report/a.cpp", '#include "base/file.hpp"\n')
        self.assert_clean("src/measure/a.cpp", '#include "report/report.hpp"\n')
        self.assert_clean("src/report/a.cpp", '#include "base/units.hpp"\n')
        self.assert_clean("src/cli/a.cpp", '#include "load/a.hpp"\n#include <CLI/CLI.hpp>\n')
        self.assert_clean("src/base/a.cpp", '// #include "hip/api.hpp"\n')
        self.assert_clean("src/base/a.cpp", 'auto s = R"(\n#include "hip/api.hpp"\n)";\n')

    def test_circles_inside_a_layer(self):
        def include(target):
            return f'#include "{target}"\n'
        files = {
            "src/load/read/a.cpp": include("load/verify/a.hpp"),
            "src/load/verify/a.hpp": "\n" + include("load/workers.hpp"),
            "src/load/workers.hpp": "",
            "src/load/load_model.cpp": include("load/read/a.hpp") + include("load/verify/a.hpp"),
        }
        self.assertEqual(self.findings_of(files), [])
        files["src/load/workers.cpp"] = include("load/read/a.hpp")
        circle = "src/load/read -> src/load/verify -> src/load/workers -> src/load/read"
        self.assertEqual(self.findings_of(files), [
            f"src/load/read/a.cpp:2: includes inside a layer make a circle: {circle}"])
        # Files of a folder without folders are no parts of their own.
        self.assertEqual(self.findings_of({"src/base/a.cpp": include("base/b.hpp"),
                                           "src/base/b.cpp": include("base/a.hpp")}), [])

    def test_files_of_other_commands(self):
        text = '#include "cli/commands/load/report.hpp"\n'
        self.assert_found("src/cli/commands/check/a.cpp", text, "a file of another one")
        self.assert_clean("src/cli/commands/load/a.cpp", text)
        self.assert_clean("src/cli/app.cpp", text)

    def test_includes_of_public_headers(self):
        up = "it is a higher layer"
        self.assert_found("src/model/a.cpp", '#include "hiptool/device.hpp"\n', up)
        self.assert_found("include/hiptool/error.hpp", '#include "hiptool/buffer.hpp"\n', up)
        self.assert_found("src/report/a.cpp", '#include "hiptool/device.hpp"\n', up)
        self.assert_found("src/load/a.cpp", "#include <hiptool/hiptool.hpp>\n", "for users")
        self.assert_found("src/load/a.cpp", '#include "hiptool/new.hpp"\n', "has no layer;")
        self.assert_clean("src/report/a.cpp", '#include "hiptool/version.hpp"\n')
        self.assert_clean("tests/examples/a.cpp", "#include <hiptool/hiptool.hpp>\n")

    def test_shared_memory_of_kernels(self):
        variable = "  __shared__ float sums[8];\n"
        self.assert_found("kernels/a.hip", variable, "dynamic shared memory only")
        self.assert_found("kernels/ops/a.hip", variable, "dynamic shared memory only")
        self.assert_found("kernels/include/hiptool_a.h", variable, "dynamic shared memory only")
        self.assert_clean("kernels/a.hip", "  HIP_DYNAMIC_SHARED(uint4, shared);\n")
        self.assert_clean("kernels/a.hip", "// no __shared__ variables\n")
        self.assert_clean("kernels/include/hip/hip_runtime.h", "#define S extern __shared__\n")
        self.assert_clean("kernels/include/hiptool_cpu_a.h", "#define __shared__ static\n")
        self.assert_clean("tests/a.cpp", variable)

    def test_macros_of_one_target(self):
        for text in ("#if defined(__gfx942__)\n", "#ifdef __GFX12__\n"):
            self.assert_found("kernels/a.hip", text, "optimised once for several targets")
            self.assert_found("kernels/include/hiptool_a.h", text, "several targets")
            self.assert_clean("kernels/include/hiptool_units_amd.h", text)
            self.assert_clean("tests/a.cpp", text)

    def test_libraries_and_their_rooms(self):
        self.assert_found("src/load/a.cpp", "#include <CLI/CLI.hpp>\n", "CLI11")
        self.assert_found("src/cli/a.cpp", "#include <nlohmann/json.hpp>\n", "nlohmann")
        self.assert_found("src/hip/amd/a.cpp", "#include <dlfcn.h>\n", "dlopen")
        self.assert_clean("src/base/dynamic_library.cpp", "#include <dlfcn.h>\n")
        self.assert_clean("src/model/a.cpp", "#include <nlohmann/json.hpp>\n")
        self.assert_clean("tests/unit/cli/a_test.cpp", "#include <nlohmann/json.hpp>\n")

    def test_vendor_names(self):
        names = ["libamdhip64.so.6", "libcuda.so.1", "librocblas.so", "libnvidia-ml.so.1"]
        for name in names:
            self.assert_found("src/hip/registry.cpp", f'auto n = "{name}";\n', "vendor library")
            self.assert_clean("src/hip/amd/library.cpp", f'auto n = "{name}";\n')
            self.assert_clean("src/cli/version_list.cpp", f'auto n = "{name}";\n')
            self.assert_clean("src/load/a.cpp", f"// {name}\n")
        self.assert_found("src/cli/a.cpp", 'auto n = "/opt/rocm/lib/libamdhip64.so";\n', "vendor")
        self.assert_clean("src/cli/a.cpp", 'auto n = "libhiptool.so";\n')
        self.assert_clean("src/cli/a.cpp", 'auto n = "install libamdhip64 first";\n')

    def test_public_headers(self):
        header = "include/hiptool/error.hpp"
        for include in ("<fmt/core.h>", "<unistd.h>", '"base/file.hpp"'):
            self.assert_found(header, f"#include {include}\n", "public header")
        self.assert_clean(header, "#include <string_view>\n")

    def test_names_that_a_compiler_lacks(self):
        for name in ("std::format", "std::expected", "std::source_location"):
            self.assert_found("src/cli/a.cpp", f"auto x = {name}(y);\n", name)
            self.assert_clean("src/cli/a.cpp", f'// {name}\nauto x = "{name}";\n')
        self.assert_found("src/cli/a.cpp", "#include <format>\n", "<format>")
        self.assert_clean("src/cli/a.cpp", "auto n = 1'000'000; auto s = std::formatted;\n")

    def test_captured_bindings(self):
        loop = "void f() {\n  for (const auto& [name, size] : all) {\n%s  }\n%s}\n"
        for macro in ("CAPTURE(name)", "CAPTURE(std::string(name))", 'INFO("of ", size)'):
            self.assert_found("tests/a.cpp", loop % (f"    {macro};\n", ""), "structured binding",
                              line=4)
            self.assert_clean("tests/a.cpp", loop % ("", f"  {macro};\n"))
        self.assert_found("tests/a.cpp", "{\n  auto [a, b] = f();\n  {\n  }\n  CAPTURE(b);\n}\n",
                          "'b'", line=6)
        self.assert_clean("tests/a.cpp", "{\n  auto [a, b] = f();\n}\nCAPTURE(b);\n")
        self.assert_clean("tests/a.cpp", loop % ('    CAPTURE(text);  // of name\n'
                                                 '    INFO("name");\n', ""))

    def test_sizes(self):
        self.assert_found("src/cli/a.cpp", "//\n" * 500, "501 lines", line=501)
        self.assert_clean("src/cli/a.cpp", "//\n" * 499)
        self.assert_found("src/cli/a.cpp", "/" * 101 + "\n", "101 columns")
        self.assert_found("tests/bench/a.md", "x" * 101 + "\n", "101 columns", head="# A\n")
        self.assert_clean("tests/bench/a.md", "x" * 100 + "\n", head="")
        self.assert_clean("tests/bench/a.md", f"| {'x' * 101} |\n[a]: {'x' * 101}\n", head="")
        self.assert_clean("src/cli/a.cpp", "//" + "\u2013" * 98 + "\n")

    def test_first_line(self):
        self.assert_found("src/cli/a.cpp", "int a;\n", "SPDX", line=1, head="")
        self.assert_found("src/cli/meson.build", "x = 1\n", "SPDX", line=1, head="")
        self.assert_clean("tests/a.py", "", head="#!/usr/bin/python3\n# " + SPDX[3:])

    def test_include_without_room(self):
        self.assert_found("src/hip/a.cpp", '#include "api.hpp"\n', "lacks its layer")
        self.assert_found("src/hip/a.cpp", '#include "../base/a.hpp"\n', "lacks its layer")
        self.assert_clean("tests/cli/a.cpp", '#include "helper.hpp"\n')

    def test_top_level(self):
        self.assert_found("notes.md", "", "top level", line=1)
        self.assert_clean("build-debug/a.txt", "")
        self.assert_clean(".ci/run", "")


if __name__ == "__main__":
    cases.main()
