// SPDX-License-Identifier: MIT
#include "fakes/cuda/image.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "fakes/common/elf.hpp"
#include "fakes/common/settings.hpp"

namespace hiptool::fake {
namespace {

constexpr std::uint16_t cuda_machine = 190;
constexpr unsigned device_arch = 90;
constexpr int invalid_image = 200;
constexpr int no_binary_for_gpu = 209;
constexpr int invalid_ptx = 218;
constexpr int unsupported_ptx_version = 222;

/// The number behind a word that begins a line, such as ".target sm_".
std::optional<int> number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  int number = 0;
  const char* const start = text.data() + at + word.size();
  const auto [end, error] = std::from_chars(start, text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

Contents read_ptx(std::string_view text) {
  const auto version = number_after(text, ".version ");
  const auto target = number_after(text, ".target sm_");
  if (!version || !target) {
    return {invalid_ptx, {}, "ptxas fatal   : Ptx assembly aborted due to errors", {}};
  }
  // What a driver of CUDA 13.0 reads.
  if (*version > number_from("FAKE_CUDA_PTX_MAJOR", 9))
    return {unsupported_ptx_version, {}, "unsupported .version", {}};
  if (static_cast<unsigned>(*target) > device_arch)
    return {no_binary_for_gpu, {}, "the .target is newer than the device", {}};
  Contents contents;
  constexpr std::string_view word = ".entry";
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at)) {
    at = text.find_first_not_of(" \t\r\n", at + word.size());
    const std::size_t end = text.find_first_of(" \t\r\n(", at);
    if (end == std::string_view::npos) break;
    contents.kernels.emplace_back(text.substr(at, end - at));
    at = end;
  }
  // ".visible .global .align 1 .u8 name = 1;"
  constexpr std::string_view variable = ".visible .global ";
  for (std::size_t at = text.find(variable); at != std::string_view::npos;
       at = text.find(variable, at + 1)) {
    const std::string_view line = text.substr(at, text.find_first_of("=[;", at) - at);
    const std::size_t last = line.find_last_not_of(' ');
    const std::size_t space = line.find_last_of(' ', last);
    contents.variables.emplace_back(line.substr(space + 1, last - space));
  }
  return contents;
}

/// From ABI version 8 on, which CUDA 13 writes, the arch stands in the second byte of the flags.
int object_arch(const char* image) {
  constexpr std::size_t flags_offset = 48;
  constexpr std::size_t abi_version_offset = 8;
  constexpr int first_new_abi_version = 8;
  std::uint32_t flags = 0;
  std::memcpy(&flags, image + flags_offset, sizeof(flags));
  const bool is_new = image[abi_version_offset] >= first_new_abi_version;
  return static_cast<int>((is_new ? flags >> 8 : flags) & 0xff);
}

/// Code of sm_9x runs on sm_90 if x is no more than 0; each kernel has a section of its own.
Contents read_object(const char* image) {
  constexpr std::string_view mark = ".text.";
  const Elf object(image);
  if (!object.is_for(cuda_machine)) return {invalid_image, {}, {}, {}};
  if (object_arch(image) != device_arch) return {no_binary_for_gpu, {}, {}, {}};
  // As a driver older than the ptxas that made the object.
  if (const int error = number_from("FAKE_CUDA_CUBIN_ERROR", 0); error != 0)
    return {error, {}, {}, {}};
  Contents contents;
  for (const std::string& name : object.section_names()) {
    if (name.starts_with(mark)) contents.kernels.push_back(name.substr(mark.size()));
  }
  // All names of symbols: no variable has a kernel's.
  constexpr std::uint32_t string_table = 3;
  for (const std::string_view names : object.sections(string_table)) {
    for (std::size_t at = 0; at < names.size(); at += contents.variables.back().size() + 1) {
      contents.variables.emplace_back(names.data() + at);
    }
  }
  return contents;
}

/// The first PTX of a fat binary that the device can take. What is compressed is none here: its
/// kernels are loaded, and have no names.
Contents read_fatbin(const char* image) {
  constexpr std::size_t header_bytes = 16;
  constexpr std::uint16_t ptx = 1;
  constexpr std::uint64_t compressed = 0xa000;
  const auto number = [image](std::uint64_t offset, auto value) {
    std::memcpy(&value, image + offset, sizeof(value));
    return value;
  };
  const std::uint64_t end = header_bytes + number(8, std::uint64_t{});
  for (std::uint64_t at = header_bytes; at < end;) {
    const std::uint64_t content = at + number(at + 4, std::uint32_t{});
    const bool is_compressed = (number(at + 40, std::uint64_t{}) & compressed) != 0;
    const bool suits =
        number(at, std::uint16_t{}) == ptx && number(at + 28, std::uint32_t{}) <= device_arch;
    if (suits) return is_compressed ? Contents{} : read_ptx(image + content);
    at = content + number(at + 8, std::uint64_t{});
  }
  return {no_binary_for_gpu, {}, {}, {}};
}

}  // namespace

Contents read_cuda_image(const void* image) {
  const char* const bytes = static_cast<const char*>(image);
  if (std::strncmp(bytes, "\x50\xED\x55\xBA", 4) == 0) return read_fatbin(bytes);
  if (std::strncmp(bytes, "\177ELF", 4) == 0) return read_object(bytes);
  const std::string_view text(bytes);
  const bool is_ptx = text.find(".version") != std::string_view::npos;
  return is_ptx ? read_ptx(text) : Contents{invalid_image, {}, {}, {}};
}

}  // namespace hiptool::fake
