// SPDX-License-Identifier: MIT
/// Devices that lose the fault which the self-test plants, or damage what is read back: every
/// writer must report exit code 5.
#include <doctest/doctest.h>

#include "harness.hpp"
#include "hip/api.hpp"
#include "small_model.hpp"

using namespace hiptool;
using namespace hiptool::cli::testing;

namespace {

const hip::Api* inner_api = nullptr;

// The fault "flip" is the only copy of one byte.
hip::hipError_t lose_single_bytes(void* destination, const void* source, std::size_t size,
                                  hip::hipMemcpyKind kind, hip::hipStream_t stream) {
  if (size == 1 && kind == hip::hipMemcpyHostToDevice) return hip::hipSuccess;
  return inner_api->hipMemcpyAsync(destination, source, size, kind, stream);
}

// A row that a proof's self-test shortens is the only copy of 32 floats.
hip::hipError_t lose_short_rows(void* destination, const void* source, std::size_t size,
                                hip::hipMemcpyKind kind, hip::hipStream_t stream) {
  if (size == 128 && kind == hip::hipMemcpyHostToDevice) return hip::hipSuccess;
  return inner_api->hipMemcpyAsync(destination, source, size, kind, stream);
}

// Read back, the first byte of each copy differs from what the memory holds.
hip::hipError_t damage_read_back(void* destination, const void* source, std::size_t size,
                                 hip::hipMemcpyKind kind, hip::hipStream_t stream) {
  const hip::hipError_t result = inner_api->hipMemcpyAsync(destination, source, size, kind, stream);
  if (kind != hip::hipMemcpyDeviceToHost || result != hip::hipSuccess) return result;
  const hip::hipError_t waited = inner_api->hipStreamSynchronize(stream);
  *static_cast<unsigned char*>(destination) ^= 0xFFu;
  return waited;
}

class LosingBinder final : public hip::Binder {
 public:
  explicit LosingBinder(decltype(hip::Api::hipMemcpyAsync) copy = lose_single_bytes)
      : copy_(copy) {}
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = FakeBinder(0).bind(platform, request);
    if (platform != Platform::cpu) return binding;
    static hip::Api api;
    inner_api = binding.api;
    api = *binding.api;
    api.hipMemcpyAsync = copy_;
    binding.api = &api;
    return binding;
  }

 private:
  decltype(hip::Api::hipMemcpyAsync) copy_;
};

class DamagingBinder final : public hip::Binder {
 public:
  hip::Binding bind(Platform platform, const hip::BindRequest& request) override {
    hip::Binding binding = FakeBinder(0).bind(platform, request);
    if (platform != Platform::cpu) return binding;
    static hip::Api api;
    inner_api = binding.api;
    api = *binding.api;
    api.hipMemcpyAsync = damage_read_back;
    binding.api = &api;
    return binding;
  }
};

// Writes all formats of one load that must end with exit code 5, and reads them.
void check_exit_5(const std::shared_ptr<hip::Binder>& binder, const std::string& option,
                  const std::string& first_words, const std::string& status) {
  const test::TemporaryFolder folder;
  const std::string model =
      test::write_small_model(folder.path() / "m.safetensors", test::various_tensors()).string();
  Machine machine;
  machine.binder = binder;
  std::vector<std::string> words{"load", model, "--device", "cpu:0", option, "-q"};
  const auto file = [&](const std::string& format) {
    return (folder.path() / ("out." + format)).string();
  };
  for (const char* format : {"json", "csv", "markdown", "html", "junit", "prom", "gha"}) {
    words.insert(words.end(), {"--export", std::string(format) + "=" + file(format)});
  }
  const int exit_code = machine.run(words);
  CAPTURE(machine.err.text);
  CHECK(exit_code == 5);
  CAPTURE(machine.out.text);
  CHECK(starts_with(machine.out.text, first_words));
  CHECK(contains(start_of(file("json")), "\"status\": \"" + status + "\""));
  CHECK(contains(start_of(file("json")), "\"exit_code\": 5,\n  \"passed\": false"));
  CHECK(contains(start_of(file("prom")), "\nhiptool_success{command=\"load\"} 0\n"));
  CHECK(contains(start_of(file("prom")), "\nhiptool_exit_code{command=\"load\"} 5\n"));
  CHECK(contains(start_of(file("junit")), "<failure"));
  CHECK(contains(start_of(file("csv")), ",5,false\n"));
  CHECK(starts_with(start_of(file("markdown")), "**" + first_words));
  CHECK(contains(start_of(file("html")), "<title>FAILED: "));
  CHECK(contains(start_of(file("gha")), "\"name\": \"load verdict\""));
}

}  // namespace

