// SPDX-License-Identifier: MIT
#include "load/file_hashes.hpp"

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
#include "load/workers.hpp"

namespace hiptool::load {
namespace {

constexpr std::uint64_t piece_bytes = 256u << 10;  // stays in a core's second-level cache
constexpr std::uint32_t most_threads = 64;

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
  struct Free {
    void operator()(XXH64_state_t* state) const { XXH64_freeState(state); }
  };
  std::unique_ptr<XXH64_state_t, Free> state_;
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
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

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
    files_.back().check_unchanged(part.size_bytes, part.modified_ns);
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

// The longest chains first: they decide when the last is done.
void FileHashes::plan() {
  hashes_.whole_files.resize(files_.size());
  hashes_.chains.resize(files_.size());
  hashes_.tensors.resize(model_.tensors().size());
  for (const std::uint32_t index : options_.whole_files) {
    jobs_.push_back({JobKind::whole_file, index, model_.files()[index].size_bytes});
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

// Half of the cores: the others are the load's.
void FileHashes::run() {
  const auto threads = static_cast<std::uint32_t>(
      std::min<std::size_t>(choose_threads(1, most_threads, 2), jobs_.size()));
  run_workers(threads,
              [this](std::uint32_t thread, const std::atomic<bool>& stop) { work(thread, stop); });
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files_[i].check_unchanged(model_.files()[i].size_bytes, model_.files()[i].modified_ns);
  }
}

void FileHashes::work(std::uint32_t thread, const std::atomic<bool>& stop) {
  std::vector<std::byte> buffer(piece_bytes);
  std::uint32_t lane = 0;
  if (options_.timeline != nullptr) {
    lane = options_.timeline->add_lane("hash " + std::to_string(thread));
  }
  while (!stop.load()) {
    const std::size_t place = next_job_++;
    if (place >= jobs_.size()) return;
    const TimelineScope scope(options_.timeline, lane, "read and hash", jobs_[place].size_bytes);
    do_job(jobs_[place], buffer, stop);
  }
}

void FileHashes::do_job(const Job& job, std::span<std::byte> buffer,
                        const std::atomic<bool>& stop) {
  if (job.kind == JobKind::whole_file) {
    hashes_.whole_files[job.index] = hash_job<base::Sha256>(job, buffer, stop);
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
  if (job.kind == JobKind::whole_file) {
    hash_range(hasher, job.index, 0, job.size_bytes, buffer, stop);
    return hasher.hex_digest();
  }
  const auto tensors = model_.tensors();
  if (job.kind == JobKind::tensor) {
    const TensorInfo& tensor = tensors[job.index];
    hash_range(hasher, tensor.file, tensor.file_offset, tensor.size_bytes, buffer, stop);
    return hasher.hex_digest();
  }
  // They are in the order of file and offset.
  auto tensor = std::partition_point(tensors.begin(), tensors.end(),
                                     [&](const TensorInfo& one) { return one.file < job.index; });
  for (; tensor != tensors.end() && tensor->file == job.index; ++tensor) {
    hash_range(hasher, tensor->file, tensor->file_offset, tensor->size_bytes, buffer, stop);
  }
  return hasher.hex_digest();
}

template <class Hasher>
void FileHashes::hash_range(Hasher& hasher, std::uint32_t file, std::uint64_t offset,
                            std::uint64_t size_bytes, std::span<std::byte> buffer,
                            const std::atomic<bool>& stop) {
  for (std::uint64_t done = 0; done < size_bytes && !stop.load();) {
    if (is_given_up_.load()) throw Error(ErrorCode::cancelled, "hash", "the hashing was given up");
    if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("hash");
    const auto piece = buffer.first(std::min<std::uint64_t>(buffer.size(), size_bytes - done));
    files_[file].read_at(piece, offset + done);
    hasher.add(piece);
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
