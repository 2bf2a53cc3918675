// SPDX-License-Identifier: MIT
// Functions of libc that take the place of its own in this program, and in libstdc++ where it calls
// them: of the disk in memory while that is in use, else the kernel's. The names with 64 at the end
// are those that the compiler calls, the others are called by libstdc++.
#include "memory_calls.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

using namespace hiptool::fuzz;

namespace {

// libc's own, where only it knows what a folder is that was opened.
template <class Function>
Function* of_libc(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int open_any(int folder, const char* path, int flags, mode_t mode) {
  if (is_in_memory()) return memory_open(path, flags);
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

int stat_any(const char* path, int flags, struct stat* status) {
  if (is_in_memory()) return memory_stat(path, flags == 0, status);
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, status, flags));
}

int fstat_any(int descriptor, struct stat* status) {
  if (is_in_memory(descriptor)) return memory_fstat(descriptor, status);
  return static_cast<int>(syscall(SYS_newfstatat, descriptor, "", status, AT_EMPTY_PATH));
}

ssize_t pread_any(int descriptor, void* bytes, std::size_t count, off_t offset) {
  if (is_in_memory(descriptor)) return memory_pread(descriptor, bytes, count, offset);
  return syscall(SYS_pread64, descriptor, bytes, count, offset);
}

dirent* readdir_any(DIR* folder, const char* name) {
  return is_in_memory(folder) ? memory_read_folder(folder) : of_libc<dirent*(DIR*)>(name)(folder);
}

mode_t mode_among(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// The headers give some of these other names and attributes, so they have names of their own here.
#define FOR_LIBC(name) __asm__(name) __attribute__((visibility("default")))
extern "C" {
int fuzz_open(const char* path, int flags, ...) FOR_LIBC("open");
int fuzz_open64(const char* path, int flags, ...) FOR_LIBC("open64");
int fuzz_openat(int folder, const char* path, int flags, ...) FOR_LIBC("openat");
int fuzz_close(int descriptor) FOR_LIBC("close");
ssize_t fuzz_read(int descriptor, void* bytes, std::size_t count) FOR_LIBC("read");
ssize_t fuzz_pread(int descriptor, void* bytes, std::size_t count, off_t offset) FOR_LIBC("pread");
ssize_t fuzz_pread64(int descriptor, void* bytes, std::size_t count, off_t offset)
    FOR_LIBC("pread64");
int fuzz_stat(const char* path, struct stat* status) FOR_LIBC("stat");
int fuzz_stat64(const char* path, struct stat* status) FOR_LIBC("stat64");
int fuzz_lstat(const char* path, struct stat* status) FOR_LIBC("lstat");
int fuzz_lstat64(const char* path, struct stat* status) FOR_LIBC("lstat64");
int fuzz_fstat(int descriptor, struct stat* status) FOR_LIBC("fstat");
int fuzz_fstat64(int descriptor, struct stat* status) FOR_LIBC("fstat64");
ssize_t fuzz_readlink(const char* path, char* text, std::size_t count) FOR_LIBC("readlink");
char* fuzz_realpath(const char* path, char* buffer) FOR_LIBC("realpath");
DIR* fuzz_fdopendir(int descriptor) FOR_LIBC("fdopendir");
dirent* fuzz_readdir(DIR* folder) FOR_LIBC("readdir");
dirent* fuzz_readdir64(DIR* folder) FOR_LIBC("readdir64");
int fuzz_closedir(DIR* folder) FOR_LIBC("closedir");
int fuzz_dirfd(DIR* folder) FOR_LIBC("dirfd");

int fuzz_open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int descriptor = open_any(AT_FDCWD, path, flags, mode_among(flags, arguments));
  va_end(arguments);
  return descriptor;
}

int fuzz_open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int descriptor = open_any(AT_FDCWD, path, flags, mode_among(flags, arguments));
  va_end(arguments);
  return descriptor;
}

int fuzz_openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int descriptor = open_any(folder, path, flags, mode_among(flags, arguments));
  va_end(arguments);
  return descriptor;
}

int fuzz_close(int descriptor) {
  if (is_in_memory(descriptor)) return memory_close(descriptor);
  return static_cast<int>(syscall(SYS_close, descriptor));
}

ssize_t fuzz_read(int descriptor, void* bytes, std::size_t count) {
  if (is_in_memory(descriptor)) return memory_read(descriptor, bytes, count);
  return syscall(SYS_read, descriptor, bytes, count);
}

ssize_t fuzz_pread(int descriptor, void* bytes, std::size_t count, off_t offset) {
  return pread_any(descriptor, bytes, count, offset);
}

ssize_t fuzz_pread64(int descriptor, void* bytes, std::size_t count, off_t offset) {
  return pread_any(descriptor, bytes, count, offset);
}

int fuzz_stat(const char* path, struct stat* status) { return stat_any(path, 0, status); }

int fuzz_stat64(const char* path, struct stat* status) { return stat_any(path, 0, status); }

int fuzz_lstat(const char* path, struct stat* status) {
  return stat_any(path, AT_SYMLINK_NOFOLLOW, status);
}

int fuzz_lstat64(const char* path, struct stat* status) {
  return stat_any(path, AT_SYMLINK_NOFOLLOW, status);
}

int fuzz_fstat(int descriptor, struct stat* status) { return fstat_any(descriptor, status); }

int fuzz_fstat64(int descriptor, struct stat* status) { return fstat_any(descriptor, status); }

ssize_t fuzz_readlink(const char* path, char* text, std::size_t count) {
  if (is_in_memory()) return memory_readlink(path, text, count);
  return syscall(SYS_readlinkat, AT_FDCWD, path, text, count);
}

char* fuzz_realpath(const char* path, char* buffer) {
  if (is_in_memory() && buffer == nullptr) return memory_realpath(path);
  return of_libc<char*(const char*, char*)>("realpath")(path, buffer);
}

DIR* fuzz_fdopendir(int descriptor) {
  if (is_in_memory(descriptor)) return memory_open_folder(descriptor);
  return of_libc<DIR*(int)>("fdopendir")(descriptor);
}

dirent* fuzz_readdir(DIR* folder) { return readdir_any(folder, "readdir"); }

dirent* fuzz_readdir64(DIR* folder) { return readdir_any(folder, "readdir64"); }

int fuzz_closedir(DIR* folder) {
  if (is_in_memory(folder)) return memory_close_folder(folder);
  return of_libc<int(DIR*)>("closedir")(folder);
}

int fuzz_dirfd(DIR* folder) {
  if (is_in_memory(folder)) return memory_descriptor(folder);
  return of_libc<int(DIR*)>("dirfd")(folder);
}
}
