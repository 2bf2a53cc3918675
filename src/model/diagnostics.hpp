// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/error.hpp"

namespace hiptool::model {

/// A place in a header: "tensor 'blk.0.ffn_up.weight' at header offset 1234".
struct Place {
  std::string_view kind;     ///< "header", "metadata key", "tensor"
  std::string_view name;     ///< as the file has it; empty while it is not known yet
  std::uint64_t offset = 0;  ///< bytes from the start of the file
  std::uint64_t number = 0;  ///< which one, from 1; shown until the name is known
};

/// Turns what a parser finds into errors and warnings of one form: file, place, cause.
class Diagnostics {
 public:
  Diagnostics(std::filesystem::path path, bool strict) : path_(std::move(path)), strict_(strict) {}

  /// From now on messages name this file and call its offsets `offset_name`.
  void move_to(std::filesystem::path path, std::string_view offset_name = "header offset") {
    path_ = std::move(path);
    offset_name_ = offset_name;
  }

  /// The file breaks its format.
  [[noreturn]] void corrupt(const Place& place, std::string_view cause,
                            std::string_view hint = {}) const;
  /// The file ends too early: as corrupt(), naming the usual reason.
  [[noreturn]] void truncated(const Place& place, std::string_view cause) const;
  /// The file is sound as far as it was read, but of a kind that is not read here.
  [[noreturn]] void unreadable_kind(const Place& place, std::string_view cause,
                                    std::string_view hint) const;

  /// Notes what a specification forbids and readers accept; an error when strict. The first case of
  /// each rule is kept in full and the others are counted, so that a million of them stay small.
  void warn(std::string_view rule, const Place& place, std::string_view cause);
  /// Notes what no specification forbids but users should know; no error when strict.
  void note(std::string_view cause);
  std::vector<std::string> take_warnings();

 private:
  struct Warning {
    std::string_view rule;
    std::string text;
    std::uint64_t others = 0;
  };

  std::string sentence(const Place& place, std::string_view cause) const;

  std::filesystem::path path_;
  std::string_view offset_name_ = "header offset";
  bool strict_;
  std::vector<Warning> warnings_;
};

/// "PATH is ignored: CAUSE", for the message of an Error that may begin with the path.
std::string ignored_file(const std::filesystem::path& path, std::string_view message);

}  // namespace hiptool::model
