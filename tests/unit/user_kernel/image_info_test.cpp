// SPDX-License-Identifier: MIT
#include "user_kernel/image_info.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "hip/cpu/kernel_table.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/images.hpp"

using namespace hiptool;
using namespace hiptool::user_kernel;
using kernel_store::embedded_images;
using kernel_store::embedded_targets;
using kernel_store::Image;

namespace {

std::vector<std::byte> image_bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

ErrorCode code_of_ptx(std::string_view text) {
  try {
    read_ptx(text);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

const KernelInfo* find(const ImageInfo& info, std::string_view name) {
  for (const KernelInfo& kernel : info.kernels.value()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

std::vector<std::uint64_t> sizes(const KernelInfo& kernel) {
  std::vector<std::uint64_t> sizes;
  for (const ArgumentInfo& argument : kernel.arguments) sizes.push_back(argument.size_bytes);
  return sizes;
}

std::string bundle_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string table;
  std::string content;
  std::size_t head_bytes = 32;
  for (const auto& [name, bytes] : entries) head_bytes += 24 + name.size();
  const auto add = [&table](std::uint64_t number) {
    table.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  table = "__CLANG_OFFLOAD_BUNDLE__";
  add(entries.size());
  for (const auto& [name, bytes] : entries) {
    add(head_bytes + content.size());
    add(bytes.size());
    add(name.size());
    table += name;
    content += bytes;
  }
  return table + content;
}

}  // namespace

TEST_CASE("embedded images tell the arguments that the cpu's compiler sees") {
  std::size_t compared = 0;
  for (const Image& stored : embedded_images()) {
    if (stored.is_text() || stored.target == "cpu") continue;
    const Image image = kernel_store::unpacked(stored);
    const ImageInfo info = read_image_info(image.bytes);
    CAPTURE(image.source);
    CAPTURE(image.target);
    // A cubin does not say that it is for one compute capability alone: ptxas 13.0 sets no flag.
    const bool is_cubin = info.kind == core::ImageKind::nvidia_object;
    CHECK(info.target == (is_cubin && image.target == "sm_90a" ? "sm_90" : image.target));
    REQUIRE(info.kernels);
    CHECK_FALSE(info.kernels->empty());
    for (const KernelInfo& kernel : *info.kernels) {
      const hip::cpu::CpuKernel* const here = hip::cpu::find_kernel(kernel.name);
      CAPTURE(kernel.name);
      REQUIRE(here != nullptr);
      REQUIRE(kernel.arguments.size() == here->arguments.size());
      for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
        CHECK(kernel.arguments[i].size_bytes == here->arguments[i].size_bytes);
        if (info.kind != core::ImageKind::amd_object) continue;
        CHECK(kernel.max_block_threads >= 64);
        const bool is_pointer = kernel.arguments[i].kind == ArgumentKind::pointer;
        CHECK(is_pointer == here->arguments[i].is_pointer);
        ++compared;
      }
    }
  }
  if (!embedded_targets().empty() && embedded_targets().size() > 1) CHECK(compared > 0);
}

TEST_CASE("PTX: sizes of all kinds of parameters") {
  const ImageInfo info = read_ptx(R"(
// .entry not_this( .param .u32 a )
/* one / two .entry nor_this() */
.version 8.0
.target sm_75, debug
.address_size 64
.func (.param .b32 result) helper(.param .b32 x) { ret; }
.visible .entry all(
  .param .u64 .ptr .global .align 1 all_param_0,
  .param .f32 all_param_1,
  .param .align 8 .b8 all_param_2[24],
  .param .u8 all_param_3, .param .s16 x, .param .f16x2 y, .param .b128 z)
.maxntid 256, 1, 1
{
  .param .b64 inner;
  ld.param.u64 %rd1, [all_param_0];
}
.visible .entry none() { ret; }
.entry bare
{ ret; }
.weak .entry _Z4moreIfEvPT_(.param .u64 _Z4moreIfEvPT__param_0)
{ ret; }
)");
  CHECK(info.target == "sm_75");
  REQUIRE(info.kernels);
  REQUIRE(info.kernels->size() == 4);
  const KernelInfo* const all = find(info, "all");
  REQUIRE(all != nullptr);
  CHECK(sizes(*all) == std::vector<std::uint64_t>{8, 4, 24, 1, 2, 4, 16});
  CHECK(all->arguments[0].kind == ArgumentKind::pointer);
  CHECK(all->arguments[1].kind == ArgumentKind::value);
  CHECK(all->arguments[1].element == ElementType::f32);
  CHECK(all->arguments[3].element == ElementType::u8);
  CHECK(all->arguments[4].element == ElementType::i16);
  CHECK_FALSE(all->arguments[0].element.has_value());
  CHECK_FALSE(all->arguments[2].element.has_value());
  CHECK_FALSE(all->arguments[5].element.has_value());
  CHECK(all->max_block_threads == 256);
  CHECK(all->arguments[2].kind == ArgumentKind::value);
  REQUIRE(find(info, "none") != nullptr);
  CHECK(find(info, "none")->max_block_threads == 0);
  CHECK(find(info, "none")->arguments.empty());
  REQUIRE(find(info, "bare") != nullptr);
  CHECK(find(info, "bare")->arguments.empty());
  REQUIRE(find(info, "_Z4moreIfEvPT_") != nullptr);
  CHECK(sizes(*find(info, "_Z4moreIfEvPT_")) == std::vector<std::uint64_t>{8});
}

TEST_CASE("PTX: what 64 bits are, and the size of blocks") {
  const ImageInfo info = read_ptx(
      ".version 6.0\n.entry a(.param .u64 p, .param .f64 d, .param .b32 b, .param .u8 c[3])\n"
      ".reqntid 8, 4\n{ ret; }\n.entry b() .maxntid 64\n{ ret; }\n.entry c() .maxntid x { }\n");
  REQUIRE(info.kernels->size() == 3);
  const std::vector<ArgumentInfo>& arguments = find(info, "a")->arguments;
  CHECK(arguments[0].kind == ArgumentKind::unknown);  // a pointer or a number
  CHECK_FALSE(arguments[0].element.has_value());
  CHECK(arguments[1].kind == ArgumentKind::value);
  CHECK(arguments[1].element == ElementType::f64);
  CHECK(arguments[2].kind == ArgumentKind::unknown);
  CHECK_FALSE(arguments[2].element.has_value());
  CHECK(arguments[3].size_bytes == 3);
  CHECK_FALSE(arguments[3].element.has_value());
  CHECK(find(info, "a")->max_block_threads == 32);
  CHECK(find(info, "b")->max_block_threads == 64);
  CHECK(find(info, "c")->max_block_threads == 0);
}

TEST_CASE("PTX: damaged parameter lists are refused") {
  for (const std::string_view text : {
           ".version 6.0\n.entry a(.param .u32 x",
           ".version 6.0\n.entry a(.param .u32 x {",
           ".version 6.0\n.entry a(.param x)",
           ".version 6.0\n.entry a(.param .u32 x,)",
           ".version 6.0\n.entry a(,)",
           ".version 6.0\n.entry a(.param .b8 x[0])",
           ".version 6.0\n.entry a(.param .b8 x[])",
           ".version 6.0\n.entry a(.param .b8 x[18446744073709551615])",
           ".version 6.0\n.entry a(.param .b8 x[4][4])",
       }) {
    CAPTURE(text);
    CHECK(code_of_ptx(text) == ErrorCode::corrupt_data);
  }
  CHECK(read_ptx(".version 6.0\n.entry").kernels->empty());
}

TEST_CASE("a bundle's entries") {
  const std::string bundle = bundle_of({{"host-x86_64-unknown-linux--", ""},
                                        {"hipv4-amdgcn-amd-amdhsa--gfx90a", "one"},
                                        {"hipv4-amdgcn-amd-amdhsa--gfx1100:xnack-", "other"}});
  const std::vector<std::byte> bytes = image_bytes_of(bundle);
  const auto entries = read_bundle(bytes);
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].bytes.empty());
  CHECK(processor_of(entries[1].target) == "gfx90a");
  CHECK(processor_of(entries[2].target) == "gfx1100");
  CHECK(std::string(reinterpret_cast<const char*>(entries[2].bytes.data()),
                    entries[2].bytes.size()) == "other");
  CHECK(processor_of("gfx90a:sramecc+:xnack-") == "gfx90a");
  for (std::size_t kept = 24; kept < bundle.size(); ++kept) {
    CAPTURE(kept);
    CHECK_THROWS_AS(read_bundle(std::span(bytes).first(kept)), Error);
  }
  // One entry without bytes, whose name is longer than all that follows.
  std::string long_name = bundle.substr(0, 24) + std::string(8 + 24, '\0') + "name";
  long_name[24] = 1;
  long_name[24 + 8 + 16] = 5;
  CHECK_THROWS_AS(read_bundle(image_bytes_of(long_name)), Error);
  long_name[24 + 8 + 16] = 4;
  const std::vector<std::byte> short_name = image_bytes_of(long_name);
  CHECK(read_bundle(short_name).front().target == "name");
  const std::string many = bundle.substr(0, 24) + std::string(8, '\xff') + bundle.substr(32);
  CHECK_THROWS_AS(read_bundle(image_bytes_of(many)), Error);
}

TEST_CASE("no image cut short or with a changed byte is read beyond its end") {
  for (const Image& stored : embedded_images()) {
    if (stored.source != "fill" || stored.is_text()) continue;
    const Image image = kernel_store::unpacked(stored);
    const std::vector<std::byte> whole(image.bytes.begin(), image.bytes.end());
    for (std::size_t kept = 0; kept < whole.size(); kept += 7) {
      // A block of exactly that size, so that a sanitizer sees a read behind it.
      const std::vector<std::byte> cut(whole.begin(),
                                       whole.begin() + static_cast<std::ptrdiff_t>(kept));
      try {
        read_image_info(cut);
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::corrupt_data);
      }
    }
    if (image.target != "gfx90a" && image.target != "sm_60") continue;
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::vector<std::byte> changed = whole;
      changed[at] = ~changed[at];
      try {
        read_image_info(changed);
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::corrupt_data);
      }
    }
  }
}

TEST_CASE("what tells nothing of its kernels") {
  CHECK_FALSE(read_image_info(image_bytes_of("CCOB....")).kernels);
  CHECK_FALSE(read_image_info({}).kernels);
  CHECK(read_image_info(image_bytes_of("CCOB....")).kind == core::ImageKind::compressed_bundle);
}
