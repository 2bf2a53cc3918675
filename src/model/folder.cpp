// SPDX-License-Identifier: MIT
#include "model/folder.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/host_error.hpp"
#include "base/text.hpp"
#include "hiptool/error.hpp"
#include "model/cut_file.hpp"
#include "model/diagnostics.hpp"
#include "model/file_kind.hpp"
#include "model/gguf.hpp"
#include "model/model_kind.hpp"
#include "model/parts.hpp"
#include "model/shard_name.hpp"
#include "model/text.hpp"
#include "model/unfinished.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_end = ".safetensors.index.json";

[[noreturn]] void refuse(const fs::path& folder, const std::string& cause, std::string hint) {
  throw Error(ErrorCode::input_failed, "open", "cannot open " + folder.string() + ": " + cause,
              std::move(hint));
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         base::equals_ignoring_case(text.substr(text.size() - end.size()), end);
}

// Some of the names, for a message.
std::string listing(const std::vector<std::string>& names) {
  constexpr std::size_t most_shown = 5;
  std::string text;
  for (std::size_t index = 0; index < names.size() && index < most_shown; ++index) {
    text += (text.empty() ? "" : ", ") + in_quotes(names[index]);
  }
  if (names.size() > most_shown) {
    text += " and " + std::to_string(names.size() - most_shown) + " more";
  }
  return text;
}

bool is_companion(const fs::path& file) {
  try {
    Diagnostics diagnostics(file, false);
    Contents contents;
    const base::File part = open_part(file, diagnostics, contents);
    if (find_kind(part, diagnostics) != FileKind::gguf) return false;
    parse_gguf(part, true, diagnostics, contents.metadata, contents);
    return find_model_kind(contents) != ModelKind::model;
  } catch (const Error&) {
    return false;  // what it is, its reader says better
  }
}

// Without those that only accompany a model.
std::vector<std::string> models_among(const fs::path& folder,
                                      const std::vector<std::string>& gguf) {
  constexpr std::size_t most_read = 32;
  if (gguf.size() > most_read) return gguf;
  std::vector<std::string> models;
  for (const std::string& name : gguf) {
    if (!is_companion(folder / name)) models.push_back(name);
  }
  return models;
}

// What a folder has, by kind and sorted by name.
struct Listing {
  std::vector<std::string> indexes;
  std::vector<std::string> safetensors;
  std::vector<std::string> gguf;              // of a set the first file's name
  std::map<std::string, std::string> opened;  // the first file that is there of each of these
  std::vector<std::string> pieces;
  std::vector<std::string> apple_doubles;
  std::vector<std::string> pickles;
  std::vector<std::string> foreign;  // models of other programs
  std::vector<std::string> renamed;  // with another ending after .gguf or .safetensors
  std::vector<std::string> folders;
};

// macOS keeps attributes of NAME in ._NAME on file systems that have none (AppleDouble).
bool is_apple_double(std::string_view name) { return name.starts_with("._"); }

// TensorFlow, Flax, Rust, Paddle, NeMo, ONNX and older PyTorch.
bool is_foreign(std::string_view name) {
  constexpr std::array<std::string_view, 10> ends{".onnx",     ".h5",   ".msgpack", ".ot",
                                                  ".pdparams", ".nemo", ".ckpt",    ".keras",
                                                  ".tflite",   ".npz"};
  return std::ranges::any_of(ends, [name](std::string_view end) { return ends_with(name, end); });
}

bool is_word_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

// What wget, rsync, browsers and others make of a name while they copy or where it is taken:
// "m.gguf.1", "m.gguf?download=true", "m.gguf (1)". Letters after it make another extension.
bool is_renamed(std::string_view name) {
  for (std::size_t dot = name.find('.', 1); dot < name.size(); dot = name.find('.', dot + 1)) {
    for (const std::string_view extension : {".gguf", ".safetensors"}) {
      if (!base::equals_ignoring_case(name.substr(dot, extension.size()), extension)) continue;
      const std::string_view rest = name.substr(dot + extension.size());
      if (!rest.empty() && !is_word_letter(rest.front())) return true;
    }
  }
  return false;
}

Listing list_folder(const fs::path& folder) {
  Listing found;
  std::map<std::string, std::string> gguf;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      found.folders.push_back(name);
    } else if (is_apple_double(name)) {
      found.apple_doubles.push_back(name);
    } else if (is_index_name(name)) {
      found.indexes.push_back(name);
    } else if (ends_with(name, ".safetensors")) {
      found.safetensors.push_back(name);
    } else if (ends_with(name, ".gguf")) {
      const auto shard = parse_shard_name(name);
      const auto [known, is_new] =
          gguf.try_emplace(shard && shard->total > 1 ? shard->of(1) : name, name);
      if (!is_new) known->second = std::min(known->second, name);
    } else if (parse_piece_name(name)) {
      found.pieces.push_back(name);
    } else if (ends_with(name, ".bin") || ends_with(name, ".pt") || ends_with(name, ".pth")) {
      found.pickles.push_back(name);
    } else if (is_foreign(name)) {
      found.foreign.push_back(name);
    } else if (is_renamed(name)) {
      found.renamed.push_back(name);
    }
  }
  if (error && base::code_of_read(error.value()) != ErrorCode::input_failed) {
    throw base::to_error(fs::filesystem_error("list", folder, error));
  }
  if (error) refuse(folder, error.message(), "check the folder's permissions with `ls -ld`");
  for (const auto& [name, opened] : gguf) found.gguf.push_back(name);
  found.opened = std::move(gguf);
  for (auto* names : {&found.indexes, &found.safetensors, &found.pieces, &found.apple_doubles,
                      &found.pickles, &found.foreign, &found.renamed, &found.folders}) {
    std::ranges::sort(*names);
  }
  return found;
}

