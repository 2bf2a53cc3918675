// SPDX-License-Identifier: MIT
#include "fakes/wrapper_table.hpp"

#include <array>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "fakes/wrapper_state.hpp"
#include "fakes/wrapper_thunks.hpp"

namespace hiptool::test {
namespace {

std::mutex& slots_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

/// The list's own text for a name, which outlives every caller's.
std::string_view canonical_name(std::string_view call) {
  std::string_view found;
  hip::Api::for_each([&](auto, std::string_view name, hip::Need) {
    if (name == call) found = name;
  });
  if (found.empty()) throw std::invalid_argument("no call is named " + std::string(call));
  return found;
}

template <int... Slot>
std::array<hip::Api, sizeof...(Slot)> make_apis(std::integer_sequence<int, Slot...>) {
  return {make_wrapping_api<Slot>()...};
}

/// The table of a slot, the same to the end of the process.
const hip::Api& wrapping_api(int slot) {
  static const auto apis = make_apis(std::make_integer_sequence<int, WrapperTable::slot_count>{});
  return apis[static_cast<std::size_t>(slot)];
}

int take_slot(const hip::Api& inner) {
  const std::lock_guard lock(slots_mutex());
  for (int slot = 0; slot < WrapperTable::slot_count; ++slot) {
    WrapperState& state = wrapper_state(slot);
    const std::lock_guard state_lock(state.mutex);
    if (state.is_taken) continue;
    state.is_taken = true;
    state.is_recording = true;
    state.inner = inner;
    state.live = {};
    state.memory.clear();
    state.forget();
    return slot;
  }
  throw std::logic_error("all slots for wrapper tables are taken");
}

}  // namespace

WrapperState& wrapper_state(int slot) noexcept {
  static auto& states = *new std::array<WrapperState, WrapperTable::slot_count>;
  return states[static_cast<std::size_t>(slot)];
}

hip::hipError_t WrapperState::begin(std::string_view call) {
  std::chrono::microseconds pause{0};
  hip::hipError_t code = hip::hipSuccess;
  std::vector<std::function<void()>> functions;
  {
    const std::lock_guard lock(mutex);
    if (!is_recording) return hip::hipSuccess;
    ++counts[call];
    trace.push_back(call);
    if (const auto delay = delays.find(call); delay != delays.end()) pause = delay->second;
    for (Hook& hook : hooks) {
      if (hook.call != call || !hook.function || hook.calls_before-- > 0) continue;
      functions.push_back(std::exchange(hook.function, nullptr));
    }
    for (Failure& failure : failures) {
      if (failure.call != call || failure.times == 0) continue;
      if (failure.calls_before > 0) {
        --failure.calls_before;
      } else if (code == hip::hipSuccess) {
        --failure.times;
        code = failure.code;
      }
    }
  }
  for (const auto& function : functions) function();
  if (pause.count() > 0) std::this_thread::sleep_for(pause);
  return code;
}

void WrapperState::change_recording(hip::hipStream_t stream, bool records) {
  const std::lock_guard lock(mutex);
  if (records) {
    recording.insert(stream);
  } else {
    recording.erase(stream);
  }
}

void WrapperState::change_live(std::int64_t LiveCounts::*count, int change) {
  const std::lock_guard lock(mutex);
  live.*count += change;
}

void WrapperState::end_copy(void* destination, hip::hipStream_t stream) {
  std::uint64_t offset = 0;
  {
    const std::lock_guard lock(mutex);
    if (copies_before_damage == 0 || --copies_before_damage > 0) return;
    offset = damage_offset;
  }
  if (inner.hipStreamSynchronize(stream) != hip::hipSuccess) return;
  invert(static_cast<unsigned char*>(destination) + offset);
}

void WrapperState::invert(void* address) const {
  unsigned char byte = 0;
  const auto copy = [this](void* to, const void* from) {
    const hip::hipError_t error = inner.hipMemcpyAsync(to, from, 1, hip::hipMemcpyDefault, nullptr);
    return error == hip::hipSuccess ? inner.hipStreamSynchronize(nullptr) : error;
  };
  if (copy(&byte, address) != hip::hipSuccess) return;
  byte = static_cast<unsigned char>(~byte);
  static_cast<void>(copy(address, &byte));
}

void WrapperState::add_memory(void* start, std::size_t size_bytes) {
  Memory made{0, size_bytes};
  static_cast<void>(inner.hipGetDevice(&made.device));
  const std::lock_guard lock(mutex);
  memory[start] = made;
}

void WrapperState::remove_memory(void* start) {
  const std::lock_guard lock(mutex);
  memory.erase(start);
}

std::chrono::microseconds WrapperState::draw_delay(hip::hipStream_t stream) {
  using std::chrono::microseconds;
  const std::lock_guard lock(mutex);
  if (stream == nullptr || longest_delay.count() == 0 || recording.count(stream) > 0) {
    return microseconds(0);
  }
  const auto [pace, is_new] = paces.try_emplace(stream);
  // Every third stream is prompt, every third slow, the others in between.
  constexpr std::array shares{0.0, 0.2, 1.0};
  if (is_new) {
    const double share = shares[generator() % shares.size()];
    pace->second =
        microseconds(static_cast<std::int64_t>(share * static_cast<double>(longest_delay.count())));
  }
  if (generator() % 4 == 0) return microseconds(0);
  const std::uint64_t half = static_cast<std::uint64_t>(pace->second.count()) / 2;
  return microseconds(static_cast<std::int64_t>(half + generator() % (half + 1)));
}

void WrapperState::hold_back(hip::hipStream_t stream) {
  auto delay = std::make_unique<std::chrono::microseconds>(draw_delay(stream));
  if (delay->count() == 0) return;
  const auto sleep = [](void* data) {
    const std::unique_ptr<std::chrono::microseconds> time(
        static_cast<std::chrono::microseconds*>(data));
    std::this_thread::sleep_for(*time);
  };
  if (inner.hipLaunchHostFunc(stream, sleep, delay.get()) == hip::hipSuccess) {
    static_cast<void>(delay.release());  // the host function deletes it
  }
}

void WrapperState::forget() {
  counts.clear();
  delays.clear();
  std::vector<std::string_view>().swap(trace);  // with its room: tests look at the heap
  failures.clear();
  hooks.clear();
  copies_before_damage = 0;
  longest_delay = {};
  paces.clear();
}

WrapperTable::WrapperTable(const hip::Api& inner) : slot_(take_slot(inner)) {}

WrapperTable::~WrapperTable() {
  WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  state.forget();
  state.is_recording = false;
  state.is_taken = false;
}

const hip::Api& WrapperTable::api() const noexcept { return wrapping_api(slot_); }

void WrapperTable::fail(std::string_view call, hip::hipError_t code, std::uint64_t nth,
                        std::uint64_t times) {
  if (nth == 0) throw std::invalid_argument("calls are counted from 1");
  const std::string_view name = canonical_name(call);
  WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  state.failures.push_back({name, nth - 1, times, code});
}

void WrapperTable::run_before(std::string_view call, std::function<void()> function,
                              std::uint64_t nth) {
  if (nth == 0) throw std::invalid_argument("calls are counted from 1");
  const std::string_view name = canonical_name(call);
  WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  state.hooks.push_back({name, nth - 1, std::move(function)});
}

void WrapperTable::delay(std::string_view call, std::chrono::microseconds time) {
  const std::string_view name = canonical_name(call);
  WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  state.delays[name] = time;
}

void WrapperTable::delay_streams(std::uint64_t seed, std::chrono::microseconds longest) {
  WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  state.generator.seed(seed);
  state.longest_delay = longest;
  state.paces.clear();
}

void WrapperTable::corrupt_copy(std::uint64_t nth, std::uint64_t offset) {
  WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  state.copies_before_damage = nth;
  state.damage_offset = offset;
}

void WrapperTable::damage_largest(std::uint64_t offset) {
  const WrapperState& state = wrapper_state(slot_);
  void* start = nullptr;
  WrapperState::Memory largest;
  {
    const std::lock_guard lock(state.mutex);
    for (const auto& [address, memory] : state.memory) {
      if (memory.size_bytes <= largest.size_bytes) continue;
      start = address;
      largest = memory;
    }
  }
  if (offset >= largest.size_bytes) throw std::logic_error("no memory to damage was allocated");
  int device = 0;
  static_cast<void>(state.inner.hipGetDevice(&device));
  static_cast<void>(state.inner.hipSetDevice(largest.device));
  static_cast<void>(state.inner.hipDeviceSynchronize());
  state.invert(static_cast<unsigned char*>(start) + offset);
  static_cast<void>(state.inner.hipSetDevice(device));
}

std::uint64_t WrapperTable::count(std::string_view call) const {
  const std::string_view name = canonical_name(call);
  const WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  const auto found = state.counts.find(name);
  return found != state.counts.end() ? found->second : 0;
}

std::uint64_t WrapperTable::total_count() const {
  const WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  return std::accumulate(state.counts.begin(), state.counts.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& entry) { return sum + entry.second; });
}

std::vector<std::string_view> WrapperTable::trace() const {
  const WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  return state.trace;
}

LiveCounts WrapperTable::live() const {
  const WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  return state.live;
}

void WrapperTable::reset() {
  WrapperState& state = wrapper_state(slot_);
  const std::lock_guard lock(state.mutex);
  state.forget();
}

WrapperBinder::WrapperBinder(std::shared_ptr<hip::Binder> inner) : inner_(std::move(inner)) {}

hip::Binding WrapperBinder::bind(Platform platform, const hip::BindRequest& request) {
  hip::Binding binding = inner_->bind(platform, request);
  if (binding.api == nullptr) return binding;
  const std::lock_guard lock(mutex_);
  auto& table = tables_[platform];
  if (table == nullptr) table = std::make_unique<WrapperTable>(*binding.api);
  binding.api = &table->api();
  return binding;
}

WrapperTable* WrapperBinder::table(Platform platform) const {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(platform);
  return found != tables_.end() ? found->second.get() : nullptr;
}

}  // namespace hiptool::test
