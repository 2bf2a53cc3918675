// SPDX-License-Identifier: MIT
#include "kernels/digest.hpp"

#include <doctest/doctest.h>
#include <xxhash.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "hip/cpu/kernel_table.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;
using kernels::DigestRange;
using kernels::LeafDigester;

namespace {

constexpr std::size_t leaf_bytes = 16384;
constexpr std::byte untouched{0x5A};

std::optional<Error> failure(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// Digests a range on the device and compares each place of the list.
void check_range(LeafDigester& digester, const Device& device, const Stream& stream,
                 const std::vector<std::byte>& bytes, const Buffer& data, const DigestRange& range,
                 std::size_t places) {
  const Buffer digests(device, places * 8);
  fill(digests, untouched, stream);
  digester.digest(data, range, digests, stream);
  stream.synchronize();
  std::vector<std::uint64_t> seen(places);
  copy_d2h_and_wait(std::as_writable_bytes(std::span(seen)), digests);
  std::vector<std::uint64_t> expected(places, 0x5A5A5A5A5A5A5A5Au);
  for (std::size_t done = 0, leaf = range.first_leaf; done < range.size_bytes; ++leaf) {
    const std::size_t size = std::min<std::size_t>(leaf_bytes, range.size_bytes - done);
    expected[leaf] = XXH3_64bits(bytes.data() + range.device_offset + done, size);
    done += size;
  }
  CHECK(seen == expected);
}

}  // namespace

TEST_CASE("digests are those of the host, for all sizes and alignments, and nothing else changes") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  LeafDigester digester(device);
  const auto bytes = test::random_bytes(40 * leaf_bytes, 5);
  const Buffer data(device, bytes.size());
  copy_h2d_and_wait(data, bytes);
  for (const auto path : {hip::cpu::KernelPath::native, hip::cpu::KernelPath::fibers}) {
    hip::cpu::set_kernel_path(path);
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{240}, std::size_t{241}, leaf_bytes - 1,
          leaf_bytes, leaf_bytes + 1, 3 * leaf_bytes + 100, 33 * leaf_bytes}) {
      for (const std::size_t offset : {0u, 1u, 8u, 4096u}) {
        CAPTURE(size);
        CAPTURE(offset);
        check_range(digester, device, stream, bytes, data, {offset, size, 3}, 40);
      }
    }
  }
  hip::cpu::set_kernel_path(hip::cpu::KernelPath::native);
}

TEST_CASE("ranges that do not fit are refused") {
  Platforms platforms;
  const Device device = test::device(platforms);
  const Stream stream(device);
  LeafDigester first(device);
  LeafDigester digester(std::move(first));
  const Buffer data(device, 2 * leaf_bytes);
  const Buffer digests(device, 16);
  const auto code = [&](const DigestRange& range, const Buffer& list) {
    const auto error = failure([&] { digester.digest(data, range, list, stream); });
    return error ? error->code() : ErrorCode::internal;
  };
  constexpr auto huge = ~std::uint64_t{0};
  CHECK(code({0, 2 * leaf_bytes, 0}, digests) == ErrorCode::internal);  // nothing thrown
  CHECK(code({2 * leaf_bytes, 0, 2}, digests) == ErrorCode::internal);
  CHECK(code({0, 2 * leaf_bytes + 1, 0}, digests) == ErrorCode::out_of_bounds);
  CHECK(code({1, 2 * leaf_bytes, 0}, digests) == ErrorCode::out_of_bounds);
  CHECK(code({huge, 2, 0}, digests) == ErrorCode::out_of_bounds);
  CHECK(code({0, huge, 0}, digests) == ErrorCode::out_of_bounds);
  CHECK(code({0, 2 * leaf_bytes, 1}, digests) == ErrorCode::out_of_bounds);
  CHECK(code({0, 1, huge}, digests) == ErrorCode::out_of_bounds);
  CHECK(code({0, 1, 0}, digests.view(4, 8)) == ErrorCode::invalid_argument);
  stream.synchronize();
  CHECK(digester.image() == (device.platform() == Platform::cpu ? "cpu" : digester.image()));
}
