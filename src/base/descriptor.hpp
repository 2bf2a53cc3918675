// SPDX-License-Identifier: MIT
#pragma once
#include <unistd.h>

#include <utility>

namespace hiptool::base {

/// An open file descriptor, closed with this object; negative if there is none. Move-only.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

}  // namespace hiptool::base
