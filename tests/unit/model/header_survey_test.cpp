// SPDX-License-Identifier: MIT
#include "model/header_survey.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "refusal.hpp"

using namespace hiptool;
using namespace hiptool::test;
using Space = model::HeaderSurvey::Space;

namespace {

double peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// More tensors than are read without a survey; the last one is written by the caller.
constexpr std::uint64_t many = 400'000;

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
  const double before = peak_memory_mib();
  // The header itself has at most 30 MiB, as strings of the test.
  check_refused(large_gguf("x", 99, 32 * many), "input_failed", "tensor 'x'", "type 99");
  check_refused(large_gguf("7", 24, 32 * many), "corrupt_data", "tensor '7'", "twice");
  check_refused(large_gguf("x", 24, 32), "corrupt_data", "overlaps tensor '1'");
  check_refused(large_gguf("x", 24, 32 * many + 32), "corrupt_data", "tensor 'x'",
                "beyond the file");
  check_refused(large_safetensors("\"x\":{\"dtype\":1}"), "corrupt_data", "tensor 'x'",
                "dtype is a number");
  check_refused(large_safetensors(last_entry("7", many)), "corrupt_data", "tensor '7'", "twice");
  check_refused(large_safetensors(last_entry("x", 5)), "corrupt_data", "overlap");
  check_refused(large_safetensors(last_entry("x", many + 1)), "corrupt_data", "tensor 'x'",
                "leave a hole");
  const double grown = peak_memory_mib() - before;
  CAPTURE(grown);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  MESSAGE("not compared: a sanitizer keeps memory of its own");
#else
  // Some 90 MiB are the test's own texts; kept tensors would take 90 more.
  CHECK(grown < 140);
#endif
}

TEST_CASE("survey: a large sound header is read as others are") {
  const ModelFile gguf = open_bytes(large_gguf("x", 24, 32 * many), true);
  CHECK(gguf.tensors().size() == many + 1);
  CHECK(gguf.find("x") == &gguf.tensors()[many]);
  const ModelFile safe = open_bytes(large_safetensors(last_entry("x", many)), true);
  CHECK(safe.tensors().size() == many + 1);
  CHECK(safe.find("399999")->file_offset + 2 == safe.file_bytes());
}

TEST_CASE("survey: warnings of a large header are given once") {
  const ModelFile model = open_bytes(large_gguf("\xff", 24, 32 * many));
  REQUIRE(model.warnings().size() == 1);
  CHECK(model.warnings()[0].find("more like it") == std::string::npos);
}
