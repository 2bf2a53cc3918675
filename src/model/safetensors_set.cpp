// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "model/file_kind.hpp"
#include "model/json_reader.hpp"
#include "model/parts.hpp"
#include "model/safetensors.hpp"
#include "model/shard_name.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

using Kind = JsonReader::Kind;

constexpr std::string_view map_name = "weight_map";
constexpr std::uint64_t most_index_text_bytes = 4096;
constexpr std::uint64_t most_file_name_bytes = 1024;
// No real model has more.
constexpr std::size_t most_files = 65'536;
constexpr std::size_t most_metadata_keys = 65'536;

bool is_plain_name(std::string_view name) {
  constexpr std::size_t most_bytes = 255;  // NAME_MAX of Linux
  if (name.empty() || name.size() > most_bytes || name == "." || name == "..") return false;
  return std::ranges::none_of(name, [](char letter) {
    return letter == '\\' || (letter >= 0 && letter < 0x20) || letter == 0x7F;
  });
}

// A name, or a path below the folder; any other could reach files outside of it.
bool is_path_below(std::string_view path) {
  constexpr int most_folders = 8;
  for (int folder = 0; folder <= most_folders; ++folder) {
    const std::size_t slash = path.find('/');
    if (!is_plain_name(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
  return false;
}

// What the file of an index in a sub-folder really is must be below the index's folder, too, or in
// the same repository of the Hugging Face cache, whose snapshots link to its blobs.
bool is_really_below(const fs::path& folder, const fs::path& path) {
  std::error_code error;
  fs::path root = fs::weakly_canonical(folder.empty() ? "." : folder, error);
  if (root.parent_path().filename() == "snapshots") root = root.parent_path().parent_path();
  const fs::path real = fs::weakly_canonical(path, error);
  if (error) return true;  // opening it fails and says why
  return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
}

class Index {
 public:
  Index(const fs::path& path, Diagnostics& diagnostics)
      : path_(path), file_(base::File::open(path)), diagnostics_(diagnostics) {
    here();
  }

  /// Reads the files' names and the metadata, of which what is one value goes there.
  void read(Metadata& metadata) {
    std::set<std::string> names;
    std::string name;
    walk(&metadata, [&](JsonReader& json, const std::string&, const Place& place) {
      read_file_name(json, place, name);
      names.insert(name);
      if (names.size() > most_files) {
        diagnostics_.corrupt(place, "weight_map lists more than 65536 files");
      }
    });
    for (const std::string& file : names) {
      const bool is_above = file.find('/') != std::string::npos &&
                            !is_really_below(path_.parent_path(), path_.parent_path() / file);
      if (is_above) refuse_name({"index", {}, 0}, file);
    }
    files_.assign(names.begin(), names.end());
    if (files_.empty()) diagnostics_.corrupt({"index", {}, 0}, "weight_map lists no tensors");
  }

  bool lists(std::string_view file_name) const {
    return std::ranges::binary_search(files_, file_name);
  }
  std::vector<fs::path> paths() const {
    std::vector<fs::path> paths;
    for (const std::string& file : files_) paths.push_back(path_.parent_path() / file);
    return paths;
  }

  /// Leaves of tensors that several files have, at these positions and before, those of the files
  /// that the map names.
  void choose(const std::vector<std::size_t>& copies, Contents& contents) {
    if (copies.empty()) return;
    here();
    std::map<std::string, std::vector<std::size_t>, std::less<>> of_name;
    for (const std::size_t position : copies) {
      const TensorInfo& first =
          *contents.index.find(contents.tensors, contents.tensors[position].name);
      auto& positions = of_name[first.name];
      if (positions.empty()) {
        positions.push_back(static_cast<std::size_t>(&first - contents.tensors.data()));
      }
      if (contents.tensors[positions.back()].file == contents.tensors[position].file) {
        diagnostics_.corrupt(
            {"tensor", first.name, 0},
            "the name appears twice in " + in_quotes(files_[contents.tensors[position].file]));
      }
      positions.push_back(position);
    }
    std::set<std::size_t> passed_over;
    std::string name;
    walk(nullptr, [&](JsonReader& json, const std::string& tensor, const Place& place) {
      read_file_name(json, place, name);
      const auto found = of_name.find(tensor);
      if (found == of_name.end()) return;
      choose_one(found->second, name, place, contents, passed_over);
      of_name.erase(found);
    });
    if (!of_name.empty()) {
      const auto& [tensor, positions] = *of_name.begin();
      diagnostics_.corrupt({"tensor", tensor, 0},
                           "several files have it, and weight_map does not say which counts: " +
                               listed(positions, contents));
    }
    std::size_t position = 0;
    std::erase_if(contents.tensors,
                  [&](const TensorInfo&) { return passed_over.count(position++) > 0; });
    contents.index = {};
    for (position = 0; position < contents.tensors.size(); ++position) {
      contents.index.insert(contents.tensors, position);
    }
  }

  /// Compares the map with the tensors that are in the files, which are in the order of paths().
  void compare(const Contents& contents) {
    here();
    std::vector<bool> is_mapped(contents.tensors.size());
    std::string name;
    walk(nullptr, [&](JsonReader& json, const std::string& tensor, const Place& place) {
      read_file_name(json, place, name);
      compare_entry(contents, tensor, name, place, is_mapped);
    });
    std::uint64_t bytes = 0;
    for (std::size_t position = 0; position < contents.tensors.size(); ++position) {
      const TensorInfo& tensor = contents.tensors[position];
      bytes += tensor.size_bytes;
      if (is_mapped[position]) continue;
      diagnostics_.warn("unmapped", {},
                        "weight_map lacks tensor " + in_quotes(tensor.name) + " of " +
                            in_quotes(files_[tensor.file]));
    }
    if (total_bytes_ && *total_bytes_ != static_cast<double>(bytes)) {
      diagnostics_.warn("total size", {},
                        "metadata.total_size differs from the " +
                            base::plain_count_of(bytes, "byte") + " of the tensors");
    }
    file_.check_unchanged(file_.size_bytes(), file_.stamp());
  }

 private:
  // Calls visit(tensor, place of its entry) at each value of the weight_map.
  template <typename Visit>
  void walk(Metadata* metadata, Visit&& visit) {
    JsonReader json(file_, 0, file_.size_bytes(), diagnostics_);
    const Place whole{"index", {}, 0};
    json.want(Kind::object, whole, "the JSON text");
    json.enter();
    bool has_map = false;
    bool has_metadata = false;
    std::string key;
    while (json.next_key(key)) {
      const Place place{"key", key, json.key_offset()};
      const bool is_map = key == map_name;
      const bool is_metadata = key == "metadata";
      if ((is_map && std::exchange(has_map, true)) ||
          (is_metadata && std::exchange(has_metadata, true))) {
        diagnostics_.corrupt(place, "the key appears twice");
      }
      if (is_metadata) {
        read_metadata(json, metadata);
      } else if (is_map) {
        json.want(Kind::object, place, map_name);
        json.enter();
        std::string tensor;
        while (json.next_key(tensor)) {
          visit(json, tensor, Place{"tensor", tensor, json.key_offset()});
        }
      } else {
        json.skip();
      }
    }
    json.finish();
    if (!has_map) diagnostics_.corrupt(whole, "weight_map is missing");
  }

  void read_metadata(JsonReader& json, Metadata* metadata) {
    if (json.next() != Kind::object || metadata == nullptr) {
      json.skip();
      return;
    }
    json.enter();
    std::string key;
    while (json.next_key(key)) {
      MetadataItem item{key, GgufValueType::text, {}};
      switch (json.next()) {
        case Kind::boolean:
          item.type = GgufValueType::boolean;
          item.value = json.read_boolean();
          break;
        case Kind::number: {
          const JsonReader::Number number = json.read_number();
          item.type = number.is_whole ? GgufValueType::u64 : GgufValueType::f64;
          item.value = number.is_whole ? Value(number.whole) : Value(number.real);
          if (key == "total_size") total_bytes_ = number.real;
          break;
        }
        case Kind::text: {
          std::string text;
          if (!json.read_text(text, most_index_text_bytes)) continue;
          item.value = std::move(text);
          break;
        }
        default: json.skip(); continue;
      }
      if (!metadata->add(std::move(item))) {
        diagnostics_.corrupt({"metadata key", key, json.key_offset()}, "the key appears twice");
      }
      if (metadata->items().size() > most_metadata_keys) {
        diagnostics_.corrupt({"index", {}, 0}, "metadata has more than 65536 keys");
      }
    }
  }

  void read_file_name(JsonReader& json, const Place& place, std::string& name) {
    json.want(Kind::text, place, "the file's name");
    const bool fits = json.read_text(name, most_file_name_bytes);
    while (name.starts_with("./")) name.erase(0, 2);
    if (!fits || !is_path_below(name)) refuse_name(place, name);
  }

  [[noreturn]] void refuse_name(const Place& place, std::string_view name) const {
    diagnostics_.corrupt(
        place, "the file's name " + in_quotes(name) + " does not name a file of the index's folder",
        "an index may only name files in its own folder or below it; do not trust this one");
  }

  std::string listed(const std::vector<std::size_t>& positions, const Contents& contents) const {
    std::string text;
    for (const std::size_t position : positions) {
      text += (text.empty() ? "" : ", ") + in_quotes(files_[contents.tensors[position].file]);
    }
    return text;
  }

  // Of one tensor: all but the one in that file are passed over.
  void choose_one(const std::vector<std::size_t>& positions, std::string_view file_name,
                  const Place& place, const Contents& contents,
                  std::set<std::size_t>& passed_over) {
    std::vector<std::size_t> others;
    for (const std::size_t position : positions) {
      if (files_[contents.tensors[position].file] != file_name) others.push_back(position);
    }
    if (others.size() == positions.size()) {
      diagnostics_.corrupt(place, "the tensor is not in " + in_quotes(file_name) + " but in " +
                                      listed(positions, contents));
    }
    // transformers merges the files in the order of their names, whatever the map says.
    const bool is_last = files_[contents.tensors[positions.back()].file] == file_name;
    diagnostics_.warn("copies", place,
                      "the tensor is read from " + in_quotes(file_name) +
                          ", which weight_map names, and is also in " + listed(others, contents) +
                          (is_last ? "" : "; transformers takes the one of the last file"));
    passed_over.insert(others.begin(), others.end());
  }

  void compare_entry(const Contents& contents, const std::string& tensor,
                     std::string_view file_name, const Place& place, std::vector<bool>& is_mapped) {
    const TensorInfo* found = contents.index.find(contents.tensors, tensor);
    if (found == nullptr) {
      diagnostics_.corrupt(place, "the tensor is not in " + in_quotes(file_name));
    }
    if (files_[found->file] != file_name) {
      diagnostics_.corrupt(place, "the tensor is not in " + in_quotes(file_name) + " but in " +
                                      in_quotes(files_[found->file]));
    }
    const auto position = static_cast<std::size_t>(found - contents.tensors.data());
    if (is_mapped[position]) diagnostics_.corrupt(place, "the tensor appears twice");
    is_mapped[position] = true;
  }

  void here() { diagnostics_.move_to(path_, "offset"); }

  fs::path path_;
  base::File file_;
  Diagnostics& diagnostics_;
  std::vector<std::string> files_;  // sorted
  std::optional<double> total_bytes_;
};

// The index that lists the file, which must be named like a shard.
std::optional<fs::path> find_index(const fs::path& path, Diagnostics& diagnostics) {
  const std::string file_name = path.filename().string();
  const auto name = parse_shard_name(file_name);
  if (!name || name->total < 2) return std::nullopt;
  fs::path index;
  for (const std::string& candidate : name->indexes()) {
    if (index.empty() || !base::is_there(index)) index = path.parent_path() / candidate;
  }
  if (!base::is_there(index)) index = path.parent_path() / name->indexes().front();
  const std::string shards = "of the " + base::plain_count_of(name->total, "file") +
                             " of the set that " + in_quotes(file_name) +
                             " is named after, only this one is read: ";
  if (!base::is_there(index)) {
    diagnostics.note(shards + in_quotes(index.filename().string()) + " is not in its folder");
    return std::nullopt;
  }
  Metadata metadata;
  Index reader(index, diagnostics);
  reader.read(metadata);
  if (reader.lists(file_name)) return index;
  diagnostics.move_to(path);
  diagnostics.note(shards + in_quotes(index.filename().string()) + " does not list it");
  return std::nullopt;
}

/// Programs copy the index of a model next to the files that they made of it. If none of an index's
/// files is there, all named as its own shards are, those are its model: one file, or one whole
/// set. Empty where they are not.
std::vector<fs::path> files_instead(const fs::path& index, const std::vector<fs::path>& listed) {
  if (std::ranges::any_of(listed, base::is_there)) return {};
  constexpr std::string_view end = ".index.json";
  std::string single = index.filename().string();
  if (!single.ends_with(end)) return {};
  single.resize(single.size() - end.size());
  for (const fs::path& path : listed) {
    const auto shard = parse_shard_name(path.filename().string());
    if (!shard || shard->prefix + shard->suffix != single) return {};
  }
  const fs::path folder = index.parent_path();
  if (base::is_there(folder / single)) return {folder / single};
  std::set<std::string> sets;  // by their first file
  for (const fs::path& path : base::list_folder(folder)) {
    const auto shard = parse_shard_name(path.filename().string());
    if (shard && shard->prefix + shard->suffix == single) sets.insert(shard->of(1));
  }
  if (sets.size() != 1) return {};
  const auto first = parse_shard_name(*sets.begin());
  std::vector<fs::path> files;
  for (std::uint32_t number = 1; number <= first->total && files.size() < most_files; ++number) {
    files.push_back(folder / first->of(number));
    if (!base::is_there(files.back())) return {};
  }
  return files;
}

void parse_part(const fs::path& path, bool opaque, Diagnostics& diagnostics, Contents& contents,
                std::vector<std::size_t>* copies = nullptr) {
  const base::File file = open_part(path, diagnostics, contents);

  if (find_kind(file, diagnostics) != FileKind::safetensors) {
    diagnostics.unreadable_kind({}, "the file is not safetensors, which an index lists",
                                "download all files of the set again");
  }
  parse_safetensors(file, opaque, diagnostics, contents, copies);
  file.check_unchanged(file.size_bytes(), file.stamp());
}

}  // namespace

void parse_safetensors_model(const fs::path& path, bool opaque, Diagnostics& diagnostics,
                             Contents& contents) {
  if (const auto index = find_index(path, diagnostics)) {
    parse_safetensors_index(*index, opaque, diagnostics, contents);
  } else {
    parse_part(path, opaque, diagnostics, contents);
  }
}

void parse_safetensors_index(const fs::path& path, bool opaque, Diagnostics& diagnostics,
                             Contents& contents) {
  Index index(path, diagnostics);
  contents.folder = path.parent_path();
  Metadata metadata;
  index.read(metadata);
  std::vector<fs::path> paths = index.paths();
  if (auto files = files_instead(path, paths); !files.empty()) {
    diagnostics.note("none of its files is in the folder, so it is the index of another model: " +
                     in_quotes(files.front().filename().string()) +
                     (files.size() > 1 ? " and the rest of its set are" : " is") +
                     " read without it");
    for (const fs::path& part : files) parse_part(part, opaque, diagnostics, contents);
    return;
  }
  check_present(paths, in_quotes(path.filename().string()));
  std::vector<std::size_t> copies;
  for (const fs::path& part : paths) parse_part(part, opaque, diagnostics, contents, &copies);
  index.choose(copies, contents);
  for (const MetadataItem& item : metadata.items()) contents.metadata.add(item);
  index.compare(contents);
}

}  // namespace hiptool::model
