// SPDX-License-Identifier: MIT
#include "hiptool/kernel_timer.hpp"

#include "core/call.hpp"

namespace hiptool {

KernelTimer::KernelTimer(const StreamRef& stream) : stream_(stream) {
  const Device& device = stream_.device();
  try {
    events_.emplace(EventPair{Event(device), Event(device)});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    device.state().note("timer",
                        "the host's clock is used instead of events: " + std::string(error.what()));
  }
}

void KernelTimer::start() {
  state_ = State::idle;
  if (events_) {
    events_->start.record(stream_);
  } else {
    stream_.synchronize();
    start_time_ = Clock::now();
  }
  state_ = State::started;
}

void KernelTimer::stop() {
  if (state_ != State::started) {
    throw Error(ErrorCode::invalid_argument, "stop timer", "the timer was not started");
  }
  if (events_) {
    events_->stop.record(stream_);
  } else {
    stream_.synchronize();
    stop_time_ = Clock::now();
  }
  state_ = State::stopped;
}

double KernelTimer::elapsed_s() const {
  if (state_ != State::stopped) {
    throw Error(ErrorCode::invalid_argument, "read timer",
                state_ == State::idle ? "the timer was not started" : "the timer was not stopped");
  }
  if (!events_) return std::chrono::duration<double>(stop_time_ - start_time_).count();
  events_->stop.synchronize();
  return events_->stop.elapsed_s(events_->start);
}

}  // namespace hiptool
