// SPDX-License-Identifier: MIT
#include "load/verify/file_digests.hpp"

#include <algorithm>
#include <utility>

#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_chain.hpp"

namespace hiptool::load {
namespace {

// What a thread takes at a time.
constexpr std::uint64_t range_bytes = 512 * block_bytes;

}  // namespace

FileDigests::FileDigests(const ModelFile& model, const Options& options)
    : model_(model),
      blocks_(model),
      hashed_files_(options.sha256_of),
      digests_(std::make_unique_for_overwrite<std::uint64_t[]>(blocks_.count())),
      hashes_(model.files().size()),
      reader_(model, {"verify", "digest", options.threads, options.cancel, options.timeline}) {
  reader_.start(divide(), [this](std::size_t job, std::span<std::byte> buffer) {
    if (job < hashed_files_.size()) return hash_file(hashed_files_[job]);
    digest_range(ranges_[job - hashed_files_.size()], buffer);
  });
}

// The largest file first: it decides when the last is done.
std::vector<SecondReader::Job> FileDigests::divide() {
  std::vector<SecondReader::Job> jobs;
  std::vector<bool> is_hashed(model_.files().size());
  for (const std::uint32_t file : hashed_files_) {
    if (file >= is_hashed.size() || is_hashed[file]) {
      throw Error(ErrorCode::out_of_bounds, "verify",
                  "file " + std::to_string(file) + " is not in the model or is given twice");
    }
    is_hashed[file] = true;
  }
  std::ranges::sort(hashed_files_, [&](std::uint32_t left, std::uint32_t right) {
    return model_.files()[left].size_bytes > model_.files()[right].size_bytes;
  });
  for (const std::uint32_t file : hashed_files_) {
    jobs.push_back({"read, hash and digest", model_.files()[file].size_bytes});
  }
  for (const BlockRange& range : cut_block_ranges(model_, range_bytes)) {
    if (is_hashed[model_.tensors()[range.tensor].file]) continue;
    ranges_.push_back(range);
    jobs.push_back({"read and digest", range.bytes.size_bytes});
  }
  return jobs;
}

void FileDigests::hash_file(std::uint32_t file) {
  std::vector<FileChain::Tensor> tensors;
  for (std::size_t i = 0; i < model_.tensors().size(); ++i) {
    const TensorInfo& tensor = model_.tensors()[i];
    if (tensor.file != file) continue;
    tensors.push_back({{tensor.file_offset, tensor.size_bytes}, blocks_.first[i]});
  }
  FileChain chain(std::move(tensors), model_.files()[file].size_bytes);
  while (reader_.goes_on()) {
    const std::uint64_t read =
        chain.read_next(reader_.file(file), {digests_.get(), blocks_.count()});
    if (read == 0) break;
    reader_.add_bytes(read);
  }
  hashes_[file] = chain.sha256();
}

void FileDigests::digest_range(const BlockRange& range, std::span<std::byte> buffer) {
  const TensorInfo& tensor = model_.tensors()[range.tensor];
  std::vector<std::uint64_t> found;
  reader_.read(tensor.file, {tensor.file_offset + range.bytes.offset, range.bytes.size_bytes},
               buffer, [&](std::span<const std::byte> piece) { add_block_digests(piece, found); });
  const std::uint64_t first = blocks_.first[range.tensor] + range.bytes.offset / block_bytes;
  std::copy(found.begin(), found.end(), digests_.get() + first);
}

std::span<const std::uint64_t> FileDigests::get() {
  reader_.finish();
  return {digests_.get(), blocks_.count()};
}

const std::vector<std::string>& FileDigests::sha256() {
  get();
  return hashes_;
}

}  // namespace hiptool::load
