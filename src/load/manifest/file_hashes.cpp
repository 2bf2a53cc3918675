// SPDX-License-Identifier: MIT
#include "load/manifest/file_hashes.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_changes.hpp"
#include "load/verify/readback.hpp"
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t buffer_bytes = 16 * block_bytes;  // stays in a core's second-level cache
constexpr std::uint32_t most_hashing_threads = 64;

struct Named {
  HashKind kind;
  std::string_view name;
  std::size_t digits;
};
constexpr std::array kinds{Named{HashKind::sha256, "sha256", 64},
                           Named{HashKind::xxh64, "xxh64", 16}, Named{HashKind::xxh3, "xxh3", 16}};

const Named& named(HashKind kind) noexcept {
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const Named& candidate) { return candidate.kind == kind; });
}

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

FileHashes::FileHashes(const ModelFile& model, Options options)
    : model_(model), options_(std::move(options)) {
  for (const ModelPart& part : model.files()) {
    files_.push_back(base::File::open(part.path));
    files_.back().check_unchanged(part.size_bytes, {part.modified_ns, part.changed_ns});
  }
  plan();
  try {
    done_ = std::async(std::launch::async, [this] { run(); }).share();
  } catch (const std::system_error&) {
    throw Error(ErrorCode::host_out_of_memory, "start thread",
                "the system refuses to start a thread", "raise the limit with `ulimit -u`");
  }
}

FileHashes::~FileHashes() {
  is_given_up_.store(true);
  done_.wait();
}

// The longest jobs first, because they determine the total time.
void FileHashes::plan() {
  hashes_.chains.resize(files_.size());
  hashes_.tensors.resize(model_.tensors().size());
  hashes_.tensor_digests.resize(model_.tensors().size());
  has_digest_.resize(model_.tensors().size());
  if (options_.with_metadata) {
    hashes_.metadata.resize(files_.size());
    for (std::uint32_t file = 0; file < files_.size(); ++file) {
      std::uint64_t size_bytes = 0;
      for_each_gap(model_, file, [&](std::uint64_t, std::uint64_t bytes) { size_bytes += bytes; });
      jobs_.push_back({JobKind::metadata, file, size_bytes});
    }
  }
  if (options_.tensors) {
    std::vector<std::uint64_t> chain_bytes(files_.size());
    std::uint32_t index = 0;
    for (const TensorInfo& tensor : model_.tensors()) {
      jobs_.push_back({JobKind::tensor, index++, tensor.size_bytes});
      chain_bytes[tensor.file] += tensor.size_bytes;
    }
    for (std::uint32_t file = 0; options_.with_chains && file < files_.size(); ++file) {
      jobs_.push_back({JobKind::chain, file, chain_bytes[file]});
    }
  }
  std::stable_sort(jobs_.begin(), jobs_.end(), [](const Job& left, const Job& right) {
    return left.size_bytes > right.size_bytes;
  });
  for (const Job& job : jobs_) total_bytes_ += job.size_bytes;
}

// Half of the cores; the load uses the others.
void FileHashes::run() {
  const auto threads = static_cast<std::uint32_t>(
      std::min<std::size_t>(choose_threads(1, most_hashing_threads, 2), jobs_.size()));
  run_workers(threads,
              [this](std::uint32_t thread, const std::atomic<bool>& stop) { work(thread, stop); });
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_[i].check_unchanged(model_.files()[i].size_bytes,
                              {model_.files()[i].modified_ns, model_.files()[i].changed_ns});
  }
}

void FileHashes::work(std::uint32_t thread, const std::atomic<bool>& stop) {
  std::vector<std::byte> buffer(buffer_bytes);
  std::uint32_t track = 0;
  if (options_.timeline != nullptr) {
    track = options_.timeline->add_track("hash " + std::to_string(thread));
  }
  while (!stop.load()) {
    const std::size_t place = next_job_++;
    if (place >= jobs_.size()) return;
    const TimelineScope scope(options_.timeline, track, "read and hash", jobs_[place].size_bytes);
    do_job(jobs_[place], buffer, stop);
  }
}

