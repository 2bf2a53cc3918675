// SPDX-License-Identifier: MIT
#include "hip/api.hpp"

namespace hiptool::hip {
namespace {

template <class Function>
struct Unsupported;

template <class... Arguments>
struct Unsupported<hipError_t (*)(Arguments...)> {
  static hipError_t call(Arguments...) { return hipErrorNotSupported; }
};

template <>
struct Unsupported<const char* (*)(hipError_t)> {
  static const char* call(hipError_t) { return "unknown"; }
};

}  // namespace

Api make_unsupported_api() {
  Api api{};
  Api::for_each([&api](auto member, std::string_view, Need) {
    using Function = std::remove_reference_t<decltype(api.*member)>;
    api.*member = &Unsupported<Function>::call;
  });
  return api;
}

}  // namespace hiptool::hip
