// SPDX-License-Identifier: MIT
#include "load/manifest/file_hashes.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_changes.hpp"
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint32_t most_hashing_threads = 64;

struct Named {
  HashKind kind;
  std::string_view name;
  std::size_t digits;
};
constexpr std::array kinds{Named{HashKind::sha256, "sha256", 64},
                           Named{HashKind::xxh64, "xxh64", 16}, Named{HashKind::xxh3, "xxh3", 16}};

const Named& named(HashKind kind) noexcept { return *std::ranges::find(kinds, kind, &Named::kind); }

struct FreeState {
  void operator()(XXH64_state_t* state) const { XXH64_freeState(state); }
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

class Xxh64 {
 public:
  Xxh64() : state_(XXH64_createState()) {
    if (!state_) throw std::bad_alloc();
    XXH64_reset(state_.get(), 0);
  }
  void add(std::span<const std::byte> bytes) {
    XXH64_update(state_.get(), bytes.data(), bytes.size());
  }
  std::string hex_digest() const { return base::to_hex(XXH64_digest(state_.get())); }

 private:
  std::unique_ptr<XXH64_state_t, FreeState> state_;
};

class Xxh3 {
 public:
  Xxh3() : state_(XXH3_createState()) {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  std::string hex_digest() const { return base::to_hex(XXH3_64bits_digest(state_.get())); }

 private:
  std::unique_ptr<XXH3_state_t, FreeState> state_;
};

// Calls visit(offset, size_bytes) for each range of the file that belongs to no tensor, in order.
template <class Visitor>
void for_each_gap(const ModelFile& model, std::uint32_t file, Visitor&& visit) {
  std::uint64_t end = 0;
  for (const TensorInfo& tensor : model.tensors()) {  // in the order of file and offset
    if (tensor.file != file) continue;
    if (tensor.file_offset > end) visit(end, tensor.file_offset - end);
    end = std::max(end, tensor.file_offset + tensor.size_bytes);
  }
  const std::uint64_t size_bytes = model.files()[file].size_bytes;
  if (size_bytes > end) visit(end, size_bytes - end);
}

}  // namespace

std::string_view to_string(HashKind kind) noexcept { return named(kind).name; }

std::size_t digits_of(HashKind kind) noexcept { return named(kind).digits; }

std::optional<HashKind> hash_kind_from_name(std::string_view name) noexcept {
  for (const Named& candidate : kinds) {
    if (candidate.name == name) return candidate.kind;
  }
  return std::nullopt;
}

// Half of the cores; the load uses the others.
FileHashes::FileHashes(const ModelFile& model, Options options)
    : model_(model),
      options_(std::move(options)),
      reader_(model, {"hash", "hash", choose_threads(1, most_hashing_threads, 2), options_.cancel,
                      options_.timeline}) {
  plan();
  std::vector<SecondReader::Job> jobs;
  for (const Job& job : jobs_) jobs.push_back({"read and hash", job.size_bytes});
  reader_.start(std::move(jobs), [this](std::size_t job, std::span<std::byte> buffer) {
    do_job(jobs_[job], buffer);
  });
}

// The longest jobs first, because they determine the total time.
void FileHashes::plan() {
  hashes_.chains.resize(model_.files().size());
  hashes_.tensors.resize(model_.tensors().size());
  hashes_.tensor_digests.resize(model_.tensors().size());
  has_digest_.resize(model_.tensors().size());
  if (options_.with_metadata) {
    hashes_.metadata.resize(model_.files().size());
    for (std::uint32_t file = 0; file < model_.files().size(); ++file) {
      std::uint64_t size_bytes = 0;
      for_each_gap(model_, file, [&](std::uint64_t, std::uint64_t bytes) { size_bytes += bytes; });
      jobs_.push_back({JobKind::metadata, file, size_bytes});
    }
  }
  if (options_.tensors) {
    std::vector<std::uint64_t> chain_bytes(model_.files().size());
    std::uint32_t index = 0;
    for (const TensorInfo& tensor : model_.tensors()) {
      jobs_.push_back({JobKind::tensor, index++, tensor.size_bytes});
      chain_bytes[tensor.file] += tensor.size_bytes;
    }
    for (std::uint32_t file = 0; options_.with_chains && file < model_.files().size(); ++file) {
      jobs_.push_back({JobKind::chain, file, chain_bytes[file]});
    }
  }
  std::ranges::stable_sort(
      jobs_, [](const Job& left, const Job& right) { return left.size_bytes > right.size_bytes; });
}

void FileHashes::do_job(const Job& job, std::span<std::byte> buffer) {
  if (job.kind == JobKind::metadata) {
    hashes_.metadata[job.index] = hash_metadata(job.index, buffer);
    return;
  }
  std::string& hash =
      job.kind == JobKind::chain ? hashes_.chains[job.index] : hashes_.tensors[job.index];
  switch (*options_.tensors) {
    case HashKind::sha256: hash = hash_job<base::Sha256>(job, buffer); break;
    case HashKind::xxh64: hash = hash_job<Xxh64>(job, buffer); break;
    case HashKind::xxh3: hash = hash_job<Xxh3>(job, buffer); break;
  }
}

template <class Hasher>
std::string FileHashes::hash_job(const Job& job, std::span<std::byte> buffer) {
  Hasher hasher;
  if (job.kind == JobKind::tensor) {
    hash_tensor(hasher, job.index, buffer);
    return hasher.hex_digest();
  }
  // They are in the order of file and offset.
  const auto tensors = model_.tensors();
  const auto first =
      std::ranges::partition_point(tensors, [&](const auto& one) { return one.file < job.index; });
  for (auto at = first; at != tensors.end() && at->file == job.index; ++at) {
    hash_tensor(hasher, static_cast<std::uint32_t>(at - tensors.begin()), buffer);
  }
  return hasher.hex_digest();
}

template <class Hasher>
void FileHashes::hash_tensor(Hasher& hasher, std::uint32_t index, std::span<std::byte> buffer) {
  const TensorInfo& tensor = model_.tensors()[index];
  std::vector<std::uint64_t> blocks;
  const bool is_whole = reader_.read(tensor.file, {tensor.file_offset, tensor.size_bytes}, buffer,
                                     [&](std::span<const std::byte> piece) {
                                       hasher.add(piece);
                                       add_block_digests(piece, blocks);
                                     });
  if (is_whole) keep_digest(index, tensor_digest(blocks));
}

void FileHashes::keep_digest(std::uint32_t tensor, std::uint64_t digest) {
  const std::lock_guard lock(mutex_);
  if (has_digest_[tensor] && hashes_.tensor_digests[tensor] != digest) {
    fail_changed(model_, model_.tensors()[tensor]);
  }
  has_digest_[tensor] = true;
  hashes_.tensor_digests[tensor] = digest;
}

FileHashes::Metadata FileHashes::hash_metadata(std::uint32_t file, std::span<std::byte> buffer) {
  Metadata found;
  Xxh3 xxh3;
  base::Sha256 sha256;
  for_each_gap(model_, file, [&](std::uint64_t offset, std::uint64_t size_bytes) {
    found.bytes += size_bytes;
    reader_.read(file, {offset, size_bytes}, buffer, [&](std::span<const std::byte> piece) {
      xxh3.add(piece);
      sha256.add(piece);
    });
  });
  found.xxh3 = xxh3.hex_digest();
  found.sha256 = sha256.hex_digest();
  return found;
}

const FileHashes::Hashes& FileHashes::get() {
  reader_.finish();
  return hashes_;
}

}  // namespace hiptool::load
