// SPDX-License-Identifier: MIT
#include "measure/copy/chase.hpp"

#include <algorithm>

#include "core/call.hpp"
#include "hiptool/backend.hpp"
#include "hiptool/copy.hpp"
#include "ops/backend_kernels.hpp"

namespace hiptool::measure {
namespace {

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

std::uint32_t multiprocessors_of(const Device& device) {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(device.info().compute_units.value_or(1), 1));
}

}  // namespace

ChaseRun::ChaseRun(const CopySpec& spec)
    : route_(routes_of(spec).front()),
      nodes_(spec.size_bytes / node_bytes),
      blocks_(multiprocessors_of(route_.executor)),
      steps_(std::max<std::uint64_t>(all_steps / blocks_, 1)),
      place_(route_.executor, node_bytes),
      start_(route_.executor),
      stop_(route_.executor),
      stream_(route_.executor) {
  kernel_ = ops::kernel_of(Backend::borrow_stream(stream_), "hiptool_chase_block");
  if (route_.source) {
    if (*route_.source != route_.executor) peer_.emplace(route_.executor, *route_.source);
    chain_ = Buffer(*route_.source, spec.size_bytes);
    first_ = address_of(chain_.address());
  } else {
    host_.emplace(route_.executor, *spec.memory, spec.size_bytes);
    first_ = address_of(host_->device_address());
  }
  write_chain();
}

ChaseRun::~ChaseRun() { core::settle(stream_); }

std::uint64_t ChaseRun::address_after(std::uint64_t steps) const noexcept {
  return first_ + steps * stride_nodes % nodes_ * node_bytes;
}

void ChaseRun::write_chain() {
  std::vector<std::uint64_t> nodes(nodes_);
  for (std::uint64_t i = 0; i < nodes_; ++i) {
    nodes[i] = first_ + (i + stride_nodes) % nodes_ * node_bytes;
  }
  const auto bytes = std::as_bytes(std::span(nodes));
  if (host_) {
    std::ranges::copy(bytes, host_->bytes().begin());
  } else {
    copy_h2d_and_wait(chain_, bytes);
  }
}

CopySample ChaseRun::run() {
  const std::uint32_t parts = std::min(most_parts, blocks_);
  wrong_ = {};
  double sum_s = 0;
  std::uint64_t launches = 0;
  for (std::uint32_t block = part_ % parts; block < blocks_; block += parts) {
    sum_s += time_block(block);
    ++launches;
  }
  ++part_;
  CopySample sample;
  sample.span_s = sum_s / static_cast<double>(launches * steps_);
  sample.wall_s = sample.span_s;
  sample.tracks_s = {sample.span_s};
  return sample;
}

double ChaseRun::time_block(std::uint32_t block) {
  start_.record(stream_);
  launch(*kernel_, {{blocks_}, {1}}, stream_, reinterpret_cast<const void*>(first_), steps_, block,
         place_);
  stop_.record(stream_);
  stream_.synchronize();
  std::uint64_t place = 0;
  copy_d2h_and_wait(std::as_writable_bytes(std::span(&place, 1)), place_);
  const std::uint64_t wrong_bits = place ^ address_after(steps_);
  if (wrong_bits != 0) {
    ++wrong_.count;
    wrong_.first_index = block;
    wrong_.xor_bits |= static_cast<std::uint32_t>(wrong_bits | wrong_bits >> 32);
  }
  return stop_.elapsed_s(start_);
}

}  // namespace hiptool::measure
