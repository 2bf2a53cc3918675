// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_file.hpp"

namespace hiptool::model_writer {

/// general.name of the GGUF files.
inline constexpr std::string_view name_of_made_models = "hiptool make-model";

/// A decoder whose sizes, keys and names fit each other, so that programs can compute with it.
struct SampleDecoder {
  std::string architecture;  ///< as a GGUF names it; "mistral" (safetensors only)
  RopeScaling rope = RopeScaling::none;
  std::uint64_t window = 0;      ///< 0: none
  bool is_tied = false;          ///< the output is the embedding
  std::uint64_t size_bytes = 0;  ///< of the tensors, about; 0: the smallest, of odd sizes
};

struct ModelWriterOptions {
  std::filesystem::path path;
  ModelFormat format = ModelFormat::gguf;
  std::uint64_t size_bytes = 0;  ///< total of the tensors, without the header
  std::uint32_t tensors = 1;
  /// Type names of the format; empty: common ones; "all": every type.
  std::vector<std::string> types = {};
  std::uint64_t seed = 0;
  const CancelToken* cancel = nullptr;
  /// Called from the calling thread at intervals.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
  /// More than one: a set of files of about equal size, at most one per tensor.
  std::uint32_t shards = 1;
  /// Tokens in the tokenizer of a GGUF; 0: none, but a vocabulary size in the metadata.
  std::uint64_t vocabulary = 0;
  /// In place of size, number of tensors and vocabulary of the model. Its config.json accompanies
  /// safetensors.
  std::optional<SampleDecoder> decoder = {};
  /// Replaces existing files; otherwise one throws Error(invalid_argument).
  bool replaces = true;
};

struct ModelWriterResult {
  std::filesystem::path path;      ///< the file to open: of a set its first file or its index
  std::uint32_t files = 1;         ///< with tensors
  std::uint64_t file_bytes = 0;    ///< of all files and the index
  std::uint64_t tensor_bytes = 0;  ///< within one block of the requested size if possible
  std::uint32_t tensors = 0;
};

/// The files of a set that write_model() writes for the path, with the index of safetensors.
std::vector<std::filesystem::path> files_of_set(const std::filesystem::path& path,
                                                ModelFormat format, std::uint32_t shards);

/// Writes a model of pseudo-random, finite numbers that depend only on the options. The file gets
/// its name when it is complete; until then, and after a failure, an existing file stays.
///
/// The files of a set are named NAME-00001-of-0000N.gguf (llama.cpp's gguf-split) or
/// NAME-00001-of-0000N.safetensors with NAME.safetensors.index.json (Hugging Face), where the path
/// is NAME with or without that ending. They get their names when all are complete, the one that
/// readers open last; a failure leaves none of them. Throws Error(invalid_argument) for invalid
/// options, Error(output_failed) if a file cannot be written, Error(cancelled).
ModelWriterResult write_model(const ModelWriterOptions& options);

}  // namespace hiptool::model_writer
