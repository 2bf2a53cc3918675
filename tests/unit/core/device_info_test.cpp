// SPDX-License-Identifier: MIT
/// What becomes of the answers of AMD's runtimes, which no machine without such a GPU gives.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "core/platform_state.hpp"
#include "hip/api.hpp"
#include "hip/binding.hpp"
#include "hiptool/device.hpp"

using namespace hiptool;

namespace {

/// What the calls below answer. Attributes that are not there are errors, as in older releases.
struct Answers {
  std::string uuid = {};
  std::map<int, int> attributes = {};
  std::string bus_id = {};
  bool has_uuid = true;
};
Answers answers;

hip::hipError_t get_uuid(hip::hipUUID* uuid, hip::hipDevice_t) {
  if (!answers.has_uuid) return hip::hipErrorNotSupported;
  std::memcpy(uuid->bytes, answers.uuid.data(), std::min(answers.uuid.size(), sizeof uuid->bytes));
  return hip::hipSuccess;
}

hip::hipError_t get_attribute(int* value, hip::hipDeviceAttribute_t number, int) {
  const auto found = answers.attributes.find(number);
  if (found == answers.attributes.end()) return hip::hipErrorInvalidValue;
  *value = found->second;
  return hip::hipSuccess;
}

hip::hipError_t get_bus_id(char* text, int bytes, int) {
  answers.bus_id.copy(text, static_cast<std::size_t>(bytes));
  return hip::hipSuccess;
}

class OneAmdDevice final : public hip::Binder {
 public:
  OneAmdDevice() : api_(hip::make_unsupported_api()) {
    api_.hipDeviceGetUuid = get_uuid;
    api_.hipDeviceGetAttribute = get_attribute;
    api_.hipDeviceGetPCIBusId = get_bus_id;
  }
  hip::Binding bind(Platform platform, const hip::BindRequest&) override {
    hip::Binding binding;
    binding.status.platform = platform;
    binding.status.usable = true;
    binding.status.device_count = 1;
    binding.api = &api_;
    return binding;
  }

 private:
  hip::Api api_;
};

DeviceInfo info_of(Answers given) {
  answers = std::move(given);
  static Platforms platforms = core::make_platforms({}, std::make_shared<OneAmdDevice>());
  return platforms.devices(Platform::amd).front().info();
}

std::string uuid_of(const std::string& bytes) {
  return info_of({.uuid = bytes}).uuid.value_or("none");
}

}  // namespace

TEST_CASE("AMD's uuid is text, and a chip without a serial number has none") {
  CHECK(uuid_of("4b3d1c0a9e8f7065") == "GPU-4b3d1c0a9e8f7065");
  CHECK(uuid_of("0000000000000001") == "GPU-0000000000000001");
  CHECK(uuid_of("XX") == "none");
  CHECK(uuid_of("") == "none");
  CHECK_FALSE(info_of({.has_uuid = false}).uuid);
}

TEST_CASE("CUDA's uuid is raw bytes") {
  CHECK(uuid_of(std::string("\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10",
                            16)) == "GPU-01234567-89ab-cdef-fedc-ba9876543210");
}

TEST_CASE("compute units of a chip that counts pairs of them as one multiprocessor") {
  CHECK(info_of({.attributes = {{63, 48}, {10015, 96}}}).compute_units == 96);
  CHECK(info_of({.attributes = {{63, 304}}}).compute_units == 304);  // HIP before 5.2
  CHECK_FALSE(info_of({}).compute_units);
}

TEST_CASE("the bus id has the form of /sys") {
  CHECK(info_of({.bus_id = "0000:C1:00.0"}).pci_bus_id == "0000:c1:00.0");
  CHECK_FALSE(info_of({.bus_id = "junk"}).pci_bus_id);
}
