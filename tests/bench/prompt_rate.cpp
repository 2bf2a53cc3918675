// SPDX-License-Identifier: MIT
/// Tokens per second of a prompt, apart from decoding (llama-bench's "pp"): prompt_rate MODEL
/// [TOKENS [DEVICE [CHUNK]]], 512 tokens in one chunk on the default device without them. The rate
/// is the median of five prompts after one that loads kernels, by the host's clock from the first
/// launch to the logits, as llama-bench takes it. Prints one line, with the multiply-adds (two
/// operations each) of a token in the layers' products, their rate, and its share of the rate of
/// ops::matmul with f32 matrices of the same shapes.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/matmul.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/ops_move.hpp"
#include "hiptool/platform.hpp"
#include "model/decoder_parts.hpp"

using namespace hiptool;

namespace {

using Clock = std::chrono::steady_clock;

/// Rows and columns of matrices, and how often each token of a prompt is multiplied by such a one.
using Products = std::map<std::array<std::uint64_t, 2>, std::uint64_t>;

/// By the description of the decoder, not by the names of tensors: embeddings are looked up, only
/// the last token is multiplied by the output matrix, and a file may have tensors of other parts.
/// Experts count as often as a token uses them.
Products products_of(const DecoderSpec& spec) {
  Products products;
  for (const DecoderLayer& layer : spec.layers) {
    for (const MatrixSpec* matrix : model::matrices_of(layer)) {
      ++products[{matrix->rows, matrix->columns}];
    }
    for (const ExpertMatrices* experts : model::expert_matrices_of(layer)) {
      products[{experts->rows, experts->columns}] += layer.experts.used;
    }
  }
  return products;
}

/// Of what `queue` puts on the backend's stream, by the host's clock, after one that loads kernels.
template <class Queue>
double median_s(const Backend& backend, Queue queue) {
  std::vector<double> times_s;
  for (int turn = 0; turn < 6; ++turn) {
    backend.synchronize();
    const auto start = Clock::now();
    queue();
    backend.synchronize();
    if (turn > 0) times_s.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(times_s.begin(), times_s.begin() + 2, times_s.end());
  return times_s[2];
}

int run(int argc, char** argv) {
  const ModelFile model = ModelFile::open(argv[1]);
  const std::uint64_t tokens = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 512;
  Platforms platforms;
  const Backend backend(argc > 3 ? find_device(platforms, argv[3]) : default_device(platforms));
  const std::uint64_t chunk = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : tokens;
  const LoadedModel loaded = load_model(model, backend.device());
  const DecoderSpec spec = DecoderSpec::read(model);
  ModelRuntime runtime(backend, loaded, spec, {tokens, chunk});
  std::vector<std::uint32_t> ids;
  for (std::uint64_t i = 0; i < tokens; ++i) {
    ids.push_back(static_cast<std::uint32_t>((7 * i * i + 3 * i + 1) % spec.vocabulary));
  }
  const double prompt_s = median_s(backend, [&] {
    runtime.reset();
    (void)runtime.decode_step(ids);
  });
  double flop = 0;
  double products_s = 0;
  for (const auto& [sides, count] : products_of(spec)) {
    const auto [rows, columns] = sides;
    const Tensor x = ops::rand_uniform(backend, DType::f32, {tokens, columns}, 1, -1, 1);
    const Tensor weights = ops::rand_uniform(backend, DType::f32, {rows, columns}, 2, -1, 1);
    const Tensor turned = weights.with_layout(weights.layout().transpose(0, 1));
    Tensor out = backend.empty(DType::f32, {tokens, rows});
    const auto times = static_cast<double>(count);
    products_s += times * median_s(backend, [&] { ops::matmul_into(backend, out, x, turned); });
    flop += 2 * times * static_cast<double>(rows) * static_cast<double>(columns) *
            static_cast<double>(tokens);
  }
  std::printf(
      "%llu tokens on %s: %.1f tokens/s, products of %.4g GFLOP/token at %.2f TFLOP/s, %.2f of the "
      "rate of f32 products of these shapes (%.2f)\n",
      static_cast<unsigned long long>(tokens), backend.device().id().c_str(),
      static_cast<double>(tokens) / prompt_s, 1e-9 * flop / static_cast<double>(tokens),
      1e-12 * flop / prompt_s, products_s / prompt_s, 1e-12 * flop / products_s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
