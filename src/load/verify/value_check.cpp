// SPDX-License-Identifier: MIT
#include "load/verify/value_check.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/kernel.hpp"
#include "hiptool/stream.hpp"
#include "kernel_store/value_check.hpp"
#include "load/verify/kernel_compiling.hpp"
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t first_read_back_bytes = 512;
constexpr std::uint64_t most_read_back_bytes = 4u << 20;

bool is_cancelled(const CancelToken* cancel) { return cancel != nullptr && cancel->is_cancelled(); }

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// Pieces grow, because a tensor that begins with many zeros mostly has more of them.
bool holds_only_zeros(const Buffer& tensor, const CancelToken* cancel,
                      std::vector<std::byte>& memory) {
  std::uint64_t piece_bytes = first_read_back_bytes;
  for (std::uint64_t done = 0; done < tensor.size_bytes();) {
    if (is_cancelled(cancel)) return false;
    const std::uint64_t bytes = std::min<std::uint64_t>(piece_bytes, tensor.size_bytes() - done);
    memory.resize(static_cast<std::size_t>(std::max<std::uint64_t>(bytes, memory.size())));
    const auto piece = std::span(memory).first(static_cast<std::size_t>(bytes));
    copy_d2h_and_wait(piece, tensor.view(done, bytes));
    if (!is_zero(piece)) return false;
    done += bytes;
    piece_bytes = std::min(piece_bytes * 16, most_read_back_bytes);
  }
  return true;
}

// Indices of the arena's tensors whose bytes are all zero, those seen until a cancellation. Reads
// each tensor back up to its first other byte, which is near its start in nearly all of them.
// Blocks; throws what the runtime answered.
std::vector<std::uint32_t> find_zero_tensors(const ModelFile& model, const ArenaLayout& layout,
                                             const Buffer& arena, const CancelToken* cancel) {
  std::vector<std::uint32_t> tensors;
  std::vector<std::byte> memory;
  for (const Placement& placement : layout.placements) {
    const std::uint64_t size_bytes = model.tensors()[placement.tensor].size_bytes;
    if (size_bytes == 0) continue;
    const Buffer tensor = arena.view(placement.device_offset, size_bytes);
    if (holds_only_zeros(tensor, cancel, memory)) tensors.push_back(placement.tensor);
  }
  return tensors;
}

using kernel_store::ValueCounts;
using kernel_store::ValueDescriptor;
using kernel_store::ValueTile;

// What a block of the kernel takes at a time.
constexpr std::uint64_t tile_bytes = 1u << 20;
// So many tiles are between two looks at the token on the processor; a GPU is faster than a person.
constexpr std::uint64_t tiles_per_launch = 64;
constexpr std::uint32_t block_threads = 256;
constexpr std::uint64_t blocks_per_unit = 16;

class Check {
 public:
  Check(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
        const ValueCheckOptions& options)
      : model_(model), layout_(layout), arena_(arena), options_(options) {
    std::uint32_t result = 0;
    for (const Placement& placement : layout.placements) add_tiles(placement, result++);
  }

  /// Until a cancellation: what was counted before it stays.
  void run() {
    if (tiles_.empty()) return;
    const Device& device = arena_.device();
    kernel_store::KernelLoader loader(
        device, loader_options(device, options_.compiler_program, options_.cancel));
    const Kernel kernel = loader.kernel("hiptool_value_check");
    const Buffer tiles = to_device(tiles_);
    const Buffer descriptors = to_device(descriptors_);
    counts_.resize(layout_.placements.size());
    const Buffer results = to_device(counts_);
    const std::uint64_t most_blocks = device.info().compute_units.value_or(1) * blocks_per_unit;
    const bool is_host = device.is_host_memory();
    const std::uint64_t batch = is_host ? tiles_per_launch : tiles_.size();
    std::vector<Stream> streams;
    for (std::uint32_t i = 0; i < (is_host ? choose_threads(1, 64, 1) : 1); ++i) {
      streams.emplace_back(device);
    }
    try {
      while (done_ < tiles_.size() && !is_cancelled(options_.cancel)) {
        for (const Stream& stream : streams) {
          const std::uint64_t end = std::min<std::uint64_t>(done_ + batch, tiles_.size());
          if (done_ == end) break;
          LaunchConfig config;
          config.grid.x = static_cast<std::uint32_t>(std::min(end - done_, most_blocks));
          config.block.x = block_threads;
          launch(kernel, config, stream, arena_, tiles, descriptors, done_, end, results);
          done_ = end;
        }
        for (const Stream& stream : streams) stream.synchronize();
      }
    } catch (...) {
      for (const Stream& stream : streams) core::settle(stream);  // before their memory goes
      throw;
    }
    copy_d2h_and_wait(std::as_writable_bytes(std::span(counts_)), results);
  }

