// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::cli {

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
  /// More than one: a set of files with about as many bytes each, at most one for each tensor.
  std::uint32_t shards = 1;
  /// How many tokens a GGUF's tokenizer gets; 0: none, but the count of one in the metadata.
  std::uint64_t vocabulary = 0;
  /// Whether files that exist are replaced; if not, one is Error(invalid_argument).
  bool replaces = true;
};

struct ModelWriterResult {
  std::filesystem::path path;      ///< to open the model by: of a set its first file or its index
  std::uint32_t files = 1;         ///< with tensors
  std::uint64_t file_bytes = 0;    ///< of all files, an index included
  std::uint64_t tensor_bytes = 0;  ///< within one block of the wanted size where that is possible
  std::uint32_t tensors = 0;
};

/// Writes a model of pseudo-random but finite numbers, the same for the same options on every
/// machine. The file appears under its name when it is complete; until then, and after a failure,
/// what was there before stays.
///
/// The files of a set are named NAME-00001-of-0000N.gguf (llama.cpp's gguf-split) or
/// NAME-00001-of-0000N.safetensors with NAME.safetensors.index.json (Hugging Face), where the path
/// is NAME with or without that ending. They take their names when all are complete, the one that
/// readers begin with last; a failure leaves none of them.
/// Throws Error(invalid_argument) for options that make no sense, Error(output_failed) when the
/// file cannot be written, Error(cancelled).
ModelWriterResult write_model(const ModelWriterOptions& options);

}  // namespace hiptool::cli
