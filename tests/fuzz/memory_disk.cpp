// SPDX-License-Identifier: MIT
#include "memory_disk.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "memory_calls.hpp"

namespace hiptool::fuzz {
namespace {

struct Node;
using Names = std::map<std::string, std::unique_ptr<Node>, std::less<>>;

enum class NodeKind { file, folder, link };

struct Node {
  NodeKind kind = NodeKind::folder;
  Node* above = nullptr;
  std::string text;  // of a file; where a link leads
  std::uint64_t zeros = 0;
  Names names;
  std::uint64_t number = 0;
  std::int64_t changed_s = 0;
};

struct Opened {
  Node* node = nullptr;
  std::uint64_t at = 0;  // of the next read, or the number of the next name
  dirent entry{};
};

constexpr int first_descriptor = 1 << 28;  // more than a process can have
constexpr std::size_t most_open = 64;

bool is_on = false;
std::int64_t changes = 0;
std::array<Opened, most_open> opened;

Node& root() {
  static Node node;
  return node;
}

template <class Result = int>
Result failed(int number) {
  errno = number;
  if constexpr (std::is_pointer_v<Result>) {
    return nullptr;
  } else {
    return -1;
  }
}

std::string_view take_name(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view name = path.substr(0, path.find('/'));
  path.remove_prefix(name.size());
  return name;
}

// What the path leads to from a folder, as the kernel finds it; null with errno.
Node* walk(Node* from, std::string_view path, bool follows_last, int& links) {
  constexpr int most_links = 40;
  if (path.empty()) return failed<Node*>(ENOENT);
  Node* at = path.front() == '/' ? &root() : from;
  for (std::string_view name = take_name(path); !name.empty(); name = take_name(path)) {
    if (at->kind != NodeKind::folder) return failed<Node*>(ENOTDIR);
    if (name.size() > NAME_MAX) return failed<Node*>(ENAMETOOLONG);
    if (name == ".") continue;
    if (name == "..") {
      if (at->above != nullptr) at = at->above;
      continue;
    }
    const auto found = at->names.find(name);
    if (found == at->names.end()) return failed<Node*>(ENOENT);
    Node* next = found->second.get();
    if (next->kind == NodeKind::link && (follows_last || !path.empty())) {
      if (++links > most_links) return failed<Node*>(ELOOP);
      next = walk(at, next->text, true, links);
      if (next == nullptr) return nullptr;
    }
    if (next->kind != NodeKind::folder && !path.empty()) return failed<Node*>(ENOTDIR);
    at = next;
  }
  return at;
}

Node* walk(std::string_view path, bool follows_last) {
  int links = 0;
  if (path.size() >= PATH_MAX) return failed<Node*>(ENAMETOOLONG);
  return walk(&root(), path, follows_last, links);
}

Node& child(Node& folder, std::string_view name, NodeKind kind_of_new) {
  const auto found = folder.names.find(name);
  if (found != folder.names.end()) return *found->second;
  auto node = std::make_unique<Node>();
  node->kind = kind_of_new;
  node->above = &folder;
  node->number = static_cast<std::uint64_t>(++changes);
  return *folder.names.emplace(std::string(name), std::move(node)).first->second;
}

// False where a file is in the way of a folder, or a folder in that of the file.
bool put(std::string_view path, NodeKind kind, std::string_view text, std::uint64_t zeros) {
  Node* folder = &root();
  std::string_view name = take_name(path);
  for (std::string_view next = take_name(path); !next.empty(); next = take_name(path)) {
    folder = &child(*folder, name, NodeKind::folder);
    if (folder->kind != NodeKind::folder) return false;
    name = next;
  }
  Node& node = child(*folder, name, kind);
  if (node.kind == NodeKind::folder) return false;
  node.kind = kind;
  node.text.assign(text);
  node.zeros = zeros;
  node.changed_s = ++changes;
  return true;
}

mode_t mode_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::file: return S_IFREG | 0600;
    case NodeKind::folder: return S_IFDIR | 0700;
    case NodeKind::link: break;
  }
  return S_IFLNK | 0777;
}

int fill(const Node* node, struct stat* status) {
  if (node == nullptr) return -1;
  *status = {};
  status->st_mode = mode_of(node->kind);
  status->st_dev = 1;
  status->st_ino = node->number;
  status->st_nlink = 1;
  status->st_size = static_cast<off_t>(node->text.size() + node->zeros);
  status->st_mtim.tv_sec = status->st_ctim.tv_sec = node->changed_s;
  return 0;
}

Opened* find_opened(int descriptor) {
  Opened& found = opened[static_cast<std::size_t>(descriptor - first_descriptor)];
  return found.node == nullptr ? failed<Opened*>(EBADF) : &found;
}

ssize_t read_at(const Node& node, char* bytes, std::size_t count, std::uint64_t offset) {
  if (node.kind == NodeKind::folder) return failed(EISDIR);
  const std::uint64_t size = node.text.size() + node.zeros;
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, size - std::min(offset, size)));
  const std::size_t stored =
      offset < node.text.size() ? std::min<std::size_t>(count, node.text.size() - offset) : 0;
  if (stored > 0) std::memcpy(bytes, node.text.data() + offset, stored);
  if (count > stored) std::memset(bytes + stored, 0, count - stored);
  return static_cast<ssize_t>(count);
}

}  // namespace

