// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::model {

struct ModelWriterOptions {
  std::filesystem::path path;
  ModelFormat format = ModelFormat::gguf;
  std::uint64_t size_bytes = 0;  ///< wanted for the tensors together, without the header
  std::uint32_t tensors = 1;
  /// The format's names; empty: common ones; "all": every one.
  std::vector<std::string> types = {};
  std::uint64_t seed = 0;
  const CancelToken* cancel = nullptr;
  /// Called by the calling thread now and then with the bytes that are written.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
};

struct ModelWriterResult {
  std::filesystem::path path;
  std::uint64_t file_bytes = 0;
  std::uint64_t tensor_bytes = 0;  ///< within one block of the wanted size where that is possible
  std::uint32_t tensors = 0;
};

/// Writes a model of pseudo-random but finite numbers, the same for the same options on every
/// machine. The file appears under its name when it is complete; until then, and after a failure,
/// what was there before stays.
/// Throws Error(invalid_argument) for options that make no sense, Error(output_failed) when the
/// file cannot be written, Error(cancelled).
ModelWriterResult write_model(const ModelWriterOptions& options);

}  // namespace hiptool::model
