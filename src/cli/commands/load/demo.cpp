// SPDX-License-Identifier: MIT
#include "cli/commands/load/demo.hpp"

#include <cstdint>

#include "cli/commands/make_model/model_writer.hpp"

namespace hiptool::cli {
namespace {

constexpr std::uint64_t demo_bytes = 64u << 20;
constexpr std::uint32_t demo_tensors = 40;

}  // namespace

DemoModel::DemoModel(const CancelToken& cancel)
    : folder_("hiptool-demo"), path_(folder_.path() / "demo.gguf") {
  ModelWriterOptions options;
  options.path = path_;
  options.format = ModelFormat::gguf;
  options.size_bytes = demo_bytes;
  options.tensors = demo_tensors;
  options.seed = 1;
  options.cancel = &cancel;
  write_model(options);
}

}  // namespace hiptool::cli
