// SPDX-License-Identifier: MIT
#include "file_folder.hpp"

#include <algorithm>
#include <cstdlib>

namespace hiptool::fuzz {
namespace {

bool is_plain_name(std::string_view name) {
  constexpr std::size_t most_name_bytes = 72;
  return !name.empty() && name != "." && name != ".." && name.size() <= most_name_bytes &&
         name.find('\0') == std::string_view::npos;
}

// A path of few short names below the folder.
bool is_inside(std::string_view path) {
  constexpr int most_names = 8;
  for (int names = 0; names < most_names; ++names) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (!is_plain_name(path.substr(0, end))) return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

void FileFolder::write(const Input& input, const std::vector<std::string>& names) const {
  std::string_view rest = input.text();
  bool is_there = true;
  for (const std::string& name : names) {
    if (!is_there) {
      MemoryDisk::instance().remove(*this / name);
      continue;
    }
    const std::size_t mark = rest.find(piece_mark);
    write(name, rest.substr(0, mark));
    is_there = mark != std::string_view::npos;
    if (is_there) rest.remove_prefix(mark + piece_mark.size());
  }
}

void FileFolder::write(const std::string& name, std::string_view bytes, std::uint64_t zeros) const {
  if (!MemoryDisk::instance().write(*this / name, bytes, zeros)) std::abort();
}

void FileFolder::write_named(const Input& input) const {
  constexpr int most_files = 16;
  MemoryDisk& disk = MemoryDisk::instance();
  disk.remove(path_);
  disk.make_folder(path_);
  std::string_view rest = input.text();
  for (int file = 0; file < most_files && !rest.empty(); ++file) {
    const std::string_view piece = rest.substr(0, rest.find(piece_mark));
    rest.remove_prefix(std::min(piece.size() + piece_mark.size(), rest.size()));
    const std::size_t line = std::min(piece.find('\n'), piece.size());
    const std::string_view name = piece.substr(0, line);
    if (!is_inside(name)) continue;
    // Where a file of the input is in the way of another, there is the first one alone.
    disk.write(*this / std::string(name), piece.substr(std::min(line + 1, piece.size())));
  }
}

void FileFolder::link(const std::string& name, const std::string& target) const {
  if (!MemoryDisk::instance().link(*this / name, target)) std::abort();
}

}  // namespace hiptool::fuzz
