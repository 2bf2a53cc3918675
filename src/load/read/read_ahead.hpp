// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>

#include "hiptool/model_file.hpp"
#include "hiptool/timeline.hpp"

namespace hiptool::load {

/// Brings the first bytes of a model into the page cache while something else is waited for, as a
/// driver's start is, so that the disk works meanwhile. Starts with the object. A file that cannot
/// be read is left to the load, which reports it. The model must outlive it.
class ReadAhead {
 public:
  /// `most_bytes`: what a disk of 10 GB/s reads while the driver of one GPU starts.
  explicit ReadAhead(const ModelFile& model, Timeline* timeline = nullptr,
                     std::uint64_t most_bytes = std::uint64_t{4} << 30);
  /// As stop().
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  struct Result {
    std::uint64_t bytes = 0;
    double duration_s = 0;  ///< from the first read to the end of the last one
  };

  /// Waits for the reads that run and starts no others: no request of this object is in flight
  /// afterwards, also none of the kernel's.
  Result stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hiptool::load
