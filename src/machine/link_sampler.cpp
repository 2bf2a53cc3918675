// SPDX-License-Identifier: MIT
#include "machine/link_sampler.hpp"

#include <utility>

namespace hiptool::machine {

LinkSampler::LinkSampler(Options options) : options_(std::move(options)) {
  for (const std::string& bus_id : options_.bus_ids) observations_.push_back({bus_id, {}, {}});
  thread_ = std::thread([this] { run(); });
}

LinkSampler::~LinkSampler() { stop(); }

std::vector<LinkObservation> LinkSampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (has_missed_) {
    for (LinkObservation& observation : observations_) observation = {observation.bus_id, {}, {}};
  }
  return observations_;
}

void LinkSampler::run() {
  std::unique_lock lock(mutex_);
  do {
    lock.unlock();
    read();
    if (options_.also) {
      const auto start = std::chrono::steady_clock::now();
      options_.also();
      if (std::chrono::steady_clock::now() - start > options_.longest_call) has_missed_ = true;
    }
    lock.lock();
  } while (!stopped_.wait_for(lock, options_.interval, [this] { return is_stopping_; }));
}

void LinkSampler::read() {
  for (LinkObservation& observation : observations_) {
    system::PciPath path = system::read_pci_path(options_.root, observation.bus_id);
    const std::optional<double> rate = path.bytes_per_s_now();
    if (!rate || observation.fastest_bytes_per_s >= rate) continue;
    observation.fastest_bytes_per_s = rate;
    observation.fastest = std::move(path);
  }
}

}  // namespace hiptool::machine
