// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer: each file of the folders given, then a fixed series of
// mutations of it. Usage: PROGRAM FOLDER...
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int mutations_per_file = 50;

Bytes read(const std::filesystem::path& path) {
  std::vector<char> text(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(text.data(), static_cast<std::streamsize>(text.size()));
  return {text.begin(), text.end()};
}

std::size_t below(std::mt19937& random, std::size_t end) { return random() % end; }

// One change: a flipped bit, an extreme byte, a removed, repeated or cut piece.
void mutate(Bytes& bytes, std::mt19937& random) {
  if (bytes.empty()) return;
  const std::size_t at = below(random, bytes.size());
  const std::size_t length = std::min<std::size_t>(1 + below(random, 16), bytes.size() - at);
  const auto piece = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto piece_end = piece + static_cast<std::ptrdiff_t>(length);
  switch (below(random, 6)) {
    case 0: bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << below(random, 8))); break;
    case 1: bytes[at] = below(random, 2) == 0 ? 0x00 : 0xFF; break;
    case 2: std::fill(piece, piece_end, std::uint8_t{0xFF}); break;
    case 3: bytes.erase(piece, piece_end); break;
    case 4: {
      const Bytes copy(piece, piece_end);
      bytes.insert(piece, copy.begin(), copy.end());
      break;
    }
    default: bytes.resize(at); break;
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  std::vector<std::filesystem::path> paths;
  for (int index = 1; index < argument_count; ++index) {
    for (const auto& entry : std::filesystem::directory_iterator(arguments[index])) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::mt19937 random(1);  // a fixed seed: failures must come back
  for (const auto& path : paths) {
    const Bytes original = read(path);
    LLVMFuzzerTestOneInput(original.data(), original.size());
    for (int round = 0; round < mutations_per_file; ++round) {
      Bytes changed = original;
      const std::size_t changes = 1 + below(random, 3);
      for (std::size_t change = 0; change < changes; ++change) mutate(changed, random);
      LLVMFuzzerTestOneInput(changed.data(), changed.size());
    }
  }
  std::printf("%zu files, %d mutations each\n", paths.size(), mutations_per_file);
  return paths.empty() ? 1 : 0;
}
