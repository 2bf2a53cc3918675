// SPDX-License-Identifier: MIT
#include "kernel_store/images.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <sstream>
#include <string>

#include "cases.hpp"
#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/image_table.hpp"
#include "unit/kernel_store/cubin.hpp"

namespace hiptool::kernel_store {
namespace {

constexpr const char* no_images = "this build has no packed images";

std::string_view chosen(std::span<const Image> images, std::string_view source, Platform platform,
                        std::string_view arch) {
  const auto found = choose_images_of(images, source, platform, arch);
  return found.empty() ? "none" : found.front().target;
}

// "sm_90 cubin, sm_60 PTX"
std::string all_chosen(std::span<const Image> images, std::string_view arch) {
  std::string text;
  for (const Image& image : choose_images_of(images, "fill", Platform::nvidia, arch)) {
    text += text.empty() ? "" : ", ";
    text += std::string(image.target) + (test::is_cubin(image) ? " cubin" : " PTX");
  }
  return text;
}

std::string_view text(const Image& image) {
  return {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()};
}

const std::vector<Image> some_images{
    {"copy", "gfx90a", {}}, {"copy", "sm_60", {}},   {"copy", "source", {}}, {"copy", "cpu", {}},
    {"fill", "gfx90a", {}}, {"fill", "gfx1030", {}}, {"fill", "sm_80", {}},  {"fill", "sm_60", {}},
    {"fill", "sm_100", {}}, {"fill", "source", {}},
};

TEST_CASE("an AMD image needs the very processor, whatever modes are on") {
  CHECK(chosen(some_images, "fill", Platform::amd, "gfx90a") == "gfx90a");
  CHECK(chosen(some_images, "fill", Platform::amd, "gfx90a:sramecc+:xnack-") == "gfx90a");
  CHECK(chosen(some_images, "fill", Platform::amd, "gfx1030") == "gfx1030");
  CHECK(chosen(some_images, "copy", Platform::amd, "gfx1030") == "none");
  for (const char* arch :
       {"gfx90", "gfx90ab", "gfx1031", "gfx", "", ":", "sm_60", "source", "cpu"}) {
    CAPTURE(arch);
    CHECK(chosen(some_images, "fill", Platform::amd, arch) == "none");
    CHECK(chosen(some_images, "copy", Platform::amd, arch) == "none");
  }
}

TEST_CASE("an NVIDIA device takes the highest image that is not above it") {
  CHECK(chosen(some_images, "fill", Platform::nvidia, "sm_60") == "sm_60");
  CHECK(chosen(some_images, "fill", Platform::nvidia, "sm_75") == "sm_60");
  CHECK(chosen(some_images, "fill", Platform::nvidia, "sm_80") == "sm_80");
  CHECK(chosen(some_images, "fill", Platform::nvidia, "sm_90") == "sm_80");
  CHECK(chosen(some_images, "fill", Platform::nvidia, "sm_90a") == "sm_80");
  CHECK(chosen(some_images, "fill", Platform::nvidia, "sm_120") == "sm_100");
  CHECK(chosen(some_images, "fill", Platform::nvidia, "sm_52") == "none");
  CHECK(chosen(some_images, "copy", Platform::nvidia, "sm_90") == "sm_60");
  for (const char* arch : {"", "sm_", "90", "gfx90a", "cpu", "source"}) {
    CAPTURE(arch);
    CHECK(chosen(some_images, "fill", Platform::nvidia, arch) == "none");
  }
}

TEST_CASE("a cubin of the device's major version comes before the PTX") {
  const std::string object = test::made_cubin();
  const auto cubin = std::as_bytes(std::span(object));
  std::vector<Image> images{{"fill", "gfx90a", {}}, {"fill", "sm_60", {}}};
  for (const char* target : {"sm_120", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"}) {
    images.push_back({"fill", target, cubin});
  }
  images.push_back({"other", "sm_75", cubin});
  images.push_back({"fill", "source", {}});
  CHECK(all_chosen(images, "sm_75") == "sm_60 PTX");
  CHECK(all_chosen(images, "sm_80") == "sm_80 cubin, sm_60 PTX");
  CHECK(all_chosen(images, "sm_86") == "sm_86 cubin, sm_60 PTX");
  CHECK(all_chosen(images, "sm_88") == "sm_86 cubin, sm_60 PTX");
  CHECK(all_chosen(images, "sm_89") == "sm_89 cubin, sm_60 PTX");
  CHECK(all_chosen(images, "sm_90") == "sm_90 cubin, sm_60 PTX");
  CHECK(all_chosen(images, "sm_100") == "sm_100 cubin, sm_60 PTX");
  CHECK(all_chosen(images, "sm_103") == "sm_100 cubin, sm_60 PTX");
  CHECK(all_chosen(images, "sm_120") == "sm_120 cubin, sm_60 PTX");
  CHECK(all_chosen(images, "sm_121") == "sm_120 cubin, sm_60 PTX");
  CHECK(all_chosen(images, "sm_130") == "sm_60 PTX");
  // Orin and Thor run no cubins of other devices.
  CHECK(all_chosen(images, "sm_87") == "sm_60 PTX");
  CHECK(all_chosen(images, "sm_101") == "sm_60 PTX");
  CHECK(all_chosen(images, "sm_110") == "sm_60 PTX");
  for (const char* arch : {"", "sm_", "sm_52", "gfx90a", "source"}) {
    CAPTURE(arch);
    CHECK(all_chosen(images, arch).empty());
  }
  images.push_back({"fill", "sm_80", {}});
  CHECK(all_chosen(images, "sm_90") == "sm_90 cubin, sm_80 PTX");
  CHECK(all_chosen(images, "sm_87") == "sm_80 PTX");
}

TEST_CASE("an image for one architecture is for that alone, and others follow it") {
  const std::string object = test::made_cubin();
  const auto cubin = std::as_bytes(std::span(object));
  std::vector<Image> images{{"fill", "sm_60", {}}, {"fill", "sm_90a", {}}, {"fill", "sm_80", {}}};
  CHECK(all_chosen(images, "sm_90") == "sm_90a PTX, sm_80 PTX");
  CHECK(all_chosen(images, "sm_90a") == "sm_90a PTX, sm_80 PTX");
  CHECK(all_chosen(images, "sm_89") == "sm_80 PTX");
  for (const char* later : {"sm_91", "sm_100", "sm_103", "sm_120", "sm_900"}) {
    CAPTURE(later);
    CHECK(all_chosen(images, later) == "sm_80 PTX");
  }
  images.push_back({"fill", "sm_90", cubin});
  images.push_back({"fill", "sm_90a", cubin});
  images.push_back({"fill", "sm_90", {}});
  CHECK(all_chosen(images, "sm_90") == "sm_90a cubin, sm_90a PTX, sm_90 cubin, sm_90 PTX");
  CHECK(all_chosen(images, "sm_100") == "sm_90 PTX");
  const std::vector<Image> alone{{"fill", "sm_90a", {}}};
  CHECK(all_chosen(alone, "sm_90") == "sm_90a PTX");
  for (const char* other : {"sm_80", "sm_100", "sm_120", ""})
    CHECK(all_chosen(alone, other).empty());
}

TEST_CASE("the processor takes its table, whatever it is called") {
  CHECK(chosen(some_images, "copy", Platform::cpu, "x86_64") == "cpu");
  CHECK(chosen(some_images, "copy", Platform::cpu, "") == "cpu");
  CHECK(chosen(some_images, "fill", Platform::cpu, "x86_64") == "none");
}

TEST_CASE("an unknown source has no image") {
  for (const Platform platform : {Platform::amd, Platform::nvidia, Platform::cpu}) {
    CHECK(chosen(some_images, "fil", platform, "gfx90a") == "none");
    CHECK(chosen(some_images, "", platform, "sm_90") == "none");
  }
}

TEST_CASE("every source is embedded as text and stands on the processor") {
  int sources = 0;
  for (const Image& stored : embedded_images()) {
    const Image image = unpacked(stored);
    CAPTURE(image.source);
    CAPTURE(image.target);
    REQUIRE_FALSE(image.bytes.empty());
    if (image.is_text()) {
      CHECK(text(image).back() == '\0');
      CHECK(text(image).find("SPDX-License-Identifier") != std::string_view::npos);
    }
    if (image.target != "source") continue;
    ++sources;
    const auto cpu = choose_image(image.source, Platform::cpu, "any");
    REQUIRE(cpu);
    CHECK(std::string_view(text(*cpu).data()) == hip::cpu::cpu_image);
  }
  CHECK(sources > 0);
}

TEST_CASE("headers are embedded, but are no kernels") {
  const auto images = embedded_images();
  const auto has = [&](const char* name, const char* target) {
    CHECK_FALSE(choose_image(name, Platform::cpu, "any"));
    return std::any_of(images.begin(), images.end(), [&](const Image& image) {
      return image.source == name && image.target == target;
    });
  };
  CHECK(has("hip/hip_runtime.h", "header"));
  CHECK(has("hiptool_device.h", "header"));
  CHECK(has("cpu/kernel.h", "cpu-header"));
}

TEST_CASE("every header that a kernel source includes is embedded") {
  for (const Image& image : embedded_images()) {
    if (image.target != "source" && image.target != "header") continue;
    CAPTURE(image.source);
    std::istringstream lines{std::string(image.text())};
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view include = "#include \"";
      if (!line.starts_with(include)) continue;
      const std::string name = line.substr(include.size(), line.size() - include.size() - 1);
      // These are for compilers that read files.
      if (name.starts_with("hiptool_cpu_") || name == "hiptool_clang_kernel.h") continue;
      CAPTURE(name);
      CHECK(std::any_of(embedded_images().begin(), embedded_images().end(), [&](const Image& one) {
        return one.source == name && one.target == "header";
      }));
    }
  }
}

TEST_CASE("embedded images are what their targets say, and unpacked once") {
  for (const Image& stored : embedded_images()) {
    const Image image = unpacked(stored);
    CHECK(unpacked(stored).bytes.data() == image.bytes.data());
    CAPTURE(image.source);
    CAPTURE(image.target);
    if (image.target.substr(0, 3) == "gfx") {
      CHECK(text(image).substr(0, 4) ==
            "\x7f"
            "ELF");
    } else if (test::is_cubin(image)) {
      CHECK(image.target.substr(0, 3) == "sm_");
      // Without its PTX an older driver could not load the kernel.
      const auto images = choose_images(image.source, Platform::nvidia, image.target);
      const auto own = std::ranges::find_if(
          images, [&](const Image& one) { return one.bytes.data() == image.bytes.data(); });
      REQUIRE(own != images.end());
      CHECK_FALSE(std::all_of(own, images.end(), test::is_cubin));
    } else if (image.target.substr(0, 3) == "sm_") {
      CHECK(text(image).find(".target " + std::string(image.target)) != std::string_view::npos);
      CHECK(text(image).find('\0') == image.bytes.size() - 1);
    }
  }
}

TEST_CASE("each code object has the name and the number of its target") {
  // "ELF Header" of LLVM's User Guide for the AMDGPU Backend, EF_AMDGPU_MACH.
  const std::map<std::string_view, unsigned> numbers{
      {"gfx900", 0x2c},  {"gfx906", 0x2f},  {"gfx908", 0x30},  {"gfx90a", 0x3f},  {"gfx942", 0x4c},
      {"gfx1010", 0x33}, {"gfx1030", 0x36}, {"gfx1031", 0x37}, {"gfx1032", 0x38}, {"gfx1034", 0x3e},
      {"gfx1035", 0x3d}, {"gfx1036", 0x45}, {"gfx1100", 0x41}, {"gfx1101", 0x46}, {"gfx1102", 0x47},
      {"gfx1103", 0x44}, {"gfx1150", 0x43}, {"gfx1151", 0x4a}, {"gfx1152", 0x55}, {"gfx1200", 0x48},
      {"gfx1201", 0x4e}, {"gfx90c", 0x32},  {"gfx950", 0x4f},  {"gfx1011", 0x34}, {"gfx1012", 0x35},
      {"gfx1033", 0x39}, {"gfx1153", 0x58}, {"gfx1250", 0x49}};
  bool has_objects = false;
  for (const Image& stored : embedded_images()) {
    if (stored.target.substr(0, 3) != "gfx") continue;
    has_objects = true;
    CAPTURE(stored.source);
    CAPTURE(stored.target);
    const Image image = unpacked(stored);
    CHECK(std::to_integer<unsigned>(image.bytes[48]) == numbers.at(stored.target));
    const std::string_view triple = "amdgcn-amd-amdhsa--";
    const std::size_t place = text(image).find(triple);
    REQUIRE(place != std::string_view::npos);
    CHECK(text(image).substr(place + triple.size(), stored.target.size()) == stored.target);
    CHECK(text(image).find(triple, place + 1) == std::string_view::npos);
  }
  if (!has_objects) test::skip_case(no_images);
}

TEST_CASE("targets are named once, and source text is none") {
  const auto targets = embedded_targets();
  CHECK(std::count(targets.begin(), targets.end(), "cpu") == 1);
  for (const char* text : {"source", "header", "cpu-header"}) {
    CHECK(std::count(targets.begin(), targets.end(), text) == 0);
  }
  for (const auto target : targets) CHECK(std::count(targets.begin(), targets.end(), target) == 1);
}

TEST_CASE("a table that is cut off or of another kind is refused") {
  std::string file("HIPTOOLK\4\0\0\0\1\0\0\0", 16);
  std::string entry(80, '\0');
  entry.replace(0, 4, "fill");
  entry.replace(24, 5, "sm_60");
  entry[48] = 96;
  entry[56] = 3;
  entry[64] = 3;
  file += entry + "PTX";
  const auto read = [](const std::string& bytes) {
    return read_image_table(std::as_bytes(std::span(bytes)));
  };
  const auto images = read(file);
  REQUIRE(images.size() == 1);
  CHECK(images[0].source == "fill");
  CHECK(images[0].target == "sm_60");
  CHECK(text(images[0]) == "PTX");
  for (std::size_t size = 0; size < file.size(); ++size) {
    CHECK_THROWS_AS(read(file.substr(0, size)), Error);
  }
  std::string other = file;
  other[0] = 'X';
  CHECK_THROWS_AS(read(other), Error);
  other = file;
  other[8] = 1;
  CHECK_THROWS_AS(read(other), Error);
}

TEST_CASE("an image that differs from no earlier one is refused") {
  std::string file("HIPTOOLK\4\0\0\0\1\0\0\0", 16);
  std::string entry(80, '\0');
  entry.replace(0, 4, "fill");
  entry[48] = 96;
  for (const char other : {'\0', '\1'}) {  // itself, and one that is not there
    entry[72] = 2;
    entry[73] = other;
    const std::string all = file + entry;
    CHECK_THROWS_AS(read_image_table(std::as_bytes(std::span(all))), Error);
  }
}

TEST_CASE("changes of an image are made inside it, or it is damaged") {
  for (const Image& stored : embedded_images()) {
    if (stored.packed.empty() || !stored.changes.empty()) continue;
    const Image whole = unpacked(stored);
    static std::deque<std::array<std::uint32_t, 2>> kept;
    const auto change = [&](std::uint32_t place, std::size_t bytes) {
      // Images are known by the places of their bytes, which live on.
      kept.push_back({place, 0xa5});
      Image image = stored;
      image.changes = std::as_bytes(std::span(kept.back())).first(bytes);
      return unpacked(image);
    };
    const Image changed = change(7, 8);
    CHECK(changed.bytes.size() == whole.bytes.size());
    CHECK(changed.bytes[7] == std::byte{0xa5});
    CHECK(changed.bytes[8] == whole.bytes[8]);
    CHECK_THROWS_AS(change(static_cast<std::uint32_t>(whole.bytes.size()), 8), Error);
    CHECK_THROWS_AS(change(7, 4), Error);
    return;
  }
  test::skip_case(no_images);
}

TEST_CASE("a damaged image is named") {
  for (const Image& stored : embedded_images()) {
    if (stored.packed.empty()) continue;
    std::vector<std::byte> bytes(stored.packed.begin(), stored.packed.end());
    Image image = stored;
    bytes[bytes.size() / 2] ^= std::byte{1};
    image.packed = bytes;
    try {
      unpacked(image);
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(stored.target) != std::string::npos);
    }
    return;
  }
  test::skip_case(no_images);
}

}  // namespace
}  // namespace hiptool::kernel_store
