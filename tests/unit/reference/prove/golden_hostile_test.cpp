// SPDX-License-Identifier: MIT
// Goldens that somebody else wrote: each is refused in words that speak of goldens, or is possible,
// and none makes a device wrong.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/xxh3.hpp"
#include "hiptool/error.hpp"
#include "reference/prove/golden.hpp"
#include "support.hpp"
#include "unit/reference/prove/prove_samples.hpp"

using namespace hiptool;
using namespace hiptool::test;

namespace {

using HeaderJson = nlohmann::ordered_json;

constexpr std::uint32_t golden_tokens = 3;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The parts of a golden's file, which a test changes.
struct GoldenParts {
  HeaderJson header;
  std::string data;
  bool is_sealed = true;  ///< with the digest that belongs to the data

  explicit GoldenParts(const std::string& file) {
    std::uint64_t size = 0;
    std::memcpy(&size, file.data(), sizeof size);
    header = HeaderJson::parse(file.substr(8, size));
    data = file.substr(8 + size);
  }
  HeaderJson& metadata() { return header["__metadata__"]; }

  template <class Value>
  void set(const char* tensor, std::size_t element, Value value) {
    const std::size_t begin = header[tensor]["data_offsets"][0];
    std::memcpy(data.data() + begin + element * sizeof value, &value, sizeof value);
  }

  std::string file() const {
    HeaderJson sealed = header;
    if (is_sealed && sealed.contains("__metadata__")) {
      HeaderJson& values = sealed["__metadata__"];
      std::string all = data;
      for (const char* key : {"model_digest", "numbers_digest", "settings"}) {
        if (values.contains(key) && values[key].is_string()) all += values[key];
      }
      values["digest"] = base::to_hex(base::xxh3_64(all.data(), all.size()));
    }
    return with_length(sealed.dump(-1, ' ', false, HeaderJson::error_handler_t::replace)) + data;
  }
  static std::string with_length(std::string text) {
    const std::uint64_t size = text.size();
    std::string prefix(8, '\0');
    std::memcpy(prefix.data(), &size, sizeof size);
    return prefix + text;
  }
};

/// A file without a name, which needs no wait for the clock of a file system.
class UnnamedFile {
 public:
  explicit UnnamedFile(const std::string& bytes) : descriptor_(memfd_create("golden", 0)) {
    REQUIRE(write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~UnnamedFile() { close(descriptor_); }
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

struct HostileSample {
  ProvedSample sample{ModelFormat::gguf, {"llama"}, {"F32"}};
  mutable reference::ReferenceDecoder reference{
      sample.model, sample.spec, {.sequence_tokens = golden_tokens}};
  reference::Golden golden = reference::make_golden(reference, prompt_ids(golden_tokens));
  std::string file = reference::golden_file(golden);

  /// Absent where it is refused, which must be as it should.
  std::optional<reference::Golden> read(const std::string& bytes) const {
    const UnnamedFile hostile(bytes);
    try {
      return reference::read_golden(hostile.path(), sample.spec);
    } catch (const Error& error) {
      CAPTURE(error.what());
      const bool is_of_input =
          error.code() == ErrorCode::input_failed || error.code() == ErrorCode::corrupt_data;
      CHECK(is_of_input);
      CHECK(error.hint().find("--write-golden") != std::string::npos);
      return std::nullopt;
    }
  }

  /// Whether the device is called wrong.
  bool blames_device(const reference::Golden& hostile) const {
    ModelRuntime::Options sizes;
    sizes.context_tokens = golden_tokens;
    ModelRuntime runtime(sample.backend, sample.model, sample.weights, sample.spec, sizes);
    try {
      return !reference::check_golden(runtime, reference, hostile).is_right();
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::corrupt_data);
      CHECK(std::string(error.what()).find("golden") != std::string::npos);
      return false;
    }
  }
};

void check_is_possible(const reference::Golden& golden, const DecoderSpec& spec) {
  CHECK(golden.layers() == spec.layers.size());
  CHECK(golden.logits.size() == spec.vocabulary);
  CHECK(golden.projections.size() == golden.sizes.size() * reference::Golden::signs);
  for (const double size : golden.sizes) CHECK((size >= 0 && size < 1e300));
  for (const double sum : golden.projections) CHECK(std::isfinite(sum));
  for (const float logit : golden.logits) CHECK(std::isfinite(logit));
  for (const std::uint32_t id : golden.prompt_ids) CHECK(id < spec.vocabulary);
}

/// One of the ways in which chance changes a file.
void mutate(std::string& bytes, std::mt19937_64& random) {
  if (bytes.empty()) bytes = "{";
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(limit, 1));
  };
  const std::size_t at = below(bytes.size());
  const auto some = std::min<std::size_t>(below(40), bytes.size() - at);
  switch (random() % 8) {
    case 0: bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8); return;
    case 1: bytes[at] = static_cast<char>(random()); return;
    case 2: bytes.resize(at); return;
    case 3: bytes.append(some, static_cast<char>(random())); return;
    case 4: bytes.erase(at, some); return;
    case 5: bytes.insert(at, bytes.substr(below(bytes.size()), some)); return;
    case 6: bytes[at] = "0123456789[]{},:\"-eE"[random() % 20]; return;
    default: {
      constexpr double values[]{not_a_number, infinity, -infinity, 1e300, -1.0, 1e-310, 0.0, -0.0};
      const double value = values[random() % 8];
      if (at + 8 <= bytes.size()) std::memcpy(bytes.data() + at, &value, 8);
    }
  }
}

}  // namespace

