// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/xxh3.hpp"
#include "hiptool/error.hpp"
#include "reference/prove/golden.hpp"

namespace hiptool::reference {
namespace {

constexpr std::string_view golden_format = "hiptool.golden/1";

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
                           const std::string& numbers_digest, const std::string& settings) {
  const std::string all = data + model_digest + numbers_digest + settings;
  return base::to_hex(base::xxh3_64(all.data(), all.size()));
}

constexpr const char* write_hint = "write it with `hiptool prove MODEL --write-golden FILE`";

[[noreturn]] void refuse_golden(const std::string& path, const std::string& cause) {
  throw Error(ErrorCode::input_failed, "check golden", path + " is the golden of " + cause,
              "write one for this model with --write-golden, on any machine");
}

[[noreturn]] void damaged_golden(const std::string& path, const std::string& cause) {
  throw Error(ErrorCode::corrupt_data, "read golden", path + ": the golden is damaged: " + cause,
              write_hint);
}

/// Everything in the file may have been written by anyone: nothing is read before its size is known
/// to match the model's golden, and nothing is used before it is known to be a possible value.
class GoldenReader {
 public:
  GoldenReader(const std::filesystem::path& path, const DecoderSpec& spec)
      : path_(path.string()), spec_(spec), file_(base::File::open(path)) {
    require_small_header();
    model_ = open_header(path);
    if (model_->files().size() != 1 || model_->format() != ModelFormat::safetensors ||
        model_->text("format") != golden_format) {
      refuse_format();
    }
  }

  Golden read() const {
    const std::string settings(model_->text("settings").value_or(""));
    Golden golden;
    golden.model_digest = digest("model_digest");
    golden.numbers_digest = digest("numbers_digest");
    const bool is_of_first_version =
        settings.empty() && golden.numbers_digest == first_numbers_digest(spec_);
    if (golden.numbers_digest != numbers_digest(spec_) && !is_of_first_version) {
      const std::string setting = different_setting(settings, spec_);
      refuse_golden(path_, setting.empty() ? "a model of other sizes, settings or tensors"
                                           : "a model with " + setting);
    }
    const std::uint64_t tokens = checked_tokens();
    const std::uint64_t rows = spec_.layers.size() + 1;
    // In the order in which --write-golden writes them.
    const std::array parts{
        Part{
            "projections", "F64", {rows, tokens, Golden::signs}, rows * tokens * Golden::signs * 8},
        Part{"sizes", "F64", {rows, tokens}, rows * tokens * 8},
        Part{"logits", "F32", {spec_.vocabulary}, spec_.vocabulary * 4},
        Part{"prompt_ids", "U32", {tokens}, tokens * 4}};
    const std::string data = read_data(parts);
    check_digest(data, settings);
    std::size_t at = 0;
    golden.projections = take<double>(data, at, parts[0]);
    golden.sizes = take<double>(data, at, parts[1]);
    golden.logits = take<float>(data, at, parts[2]);
    golden.prompt_ids = take<std::uint32_t>(data, at, parts[3]);
    check_values(golden);
    return golden;
  }

 private:
  /// A tensor that a golden has.
  struct Part {
    const char* name;
    std::string_view type;
    std::vector<std::uint64_t> shape;
    std::uint64_t size_bytes;
  };

  [[noreturn]] void refuse_format() const {
    throw Error(ErrorCode::input_failed, "read golden",
                path_ + " was not written by --write-golden: its format is not " +
                    std::string(golden_format),
                write_hint);
  }

  // A parser would take the length of a header at its word.
  void require_small_header() const {
    constexpr std::uint64_t most_header_bytes = 64 << 10;
    std::array<std::byte, 8> length{};
    if (file_.size_bytes() < length.size()) refuse_format();
    file_.read_at(length, 0);
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, length.data(), sizeof header_bytes);
    if (header_bytes > most_header_bytes) refuse_format();
  }

  // Errors of models speak of downloads.
  ModelFile open_header(const std::filesystem::path& path) const {
    try {
      return ModelFile::open(path);
    } catch (const Error& error) {
      const ErrorCode code = error.code();
      if (code == ErrorCode::host_out_of_memory || code == ErrorCode::host_failed) throw;
      damaged_golden(path_, error.what());
    }
  }

  std::uint64_t checked_tokens() const {
    const TensorInfo* const prompt = model_->find("prompt_ids");
    if (prompt == nullptr || prompt->shape.size() != 1 || prompt->shape[0] == 0) {
      damaged_golden(path_, "it has no prompt_ids");
    }
    if (prompt->shape[0] > most_golden_tokens) {
      damaged_golden(path_, "its prompt has " + base::plain_count_of(prompt->shape[0], "token") +
                                ", at most " + std::to_string(most_golden_tokens) +
                                " are possible");
    }
    return prompt->shape[0];
  }

