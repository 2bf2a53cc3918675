// SPDX-License-Identifier: MIT
#include "reference/prove/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace hiptool::reference {

void run_parallel(std::uint32_t threads, std::size_t count,
                  const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work_on = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t wanted = std::min<std::size_t>(threads, count);
    try {
      for (std::size_t other = 1; other < wanted; ++other) others.emplace_back(work_on);
    } catch (const std::system_error&) {
      // Without another thread those that there are do the rest.
    }
    work_on();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace hiptool::reference