TEST_CASE("golden: 1500 mutants are refused or possible, and none blames the device") {
  const HostileSample sample;
  REQUIRE(sample.read(sample.file).has_value());
  std::mt19937_64 random(20261125);
  std::size_t accepted = 0;
  std::size_t compared = 0;
  for (int i = 0; i < 1500; ++i) {
    CAPTURE(i);
    std::string bytes = sample.file;
    if (i % 3 == 0) {  // of the data, with their digest
      GoldenParts parts(sample.file);
      const std::size_t size = parts.data.size();
      do mutate(parts.data, random);
      while (random() % 3 == 0);
      parts.data.resize(size);
      bytes = parts.file();
    } else {
      do mutate(bytes, random);
      while (random() % 3 == 0);
    }
    const auto golden = sample.read(bytes);
    if (!golden) continue;
    ++accepted;
    check_is_possible(*golden, sample.sample.spec);
    const bool is_of_model = golden->model_digest == sample.golden.model_digest;
    if (!is_of_model || compared >= (test::is_sanitized ? 5u : 15u)) continue;
    ++compared;
    CHECK(!sample.blames_device(*golden));
  }
  CHECK(accepted > 20);
  MESSAGE(accepted, " accepted, ", compared, " compared with a device");
}

TEST_CASE("golden: every kind of wrong content that a person can think of is refused") {
  const HostileSample sample;
  using Change = std::function<void(GoldenParts&)>;
  std::vector<std::pair<std::string, Change>> cases;
  const auto add = [&](const std::string& name, Change change) {
    cases.emplace_back(name, std::move(change));
  };
  // Values.
  const std::size_t places = 4 * golden_tokens;
  for (const double value : {not_a_number, infinity, -infinity, -1.0, 1e300, -1e-300}) {
    for (const std::size_t at : {std::size_t{0}, places / 2, places - 1}) {
      add("size", [=](GoldenParts& parts) { parts.set("sizes", at, value); });
    }
  }
  for (const double value : {not_a_number, infinity, -infinity, 1e300, -1e6}) {
    for (const std::size_t at : {std::size_t{0}, places * 8, places * 16 - 1}) {
      add("sum", [=](GoldenParts& parts) { parts.set("projections", at, value); });
    }
  }
  for (const double value : {not_a_number, infinity, -infinity}) {
    for (const std::size_t at : {0u, 100u, 330u}) {
      add("logit", [=](GoldenParts& parts) { parts.set("logits", at, static_cast<float>(value)); });
    }
  }
  for (const std::uint32_t id : {331u, 1u << 31, ~0u}) {
    for (const std::size_t at : {0u, golden_tokens - 1}) {
      add("token", [=](GoldenParts& parts) { parts.set("prompt_ids", at, id); });
    }
  }
  // Tensors.
  for (const char* tensor : {"projections", "sizes", "logits", "prompt_ids"}) {
    const std::string name = tensor;
    for (const char* type : {"F16", "BF16", "I32", "I64", "U8", "F8_E4M3", "BOOL", "", "X"}) {
      add(name + " of type " + type,
          [=](GoldenParts& parts) { parts.header[name]["dtype"] = type; });
    }
    for (const HeaderJson& shape :
         {HeaderJson::array(), HeaderJson{0}, HeaderJson{1}, HeaderJson{1ull << 62},
          HeaderJson{1ull << 32, 1ull << 32}, HeaderJson{-1}, HeaderJson{"1"}, HeaderJson(7)}) {
      add(name + " of shape " + shape.dump(),
          [=](GoldenParts& parts) { parts.header[name]["shape"] = shape; });
    }
    for (const HeaderJson& offsets :
         {HeaderJson{0, 0}, HeaderJson{8, 0}, HeaderJson{0, 1ull << 62}, HeaderJson{1ull << 63, 9},
          HeaderJson{0}, HeaderJson{-8, 8}}) {
      add(name + " at " + offsets.dump(),
          [=](GoldenParts& parts) { parts.header[name]["data_offsets"] = offsets; });
    }
    add(name + " missing", [=](GoldenParts& parts) { parts.header.erase(name); });
    add(name + " renamed", [=](GoldenParts& parts) {
      parts.header[name + "x"] = parts.header[name];
      parts.header.erase(name);
    });
  }
  // Metadata.
  for (const char* key : {"format", "model_digest", "numbers_digest"}) {
    for (const char* text : {"", "x", "0", "zzzzzzzzzzzzzzzz", "00000000000000000"}) {
      add(std::string(key) + " " + text, [=](GoldenParts& parts) { parts.metadata()[key] = text; });
    }
    add(std::string(key) + " missing", [=](GoldenParts& parts) { parts.metadata().erase(key); });
    add(std::string(key) + " a number", [=](GoldenParts& parts) { parts.metadata()[key] = 7; });
  }
  add("no metadata", [](GoldenParts& parts) { parts.header.erase("__metadata__"); });
  add("another digest", [](GoldenParts& parts) {
    parts.is_sealed = false;
    parts.metadata()["digest"] = "0123456789abcdef";
  });
  add("no digest", [](GoldenParts& parts) {
    parts.is_sealed = false;
    parts.metadata().erase("digest");
  });
  add("one more tensor", [](GoldenParts& parts) {
    const std::size_t end = parts.data.size();
    parts.header["more"] = {{"dtype", "U8"}, {"shape", {8}}, {"data_offsets", {end, end + 8}}};
    parts.data.append(8, 'x');
  });
  add("bytes behind", [](GoldenParts& parts) { parts.data.append(8, '\0'); });
  add("bytes missing", [](GoldenParts& parts) { parts.data.resize(parts.data.size() - 4); });
  add("no data", [](GoldenParts& parts) { parts.data.clear(); });
  add("a long header",
      [](GoldenParts& parts) { parts.metadata()["settings"] = std::string(1 << 20, 'x'); });
  add("a prompt too long for any command", [](GoldenParts& parts) {
    parts.header["prompt_ids"]["shape"] = {65537};
    parts.header["prompt_ids"]["data_offsets"][1] =
        parts.header["prompt_ids"]["data_offsets"][0].get<std::uint64_t>() + 65537 * 4;
    parts.data.resize(parts.data.size() + 65537 * 4 - golden_tokens * 4);
  });
  for (const auto& one : cases) {
    CAPTURE(one.first);
    GoldenParts parts(sample.file);
    one.second(parts);
    CHECK(!sample.read(parts.file()));
  }
  const std::string many(60000, '[');
  for (const std::string& bytes :
       {std::string(), std::string("7 bytes"), std::string(8, '\0'), std::string(8, '\xff'),
        GoldenParts::with_length(""), GoldenParts::with_length("{}"),
        GoldenParts::with_length("[]"), GoldenParts::with_length("null"),
        GoldenParts::with_length(many), GoldenParts::with_length("{\"a\":" + many),
        sample.file.substr(0, 100), "GGUF" + sample.file}) {
    CHECK(!sample.read(bytes));
  }
  CHECK(cases.size() >= 100);
  MESSAGE(cases.size(), " kinds and 12 whole files");
}

