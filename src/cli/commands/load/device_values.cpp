// SPDX-License-Identifier: MIT
#include "cli/commands/load/device_values.hpp"

#include <filesystem>
#include <map>

#include "base/output_file.hpp"
#include "reference/prove/observation.hpp"
#include "report/npy.hpp"

namespace hiptool::cli {
namespace {

/// An array of f32 that is written row by row.
class ArrayFile {
 public:
  ArrayFile(const std::string& path, std::uint64_t rows, std::uint64_t columns)
      : header_(report::npy_header(rows, columns)),
        file_(path, header_.size() + rows * columns * sizeof(float)) {
    append(std::as_bytes(std::span(header_)));
  }
  void append(std::span<const std::byte> bytes) {
    file_.write_at(bytes, size_bytes_);
    size_bytes_ += bytes.size();
  }
  void finish() { file_.finish(); }
  void commit() { file_.commit(); }

 private:
  std::string header_;
  base::OutputFile file_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace

std::string observed_path(const std::string& logits_path, std::size_t layer) {
  const std::filesystem::path path(logits_path);
  const std::string name =
      path.stem().string() + ".layer" + std::to_string(layer) + path.extension().string();
  return (path.parent_path() / name).string();
}

void write_device_values(ModelRuntime& runtime, std::span<const std::uint32_t> ids,
                         const std::string& logits_path, const std::vector<std::size_t>& layers,
                         const CancelToken& cancel) {
  const DecoderSpec& spec = runtime.spec();
  ArrayFile logits(logits_path, ids.size(), spec.vocabulary);
  std::map<std::size_t, ArrayFile> outputs;
  for (const std::size_t layer : layers) {
    outputs.try_emplace(layer, observed_path(logits_path, layer), ids.size(), spec.embedding);
  }
  const auto write = [&](ArrayFile& file, const StreamRef& stream, const Tensor& values) {
    reference::wait_unless_cancelled(stream, &cancel);
    const std::vector<float> numbers = values.to_host<float>(stream);
    file.append(std::as_bytes(std::span(numbers)));
  };
  const reference::Observation observation(runtime, [&](const DecoderStage& stage) {
    if (stage.name != "output") return;
    const auto found = outputs.find(*stage.layer);
    if (found != outputs.end()) {
      write(found->second, stage.stream, stage.values);
    } else {
      reference::wait_unless_cancelled(stage.stream, &cancel);
    }
  });
  for (const std::uint32_t& id : ids) {
    write(logits, runtime.backend().stream(), runtime.decode_step({&id, 1}));
  }
  logits.finish();
  for (auto& [layer, file] : outputs) file.finish();
  logits.commit();
  for (auto& [layer, file] : outputs) file.commit();
}

}  // namespace hiptool::cli
