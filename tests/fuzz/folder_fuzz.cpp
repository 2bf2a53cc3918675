// SPDX-License-Identifier: MIT
// A folder of files, each a piece whose first line is its path. It is opened as a model, and is the
// home directory in which caches of other programs are searched.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "check_model.hpp"
#include "file_folder.hpp"
#include "hiptool/error.hpp"
#include "model/folder.hpp"
#include "model/local_models.hpp"
#include "model/unfinished.hpp"

using namespace hiptool;

namespace {

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "broken rule: %s\n", rule);
  std::abort();
}

void check_choice(const std::filesystem::path& folder) {
  try {
    const model::FolderModel found = model::find_model_in_folder(folder);
    require(found.file.parent_path() == folder, "the chosen file is in the folder");
    require(!found.file.filename().string().starts_with("._"), "no attributes of macOS");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::input_failed || error.code() == ErrorCode::invalid_argument,
            "a refusal is one of a folder");
    require(std::string(error.what()).find('\n') == std::string::npos, "a message is one line");
    require(!error.hint().empty(), "a refusal has a hint");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const fuzz::FileFolder folder;
  static const std::filesystem::path home = folder.path();
  const fuzz::Input input(bytes, size);
  folder.write_named(input);
  fuzz::check_model(input, home);
  constexpr std::size_t each = 5;
  if (input.is_turn(each)) {
    check_choice(home);
    static_cast<void>(model::unfinished_downloads(home, "m.gguf"));
  }
  // Caches are in folders such as .cache; most inputs have none.
  const std::string_view text = input.text();
  const bool has_cache =
      text.starts_with('.') || text.find(std::string(fuzz::piece_mark) + ".") != text.npos;
  if (!has_cache) return 0;
  const auto environment = [](const char* name) -> std::optional<std::string> {
    return std::string_view(name) == "HOME" ? std::optional(home.string()) : std::nullopt;
  };
  std::size_t number = 7;
  for (const char* name : {"o/n", "n", "o/n:q4_0"}) {
    if (!input.is_turn(number++)) continue;
    const auto parsed = model::parse_remote_name(name);
    require(parsed.has_value(), "the name is one");
    for (const model::LocalModel& found : model::find_local_models(*parsed, environment)) {
      require(std::filesystem::exists(found.path), "what is found is there");
      // The settings of LM Studio may name any folder.
      const auto inside = found.path.lexically_normal().lexically_relative(home);
      if (!inside.empty() && *inside.begin() != "..") fuzz::check_model(input, found.path, home);
    }
  }
  return 0;
}
