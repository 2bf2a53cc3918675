// SPDX-License-Identifier: MIT
#include "kernel_store/value_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/kernel.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::kernel_store;

namespace {

// Types of single elements, types of blocks that no kernel computes with, and all others but NVFP4,
// of whose scales ggml reads NaN as 0.
const std::vector<const char*> names = [] {
  std::vector<const char*> all{
      "F32",     "F16",     "BF16",        "F64",         "C64",  "F8_E5M2",
      "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "Q8_1", "Q8_K",
#define HIPTOOL_QUANTISED(name, text, ...) text,
#include <hiptool_quantised.def>
  };
  std::erase_if(all, [](std::string_view name) { return name == "NVFP4"; });
  return all;
}();

constexpr std::uint64_t tile_blocks[] = {3043, 7, 100, 1};

struct Tensors {
  std::vector<std::byte> arena;
  std::vector<ValueTile> tiles;
  std::vector<ValueDescriptor> descriptors;
};

// Two tensors of each type, of random bytes in tiles of several sizes, one from a multiple of 16
// on, where plain types are read in whole pieces. About one F16 in 32 is special by chance; for the
// others there are runs of ones, and the last block of a tile is all ones.
Tensors random_tensors() {
  Tensors tensors;
  std::uint64_t offset = 0;
  for (std::uint32_t index = 0; index < 2 * names.size(); ++index) {
    const ValueDescriptor type = *find_value_descriptor(names[index / 2]);
    offset += 16 - offset % 16 + index % 2;
    std::uint64_t in_tensor = 0;
    for (const std::uint64_t blocks : tile_blocks) {
      tensors.tiles.push_back({offset, blocks, in_tensor, index, index});
      offset += blocks * type.block_bytes;
      in_tensor += blocks * type.block_bytes;
    }
    tensors.descriptors.push_back(type);
  }
  tensors.arena = test::random_bytes(offset, 5);
  for (std::size_t i = 0; i + 12 < offset; i += 97) std::memset(&tensors.arena[i], 0xFF, 12);
  for (const ValueTile& tile : tensors.tiles) {
    const std::uint32_t block_bytes = tensors.descriptors[tile.descriptor].block_bytes;
    std::memset(&tensors.arena[tile.device_offset + (tile.blocks - 1) * block_bytes], 0xFF,
                block_bytes);
  }
  return tensors;
}

template <class Value>
Buffer on_device(const Device& device, const std::vector<Value>& values) {
  Buffer buffer(device, values.size() * sizeof(Value));
  copy_h2d_and_wait(buffer, std::as_bytes(std::span(values)));
  return buffer;
}

std::vector<ValueCounts> counts_on(const Device& device, const Tensors& tensors) {
  KernelLoader loader(device);
  const Stream stream(device);
  const Buffer arena = on_device(device, tensors.arena);
  const Buffer tiles = on_device(device, tensors.tiles);
  const Buffer descriptors = on_device(device, tensors.descriptors);
  std::vector<ValueCounts> counts(tensors.descriptors.size());
  const Buffer results = on_device(device, counts);
  const Kernel kernel = loader.kernel("hiptool_value_check");
  const std::uint64_t half = tensors.tiles.size() / 2;
  const LaunchConfig config{{3}, {64}};  // few threads, so that each has many places
  launch(kernel, config, stream, arena, tiles, descriptors, std::uint64_t{0}, half, results);
  launch(kernel, config, stream, arena, tiles, descriptors, half,
         std::uint64_t{tensors.tiles.size()}, results);
  stream.synchronize();
  copy_d2h_and_wait(std::as_writable_bytes(std::span(counts)), results);
  return counts;
}

ValueCounts count_reference(const std::vector<std::byte>& bytes, const char* name) {
  const ValueDescriptor type = *find_value_descriptor(name);
  const ValueTile tile{0, bytes.size() / type.block_bytes, 0, 0, 0};
  ValueCounts counts;
  const void* arena = bytes.data();
  const void* tiles = &tile;
  const void* descriptors = &type;
  std::uint64_t first = 0;
  std::uint64_t end = 1;
  void* results = &counts;
  void* arguments[] = {&arena, &tiles, &descriptors, &first, &end, &results};
  check_values_natively({}, {}, arguments);
  return counts;
}

}  // namespace

