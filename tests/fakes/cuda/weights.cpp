// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "fakes/common/settings.hpp"
#include "fakes/cuda/faults.hpp"
#include "hiptool_layers.h"

namespace hiptool::fake {
namespace {

constexpr std::size_t early_columns = 32;

/// Memory that holds something else while a kernel runs.
struct Hidden {
  std::uint8_t* memory;
  std::vector<std::uint8_t> bytes;
};

void flip_lowest_bit(void* memory) { *static_cast<std::uint8_t*>(memory) ^= 1; }

void hide(void* hidden) {
  auto& part = *static_cast<Hidden*>(hidden);
  part.bytes.assign(part.memory, part.memory + part.bytes.size());
  std::fill_n(part.memory, part.bytes.size(), std::uint8_t{0});
}

void show_again(void* hidden) {
  const std::unique_ptr<Hidden> part(static_cast<Hidden*>(hidden));
  std::copy(part->bytes.begin(), part->bytes.end(), part->memory);
}

CUresult queue(CUstream stream, void (*work)(void*), void* data) {
  return forward_after(enter_stream(stream), &Api::hipLaunchHostFunc, stream, work, data);
}

/// Which matrix of products this is, in the order of their first use on all devices.
std::size_t number_of(const void* weights, bool* is_new) {
  static std::mutex mutex;
  static std::vector<const void*> known;
  const std::lock_guard lock(mutex);
  const auto found = std::find(known.begin(), known.end(), weights);
  const auto number = static_cast<std::size_t>(found - known.begin());
  *is_new = found == known.end();
  if (*is_new) known.push_back(weights);
  return number;
}

/// "MATRIX:PLACE" of a variable, where it names this matrix.
bool names(const char* variable, std::size_t matrix, std::size_t* place) {
  std::size_t wanted = 0;
  const std::string text = text_from(variable, "");
  return std::sscanf(text.c_str(), "%zu:%zu", &wanted, place) == 2 && wanted == matrix;
}

}  // namespace

ProductFault::ProductFault(const std::string& kernel, CUstream stream, void** arguments)
    : stream_(stream) {
  if (!kernel.starts_with("hiptool_quantised_matmul_") || arguments == nullptr) return;
  if (!kernel.starts_with("hiptool_quantised_matmul_1_")) {
    add(*static_cast<const hiptool_ops::FileProduct*>(arguments[0]), arguments[1]);
    return;
  }
  const auto& all = *static_cast<const hiptool_ops::TokenProducts*>(arguments[0]);
  for (std::uint32_t i = 0; i < all.count; ++i) add(all.each[i], arguments[1 + i]);
}

void ProductFault::add(const hiptool_ops::FileProduct& product, void* argument) {
  auto* const weights = *static_cast<std::uint8_t**>(argument);
  bool is_new = false;
  std::size_t place = 0;
  const std::size_t matrix = number_of(weights, &is_new);
  if (is_new && names("FAKE_CUDA_FLIP_WEIGHT", matrix, &place)) {
    queue(stream_, &flip_lowest_bit, weights + place);
  }
  if (!names("FAKE_CUDA_SHORT_ROW", matrix, &place)) return;
  // Values of zero have bytes of zero in the types that this is used with.
  const std::size_t bytes = product.matrix.row_bytes / product.matrix.columns * early_columns;
  auto* const end = weights + (place + 1) * product.matrix.row_bytes;
  hidden_ = new Hidden{end - bytes, std::vector<std::uint8_t>(bytes)};
  queue(stream_, &hide, hidden_);
}

ProductFault::~ProductFault() {
  if (hidden_ != nullptr) queue(stream_, &show_again, hidden_);
}

}  // namespace hiptool::fake
