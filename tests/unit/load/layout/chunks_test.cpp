// SPDX-License-Identifier: MIT
#include "load/layout/chunks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "load/layout/blocks.hpp"
#include "small_model.hpp"

using namespace hiptool;
using namespace hiptool::load;

namespace {

constexpr std::uint64_t mebibyte = 1u << 20;

struct ChunksModel {
  explicit ChunksModel(const std::vector<test::SmallTensor>& tensors)
      : model(ModelFile::open(test::write_small_model(folder.path() / "m.safetensors", tensors))),
        layout(lay_out(model)) {}
  // One tensor of zeros in a file that takes no room.
  explicit ChunksModel(std::uint64_t size_bytes)
      : model(ModelFile::open(write_sparse(size_bytes))) {
    layout = lay_out(model);
  }

  std::filesystem::path write_sparse(std::uint64_t size_bytes) const {
    const auto path = folder.path() / "m.safetensors";
    const std::string size = std::to_string(size_bytes);
    const std::string header =
        "{\"t\":{\"dtype\":\"U8\",\"shape\":[" + size + "],\"data_offsets\":[0," + size + "]}}";
    const std::uint64_t length = header.size();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length) << header;
    file.close();
    std::filesystem::resize_file(path, sizeof length + length + size_bytes);
    return path;
  }

  test::TemporaryFolder folder;
  ModelFile model;
  ArenaLayout layout;
};

// No byte twice or never, none too large, tensors cut only between blocks.
void check_cut(const ChunksModel& model, const std::vector<base::ByteRange>& chunks,
               std::uint64_t most_bytes) {
  std::uint64_t at = 0;
  for (const base::ByteRange& chunk : chunks) {
    REQUIRE(chunk.offset == at);
    REQUIRE(chunk.end() > chunk.offset);
    REQUIRE(chunk.size_bytes <= most_bytes);
    at = chunk.end();
    for (const Placement& placement : model.layout.placements) {
      const std::uint64_t size_bytes = model.model.tensors()[placement.tensor].size_bytes;
      if (at <= placement.device_offset || at >= placement.device_offset + size_bytes) continue;
      REQUIRE((at - placement.device_offset) % block_bytes == 0);
    }
  }
  CHECK(at == model.layout.arena_bytes);
}

}  // namespace

TEST_CASE("chunks cover the arena without gaps, with and without a ramp") {
  const ChunksModel model(test::various_tensors());
  for (const std::uint64_t most_bytes : {2 * block_bytes, 65'536ul, mebibyte, 8 * mebibyte}) {
    for (const std::uint32_t readers : {0u, 1u, 3u, 16u}) {
      CAPTURE(most_bytes);
      CAPTURE(readers);
      check_cut(model, load::cut_chunks(model.model, model.layout, most_bytes, readers),
                most_bytes);
    }
  }
}

TEST_CASE("a ramp starts and ends small and is flat between") {
  const ChunksModel model(200 * mebibyte);
  const std::uint64_t most_bytes = 8 * mebibyte;
  const auto chunks = load::cut_chunks(model.model, model.layout, most_bytes, 4);
  check_cut(model, chunks, most_bytes);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(chunks[i].size_bytes <= most_bytes / 8);
    CHECK(chunks[chunks.size() - 1 - i].size_bytes <= most_bytes / 8);
  }
  const auto flat = std::count_if(chunks.begin(), chunks.end(), [&](const base::ByteRange& chunk) {
    return chunk.size_bytes == most_bytes;
  });
  CHECK(flat >= 10);
  CHECK(load::cut_chunks(model.model, model.layout, most_bytes).size() == 25);
}

TEST_CASE("a ramp divides a small model among the readers") {
  const ChunksModel model(8 * mebibyte);
  CHECK(load::cut_chunks(model.model, model.layout, 8 * mebibyte, 8).size() == 8);
  CHECK(load::cut_chunks(model.model, model.layout, 8 * mebibyte).size() == 1);
}

TEST_CASE("the parts of a chunk cover it and are cut between blocks") {
  const ChunksModel model(test::various_tensors());
  for (const std::uint64_t most_bytes : {2 * block_bytes, 65'536ul, mebibyte}) {
    for (const std::uint32_t parts : {1u, 3u, 16u}) {
      CAPTURE(most_bytes);
      CAPTURE(parts);
      std::vector<base::ByteRange> ranges;
      for (const auto& chunk : load::cut_chunks(model.model, model.layout, most_bytes, 1)) {
        for (std::uint32_t part = 0; part < parts; ++part) {
          const auto range = load::part_of(model.model, model.layout, chunk, part, parts);
          CHECK(range.size_bytes <= chunk.size_bytes / parts + block_bytes);
          if (range.size_bytes > 0) ranges.push_back(range);
        }
        REQUIRE(ranges.back().end() == chunk.end());
      }
      check_cut(model, ranges, most_bytes);
    }
  }
}
