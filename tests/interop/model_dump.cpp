// SPDX-License-Identifier: MIT
// Shows a model file as JSON lines, or writes one, for model_reference.py.
//   model_dump FILE [KEY...]      one line on the file, one on each KEY, one for each tensor
//   model_dump --write FORMAT FILE SIZE TENSORS SEED TYPE...
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hiptool/error.hpp"
#include "hiptool/model_file.hpp"
#include "model_writer/model_writer.hpp"

using namespace hiptool;
using Json = nlohmann::json;

namespace {

void print(const Json& line) { std::printf("%s\n", line.dump().c_str()); }

Json value_of(const ModelFile& model, const std::string& key) {
  if (const auto text = model.text(key)) return *text;
  if (const auto boolean = model.boolean(key)) return *boolean;
  if (const auto integer = model.integer(key)) return *integer;
  if (const auto real = model.real(key)) return *real;
  if (const auto texts = model.texts(key)) return *texts;
  if (const auto integers = model.integers(key)) return *integers;
  if (const auto reals = model.reals(key)) return *reals;
  if (const auto booleans = model.booleans(key)) return *booleans;
  return nullptr;
}

void show(const std::vector<std::string>& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const ModelFile model = ModelFile::open(arguments.front());
  const std::chrono::duration<double> parse_time = std::chrono::steady_clock::now() - start;
  Json names = Json::array();
  for (const ModelPart& part : model.files()) names.push_back(part.path.filename().string());
  Json keys = Json::array();
  for (const MetadataEntry& entry : model.metadata()) keys.push_back(entry.key);
  print({{"format", to_string(model.format())},
         {"version", model.format_version()},
         {"tensors", model.tensors().size()},
         {"bytes", model.tensor_bytes()},
         {"parameters", model.parameters()},
         {"file_bytes", model.file_bytes()},
         {"parse_time_s", parse_time.count()},
         {"warnings", model.warnings()},
         {"files", names},
         {"keys", keys}});
  for (std::size_t index = 1; index < arguments.size(); ++index) {
    print({{"key", arguments[index]}, {"value", value_of(model, arguments[index])}});
  }
  for (const TensorInfo& tensor : model.tensors()) {
    print({{"name", tensor.name},
           {"type", tensor.type.name()},
           {"shape", tensor.shape},
           {"file", tensor.file},
           {"offset", tensor.file_offset},
           {"size", tensor.size_bytes},
           {"elements", tensor.elements}});
  }
}

void write(const std::vector<std::string>& arguments) {
  model_writer::ModelWriterOptions options;
  options.format = arguments.at(0) == "gguf" ? ModelFormat::gguf : ModelFormat::safetensors;
  options.path = arguments.at(1);
  options.size_bytes = std::stoull(arguments.at(2));
  options.tensors = static_cast<std::uint32_t>(std::stoul(arguments.at(3)));
  options.seed = std::stoull(arguments.at(4));
  options.types.assign(arguments.begin() + 5, arguments.end());
  const auto start = std::chrono::steady_clock::now();
  const model_writer::ModelWriterResult result = model_writer::write_model(options);
  const std::chrono::duration<double> write_time = std::chrono::steady_clock::now() - start;
  print({{"tensors", result.tensors},
         {"bytes", result.tensor_bytes},
         {"file_bytes", result.file_bytes},
         {"write_time_s", write_time.count()}});
}

}  // namespace

int main(int argument_count, char** argument_values) {
  std::vector<std::string> arguments(argument_values + 1, argument_values + argument_count);
  if (arguments.empty()) return 2;
  try {
    if (arguments.front() == "--write") {
      arguments.erase(arguments.begin());
      write(arguments);
    } else {
      show(arguments);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", std::string(to_string(error.code())).c_str(), error.what());
    return 4;
  }
  return 0;
}
