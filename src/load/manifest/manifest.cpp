// SPDX-License-Identifier: MIT
#include "load/manifest/manifest.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "load/verify/digest.hpp"
#include "model/parts.hpp"

namespace hiptool::load {
namespace {

constexpr std::size_t most_shown = 10;
constexpr std::string_view absent = "absent";
constexpr std::string_view present = "present";

// Collects differences; ignores equal values.
class Differences {
 public:
  explicit Differences(const ModelFile& model) : model_(model) {}

  bool compare(const TensorInfo& tensor, std::string_view what, std::string expected,
               std::string got) {
    return add({tensor.name, path_of(tensor.file), std::string(what), std::move(expected),
                std::move(got)});
  }
  bool compare_file(std::uint32_t file, std::string_view what, std::string expected,
                    std::string got) {
    return add({{}, path_of(file), std::string(what), std::move(expected), std::move(got)});
  }
  bool compare_model(std::string_view what, std::string expected, std::string got) {
    return add({{}, {}, std::string(what), std::move(expected), std::move(got)});
  }
  void only_in_model(const TensorInfo& tensor) {
    compare(tensor, "tensor", std::string(absent), std::string(present));
  }
  void only_in_manifest(std::string tensor, std::string file) {
    add({std::move(tensor), std::move(file), "tensor", std::string(present), std::string(absent)});
  }
  bool is_empty() const { return found_.empty(); }
  std::vector<ManifestDifference> take() { return std::move(found_); }

  std::string path_of(std::uint32_t file) const { return model_.files()[file].path.string(); }

 private:
  bool add(ManifestDifference difference) {
    if (difference.expected == difference.got) return false;
    found_.push_back(std::move(difference));
    return true;
  }

  const ModelFile& model_;
  std::vector<ManifestDifference> found_;
};

std::string text_of(const ManifestDifference& difference) {
  std::string subject = "the model";
  if (!difference.file.empty()) subject = difference.file;
  if (!difference.tensor.empty()) {
    subject = "tensor '" + difference.tensor + "'";
    if (!difference.file.empty()) subject += " of " + difference.file;
  }
  if (difference.what == "tensor" && difference.got == absent) {
    return subject + " is only in the manifest";
  }
  if (difference.what == "tensor") return subject + " is only in the model";
  return subject + ": " + difference.what + " is " + difference.got + ", the manifest has " +
         difference.expected;
}

void compare(const Manifest::Tensor& wanted, const TensorInfo& found, const std::string& digest,
             const std::string& sha256, Differences& differences) {
  differences.compare(found, "type", wanted.dtype, std::string(found.type.name()));
  differences.compare(found, "shape", shape_text(wanted.shape), shape_text(found.shape));
  // Another number of bytes explains another digest.
  if (differences.compare(found, "bytes", std::to_string(wanted.bytes),
                          std::to_string(found.size_bytes))) {
    return;
  }
  if (!wanted.sha256.empty() && differences.compare(found, "sha256", wanted.sha256, sha256)) return;
  differences.compare(found, "digest", wanted.digest, digest);
}

// By the order of the files, whose names may have changed since.
void compare_metadata(const Manifest& manifest, const ModelFile& model,
                      std::span<const FileHashes::Metadata> found, Differences& differences) {
  if (differences.compare_model("number of files", std::to_string(manifest.metadata.size()),
                                std::to_string(model.files().size()))) {
    return;
  }
  for (std::uint32_t file = 0; file < found.size(); ++file) {
    const Manifest::Metadata& wanted = manifest.metadata[file];
    if (differences.compare_file(file, "metadata bytes", std::to_string(wanted.bytes),
                                 std::to_string(found[file].bytes))) {
      continue;
    }
    if (!wanted.sha256.empty() &&
        differences.compare_file(file, "metadata sha256", wanted.sha256, found[file].sha256)) {
      continue;
    }
    differences.compare_file(file, "metadata digest", wanted.digest, found[file].xxh3);
  }
}

// The meaning of the lines of a manifest for a model.
class Names {
 public:
  struct Meaning {
    std::uint32_t file = 0;
    std::string tensor;  // empty: the whole file
  };

  explicit Names(const ModelFile& model) {
    std::uint32_t index = 0;
    for (const ModelPart& part : model.files()) {
      files_.emplace(model::name_in_model(model, part), index++);
    }
  }

  // Either name may contain colons: the first place where a file of the model ends counts.
  std::optional<Meaning> of(std::string_view name) const {
    for (std::size_t colon = name.find(':'); colon != std::string_view::npos;
         colon = name.find(':', colon + 1)) {
      const auto file = find(name.substr(0, colon));
      if (file) return Meaning{*file, std::string(name.substr(colon + 1))};
    }
    const auto file = find(name);
    if (!file) return std::nullopt;
    return Meaning{*file, {}};
  }

