// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>

#include "model_writer/writer_plan.hpp"

namespace hiptool::model_writer {

class GgufHeader;
struct DecoderPlan;

/// The fields of a GGUF header other than its tensors.
struct GgufFacts {
  std::uint32_t shard = 0;  ///< the first one carries the model's metadata
  std::uint32_t shards = 1;
  std::uint32_t tensors = 0;  ///< of all shards
  std::uint32_t layers = 1;
  std::uint64_t vocabulary = 0;          ///< tokens
  const DecoderPlan* decoder = nullptr;  ///< in place of the last two
};

/// Adds a vocabulary of that many tokens.
void write_tokens(GgufHeader& header, std::uint64_t count);

/// Places the tensors of the file and makes its header.
void finish_gguf(PlannedFile& file, const GgufFacts& facts);
void finish_safetensors(PlannedFile& file);

/// The path of one file of a set; of a single file the path itself.
std::filesystem::path shard_path(const std::filesystem::path& path, ModelFormat format,
                                 std::uint32_t shard, std::uint32_t shards);

/// The index of the plan's files, a safetensors set.
PlannedFile make_index(const std::filesystem::path& path, const WriterPlan& plan);

}  // namespace hiptool::model_writer
