// SPDX-License-Identifier: MIT
/// One function for each call of the table and each slot, made from the list of calls.
#pragma once
#include <type_traits>
#include <utility>

#include "fakes/wrapper_state.hpp"

namespace hiptool::test {

/// How many calls of the table have this type, and the k-th of them.
template <class Function>
consteval std::size_t count_of_type() {
  std::size_t count = 0;
  hip::Api::for_each([&count](auto member, std::string_view, hip::Need) {
    if constexpr (std::is_same_v<decltype(member), Function hip::Api::*>) ++count;
  });
  return count;
}

template <class Function, std::size_t K>
consteval Function hip::Api::*member_of_type() {
  Function hip::Api::*found = nullptr;
  std::size_t index = 0;
  hip::Api::for_each([&](auto member, std::string_view, hip::Need) {
    if constexpr (std::is_same_v<decltype(member), Function hip::Api::*>) {
      if (index++ == K) found = member;
    }
  });
  return found;
}

template <auto Left, auto Right>
consteval bool is_same_call() {
  if constexpr (std::is_same_v<decltype(Left), decltype(Right)>) {
    return Left == Right;
  } else {
    return false;
  }
}

template <auto Member, auto... Candidates>
consteval bool is_one_of() {
  return (is_same_call<Member, Candidates>() || ...);
}

using hip::Api;

template <auto Member>
inline constexpr bool is_release =
    is_one_of<Member, &Api::hipFree, &Api::hipHostFree, &Api::hipHostUnregister,
              &Api::hipStreamDestroy, &Api::hipEventDestroy, &Api::hipModuleUnload,
              &Api::hipDeviceDisablePeerAccess, &Api::hipGraphDestroy, &Api::hipGraphExecDestroy>();

template <auto Member>
inline constexpr bool is_made_in_any_case = is_release<Member> ||
                                            is_one_of<Member, &Api::hipStreamEndCapture>();

template <auto Member>
inline constexpr bool is_copy =
    is_one_of<Member, &Api::hipMemcpyAsync, &Api::hipMemcpyPeerAsync, &Api::hipMemcpy2DAsync>();

/// Work that is done when its stream comes to it.
template <auto Member>
inline constexpr bool is_queued = is_copy<Member> ||
                                  is_one_of<Member, &Api::hipMemsetAsync, &Api::hipLaunchHostFunc,
                                            &Api::hipModuleLaunchKernel, &Api::hipGraphLaunch>();

/// The live count that a call changes; null for all others.
template <auto Member>
consteval std::int64_t LiveCounts::*live_count() {
  if (is_one_of<Member, &Api::hipMalloc, &Api::hipMallocManaged, &Api::hipFree>()) {
    return &LiveCounts::device_memory;
  }
  if (is_one_of<Member, &Api::hipHostMalloc, &Api::hipHostFree>()) {
    return &LiveCounts::host_memory;
  }
  if (is_one_of<Member, &Api::hipHostRegister, &Api::hipHostUnregister>()) {
    return &LiveCounts::registrations;
  }
  if (is_one_of<Member, &Api::hipStreamCreateWithFlags, &Api::hipStreamCreateWithPriority,
                &Api::hipStreamDestroy>()) {
    return &LiveCounts::streams;
  }
  if (is_one_of<Member, &Api::hipEventCreateWithFlags, &Api::hipEventDestroy>()) {
    return &LiveCounts::events;
  }
  if (is_one_of<Member, &Api::hipModuleLoadData, &Api::hipModuleLoadDataEx,
                &Api::hipModuleUnload>()) {
    return &LiveCounts::modules;
  }
  if (is_one_of<Member, &Api::hipGraphInstantiateWithFlags, &Api::hipGraphExecDestroy,
                &Api::hipGraphDestroy>()) {
    return &LiveCounts::graphs;
  }
  return nullptr;
}

/// What a call made or released: nothing where the pointer is null (an allocation of no bytes).
template <class First>
bool is_something(First first) {
  if constexpr (std::is_pointer_v<First>) {
    using Pointee = std::remove_pointer_t<First>;
    if (first == nullptr) return false;
    if constexpr (std::is_pointer_v<Pointee>) return *first != nullptr;
    return true;
  } else {
    return true;
  }
}

template <class First, class... Rest>
First first_of(First first, Rest...) {
  return first;
}

/// The stream among a call's arguments; null where it has none.
template <class... Arguments>
hip::hipStream_t find_stream(Arguments... arguments) {
  hip::hipStream_t stream = nullptr;
  const auto look = [&stream](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), hip::hipStream_t>) stream = argument;
  };
  (look(arguments), ...);
  return stream;
}

