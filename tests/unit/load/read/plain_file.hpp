// SPDX-License-Identifier: MIT
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support.hpp"

namespace hiptool::test {

/// A file of odd length and a plain descriptor: readers care for neither O_DIRECT nor alignment.
struct PlainFile {
  TemporaryFolder folder;
  std::vector<std::byte> contents = random_bytes(1'000'003, 3);
  std::filesystem::path path = folder.path() / "file";
  int descriptor = -1;

  PlainFile() {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(contents.data()),
               static_cast<std::streamsize>(contents.size()));
    descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  ~PlainFile() { close(descriptor); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;
};

constexpr const char* no_read_counts = "the kernel does not count the reads of a thread";

/// Bytes that this thread has asked the system for so far, this call included; 0 where the kernel
/// does not count them (proc(5), rchar).
inline std::uint64_t requested_bytes() {
  std::ifstream io("/proc/thread-self/io");
  std::string name;
  std::uint64_t value = 0;
  io >> name >> value;
  return name == "rchar:" ? value : 0;
}

}  // namespace hiptool::test
