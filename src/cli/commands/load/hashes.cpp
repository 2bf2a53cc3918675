// SPDX-License-Identifier: MIT
#include "cli/commands/load/hashes.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <utility>

#include "hiptool/error.hpp"
#include "load/manifest/manifest_text.hpp"
#include "load/verify/digest.hpp"
#include "load/verify/file_changes.hpp"
#include "load/verify/file_digests.hpp"

namespace hiptool::cli {
namespace {

constexpr std::chrono::milliseconds progress_interval{100};

// Bytes hashed before the bar appears do not count for the rate.
void show_progress(const load::FileHashes& hashes, Progress& progress) {
  if (hashes.wait_for(std::chrono::milliseconds(0))) return;
  const std::uint64_t before = hashes.statistics().bytes;
  progress.begin("hash");
  bool is_done = false;
  while (!is_done) {
    is_done = hashes.wait_for(progress_interval);
    const auto [bytes, total_bytes, duration_s] = hashes.statistics();
    progress.on_progress(bytes - before, total_bytes - before);
  }
  progress.end();
}

}  // namespace

LoadHashes::LoadHashes(const LoadArguments& arguments, results::LoadOutcome& outcome,
                       const CancelToken& cancel)
    : arguments_(arguments), outcome_(outcome), cancel_(cancel) {
  want_manifest();
  start();
}

void LoadHashes::want_manifest() {
  if (!arguments_.check_manifest.empty())
    manifest_ = load::read_manifest(arguments_.check_manifest);
  if (arguments_.write_manifest.empty()) return;
  written_kind_ = load::manifest_kind_of_name(arguments_.write_manifest);
  if (written_kind_ && arguments_.manifest_digest) {
    throw Error(ErrorCode::invalid_argument, "write manifest",
                "--manifest-digest is for JSON manifests, and " + arguments_.write_manifest +
                    " is written as lines of llama-gguf-hash",
                "leave it out, or give the manifest a name that ends in .json");
  }
  output_.emplace(arguments_.write_manifest, 0);
}

load::FileHashes::Options LoadHashes::hash_options() const {
  load::FileHashes::Options options;
  options.cancel = &cancel_;
  options.timeline = outcome_.timeline.get();
  return options;
}

void LoadHashes::start() {
  const bool writes_json = output_ && !written_kind_;
  std::map<load::HashKind, bool> kinds;  // of tensors, and whether also of all of a file
  if (manifest_ && manifest_->kind) {
    kinds[*manifest_->kind] = load::has_chains(*manifest_, *outcome_.model);
  }
  if (manifest_ && manifest_->has_sha256) kinds[load::HashKind::sha256];
  if (writes_json && arguments_.manifest_digest == "sha256") kinds[load::HashKind::sha256];
  if (written_kind_) kinds[*written_kind_] = true;
  for (const auto& [kind, has_chains] : kinds) {
    load::FileHashes::Options options = hash_options();
    options.tensors = kind;
    options.with_chains = has_chains;
    hashes_[kind] = std::make_unique<load::FileHashes>(*outcome_.model, options);
  }
  if (!writes_json && !(manifest_ && manifest_->covers_metadata)) return;
  load::FileHashes::Options options = hash_options();
  options.with_metadata = true;
  metadata_ = std::make_unique<load::FileHashes>(*outcome_.model, options);
}

void LoadHashes::finish(Progress& progress) {
  if (outcome_.status == LoadStatus::mismatch) return;
  std::optional<std::vector<std::uint64_t>> tensor_digests;
  if (outcome_.verification) tensor_digests = outcome_.verification->tensor_digests;
  for (const auto& [kind, hashes] : hashes_) {
    show_progress(*hashes, progress);
    const std::vector<std::uint64_t>& hashed = hashes->get().tensor_digests;
    if (!tensor_digests) tensor_digests = hashed;
    load::require_same_reading(*outcome_.model, *tensor_digests, hashed);
  }
  if (metadata_) show_progress(*metadata_, progress);
  const bool needs_digests = (manifest_ && !manifest_->kind) || (output_ && !written_kind_);
  if (needs_digests && !tensor_digests) tensor_digests = digest_files();
  const load::ModelDigests found =
      model_digests(tensor_digests ? std::span<const std::uint64_t>(*tensor_digests)
                                   : std::span<const std::uint64_t>());
  if (manifest_) compare(found);
  if (output_) write_manifest(found);
}

load::ModelDigests LoadHashes::model_digests(std::span<const std::uint64_t> tensor_digests) const {
  load::ModelDigests found;
  found.tensors = tensor_digests;
  const auto sha256 = hashes_.find(load::HashKind::sha256);
  if (sha256 != hashes_.end()) found.sha256 = sha256->second->get().tensors;
  if (metadata_) found.metadata = metadata_->get().metadata;
  return found;
}

void LoadHashes::compare(const load::ModelDigests& found) {
  const ModelFile& model = *outcome_.model;
  results::ManifestCheck& check = outcome_.manifest_check.emplace();
  check.algorithm = manifest_->kind         ? to_string(*manifest_->kind)
                    : manifest_->has_sha256 ? "sha256"
                                            : "xxh3-64 of 16 KiB leaves";
  check.covers_metadata = manifest_->covers_metadata;
  check.differences =
      manifest_->kind ? load::compare_hashes(*manifest_, model, hashes_.at(*manifest_->kind)->get())
                      : load::compare_digests(*manifest_, model, found);
  if (!check.differences.empty()) throw load::manifest_error(*manifest_, model, check.differences);
  outcome_.checked_manifest = arguments_.check_manifest;
}

void LoadHashes::write_manifest(const load::ModelDigests& found) {
  const ModelFile& model = *outcome_.model;
  load::ModelDigests wanted = found;
  if (arguments_.manifest_digest != "sha256") wanted.sha256.reset();
  const std::string text =
      written_kind_ ? load::hash_manifest(model, *written_kind_, hashes_.at(*written_kind_)->get())
                    : load::digest_manifest(model, wanted);
  output_->write_at(std::as_bytes(std::span(text)), 0);
  output_->commit();
  outcome_.written_manifest = arguments_.write_manifest;
}

// Without a verification no digests of the files exist yet.
std::vector<std::uint64_t> LoadHashes::digest_files() const {
  load::FileDigests::Options options;
  options.cancel = &cancel_;
  load::FileDigests files(*outcome_.model, options);
  return load::tensor_digests(*outcome_.model, files.get());
}

}  // namespace hiptool::cli
