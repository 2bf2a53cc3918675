// SPDX-License-Identifier: MIT
#include "cli/commands/load/hashes.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

#include "cli/commands/load/manifest_text.hpp"
#include "hiptool/error.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_changes.hpp"
#include "model/parts.hpp"

namespace hiptool::cli {
namespace {

constexpr std::chrono::milliseconds progress_interval{100};

// `progress_of` gives the bytes done and the bytes of all.
template <class Work, class ProgressOf>
void show_waiting(const Work& work, Progress& progress, ProgressOf&& progress_of) {
  if (work.wait_for(std::chrono::milliseconds(0))) return;
  const std::uint64_t before = progress_of().first;
  const auto show = [&] {
    const auto [done, total] = progress_of();
    progress.on_progress(done - before, total - before);
  };
  progress.begin("hash");
  while (!work.wait_for(progress_interval)) show();
  show();
  progress.end();
}

void show_progress(const FileHashes& hashes, Progress& progress) {
  show_waiting(hashes, progress,
               [&] { return std::pair(hashes.done_bytes(), hashes.total_bytes()); });
}

}  // namespace

void show_progress(const FileDigests& files, Progress& progress) {
  show_waiting(files, progress, [&] {
    const FileDigests::Statistics statistics = files.statistics();
    return std::pair(statistics.bytes, statistics.total_bytes);
  });
}

LoadHashes::LoadHashes(const LoadOptions& options, LoadOutcome& outcome, const CancelToken& cancel)
    : options_(options), outcome_(outcome), cancel_(cancel) {
  if (options.verify == "published") want_published();
  want_manifest();
  start();
}

LoadHashes::~LoadHashes() = default;

void LoadHashes::want_published() {
  std::uint32_t index = 0;
  for (const ModelPart& part : outcome_.model->files()) {
    auto hash = part.published_sha256;
    if (!hash) hash = model::downloaded_sha256(part.path);
    if (!hash) {
      throw Error(ErrorCode::invalid_argument, "verify published",
                  "no SHA-256 is published for " + part.path.string(),
                  "one is looked for in the name of a blob of the Hugging Face cache or of Ollama, "
                  "also where a link leads to it, and in .cache/huggingface/download beside a "
                  "download; without one use --verify auto or --check-manifest");
    }
    outcome_.published.push_back({index++, *hash, {}});
  }
}

void LoadHashes::want_manifest() {
  if (!options_.check_manifest.empty()) manifest_ = read_manifest(options_.check_manifest);
  if (options_.write_manifest.empty()) return;
  written_kind_ = manifest_kind_of_name(options_.write_manifest);
  if (written_kind_ && options_.manifest_digest) {
    throw Error(ErrorCode::invalid_argument, "write manifest",
                "--manifest-digest is for JSON manifests, and " + options_.write_manifest +
                    " is written as lines of llama-gguf-hash",
                "leave it out, or give the manifest a name that ends in .json");
  }
  output_.emplace(options_.write_manifest, 0);
}

FileHashes::Options LoadHashes::hash_options() const {
  FileHashes::Options options;
  options.cancel = &cancel_;
  options.timeline = outcome_.timeline.get();
  return options;
}

void LoadHashes::start() {
  const bool writes_json = output_ && !written_kind_;
  std::map<HashKind, bool> kinds;  // of tensors, and whether also of all of a file
  if (manifest_ && manifest_->kind) {
    kinds[*manifest_->kind] = has_chains(*manifest_, *outcome_.model);
  }
  if (manifest_ && manifest_->has_sha256) kinds[HashKind::sha256];
  if (writes_json && options_.manifest_digest == "sha256") kinds[HashKind::sha256];
  if (written_kind_) kinds[*written_kind_] = true;
  for (const auto& [kind, has_chains] : kinds) {
    FileHashes::Options options = hash_options();
    options.tensors = kind;
    options.with_chains = has_chains;
    hashes_[kind] = std::make_unique<FileHashes>(*outcome_.model, options);
  }
  if (!writes_json && !(manifest_ && manifest_->covers_metadata)) return;
  FileHashes::Options options = hash_options();
  options.with_metadata = true;
  metadata_ = std::make_unique<FileHashes>(*outcome_.model, options);
}

void LoadHashes::finish(std::optional<std::vector<std::uint64_t>> tensor_digests,
                        FileDigests* files, Progress& progress) {
  if (outcome_.status == "mismatch") return;
  for (const auto& [kind, hashes] : hashes_) {
    show_progress(*hashes, progress);
    const std::vector<std::uint64_t>& hashed = hashes->get().tensor_digests;
    if (!tensor_digests) tensor_digests = hashed;
    load::require_same_reading(*outcome_.model, *tensor_digests, hashed);
  }
  if (metadata_) show_progress(*metadata_, progress);
  if (!outcome_.published.empty() && files != nullptr) {
    show_progress(*files, progress);
    check_published(*files);
  }
  const bool needs_digests = (manifest_ && !manifest_->kind) || (output_ && !written_kind_);
  if (needs_digests && !tensor_digests) tensor_digests = digest_files();
  const ModelDigests found =
      model_digests(tensor_digests ? std::span<const std::uint64_t>(*tensor_digests)
                                   : std::span<const std::uint64_t>());
  if (manifest_) compare(found);
  if (output_) write_manifest(found);
}

void LoadHashes::check_published(FileDigests& files) {
  const std::vector<std::string>& hashes = files.sha256();
  for (PublishedHash& hash : outcome_.published) hash.found = hashes[hash.file];
  for (const PublishedHash& hash : outcome_.published) {
    if (hash.found == hash.published) continue;
    throw Error(ErrorCode::manifest_mismatch, "verify published",
                outcome_.model->files()[hash.file].path.string() + " has the SHA-256 " +
                    hash.found + ", published is " + hash.published,
                "the file is damaged or was changed; download it again");
  }
}

ModelDigests LoadHashes::model_digests(std::span<const std::uint64_t> tensor_digests) const {
  ModelDigests found;
  found.tensors = tensor_digests;
  const auto sha256 = hashes_.find(HashKind::sha256);
  if (sha256 != hashes_.end()) found.sha256 = sha256->second->get().tensors;
  if (metadata_) found.metadata = metadata_->get().metadata;
  return found;
}

void LoadHashes::compare(const ModelDigests& found) {
  const ModelFile& model = *outcome_.model;
  ManifestCheck& check = outcome_.manifest_check.emplace();
  check.algorithm = manifest_->kind         ? to_string(*manifest_->kind)
                    : manifest_->has_sha256 ? "sha256"
                                            : "xxh3-64 of 16 KiB leaves";
  check.covers_metadata = manifest_->covers_metadata;
  check.differences = manifest_->kind
                          ? compare_hashes(*manifest_, model, hashes_.at(*manifest_->kind)->get())
                          : compare_digests(*manifest_, model, found);
  if (!check.differences.empty()) throw manifest_error(*manifest_, model, check.differences);
  outcome_.checked_manifest = options_.check_manifest;
}

void LoadHashes::write_manifest(const ModelDigests& found) {
  const ModelFile& model = *outcome_.model;
  if (written_kind_) {
    write(hash_manifest(model, *written_kind_, hashes_.at(*written_kind_)->get()));
  } else {
    ModelDigests wanted = found;
    if (options_.manifest_digest != "sha256") wanted.sha256.reset();
    write(digest_manifest(model, wanted));
  }
  outcome_.written_manifest = options_.write_manifest;
}

// Where nothing was verified, nobody else has read the files a second time.
std::vector<std::uint64_t> LoadHashes::digest_files() const {
  FileDigests::Options options;
  options.cancel = &cancel_;
  FileDigests files(*outcome_.model, options);
  return load::tensor_digests(*outcome_.model, files.get());
}

void LoadHashes::write(const std::string& text) {
  output_->write_at(std::as_bytes(std::span(text)), 0);
  output_->commit();
}

}  // namespace hiptool::cli
