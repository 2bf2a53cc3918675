// SPDX-License-Identifier: MIT
#include "cli/commands/load/hashes.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "hiptool/error.hpp"
#include "hiptool/file_digests.hpp"
#include "load/digest.hpp"
#include "load/leaves.hpp"
#include "load/manifest_text.hpp"
#include "model/parts.hpp"

namespace hiptool::cli {
namespace {

constexpr std::chrono::milliseconds progress_interval{100};

// What was done during the load is no part of the rate of the rest.
void show_waiting(const load::FileHashes& hashes, Progress& progress) {
  const std::uint64_t before = hashes.done_bytes();
  progress.begin("hash");
  while (!hashes.wait_for(progress_interval)) {
    progress.on_progress(hashes.done_bytes() - before, hashes.total_bytes() - before);
  }
  progress.on_progress(hashes.done_bytes() - before, hashes.total_bytes() - before);
  progress.end();
}

}  // namespace

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
  if (!options_.check_manifest.empty()) manifest_ = load::read_manifest(options_.check_manifest);
  if (options_.write_manifest.empty()) return;
  for (const ModelPart& part : outcome_.model->files()) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(part.path, options_.write_manifest, ignored)) continue;
    throw Error(
        ErrorCode::invalid_argument, "write manifest",
        options_.write_manifest + " is the model itself",
        "give the manifest a name of its own, such as " + options_.write_manifest + ".xxh64");
  }
  written_kind_ = load::manifest_kind_of_name(options_.write_manifest);
  output_.emplace(options_.write_manifest, 0);
}

void LoadHashes::start() {
  load::FileHashes::Options options;
  options.cancel = &cancel_;
  options.timeline = outcome_.timeline.get();
  for (const PublishedHash& hash : outcome_.published) options.whole_files.push_back(hash.file);
  if (manifest_ && manifest_->kind) {
    options.tensors = manifest_->kind;
    options.with_chains =
        written_kind_ == manifest_->kind || load::has_chains(*manifest_, *outcome_.model);
  }
  if (!options.whole_files.empty() || options.tensors) {
    kinds_.push_back(options.tensors);
    hashes_.push_back(std::make_unique<load::FileHashes>(*outcome_.model, options));
  }
  if (!written_kind_ || (manifest_ && manifest_->kind == written_kind_)) return;
  options.whole_files.clear();
  options.with_chains = true;
  options.tensors = written_kind_;
  kinds_.push_back(options.tensors);
  hashes_.push_back(std::make_unique<load::FileHashes>(*outcome_.model, options));
}

void LoadHashes::finish(std::optional<std::vector<std::uint64_t>> tensor_digests,
                        Progress& progress) {
  if (outcome_.status == "mismatch") return;
  for (const auto& hashes : hashes_) {
    if (!hashes->wait_for(std::chrono::milliseconds(0))) show_waiting(*hashes, progress);
    hashes->get();
  }
  if (!outcome_.published.empty()) check_published(hashes_.front()->get());
  const bool needs_digests = (manifest_ && !manifest_->kind) || (output_ && !written_kind_);
  if (needs_digests && !tensor_digests) tensor_digests = digest_files();
  compare_and_write(tensor_digests.value_or(std::vector<std::uint64_t>()));
}

void LoadHashes::check_published(const load::FileHashes::Hashes& hashes) {
  for (PublishedHash& hash : outcome_.published) hash.found = hashes.whole_files[hash.file];
  for (const PublishedHash& hash : outcome_.published) {
    if (hash.found == hash.published) continue;
    throw Error(ErrorCode::manifest_mismatch, "verify published",
                outcome_.model->files()[hash.file].path.string() + " has the SHA-256 " +
                    hash.found + ", published is " + hash.published,
                "the file is damaged or was changed; download it again");
  }
}

void LoadHashes::compare_and_write(const std::vector<std::uint64_t>& tensor_digests) {
  const ModelFile& model = *outcome_.model;
  const auto hashes_of = [&](load::HashKind kind) -> const load::FileHashes::Hashes& {
    const auto place = std::find(kinds_.begin(), kinds_.end(), std::optional(kind));
    return hashes_[static_cast<std::size_t>(place - kinds_.begin())]->get();
  };
  if (manifest_) {
    if (manifest_->kind) {
      load::check_hashes(*manifest_, model, hashes_of(*manifest_->kind));
    } else {
      load::check_digests(*manifest_, model, tensor_digests);
    }
    outcome_.checked_manifest = options_.check_manifest;
  }
  if (!output_) return;
  write(written_kind_ ? load::hash_manifest(model, *written_kind_, hashes_of(*written_kind_))
                      : load::digest_manifest(model, tensor_digests));
  outcome_.written_manifest = options_.write_manifest;
}

// Where nothing was verified, nobody else has read the files a second time.
std::vector<std::uint64_t> LoadHashes::digest_files() const {
  FileDigests::Options options;
  options.cancel = &cancel_;
  FileDigests files(*outcome_.model, options);
  const std::vector<std::uint64_t>& digests = files.get();
  const load::LeafMap leaves(*outcome_.model);
  std::vector<std::uint64_t> tensors;
  for (std::size_t i = 0; i + 1 < leaves.first.size(); ++i) {
    tensors.push_back(load::tensor_digest(
        std::span(digests).subspan(leaves.first[i], leaves.first[i + 1] - leaves.first[i])));
  }
  return tensors;
}

void LoadHashes::write(const std::string& text) {
  output_->write_at(std::as_bytes(std::span(text)), 0);
  output_->commit();
}

}  // namespace hiptool::cli