void FileHashes::do_job(const Job& job, std::span<std::byte> buffer,
                        const std::atomic<bool>& stop) {
  if (job.kind == JobKind::metadata) {
    hashes_.metadata[job.index] = hash_metadata(job.index, buffer, stop);
    return;
  }
  std::string& hash =
      job.kind == JobKind::chain ? hashes_.chains[job.index] : hashes_.tensors[job.index];
  switch (*options_.tensors) {
    case HashKind::sha256: hash = hash_job<base::Sha256>(job, buffer, stop); break;
    case HashKind::xxh64: hash = hash_job<Xxh64>(job, buffer, stop); break;
    case HashKind::xxh3: hash = hash_job<Xxh3>(job, buffer, stop); break;
  }
}

template <class Hasher>
std::string FileHashes::hash_job(const Job& job, std::span<std::byte> buffer,
                                 const std::atomic<bool>& stop) {
  Hasher hasher;
  if (job.kind == JobKind::tensor) {
    hash_tensor(hasher, job.index, buffer, stop);
    return hasher.hex_digest();
  }
  // They are in the order of file and offset.
  const auto tensors = model_.tensors();
  const auto first = std::partition_point(tensors.begin(), tensors.end(),
                                          [&](const auto& one) { return one.file < job.index; });
  for (auto at = first; at != tensors.end() && at->file == job.index; ++at) {
    hash_tensor(hasher, static_cast<std::uint32_t>(at - tensors.begin()), buffer, stop);
  }
  return hasher.hex_digest();
}

template <class Hasher>
void FileHashes::hash_tensor(Hasher& hasher, std::uint32_t index, std::span<std::byte> buffer,
                             const std::atomic<bool>& stop) {
  const TensorInfo& tensor = model_.tensors()[index];
  std::vector<std::uint64_t> blocks;
  const auto take = [&](std::span<const std::byte> piece) {
    hasher.add(piece);
    for (std::size_t at = 0; at < piece.size(); at += block_bytes) {
      blocks.push_back(
          block_digest(piece.subspan(at, std::min<std::size_t>(block_bytes, piece.size() - at))));
    }
  };
  read_range(tensor.file, tensor.file_offset, tensor.size_bytes, buffer, stop, take);
  if (!stop.load()) keep_digest(index, tensor_digest(blocks));
}

void FileHashes::keep_digest(std::uint32_t tensor, std::uint64_t digest) {
  const std::lock_guard lock(mutex_);
  if (has_digest_[tensor] && hashes_.tensor_digests[tensor] != digest) {
    fail_changed(model_, model_.tensors()[tensor]);
  }
  has_digest_[tensor] = true;
  hashes_.tensor_digests[tensor] = digest;
}

FileHashes::Metadata FileHashes::hash_metadata(std::uint32_t file, std::span<std::byte> buffer,
                                               const std::atomic<bool>& stop) {
  Metadata found;
  Xxh3 xxh3;
  base::Sha256 sha256;
  for_each_gap(model_, file, [&](std::uint64_t offset, std::uint64_t size_bytes) {
    found.bytes += size_bytes;
    read_range(file, offset, size_bytes, buffer, stop, [&](std::span<const std::byte> piece) {
      xxh3.add(piece);
      sha256.add(piece);
    });
  });
  found.xxh3 = xxh3.hex_digest();
  found.sha256 = sha256.hex_digest();
  return found;
}

template <class Visitor>
void FileHashes::read_range(std::uint32_t file, std::uint64_t offset, std::uint64_t size_bytes,
                            std::span<std::byte> buffer, const std::atomic<bool>& stop,
                            Visitor&& visit) {
  for (std::uint64_t done = 0; done < size_bytes && !stop.load();) {
    if (is_given_up_.load()) throw Error(ErrorCode::cancelled, "hash", "the hashing was cancelled");
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("hash");
    const auto piece = buffer.first(std::min<std::uint64_t>(buffer.size(), size_bytes - done));
    files_[file].read_at(piece, offset + done);
    visit(std::span<const std::byte>(piece));
    done += piece.size();
    done_bytes_.fetch_add(piece.size());
  }
}

bool FileHashes::wait_for(std::chrono::milliseconds time) const {
  return done_.wait_for(time) == std::future_status::ready;
}

const FileHashes::Hashes& FileHashes::get() {
  done_.get();
  return hashes_;
}

}  // namespace hiptool::load