  std::string read_data(std::span<const Part> parts) const {
    if (model_->tensors().size() != parts.size()) {
      damaged_golden(path_, "it has other tensors than a golden");
    }
    const TensorInfo* const first = model_->find(parts.front().name);
    std::uint64_t end = first != nullptr ? first->file_offset : 0;
    const std::uint64_t begin = end;
    for (const Part& part : parts) {
      const TensorInfo* const info = model_->find(part.name);
      if (info == nullptr || info->type.name() != part.type || info->shape != part.shape ||
          info->size_bytes != part.size_bytes || info->file_offset != end) {
        damaged_golden(path_, std::string("tensor '") + part.name +
                                  "' is missing, of another type or of another size");
      }
      end += part.size_bytes;
    }
    if (end != file_.size_bytes()) damaged_golden(path_, "bytes follow its tensors");
    std::string data(static_cast<std::size_t>(end - begin), '\0');
    file_.read_at(std::as_writable_bytes(std::span(data)), begin);
    return data;
  }

  template <class Value>
  static std::vector<Value> take(const std::string& data, std::size_t& at, const Part& part) {
    std::vector<Value> values(static_cast<std::size_t>(part.size_bytes / sizeof(Value)));
    std::memcpy(values.data(), data.data() + at, values.size() * sizeof(Value));
    at += values.size() * sizeof(Value);
    return values;
  }

  std::uint64_t digest(const char* key) const {
    const std::string text(model_->text(key).value_or(""));
    const auto number = base::parse_number<std::uint64_t>(text, 16);
    if (text.size() != 16 || !number) damaged_golden(path_, std::string("it has no ") + key);
    return *number;
  }

  void check_digest(const std::string& data, const std::string& settings) const {
    const std::string found =
        digest_of_data(data, std::string(model_->text("model_digest").value_or("")),
                       std::string(model_->text("numbers_digest").value_or("")), settings);
    if (model_->text("digest") != found) damaged_golden(path_, "its data have another digest");
  }

  void check_values(const Golden& golden) const {
    const auto width = static_cast<double>(spec_.embedding);
    const double largest_size = std::sqrt(width) * std::numeric_limits<float>::max();
    for (std::size_t place = 0; place < golden.sizes.size(); ++place) {
      const double size = golden.sizes[place];
      if (!(size >= 0 && size <= largest_size)) damaged_golden(path_, "a size is impossible");
      // A sum of elements with signs, by Cauchy and Schwarz; rounding is far below a millionth.
      const double largest = size * std::sqrt(width) * (1 + 1e-6);
      for (std::size_t r = 0; r < Golden::signs; ++r) {
        if (std::abs(golden.projections[place * Golden::signs + r]) <= largest) continue;
        damaged_golden(path_, "a sum is larger than its size allows");
      }
    }
    const auto is_finite = [](float logit) { return std::isfinite(logit); };
    if (!std::ranges::all_of(golden.logits, is_finite)) {
      damaged_golden(path_, "a logit is not a finite number");
    }
    const auto is_known = [&](std::uint32_t id) { return id < spec_.vocabulary; };
    if (!std::ranges::all_of(golden.prompt_ids, is_known)) {
      damaged_golden(path_, "a token of its prompt is not in the vocabulary");
    }
  }

  std::string path_;
  const DecoderSpec& spec_;
  base::File file_;
  std::optional<ModelFile> model_;
};

}  // namespace

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
  std::string header = "{\"__metadata__\":{\"format\":\"" + std::string(golden_format) +
                       "\",\"model_digest\":\"" + model_digest + "\",\"numbers_digest\":\"" +
                       numbers_digest + "\",\"settings\":\"" + golden.settings +
                       "\",\"digest\":\"" +
                       digest_of_data(writer.data, model_digest, numbers_digest, golden.settings) +
                       "\"}" + writer.tensors + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t header_bytes = header.size();
  std::string file(sizeof header_bytes, '\0');
  std::memcpy(file.data(), &header_bytes, sizeof header_bytes);
  return file + header + writer.data;
}

Golden read_golden(const std::filesystem::path& path, const DecoderSpec& spec,
                   std::span<const std::uint32_t> prompt) {
  Golden golden = GoldenReader(path, spec).read();
  if (!prompt.empty() && !std::ranges::equal(prompt, golden.prompt_ids)) {
    refuse_golden(path.string(), "another prompt; without --prompt-ids its own is used");
  }
  return golden;
}

void require_model(const Golden& golden, std::uint64_t model_digest, const std::string& path) {
  if (golden.model_digest != model_digest) refuse_golden(path, "a model with other weights");
}

}  // namespace hiptool::reference
