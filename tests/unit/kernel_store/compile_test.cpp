// SPDX-License-Identifier: MIT
#include "kernel_store/compile.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "hip/rtc.hpp"
#include "hiptool/error.hpp"
#include "kernel_store/images.hpp"
#include "support.hpp"

using namespace hiptool;
using namespace hiptool::kernel_store;

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<Error> failure(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

bool contains(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

fs::path write_script(const test::TemporaryFolder& folder, const std::string& body) {
  const fs::path path = folder.path() / "compiler";
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

fs::path only_file(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  return files.front();
}

CompileRequest embedded_request(Platform platform, const std::string& arch,
                                const std::string& name) {
  return {platform, arch, name, std::string(embedded_text(name)), embedded_headers()};
}

bool is_missing(Platform platform) {
  const hip::RtcLibrary& library = hip::find_rtc(platform);
  if (library.api != nullptr) return false;
  test::skip_case(library.reason);
  return true;
}

/// The embedded kernel sources that gfx90a has instructions for, or sm_80.
std::vector<std::string> sources_for(Platform platform) {
  std::vector<std::string> names;
  for (const Image& image : embedded_images()) {
    const bool is_not_of_gfx90a =
        image.source == "fma_bf16" || image.source == "gemm_matrix" ||
        image.source == "ops_matmul_groups" || image.source == "ops_matmul_tile" ||
        image.source == "ops_quantised_many" || image.source == "ops_quantised_ring";
    if (image.target != "source" || (is_not_of_gfx90a && platform == Platform::amd)) continue;
    names.emplace_back(image.source);
  }
  return names;
}

}  // namespace

// Under a sanitizer the vendor's compiler takes minutes, and is not what it looks at.
TEST_CASE("hipRTC compiles every embedded source for gfx90a without a GPU" *
          doctest::skip(test::is_sanitized)) {
  if (is_missing(Platform::amd)) return;
  for (const std::string& name : sources_for(Platform::amd)) {
    CAPTURE(name);
    const auto image = compile_in_process(embedded_request(Platform::amd, "gfx90a", name));
    REQUIRE(image.size() > 64);
    CHECK(
        text_of(image).starts_with("\x7f"
                                   "ELF"));
    CHECK(image[18] == std::byte{224});
  }
}

TEST_CASE("hipRTC names the GPUs whose matrix units are used") {
  if (is_missing(Platform::amd)) return;
  const auto error = failure(
      [] { compile_in_process(embedded_request(Platform::amd, "gfx90a", "ops_matmul_tile")); });
  REQUIRE(error.has_value());
  CHECK(contains(*error, "gfx942, gfx950, gfx11 and gfx12"));
}

TEST_CASE("NVRTC compiles every embedded source for compute_80 without a GPU" *
          doctest::skip(test::is_sanitized)) {
  if (is_missing(Platform::nvidia)) return;
  for (const std::string& name : sources_for(Platform::nvidia)) {
    CAPTURE(name);
    const auto image = compile_in_process(embedded_request(Platform::nvidia, "sm_80", name));
    CHECK(text_of(image).find(".target sm_80") != std::string::npos);
    CHECK(image.back() == std::byte{0});
  }
}

TEST_CASE("what a compiler refuses comes with its log") {
  for (const auto platform : {Platform::amd, Platform::nvidia}) {
    if (is_missing(platform)) continue;
    CompileRequest request =
        embedded_request(platform, platform == Platform::amd ? "gfx90a" : "sm_75", "fill");
    request.source = "#error there is no kernel";
    const auto error = failure([&] { compile_in_process(request); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::device);
    CHECK(contains(*error, "'fill'"));
    CHECK(contains(*error, "there is no kernel"));
  }
}

TEST_CASE("a platform without a compiler says so") {
  const auto error = failure([] { compile_in_process({Platform::cpu, "x86_64", "fill", "", {}}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::unsupported);
  CHECK(contains(*error, "cpu"));
}

TEST_CASE("archs tell their platform") {
  CHECK(platform_of_arch("gfx90a") == Platform::amd);
  CHECK(platform_of_arch("sm_90") == Platform::nvidia);
  CHECK(failure([] { platform_of_arch("x86_64"); })->code() == ErrorCode::invalid_argument);
}

TEST_CASE("the version of PTX is lowered to the driver's, never raised") {
  const auto lowered = [](const char* version, int driver) {
    auto ptx = bytes_of("//\n.version " + std::string(version) + "\n.target sm_75\n");
    hip::lower_ptx_version(ptx, driver);
    const std::string text = text_of(ptx);
    const std::size_t start = text.find(".version ") + 9;
    CHECK(text.ends_with("\n.target sm_75\n"));
    return text.substr(start, text.find('\n', start) - start);
  };
  CHECK(lowered("9.0", 13000) == "9.0");
  CHECK(lowered("9.1", 13000) == "9.0");
  CHECK(lowered("9.0", 12090) == "8.8");
  CHECK(lowered("9.0", 12060) == "8.5");
  CHECK(lowered("9.0", 12050) == "8.5");
  CHECK(lowered("9.0", 12000) == "8.0");
  CHECK(lowered("9.0", 11080) == "7.8");
  CHECK(lowered("9.0", 10020) == "6.5");
  CHECK(lowered("9.0", 9020) == "6.2");
  CHECK(lowered("6.0", 13000) == "6.0");
  CHECK(lowered("9.0", 0) == "9.0");
  auto other = bytes_of(
      "\x7f"
      "ELF");
  hip::lower_ptx_version(other, 9000);
  CHECK(text_of(other) ==
        "\x7f"
        "ELF");
}

TEST_CASE("the cache: miss, hit, another text, a damaged entry, a folder that cannot be") {
  const test::TemporaryFolder folder;
  const auto trace = std::make_shared<test::RecordingTrace>();
  int compiled = 0;
  const Compile inner = [&](const CompileRequest&) {
    return bytes_of("image " + std::to_string(++compiled));
  };
  const Compile compile = with_disk_cache(inner, folder.path() / "a" / "b", trace);
  CompileRequest request{Platform::cpu, "none", "sample", "text", {{"a.h", "header"}}};
  CHECK(text_of(compile(request)) == "image 1");
  CHECK(text_of(compile(request)) == "image 1");
  const fs::path entry = only_file(folder.path() / "a" / "b");
  const auto size_bytes = fs::file_size(entry);

  for (const std::size_t place : {std::size_t{0}, std::size_t{20}, std::size_t{size_bytes - 1}}) {
    const std::string before = text_of(compile(request));
    std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(place));
    file.put('#');
    file.close();
    CHECK(text_of(compile(request)) != before);
  }
  CHECK(compiled == 4);
  for (const std::size_t size : {0u, 16u, 32u, 33u}) {
    fs::resize_file(entry, size);
    compile(request);
  }
  CHECK(compiled == 8);
  CHECK(text_of(compile(request)) == "image 8");
  CHECK(only_file(folder.path() / "a" / "b") == entry);  // no temporary file is left

  // The same letters, divided differently.
  const CompileRequest others[] = {
      {Platform::cpu, "none", "sample", "texta", {{".h", "header"}}},
      {Platform::cpu, "none", "sample", "text", {{"a.hh", "eader"}}},
      {Platform::cpu, "none", "sample", "text", {{"a.h", "header"}, {"", ""}}},
  };
  for (const CompileRequest& other : others) {
    const int before = compiled;
    compile(other);
    CHECK(compiled == before + 1);
    compile(other);
    CHECK(compiled == before + 1);
  }
  compiled = 9;
  CHECK(trace->notes().empty());

  std::ofstream(folder.path() / "file") << "in the way";
  const Compile blocked = with_disk_cache(inner, folder.path() / "file", trace);
  CHECK(text_of(blocked(request)) == "image 10");
  CHECK(text_of(blocked(request)) == "image 11");
  CHECK(trace->notes().size() == 2);
  CHECK(trace->notes().front().starts_with("kernel cache: "));
}

TEST_CASE("where the cache is") {
  const std::string home = ::getenv("HOME") != nullptr ? ::getenv("HOME") : "";
  setenv("HOME", "/h", 1);
  setenv("XDG_CACHE_HOME", "/c", 1);
  CHECK(cache_folder_from_environment() == "/c/hiptool");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(cache_folder_from_environment() == "/h/.cache/hiptool");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  CHECK(cache_folder_from_environment().empty());
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

TEST_CASE("a child process: its words, its image, its failure, its abort, its silence") {
  const test::TemporaryFolder folder;
  const CompileRequest request{Platform::amd, "gfx90a", "sample", "the text", {}};
  const auto compile = [&](const std::string& script, std::chrono::milliseconds timeout = 20s) {
    return compile_in_child(write_script(folder, script), timeout)(request);
  };
  CHECK(text_of(compile("cat \"$2\" > \"$6\"; echo \" $1 $3 $4 $5\" >> \"$6\"")) ==
        "the text compile-kernel --target gfx90a --out\n");

  const auto failed = failure([&] { compile("echo some reason >&2; exit 5"); });
  REQUIRE(failed.has_value());
  CHECK(failed->code() == ErrorCode::device);
  CHECK(contains(*failed, "exit code 5\nsome reason"));

  const auto aborted = failure([&] { compile("echo munmap_chunk; kill -ABRT $$"); });
  REQUIRE(aborted.has_value());
  CHECK(aborted->code() == ErrorCode::device);
  CHECK(contains(*aborted, "signal 6"));
  CHECK(contains(*aborted, "munmap_chunk"));

  const auto hanging = failure([&] { compile("exec sleep 86400", 200ms); });
  REQUIRE(hanging.has_value());
  CHECK(hanging->code() == ErrorCode::timed_out);

  CHECK(failure([&] { compile("exit 0"); }).has_value());  // no image is no success
  const Compile absent = compile_in_child(folder.path() / "absent", 1s);
  const auto missing = failure([&] { absent(request); });
  REQUIRE(missing.has_value());
  CHECK(contains(*missing, "does not start"));
}

TEST_CASE("hiptool itself compiles as a child process") {
  const char* program = ::getenv("HIPTOOL_PROGRAM");
  if (program == nullptr) return test::skip_case("HIPTOOL_PROGRAM does not name the program");
  const Compile compile = compile_in_child(program, 60s);
  for (const auto platform : {Platform::amd, Platform::nvidia}) {
    if (is_missing(platform)) continue;
    const char* arch = platform == Platform::amd ? "gfx90a" : "sm_75";
    CompileRequest request = embedded_request(platform, arch, "fill");
    CHECK(text_of(compile(request)) == text_of(compile_in_process(request)));
    request.source = "#error there is no kernel";
    const auto error = failure([&] { compile(request); });
    REQUIRE(error.has_value());
    CHECK(contains(*error, "ended with exit code"));
    CHECK(contains(*error, "could not compile"));
  }
  // That of Debian knows none of these; where one is known, the matrix instructions are too.
  for (const char* arch : {"gfx942", "gfx1100", "gfx1201"}) {
    if (is_missing(Platform::amd)) break;
    CAPTURE(arch);
    if (failure([&] { compile(embedded_request(Platform::amd, arch, "fill")); })) {
      test::skip_case("this hipRTC does not know " + std::string(arch));
      continue;
    }
    CHECK(compile(embedded_request(Platform::amd, arch, "ops_matmul_tile")).size() > 64);
  }
  // The release of hipRTC that Debian has aborts for an arch that it does not know; later ones
  // refuse it. Either way it is an Error here.
  if (!is_missing(Platform::amd)) {
    CHECK(failure([&] { compile(embedded_request(Platform::amd, "gfx9999", "fill")); }));
  }
}
