// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "harness.hpp"
#include "unit/model/builders.hpp"
#include "unit/system/synthetic_tree.hpp"

using namespace hiptool::cli::testing;
using hiptool::system::SyntheticTree;
using hiptool::test::Bytes;
using hiptool::test::Gguf;

namespace {

constexpr std::uint64_t gib_bytes = std::uint64_t{1} << 30;

// Layers of 2 GiB each in a file that takes no room; 4 KiB of cache for each token and layer.
void write_sparse_model(const std::filesystem::path& path, std::uint32_t layers) {
  Gguf file;
  file.architecture();
  file.pair("llama.block_count", 4, Bytes().u32(layers));
  file.pair("llama.embedding_length", 4, Bytes().u32(4096));
  file.pair("llama.attention.head_count", 4, Bytes().u32(32));
  file.pair("llama.attention.head_count_kv", 4, Bytes().u32(8));
  for (std::uint32_t i = 0; i < layers; ++i) {
    file.tensor("blk." + std::to_string(i) + ".ffn_up.weight", {2 * gib_bytes}, 24,
                i * 2 * gib_bytes);
  }
  const std::string bytes = file.bytes();
  std::ofstream(path, std::ios::binary) << bytes;
  std::filesystem::resize_file(path, bytes.size() + layers * 2 * gib_bytes);
}

struct Fixture {
  Fixture() {
    machine.system_root = tree.root();
    tree.write("proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB");  // 64, 32 GiB
  }

  void add_amd(const std::string& bus_id, int minor, std::uint64_t total, std::uint64_t used) {
    tree.add_pci(bus_id, "0x1002", "0x744c", "0x030000", "amdgpu");
    const std::string device = "sys/bus/pci/devices/" + bus_id + "/";
    tree.write(device + "mem_info_vram_total", std::to_string(total));
    tree.write(device + "mem_info_vram_used", std::to_string(used));
    tree.link("sys/class/drm/renderD" + std::to_string(minor) + "/device",
              "../../../bus/pci/devices/" + bus_id);
  }

  int fit(std::vector<std::string> words, const std::string& tokens = "1024") {
    const std::string path = folder / "m.gguf";
    if (!std::filesystem::exists(path)) write_sparse_model(path, layers);
    words.insert(words.begin(), {"load", path, "--dry-run", "--context", tokens});
    return machine.run(words);
  }
  bool says(std::string_view part) const { return contains(machine.out.text, part); }

