// SPDX-License-Identifier: MIT
#include "sweep/subject.hpp"

#include <doctest/doctest.h>

#include <array>

#include "hip/binding.hpp"

namespace hiptool::sweep {
namespace {

const hip::Api* table = nullptr;  // scenarios are plain functions
std::array<char, 4096> page;

void leak(const scenarios::Place&) {
  REQUIRE(table->hipHostRegister(page.data(), page.size(), 0) == hip::hipSuccess);
}

void do_nothing(const scenarios::Place&) {}

}  // namespace

TEST_CASE("sweep: what one scenario leaks is not charged to the next one") {
  const auto binding = hip::make_registry()->bind(Platform::cpu, {});
  REQUIRE(binding.status.usable);
  const Subject subject{Platform::cpu, *binding.api, 1, "", false};
  const test::WrapperTable wrapper(*binding.api);
  table = &wrapper.api();
  const scenarios::Scenario leaking{.name = "leaks", .run = leak};
  const scenarios::Scenario clean{.name = "is clean", .run = do_nothing};
  CHECK(run(subject, clean, wrapper, "before").leaked.empty());
  const Outcome leaked = run(subject, leaking, wrapper, "itself");
  CHECK(leaked.leaked.find("1 registrations") != std::string::npos);
  CHECK(run(subject, clean, wrapper, "after").leaked.empty());
  CHECK(run(subject, clean, wrapper, "later").leaked.empty());
  CHECK(table->hipHostUnregister(page.data()) == hip::hipSuccess);
}

}  // namespace hiptool::sweep