  ValueCheckResult result() const {
    ValueCheckResult result;
    for (const ValueTile& tile : std::span(tiles_).first(static_cast<std::size_t>(done_))) {
      result.checked += tile.blocks * descriptors_[tile.descriptor].count;
    }
    result.skipped_tensors = skipped_tensors_;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const ValueCounts& counts = counts_[i];
      if (counts.nan == 0 && counts.infinite == 0) continue;
      result.nan += counts.nan;
      result.infinite += counts.infinite;
      result.findings.push_back(
          {layout_.placements[i].tensor, counts.nan, counts.infinite, counts.first_offset});
    }
    std::ranges::sort(result.findings, [](const ValueFinding& left, const ValueFinding& right) {
      return left.tensor < right.tensor;
    });
    return result;
  }

 private:
  void add_tiles(const Placement& placement, std::uint32_t result) {
    const TensorInfo& tensor = model_.tensors()[placement.tensor];
    const auto type = kernel_store::find_value_descriptor(tensor.type.name());
    if (!type) {
      ++skipped_tensors_;
      return;
    }
    const std::uint64_t blocks = tensor.size_bytes / type->block_bytes;
    const std::uint64_t most = tile_bytes / type->block_bytes;
    const std::uint32_t descriptor = number_of(tensor.type.name(), *type);
    for (std::uint64_t first = 0; first < blocks; first += most) {
      const std::uint64_t offset = first * type->block_bytes;
      tiles_.push_back({placement.device_offset + offset, std::min(most, blocks - first), offset,
                        result, descriptor});
    }
  }

  std::uint32_t number_of(std::string_view name, const ValueDescriptor& type) {
    const auto [place, is_new] =
        numbers_.emplace(name, static_cast<std::uint32_t>(descriptors_.size()));
    if (is_new) descriptors_.push_back(type);
    return place->second;
  }

  template <class Value>
  Buffer to_device(const std::vector<Value>& values) const {
    Buffer buffer(arena_.device(), values.size() * sizeof(Value));
    copy_h2d_and_wait(buffer, std::as_bytes(std::span(values)));
    return buffer;
  }

  const ModelFile& model_;
  const ArenaLayout& layout_;
  const Buffer& arena_;
  const ValueCheckOptions& options_;
  std::vector<ValueTile> tiles_;
  std::vector<ValueDescriptor> descriptors_;
  std::map<std::string_view, std::uint32_t> numbers_;
  std::vector<ValueCounts> counts_;  // by placement
  std::uint64_t done_ = 0;           // tiles
  std::uint64_t skipped_tensors_ = 0;
};

void merge_values(ValueCheckResult& into, const ValueCheckResult& from) {
  into.checked += from.checked;
  into.nan += from.nan;
  into.infinite += from.infinite;
  into.skipped_tensors += from.skipped_tensors;
  into.zero_tensors.insert(into.zero_tensors.end(), from.zero_tensors.begin(),
                           from.zero_tensors.end());
  std::ranges::sort(into.zero_tensors);
  into.findings.insert(into.findings.end(), from.findings.begin(), from.findings.end());
  std::ranges::stable_sort(into.findings, [](const ValueFinding& left, const ValueFinding& right) {
    return left.tensor < right.tensor;
  });
  // Devices are checked one after the other or at the same time; the caller knows which.
  into.duration_s = std::max(into.duration_s, from.duration_s);
}

}  // namespace

void check_values(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                  const ValueCheckOptions& options, ValueCheckResult& into) {
  const auto start = std::chrono::steady_clock::now();
  Check check(model, layout, arena, options);
  check.run();
  ValueCheckResult result = check.result();
  result.zero_tensors = find_zero_tensors(model, layout, arena, options.cancel);
  result.duration_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  merge_values(into, result);
  if (options.cancel != nullptr) options.cancel->throw_if_cancelled("check values");
}

}  // namespace hiptool::load
