// SPDX-License-Identifier: MIT
#include "load/verify/published.hpp"

#include "hiptool/error.hpp"
#include "model/parts.hpp"

namespace hiptool::load {

std::vector<PublishedHash> find_published(const ModelFile& model) {
  std::vector<PublishedHash> published;
  for (const ModelPart& part : model.files()) {
    auto hash = part.published_sha256;
    if (!hash) hash = model::downloaded_sha256(part.path);
    if (!hash) {
      throw Error(ErrorCode::invalid_argument, "verify published",
                  "no SHA-256 is published for " + part.path.string(),
                  "hiptool searches the name of a blob of the Hugging Face cache or of Ollama, also "
                  "through a link to it, and .cache/huggingface/download next to a download; "
                  "without one use --verify auto or --check-manifest");
    }
    published.push_back({static_cast<std::uint32_t>(published.size()), *hash, {}});
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
                    ", but the published one is " + hash.published,
                "the file is damaged or was changed; download it again");
  }
}

}  // namespace hiptool::load
