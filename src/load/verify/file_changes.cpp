// SPDX-License-Identifier: MIT
#include "load/verify/file_changes.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "model/parts.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t reread_bytes = 16 * block_bytes;

std::uint64_t read_tensor_digest(const base::File& file, const TensorInfo& tensor,
                                 const CancelToken* cancel) {
  std::vector<std::byte> buffer(std::min(reread_bytes, tensor.size_bytes));
  std::vector<std::uint64_t> digests;
  for (std::uint64_t at = 0; at < tensor.size_bytes; at += reread_bytes) {
    if (cancel != nullptr) cancel->throw_if_cancelled("verify");
    const auto piece = std::span(buffer).first(std::min(reread_bytes, tensor.size_bytes - at));
    file.read_at(piece, tensor.file_offset + at);
    add_block_digests(piece, digests);
  }
  return tensor_digest(digests);
}

}  // namespace

void fail_changed(const ModelFile& model, const TensorInfo& tensor) {
  throw Error(ErrorCode::input_failed, "verify",
              model.files()[tensor.file].path.string() +
                  " changed while it was read: two readings of tensor '" + tensor.name + "' differ",
              "wait until nothing writes to the file, also through a mapping, then try again");
}

void blame_changed_files(const ModelFile& model, const VerifyResult& result,
                         const CancelToken* cancel) {
  const std::vector<base::File> files = model::open_unchanged(model);
  std::set<std::string_view> names;
  for (const Mismatch& mismatch : result.mismatches) names.insert(mismatch.tensor);
  for (const std::string_view name : names) {
    const TensorInfo* tensor = model.find(name);
    if (tensor == nullptr) continue;
    const std::uint64_t wanted =
        result.tensor_digests[static_cast<std::size_t>(tensor - model.tensors().data())];
    if (wanted == 0) continue;
    if (read_tensor_digest(files[tensor->file], *tensor, cancel) != wanted) {
      fail_changed(model, *tensor);
    }
  }
}

void require_same_reading(const ModelFile& model, std::span<const std::uint64_t> first,
                          std::span<const std::uint64_t> second) {
  for (std::size_t i = 0; i < model.tensors().size(); ++i) {
    if (first[i] != second[i]) fail_changed(model, model.tensors()[i]);
  }
}

}  // namespace hiptool::load
