// SPDX-License-Identifier: MIT
#include "runtime/decoder_part.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"

namespace hiptool::runtime {
namespace {

/// Later work of one stream waits for the work that another has now.
void let_wait(const StreamRef& later, Event& mark, const StreamRef& earlier) {
  mark.record(earlier);
  later.wait(mark);
}

Buffer bytes_of(const Tensor& values) {
  const std::size_t start = values.layout().start_offset() * sizeof(float);
  return values.buffer().view(start, values.size_bytes());
}

}  // namespace

DecoderPart::DecoderPart(const Backend& with, const DecoderSpec& spec,
                         const std::vector<std::size_t>& layers,
                         const ModelRuntime::Options& options)
    : backend(with),
      memory(with, spec, layers, options),
      mark(with.device(), Event::Kind::ordering) {}

void wait_for(std::span<const DecoderPart> parts, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (const DecoderPart& part : parts) {
    while (!part.backend.stream().is_done()) {
      if (std::chrono::duration<double>(Clock::now() - start).count() >= timeout_s) {
        throw Error(ErrorCode::timed_out, "clean up runtime",
                    part.backend.device().id() + " has not finished its work after " +
                        std::to_string(timeout_s) + " s; its memory is kept",
                    "call again later, or end the process");
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(timeout_s / 8, 1e-3)));
    }
  }
}

void require_no_recording(const DecoderPart& part) {
  if (!part.recorded_position) return;
  throw Error(ErrorCode::unsupported, "record layers",
              "attention of this kind does not read its position from memory");
}

void hand_over(const Tensor& values, DecoderPart& from, Tensor& out, DecoderPart& to) {
  const StreamRef& source = from.backend.stream();
  const StreamRef& destination = to.backend.stream();
  if (from.backend.device().platform() != to.backend.device().platform()) {
    const std::vector<float> on_host = values.to_host<float>(source);
    out.copy_from_host<float>(on_host, destination);
    destination.synchronize();
    return;
  }
  let_wait(destination, from.mark, source);
  copy_peer(bytes_of(out), bytes_of(values), destination);
  // The values are overwritten by the next chunk.
  let_wait(source, to.mark, destination);
}

}  // namespace hiptool::runtime
