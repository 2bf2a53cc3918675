// SPDX-License-Identifier: MIT
#include "report/reader.hpp"

#include <doctest/doctest.h>

#include "documents.hpp"
#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::report;

namespace {

Object cells(const std::string& list) {
  return parsed(R"({"schema":"hiptool.bench-copy/1","cells":[)" + list + "]}");
}

constexpr const char* h2d =
    R"({"id":"h2d.x","kind":"h2d","memory":"pinned","engine":"copy","source":"host",
        "destination":"nvidia:0","size_bytes":268435456,"status":"ok","reason":null,
        "samples_s":[0.5,0.25,1],"median_bytes_per_s":5e8,"p05_bytes_per_s":3e8,
        "p95_bytes_per_s":9e8,"share_of_limit":0.8})";

}  // namespace

TEST_CASE("a cell") {
  const auto list = measurements(cells(h2d));
  REQUIRE(list.size() == 1);
  const Measurement& cell = list.front();
  CHECK(cell.id == "h2d.x");
  CHECK(cell.label == "h2d.pinned.copy.256MiB");
  CHECK(cell.series == "h2d.pinned.copy");
  CHECK(cell.source == "host");
  CHECK(cell.destination == "nvidia:0");
  CHECK(cell.size_bytes == 268435456);
  CHECK(cell.samples_s == std::vector<double>{0.5, 0.25, 1});
  CHECK(cell.median_s == 0.5);
  CHECK(cell.bytes_per_s == 5e8);
  CHECK(cell.low_bytes_per_s == 3e8);
  CHECK(cell.high_bytes_per_s == 9e8);
  CHECK(cell.share_of_limit == 0.8);
  CHECK_FALSE(cell.has_bad_sample);
  CHECK_FALSE(cell.is_pair());
}

TEST_CASE("a pair is two different devices") {
  const auto pair = [](const char* source, const char* destination) {
    return measurements(cells(std::string(R"({"source":")") + source + R"(","destination":")" +
                              destination + "\"}"))
        .front()
        .is_pair();
  };
  CHECK(pair("nvidia:0", "nvidia:1"));
  CHECK_FALSE(pair("nvidia:0", "nvidia:0"));
  CHECK_FALSE(pair("host", "nvidia:0"));
  CHECK_FALSE(pair("all", "nvidia:0"));
}

TEST_CASE("an id that says what was measured and where is the label") {
  const auto list = measurements(
      cells(R"({"id":"h2d.pinned.copy.64KiB.latency@amd:0","size_bytes":65536,"kind":"h2d"},
               {"id":"p2p-read.copy.64KiB@amd:0>amd:1+amd:2","size_bytes":65536,
                "source":"amd:0","destination":"amd:1,amd:2,amd:0,x"})"));
  CHECK(list[0].label == "h2d.pinned.copy.64KiB.latency");
  CHECK(list[0].series == "h2d.pinned.copy.latency");
  CHECK(list[1].series == "p2p-read.copy");
  CHECK(list[1].devices == std::vector<std::string>{"amd:0", "amd:1", "amd:2"});
  CHECK_FALSE(list[1].is_pair());
}

TEST_CASE("sizes in ids and labels lose nothing") {
  CHECK(size_word(4) == "4B");
  CHECK(size_word(4096) == "4KiB");
  CHECK(size_word(1500) == "1500B");
  CHECK(size_word((1ull << 30) + 1024) == "1048577KiB");
  CHECK(size_word(8ull << 30) == "8GiB");
}

TEST_CASE("copies of any size, round or not, are one series") {
  const auto list = measurements(cells(R"({"id":"h2d.pinned.copy.1500B@cpu:0","size_bytes":1500},
               {"id":"h2d.pinned.copy.1048577KiB@cpu:0","size_bytes":1073742848},
               {"kind":"h2d","memory":"pinned","engine":"copy","size_bytes":1000000})"));
  for (const Measurement& cell : list) CHECK(cell.series == "h2d.pinned.copy");
  CHECK(list[2].label == "h2d.pinned.copy.1000000B");
}

TEST_CASE("a sample that is no time is told and left out") {
  for (const char* bad : {"0", "-1", "null", "\"1\"", "[]"}) {
    const auto list = measurements(cells(std::string(R"({"samples_s":[1,)") + bad + "]}"));
    CAPTURE(bad);
    CHECK(list.front().has_bad_sample);
    CHECK(list.front().samples_s == std::vector<double>{1});
  }
}

TEST_CASE("a kernel's result and the id it is known by") {
  const auto list = measurements(parsed(
      R"({"schema":"hiptool.run-kernel/1","results":[{"kernel":"add","dtype":"f32",
          "elements":1024,"device":"amd:1","status":"ok","samples_s":[1,3],"bytes_per_s":5,
          "flops_per_s":7,"share_of_peak":0.5},
          {"id":"memtest.u32.90%@amd:1","kernel":"memtest","dtype":"u32","elements":9}]})"));
  REQUIRE(list.size() == 2);
  CHECK(list.front().id == "add.f32.1024.amd:1");
  CHECK(list.front().label == "add.f32.1024");
  CHECK(list.front().destination == "amd:1");
  CHECK(list.front().median_s == 2);
  CHECK(list.front().flops_per_s == 7);
  CHECK(list.front().share_of_limit == 0.5);
  // The same on devices of any size, as the id is.
  CHECK(list.back().label == "memtest.u32.90%");
  CHECK(list.back().series == "memtest.u32");
}

