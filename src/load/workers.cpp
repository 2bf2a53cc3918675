// SPDX-License-Identifier: MIT
#include "load/workers.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "hiptool/error.hpp"
#include "system/host.hpp"

namespace hiptool::load {

void run_workers(
    std::uint32_t count,
    const std::function<void(std::uint32_t index, const std::atomic<bool>& stop)>& work) {
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto fail = [&] {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    stop.store(true);
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    try {
      for (std::uint32_t index = 0; index < count; ++index) {
        threads.emplace_back([&, index] {
          try {
            work(index, stop);
          } catch (...) {
            fail();
          }
        });
      }
    } catch (const std::system_error&) {
      // Fewer threads than wanted do the same work; none at all cannot.
      if (threads.empty()) {
        failure = std::make_exception_ptr(Error(ErrorCode::host_out_of_memory, "start thread",
                                                "the system refuses to start a thread",
                                                "raise the limit with `ulimit -u`"));
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void run_for_each(std::size_t count,
                  const std::function<void(std::size_t i, const std::atomic<bool>& stop)>& work) {
  std::atomic<std::size_t> next{0};
  run_workers(static_cast<std::uint32_t>(count), [&](std::uint32_t, const std::atomic<bool>& stop) {
    for (std::size_t i = next++; i < count && !stop.load(); i = next++) work(i, stop);
  });
}

std::uint32_t choose_threads(std::uint32_t least, std::uint32_t most,
                             std::uint32_t cores_per_thread) {
  const auto cores = static_cast<std::uint32_t>(system::usable_cores("/"));
  return std::clamp(cores / cores_per_thread, least, most);
}

}  // namespace hiptool::load