  TemporaryFolder folder;
  SyntheticTree tree;
  Machine machine;
  std::uint32_t layers = 4;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "fit: AMD's memory is read from files, no driver is opened") {
  add_amd("0000:03:00.0", 128, 24 * gib_bytes, gib_bytes);
  add_amd("0000:04:00.0", 129, 16 * gib_bytes, 0);
  CHECK(fit({}) == 0);
  CHECK(machine.platforms_made == 0);
  CHECK(says("planned 8.00 GiB, which fits amd:0 with a context of 1 024"));
  CHECK(says("24.0 GiB  23.0 GiB"));
  CHECK(fit({"--device", "amd:1", "--format", "json"}) == 0);
  CHECK(says("\"id\": \"amd:1\""));
  CHECK(says("\"memory_total_bytes\": 17179869184"));
  // 1024 tokens x 4 layers x 8 heads x 256 elements x 2 bytes
  CHECK(says("\"kv_cache_bytes\": 16777216"));
  CHECK(says("\"verdict\": \"fits\""));
  CHECK(says("\"status\": \"planned\""));
  CHECK_FALSE(says("amd:0"));
  CHECK(fit({"--platform", "amd"}) == 0);
  CHECK(machine.platforms_made == 0);
}

TEST_CASE_FIXTURE(Fixture, "fit: several devices are a split, each once, in the order asked") {
  add_amd("0000:03:00.0", 128, 8 * gib_bytes, 0);
  add_amd("0000:04:00.0", 129, 8 * gib_bytes, 0);
  for (const char* ids : {"amd:1,amd:0,amd:1", "amd:1,all"}) {
    CHECK(fit({"--device", ids, "--format", "json"}) == 0);
    CHECK(says("\"verdict\": \"split\""));
    CHECK(says("\"split\": [\n      0.5,\n      0.5\n    ]"));
    CHECK(machine.out.text.find("amd:1") < machine.out.text.find("amd:0"));
    CHECK(says("\"tensors\": 2"));
  }
  CHECK(machine.platforms_made == 0);
}

TEST_CASE_FIXTURE(Fixture, "fit: what does not fit is exit 3, and says what would") {
  add_amd("0000:03:00.0", 128, 7 * gib_bytes, gib_bytes);
  add_amd("0000:04:00.0", 129, 8 * gib_bytes, 0);
  CHECK(fit({}) == 3);
  CHECK(says("does not fit: 2.42 GiB too little on amd:0, but split over amd:0-1"));
  CHECK(contains(machine.err.text, "amd:0, where 6.00 GiB of 7.00 GiB are free: 2.42 GiB too"));
  CHECK(contains(machine.err.text, "hint: split it over amd:0,amd:1 (50 %, 50 %)"));
  CHECK(contains(machine.err.text, "-ngl 3"));
  CHECK(fit({"--format", "json"}) == 3);
  CHECK(says("\"status\": \"failed\""));
  CHECK(says("\"code\": \"out_of_memory\""));
  CHECK(says("\"gpu_layers\": 3"));
  CHECK(says("\"most_context\": 0"));
  layers = 16;
  std::filesystem::remove(folder / "m.gguf");
  CHECK(fit({"--format", "json"}) == 3);
  CHECK(says("\"verdict\": \"gpu_layers\""));
  CHECK(says("\"split\": null"));
}

TEST_CASE_FIXTURE(Fixture, "fit: a context that is too long names the longest that fits") {
  add_amd("0000:03:00.0", 128, 24 * gib_bytes, 0);
  CHECK(fit({"--format", "json"}, "1073741824") == 3);
  const std::string key = "\"most_context\": ";
  const auto at = machine.out.text.find(key);
  REQUIRE(at != std::string::npos);
  const auto most = std::stoull(machine.out.text.substr(at + key.size()));
  CHECK(fit({}, std::to_string(most)) == 0);
  CHECK(fit({}, std::to_string(most + 1)) == 3);
  CHECK(contains(machine.err.text, "reduce --context to " + std::to_string(most)));
}

TEST_CASE_FIXTURE(Fixture, "fit: where files do not tell, the driver is asked") {
  SUBCASE("variables hide devices") {
    add_amd("0000:03:00.0", 128, 24 * gib_bytes, 0);
    machine.variables["HIP_VISIBLE_DEVICES"] = "1";
    CHECK(fit({}) == 3);  // AMD is not usable in this test
  }
  SUBCASE("the graphics of a processor") {
    add_amd("0000:03:00.0", 128, gib_bytes / 2, 0);
    CHECK(fit({}) == 3);
  }
  SUBCASE("a GPU without a file") {
    add_amd("0000:03:00.0", 128, 24 * gib_bytes, 0);
    tree.add_pci("0000:04:00.0", "0x1002", "0x744c", "0x030000", "amdgpu");
    CHECK(fit({}) == 3);
  }
  SUBCASE("a device that is not there, or by its bus id") {
    add_amd("0000:03:00.0", 128, 24 * gib_bytes, 0);
    CHECK(fit({"--device", "amd:1"}) == 3);
    CHECK(contains(machine.err.text, "amd:1"));
  }
  SUBCASE("NVIDIA") {
    tree.add_pci("0000:03:00.0", "0x10de", "0x2330", "0x030200", "nvidia");
    layers = 1;
    machine.gpus = 1;
    fit({"--format", "json"});
    CHECK(says("\"id\": \"nvidia:0\""));
  }
  CHECK(machine.platforms_made == 1);
}

TEST_CASE_FIXTURE(Fixture, "fit: the host's memory, without a margin") {
  CHECK(fit({"--format", "json"}) == 0);
  CHECK(says("\"id\": \"cpu:0\""));
  CHECK(says("\"memory_total_bytes\": 68719476736"));
  CHECK(says("\"memory_free_bytes\": 34359738368"));
  CHECK(says("\"margin_bytes\": 0"));
  add_amd("0000:03:00.0", 128, 24 * gib_bytes, 0);
  for (const char* option : {"--device=cpu", "--device=cpu:0", "--platform=cpu"}) {
    CHECK(fit({option}) == 0);
    CHECK(says("fits cpu:0"));
  }
  CHECK(fit({"--device", "all", "--platform", "cpu"}) == 0);
  CHECK(machine.platforms_made == 0);
  layers = 17;
  std::filesystem::remove(folder / "m.gguf");
  CHECK(fit({"--device", "cpu"}) == 3);
  CHECK(says("does not fit: 2.07 GiB too little on cpu:0"));
  CHECK_FALSE(contains(machine.err.text, "-ngl"));
}

TEST_CASE_FIXTURE(Fixture, "fit: devices of the cpu platform share the host's memory") {
  layers = 1;
  fit({"--device", "cpu:0,cpu:1", "--format", "json"});
  CHECK(machine.platforms_made == 1);
  CHECK(says("\"id\": \"cpu:1\""));
}

TEST_CASE_FIXTURE(Fixture, "fit: a load, too, makes room for the cache") {
  const std::string path = folder / "small.gguf";
  layers = 1;
  Gguf file;
  file.architecture();
  file.pair("llama.block_count", 4, Bytes().u32(1));
  file.pair("llama.embedding_length", 4, Bytes().u32(4096));
  file.pair("llama.attention.head_count", 4, Bytes().u32(32));
  file.tensor("blk.0.a", {64}, 24, 0).data(64);
  std::ofstream(path, std::ios::binary) << file.bytes();
  CHECK(machine.run({"load", path, "--device", "cpu", "--context", "16"}) == 0);
  CHECK(says("verified 64 B on cpu:0"));
  CHECK(says("KV cache 4.00 MiB"));  // of 256 tokens, the least
  // 16 KiB x 2^30 tokens
  CHECK(machine.run({"load", path, "--device", "cpu", "--context", "1073741824"}) == 3);
  CHECK(machine.out.text.empty());
  CHECK(contains(machine.err.text, "16.0 TiB for the KV cache"));
}

TEST_CASE_FIXTURE(Fixture, "fit: without the model's shape there is none; contexts are whole") {
  const std::string path = folder / "bare.gguf";
  Gguf file;
  file.architecture();
  file.tensor("a", {64}, 24, 0).data(64);
  std::ofstream(path, std::ios::binary) << file.bytes();
  for (const char* dry : {"--dry-run", "--quiet"}) {
    CHECK(machine.run({"load", path, dry, "--context", "16"}) == 2);
    CHECK(contains(machine.err.text, "llama.block_count, llama.attention.head_count are missing"));
    CHECK(contains(machine.err.text, "hint: leave out --context"));
  }
  for (const char* tokens : {"0", "-1", "x", "", "1.5", "1073741825"}) {
    CHECK(machine.run({"load", path, "--dry-run", std::string("--context=") + tokens}) == 2);
    CHECK(contains(machine.err.text, "--context"));
  }
  CHECK(machine.platforms_made == 0);
}
