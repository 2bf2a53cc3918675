// SPDX-License-Identifier: MIT
#include "measure/threshold.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "devices.hpp"
#include "hiptool/error.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::measure;

namespace {

constexpr auto copies = ThresholdKind::copies;
constexpr auto kernels_too = ThresholdKind::kernels;

template <class Function>
std::string refusal_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    CHECK((error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::input_failed));
    return error.what();
  }
  return {};
}

struct File {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "thresholds.txt";

  std::vector<Threshold> read(const std::string& text, const std::vector<std::string>& names) {
    std::ofstream(path) << text;
    std::vector<NamedDevice> devices;
    for (const std::string& name : names) {
      devices.push_back({"gpu:" + std::to_string(devices.size()), name});
    }
    return read_thresholds(path, devices, copies);
  }
};

}  // namespace

TEST_CASE("thresholds: rates in any unit and shares") {
  const Threshold rate = parse_threshold("h2d.pinned>=48GB/s", copies);
  CHECK(rate.selector == "h2d.pinned");
  CHECK(rate.bound == 48e9);
  CHECK((rate.of == Threshold::Of::bytes_per_s));
  CHECK(parse_threshold(" h2d >= 1.5 GiB/s ", copies).bound == 1.5 * (1u << 30));
  CHECK(parse_threshold("h2d>=2000MB/s", copies).bound == 2e9);
  CHECK(parse_threshold("H2D.Pinned.1GiB>=48GB/s", copies).selector == "h2d.pinned.1GiB");
  CHECK(parse_threshold("H2D.Latency<=20us", copies).of == Threshold::Of::latency_s);
  CHECK(parse_threshold("h2d>=7b/s", copies).bound == 7);
  CHECK(parse_threshold("h2d>=0.5TB/s", copies).bound == 5e11);
  const Threshold share = parse_threshold("h2d>=90%", copies);
  CHECK((share.of == Threshold::Of::share));
  CHECK(share.bound == 0.9);
  const Threshold operations = parse_threshold("gemm.f16>=20GFLOP/s", kernels_too);
  CHECK((operations.of == Threshold::Of::flops_per_s));
  CHECK(operations.bound == 20e9);
  CHECK(parse_threshold("sum>=3.5TB/s", kernels_too).bound == 3.5e12);
}

TEST_CASE("thresholds: a latency is a time, which has no limit to be a share of") {
  for (const char* text : {"h2d.latency<=50%", "h2d.latency>=50%", "latency<=1%"}) {
    CHECK(refusal_of([&] {
            parse_threshold(text, copies);
          }).find("a latency has no limit to be a share of") != std::string::npos);
  }
  CHECK(refusal_of([] {
          parse_threshold("h2d.latency>=20GB/s", copies);
        }).find("a latency is a time, not a rate") != std::string::npos);
  CHECK(parse_threshold("h2d.latencyx>=20GB/s", copies).of == Threshold::Of::bytes_per_s);
}

TEST_CASE("thresholds: latencies have an upper limit in any unit of time") {
  const Threshold latency = parse_threshold(" h2d.latency <= 20us ", copies);
  CHECK(latency.selector == "h2d.latency");
  CHECK(latency.text == "h2d.latency <= 20us");
  CHECK((latency.of == Threshold::Of::latency_s));
  CHECK(latency.bound == doctest::Approx(20e-6));
  CHECK(parse_threshold("h2d<=500ns", copies).bound == doctest::Approx(500e-9));
  CHECK(parse_threshold("h2d<=1.5ms", copies).bound == doctest::Approx(1.5e-3));
  CHECK(parse_threshold("h2d<=2s", copies).bound == 2);
  CHECK(refusal_of([] { parse_threshold("h2d>=20us", copies); }).find("has an upper limit") !=
        std::string::npos);
  for (const char* text : {"h2d<=48GB/s", "h2d<=90%"}) {
    CHECK(refusal_of([&] { parse_threshold(text, copies); }).find("has a lower limit") !=
          std::string::npos);
  }
  for (const char* text : {"h2d<=20", "h2d<=20m", "h2d<20us", "<=20us", "h2d<=-1us", "h2d<=us",
                           "h2d<=20us<=30us", "h2d=<20us"}) {
    CAPTURE(text);
    CHECK(refusal_of([&] { parse_threshold(text, copies); }).find("is not a valid threshold") !=
          std::string::npos);
  }
  CHECK(refusal_of([] { parse_threshold("sum<=20us", kernels_too); }).find("is not a valid") !=
        std::string::npos);
}

