// SPDX-License-Identifier: MIT
#include "cli/commands/load/demo.hpp"

#include <unistd.h>

#include <cstdint>
#include <string>
#include <system_error>

#include "model/model_writer.hpp"

namespace hiptool::cli {
namespace {

constexpr std::uint64_t demo_bytes = 64u << 20;
constexpr std::uint32_t demo_tensors = 40;

}  // namespace

DemoModel::DemoModel(const CancelToken& cancel)
    : path_(std::filesystem::temp_directory_path() /
            ("hiptool-demo-" + std::to_string(getpid()) + ".gguf")) {
  model::ModelWriterOptions options;
  options.path = path_;
  options.format = ModelFormat::gguf;
  options.size_bytes = demo_bytes;
  options.tensors = demo_tensors;
  options.seed = 1;
  options.cancel = &cancel;
  model::write_model(options);
}

DemoModel::~DemoModel() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace hiptool::cli
