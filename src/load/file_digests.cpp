// SPDX-License-Identifier: MIT
#include "load/file_digests.hpp"

#include <algorithm>
#include <atomic>
#include <span>

#include "base/file.hpp"
#include "load/digest.hpp"
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

// Small enough to stay in a core's cache between reading and hashing.
constexpr std::uint64_t piece_bytes = 16 * leaf_bytes;
// What a thread takes at a time.
constexpr std::uint64_t range_bytes = 512 * leaf_bytes;

}  // namespace

std::vector<std::uint64_t> digest_files(const ModelFile& model, const LeafMap& leaves,
                                        std::uint32_t threads, const std::function<void()>& check) {
  std::vector<base::File> files;
  for (const ModelPart& part : model.files()) files.push_back(base::File::open(part.path));
  const std::vector<LeafRange> ranges = cut_leaf_ranges(model, range_bytes);
  std::vector<std::uint64_t> digests(leaves.count());
  std::atomic<std::size_t> next{0};
  const auto work = [&](std::uint32_t, const std::atomic<bool>& stop) {
    std::vector<std::byte> buffer(piece_bytes);
    for (std::size_t index = next++; index < ranges.size() && !stop.load(); index = next++) {
      const LeafRange& range = ranges[index];
      const TensorInfo& tensor = model.tensors()[range.tensor];
      std::uint64_t leaf = leaves.first[range.tensor] + range.tensor_offset / leaf_bytes;
      for (std::uint64_t done = 0; done < range.size_bytes; done += piece_bytes) {
        check();
        const auto bytes = std::span(buffer).first(std::min(piece_bytes, range.size_bytes - done));
        files[tensor.file].read_at(bytes, tensor.file_offset + range.tensor_offset + done);
        for (std::uint64_t at = 0; at < bytes.size(); at += leaf_bytes) {
          digests[leaf++] = leaf_digest(bytes.subspan(at, std::min(leaf_bytes, bytes.size() - at)));
        }
      }
    }
  };
  run_workers(static_cast<std::uint32_t>(std::min<std::size_t>(threads, ranges.size())), work);
  return digests;
}

}  // namespace hiptool::load
