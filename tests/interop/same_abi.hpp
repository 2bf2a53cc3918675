// SPDX-License-Identifier: MIT
/// Whether two function types are called alike: the same number of parameters, and each parameter,
/// and what a pointer points to, of the same kind and size.
#pragma once
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hiptool::test {

template <class Type>
inline constexpr bool is_number = std::is_integral_v<Type> || std::is_enum_v<Type>;

template <class Type>
concept HasSize = requires {
  sizeof(Type);
};

template <class Ours, class Theirs>
consteval bool same_abi();

/// Handles are pointers to types that only one side knows, and a void may stand for any struct.
template <class Ours, class Theirs>
consteval bool same_pointee() {
  if constexpr (std::is_function_v<Ours> && std::is_function_v<Theirs>) {
    return same_abi<Ours*, Theirs*>();
  } else if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) {
    return true;
  } else if constexpr (HasSize<Ours> && HasSize<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
  } else {
    return true;
  }
}

template <class Ours, class Theirs>
consteval bool same_kind() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    return same_pointee<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
  } else if constexpr (is_number<Ours> && is_number<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs);
  } else {
    return std::is_same_v<Ours, Theirs>;
  }
}

template <class Function>
struct Signature;

template <class Answer, class... Parameters>
struct Signature<Answer (*)(Parameters...)> {
  using Result = Answer;
  using List = std::tuple<Parameters...>;
};

template <class Ours, class Theirs, std::size_t... Index>
consteval bool same_parameters(std::index_sequence<Index...>) {
  return (same_kind<std::tuple_element_t<Index, Ours>, std::tuple_element_t<Index, Theirs>>() &&
          ...);
}

template <class Ours, class Theirs>
consteval bool same_abi() {
  using Left = Signature<Ours>;
  using Right = Signature<Theirs>;
  constexpr std::size_t count = std::tuple_size_v<typename Left::List>;
  if constexpr (count != std::tuple_size_v<typename Right::List>) {
    return false;
  } else {
    return same_kind<typename Left::Result, typename Right::Result>() &&
           same_parameters<typename Left::List, typename Right::List>(
               std::make_index_sequence<count>{});
  }
}

// The comparison must be able to fail.
static_assert(same_abi<int (*)(void**, std::size_t), unsigned (*)(long*, unsigned long)>());
static_assert(!same_abi<int (*)(int), int (*)(long)>());
static_assert(!same_abi<int (*)(int), int (*)(int, int)>());
static_assert(!same_abi<int (*)(int*), int (*)(long*)>());
static_assert(!same_abi<int (*)(void*), int (*)(long)>());
static_assert(!same_abi<int (*)(float), int (*)(int)>());
static_assert(!same_abi<int (*)(void (*)(int)), int (*)(void (*)(long))>());

}  // namespace hiptool::test
