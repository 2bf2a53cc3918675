// SPDX-License-Identifier: MIT
// What may publish the SHA-256 of a file: a list, a list for that file alone, and the metadata of a
// download.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "file_folder.hpp"
#include "hiptool/error.hpp"
#include "model/parts.hpp"
#include "model/published_hash.hpp"

using namespace hiptool;

namespace {

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "broken rule: %s\n", rule);
  std::abort();
}

/// Absent, too, for lists that are refused.
template <class Find>
std::optional<model::FileHash> find(bool& is_refused, const Find& look) {
  try {
    return look();
  } catch (const Error& error) {
    is_refused = true;
    require(error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::input_failed,
            "a refusal is one of a bad list");
    require(std::string(error.what()).find('\n') == std::string::npos, "a message is one line");
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const fuzz::FileFolder folder("/a/b/f");  // lists in folders above count, too
  static const std::vector<std::string> names{"SHA256SUMS", "m.gguf.sha256",
                                              ".cache/huggingface/download/m.gguf.metadata"};
  static const ModelPart part{folder / "m.gguf"};
  const fuzz::Input input(bytes, size);
  folder.write("m.gguf", {});
  folder.write(input, names);

  bool is_refused = false;
  const auto found = find(is_refused, [] { return model::find_file_hash(part); });
  require(!found || model::is_sha256(found->sha256), "what was found is a SHA-256");
  require(!found || !found->source.empty(), "the source of a hash is named");
  // The rest reads the same lists again, which takes most of the time.
  constexpr std::size_t each = 16;
  if (!input.is_turn(each)) return 0;
  const std::size_t lists = model::lists_with(part).size() + model::lists_without(part).size();
  require(lists >= 1 && lists <= 2, "each list has the file or lacks it");
  require(model::find_hash_source(part).empty() == (!found && !is_refused),
          "a source is named for what is found or refused");

  bool is_other = false;
  const std::string given(64, 'e');
  find(is_other, [&given]() -> std::optional<model::FileHash> {
    model::check_given_hash(part, given);
    return std::nullopt;
  });
  require(!found || is_other == (found->sha256 != given), "a given hash is compared");
  return 0;
}
