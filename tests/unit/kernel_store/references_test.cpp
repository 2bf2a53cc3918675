// SPDX-License-Identifier: MIT
#include "kernel_store/references.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "hip/cpu/kernel_table.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/kernel.hpp"
#include "kernel_store/images.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::kernel_store;

namespace {

void run_reference(std::string_view name, std::vector<void*> arguments) {
  register_references();
  hip::cpu::find_native(name)({}, {}, arguments.data());
}

}  // namespace

TEST_CASE("each kernel that a source exports is found, for the processor too") {
  constexpr std::string_view mark = "\nHIPTOOL_EXPORT(";
  std::set<std::string> names;
  for (const Image& image : embedded_images()) {
    // Operations name their kernels by a macro, once for each type, and find them by their source.
    if (image.target != "source" || image.source.substr(0, 4) == "ops_") continue;
    CAPTURE(std::string(image.source));
    const std::string text(reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size());
    std::size_t found = 0;
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::size_t start = at + mark.size();
      const std::string name = text.substr(start, text.find(')', start) - start);
      CAPTURE(name);
      CHECK(names.insert(name).second);
      CHECK(source_of_kernel(name) == image.source);
      CHECK(hip::cpu::find_kernel(name) != nullptr);
      ++found;
    }
    CHECK(found > 0);
  }
  CHECK(names.contains("hiptool_tensor_digests"));
  CHECK(source_of_kernel("hiptool_none").empty());
  CHECK(source_of_kernel("hiptool_copy").empty());  // a part of a name
}

TEST_CASE("the kernels of loads, checks and copies have host functions") {
  register_references();
  CHECK_FALSE(embedded_images().empty());
  for (const char* name :
       {"hiptool_fill_u32", "hiptool_copy_16", "hiptool_copy_1", "hiptool_copy_16_passes",
        "hiptool_pattern_write", "hiptool_pattern_check", "hiptool_pattern_check_stretches",
        "hiptool_copy_both_ways", "hiptool_tensor_digests", "hiptool_value_check"}) {
    CAPTURE(name);
    CHECK((hip::cpu::find_native(name) != nullptr));
  }
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
  Buffer from(device, bytes.size());
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

TEST_CASE("a kernel of many passes copies all, with a thread for each unit or fewer") {
  Platforms platforms;
  const Device device = test::device(platforms);
  KernelLoader loader(device);
  const Stream stream(device);
  const bool is_cpu = std::getenv("HIPTOOL_TEST_DEVICE") == nullptr;
  for (const auto path : {hip::cpu::KernelPath::fibers, hip::cpu::KernelPath::native}) {
    if (is_cpu) hip::cpu::set_kernel_path(path);
    // A thread has none, one, less than twelve, or more units than it loads ahead.
    for (const std::uint64_t count : {1u, 512u, 700u, 512u * 12, 512u * 31 + 5}) {
      CAPTURE(count);
      const Buffer from(device, count * 16);
      Buffer to(device, (count + 1) * 16);
      launch(loader.kernel("hiptool_pattern_write"), {{2}, {256}}, stream, from, count * 4, 5u);
      fill(to, std::byte{0}, stream);
      launch(loader.kernel("hiptool_copy_16_passes"), {{1}, {512}}, stream, from, to, count, 3u);
      stream.synchronize();
      std::vector<std::uint32_t> seen((count + 1) * 4), expected(count * 4);
      copy_d2h_and_wait(std::as_writable_bytes(std::span(seen)), to);
      void* data = expected.data();
      std::uint64_t words = expected.size();
      std::uint32_t seed = 5;
      run_reference("hiptool_pattern_write", {&data, &words, &seed});
      expected.resize(seen.size());  // and nothing behind it
      CHECK(seen == expected);
    }
  }
  hip::cpu::set_kernel_path(hip::cpu::KernelPath::native);
}

TEST_CASE("one kernel copies both ways, a warp one way each, and its check sees one of them") {
  Platforms platforms;
  const Device device = test::device(platforms);
  KernelLoader loader(device);
  const Stream stream(device);
  const bool is_cpu = std::getenv("HIPTOOL_TEST_DEVICE") == nullptr;
  for (const auto path : {hip::cpu::KernelPath::fibers, hip::cpu::KernelPath::native}) {
    if (is_cpu) hip::cpu::set_kernel_path(path);
    for (const std::uint32_t stretch : {32u, 64u}) {
      CAPTURE(stretch);
      const std::uint64_t count = 20 * stretch;  // units of 16 bytes
      const std::uint64_t shift = 4 * stretch;
      const std::size_t words = (count + shift) * 4;
      Buffer here(device, words * 4);
      const Buffer there(device, words * 4);
      const LaunchConfig every{{2}, {256}};
      launch(loader.kernel("hiptool_pattern_write"), every, stream, here, std::uint64_t{words}, 3u);
      launch(loader.kernel("hiptool_pattern_write"), every, stream, there, std::uint64_t{words},
             4u);
      launch(loader.kernel("hiptool_copy_both_ways"),
             {{static_cast<std::uint32_t>((count + 1023) / 1024)}, {1024}}, stream, here, there,
             count, shift, stretch, 3u);
      std::vector<std::uint32_t> before(2 * words), after(2 * words);
      void* data[] = {before.data(), before.data() + words};
      std::uint64_t all = words;
      for (std::uint32_t seed : {3u, 4u}) {
        run_reference("hiptool_pattern_write", {&data[seed - 3], &all, &seed});
      }
      stream.synchronize();
      const auto seen = std::as_writable_bytes(std::span(after));
      copy_d2h_and_wait(seen.first(words * 4), here);
      copy_d2h_and_wait(seen.last(words * 4), there);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < words; ++i) {
        const bool is_copied = i < count * 4;
        const bool is_back = i / 4 / stretch % 2 == 1;
        const std::size_t from = i + shift * 4;
        wrong += after[i] != before[is_copied && is_back ? words + from : i];
        wrong += after[words + i] != before[is_copied && !is_back ? from : words + i];
      }
      CHECK(wrong == 0);
      // Of `here` only the even stretches kept the pattern that it had.
      const std::uint32_t stretch_words = 4 * stretch;
      const Buffer found(device, 3 * sizeof(std::uint64_t));
      for (const std::uint32_t first : {0u, stretch_words}) {
        std::uint64_t result[3] = {0, ~std::uint64_t{0}, 0};
        Buffer target = found;
        copy_h2d_and_wait(target, std::as_bytes(std::span(result)));
        launch(loader.kernel("hiptool_pattern_check_stretches"), every, stream, here, count * 2, 3u,
               stretch_words, first, found);
        stream.synchronize();
        copy_d2h_and_wait(std::as_writable_bytes(std::span(result)), found);
        CHECK(result[0] == (first == 0 ? 0 : count * 2));
        CHECK(result[1] == (first == 0 ? ~std::uint64_t{0} : stretch_words));
      }
    }
  }
  hip::cpu::set_kernel_path(hip::cpu::KernelPath::native);
}
