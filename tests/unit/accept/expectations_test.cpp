// SPDX-License-Identifier: MIT
#include "accept/expectations.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "accept/machine.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::accept;

namespace {

struct ExpectationFile {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "gpus.json";

  Expectations read(const std::string& text) {
    std::ofstream(path) << text;
    return read_expectations(path, nullptr);
  }
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const Error& error) {
      // As of damaged manifests: exit code 4.
      CHECK((error.code() == ErrorCode::input_failed || error.code() == ErrorCode::corrupt_data));
      CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
      const std::string command = "hiptool check --write-expect " + path.string() + " --force";
      CHECK_MESSAGE(error.hint().find(command) != std::string::npos, error.hint());
      return error.what();
    }
    return {};
  }
};

report::Measurement measured_rate(const std::string& label, double bytes_per_s) {
  report::Measurement measured;
  measured.label = label;
  measured.devices = {"nvidia:0"};
  measured.bytes_per_s = bytes_per_s;
  return measured;
}

std::string file_with(const std::string& gpus) {
  return R"({"schema": "hiptool.expect/1", "level": "quick", "gpus": )" + gpus + "}";
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the lowest rate of a kind, less the margin, is written and read") {
  const report::Measurement fast = measured_rate("h2d.pinned.copy.64MiB", 50e9);
  const report::Measurement slow = measured_rate("h2d.pinned.copy.64MiB", 40e9);
  report::Measurement latency;
  latency.label = "launch.u32";
  latency.devices = {"nvidia:0"};
  latency.median_s = 2e-6;
  report::Measurement skipped = measured_rate("d2h.pinned.copy.64MiB", 1);
  skipped.status = report::Status::skipped;
  ExpectationFile file;
  const Expectations expectations = file.read(
      expectations_text({{&fast, "NVIDIA H200"},
                         {&slow, "NVIDIA H200"},
                         {&latency, "NVIDIA H200"},
                         {&skipped, "NVIDIA H200"},
                         {&fast, "NVIDIA L4"}},
                        {{"NVIDIA H200", 2}}, {"standard", 0.1, 1, "2026-01-01T00:00:00Z"}));
  CHECK(expectations.level == "standard");
  CHECK(expectations.machines == std::vector<GpuCounts>{{{"NVIDIA H200", 2}}});
  const auto& of_one = expectations.of("NVIDIA H200");
  CHECK(of_one.size() == 2);
  CHECK(of_one.at("h2d.pinned.copy.64MiB").bytes_per_s == doctest::Approx(36e9));
  CHECK(of_one.at("launch.u32").most_s == doctest::Approx(2.2e-6));
  CHECK(expectations.of("NVIDIA L4").at("h2d.pinned.copy.64MiB").bytes_per_s ==
        doctest::Approx(45e9));
  CHECK_THROWS_WITH_AS(expectations.of("NVIDIA T4"), doctest::Contains("NVIDIA T4"), Error);
}

TEST_CASE("of several repeats the lowest rate is written, less their spread") {
  report::Measurement one = measured_rate("d2h.pinned.copy.256MiB", 50e9);
  one.id = one.label + "@nvidia:0";
  report::Measurement two = one;
  two.bytes_per_s = 40e9;
  report::Measurement other = measured_rate("d2h.pinned.copy.256MiB", 48e9);
  other.id = other.label + "@nvidia:1";  // what devices differ by is not noise
  ExpectationFile file;
  const std::string text = expectations_text({{&one, "A"}, {&two, "A"}, {&other, "A"}}, {},
                                             {"quick", 0.05, 2, "2026-01-01T00:00:00Z"});
  CHECK_MESSAGE(has_text(text, "\"repeats\": 2,"), text);
  const Expectation written = file.read(text).of("A").at(one.label);
  CHECK(written.spread == doctest::Approx(0.2));
  CHECK(written.bytes_per_s == doctest::Approx(32e9));
  const std::string alone = expectations_text({{&one, "A"}, {&other, "A"}}, {},
                                              {"quick", 0.05, 1, "2026-01-01T00:00:00Z"});
  const Expectation of_one_run = file.read(alone).of("A").at(one.label);
  CHECK(of_one_run.spread == 0);
  CHECK(of_one_run.bytes_per_s == doctest::Approx(45.6e9));
}

