// SPDX-License-Identifier: MIT
#include "user_kernel/fatbin.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "hiptool/error.hpp"

using namespace hiptool;
using namespace hiptool::user_kernel;

namespace {

constexpr std::uint64_t plain = 0x11;
constexpr std::uint64_t zstd = 0x8000;
constexpr std::uint64_t arch_only = 0x100000;
constexpr std::uint64_t family = 0x200000;
constexpr std::uint16_t ptx = 1;
constexpr std::uint16_t cubin = 2;

struct Given {
  std::uint16_t kind = ptx;
  std::uint32_t arch = 75;
  std::uint64_t flags = plain;
  std::string content = "text";
  std::uint32_t header_bytes = 64;
};

template <class Number>
void put(std::string& text, std::size_t offset, Number number) {
  text.replace(offset, sizeof(number), reinterpret_cast<const char*>(&number), sizeof(number));
}

std::string make(const std::vector<Given>& entries) {
  std::string body;
  for (const Given& entry : entries) {
    std::string header(entry.header_bytes, '\0');
    put<std::uint16_t>(header, 0, entry.kind);
    put<std::uint32_t>(header, 4, entry.header_bytes);
    put<std::uint64_t>(header, 8, entry.content.size());
    put<std::uint32_t>(header, 28, entry.arch);
    put<std::uint64_t>(header, 40, entry.flags);
    body += header + entry.content;
  }
  std::string file("\x50\xED\x55\xBA\x01\x00\x10\x00", 8);
  file.resize(16);
  put<std::uint64_t>(file, 8, body.size());
  return file + body;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// What a device would take, in words.
std::string choice(const std::vector<Given>& given, std::string_view arch) {
  const std::string file = make(given);
  const auto entries = read_fatbin(bytes_of(file));
  const FatbinEntry* const chosen = choose_entry(entries, arch);
  return chosen == nullptr ? "none" : describe(*chosen);
}

ErrorCode code_of(const std::string& file) {
  // A block of exactly that size, so that a sanitizer sees a read behind it.
  const std::vector<std::byte> bytes(bytes_of(file).begin(), bytes_of(file).end());
  try {
    read_fatbin(bytes);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

}  // namespace

TEST_CASE("fat binary: entries are read and described") {
  const std::string file = make({{cubin, 75, plain, "one"},
                                 {ptx, 90, plain | zstd, "other", 80},
                                 {cubin, 90, plain | arch_only},
                                 {ptx, 100, plain | family},
                                 {64, 100, plain, ""}});
  const auto entries = read_fatbin(bytes_of(file));
  REQUIRE(entries.size() == 5);
  CHECK(entries[0].kind == FatbinKind::cubin);
  CHECK_FALSE(entries[0].is_compressed);
  CHECK(entries[1].bytes.size() == 5);
  CHECK(entries[1].bytes.front() == std::byte{'o'});
  CHECK(entries[1].is_compressed);
  CHECK(describe(entries) ==
        "cubin for sm_75; PTX for compute_90, compressed; cubin for sm_90a; PTX for compute_100f; "
        "an entry of an unknown kind");
  CHECK(read_fatbin(bytes_of(make({}))).empty());
  CHECK(describe(std::vector<FatbinEntry>{}) == "nothing");
  for (const std::uint64_t flag : {0x1000u, 0x2000u, 0x8000u}) {
    const std::string one = make({{ptx, 75, plain | flag}});
    CHECK(read_fatbin(bytes_of(one)).front().is_compressed);
  }
}

TEST_CASE("fat binary: the entry for a device") {
  const std::vector<Given> usual{{cubin, 75}, {cubin, 80}, {cubin, 86}, {ptx, 75}, {ptx, 80}};
  CHECK(choice(usual, "sm_70") == "none");
  CHECK(choice(usual, "sm_75") == "cubin for sm_75");
  CHECK(choice(usual, "sm_80") == "cubin for sm_80");
  CHECK(choice(usual, "sm_86") == "cubin for sm_86");
  CHECK(choice(usual, "sm_89") == "cubin for sm_86");
  CHECK(choice(usual, "sm_90") == "PTX for compute_80");
  CHECK(choice(usual, "sm_120") == "PTX for compute_80");
  const std::vector<Given> single{{cubin, 90, plain | arch_only}, {ptx, 90, plain | arch_only}};
  CHECK(choice(single, "sm_90") == "cubin for sm_90a");
  CHECK(choice(single, "sm_100") == "none");
  const std::vector<Given> of_family{{ptx, 100, plain | family}};
  CHECK(choice(of_family, "sm_100") == "PTX for compute_100f");
  CHECK(choice(of_family, "sm_103") == "PTX for compute_100f");
  CHECK(choice(of_family, "sm_120") == "none");
  CHECK(choice({{cubin, 90}, {cubin, 90, plain | arch_only}}, "sm_90") == "cubin for sm_90a");
  CHECK(choice({{64, 90}}, "sm_90") == "none");
  CHECK(choice(usual, "gfx90a") == "none");
  CHECK(choice(usual, "sm_") == "none");
  CHECK(choice({}, "sm_90") == "none");
}

TEST_CASE("fat binary: kernels of all entries of the chosen kind, unless one is compressed") {
  const std::string first = ".version 6.0\n.target sm_75\n.entry first(.param .u64 x) { ret; }\n";
  const std::string second = ".version 6.0\n.target sm_75\n.entry second() { ret; }\n";
  const auto kernels = [](const std::vector<Given>& given) {
    const std::string file = make(given);
    const auto entries = read_fatbin(bytes_of(file));
    return kernels_of(entries, *choose_entry(entries, "sm_75"));
  };
  const auto both = kernels({{ptx, 75, plain, first}, {ptx, 75, plain, second}, {ptx, 60}});
  REQUIRE(both);
  REQUIRE(both->size() == 2);
  CHECK((*both)[0].name == "first");
  CHECK((*both)[0].arguments.size() == 1);
  CHECK((*both)[1].name == "second");
  CHECK_FALSE(kernels({{ptx, 75, plain, first}, {ptx, 75, plain | zstd, second}}));
  CHECK(kernels({{ptx, 75, plain, first}, {ptx, 60, plain | zstd, second}}));
  CHECK_FALSE(kernels({{ptx, 75, plain, "no image"}}));
}

TEST_CASE("fat binary: what ends too early is refused") {
  const std::string whole = make({{cubin, 75, plain, "one"}, {ptx, 90, plain, "other", 80}});
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    CAPTURE(kept);
    CHECK(code_of(whole.substr(0, kept)) == ErrorCode::corrupt_data);
  }
  CHECK(code_of(make({{ptx, 75, plain, "text", 48}})) == ErrorCode::internal);
  std::string short_header = make({{ptx, 75, plain, "text", 48}});
  put<std::uint32_t>(short_header, 16 + 4, 47);
  CHECK(code_of(short_header) == ErrorCode::corrupt_data);
  put<std::uint32_t>(short_header, 16 + 4, 0);
  CHECK(code_of(short_header) == ErrorCode::corrupt_data);
  std::string long_entry = make({{ptx, 75}});
  put<std::uint64_t>(long_entry, 16 + 8, ~std::uint64_t{0} - 63);
  CHECK(code_of(long_entry) == ErrorCode::corrupt_data);
  std::string no_header = make({{ptx, 75}});
  put<std::uint16_t>(no_header, 6, 8);
  CHECK(code_of(no_header) == ErrorCode::corrupt_data);
}