 private:
  // Whatever folders are in front of a file's name.
  std::optional<std::uint32_t> find(std::string_view path) const {
    while (true) {
      const auto found = files_.find(path);
      if (found != files_.end()) return found->second;
      const std::size_t slash = path.find('/');
      if (slash == std::string_view::npos) return std::nullopt;
      path.remove_prefix(slash + 1);
    }
  }

  std::map<std::string, std::uint32_t, std::less<>> files_;
};

std::unordered_map<std::string_view, std::uint32_t> tensor_indices(const ModelFile& model) {
  std::unordered_map<std::string_view, std::uint32_t> indices;
  std::uint32_t index = 0;
  for (const TensorInfo& tensor : model.tensors()) indices.emplace(tensor.name, index++);
  return indices;
}

// The files and tensors that the lines of a manifest cover.
struct Covered {
  std::vector<bool> files;
  std::vector<bool> tensors;
};

void compare_line(const Manifest::Line& line, const Names::Meaning& meaning, const ModelFile& model,
                  const std::unordered_map<std::string_view, std::uint32_t>& tensors,
                  std::string_view kind, const FileHashes::Hashes& hashes, Covered& covered,
                  Differences& differences) {
  if (meaning.tensor.empty()) {
    covered.files[meaning.file] = true;
    differences.compare_file(meaning.file, std::string(kind) + " of all its tensors", line.hash,
                             hashes.chains[meaning.file]);
    return;
  }
  const auto place = tensors.find(meaning.tensor);
  if (place == tensors.end() || model.tensors()[place->second].file != meaning.file) {
    differences.only_in_manifest(meaning.tensor, differences.path_of(meaning.file));
    return;
  }
  covered.tensors[place->second] = true;
  differences.compare(model.tensors()[place->second], kind, line.hash,
                      hashes.tensors[place->second]);
}

}  // namespace

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

std::vector<ManifestDifference> compare_digests(const Manifest& manifest, const ModelFile& model,
                                                const ModelDigests& found) {
  Differences differences(model);
  const auto indices = tensor_indices(model);
  std::vector<bool> seen(model.tensors().size());
  for (const Manifest::Tensor& wanted : manifest.tensors) {
    const auto place = indices.find(wanted.name);
    if (place == indices.end()) {
      differences.only_in_manifest(wanted.name, {});
      continue;
    }
    seen[place->second] = true;
    compare(wanted, model.tensors()[place->second], base::to_hex(found.tensors[place->second]),
            found.sha256 ? (*found.sha256)[place->second] : std::string(), differences);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) differences.only_in_model(model.tensors()[i]);
  }
  // Any other difference explains this one.
  if (differences.is_empty()) {
    differences.compare_model(
        "digest", manifest.digest,
        base::to_hex(model_digest(model, digest_order(model), found.tensors)));
  }
  if (manifest.covers_metadata) compare_metadata(manifest, model, found.metadata, differences);
  return differences.take();
}

std::vector<ManifestDifference> compare_hashes(const Manifest& manifest, const ModelFile& model,
                                               const FileHashes::Hashes& hashes) {
  Differences differences(model);
  const Names names(model);
  const auto tensors = tensor_indices(model);
  Covered covered{std::vector<bool>(model.files().size()),
                  std::vector<bool>(model.tensors().size())};
  bool names_a_file = false;
  for (const Manifest::Line& line : manifest.lines) {
    const auto meaning = names.of(line.name);
    if (!meaning) continue;  // one manifest may serve several models
    names_a_file = true;
    compare_line(line, *meaning, model, tensors, to_string(*manifest.kind), hashes, covered,
                 differences);
  }
  if (!names_a_file) {
    differences.compare_model("file name", manifest.lines.front().name,
                              model::name_in_model(model, model.files().front()));
    return differences.take();
  }
  for (std::size_t i = 0; i < covered.tensors.size(); ++i) {
    const TensorInfo& tensor = model.tensors()[i];
    if (!covered.tensors[i] && !covered.files[tensor.file]) differences.only_in_model(tensor);
  }
  return differences.take();
}

Error manifest_error(const Manifest& manifest, const ModelFile& model,
                     std::span<const ManifestDifference> differences) {
  std::string message = model.path().string() + " differs from " + manifest.path.string() + ":";
  const std::size_t shown = std::min(differences.size(), most_shown);
  for (std::size_t i = 0; i < shown; ++i) message += "\n" + text_of(differences[i]);
  if (differences.size() > shown) {
    message += "\n... and " + std::to_string(differences.size() - shown) + " more";
  }
  return Error(ErrorCode::manifest_mismatch, "check manifest", message,
               "the model was changed or damaged, or the manifest is another model's");
}

bool has_chains(const Manifest& manifest, const ModelFile& model) {
  const Names names(model);
  for (const Manifest::Line& line : manifest.lines) {
    const auto meaning = names.of(line.name);
    if (meaning && meaning->tensor.empty()) return true;
  }
  return false;
}

}  // namespace hiptool::load
