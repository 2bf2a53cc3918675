// SPDX-License-Identifier: MIT
#include "kernels/registry.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "hiptool/copy.hpp"
#include "hiptool/launch.hpp"
#include "kernels/images.hpp"
#include "kernels/kernel_loader.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::kernels;

namespace {

void run_reference(std::string_view name, std::vector<void*> arguments) {
  find_entry(name)->reference({}, {}, arguments.data());
}

}  // namespace

TEST_CASE("names are unique, and every entry is whole") {
  std::set<std::string_view> names;
  for (const KernelEntry& entry : entries()) {
    CAPTURE(std::string(entry.name));
    CHECK(names.insert(entry.name).second);
    CHECK(find_entry(entry.name) == &entry);
    CHECK(!entry.source.empty());
    CHECK(!entry.description.empty());
    CHECK(!entry.arguments.empty());
    CHECK(entry.bytes_moved(0) == 0);
    CHECK(entry.operations(0) == 0);
    for (const Argument& argument : entry.arguments) {
      const bool is_pointer =
          argument.type == ArgumentType::input || argument.type == ArgumentType::output;
      CHECK((argument.element_bytes > 0) == is_pointer);
    }
  }
  CHECK(find_entry("hiptool_none") == nullptr);
}

TEST_CASE("the argument tables are those of the sources as compiled for the processor") {
  register_references();
  CHECK(!embedded_images().empty());  // keeps the compiled sources in the program
  for (const KernelEntry& entry : entries()) {
    CAPTURE(std::string(entry.name));
    CHECK((hip::cpu::find_native(entry.name) == entry.reference));
    const hip::cpu::CpuKernel* kernel = hip::cpu::find_kernel(entry.name);
    REQUIRE(kernel != nullptr);
    REQUIRE(kernel->arguments.size() == entry.arguments.size());
    for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
      const ArgumentType type = entry.arguments[i].type;
      CHECK(kernel->arguments[i].size_bytes == size_bytes(type));
      CHECK(kernel->arguments[i].is_pointer ==
            (type == ArgumentType::input || type == ArgumentType::output));
    }
  }
}

TEST_CASE("figures of a bench") {
  CHECK(find_entry("hiptool_fill_u32")->bytes_moved(10) == 40);
  CHECK(find_entry("hiptool_copy_16")->bytes_moved(10) == 320);
  CHECK(find_entry("hiptool_tensor_digests")->bytes_moved(16384) == 16392);
  CHECK(find_entry("hiptool_tensor_digests")->bytes_moved(16385) == 16401);
  CHECK(find_entry("hiptool_pattern_write")->operations(2) == 26);
}

TEST_CASE("a reference finds the first wrong word, how many and which bits") {
  std::vector<std::uint32_t> words(1000);
  void* data = words.data();
  std::uint64_t count = words.size();
  std::uint32_t seed = 7;
  std::uint64_t result[3] = {0, ~std::uint64_t{0}, 0};
  void* result_address = result;
  run_reference("hiptool_pattern_write", {&data, &count, &seed});
  CHECK(std::set<std::uint32_t>(words.begin(), words.end()).size() == words.size());
  run_reference("hiptool_pattern_check", {&data, &count, &seed, &result_address});
  CHECK(result[0] == 0);
  CHECK(result[1] == ~std::uint64_t{0});
  words[500] ^= 4;
  words[17] ^= 0x80000000u;
  run_reference("hiptool_pattern_check", {&data, &count, &seed, &result_address});
  CHECK(result[0] == 2);
  CHECK(result[1] == 17);
  CHECK(result[2] == 0x80000004u);
}

TEST_CASE("kernels on a device do what their references do") {
  Platforms platforms;
  const Device device = test::device(platforms);
  KernelLoader loader(device);
  const Stream stream(device);
  const auto path = std::getenv("HIPTOOL_TEST_DEVICE") == nullptr ? hip::cpu::KernelPath::fibers
                                                                  : hip::cpu::KernelPath::native;
  hip::cpu::set_kernel_path(path);  // else reference would be compared with itself
  const std::uint64_t count = 5003;
  const auto bytes = test::random_bytes(count * 16, 3);
  const Buffer from(device, bytes.size());
  const Buffer to(device, bytes.size());
  copy_h2d_and_wait(from, bytes);
  std::vector<std::byte> seen(bytes.size());
  const LaunchConfig config{{3}, {256}};

  launch(loader.kernel("hiptool_copy_16"), config, stream, from, to, count);
  stream.synchronize();
  copy_d2h_and_wait(seen, to);
  CHECK(seen == bytes);

  const std::uint64_t size_bytes = bytes.size() - 3;
  launch(loader.kernel("hiptool_copy_1"), config, stream, from.view(1, size_bytes),
         to.view(2, size_bytes), size_bytes);
  stream.synchronize();
  copy_d2h_and_wait(seen, to);
  CHECK(std::memcmp(seen.data() + 2, bytes.data() + 1, size_bytes) == 0);

  launch(loader.kernel("hiptool_fill_u32"), config, stream, to, count, std::uint32_t{0xABCD1234u});
  launch(loader.kernel("hiptool_pattern_write"), config, stream, from, count, std::uint32_t{9});
  stream.synchronize();
  std::vector<std::uint32_t> words(count);
  copy_d2h_and_wait(std::as_writable_bytes(std::span(words)), to.view(0, count * 4));
  CHECK(words == std::vector<std::uint32_t>(count, 0xABCD1234u));
  std::vector<std::uint32_t> expected(count);
  void* data = expected.data();
  std::uint64_t places = count;
  std::uint32_t seed = 9;
  run_reference("hiptool_pattern_write", {&data, &places, &seed});
  copy_d2h_and_wait(std::as_writable_bytes(std::span(words)), from.view(0, count * 4));
  CHECK(words == expected);
  hip::cpu::set_kernel_path(hip::cpu::KernelPath::native);
}
