// SPDX-License-Identifier: MIT
#include "measure/device_digest.hpp"

#include <array>

#include "hiptool/copy.hpp"
#include "kernel_store/kernel_loader.hpp"
#include "load/verify/digest.hpp"

namespace hiptool::measure {
namespace {

kernel_store::DigestTable whole_of(const Buffer& data) {
  const std::array ranges{kernel_store::DigestRange{0, data.size_bytes()}};
  return kernel_store::DigestTable(data, ranges);
}

kernel_store::BlockDigester digester_of(const Device& device) {
  kernel_store::KernelLoader loader(device);
  return kernel_store::BlockDigester(loader);
}

}  // namespace

DeviceDigest::DeviceDigest(const Buffer& data, std::size_t most_looks)
    : table_(whole_of(data)),
      blocks_(table_.block_count()),
      list_(data.device(), blocks_ * most_looks * sizeof(std::uint64_t)),
      digester_(digester_of(data.device())),
      digests_(blocks_ * most_looks) {}

void DeviceDigest::queue(std::size_t look, const StreamRef& stream) {
  const std::size_t bytes = blocks_ * sizeof(std::uint64_t);
  digester_.digest(table_, 0, blocks_, list_.view(look * bytes, bytes), stream);
}

std::span<const std::uint64_t> DeviceDigest::read(std::size_t looks, const StreamRef& stream) {
  const auto read = std::span(digests_).first(blocks_ * looks);
  copy_d2h(std::as_writable_bytes(read), list_.view(0, read.size_bytes()), stream);
  stream.synchronize();
  return read;
}

std::vector<std::uint64_t> host_digests(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> digests;
  load::add_block_digests(bytes, digests);
  return digests;
}

}  // namespace hiptool::measure