TEST_CASE("load: an undetected fault of the self-test is exit 5 for every reader") {
  check_exit_5(std::make_shared<LosingBinder>(), "--self-test", "FAILED: self-test missed 1 of ",
               "verified");
}

TEST_CASE("prove: a planted fault that is not found is exit 5 for every reader" *
          doctest::skip(test::is_sanitized)) {  // computes a model three times
  const test::TemporaryFolder folder;
  const std::string model = (folder.path() / "m.gguf").string();
  const auto file = [&](const std::string& format) {
    return (folder.path() / ("out." + format)).string();
  };
  std::vector<std::string> words{"prove", model, "--device", "cpu:0", "--self-test", "-q"};
  for (const char* format : {"json", "junit", "prom"}) {
    words.insert(words.end(), {"--export", std::string(format) + "=" + file(format)});
  }
  Machine machine;
  REQUIRE(machine.run({"make-model", model, "--architecture", "llama", "--dtype", "F32", "-q"}) ==
          0);
  CHECK(machine.run(words) == 0);
  CHECK(contains(start_of(file("json")), "\"exit_code\": 0"));
  machine.binder = std::make_shared<LosingBinder>(lose_short_rows);
  machine.out.text.clear();
  CHECK(machine.run(words) == 5);
  CAPTURE(machine.out.text);
  CHECK(starts_with(machine.out.text,
                    "FAILED: self-test missed 2 of 5 planted faults: short_row, decoding; "));
  CHECK(contains(start_of(file("json")), "\"exit_code\": 5,\n  \"passed\": false"));
  CHECK(contains(start_of(file("prom")), "\nhiptool_success{command=\"prove\"} 0\n"));
  CHECK(contains(start_of(file("junit")), "self-test of the proof: short_row on cpu:0"));
}

TEST_CASE("load: bytes that differ on the device are exit 5 for every reader") {
  check_exit_5(std::make_shared<DamagingBinder>(), "--verify=readback", "WRONG DATA on cpu:0",
               "mismatch");
}

TEST_CASE("load: with every fault detected the same run passes") {
  const test::TemporaryFolder folder;
  const std::string model =
      test::write_small_model(folder.path() / "m.safetensors", test::various_tensors()).string();
  Machine machine;
  CHECK(machine.run({"load", model, "--device", "cpu:0", "--self-test", "--format", "json"}) == 0);
  CHECK(contains(machine.out.text, "\"exit_code\": 0"));
  CHECK(contains(machine.out.text, "\"failures\": []"));
}

TEST_CASE("load: an undetected fault is exit 5 also where the manifest differs, which alone is 4") {
  const test::TemporaryFolder folder;
  auto tensors = test::various_tensors();
  const std::string first = test::write_small_model(folder.path() / "a", tensors).string();
  tensors[10].bytes[0] ^= std::byte{1};
  const std::string second = test::write_small_model(folder.path() / "b", tensors).string();
  const std::string manifest = (folder.path() / "a.json").string();
  Machine machine;
  CHECK(machine.run({"load", first, "--device", "cpu", "-q", "--write-manifest", manifest}) == 0);
  const std::vector<std::string> words{"load", second,        "--device",         "cpu",
                                       "-q",   "--self-test", "--check-manifest", manifest};
  CHECK(machine.run(words) == 4);
  machine.binder = std::make_shared<LosingBinder>();
  CHECK(machine.run(words) == 5);
  CHECK(starts_with(machine.out.text, "FAILED: self-test missed 1 of "));
  CHECK(contains(machine.err.text, "error: "));
}
