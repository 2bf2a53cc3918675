// SPDX-License-Identifier: MIT
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

namespace hiptool::fuzz {

// What libc's functions of these names do, on the disk in memory. memory_calls.cpp calls them where
// is_in_memory() says so.
bool is_in_memory();
bool is_in_memory(int descriptor);
bool is_in_memory(const DIR* folder);
int memory_open(const char* path, int flags);
int memory_close(int descriptor);
ssize_t memory_read(int descriptor, void* bytes, std::size_t count);
ssize_t memory_pread(int descriptor, void* bytes, std::size_t count, off_t offset);
int memory_fstat(int descriptor, struct stat* status);
int memory_stat(const char* path, bool follows, struct stat* status);
ssize_t memory_readlink(const char* path, char* text, std::size_t count);
char* memory_realpath(const char* path);
DIR* memory_open_folder(int descriptor);
dirent* memory_read_folder(DIR* folder);
int memory_close_folder(DIR* folder);
int memory_descriptor(const DIR* folder);

}  // namespace hiptool::fuzz
