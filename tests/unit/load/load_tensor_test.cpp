// SPDX-License-Identifier: MIT
#include "hiptool/load_tensor.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "buffer_bytes.hpp"
#include "hiptool/arena.hpp"
#include "hiptool/caching_allocator.hpp"
#include "hiptool/error.hpp"
#include "small_model.hpp"
#include "support.hpp"
#include "unit/load/watched_device.hpp"
#include "unit/model/builders.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

/// A file of numbers 0, 1, 2 and so on, as f32 from byte 12 on.
std::filesystem::path file_of_numbers(const std::filesystem::path& path, std::uint32_t count) {
  std::string bytes(12, '?');
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return write_file(path, bytes);
}

}  // namespace

TEST_CASE("load tensor: single tensors of a model equal the file") {
  const TemporaryFolder folder;
  std::vector<SmallTensor> tensors = various_tensors();
  tensors.push_back({"large", random_bytes((std::size_t{9} << 20) + 5, 77)});
  tensors.push_back(float_tensor("numbers", std::vector<float>{1.5F, -2, 3e-9F}));
  tensors.push_back({"other", random_bytes(6, 5), "F8_E5M2"});
  tensors.push_back({"bytes", random_bytes(6, 5), "I8"});
  const ModelFile model =
      ModelFile::open(write_small_model(folder.path() / "m.safetensors", tensors));
  WatchedDevice watched;
  const LiveCounts before = watched.table.live();
  for (const SmallTensor& tensor : tensors) {
    CAPTURE(tensor.name);
    const Weight weight = load_weight(watched.device, model, tensor.name);
    CHECK(bytes_of(weight.bytes) == tensor.bytes);
    CHECK(weight.type.name() == tensor.dtype);
    CHECK(weight.shape == std::vector<std::uint64_t>{tensor.bytes.size() / tensor.element_bytes});
  }
  const Tensor numbers = load_tensor(watched.device, model, "numbers");
  CHECK(numbers.to_host<float>() == std::vector<float>{1.5F, -2, 3e-9F});
  CHECK(load_tensor(watched.device, model, "bytes").dtype() == DType::i8);
  CHECK(load_tensor(watched.device, model, "bytes").to_host<std::int8_t>().size() == 6);
  CHECK((watched.table.live() - before).device_memory == 1);
  CHECK((watched.table.live() - before).host_memory == 0);
  CHECK((watched.table.live() - before).streams == 0);

  Arena arena(watched.device, std::size_t{1} << 20);
  CHECK(load_tensor(arena, model, "numbers").to_host<float>() == numbers.to_host<float>());
  CachingAllocator allocator(watched.device);
  const Stream stream(watched.device);
  const Tensor cached = load_tensor({allocator, stream}, model, "blk.7.weight");
  CHECK(bytes_of(cached.buffer()) == tensors[6].bytes);

  CHECK_THROWS_WITH_AS(load_tensor(watched.device, model, "nowhere"),
                       doctest::Contains("there is no tensor 'nowhere'"), Error);
  CHECK(code_of([&] { static_cast<void>(load_weight(watched.device, model, "nowhere")); }) ==
        ErrorCode::not_found);
  CHECK_THROWS_WITH_AS(load_tensor(watched.device, model, "other"),
                       "tensor 'other' has elements of type F8_E5M2, which is not a DType", Error);
}

TEST_CASE("load tensor: dims of a GGUF are turned round, quantised ones are bytes") {
  const TemporaryFolder folder;
  const Gguf gguf =
      Gguf().architecture().tensor("a", {3, 2}, 0, 0).tensor("q", {32, 2}, 2, 32).data(96);
  std::string bytes = gguf.bytes();
  const std::size_t start = bytes.size() - 96;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const auto number = static_cast<float>(i);
    std::memcpy(bytes.data() + start + 4 * i, &number, sizeof number);
  }
  for (std::size_t i = 0; i < 36; ++i) bytes[start + 32 + i] = static_cast<char>(i);
  const ModelFile model = ModelFile::open(write_file(folder.path() / "m.gguf", bytes));
  Platforms platforms;
  const Device on = device(platforms);
  const Tensor a = load_tensor(on, model, "a");
  CHECK(a.dtype() == DType::f32);
  CHECK((a.dims()[0] == 2 && a.dims()[1] == 3));
  CHECK(a.to_host<float>() == std::vector<float>{0, 1, 2, 3, 4, 5});
  const Weight q = load_weight(on, model, "q");
  CHECK(q.type.name() == "Q4_0");
  CHECK(q.bytes.size_bytes() == 36);
  CHECK(bytes_of(q.bytes)[35] == std::byte{35});
  CHECK(code_of([&] { static_cast<void>(load_tensor(on, model, "q")); }) == ErrorCode::unsupported);
}

