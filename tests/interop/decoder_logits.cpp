// SPDX-License-Identifier: MIT
/// Prints the logits of a prompt's last token, as the float64 reference and as the cpu platform
/// compute them, at once and in chunks of 5, each on a line: decoder_logits MODEL ID,ID,... Exits 5
/// where the proof finds a wrong value.
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "hiptool/backend.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "hiptool/model_file.hpp"
#include "hiptool/model_runtime.hpp"
#include "hiptool/platform.hpp"
#include "reference/prove/prove.hpp"
#include "reference/prove/reference_decoder.hpp"

using namespace hiptool;

namespace {

template <class Values>
void print_line(const Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%s%.17g", i == 0 ? "" : ",", static_cast<double>(values[i]));
  }
  std::printf("\n");
}

int print_logits(const ModelFile& model, const std::vector<std::uint32_t>& ids) {
  const DecoderSpec spec = DecoderSpec::read(model);
  const reference::ReferenceDecoder reference(model, spec, {.sequence_tokens = ids.size()});
  reference::ReferenceDecoder whole(model, spec, {.sequence_tokens = ids.size()});
  print_line(whole.decode(ids));
  Platforms platforms;
  const Backend backend(find_device(platforms, "cpu"));
  const LoadedModel loaded = load_model(model, backend.device());
  for (const std::uint64_t chunk_tokens : {std::uint64_t{128}, std::uint64_t{5}}) {
    ModelRuntime runtime(backend, loaded, spec, {ids.size(), chunk_tokens});
    print_line(runtime.decode_step(ids).to_host<float>(backend.stream()));
    if (chunk_tokens < 128) continue;
    const reference::ProveResult result = reference::prove(runtime, reference, ids);
    if (result.is_right()) continue;
    const std::string stage = result.first_wrong ? result.first_wrong->stage : "logits";
    std::fprintf(stderr, "wrong: %s\n", stage.c_str());
    return 5;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<std::uint32_t> ids;
  std::istringstream prompt(argv[2]);
  for (std::string id; std::getline(prompt, id, ',');) {
    ids.push_back(static_cast<std::uint32_t>(std::stoul(id)));
  }
  try {
    return print_logits(ModelFile::open(argv[1]), ids);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
