// SPDX-License-Identifier: MIT
/// What the hosts of a job agree on around the all-reduces of their library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "hip/nccl.hpp"
#include "hiptool/cancel.hpp"
#include "measure/collective/reduce.hpp"
#include "system/host_group.hpp"

namespace hiptool::measure {

/// How many of the elements are compared, so that the host adds up at most 2^28 terms for all of
/// its devices, which takes seconds. One at least.
std::uint64_t judged_elements(std::uint64_t count, std::size_t ranks, std::size_t own_devices);

/// Another host cannot go on; it says why itself.
class OtherHostEnded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Its calls but the last one wait for the other hosts' calls, and throw OtherHostEnded where one
/// is not there any more, Error(cancelled).
class ReduceHosts {
 public:
  ReduceHosts(const ReduceJob& job, const CancelToken* cancel);

  bool is_first() const noexcept { return is_first_; }
  /// Why the library cannot be used, with the hosts; empty: it can. Throws Error(unsupported) for
  /// different versions.
  std::string agree_on_library(const hip::NcclLibrary& own);
  /// Gets the id that the first host made.
  void share_id(hip::ncclUniqueId& id);
  /// Tells whether this host goes on. If it does, throws OtherHostEnded where another one does not.
  void agree(bool goes_on);
  /// Never waits.
  void throw_if_lost() const;

 private:
  /// The texts of all hosts.
  std::vector<std::string> share(const std::string& own);

  system::HostGroup group_;
  double timeout_s_;
  bool is_first_;
};

}  // namespace hiptool::measure