TEST_CASE("a load and its copies") {
  const auto list = measurements(parsed(
      R"({"schema":"hiptool.load/1","status":"verified","model":{"path":"/m/a.gguf","bytes":100},
          "load_time_s":2,"bytes_per_s":50,"devices":[{"id":"cpu:0","bytes":60,"copy_time_s":1,
          "copy_bytes_per_s":60},{"id":"cpu:1","bytes":40,"copy_bytes_per_s":null}]})"));
  REQUIRE(list.size() == 2);
  CHECK(list[0].id == "load.a.gguf");
  CHECK(list[0].status == Status::ok);
  CHECK(list[0].bytes_per_s == 50);
  CHECK(list[0].destination.empty());
  CHECK(list[1].id == "load-copy.a.gguf.cpu:0");
  CHECK(list[1].bytes_per_s == 60);
  CHECK(list[1].size_bytes == 60);
}

TEST_CASE("a load that computed wrong had right copies") {
  const auto list = measurements(parsed(
      R"({"schema":"hiptool.load/1","status":"wrong","model":{"path":"/m/a.gguf","bytes":100},
          "bytes_per_s":50,"devices":[{"id":"cpu:0","copy_bytes_per_s":60}]})"));
  REQUIRE(list.size() == 2);
  CHECK(list[0].status == Status::mismatch);
  CHECK(list[1].id == "load-copy.a.gguf.cpu:0");
  CHECK(list[1].status == Status::ok);
}

TEST_CASE("two results with the same id are damage") {
  CHECK(measurements(cells(R"({"id":"a"},{"id":"b"})")).size() == 2);
  CHECK_THROWS_WITH_AS(measurements(cells(R"({"id":"a"},{"id":"b"},{"id":"a"})")),
                       "two results have the id 'a'", Error);
  CHECK_THROWS_WITH_AS(measurements(parsed(R"({"schema":"hiptool.load/1","model":{"path":"m"},
      "devices":[{"id":"x","copy_bytes_per_s":1},{"id":"x","copy_bytes_per_s":1}]})")),
                       "two results have the id 'load-copy.m.x'", Error);
}

TEST_CASE("members of any type are borne") {
  for (const char* value : {"null", "\"x\"", "-1", "1e300", "[]", "{}", "[[{}]]", "true"}) {
    for (const char* name : {"id", "kind", "memory", "source", "size_bytes", "status", "reason",
                             "samples_s", "median_s", "median_bytes_per_s"}) {
      const std::string entry = std::string("{\"") + name + "\":" + value + "}";
      CHECK(measurements(cells(entry)).size() == 1);
    }
    CHECK(measurements(
              parsed(R"({"schema":"hiptool.bench-copy/1","cells":)" + std::string(value) + "}"))
              .size() < 2);
    CHECK(kind_of(parsed(std::string("{\"schema\":") + value + "}")).name.empty());
  }
}

TEST_CASE("kinds and names") {
  CHECK(kind_of(parsed(R"({"schema":"hiptool.bench-copy/12"})")).name == "bench-copy");
  CHECK(kind_of(parsed(R"({"schema":"hiptool.bench-copy/12"})")).version == "12");
  CHECK(kind_of(parsed(R"({"schema":"hiptool.load"})")).name.empty());
  CHECK(kind_of(parsed(R"({"schema":"other.load/1"})")).name.empty());
  const auto name_in = [](const char* text) {
    return texts_of(device_texts(parsed(text)), "amd:0").name;
  };
  CHECK(name_in(R"({"devices":[{"id":"amd:0","name":"X"}]})") == "X");
  CHECK(name_in(R"({"context":{"devices":[{"device":"amd:0","name":"X"}]}})") == "X");
  CHECK(name_in(R"({"context":{"amd:0":{"name":"X"}}})") == "X");
  CHECK(name_in(R"({"devices":[{"id":"amd:0","uuid":"U"},{"id":"amd:0","name":"Y"}],
                    "context":{"devices":{"amd:0":{"name":"X"}}}})") == "Y");
  CHECK(name_in(R"({"context":3})").empty());
  CHECK(platform_of("nvidia:12") == "nvidia");
  CHECK(platform_of("host").empty());
  CHECK(platform_of("cpu:").empty());
  CHECK(platform_of("cpu:0,cpu:1").empty());
}