TEST_CASE("the margin of short calls and kernels is a half") {
  report::Measurement product;
  product.label = "matmul.f16.1024x1024x1024.cublaslt";
  product.library = "cublaslt";
  product.devices = {"nvidia:0"};
  product.flops_per_s = 250e12;
  product.median_s = 8.6e-6;
  const auto expectation_at = [&](double margin) {
    ExpectationFile file;
    const std::string text =
        expectations_text({{&product, "A"}}, {}, {"quick", margin, 1, "2026-01-01T00:00:00Z"});
    return file.read(text).of("A").at(product.label).flops_per_s;
  };
  CHECK(expectation_at(0.05) == 125e12);
  CHECK(expectation_at(0.6) == 100e12);
  product.median_s = 200e-6;
  CHECK(expectation_at(0.05) == 237.5e12);
  product.library.clear();
  product.median_s = 8.6e-6;
  CHECK(expectation_at(0.05) == 237.5e12);  // a copy, for example
  product.kind = "kernel";
  CHECK(expectation_at(0.05) == 125e12);
}

TEST_CASE("rates are written as whole numbers, rounded down, since people edit them") {
  const report::Measurement odd = measured_rate("h2d.pinned.copy.64MiB", 9876543210.987);
  const report::Measurement slow = measured_rate("d2h.pinned.copy.64MiB", 0.5);
  ExpectationFile file;
  const std::string text = expectations_text({{&odd, "A"}, {&slow, "A"}}, {},
                                             {"quick", 0.05, 1, "2026-01-01T00:00:00Z"});
  CHECK_MESSAGE(has_text(text, "\"bytes_per_s\": 9382716050,"), text);
  // The reader refuses a rate of 0.
  CHECK(file.read(text).of("A").at("d2h.pinned.copy.64MiB").bytes_per_s == 0.475);
}

TEST_CASE("an expectation of 64 MiB is for the same copy of 256 MiB") {
  report::Measurement copy = measured_rate("h2d.pinned.copy.256MiB", 50e9);
  copy.stage = "copy";
  copy.id = copy.label + "@nvidia:0";
  copy.size_bytes = 256u << 20;
  copy.set_names();
  CHECK(is_for("h2d.pinned.copy.256MiB", copy));
  CHECK(is_for("h2d.pinned.copy.64MiB", copy));
  CHECK_FALSE(is_for("h2d.pinned.copy.128MiB", copy));
  CHECK_FALSE(is_for("d2h.pinned.copy.64MiB", copy));
  CHECK_FALSE(is_for("h2d.pageable.copy.64MiB", copy));
  report::Measurement kernel = measured_rate("stream-triad.f32.256MiB", 50e9);
  kernel.stage = "kernels";
  CHECK_FALSE(is_for("stream-triad.f32.64MiB", kernel));
}

TEST_CASE("an expectation is met from its value on") {
  Expectation expectation;
  expectation.bytes_per_s = 40e9;
  CHECK(meets(expectation, measured_rate("h2d", 40e9)));
  CHECK_FALSE(meets(expectation, measured_rate("h2d", 39.99e9)));
  Expectation latency;
  latency.most_s = 2e-6;
  report::Measurement launch;
  launch.median_s = 2e-6;
  CHECK(meets(latency, launch));
  launch.median_s = 2.1e-6;
  CHECK_FALSE(meets(latency, launch));
}

TEST_CASE("wrong files are refused by name and field") {
  ExpectationFile file;
  CHECK(has_text(file.refusal("{"), "gpus.json"));
  CHECK(has_text(file.refusal("{}"), "schema"));
  CHECK(has_text(file.refusal(file_with("{}")), "no kind of GPU"));
  CHECK(has_text(file.refusal(file_with(R"({"A": {}})")), "A has no measurement"));
  CHECK(has_text(file.refusal(file_with(R"({"A": {"h2x.copy": {"bytes_per_s": 1}}})")),
                 "makes no measurement 'h2x.copy'"));
  for (const char* expectation :
       {"{}", R"({"bytes_per_s": 0})", R"({"bytes_per_s": -1})", R"({"bytes_per_s": "fast"})",
        R"({"bytes_per_s": 1, "flops_per_s": 1})", R"({"bytes_per_s": 1, "devices": 0})",
        R"({"bytes_per_s": 1, "spread": -0.1})", R"({"bytes_per_s": 1, "spread": "5%"})"}) {
    CAPTURE(expectation);
    CHECK(has_text(
        file.refusal(file_with(R"({"A": {"h2d.pinned": )" + std::string(expectation) + "}}")),
        "A, h2d.pinned"));
  }
}

