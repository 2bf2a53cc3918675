// SPDX-License-Identifier: MIT
/// Tokens per second of a prompt, apart from decoding (llama-bench's "pp"): prompt_rate MODEL
/// [TOKENS [DEVICE [CHUNK]]], 512 tokens in one chunk on the default device without them. The rate
/// is the median of five prompts after one that loads kernels, by the host's clock from the first
/// launch to the logits, as llama-bench takes it. Prints one line, with the rate of the products'
/// multiply-adds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/platform.hpp"

using namespace hiptool;

namespace {

using Clock = std::chrono::steady_clock;

/// Numbers of the matrices that each token is multiplied by: all tensors of two dimensions but the
/// embedding, and the output, which only the last token needs.
double numbers_of_products(const ModelFile& model) {
  double numbers = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    if (tensor.shape.size() != 2 || tensor.name.find("embd") != std::string::npos) continue;
    if (tensor.name == "output.weight") continue;
    numbers += static_cast<double>(tensor.shape[0]) * static_cast<double>(tensor.shape[1]);
  }
  return numbers;
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
  std::vector<double> times_s;
  for (int turn = 0; turn < 6; ++turn) {
    runtime.reset();
    backend.synchronize();
    const auto start = Clock::now();
    (void)runtime.decode_step(ids);
    backend.synchronize();
    if (turn > 0) times_s.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(times_s.begin(), times_s.begin() + 2, times_s.end());
  const double rate = static_cast<double>(tokens) / times_s[2];
  std::printf("%llu tokens on %s: %.1f tokens/s, products at %.2f TFLOP/s\n",
              static_cast<unsigned long long>(tokens), backend.device().id().c_str(), rate,
              2e-12 * rate * numbers_of_products(model));
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
