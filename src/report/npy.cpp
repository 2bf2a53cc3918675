// SPDX-License-Identifier: MIT
#include "report/npy.hpp"

#include <fmt/format.h>

#include <fstream>
#include <string_view>

namespace hiptool::report {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";

}  // namespace

std::string npy_header(std::uint64_t rows, std::uint64_t columns) {
  constexpr std::size_t alignment = 64;
  const std::string fields =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  const std::size_t before = npy_magic.size() + 4;  // the version, and the length of what follows
  const std::size_t end = (before + fields.size() + 1 + alignment - 1) / alignment * alignment;
  const std::size_t length = end - before;
  std::string header(npy_magic);
  header += {1, 0, static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  header += fields;
  header.resize(end - 1, ' ');
  return header + '\n';
}

bool is_npy(const std::filesystem::path& path) {
  std::string start(npy_magic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), static_cast<std::streamsize>(start.size())) && start == npy_magic;
}

}  // namespace hiptool::report