TEST_CASE("thresholds: anything else is refused with the forms that are taken") {
  for (const char* text : {"", "h2d", "h2d>48GB/s", ">=48GB/s", "h2d>=", "h2d>=48", "h2d>=48GB",
                           "h2d>=-1GB/s", "h2d>=nanGB/s", "h2d>=1e400GB/s", "h2d>=GB/s",
                           "h2d>=90%%", "h2d>=48GB/sx", "h2d=>48GB/s", "h2d>=1GFLOP"}) {
    CAPTURE(text);
    CHECK(refusal_of([&] { parse_threshold(text, copies); }).find("is not a valid threshold") !=
          std::string::npos);
  }
}

TEST_CASE_FIXTURE(File, "threshold files: a part for each device, and one for all") {
  const std::string text =
      "# limits\nh2d>=10GB/s\n\n[H200]\nh2d>=48GB/s # Gen5\n[mi300x]\nd2h>=50GB/s\n";
  const auto for_nvidia = read(text, {"NVIDIA H200"});
  REQUIRE(for_nvidia.size() == 2);
  CHECK(for_nvidia[0].bound == 10e9);
  CHECK(for_nvidia[1].bound == 48e9);
  const auto for_amd = read(text, {"AMD Instinct MI300X"});
  REQUIRE(for_amd.size() == 2);
  CHECK(for_amd[1].selector == "d2h");
  CHECK(read(text, {"Other"}).size() == 1);
}

TEST_CASE_FIXTURE(File, "threshold files: a part asks nothing of the devices that it is not for") {
  const auto mixed = read("h2d>=1GB/s\n[H200]\nh2d>=48GB/s\n[]\nd2h>=2GB/s\n",
                          {"NVIDIA H200", "AMD EPYC", "NVIDIA H200 NVL"});
  REQUIRE(mixed.size() == 3);
  for (const char* device : {"gpu:0", "gpu:1", "gpu:2"}) {
    CAPTURE(std::string(device));
    CHECK(is_for(mixed[0], device));
    CHECK(is_for(mixed[1], device) == (std::string(device) != "gpu:1"));
    CHECK(is_for(mixed[2], device));
  }
}

TEST_CASE_FIXTURE(File,
                  "threshold files: faults name the file and the line, also in parts for others") {
  CHECK(refusal_of([&] { read("h2d>=1GB/s\n[Other]\nh2d=1\n", {"H200"}); }).find("line 3") !=
        std::string::npos);
  CHECK(refusal_of([&] { read("[Other]\nh2d>=1GB/s\n", {"H200"}); }).find("no threshold") !=
        std::string::npos);
  CHECK(refusal_of([&] { read_thresholds(folder.path() / "none", {}, copies); }).find("none") !=
        std::string::npos);
}

TEST_CASE("thresholds: operations are counted of kernels only, and each kind names its forms") {
  CHECK(refusal_of([] { parse_threshold("h2d>=1GFLOP/s", copies); }) != "");
  for (const auto& [kind, form] : {std::pair{copies, "h2d.pinned>="}, {kernels_too, "TFLOP/s"}}) {
    try {
      parse_threshold("x", kind);
      CHECK(false);
    } catch (const Error& error) {
      CHECK(error.hint().find(form) != std::string::npos);
    }
  }
}

TEST_CASE_FIXTURE(File, "thresholds of files and others are one list, in their order") {
  std::ofstream(path) << "b>=1GB/s\n[no such device]\nx>=1GB/s\n[]\nc>=1GFLOP/s\n";
  const test::CpuDevices devices(1);
  const std::vector<std::string> texts{"a>=1%", "@" + path.string(), "d>=1%"};
  std::string selectors;
  for (const Threshold& one : collect_thresholds(texts, {devices[0]}, kernels_too)) {
    selectors += one.selector;
  }
  CHECK(selectors == "abcd");
  const auto plain = plain_thresholds(texts, kernels_too);
  REQUIRE(plain.size() == 2);
  CHECK(plain[1].selector == "d");
}

TEST_CASE("a size is meant in every form that --size takes") {
  for (const char* part : {"256MiB", "256M", "0.25GiB", "262144K", "268435456"}) {
    CAPTURE(part);
    CHECK(means_size(part, "256MiB"));
    CHECK(is_size(part));
  }
  CHECK(means_size("1MB", "1000000B"));
  CHECK(means_size("90%", "90%"));
  CHECK(is_size("90%"));
  for (const char* part : {"256MB", "", "h2d", "256", "MiB", "90%"}) {
    CAPTURE(part);
    CHECK_FALSE(means_size(part, "256MiB"));
  }
  CHECK_FALSE(means_size("", ""));
  CHECK_FALSE(means_size("4K", ""));
  for (const char* part : {"", "h2d", "%", "-1", "nvidia:0", "99999999999999999999"}) {
    CAPTURE(part);
    CHECK_FALSE(is_size(part));
  }
}
