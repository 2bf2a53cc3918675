// SPDX-License-Identifier: MIT
#include "load/device_digests.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "kernels/compile.hpp"
#include "kernels/kernel_loader.hpp"

namespace hiptool::load {
namespace {

constexpr std::chrono::seconds compile_timeout{30};

kernels::LeafDigester make_digester(const Device& device, const std::string& compiler_program) {
  if (compiler_program.empty()) return kernels::LeafDigester(device);
  kernels::KernelLoader::Options options;
  options.compile =
      kernels::with_disk_cache(kernels::compile_in_child(compiler_program, compile_timeout),
                               kernels::cache_folder_from_environment(), device.state().trace);
  kernels::KernelLoader loader(device, std::move(options));
  return kernels::LeafDigester(loader);
}

}  // namespace

DeviceDigests::DeviceDigests(const ModelFile& model, const ArenaLayout& layout,
                             const LeafMap& leaves, const Buffer& arena,
                             const std::string& compiler_program)
    : model_(model),
      layout_(layout),
      leaves_(leaves),
      arena_(arena),
      stream_(arena.device(), Stream::Priority::low),
      list_(arena.device(), leaves.count() * sizeof(std::uint64_t)),
      digester_(make_digester(arena.device(), compiler_program)) {}

DeviceDigests::~DeviceDigests() { core::settle(stream_); }

void DeviceDigests::add(const Chunk& chunk, const Event* copied) {
  const auto& placements = layout_.placements;
  const std::lock_guard lock(mutex_);
  if (copied != nullptr) stream_.wait(*copied);
  auto placement =
      std::partition_point(placements.begin(), placements.end(), [&](const Placement& candidate) {
        return candidate.device_offset + model_.tensors()[candidate.tensor].size_bytes <=
               chunk.begin;
      });
  for (; placement != placements.end() && placement->device_offset < chunk.end; ++placement) {
    const std::uint64_t size_bytes = model_.tensors()[placement->tensor].size_bytes;
    const std::uint64_t begin = std::max(chunk.begin, placement->device_offset);
    const std::uint64_t end = std::min(chunk.end, placement->device_offset + size_bytes);
    if (begin >= end) continue;  // an empty tensor
    const std::uint64_t leaf = (begin - placement->device_offset) / leaf_bytes;
    digester_.digest(arena_, {begin, end - begin, leaves_.first[placement->tensor] + leaf}, list_,
                     stream_);
  }
}

std::vector<std::uint64_t> DeviceDigests::fetch() {
  std::vector<std::uint64_t> digests(leaves_.count());
  const std::lock_guard lock(mutex_);
  try {
    copy_d2h(std::as_writable_bytes(std::span(digests)), list_, stream_);
    stream_.synchronize();
  } catch (...) {
    core::settle(stream_);
    throw;
  }
  return digests;
}

}  // namespace hiptool::load
