// SPDX-License-Identifier: MIT
#include "cli/wrong_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/text.hpp"
#include "cli/command.hpp"

namespace hiptool::cli {
namespace {

struct Synonym {
  std::string_view wrong;
  std::string_view right;
};

constexpr std::array<Synonym, 45> command_synonyms{{
    {"info", "devices"},
    {"list", "devices"},
    {"ls", "devices"},
    {"gpus", "devices"},
    {"device", "devices"},
    {"smi", "devices"},
    {"nvidia-smi", "devices"},
    {"rocm-smi", "devices"},
    {"amd-smi", "devices"},
    {"rocminfo", "devices"},
    {"status", "devices"},
    {"top", "devices --watch"},
    {"watch", "devices --watch"},
    {"monitor", "devices --watch"},
    {"topology", "devices --topology"},
    {"topo", "devices --topology"},
    {"doctor", "devices --doctor"},
    {"diagnose", "devices --doctor"},
    {"diag", "devices --doctor"},
    {"test", "check"},
    {"health", "check"},
    {"healthcheck", "check"},
    {"health-check", "check"},
    {"validate", "check"},
    {"verify", "load MODEL"},
    {"show", "inspect MODEL"},
    {"chat", "load MODEL --decode 32"},
    {"generate", "load MODEL --decode 32"},
    {"decode", "load MODEL --decode 32"},
    {"fit", "load MODEL --dry-run --context 8k"},
    {"plan", "load MODEL --dry-run --context 8k"},
    {"hash", "load MODEL --write-manifest FILE"},
    {"memtest", "run-kernel memtest"},
    {"run", "run-kernel NAME"},
    {"kernel", "run-kernel NAME"},
    {"stress", "check --duration 1h"},
    {"burn", "check --duration 1h"},
    {"bench", "bench-copy' or 'hiptool run-kernel all"},
    {"benchmark", "bench-copy' or 'hiptool run-kernel all"},
    {"bandwidth", "bench-copy"},
    {"copy", "bench-copy"},
    {"compare", "report compare OLD NEW"},
    {"merge", "report merge FILE..."},
    {"render", "report render FILE"},
    {"version", "--version"},
}};

struct OptionSynonym {
  std::string_view wrong;
  std::string_view right;
  /// The commands that take `right`, with spaces around each; empty: any, or none.
  std::string_view commands = {};
};

constexpr std::array<OptionSynonym, 36> option_synonyms{{
    {"--list-devices", "hiptool devices"},
    {"--devices", "hiptool devices", " "},
    {"--list-gpus", "hiptool devices"},
    {"--doctor", "hiptool devices --doctor"},
    {"--topology", "hiptool devices --topology"},
    {"--json", "--format json"},
    {"--csv", "--format csv"},
    {"--markdown", "--format markdown"},
    {"--html", "--export html=FILE"},
    {"--output", "--export json=FILE"},
    {"-o", "--export json=FILE"},
    {"--junit", "--export junit=FILE"},
    {"--xml", "--export junit=FILE"},
    {"--no-color", "--color never"},
    {"--no-colour", "--color never"},
    {"--quick", "--level quick", " check bench-copy "},
    {"--full", "--level full", " bench-copy "},
    {"--full", "--level long", " check "},
    {"--full", "--verify full", " load "},
    {"--quick", "--verify fast", " load "},
    {"--quick", "--sweep quick", " run-kernel "},
    {"--iterations", "--samples N", " bench-copy run-kernel "},
    {"--iters", "--samples N", " bench-copy run-kernel "},
    {"--duration", "--time SECONDS", " bench-copy run-kernel "},
    {"--seconds", "--time SECONDS", " bench-copy "},
    {"-c", "--context N", " load "},
    {"--ctx-size", "--context N", " load "},
    {"-ngl", "--dry-run --context N", " load "},
    {"--n-gpu-layers", "--dry-run --context N", " load "},
    {"-n", "--decode N", " load "},
    {"--n-predict", "--decode N", " load "},
    {"--tokens", "--decode N", " load "},
    {"--max-tokens", "--decode N", " load "},
    {"-p", "--prompt-ids LIST", " load prove "},
    {"--prompt", "--prompt-ids LIST", " load prove "},
    {"--list", "hiptool devices", " "},
}};

std::string did_you_mean(const std::string& text) { return "did you mean '" + text + "'?"; }

bool is_model_file(std::string_view word) {
  for (const std::string_view end : {".gguf", ".safetensors", ".safetensors.index.json"}) {
    if (word.size() >= end.size() &&
        base::equals_ignoring_case(word.substr(word.size() - end.size()), end)) {
      return true;
    }
  }
  return false;
}

// "gfx942", "sm_90".
bool is_gpu_target(std::string_view word) {
  for (const std::string_view start : {"gfx", "sm_"}) {
    if (word.size() > start.size() && word.starts_with(start) &&
        base::parse_number<unsigned>(word.substr(start.size()), 16)) {
      return true;
    }
  }
  return false;
}

std::string commands_for_model(std::string_view word) {
  const std::string file = base::quoted_for_shell(std::string(word));
  std::error_code ignored;
  const bool is_here = std::filesystem::exists(word, ignored);
  return fmt::format(
      "{1}:\n"
      "  hiptool inspect {0}   # show what it holds; needs no device\n"
      "  hiptool load {0}      # load it and verify every byte\n"
      "  hiptool prove {0}     # compare what a device computes with float64",
      file, is_here ? "name what to do with it" : "no such file is here; if it were, you could");
}

// For "--gpu N"; without the number the first one.
std::string device_for_number(std::string_view number) {
  const bool is_number = base::parse_number<unsigned>(number).has_value();
  return fmt::format("--device amd:{0}' or '--device nvidia:{0}", is_number ? number : "0");
}

}  // namespace

std::string hint_for_command(std::string_view word, std::string_view next) {
  for (const Command& command : commands()) {
    if (base::equals_ignoring_case(command.name, word)) return did_you_mean(command.name);
  }
  for (const Synonym& synonym : command_synonyms) {
    if (!base::equals_ignoring_case(synonym.wrong, word)) continue;
    std::string_view right = synonym.right;
    if (is_model_file(next)) {
      if (right == "devices") right = "inspect MODEL";
      if (right == "run-kernel NAME") right = "load MODEL --decode 32";
    }
    return did_you_mean("hiptool " + base::replaced(std::string(right), "MODEL",
                                                    is_model_file(next)
                                                        ? base::quoted_for_shell(std::string(next))
                                                        : "MODEL"));
  }
  if (is_gpu_target(word)) {
    return "'hiptool devices' shows the architecture of each GPU, 'hiptool --version' those with "
           "built-in kernels";
  }
  std::error_code ignored;
  if (is_model_file(word)) return commands_for_model(word);
  if (word.ends_with(".json") && std::filesystem::exists(word, ignored)) {
    return did_you_mean("hiptool report render " + base::quoted_for_shell(std::string(word)));
  }
  const bool is_path = word.find('/') != std::string_view::npos || word == "." || word == "..";
  if (is_path && std::filesystem::exists(word, ignored)) return commands_for_model(word);
  return {};
}

std::string hint_for_option(std::string_view option, std::string_view value,
                            std::string_view command) {
  for (const std::string_view device : {"--gpu", "--gpus", "--gpu-id", "--device-id"}) {
    if (base::equals_ignoring_case(option, device)) return did_you_mean(device_for_number(value));
  }
  const bool names_model =
      base::equals_ignoring_case(option, "--model") || base::equals_ignoring_case(option, "-m");
  if (names_model && (command == "load" || command == "prove" || command == "inspect")) {
    return did_you_mean(fmt::format("hiptool {} {}", command, value.empty() ? "MODEL" : value));
  }
  for (const OptionSynonym& synonym : option_synonyms) {
    if (!base::equals_ignoring_case(synonym.wrong, option)) continue;
    const std::string place = command.empty() ? " " : fmt::format(" {} ", command);
    const bool is_here = synonym.commands.empty() ||
                         (place == " " ? synonym.commands == place
                                       : synonym.commands.find(place) != std::string_view::npos);
    if (is_here) return did_you_mean(std::string(synonym.right));
  }
  return {};
}

std::string hint_for_device(std::string_view id) {
  const std::size_t colon = std::min(id.find(':'), id.size());
  const std::string_view name = id.substr(0, colon);
  const std::string ordinal(id.substr(colon));
  const bool is_number =
      !id.empty() && id.find_first_not_of("0123456789-") == std::string_view::npos;
  if (is_number && !id.starts_with('-')) {
    return fmt::format("did you mean 'amd:{0}' or 'nvidia:{0}'?", id);
  }
  for (const Synonym& platform : std::array<Synonym, 6>{{{"cuda", "nvidia"},
                                                         {"nv", "nvidia"},
                                                         {"rocm", "amd"},
                                                         {"hip", "amd"},
                                                         {"radeon", "amd"},
                                                         {"host", "cpu"}}}) {
    if (!base::equals_ignoring_case(platform.wrong, name)) continue;
    if (platform.right == "cpu") return did_you_mean("cpu");
    return did_you_mean(std::string(platform.right) + (ordinal.empty() ? ":0" : ordinal));
  }
  if (base::equals_ignoring_case(name, "gpu") || base::equals_ignoring_case(name, "gpus")) {
    if (colon < id.size()) {
      return fmt::format("did you mean 'amd{0}' or 'nvidia{0}'?", ordinal);
    }
    return "did you mean 'all', every GPU?";
  }
  return {};
}

std::string hint_for_argument(std::string_view word, bool takes_model) {
  if (takes_model && is_model_file(word)) {
    return did_you_mean("--model " + base::quoted_for_shell(std::string(word)));
  }
  const std::string_view name = word.substr(0, word.find(':'));
  for (const char* const device : {"amd", "nvidia", "cpu", "all"}) {
    if (base::equals_ignoring_case(name, device)) {
      return did_you_mean("--device " + std::string(word));
    }
  }
  std::string hint = hint_for_device(word);
  return hint.empty() ? hint : "--device chooses devices; " + hint;
}

}  // namespace hiptool::cli
