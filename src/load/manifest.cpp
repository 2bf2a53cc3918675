// SPDX-License-Identifier: MIT
#include "load/manifest.hpp"

#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "load/digest.hpp"

namespace hiptool::load {
namespace {

// The first difference in full, the number of the others.
class Differences {
 public:
  Differences(const Manifest& manifest, const ModelFile& model)
      : manifest_(manifest), model_(model) {}

  void add(const std::string& text) {
    if (count_++ == 0) first_ = text;
  }
  std::uint64_t count() const { return count_; }
  void throw_if_any() const {
    if (count_ == 0) return;
    std::string message =
        model_.path().string() + " is not what " + manifest_.path.string() + " says: " + first_;
    if (count_ == 2) message += " (and 1 other difference)";
    if (count_ > 2) message += " (and " + std::to_string(count_ - 1) + " other differences)";
    throw Error(ErrorCode::manifest_mismatch, "check manifest", message,
                "the model was changed or damaged, or the manifest is another model's");
  }

 private:
  const Manifest& manifest_;
  const ModelFile& model_;
  std::string first_;
  std::uint64_t count_ = 0;
};

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    text += (dim == 0 ? "" : ", ") + std::to_string(shape[dim]);
  }
  return text + "]";
}

std::string digests_differ(const std::string& what, const std::string& found,
                           const std::string& wanted) {
  return what + " has " + found + ", the manifest " + wanted;
}

void compare(const Manifest::Tensor& wanted, const ModelFile& model, const TensorInfo& found,
             const std::string& digest, Differences& differences) {
  const std::string what =
      "the tensor '" + found.name + "' of " + model.files()[found.file].path.string();
  const std::string dtype(found.type.name());
  if (wanted.dtype != dtype) {
    differences.add(digests_differ(what, "type " + dtype, wanted.dtype));
  } else if (wanted.shape != found.shape) {
    differences.add(
        digests_differ(what, "shape " + shape_text(found.shape), shape_text(wanted.shape)));
  } else if (wanted.bytes != found.size_bytes) {
    differences.add(digests_differ(what, std::to_string(found.size_bytes) + " bytes",
                                   std::to_string(wanted.bytes)));
  } else if (wanted.digest != digest) {
    differences.add(digests_differ(what, "digest " + digest, wanted.digest));
  }
}

// What the lines of a manifest mean beside a model.
class Names {
 public:
  struct Meaning {
    std::uint32_t file = 0;
    std::string tensor;  // empty: the whole file
  };

  explicit Names(const ModelFile& model) {
    std::uint32_t index = 0;
    for (const ModelPart& part : model.files()) {
      files_.emplace(part.path.filename().string(), index++);
    }
  }

  // Colons may stand in either name: the first place where a file of the model ends counts.
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
  std::optional<std::uint32_t> find(std::string_view path) const {
    const std::size_t slash = path.rfind('/');
    const auto found = files_.find(path.substr(slash == std::string_view::npos ? 0 : slash + 1));
    return found == files_.end() ? std::nullopt : std::optional(found->second);
  }

  std::map<std::string, std::uint32_t, std::less<>> files_;
};

std::unordered_map<std::string_view, std::uint32_t> tensor_indices(const ModelFile& model) {
  std::unordered_map<std::string_view, std::uint32_t> indices;
  std::uint32_t index = 0;
  for (const TensorInfo& tensor : model.tensors()) indices.emplace(tensor.name, index++);
  return indices;
}

// Which files and tensors a manifest of lines has spoken of.
struct Covered {
  std::vector<bool> files;
  std::vector<bool> tensors;
};

void compare_line(const Manifest::Line& line, const Names::Meaning& meaning, const ModelFile& model,
                  const std::unordered_map<std::string_view, std::uint32_t>& tensors,
                  const FileHashes::Hashes& hashes, Covered& covered, Differences& differences) {
  const std::string file = model.files()[meaning.file].path.string();
  if (meaning.tensor.empty()) {
    covered.files[meaning.file] = true;
    const std::string& found = hashes.chains[meaning.file];
    if (found == line.hash) return;
    differences.add(digests_differ("the whole of the tensors in " + file, found, line.hash));
    return;
  }
  const auto place = tensors.find(meaning.tensor);
  if (place == tensors.end() || model.tensors()[place->second].file != meaning.file) {
    differences.add("there is no tensor '" + meaning.tensor + "' in " + file);
    return;
  }
  covered.tensors[place->second] = true;
  const std::string& found = hashes.tensors[place->second];
  if (found == line.hash) return;
  differences.add(
      digests_differ("the tensor '" + meaning.tensor + "' of " + file, found, line.hash));
}

}  // namespace

void check_digests(const Manifest& manifest, const ModelFile& model,
                   std::span<const std::uint64_t> tensor_digests) {
  Differences differences(manifest, model);
  const auto indices = tensor_indices(model);
  std::vector<bool> seen(model.tensors().size());
  for (const Manifest::Tensor& wanted : manifest.tensors) {
    const auto place = indices.find(wanted.name);
    if (place == indices.end()) {
      differences.add("it has no tensor '" + wanted.name + "'");
      continue;
    }
    if (seen[place->second]) {
      differences.add("the manifest has the tensor '" + wanted.name + "' twice");
    }
    seen[place->second] = true;
    compare(wanted, model, model.tensors()[place->second],
            base::to_hex(tensor_digests[place->second]), differences);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) {
      differences.add("the manifest has no tensor '" + model.tensors()[i].name + "'");
    }
  }
  const std::string digest = base::to_hex(model_digest(model, digest_order(model), tensor_digests));
  // It follows from any other difference, which says more.
  if (digest != manifest.digest && differences.count() == 0) {
    differences.add(digests_differ("the model", "digest " + digest, manifest.digest));
  }
  differences.throw_if_any();
}

void check_hashes(const Manifest& manifest, const ModelFile& model,
                  const FileHashes::Hashes& hashes) {
  Differences differences(manifest, model);
  const Names names(model);
  const auto tensors = tensor_indices(model);
  Covered covered{std::vector<bool>(model.files().size()),
                  std::vector<bool>(model.tensors().size())};
  bool names_a_file = false;
  for (const Manifest::Line& line : manifest.lines) {
    const auto meaning = names.of(line.name);
    if (!meaning) continue;  // one manifest may serve several models
    names_a_file = true;
    compare_line(line, *meaning, model, tensors, hashes, covered, differences);
  }
  if (!names_a_file) {
    differences.add("it names none of the model's files, but '" + manifest.lines.front().name +
                    "'");
    differences.throw_if_any();
  }
  for (std::size_t i = 0; i < covered.tensors.size(); ++i) {
    const TensorInfo& tensor = model.tensors()[i];
    if (covered.tensors[i] || covered.files[tensor.file]) continue;
    differences.add("the manifest has neither the tensor '" + tensor.name + "' nor the whole of " +
                    model.files()[tensor.file].path.string());
  }
  differences.throw_if_any();
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
