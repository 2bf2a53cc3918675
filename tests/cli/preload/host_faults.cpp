// SPDX-License-Identifier: MIT
// Preloaded into the program: the host fails as environment variables say.
//   HOST_FAULT_FLIP=PATH_END:OFFSET:COUNT   the COUNT-th pread of that byte gives another bit of it
//   HOST_FAULT_EIO=PATH_END                 reads and listings of that path fail with EIO
//   HOST_FAULT_MALLOC=COUNT                 the COUNT-th malloc of the process fails
//   HOST_FAULT_THREADS=COUNT                no thread from the COUNT-th on
#undef _FILE_OFFSET_BITS  // it would make one function of each pair below
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" void* __libc_malloc(std::size_t size);  // NOLINT(bugprone-reserved-identifier)

namespace {

std::atomic<long> mallocs{0};
std::atomic<long> threads{0};
std::atomic<long> reads{0};

template <class Function>
Function* next_function(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_path_of(int descriptor, const char* end, std::size_t length) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t size = readlink(link, path, sizeof path);
  return size >= static_cast<ssize_t>(length) &&
         std::memcmp(path + size - length, end, length) == 0;
}

bool fails_with_eio(int descriptor) {
  const char* const end = std::getenv("HOST_FAULT_EIO");
  return end != nullptr && is_path_of(descriptor, end, std::strlen(end));
}

void flip(int descriptor, void* bytes, ssize_t count, off_t offset) {
  const char* const fault = std::getenv("HOST_FAULT_FLIP");
  if (fault == nullptr || count <= 0) return;
  const char* const colon = std::strchr(fault, ':');
  char* rest = nullptr;
  const long at = std::strtol(colon + 1, &rest, 10);
  const long wanted = std::strtol(rest + 1, nullptr, 10);
  if (at < offset || at >= offset + count) return;
  if (!is_path_of(descriptor, fault, static_cast<std::size_t>(colon - fault))) return;
  if (++reads == wanted) static_cast<unsigned char*>(bytes)[at - offset] ^= 0x10;
}

ssize_t faulty_pread(int descriptor, void* bytes, std::size_t size, off_t offset) {
  static auto* const real = next_function(&pread, "pread");
  if (fails_with_eio(descriptor)) {
    errno = EIO;
    return -1;
  }
  const ssize_t count = real(descriptor, bytes, size, offset);
  flip(descriptor, bytes, count, offset);
  return count;
}

}  // namespace

extern "C" {

ssize_t pread(int descriptor, void* bytes, std::size_t size, off_t offset) {
  return faulty_pread(descriptor, bytes, size, offset);
}

ssize_t pread64(int descriptor, void* bytes, std::size_t size, off64_t offset) {
  return faulty_pread(descriptor, bytes, size, offset);
}

ssize_t preadv64v2(int descriptor, const iovec* parts, int count, off64_t offset, int flags) {
  static auto* const real = next_function(&preadv64v2, "preadv64v2");
  if (fails_with_eio(descriptor)) {
    errno = EIO;
    return -1;
  }
  const ssize_t read_bytes = real(descriptor, parts, count, offset, flags);
  if (count == 1) flip(descriptor, parts[0].iov_base, read_bytes, offset);
  return read_bytes;
}

ssize_t read(int descriptor, void* bytes, std::size_t size) {
  static auto* const real = next_function(&read, "read");
  if (!fails_with_eio(descriptor)) return real(descriptor, bytes, size);
  errno = EIO;
  return -1;
}

dirent* readdir(DIR* folder) {
  static auto* const real = next_function(&readdir, "readdir");
  if (!fails_with_eio(dirfd(folder))) return real(folder);
  errno = EIO;
  return nullptr;
}

dirent64* readdir64(DIR* folder) {
  static auto* const real = next_function(&readdir64, "readdir64");
  if (!fails_with_eio(dirfd(folder))) return real(folder);
  errno = EIO;
  return nullptr;
}

void* malloc(std::size_t size) {
  // getenv takes no memory.
  const char* const fault = std::getenv("HOST_FAULT_MALLOC");
  if (fault != nullptr && ++mallocs == std::strtol(fault, nullptr, 10)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                   void* argument) {
  static auto* const real = next_function(&pthread_create, "pthread_create");
  const char* const fault = std::getenv("HOST_FAULT_THREADS");
  if (fault != nullptr && ++threads >= std::strtol(fault, nullptr, 10)) return EAGAIN;
  return real(thread, attributes, work, argument);
}

}  // extern "C"
