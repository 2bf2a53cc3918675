// SPDX-License-Identifier: MIT
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "hiptool/error.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::fuzz {

/// Opens the bytes as a model by way of a file in memory. Every refusal must be one of a bad file,
/// and every tensor that is accepted must lie inside the file; anything else ends the process.
inline void open_model(const std::uint8_t* bytes, std::size_t size) {
  static const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  if (descriptor < 0 || ftruncate(descriptor, 0) != 0 ||
      pwrite(descriptor, bytes, size, 0) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  for (const bool strict : {false, true}) {
    try {
      const ModelFile model = ModelFile::open(path, ModelOptions{strict});
      if (strict && !model.warnings().empty()) std::abort();
      std::uint64_t end = 0;
      for (const TensorInfo& tensor : model.tensors()) {
        if (tensor.file_offset < end || tensor.file_offset > size) std::abort();
        if (tensor.size_bytes > size - tensor.file_offset) std::abort();
        if (model.find(tensor.name) != &tensor) std::abort();
        end = tensor.file_offset + tensor.size_bytes;
      }
    } catch (const Error& error) {
      const std::string message = error.what();
      const bool is_refusal =
          error.code() == ErrorCode::corrupt_data || error.code() == ErrorCode::input_failed;
      if (!is_refusal || message.size() > 1000 || message.find('\n') != std::string::npos) {
        std::abort();
      }
    }
  }
}

}  // namespace hiptool::fuzz