template <int Slot, auto Member, class Function>
struct Thunk;

/// Name of a call, set with its thunk: looking it up while compiling costs too much time.
template <auto Member>
inline std::string_view name_of_call;

template <int Slot, auto Member>
struct Thunk<Slot, Member, const char* (*)(hip::hipError_t)> {
  static const char* call(hip::hipError_t error) {
    WrapperState& state = wrapper_state(Slot);
    state.begin(name_of_call<Member>);
    return (state.inner.*Member)(error);
  }
};

template <int Slot, auto Member, class... Arguments>
struct Thunk<Slot, Member, hip::hipError_t (*)(Arguments...)> {
  static hip::hipError_t call(Arguments... arguments) {
    WrapperState& state = wrapper_state(Slot);
    const hip::hipError_t injected = state.begin(name_of_call<Member>);
    if (injected != hip::hipSuccess && !is_made_in_any_case<Member>) return injected;
    if constexpr (is_queued<Member>) state.hold_back(find_stream(arguments...));
    // Before the release: afterwards another thread may get the same address.
    if constexpr (is_one_of<Member, &Api::hipFree>()) state.remove_memory(arguments...);
    const hip::hipError_t error = (state.inner.*Member)(arguments...);
    if constexpr (is_one_of<Member, &Api::hipStreamEndCapture>())
      end_recording(state, arguments...);
    if (error == hip::hipSuccess) account(state, arguments...);
    return injected != hip::hipSuccess ? injected : error;
  }

 private:
  static void end_recording(WrapperState& state, hip::hipStream_t stream, hip::hipGraph_t* graph) {
    state.change_recording(stream, false);
    if (graph != nullptr && *graph != nullptr) state.change_live(&LiveCounts::graphs, 1);
  }

  static void note_memory(WrapperState& state, void** pointer, std::size_t size_bytes) {
    if (*pointer != nullptr) state.add_memory(*pointer, size_bytes);
  }

  static void account(WrapperState& state, [[maybe_unused]] Arguments... arguments) {
    if constexpr (live_count<Member>() != nullptr) {
      if (is_something(first_of(arguments...))) {
        state.change_live(live_count<Member>(), is_release<Member> ? -1 : 1);
      }
    }
    if constexpr (is_one_of<Member, &Api::hipMalloc>()) note_memory(state, arguments...);
    if constexpr (is_one_of<Member, &Api::hipStreamBeginCapture>()) {
      state.change_recording(find_stream(arguments...), true);
    }
    if constexpr (is_copy<Member>) {
      state.end_copy(first_of(arguments...), find_stream(arguments...));
    }
  }
};

/// Gives the member its thunk: visited at run time, it takes the next of those of its type.
template <int Slot>
Api make_wrapping_api() {
  Api api{};
  hip::Api::for_each([&api](auto member, std::string_view name, hip::Need) {
    using Function = std::remove_reference_t<decltype(api.*member)>;
    const auto assign = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      constexpr auto candidate = member_of_type<Function, K>();
      if (member != candidate) return;
      name_of_call<candidate> = name;
      api.*member = &Thunk<Slot, candidate, Function>::call;
    };
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (assign(std::integral_constant<std::size_t, K>{}), ...);
    }
    (std::make_index_sequence<count_of_type<Function>()>{});
  });
  return api;
}

}  // namespace hiptool::test
