// SPDX-License-Identifier: MIT
// Any bytes as a kernel image, whatever their first ones say.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "core/image_check.hpp"
#include "hiptool/error.hpp"
#include "user_kernel/fatbin.hpp"
#include "user_kernel/image_info.hpp"

using namespace hiptool;

namespace {

/// Only one kind of failure is there for damaged images.
template <class Read>
void check(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt_data) std::abort();
  }
}

void check_result(const user_kernel::ImageInfo& info) {
  if (!info.kernels) return;
  for (const user_kernel::KernelInfo& kernel : *info.kernels) {
    for (const user_kernel::ArgumentInfo& argument : kernel.arguments) {
      const bool has_size = argument.size_bytes > 0;
      if (info.kind == core::ImageKind::ptx && !has_size) std::abort();
    }
  }
}

void check_fatbin(std::span<const std::byte> image) {
  const auto entries = user_kernel::read_fatbin(image);
  std::size_t total = 0;
  for (const user_kernel::FatbinEntry& entry : entries) {
    total += entry.bytes.size();
    if (user_kernel::describe(entry).empty()) std::abort();
    check([&] { static_cast<void>(user_kernel::kernels_of(entries, entry)); });
  }
  if (total > image.size()) std::abort();
  for (const char* arch : {"sm_75", "sm_90", "sm_121", "sm_", "gfx90a"}) {
    const user_kernel::FatbinEntry* const chosen = user_kernel::choose_entry(entries, arch);
    const bool is_one =
        chosen == nullptr || (chosen >= entries.data() && chosen < entries.data() + entries.size());
    if (!is_one) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const auto image = std::as_bytes(std::span(bytes, size));
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  check([&] { check_result(user_kernel::read_image_info(image)); });
  check([&] { check_result(user_kernel::read_amd_object(image)); });
  check([&] { check_result(user_kernel::read_cubin(image)); });
  check([&] { check_result(user_kernel::read_ptx(text)); });
  check([&] {
    for (const user_kernel::BundleEntry& entry : user_kernel::read_bundle(image)) {
      check([&] { check_result(user_kernel::read_image_info(entry.bytes)); });
    }
  });
  check([&] { check_fatbin(image); });
  return 0;
}
