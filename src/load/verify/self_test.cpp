// SPDX-License-Identifier: MIT
#include "load/verify/self_test.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/call.hpp"
#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "hiptool/stream.hpp"

namespace hiptool::load {
namespace {

// What a slot carries; smaller where the model is, so that there are several pieces.
constexpr std::uint64_t most_piece_bytes = 8u << 20;

// A piece of one tensor, with its contents.
struct PlantedPiece {
  std::uint32_t tensor = 0;
  std::uint64_t device_offset = 0;
  std::vector<std::byte> bytes;
};

[[noreturn]] void refuse_model(const std::string& why) {
  throw Error(ErrorCode::invalid_argument, "self-test", "self-test: " + why,
              "take a larger model, such as the one of `hiptool load --demo`");
}

// Up to four pieces of one size, each inside a tensor, whose contents differ from each other.
std::vector<PlantedPiece> find_pieces(const ModelFile& model, const ArenaLayout& layout,
                                      const Buffer& arena, std::uint64_t size) {
  std::vector<PlantedPiece> pieces;
  const auto take = [&](std::uint32_t tensor, std::uint64_t device_offset,
                        std::span<const std::byte> bytes) {
    const bool is_new = std::ranges::none_of(pieces, [&](const PlantedPiece& other) {
      return std::equal(other.bytes.begin(), other.bytes.end(), bytes.begin());
    });
    // Shifting must change it too.
    const bool is_constant =
        std::ranges::all_of(bytes, [&](std::byte byte) { return byte == bytes[0]; });
    if (is_new && !is_constant)
      pieces.push_back({tensor, device_offset, {bytes.begin(), bytes.end()}});
  };
  std::vector<std::byte> read;
  for (const Placement& placement : layout.placements) {
    const std::uint64_t count = model.tensors()[placement.tensor].size_bytes / size;
    // Many pieces with one copy: each costs some 10 us.
    const std::uint64_t at_once = most_piece_bytes / size;
    for (std::uint64_t first = 0; first < count; first += at_once) {
      const std::uint64_t device_offset = placement.device_offset + first * size;
      read.resize(std::min(at_once, count - first) * size);
      copy_d2h_and_wait(read, arena.view(device_offset, read.size()));
      for (std::uint64_t at = 0; at < read.size(); at += size) {
        take(placement.tensor, device_offset + at, std::span(read).subspan(at, size));
        if (pieces.size() == 4) return pieces;
      }
    }
  }
  return pieces;
}

std::vector<PlantedPiece> choose_pieces(const ModelFile& model, const ArenaLayout& layout,
                                        const Buffer& arena) {
  constexpr std::uint64_t least_piece_bytes = 2;  // one byte cannot be shifted
  std::uint64_t size = std::min(most_piece_bytes, layout.tensor_bytes / 8);
  if (size < least_piece_bytes) refuse_model("the model is too small for four pieces");
  for (; size >= least_piece_bytes; size /= 4) {
    std::vector<PlantedPiece> pieces = find_pieces(model, layout, arena, size);
    if (pieces.size() == 4) return pieces;
  }
  refuse_model("the model has no four pieces that differ");
}

void write(const Buffer& arena, std::uint64_t device_offset, std::span<const std::byte> bytes) {
  copy_h2d_and_wait(arena.view(device_offset, bytes.size()), bytes);
}

// All pieces arrive again where they belong, and then the last one once more, in the place of the
// first: only a look at the memory after the last copy shows it.
void land_late(const std::vector<PlantedPiece>& pieces, const Buffer& arena) {
  const Stream stream(arena.device());
  const auto copy = [&](const PlantedPiece& to, const PlantedPiece& from) {
    copy_h2d(arena.view(to.device_offset, to.bytes.size()), from.bytes, stream);
  };
  try {
    for (const PlantedPiece& piece : pieces) copy(piece, piece);
    copy(pieces.front(), pieces.back());
    stream.synchronize();
  } catch (...) {
    core::settle(stream);
    throw;
  }
}

// Plants the fault; gives back the pieces that are wrong now.
std::vector<const PlantedPiece*> plant(Fault fault, const std::vector<PlantedPiece>& pieces,
                                       const Buffer& arena) {
  switch (fault) {
    case Fault::flip: {
      const PlantedPiece& piece = pieces[0];
      const std::size_t at = piece.bytes.size() / 2;
      const std::array flipped{piece.bytes[at] ^ std::byte{0x10}};
      write(arena, piece.device_offset + at, flipped);
      return {&piece};
    }
    case Fault::swap:
      write(arena, pieces[0].device_offset, pieces[1].bytes);
      write(arena, pieces[1].device_offset, pieces[0].bytes);
      return {&pieces[0], &pieces[1]};
    case Fault::drop: {
      // What a slot held before stays when its copy is lost.
      write(arena, pieces[2].device_offset, pieces[1].bytes);
      return {&pieces[2]};
    }
    case Fault::shift: {
      std::vector<std::byte> shifted(pieces[3].bytes.size());
      std::copy(pieces[3].bytes.begin(), pieces[3].bytes.end() - 1, shifted.begin() + 1);
      shifted[0] = pieces[3].bytes.back();
      write(arena, pieces[3].device_offset, shifted);
      return {&pieces[3]};
    }
    case Fault::late: {
      land_late(pieces, arena);
      return {&pieces[0]};
    }
  }
  return {};
}

// Every planted piece is named, and nothing outside of them.
bool is_caught(const VerifyResult& result, const std::vector<const PlantedPiece*>& planted,
               const Device& device) {
  const auto touches = [&](const Mismatch& mismatch, const PlantedPiece& piece) {
    return mismatch.device == device.id() &&
           mismatch.device_offset < piece.device_offset + piece.bytes.size() &&
           piece.device_offset < mismatch.device_offset + mismatch.size_bytes;
  };
  const auto& mismatches = result.mismatches;
  const bool all_named = std::ranges::all_of(planted, [&](const PlantedPiece* piece) {
    return std::ranges::any_of(mismatches,
                               [&](const Mismatch& mismatch) { return touches(mismatch, *piece); });
  });
  const bool no_other = std::ranges::all_of(mismatches, [&](const auto& mismatch) {
    return std::ranges::any_of(
        planted, [&](const PlantedPiece* piece) { return touches(mismatch, *piece); });
  });
  return all_named && no_other;
}

void test_device(const ModelFile& model, const ArenaLayout& layout, const Buffer& arena,
                 Verification& verification, std::vector<FaultResult>& results) {
  const std::vector<PlantedPiece> pieces = choose_pieces(model, layout, arena);
  for (const Fault fault : {Fault::flip, Fault::swap, Fault::drop, Fault::shift, Fault::late}) {
    const auto planted = plant(fault, pieces, arena);
    const VerifyResult found = verification.finish();
    for (const PlantedPiece* piece : planted) write(arena, piece->device_offset, piece->bytes);
    results.push_back({fault, model.tensors()[planted.front()->tensor].name,
                       planted.front()->device_offset, is_caught(found, planted, arena.device()),
                       arena.device().id()});
  }
}

}  // namespace

std::vector<FaultResult> run_self_test(const ModelFile& model, const LoadPlan& plan,
                                       std::span<const Buffer> arenas, Verification& verification) {
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    const DevicePlan& part = plan.devices[i];
    if (!part.layout.placements.empty()) verification.require(model, part.layout, arenas[i]);
  }
  std::vector<FaultResult> results;
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    const DevicePlan& part = plan.devices[i];
    if (part.layout.placements.empty()) continue;
    try {
      test_device(model, part.layout, arenas[i], verification, results);
    } catch (const Error& error) {
      throw arenas.size() > 1 ? error.with_context(part.device.id()) : error;
    }
  }
  return results;
}

}  // namespace hiptool::load