// Sub-folders that hold model files themselves, for a hint.
std::vector<std::string> model_folders(const fs::path& folder, const Listing& listed) {
  constexpr std::size_t most_visited = 100;
  std::vector<std::string> found;
  for (std::size_t index = 0; index < listed.folders.size() && index < most_visited; ++index) {
    std::error_code error;
    if (listed.folders[index].starts_with('.')) continue;  // what programs keep for themselves
    fs::directory_iterator entry(folder / listed.folders[index], error);
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (is_apple_double(name)) continue;
      if (!ends_with(name, ".safetensors") && !ends_with(name, ".gguf")) continue;
      found.push_back(listed.folders[index]);
      break;
    }
  }
  return found;
}

[[noreturn]] void refuse_empty(const fs::path& folder, const Listing& listed) {
  for (const std::string& name : listed.pieces) {
    refuse_piece(folder, folder, *parse_piece_name(name));
  }
  const auto unfinished = unfinished_downloads(folder);
  if (!unfinished.empty()) {
    refuse(folder,
           "the folder holds no model; a download is not finished: " + unfinished.front().string(),
           "finish the download");
  }
  const auto folders = model_folders(folder, listed);
  if (!folders.empty()) {
    refuse(folder, "the folder holds no model, but its sub-folders do: " + listing(folders),
           "name one of these folders");
  }
  const auto refuse_others = [&](const auto& names, const char* what, const char* hint) {
    if (names.empty()) return;
    refuse(folder, "the folder holds no .safetensors or .gguf file, but " + listing(names) + what,
           hint);
  };
  refuse_others(listed.pickles, ", which is not read",
                "convert it to safetensors with `safetensors.torch.save_file`");
  std::vector<std::string> renamed = listed.renamed;
  renamed.insert(renamed.end(), listed.pieces.begin(), listed.pieces.end());
  refuse_others(renamed, ", whose name ends otherwise",
                "finish the copy or download that left it, or name the file if it is complete");
  refuse_others(listed.foreign, ", which is not read",
                "convert the original model to safetensors or GGUF");
  if (!listed.apple_doubles.empty()) {
    refuse(folder,
           "the folder holds no model, but " + listing(listed.apple_doubles) +
               ", where macOS keeps attributes of files (AppleDouble)",
           "copy the model itself, whose name has no ._ in front");
  }
  refuse(folder, "the folder holds no .safetensors or .gguf file",
         "name a model file or its folder");
}

// Of several the one that libraries load: transformers "model.*", and where no name is that, all
// but Mistral's own format "consolidated*", which repeats the same model.
std::vector<std::string> preferred_among(const std::vector<std::string>& names) {
  const auto having = [&names](auto&& is_chosen) {
    std::vector<std::string> chosen;
    std::copy_if(names.begin(), names.end(), std::back_inserter(chosen), is_chosen);
    return chosen;
  };
  auto chosen = having([](const std::string& name) {
    return name == "model.safetensors" || name == "model" + std::string(index_end);
  });
  if (!chosen.empty()) return chosen;
  return having([](std::string_view name) { return !name.starts_with("consolidated"); });
}

// The preferred one of them; several are refused.
std::string only_one(const fs::path& folder, const std::vector<std::string>& names,
                     std::string_view what) {
  if (names.size() == 1) return names.front();
  const auto preferred = preferred_among(names);
  if (preferred.size() == 1) return preferred.front();
  throw Error(ErrorCode::invalid_argument, "open",
              "cannot open " + folder.string() + ": the folder holds " +
                  std::to_string(names.size()) + " " + std::string(what) + ": " + listing(names),
              "name one of these files, such as " + (folder / names.front()).string());
}

// Shards without their index cannot be put together: which files are missing?
void check_no_lost_index(const fs::path& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto shard = parse_shard_name(name);
    if (!shard || shard->total < 2) continue;
    std::vector<std::string> missing{shard->prefix + std::string(index_end)};
    for (std::uint32_t number = 1; number <= shard->total && missing.size() <= names.size() + 5;
         ++number) {
      const std::string other = shard->of(number);
      if (!std::ranges::binary_search(names, other)) missing.push_back(other);
    }
    const std::string cause =
        in_quotes(name) + " is one of " + base::plain_count_of(shard->total, "file") +
        " of a set, whose index " + in_quotes(missing.front()) + " is missing";
    missing.erase(missing.begin());
    const auto unfinished = unfinished_downloads(folder, missing.empty() ? "" : missing.front());
    refuse(folder, cause + (missing.empty() ? "" : ", and so is " + listing(missing)),
           unfinished.empty()
               ? "download what is missing into the same folder, or name one file to read it alone"
               : "finish the download, of which " + unfinished.front().string() + " is a part");
  }
}

