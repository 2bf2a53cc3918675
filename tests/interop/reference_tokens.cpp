// SPDX-License-Identifier: MIT
/// Prints the ids that the float64 reference decoder continues a prompt with, greedily:
/// reference_tokens MODEL ID,ID,... COUNT.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "hiptool/decoder_spec.hpp"
#include "hiptool/error.hpp"
#include "hiptool/model_file.hpp"
#include "reference/prove/reference_decoder.hpp"

using namespace hiptool;

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::vector<std::uint32_t> ids;
  std::istringstream prompt(argv[2]);
  for (std::string id; std::getline(prompt, id, ',');) {
    ids.push_back(static_cast<std::uint32_t>(std::stoul(id)));
  }
  try {
    const ModelFile model = ModelFile::open(argv[1]);
    reference::ReferenceDecoder decoder(model, DecoderSpec::read(model));
    const int count = std::atoi(argv[3]);
    for (int token = 0; token < count; ++token) {
      const std::vector<double> logits = decoder.decode(ids);
      const auto next = static_cast<std::uint32_t>(std::max_element(logits.begin(), logits.end()) -
                                                   logits.begin());
      std::printf("%s%u", token == 0 ? "" : ",", next);
      std::fflush(stdout);
      ids = {next};
    }
    std::printf("\n");
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
