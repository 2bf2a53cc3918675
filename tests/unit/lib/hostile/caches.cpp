// SPDX-License-Identifier: MIT
// KV caches of all layers, tokens chosen on the device, memory within a share, masks, uploads by
// functions.
#include <array>
#include <limits>
#include <stdexcept>

#include "hostile.hpp"

namespace hiptool::test {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

void call_decoder_caches(Hostile& hostile) {
  const Backend& on = hostile.backend;
  const std::string name = "hiptool::DecoderCache::";
  constexpr std::array<DecoderCache::Layer, 2> layers{{{2, 3, 3}, {1, 6, 2}}};
  constexpr std::array<DecoderCache::Layer, 1> wide{{{huge, huge, most}}};
  for (const std::uint64_t capacity : {std::uint64_t{0}, std::uint64_t{4}, huge, most}) {
    hostile.call(name + "memory_bytes",
                 [&] { (void)DecoderCache::memory_bytes(capacity, layers); });
    hostile.call(name + "memory_bytes", [&] { (void)DecoderCache::memory_bytes(capacity, wide); });
    hostile.call(name + "DecoderCache", [&] { const DecoderCache made(on, capacity, layers); });
    hostile.call(name + "DecoderCache", [&] { const DecoderCache made(on, capacity, {}); });
    hostile.call(name + "DecoderCache", [&] {
      Arena arena(hostile.device, 512);
      const DecoderCache made(on, arena, capacity, layers);
    });
  }
  DecoderCache cache(on, 4, layers);
  DecoderCache moved(on, 4, layers);
  const DecoderCache taken = std::move(moved);
  for (DecoderCache* each : {&cache, &moved}) {
    for (const std::size_t layer : {std::size_t{0}, most}) {
      hostile.each(name + "append", [&](const Tensor& x) { each->append(layer, x, x); });
      hostile.call(name + "get", [&] { (void)each->get(layer); });
      hostile.call(name + "layer", [&] { (void)each->layer(layer); });
      for (const std::uint64_t tokens : {std::uint64_t{0}, std::uint64_t{1}, most}) {
        hostile.call(name + "mark_appended", [&] { each->mark_appended(layer, tokens); });
      }
    }
    for (const std::uint64_t tokens : {std::uint64_t{0}, std::uint64_t{1}, most}) {
      hostile.call(name + "advance", [&] { each->advance(tokens); });
      hostile.call(name + "truncate", [&] { each->truncate(tokens); });
    }
  }
}

void call_samplers(Hostile& hostile) {
  const std::string name = "hiptool::TokenSampler::";
  for (const std::uint64_t vocabulary : {std::uint64_t{0}, huge, most}) {
    hostile.call(name + "TokenSampler",
                 [&] { const TokenSampler made(hostile.backend, vocabulary); });
  }
  TokenSampler sampler(hostile.backend, 6);
  TokenSampler moved(hostile.backend, 6);
  const TokenSampler taken = std::move(moved);
  const Tensor logits = hostile.backend.zeros(DType::f32, {6});
  std::vector<SamplingOptions> choices(4);
  choices[0].temperature = no_number;
  choices[1] = {.temperature = 1e-308, .top_k = most, .top_p = 1e-308, .seed = most};
  choices[2] = {.temperature = 1, .top_p = no_number};
  for (const TokenSampler* each : {&sampler, &moved}) {
    for (const SamplingOptions& options : choices) {
      hostile.each(name + "sample", [&](const Tensor& x) { (void)each->sample(x, options, most); });
      hostile.call(name + "sample", [&] { (void)each->sample(logits, options, most); });
    }
  }
}

void call_shares(Hostile& hostile) {
  Backend& on = hostile.backend;
  for (const double share : {no_number, -1.0, 0.0, 1.0, 2.0}) {
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{16}, huge, most}) {
      hostile.call("hiptool::Backend::can_allocate", [&] { (void)on.can_allocate(size, share); });
      hostile.call("hiptool::Backend::allocate_within",
                   [&] { (void)on.allocate_within(size, share); });
    }
  }
  hostile.call("hiptool::Backend::set_seed", [&] { on.set_seed(most); });
  hostile.call("hiptool::Backend::next_seed", [&] { (void)on.next_seed(); });
}

void call_masks(Hostile& hostile) {
  const Backend& on = hostile.backend;
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{3}, huge, most}) {
    hostile.each("hiptool::ops::causal_mask",
                 [&](const Tensor& x) { (void)ops::causal_mask(on, x, number, number); });
    hostile.each("hiptool::ops::repeat_heads",
                 [&](const Tensor& x) { (void)ops::repeat_heads(on, x, number); });
    hostile.into("hiptool::ops::copy_strided",
                 [&](Tensor& to) { (void)ops::copy_strided(on, to, number, hostile.good); });
    hostile.each("hiptool::ops::copy_strided",
                 [&](const Tensor& x) { (void)ops::copy_strided(on, hostile.out, number, x); });
  }
  hostile.each("hiptool::ops::add_mask",
               [&](const Tensor& x) { (void)ops::add_mask(on, x, hostile.good); });
  hostile.each("hiptool::ops::add_mask",
               [&](const Tensor& x) { (void)ops::add_mask(on, hostile.good, x); });
}

void call_writers(Hostile& hostile) {
  AsyncLoader::Options odd;
  odd.producers = static_cast<std::uint32_t>(four_billion);
  hostile.call("hiptool::AsyncLoader::AsyncLoader",
               [&] { const AsyncLoader made(hostile.device, odd); });
  AsyncLoader loader(hostile.device);
  Buffer none;
  Buffer small(hostile.device, 16);
  Buffer large(hostile.device, loader.slot_bytes() + 1);
  Buffer elsewhere(hostile.other, 16);
  const auto write = [](std::span<std::byte>) {};
  AsyncLoader::Upload upload;
  upload.producer = most;
  for (Buffer* to : {&none, &small, &large, &elsewhere}) {
    hostile.call("hiptool::AsyncLoader::upload_from", [&] { loader.upload_from(*to, write); });
    hostile.call("hiptool::AsyncLoader::upload_from",
                 [&] { loader.upload_from(*to, write, upload); });
    hostile.call("hiptool::AsyncLoader::upload_from",
                 [&] { loader.upload_from(*to, AsyncLoader::Write()); });
  }
  hostile.call("hiptool::AsyncLoader::slot_bytes", [&] { (void)loader.slot_bytes(); });
  loader.synchronize();
  DecoderSpec spec;
  spec.embedding = most;
  spec.layers.resize(1);
  hostile.call("hiptool::ModelRuntime::scratch_bytes", [&] {
    (void)ModelRuntime::scratch_bytes(spec, {most, most});
  });
  hostile.call("hiptool::ModelRuntime::scratch_bytes", [&] {
    (void)ModelRuntime::scratch_bytes(spec, {1, 1});
  });
}

}  // namespace

void call_caches(Hostile& hostile) {
  call_decoder_caches(hostile);
  call_samplers(hostile);
  call_shares(hostile);
  call_masks(hostile);
  call_writers(hostile);
}

}  // namespace hiptool::test