TEST_CASE("load tensor: a range of a file equals the file, or is refused") {
  const TemporaryFolder folder;
  const auto path = file_of_numbers(folder.path() / "numbers", 3'000'000);
  WatchedDevice watched;
  const auto load = [&](std::uint64_t offset, std::vector<std::uint64_t> dims) {
    return load_file_range(watched.device, path, offset, DType::f32, dims);
  };
  const std::vector<float> all = load(12, {3, 1'000'000}).to_host<float>();
  REQUIRE(all.size() == 3'000'000);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != static_cast<float>(i)) FAIL("element ", i, " is ", all[i]);
  }
  CHECK(load(12 + 4 * 2'999'999, {1}).to_host<float>().front() == 2'999'999.0F);
  CHECK(load(12 + 4 * 3'000'000, {0}).element_count() == 0);
  CHECK(load_file_range(watched.device, path, 16, DType::u32, {2}).to_host<std::uint32_t>() ==
        std::vector<std::uint32_t>{0x3f800000, 0x40000000});

  watched.table.reset();
  const auto refusal = [&](std::uint64_t offset, std::vector<std::uint64_t> dims) {
    return code_of([&] { load(offset, dims); });
  };
  CHECK(refusal(14, {1}) == ErrorCode::invalid_argument);
  CHECK(refusal(12, {3'000'001}) == ErrorCode::out_of_bounds);
  CHECK(refusal(16, {3'000'000}) == ErrorCode::out_of_bounds);
  CHECK(refusal(12'000'016, {0}) == ErrorCode::out_of_bounds);
  CHECK(refusal(~std::uint64_t{3}, {1}) == ErrorCode::out_of_bounds);
  CHECK(refusal(12, {std::uint64_t{1} << 62}) == ErrorCode::out_of_bounds);
  CHECK(code_of([&] {
          static_cast<void>(
              load_file_range(watched.device, folder.path() / "absent", 0, DType::u8, {1}));
        }) == ErrorCode::input_failed);
  CHECK(watched.table.total_count() == 0);
  CHECK_THROWS_WITH_AS(load(8, {3'000'002}), doctest::Contains("exceed its 12000012 bytes"), Error);
}

TEST_CASE("load tensor: a file that was changed or cut off is refused, and nothing is lost") {
  const TemporaryFolder folder;
  const std::vector<SmallTensor> tensors{{"a", random_bytes(50'000, 1)},
                                         {"b", random_bytes(60'000, 2)}};
  const auto path = write_small_model(folder.path() / "m.safetensors", tensors);
  const ModelFile model = ModelFile::open(path);
  WatchedDevice watched;
  const LiveCounts before = watched.table.live();
  watched.table.fail("hipMemcpyAsync", hip::hipErrorUnknown);
  CHECK(code_of([&] { static_cast<void>(load_weight(watched.device, model, "b")); }) ==
        ErrorCode::device);
  watched.table.fail("hipMalloc", hip::hipErrorOutOfMemory);
  CHECK(code_of([&] { static_cast<void>(load_tensor(watched.device, model, "b")); }) ==
        ErrorCode::out_of_memory);
  CHECK(bytes_of(load_weight(watched.device, model, "b").bytes) == tensors[1].bytes);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK_THROWS_WITH_AS(load_weight(watched.device, model, "b"), doctest::Contains("m.safetensors"),
                       Error);
  CHECK(code_of([&] { static_cast<void>(load_tensor(watched.device, model, "a")); }) ==
        ErrorCode::input_failed);
  CHECK((watched.table.live() - before).is_empty());
}
