// SPDX-License-Identifier: MIT
#include "load/verify/published.hpp"

#include <cstddef>
#include <cstdint>

#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/published_hash.hpp"

namespace hiptool::load {
namespace {

std::vector<PublishedHash> given_hashes(const ModelFile& model,
                                        std::span<const std::string> given) {
  std::vector<PublishedHash> hashes;
  for (const std::string& text : given) {
    const auto sha256 = model::parse_sha256(text);
    if (!sha256) {
      throw Error(ErrorCode::invalid_argument, "verify published",
                  "'" + text + "' is not a SHA-256 of 64 hexadecimal digits",
                  "`sha256sum FILE` prints the SHA-256 of a file");
    }
    hashes.push_back({static_cast<std::uint32_t>(hashes.size()), *sha256, {}, {}});
  }
  if (hashes.size() == model.files().size()) {
    for (const PublishedHash& hash : hashes) {
      model::check_given_hash(model.files()[hash.file], hash.published);
    }
    return hashes;
  }
  throw Error(ErrorCode::invalid_argument, "verify published",
              model.path().string() + " has " + base::plain_count_of(model.files().size(), "file") +
                  ", and " + std::to_string(given.size()) + " SHA-256 were given",
              "give one for each file in their order, or write them to SHA256SUMS next to the "
              "files, as sha256sum prints them, and use --verify published");
}

[[noreturn]] void refuse_unpublished(const ModelPart& part) {
  constexpr std::size_t most_named = 5;
  std::vector<std::string> names = model::lists_without(part);
  const bool are_more = names.size() > most_named;
  if (are_more) names.resize(most_named);
  std::string lists;
  for (const std::string& name : names) {
    lists += (lists.empty() ? "; no line for it in " : ", ") + name;
  }
  if (are_more) lists += " and others";
  throw Error(
      ErrorCode::invalid_argument, "verify published",
      "no SHA-256 is published for " + part.path.string() + lists,
      "hiptool searches the name of a blob of Hugging Face, Ollama or Docker Model Runner, also "
      "through a link to it, .cache/huggingface/download next to a download, and FILE.sha256, "
      "SHA256SUMS and similar lists next to the file; without one use --sha256, --verify auto or "
      "--check-manifest");
}

}  // namespace

std::vector<PublishedHash> find_published(const ModelFile& model,
                                          std::span<const std::string> given) {
  if (!given.empty()) return given_hashes(model, given);
  std::vector<PublishedHash> published;
  for (const ModelPart& part : model.files()) {
    auto hash = model::find_file_hash(part);
    if (!hash) refuse_unpublished(part);
    published.push_back(
        {static_cast<std::uint32_t>(published.size()), hash->sha256, {}, hash->source});
  }
  return published;
}

void check_published(const ModelFile& model, const std::vector<std::string>& found,
                     std::span<PublishedHash> published) {
  for (PublishedHash& hash : published) hash.found = found[hash.file];
  for (const PublishedHash& hash : published) {
    if (hash.found == hash.published) continue;
    throw Error(ErrorCode::manifest_mismatch, "verify published",
                model.files()[hash.file].path.string() + " has the SHA-256 " + hash.found +
                    (hash.source.empty() ? ", but the given one is "
                                         : ", but the one published by " + hash.source + " is ") +
                    hash.published,
                "the file is damaged or was changed; download it again");
  }
}

}  // namespace hiptool::load