TEST_CASE("the number of GPUs: of the machines of a file the nearest is compared") {
  ExpectationFile file;
  const std::string start = R"({"schema": "hiptool.expect/1", "gpus": {
      "A": {"d2d.copy": {"bytes_per_s": 1}}, "B": {"d2d.copy": {"bytes_per_s": 1}}},
      "machines": )";
  const Expectations expectations = file.read(start + R"([{"A": 8, "B": 1}, {"B": 4}]})");
  const auto text_of = [&](const GpuCounts& found) {
    std::string text;
    for (const CountedGpus& gpus : compare_counts(expectations, found)) {
      text += gpus.name + std::to_string(gpus.found) + "/" + std::to_string(gpus.expected) + " ";
    }
    return text;
  };
  CHECK(text_of({{"A", 8}, {"B", 1}}) == "A8/8 B1/1 ");
  CHECK(text_of({{"A", 8}, {"B", 2}}) == "A8/8 B2/1 ");
  CHECK(text_of({{"A", 7}, {"B", 1}}) == "A7/8 B1/1 ");
  CHECK(text_of({{"A", 8}}) == "A8/8 B0/1 ");
  CHECK(text_of({{"A", 2}}) == "A2/8 B0/1 ");  // though of the other fewer are missing
  CHECK(text_of({{"B", 4}}) == "B4/4 ");
  CHECK(text_of({{"B", 3}}) == "B3/4 ");
  CHECK(text_of({{"C", 1}}) == "B0/4 ");
  CHECK(text_of({}) == "B0/4 ");
  CHECK(compare_counts(file.read(file_with(R"({"A": {"d2d.copy": {"bytes_per_s": 1}}})")), {})
            .empty());
  for (const char* machines :
       {"{}", "8", "[]", "[8]", "[{}]", R"([{"A": 0}])", R"([{"A": "8"}])", R"([{"A": 1.5}])"}) {
    CAPTURE(machines);
    CHECK(has_text(file.refusal(start + machines + "}"), "machines"));
  }
  CHECK(has_text(file.refusal(start + R"([{"H": 8}]})"), "machines names 'H'"));
}

TEST_CASE("products and convolutions of vendor libraries can have expectations, ours cannot") {
  ExpectationFile file;
  const Expectations expectations = file.read(file_with(
      R"({"A": {"matmul.f16.1024x1024x1024.cublas": {"flops_per_s": 1},
                "conv2d.f16.n8c64h28w28:k64r3s3p1.miopen": {"flops_per_s": 1}}})"));
  CHECK(expectations.of("A").size() == 2);
  CHECK(stage_of_label("matmul.f16.1024x1024x1024.cublas") == "libraries");
  CHECK(stage_of_label("stream-triad.f32.256MiB") == "kernels");
  for (const std::string name :
       {"matmul.f16.1x1x1.own", "matmul.f16.1x1x1.cudnn", "conv2d.f16.1.cublas", "matmul"}) {
    CAPTURE(name);
    CHECK(has_text(file.refusal(file_with(R"({"A": {")" + name + R"(": {"flops_per_s": 1}}})")),
                   "makes no measurement '" + name + "'"));
  }
}

TEST_CASE("GPUs of several kinds have expectations of their own") {
  const auto name_of = [](const std::string& id) { return id == "nvidia:1" ? "B" : "A"; };
  report::Measurement pair;
  pair.source = "nvidia:0";
  pair.destination = "nvidia:1";
  pair.devices = {"nvidia:0", "nvidia:1"};
  CHECK(expectation_key(pair, name_of) == "A > B");
  std::swap(pair.source, pair.destination);
  CHECK(expectation_key(pair, name_of) == "B > A");
  pair.source = "nvidia:2";
  pair.destination = "nvidia:0";
  pair.devices = {"nvidia:0", "nvidia:2"};
  CHECK(expectation_key(pair, name_of) == "A");
  report::Measurement all;
  all.source = "host";
  all.destination = "all";
  all.devices = {"nvidia:1", "nvidia:0", "nvidia:2"};
  CHECK(expectation_key(all, name_of) == "A + B");
  all.devices = {"nvidia:1"};
  CHECK(expectation_key(all, name_of) == "B");
}

TEST_CASE("what one kind of GPU measured is not what another one should have") {
  ExpectationFile file;
  CheckOptions options;
  options.expectations = file.read(file_with(R"({"A": {"d2d.copy.64KiB": {"bytes_per_s": 1}},
                                                 "B": {"d2d.copy.64KiB": {"bytes_per_s": 1}}})"));
  CheckOutcome outcome;
  outcome.stages = {"copy"};
  for (const auto& [id, name] : {std::pair("nvidia:0", "A"), std::pair("nvidia:1", "B")}) {
    CheckedDevice& device = outcome.result.devices.emplace_back();
    device.id = id;
    device.info.name = name;
  }
  for (const char* id : {"nvidia:0", "nvidia:1"}) {
    StageMeasurement& copy = outcome.result.measurements.emplace_back();
    static_cast<report::Measurement&>(copy) = measured_rate("d2d.copy.64KiB", 2);
    copy.devices = {id};
    copy.status = report::Status::ok;
    compare_expectations(options, outcome);
    CHECK(outcome.error.has_value() == (std::string(id) == "nvidia:0"));
    if (outcome.error) CHECK(has_text(outcome.error->what(), "of B, which this run did not"));
    outcome.error.reset();
  }
}
