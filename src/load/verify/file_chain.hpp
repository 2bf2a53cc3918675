// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/byte_range.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"

namespace hiptool::load {

/// Reads a file from its first byte to its last, each byte once, and computes from the same buffers
/// the SHA-256 of the file and the digests of the blocks of its tensors: what has these digests has
/// this SHA-256. One thread, at the rate of SHA-256 on its core.
class FileChain {
 public:
  /// Bytes of a tensor that have no digests yet, and the number of their first block.
  struct Tensor {
    base::ByteRange bytes;
    std::uint64_t block = 0;
  };

  /// Of a file of that size; the tensors are within it, in any order, and may overlap.
  FileChain(std::vector<Tensor> tensors, std::uint64_t size_bytes,
            std::uint64_t read_bytes = 256u << 10);

  /// Reads the next buffer and writes the digests of the blocks that are complete with it, by their
  /// numbers. Gives the bytes read, 0 after the end of the file. Throws what File::read_at throws.
  std::uint64_t read_next(const base::File& file, std::span<std::uint64_t> digests);

  /// After the end of the file, once: 64 hexadecimal digits.
  std::string sha256();

 private:
  void open_tensors(std::uint64_t end);
  void digest_blocks(std::span<const std::byte> window, std::uint64_t begin,
                     std::span<std::uint64_t> digests);

  std::vector<Tensor> tensors_;  // by file offset
  std::uint64_t size_bytes_;
  std::uint64_t read_bytes_;
  // Up to a block of what was read before, then what is read next.
  std::vector<std::byte> buffer_;
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t offset_ = 0;  // of the next byte to read
  std::size_t next_tensor_ = 0;
  std::vector<Tensor> open_;  // those that have begun and have blocks left
  base::Sha256 hasher_;
};

}  // namespace hiptool::load