TEST_CASE("the kernel finds on the device what its reference finds, for every type") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Tensors tensors = random_tensors();
  const auto path = std::getenv("HIPTOOL_TEST_DEVICE") == nullptr ? hip::cpu::KernelPath::fibers
                                                                  : hip::cpu::KernelPath::native;
  hip::cpu::set_kernel_path(path);  // else the reference would be compared with itself
  const auto found = counts_on(device, tensors);
  hip::cpu::set_kernel_path(hip::cpu::KernelPath::native);
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(std::string(names[i / 2]));
    const ValueTile& first = tensors.tiles[4 * i];
    const ValueTile& last = tensors.tiles[4 * i + 3];
    const std::uint64_t end = last.device_offset + last.blocks * tensors.descriptors[i].block_bytes;
    const std::vector<std::byte> bytes(
        tensors.arena.begin() + static_cast<std::ptrdiff_t>(first.device_offset),
        tensors.arena.begin() + static_cast<std::ptrdiff_t>(end));
    const ValueCounts expected = count_reference(bytes, names[i / 2]);
    CHECK(expected.nan > 1);
    CHECK(found[i].nan == expected.nan);
    CHECK(found[i].infinite == expected.infinite);
    CHECK(found[i].first_offset == expected.first_offset);
  }
}

TEST_CASE("the classes of floats and doubles are those of the C library") {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    std::vector<std::byte> bytes = test::random_bytes(8 * 1024, seed);
    // Exponents of all ones are rare by chance.
    for (std::size_t i = 0; i < bytes.size(); i += 40) {
      const std::uint64_t special = seed % 2 == 0 ? 0x7FF0000000000000 : 0xFFF0000000000001;
      std::memcpy(bytes.data() + i, &special, sizeof special);
      const std::uint32_t narrow = seed % 2 == 0 ? 0xFF800000 : 0x7F800001;
      std::memcpy(bytes.data() + i + 12, &narrow, sizeof narrow);
    }
    const auto count = [&](auto kind) {
      ValueCounts counts;
      for (std::size_t i = 0; i < bytes.size(); i += sizeof kind) {
        std::memcpy(&kind, bytes.data() + i, sizeof kind);
        if (std::isnan(kind)) ++counts.nan;
        if (std::isinf(kind)) ++counts.infinite;
        if (!std::isfinite(kind)) {
          counts.first_offset = std::min<std::uint64_t>(counts.first_offset, i);
        }
      }
      return counts;
    };
    const auto check = [&](const ValueCounts& expected, const char* name) {
      const ValueCounts found = count_reference(bytes, name);
      CHECK(found.nan == expected.nan);
      CHECK(found.infinite == expected.infinite);
      CHECK(found.first_offset == expected.first_offset);
      CHECK(expected.nan + expected.infinite > 0);
    };
    check(count(float{}), "F32");
    check(count(float{}), "C64");
    check(count(double{}), "F64");
  }
}

TEST_CASE("every byte of the 8-bit formats, by the words of their specifications") {
  const auto bad_bytes = [](const char* name) {
    std::set<unsigned> bad;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ValueCounts counts = count_reference({static_cast<std::byte>(byte)}, name);
      if (counts.nan != 0) bad.insert(byte);
      if (counts.infinite != 0) bad.insert(1000 + byte);
    }
    return bad;
  };
  CHECK(bad_bytes("F8_E4M3") == std::set<unsigned>{0x7F, 0xFF});
  CHECK(bad_bytes("F8_E5M2") ==
        std::set<unsigned>{0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF, 1000 + 0x7C, 1000 + 0xFC});
  CHECK(bad_bytes("F8_E8M0") == std::set<unsigned>{0xFF});
  CHECK(bad_bytes("F8_E4M3FNUZ") == std::set<unsigned>{0x80});
  CHECK(bad_bytes("F8_E5M2FNUZ") == std::set<unsigned>{0x80});
}

TEST_CASE("types without NaN and unknown ones have no descriptor") {
  for (const char* name : {"I8", "U8", "BOOL", "I64", "F6_E2M3", "F4", "NVFP4", "opaque(99)", ""}) {
    CAPTURE(std::string(name));
    CHECK_FALSE(find_value_descriptor(name).has_value());
  }
}
