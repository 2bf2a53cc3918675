// SPDX-License-Identifier: MIT
#include "runtime/decoder_part.hpp"

#include <span>

#include "hiptool/copy.hpp"

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