TEST_CASE("golden: a model with another setting is named with it; the trained context is none") {
  const HostileSample sample;
  const UnnamedFile file(sample.file);
  DecoderSpec other = sample.sample.spec;
  other.context_length *= 2;
  other.rope.original_context *= 2;  // where a GGUF without scaling has the context
  CHECK(other.rope.scaling == RopeScaling::none);
  CHECK(reference::read_golden(file.path(), other).layers() == 3);
  other.rope.beta_fast = 16;  // what only a scaling reads that this model has not
  other.rope.truncates = false;
  other.rope.high_frequency_factor = 2;
  other.rope.factor = 3;
  CHECK(reference::read_golden(file.path(), other).layers() == 3);
  const auto refusal = [&](const DecoderSpec& spec) -> std::string {
    try {
      reference::read_golden(file.path(), spec);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::input_failed);
      return error.what();
    }
    return "";
  };
  other = sample.sample.spec;
  other.rope.base = 20000;
  CHECK(refusal(other).find("is the golden of a model with rope base 10000, where this model has "
                            "20000") != std::string::npos);
  other = sample.sample.spec;
  other.rope.scaling = RopeScaling::linear;
  other.rope.factor = 3;
  CHECK(refusal(other).find("with rope factor 1, where this model has 3") != std::string::npos);
  other = sample.sample.spec;
  other.layers[1].window = 7;
  CHECK(refusal(other).find("with window 0, where this model has 0,7,0") != std::string::npos);
  other = sample.sample.spec;
  other.layers[1].q.weight = "x";
  CHECK(refusal(other).find("sizes, settings or tensors") != std::string::npos);
}
