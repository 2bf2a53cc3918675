// SPDX-License-Identifier: MIT
#include "model/header_survey.hpp"

#include <doctest/doctest.h>
#include <malloc.h>

#include <fstream>
#include <string>

#include "refusal.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::test;
using Space = model::HeaderSurvey::Space;

namespace {

// A line of /proc/self/status in MiB.
double memory_mib(std::string_view field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.compare(0, field.size(), field) != 0) continue;
    return std::stod(line.substr(field.size() + 1)) / 1024;
  }
  return 0;
}

// How much more memory than before the refusal took at its peak.
double cost_of_refusal_mib(const std::string& bytes) {
  const TemporaryFile file(bytes);
  ::malloc_trim(0);  // what earlier tests freed must not hide what this one takes
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts again
  const double before = memory_mib("VmRSS");
  CHECK_THROWS_AS(ModelFile::open(file.path()), Error);
  return memory_mib("VmHWM") - before;
}

// More tensors than are read without a survey; the last one is written by the caller.
constexpr std::uint64_t many = test::is_sanitized ? 160'000 : 400'000;

std::string large_gguf(std::string_view last_name, std::uint32_t last_type,
                       std::uint64_t last_offset) {
  Bytes bytes;
  bytes.raw("GGUF").u32(3).u64(many + 1).u64(1);
  bytes.raw(Bytes().text("general.architecture").u32(8).text("llama").data());
  for (std::uint64_t index = 0; index < many; ++index) {
    bytes.text(std::to_string(index)).u32(0).u32(24).u64(32 * index);
  }
  bytes.text(last_name).u32(0).u32(last_type).u64(last_offset);
  return bytes.pad_to(32).zeros(32 * many + 1).data();
}

std::string large_safetensors(const std::string& last) {
  std::string json = "{";
  for (std::uint64_t index = 0; index < many; ++index) {
    const std::string begin = std::to_string(index);
    json += "\"" + begin + "\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[" + begin + "," +
            std::to_string(index + 1) + "]},";
  }
  return safetensors(json + last + "}", many + 1);
}

std::string last_entry(const std::string& name, std::uint64_t begin) {
  return "\"" + name + R"(":{"dtype":"U8","shape":[],"data_offsets":[)" + std::to_string(begin) +
         "," + std::to_string(begin + 1) + "]}";
}

}  // namespace

TEST_CASE("survey: equal names have a hash in common, which finds them") {
  model::HeaderSurvey survey;
  for (int name = 0; name < 1000; ++name) CHECK(survey.add(Space::tensors, std::to_string(name)));
  CHECK(survey.add(Space::metadata, "500"));
  CHECK_FALSE(survey.repeated_hash().has_value());
  model::HeaderSurvey twice;
  for (const char* name : {"a", "b", "c", "a", "d"}) CHECK(twice.add(Space::metadata, name));
  const auto hash = twice.repeated_hash();
  REQUIRE(hash.has_value());
  model::HeaderSurvey search(*hash);
  CHECK(search.add(Space::metadata, "a"));
  CHECK(search.add(Space::metadata, "b"));
  CHECK(search.add(Space::metadata, "b"));
  CHECK_FALSE(search.add(Space::metadata, "a"));
  model::HeaderSurvey run;
  CHECK(run.add(Space::tensors, ""));
  CHECK_FALSE(run.add(Space::tensors, ""));
}

TEST_CASE("survey: a large header that is bad at its end costs little") {
  check_refused(large_gguf("x", 99, 32 * many), "input_failed", "tensor 'x'", "type 99");
  check_refused(large_safetensors("\"x\":{\"dtype\":1}"), "corrupt_data", "tensor 'x'",
                "dtype is a number");
  if (test::is_sanitized) return;  // seconds each then; the next test has names twice
  check_refused(large_gguf("7", 24, 32 * many), "corrupt_data", "tensor '7'", "twice");
  check_refused(large_gguf("x", 24, 32), "corrupt_data", "overlaps tensor '1'");
  check_refused(large_gguf("x", 24, 32 * many + 32), "corrupt_data", "tensor 'x'",
                "beyond the file");
  check_refused(large_safetensors(last_entry("7", many)), "corrupt_data", "tensor '7'", "twice");
  check_refused(large_safetensors(last_entry("x", 5)), "corrupt_data", "overlap");
  check_refused(large_safetensors(last_entry("x", many + 1)), "corrupt_data", "tensor 'x'",
                "leave a hole");
}

TEST_CASE("survey: memory for a header that is bad at its end") {
  // 32 bytes a tensor and 8 a name; as they double in growing, at most 40 MiB. Kept tensors are 60.
  for (const std::string& bytes :
       {large_gguf("7", 24, 32 * many), large_safetensors(last_entry("7", many))}) {
    const double cost = cost_of_refusal_mib(bytes);
    CAPTURE(cost);
    CHECK((is_sanitized || cost < 45));
  }
}

TEST_CASE("survey: a large sound header is read as others are") {
  const ModelFile gguf = open_bytes(large_gguf("x", 24, 32 * many), true);
  CHECK(gguf.tensors().size() == many + 1);
  CHECK(gguf.find("x") == &gguf.tensors()[many]);
  const ModelFile safe = open_bytes(large_safetensors(last_entry("x", many)), true);
  CHECK(safe.tensors().size() == many + 1);
  CHECK(safe.find(std::to_string(many - 1))->file_offset + 2 == safe.file_bytes());
}

TEST_CASE("survey: warnings of a large header are given once") {
  const ModelFile model = open_bytes(large_gguf("\xff", 24, 32 * many));
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings()[0].find("more like it") == std::string::npos);
}
