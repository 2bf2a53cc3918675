// SPDX-License-Identifier: MIT
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "model/cut_file.hpp"
#include "model/file_kind.hpp"
#include "model/gguf.hpp"
#include "model/parts.hpp"
#include "model/shard_name.hpp"
#include "model/text.hpp"

namespace hiptool::model {
namespace {

namespace fs = std::filesystem;

constexpr Place metadata_place{"metadata", {}, 24};
constexpr std::string_view set_hint =
    "download all shards again, or split the model again with `llama-gguf-split`";

class SetReader {
 public:
  SetReader(const fs::path& path, bool opaque, Diagnostics& diagnostics, Contents& contents)
      : path_(path), opaque_(opaque), diagnostics_(diagnostics), contents_(contents) {}

  void read() {
    const std::optional<std::uint64_t> other = read_part(path_, contents_.metadata);
    const std::uint64_t count = number(contents_.metadata, "split.count").value_or(0);
    if (count > 1) {
      if (other) refuse_joined(path_, *other, diagnostics_);
      const std::vector<fs::path> paths = list_shards(count);
      // The set is read from its first file on, which has the metadata.
      const fs::path given = std::move(contents_.path);
      contents_ = {};
      contents_.path = given;
      diagnostics_.take_warnings();
      read_shards(paths);
    } else if (other) {
      diagnostics_.note("another GGUF file begins at byte " + std::to_string(*other) +
                        " of the file, which is ignored");
    }
    check_gguf_model(diagnostics_, contents_);
  }

 private:
  // Where another file begins that `cat` has put behind it.
  std::optional<std::uint64_t> read_part(const fs::path& path, Metadata& metadata) {
    const base::File file = open_part(path, diagnostics_, contents_);
    if (find_kind(file, diagnostics_) != FileKind::gguf) {
      diagnostics_.unreadable_kind({}, "the file is not GGUF as the others of its set", set_hint);
    }
    const std::uint64_t end = parse_gguf(file, opaque_, diagnostics_, metadata, contents_);
    const std::uint64_t alignment = number(metadata, "general.alignment").value_or(32);
    const auto other = gguf_behind(file, end, alignment);
    if (!other) note_bytes_after(bytes_after_gguf(file.size_bytes(), end, alignment));
    file.check_unchanged(file.size_bytes(), file.stamp());
    return other;
  }

  void note_bytes_after(std::uint64_t bytes) {
    if (bytes == 0) return;
    const bool has_tensors =
        !contents_.tensors.empty() && contents_.tensors.back().file + 1 == contents_.parts.size();
    diagnostics_.note(base::plain_count_of(bytes, "byte") +
                      (bytes == 1 ? " follows the " : " follow the ") +
                      (has_tensors ? "last tensor" : "header") +
                      "; compare the file's size with the publisher's: a transfer in text mode "
                      "(FTP's ASCII) adds bytes all over a file");
  }

  std::optional<std::uint64_t> number(const Metadata& metadata, std::string_view key) const {
    const MetadataItem* item = metadata.find(key);
    if (item == nullptr) return std::nullopt;
    if (const auto* value = std::get_if<std::uint64_t>(&item->value)) return *value;
    const auto* value = std::get_if<std::int64_t>(&item->value);
    if (value == nullptr || *value < 0) {
      diagnostics_.corrupt(metadata_place, std::string(key) + " is not a number from 0 on");
    }
    return static_cast<std::uint64_t>(*value);
  }

  // The paths of all shards, from any one of them; refused where one is missing.
  std::vector<fs::path> list_shards(std::uint64_t count) const {
    const std::string file_name = path_.filename().string();
    const auto name = parse_shard_name(file_name);
    if (!name) {
      diagnostics_.unreadable_kind(
          metadata_place,
          "the file is one of " + std::to_string(count) +
              " of a split model (split.count), but its name is not of the form "
              "NAME-00001-of-00002.gguf, by which the others are found",
          naming_hint());
    }
    if (name->total != count) {
      diagnostics_.corrupt(metadata_place,
                           "split.count is " + std::to_string(count) + ", the file's name says " +
                               std::to_string(name->total),
                           set_hint);
    }
    std::vector<fs::path> paths;
    for (std::uint32_t shard = 1; shard <= name->total; ++shard) {
      paths.push_back(path_.parent_path() / name->of(shard));
    }
    check_present(paths, "the set of " + std::to_string(count) + " that " + in_quotes(file_name) +
                             " belongs to");
    return paths;
  }

  // A file of a cache is found by its name there, and other links have the model's.
  std::string naming_hint() const {
    std::error_code ignored;
    const bool is_blob = published_sha256(path_) && !fs::is_symlink(path_, ignored);
    if (!is_blob) return "give all files of the set their names back";
    if (const auto link = link_in_snapshots(path_)) {
      return "name the link to it in the cache: " + link->string();
    }
    return "the file is a blob of a cache: do not rename it, but name the model of which it is "
           "part";
  }

  void read_shards(const std::vector<fs::path>& paths) {
    read_part(paths[0], contents_.metadata);
    const auto total = number(contents_.metadata, "split.tensors.count");
    if (!total) {
      diagnostics_.corrupt(metadata_place, "split.tensors.count is missing", set_hint);
    }
    check_shard(contents_.metadata, 0, paths.size(), *total);
    for (std::size_t position = 1; position < paths.size(); ++position) {
      Metadata metadata;
      read_part(paths[position], metadata);
      check_shard(metadata, position, paths.size(), *total);
    }
    diagnostics_.move_to(paths[0]);
    if (contents_.tensors.size() != *total) {
      diagnostics_.corrupt(metadata_place,
                           "split.tensors.count is " + std::to_string(*total) +
                               ", the files of the set have " +
                               base::plain_count_of(contents_.tensors.size(), "tensor"),
                           set_hint);
    }
  }

  // llama.cpp wants split.no in every file and the other keys in the first.
  void check_shard(const Metadata& metadata, std::size_t position, std::size_t count,
                   std::uint64_t tensors) {
    const auto check = [&](std::string_view key, std::uint64_t wanted, bool is_needed) {
      const auto found = number(metadata, key);
      if (found == wanted) return;
      std::string cause(key);
      cause += found ? " is " + std::to_string(*found) : " is missing";
      cause += " where " + std::to_string(wanted) + " is expected";
      if (found || is_needed) diagnostics_.corrupt(metadata_place, cause, set_hint);
      diagnostics_.warn("split", metadata_place, cause);
    };
    check("split.no", position, true);
    check("split.count", count, position == 0);
    check("split.tensors.count", tensors, position == 0);
  }

  const fs::path& path_;
  bool opaque_;
  Diagnostics& diagnostics_;
  Contents& contents_;
};

}  // namespace

void parse_gguf_model(const fs::path& path, bool opaque, Diagnostics& diagnostics,
                      Contents& contents) {
  SetReader(path, opaque, diagnostics, contents).read();
}

}  // namespace hiptool::model
