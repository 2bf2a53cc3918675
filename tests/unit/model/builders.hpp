// SPDX-License-Identifier: MIT
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/model_file.hpp"

namespace hiptool::test {

/// Bytes of a file, put together field by field so that tests can break any one of them.
class Bytes {
 public:
  template <typename Number>
  Bytes& number(Number value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    data_.append(bytes, sizeof value);
    return *this;
  }
  Bytes& u32(std::uint32_t value) { return number(value); }
  Bytes& u64(std::uint64_t value) { return number(value); }
  Bytes& raw(std::string_view bytes) {
    data_.append(bytes);
    return *this;
  }
  /// A GGUF string: length and bytes.
  Bytes& text(std::string_view bytes) { return u64(bytes.size()).raw(bytes); }
  Bytes& pad_to(std::size_t alignment) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    return *this;
  }
  Bytes& zeros(std::size_t count) {
    data_.append(count, '\0');
    return *this;
  }
  std::size_t size() const { return data_.size(); }
  const std::string& data() const { return data_; }

 private:
  std::string data_;
};

/// A GGUF file from its parts. Each part is plain data that a test may change before bytes().
struct Gguf {
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> shape;
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
  };
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t tensor_count = UINT64_MAX;    // the true one unless set
  std::uint64_t metadata_count = UINT64_MAX;  // the same
  std::vector<std::string> pairs;             // encoded
  std::vector<Tensor> tensors;
  std::size_t alignment = 32;
  std::size_t data_bytes = 0;

  Gguf& pair(std::string_view key, std::uint32_t type, const Bytes& value) {
    pairs.push_back(Bytes().text(key).u32(type).data() + value.data());
    return *this;
  }
  Gguf& architecture() { return pair("general.architecture", 8, Bytes().text("llama")); }
  Gguf& tensor(std::string name, std::vector<std::uint64_t> shape, std::uint32_t type,
               std::uint64_t offset) {
    tensors.push_back({std::move(name), std::move(shape), type, offset});
    return *this;
  }
  Gguf& data(std::size_t size_bytes) {
    data_bytes = size_bytes;
    return *this;
  }
  std::string header() const {
    Bytes bytes;
    bytes.raw(magic).u32(version);
    bytes.u64(tensor_count == UINT64_MAX ? tensors.size() : tensor_count);
    bytes.u64(metadata_count == UINT64_MAX ? pairs.size() : metadata_count);
    for (const std::string& encoded : pairs) bytes.raw(encoded);
    for (const Tensor& tensor : tensors) {
      bytes.text(tensor.name).u32(static_cast<std::uint32_t>(tensor.shape.size()));
      for (const std::uint64_t extent : tensor.shape) bytes.u64(extent);
      bytes.u32(tensor.type).u64(tensor.offset);
    }
    return bytes.data();
  }
  std::string bytes() const {
    Bytes all;
    all.raw(header());
    if (!tensors.empty()) all.pad_to(alignment).zeros(data_bytes);
    return all.data();
  }
};

/// A safetensors file of this JSON text and that many bytes of data.
inline std::string safetensors(std::string_view json, std::size_t data_bytes = 0) {
  return Bytes().u64(json.size()).raw(json).zeros(data_bytes).data();
}

/// Writes the bytes to a file, in place of what it held.
inline std::filesystem::path write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

/// A file with these bytes that goes away with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes, std::string_view name = "model") {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("hiptool-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + "-" +
             std::string(name));
    write(bytes);
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view bytes) { write_file(path_, bytes); }
  /// Changes bytes in place, and the time of the change with them.
  void write_over(std::size_t offset, std::string_view bytes) const {
    {
      std::fstream stream(path_, std::ios::binary | std::ios::in | std::ios::out);
      stream.seekp(static_cast<std::streamoff>(offset));
      stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
    std::filesystem::last_write_time(path_, std::filesystem::file_time_type::clock::now());
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The same without a name in a file system, which opens without the wait that a file that has
/// just been written needs: for thousands of them.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("model", MFD_CLOEXEC)) {
    write_file(path(), bytes);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

inline ModelFile open_bytes(std::string_view bytes, bool strict = false) {
  const TemporaryFile file(bytes);
  return ModelFile::open(file.path(), ModelOptions{strict});
}

}  // namespace hiptool::test
