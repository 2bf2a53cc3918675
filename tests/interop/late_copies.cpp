// SPDX-License-Identifier: MIT
/// A HIP runtime whose events complete before the copies that they follow: the second half of each
/// copy is made by hipDeviceSynchronize only. For the test of event_order.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct Copy {
  char* destination;
  const char* source;
  std::size_t size;
};

std::vector<Copy>& late_copies() {
  static std::vector<Copy> copies;
  return copies;
}

int allocate(void** result, std::size_t size) {
  *result = std::calloc(size, 1);
  return 0;
}

}  // namespace

extern "C" {
int hipInit(unsigned) { return 0; }
int hipSetDevice(int) { return 0; }
int hipHostMalloc(void** result, std::size_t size, unsigned) { return allocate(result, size); }
int hipMalloc(void** result, std::size_t size) { return allocate(result, size); }
int hipStreamCreateWithFlags(void**, unsigned) { return 0; }
int hipEventCreateWithFlags(void**, unsigned) { return 0; }
int hipEventRecord(void*, void*) { return 0; }
int hipStreamWaitEvent(void*, void*, unsigned) { return 0; }
int hipEventSynchronize(void*) { return 0; }
int hipEventDestroy(void*) { return 0; }
int hipStreamDestroy(void*) { return 0; }

int hipMemcpyAsync(void* destination, const void* source, std::size_t size, int, void*) {
  const std::size_t half = size / 2;
  std::memcpy(destination, source, half);
  late_copies().push_back({static_cast<char*>(destination) + half,
                           static_cast<const char*>(source) + half, size - half});
  return 0;
}

int hipDeviceSynchronize() {
  for (const Copy& copy : late_copies()) {
    std::memcpy(copy.destination, copy.source, copy.size);
  }
  late_copies().clear();
  return 0;
}
}
