// SPDX-License-Identifier: MIT
/// Calls of public functions with arguments that make no sense.
#pragma once
#include <filesystem>
#include <functional>
#include <hiptool/hiptool.hpp>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"

namespace hiptool::test {

inline constexpr std::uint64_t four_billion = 4'000'000'000;
inline constexpr std::uint64_t huge = std::uint64_t{1} << 61;
inline constexpr std::uint64_t most = ~std::uint64_t{0};
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// By another name: compilers warn of one that is moved to itself.
template <class Object>
void move_to_itself(Object& object) {
  Object& same = object;
  object = std::move(same);
}

template <class Enum>
constexpr Enum wrong() {
  return static_cast<Enum>(77);
}

/// What a call of a public function came to. Right are Errors and successes; all else is a finding.
class Hostile {
 public:
  Hostile();

  /// One overload of a public function, called with hostile arguments.
  void call(const std::string& name, const std::function<void()>& work);
  /// The same, called with each of the hostile tensors.
  void each(const std::string& name, const std::function<void(const Tensor&)>& work);
  /// The same for a function that writes into the tensor given.
  void into(const std::string& name, const std::function<void(Tensor&)>& work);

  const std::map<std::string, std::size_t>& calls() const { return calls_; }
  const std::vector<std::string>& findings() const { return findings_; }
  std::size_t errors() const { return errors_; }
  std::size_t successes() const { return successes_; }

  // What functions are called with.
  TemporaryFolder folder;
  Platforms platforms;
  Device device;
  Device other;
  Backend backend;
  Stream stream;
  Stream moved_stream;
  std::filesystem::path model_path;
  ModelFile model;
  LoadedModel loaded;
  Tensor good;      // f32[4,6]
  Tensor ids;       // u32[4]
  Tensor moved;     // moved from
  Tensor repeated;  // f32[2^61], one element
  Tensor out;       // f32[4,6]

 private:
  void run(const std::string& name, const std::function<void()>& work);

  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::map<std::string, std::size_t> calls_;
  std::vector<std::string> findings_;
  std::size_t errors_ = 0;
  std::size_t successes_ = 0;
};

void call_core(Hostile& hostile);
void call_memory(Hostile& hostile);
void call_tensors(Hostile& hostile);
void call_models(Hostile& hostile);
void call_operations(Hostile& hostile);
void call_rows(Hostile& hostile);
void call_images(Hostile& hostile);
void call_caches(Hostile& hostile);

}  // namespace hiptool::test
