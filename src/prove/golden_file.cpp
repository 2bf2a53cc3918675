// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/xxh3.hpp"
#include "hiptool/error.hpp"
#include "prove/golden.hpp"

namespace hiptool::prove {
namespace {

constexpr std::string_view golden_format = "hiptool.golden/1";

/// Numbers and names as bytes, each with its length or in eight bytes, so that no two descriptions
/// give the same.
class Description {
 public:
  void add(double number) { append(&number, sizeof number); }
  void add(std::uint64_t number) { append(&number, sizeof number); }
  void add(bool flag) { add(std::uint64_t{flag}); }
  void add(std::string_view text) {
    add(std::uint64_t{text.size()});
    append(text.data(), text.size());
  }
  void add(const std::string& text) { add(std::string_view(text)); }
  void add(const std::vector<double>& numbers) {
    add(std::uint64_t{numbers.size()});
    for (const double number : numbers) add(number);
  }
  void add(const MatrixSpec& matrix) {
    add(matrix.weight);
    add(matrix.bias);
    add(matrix.rows);
    add(matrix.columns);
  }
  void add(const RopeSpec& rope) {
    add(static_cast<std::uint64_t>(rope.pairs));
    add(rope.dimensions);
    add(rope.base);
    add(to_string(rope.scaling));
    for (const double number : {rope.factor, rope.attention_factor, rope.beta_fast, rope.beta_slow,
                                rope.low_frequency_factor, rope.high_frequency_factor}) {
      add(number);
    }
    add(rope.original_context);
    add(rope.truncates);
    add(rope.divisors_tensor);
    add(rope.long_divisors_tensor);
    add(rope.divisors);
    add(rope.long_divisors);
  }
  void add(const DecoderLayer& layer) {
    for (const std::uint64_t number :
         {layer.heads, layer.kv_heads, layer.window, layer.feed_forward}) {
      add(number);
    }
    for (const std::string* name :
         {&layer.attention_norm, &layer.q_norm, &layer.k_norm, &layer.feed_forward_norm}) {
      add(*name);
    }
    for (const MatrixSpec* matrix : {&layer.q, &layer.k, &layer.v, &layer.attention_output,
                                     &layer.gate, &layer.up, &layer.down}) {
      add(*matrix);
    }
  }
  std::uint64_t digest() const { return base::xxh3_64(bytes_.data(), bytes_.size()); }

 private:
  void append(const void* data, std::size_t size_bytes) {
    bytes_.append(static_cast<const char*>(data), size_bytes);
  }
  std::string bytes_;
};

/// The data of a safetensors file, and the tensors of its header.
class TensorWriter {
 public:
  template <class Value>
  void add(const char* name, const char* dtype, const std::string& shape,
           const std::vector<Value>& values) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
    tensors += ",\"" + std::string(name) + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape +
               "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) +
               "]}";
  }
  std::string data;
  std::string tensors;
};

std::string digest_of_data(const std::string& data, const std::string& model_digest,
                           const std::string& numbers_digest) {
  const std::string all = data + model_digest + numbers_digest;
  return base::to_hex(base::xxh3_64(all.data(), all.size()));
}

class GoldenReader {
 public:
  explicit GoldenReader(const std::filesystem::path& path)
      : path_(path), file_(base::File::open(path)), model_(ModelFile::open(path)) {}

  Golden read() const {
    const auto format = model_.text("format");
    if (model_.format() != ModelFormat::safetensors || format != golden_format) {
      throw Error(ErrorCode::input_failed, "read golden",
                  path_.string() + " was not written by --write-golden: its format is not " +
                      std::string(golden_format),
                  "write one with `hiptool load MODEL --prove --write-golden FILE`");
    }
    Golden golden;
    golden.prompt_ids = values<std::uint32_t>("prompt_ids", "U32", 1);
    golden.logits = values<float>("logits", "F32", 1);
    golden.projections = values<double>("projections", "F64", 3);
    golden.sizes = values<double>("sizes", "F64", 2);
    const std::size_t tokens = golden.prompt_ids.size();
    if (tokens == 0 || golden.sizes.size() < 2 * tokens || golden.sizes.size() % tokens != 0 ||
        golden.projections.size() != golden.sizes.size() * Golden::signs) {
      damaged("its tensors do not fit each other");
    }
    golden.model_digest = digest("model_digest");
    golden.numbers_digest = digest("numbers_digest");
    check_data();
    return golden;
  }

 private:
  [[noreturn]] void damaged(const std::string& cause) const {
    throw Error(ErrorCode::corrupt_data, "read golden",
                path_.string() + ": the golden is damaged: " + cause, "write it again");
  }

