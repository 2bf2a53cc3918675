// SPDX-License-Identifier: MIT
#include "model_writer/sample_model.hpp"

#include "hiptool/error.hpp"

namespace hiptool::model_writer {

SampleModel::SampleModel(const std::string& name, ModelWriterOptions options) {
  options.format = ModelFormat::gguf;
  try {
    folder_.emplace("hiptool-" + name);
    options.path = folder_->path() / (name + ".gguf");
    path_ = write_model(options).path;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::output_failed) throw;
    folder_.reset();
    memory_.emplace("hiptool-" + name);
    options.path = memory_->path();
    options.replaces = true;
    path_ = write_model(options).path;
  }
}

}  // namespace hiptool::model_writer
