// SPDX-License-Identifier: MIT
// A program that links libhiptool may start threads with small stacks. glibc takes the variables
// that a library has for each thread from the thread's stack, and refuses one that is too small for
// them, also where the thread never comes near the library.
#include <pthread.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "hiptool/version.hpp"

int main() {
  constexpr std::size_t stack_bytes = 64u << 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread{};
  const int failure = pthread_create(
      &thread, &attributes, [](void*) -> void* { return nullptr; }, nullptr);
  pthread_attr_destroy(&attributes);
  if (failure != 0) {
    std::printf("hiptool %s: no thread of %zu bytes of stack: %s\n", hiptool::version(),
                stack_bytes, std::strerror(failure));
    return 1;
  }
  pthread_join(thread, nullptr);
  return 0;
}
