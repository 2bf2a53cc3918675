// SPDX-License-Identifier: MIT
#include "hip/amd/last_error.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>

namespace hiptool::hip::amd {
namespace {

/// The table as it was given.
Api& given() noexcept {
  static Api api{};
  return api;
}

thread_local hipError_t last_error = hipSuccess;

hipError_t take_last_error() { return std::exchange(last_error, hipSuccess); }

template <auto Member, class Function>
struct Keeping;

template <auto Member, class... Arguments>
struct Keeping<Member, hipError_t (*)(Arguments...)> {
  static hipError_t call(Arguments... arguments) {
    const hipError_t error = (given().*Member)(arguments...);
    if (error != hipSuccess && error != hipErrorNotReady) last_error = error;
    return error;
  }
};

/// How many calls of the table have this type, and the one at that place among them.
template <class Function>
consteval std::size_t count_of_type() {
  std::size_t count = 0;
  for_each_call([&count](auto member, std::string_view, Need) {
    if constexpr (std::is_same_v<decltype(member), Function Api::*>) ++count;
  });
  return count;
}

template <class Function, std::size_t Place>
consteval Function Api::*member_of_type() {
  Function Api::*found = nullptr;
  std::size_t place = 0;
  for_each_call([&](auto member, std::string_view, Need) {
    if constexpr (std::is_same_v<decltype(member), Function Api::*>) {
      if (place++ == Place) found = member;
    }
  });
  return found;
}

template <class Function, std::size_t Place>
void replace_if(Api& api, Function Api::*member) {
  constexpr Function Api::*candidate = member_of_type<Function, Place>();
  if (member == candidate) api.*member = &Keeping<candidate, Function>::call;
}

template <class Function, std::size_t... Places>
void replace(Api& api, Function Api::*member, std::index_sequence<Places...>) {
  (replace_if<Function, Places>(api, member), ...);
}

}  // namespace

void keep_last_error(Api& api) {
  given() = api;
  for_each_call([&api](auto member, std::string_view, Need) {
    using Function = std::remove_reference_t<decltype(api.*member)>;
    if constexpr (!std::is_same_v<Function, decltype(Api::hipGetErrorName)>) {
      replace(api, member, std::make_index_sequence<count_of_type<Function>()>{});
    }
  });
  api.hipGetLastError = take_last_error;
}

}  // namespace hiptool::hip::amd