MemoryDisk& MemoryDisk::instance() {
  static MemoryDisk disk;
  return disk;
}

bool MemoryDisk::write(std::string_view path, std::string_view bytes, std::uint64_t zeros) {
  return put(path, NodeKind::file, bytes, zeros);
}

bool MemoryDisk::link(std::string_view path, std::string_view target) {
  return put(path, NodeKind::link, target, 0);
}

void MemoryDisk::make_folder(std::string_view path) { put(path, NodeKind::folder, {}, 0); }

void MemoryDisk::remove(std::string_view path) {
  Node* node = walk(path, false);
  if (node == nullptr || node->above == nullptr) return;
  Names& names = node->above->names;
  const auto place = std::find_if(names.begin(), names.end(),
                                  [node](const auto& entry) { return entry.second.get() == node; });
  names.erase(place);
}

InMemory::InMemory() { is_on = true; }

InMemory::~InMemory() {
  is_on = false;
  for (const Opened& one : opened) {
    if (one.node == nullptr) continue;
    std::fprintf(stderr, "broken rule: each file is closed again\n");
    std::abort();
  }
}

bool is_in_memory() { return is_on; }

bool is_in_memory(int descriptor) {
  return descriptor >= first_descriptor &&
         descriptor < first_descriptor + static_cast<int>(most_open);
}

bool is_in_memory(const DIR* folder) {
  const auto* address = reinterpret_cast<const Opened*>(folder);
  return std::any_of(opened.begin(), opened.end(),
                     [address](const Opened& one) { return &one == address; });
}

int memory_open(const char* path, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return failed(EROFS);
  Node* node = walk(path, (flags & O_NOFOLLOW) == 0);
  if (node == nullptr) return -1;
  if (node->kind == NodeKind::link) return failed(ELOOP);
  if ((flags & O_DIRECTORY) != 0 && node->kind != NodeKind::folder) return failed(ENOTDIR);
  const auto place = std::find_if(opened.begin(), opened.end(),
                                  [](const Opened& one) { return one.node == nullptr; });
  if (place == opened.end()) return failed(EMFILE);
  place->node = node;
  place->at = 0;
  return first_descriptor + static_cast<int>(place - opened.begin());
}

int memory_close(int descriptor) {
  Opened* one = find_opened(descriptor);
  if (one == nullptr) return -1;
  one->node = nullptr;
  return 0;
}

ssize_t memory_read(int descriptor, void* bytes, std::size_t count) {
  Opened* one = find_opened(descriptor);
  if (one == nullptr) return -1;
  const ssize_t got = read_at(*one->node, static_cast<char*>(bytes), count, one->at);
  if (got > 0) one->at += static_cast<std::uint64_t>(got);
  return got;
}

ssize_t memory_pread(int descriptor, void* bytes, std::size_t count, off_t offset) {
  const Opened* one = find_opened(descriptor);
  if (one == nullptr) return -1;
  if (offset < 0) return failed(EINVAL);
  return read_at(*one->node, static_cast<char*>(bytes), count, static_cast<std::uint64_t>(offset));
}

int memory_fstat(int descriptor, struct stat* status) {
  const Opened* one = find_opened(descriptor);
  return one == nullptr ? -1 : fill(one->node, status);
}

int memory_stat(const char* path, bool follows, struct stat* status) {
  return fill(walk(path, follows), status);
}

ssize_t memory_readlink(const char* path, char* text, std::size_t count) {
  const Node* node = walk(path, false);
  if (node == nullptr) return -1;
  if (node->kind != NodeKind::link) return failed(EINVAL);
  count = std::min(count, node->text.size());
  std::memcpy(text, node->text.data(), count);
  return static_cast<ssize_t>(count);
}

char* memory_realpath(const char* path) {
  int links = 0;
  const Node* node = walk(&root(), path, true, links);  // by its parts, so it may be long
  if (node == nullptr) return nullptr;
  std::string text;
  for (; node->above != nullptr; node = node->above) {
    const auto& names = node->above->names;
    const auto found = std::find_if(names.begin(), names.end(), [node](const auto& entry) {
      return entry.second.get() == node;
    });
    text.insert(0, "/" + found->first);
  }
  if (text.empty()) text = "/";
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

DIR* memory_open_folder(int descriptor) {
  Opened* one = find_opened(descriptor);
  if (one == nullptr) return nullptr;
  if (one->node->kind != NodeKind::folder) return failed<DIR*>(ENOTDIR);
  return reinterpret_cast<DIR*>(one);
}

dirent* memory_read_folder(DIR* folder) {
  auto& one = *reinterpret_cast<Opened*>(folder);
  const Names& names = one.node->names;
  if (one.at >= names.size()) return nullptr;
  const auto& [name, node] = *std::next(names.begin(), static_cast<std::ptrdiff_t>(one.at++));
  one.entry.d_ino = node->number;
  one.entry.d_type = static_cast<unsigned char>(IFTODT(mode_of(node->kind)));
  std::memcpy(one.entry.d_name, name.c_str(), name.size() + 1);
  return &one.entry;
}

int memory_close_folder(DIR* folder) {
  reinterpret_cast<Opened*>(folder)->node = nullptr;
  return 0;
}

int memory_descriptor(const DIR* folder) {
  return first_descriptor +
         static_cast<int>(reinterpret_cast<const Opened*>(folder) - opened.data());
}

}  // namespace hiptool::fuzz