  template <class Value>
  std::vector<Value> values(const char* name, std::string_view type, std::size_t rank) const {
    const TensorInfo* const info = model_.find(name);
    if (info == nullptr || info->type.name() != type || info->shape.size() != rank ||
        info->size_bytes > file_.size_bytes()) {
      damaged(std::string("tensor '") + name + "' is missing or of another type");
    }
    std::vector<Value> found(static_cast<std::size_t>(info->elements));
    file_.read_at(std::as_writable_bytes(std::span(found)), info->file_offset);
    return found;
  }

  std::uint64_t digest(const char* key) const {
    const std::string text = model_.text(key).value_or("");
    const auto number = base::parse_number<std::uint64_t>(text, 16);
    if (text.size() != 16 || !number) damaged(std::string("it has no ") + key);
    return *number;
  }

  void check_data() const {
    std::uint64_t begin = file_.size_bytes();
    for (const TensorInfo& tensor : model_.tensors()) {
      begin = std::min(begin, tensor.file_offset);
    }
    std::string data(static_cast<std::size_t>(file_.size_bytes() - begin), '\0');
    file_.read_at(std::as_writable_bytes(std::span(data)), begin);
    const std::string found = digest_of_data(data, model_.text("model_digest").value_or(""),
                                             model_.text("numbers_digest").value_or(""));
    if (model_.text("digest") != found) damaged("its data have another digest");
  }

  std::filesystem::path path_;
  base::File file_;
  ModelFile model_;
};

[[noreturn]] void refuse_golden(const std::string& path, const std::string& cause) {
  throw Error(ErrorCode::input_failed, "check golden", path + " is the golden of " + cause,
              "write one for this model with --write-golden, on any machine");
}

}  // namespace

std::uint64_t numbers_digest(const DecoderSpec& spec) {
  Description all;
  all.add(spec.architecture);
  for (const std::uint64_t number :
       {spec.embedding, spec.vocabulary, spec.key_length, spec.value_length}) {
    all.add(number);
  }
  all.add(spec.norm_epsilon);
  all.add(spec.attention_scale);
  all.add(static_cast<std::uint64_t>(spec.gate));
  all.add(spec.rope);
  all.add(spec.embedding_tensor);
  all.add(spec.output_norm);
  all.add(spec.output);
  for (const DecoderLayer& layer : spec.layers) all.add(layer);
  return all.digest();
}

std::string golden_file(const Golden& golden) {
  const std::string tokens = std::to_string(golden.prompt_ids.size());
  const std::string rows = std::to_string(golden.layers() + 1);
  TensorWriter writer;
  writer.add("projections", "F64", rows + "," + tokens + "," + std::to_string(Golden::signs),
             golden.projections);
  writer.add("sizes", "F64", rows + "," + tokens, golden.sizes);
  writer.add("logits", "F32", std::to_string(golden.logits.size()), golden.logits);
  writer.add("prompt_ids", "U32", tokens, golden.prompt_ids);
  const std::string model_digest = base::to_hex(golden.model_digest);
  const std::string numbers_digest = base::to_hex(golden.numbers_digest);
  std::string header =
      "{\"__metadata__\":{\"format\":\"" + std::string(golden_format) + "\",\"model_digest\":\"" +
      model_digest + "\",\"numbers_digest\":\"" + numbers_digest + "\",\"digest\":\"" +
      digest_of_data(writer.data, model_digest, numbers_digest) + "\"}" + writer.tensors + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t header_bytes = header.size();
  std::string file(sizeof header_bytes, '\0');
  std::memcpy(file.data(), &header_bytes, sizeof header_bytes);
  return file + header + writer.data;
}

Golden read_golden(const std::filesystem::path& path) { return GoldenReader(path).read(); }

void require_description(const Golden& golden, const DecoderSpec& spec,
                         std::span<const std::uint32_t> prompt, const std::string& path) {
  if (golden.numbers_digest != numbers_digest(spec) || golden.layers() != spec.layers.size() ||
      golden.logits.size() != spec.vocabulary) {
    refuse_golden(path, "a model of other sizes or settings");
  }
  const auto is_foreign = [&](std::uint32_t id) { return id >= spec.vocabulary; };
  if (std::ranges::any_of(golden.prompt_ids, is_foreign)) refuse_golden(path, "another model");
  if (!prompt.empty() && !std::ranges::equal(prompt, golden.prompt_ids)) {
    refuse_golden(path, "another prompt; without --prompt-ids its own is used");
  }
}

void require_model(const Golden& golden, std::uint64_t model_digest, const std::string& path) {
  if (golden.model_digest != model_digest) refuse_golden(path, "a model with other weights");
}

}  // namespace hiptool::prove
