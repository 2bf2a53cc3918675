// SPDX-License-Identifier: MIT
/// The threads that share out the blocks of all launches, started by the first that needs them.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hip/cpu/block_runner.hpp"

namespace hiptool::hip::cpu {

class GridWorkers {
 public:
  /// Never destroyed: a worker may still end while the process's static objects go.
  static GridWorkers& instance();

  /// Runs all blocks of a launch, the calling thread among the workers. The answer is the first
  /// fault's text, empty when there was none; after a fault no new block begins.
  std::string run(const Launch& launch);

  /// At the end of the process: running launches begin no new blocks, the workers end.
  void stop();

 private:
  struct Job;

  GridWorkers() = default;
  void start_helpers(std::size_t wanted);
  void help();
  std::thread take_own_thread();

  std::mutex mutex_;
  std::condition_variable job_signal_;
  std::condition_variable left_signal_;
  std::deque<std::shared_ptr<Job>> jobs_;  ///< that may have blocks left
  std::vector<std::thread> helpers_;
  bool stopped_ = false;
};

}  // namespace hiptool::hip::cpu