// Whether both are named as shards of one set.
bool are_shards(const std::string& name, const ModelPart& part) {
  const auto shard = parse_shard_name(name);
  const auto other = parse_shard_name(part.path.filename().string());
  return shard && other && shard->total > 1 && shard->total == other->total &&
         shard->prefix == other->prefix && shard->suffix == other->suffix;
}

}  // namespace

fs::path hugging_face_snapshot(const fs::path& folder) {
  const fs::path snapshots = folder / "snapshots";
  std::string revision = base::decode_text(base::read_small_file(folder / "refs" / "main"));
  while (revision.ends_with('\r') || revision.ends_with(' ')) revision.pop_back();
  std::error_code error;
  if (!revision.empty()) {
    const bool is_plain =
        revision.find_first_of("/\\") == std::string::npos && revision != "." && revision != "..";
    if (!is_plain) {
      refuse(folder, "refs/main does not name a snapshot: " + in_quotes(revision),
             "name a folder below " + snapshots.string());
    }
    if (fs::is_directory(snapshots / revision, error)) return snapshots / revision;
    refuse(folder, "the snapshot " + in_quotes(revision) + " that refs/main names is missing",
           "download the model again");
  }
  std::vector<std::string> revisions;
  for (fs::directory_iterator entry(snapshots, error), end; !error && entry != end;
       entry.increment(error)) {
    revisions.push_back(entry->path().filename().string());
  }
  std::ranges::sort(revisions);
  if (revisions.empty()) refuse_empty(folder, {});
  if (revisions.size() > 1) {
    refuse(folder, "refs/main is missing and there are several snapshots: " + listing(revisions),
           "name one of the folders below " + snapshots.string());
  }
  return snapshots / revisions.front();
}

FolderModel find_model_in_folder(const fs::path& folder) {
  std::error_code error;
  const bool is_cache = folder.filename().string().rfind("models--", 0) == 0 ||
                        (folder.filename().empty() &&
                         folder.parent_path().filename().string().rfind("models--", 0) == 0);
  if (is_cache && fs::is_directory(folder / "snapshots", error)) {
    return find_model_in_folder(hugging_face_snapshot(folder));
  }
  Listing listed = list_folder(folder);
  const bool has_safetensors = !listed.indexes.empty() || !listed.safetensors.empty();
  if (has_safetensors || listed.gguf.size() > 1) {
    std::vector<std::string> models = models_among(folder, listed.gguf);
    if (has_safetensors || !models.empty()) listed.gguf = std::move(models);
  }
  std::vector<std::string> others = listed.safetensors;
  others.insert(others.end(), listed.gguf.begin(), listed.gguf.end());
  if (!listed.indexes.empty()) {
    return {folder / only_one(folder, listed.indexes, "indexes"), std::move(others)};
  }
  if (!listed.safetensors.empty()) {
    const auto preferred = preferred_among(listed.safetensors);
    if (preferred.size() != 1 || parse_shard_name(preferred.front())) {
      check_no_lost_index(folder, listed.safetensors);
    }
    const std::string name = only_one(folder, listed.safetensors, ".safetensors files");
    std::erase(others, name);
    return {folder / name, std::move(others)};
  }
  if (!listed.gguf.empty()) {
    return {folder / listed.opened[only_one(folder, listed.gguf, "GGUF models")], {}};
  }
  refuse_empty(folder, listed);
}

std::vector<std::string> passed_over_notes(const FolderModel& found,
                                           const std::vector<ModelPart>& parts) {
  std::vector<std::string> others = found.others;
  std::erase_if(others, [&](const std::string& name) {
    return std::ranges::any_of(
        parts, [&](const ModelPart& part) { return part.path == found.file.parent_path() / name; });
  });
  std::vector<std::string> unlisted;
  std::erase_if(others, [&](const std::string& name) {
    const bool is_of_set =
        std::ranges::any_of(parts, [&](const ModelPart& part) { return are_shards(name, part); });
    if (is_of_set) unlisted.push_back(name);
    return is_of_set;
  });
  const std::string file = in_quotes(found.file.filename().string());
  std::vector<std::string> notes;
  if (!unlisted.empty()) {
    notes.push_back(file + " does not list " + listing(unlisted) + ", which " +
                    (unlisted.size() > 1 ? "are" : "is") +
                    " not read; if the model has more tensors, download the index again");
  }
  if (!others.empty()) {
    notes.push_back("the folder holds " + base::plain_count_of(others.size() + 1, "model") +
                    "; this is " + file + "; name " + (others.size() > 1 ? "one of " : "") +
                    listing(others) + " to load it");
  }
  return notes;
}

}  // namespace hiptool::model
