// SPDX-License-Identifier: MIT
#include "hip/cpu/submission.hpp"

#include <atomic>
#include <chrono>
#include <utility>

#include "hip/cpu/devices.hpp"
#include "hip/cpu/grid_workers.hpp"
#include "hip/cpu/workers.hpp"

namespace hiptool::hip::cpu {
namespace {

std::atomic<bool> is_shut_down{false};

/// Longer than any copy; a host function that hangs must not keep the process from ending.
constexpr std::chrono::seconds shut_down_limit{2};

std::vector<std::unique_ptr<DeviceQueues>> make_all_queues() {
  std::vector<std::unique_ptr<DeviceQueues>> all;
  for (int ordinal = 0; ordinal < max_devices; ++ordinal) {
    all.push_back(std::make_unique<DeviceQueues>(ordinal));
  }
  return all;
}

void add_if_busy(std::vector<Ticket>& tickets, const std::shared_ptr<Queue>& queue) {
  if (!queue->idle()) tickets.push_back(queue->newest());
}

}  // namespace

DeviceQueues::DeviceQueues(int device)
    : null_queue_(std::make_shared<Queue>(QueueTraits{device, true, true})) {}

std::shared_ptr<Queue> DeviceQueues::create(const QueueTraits& traits) {
  auto queue = std::make_shared<Queue>(traits);
  const std::lock_guard lock(mutex_);
  forget_ended();
  queues_.push_back(queue);
  return queue;
}

Ticket DeviceQueues::submit(const std::shared_ptr<Queue>& queue, std::function<void()> run,
                            Ticket after) {
  const std::lock_guard lock(mutex_);
  std::vector<Ticket> all_after;
  if (!after.done()) all_after.push_back(std::move(after));
  if (queue->traits().is_null) {
    for (const auto& other : queues_) {
      if (other->traits().is_blocking) add_if_busy(all_after, other);
    }
  } else if (queue->traits().is_blocking) {
    add_if_busy(all_after, null_queue_);
  }
  return queue->push(std::move(run), std::move(all_after));
}

std::vector<Ticket> DeviceQueues::outstanding(const std::shared_ptr<Queue>& queue) {
  const std::lock_guard lock(mutex_);
  std::vector<Ticket> tickets;
  add_if_busy(tickets, queue);
  if (!queue->traits().is_null) return tickets;
  for (const auto& other : queues_) {
    if (other->traits().is_blocking) add_if_busy(tickets, other);
  }
  return tickets;
}

std::vector<Ticket> DeviceQueues::outstanding() {
  const std::lock_guard lock(mutex_);
  std::vector<Ticket> tickets;
  add_if_busy(tickets, null_queue_);
  for (const auto& queue : queues_) add_if_busy(tickets, queue);
  return tickets;
}

bool DeviceQueues::take_failure(const std::shared_ptr<Queue>& queue) {
  bool failed = queue->take_failure();
  if (!queue->traits().is_null) return failed;
  const std::lock_guard lock(mutex_);
  for (const auto& other : queues_) {
    if (other->traits().is_blocking) failed = other->take_failure() || failed;
  }
  return failed;
}

bool DeviceQueues::take_failure() {
  const std::lock_guard lock(mutex_);
  bool failed = null_queue_->take_failure();
  for (const auto& queue : queues_) failed = queue->take_failure() || failed;
  return failed;
}

void DeviceQueues::abandon() {
  const std::lock_guard lock(mutex_);
  null_queue_->abandon();
  for (const auto& queue : queues_) queue->abandon();
}

void DeviceQueues::forget_ended() {
  std::erase_if(queues_, [](const auto& queue) { return queue->is_over(); });
}

DeviceQueues& queues_of(int ordinal) {
  static const auto* const all = new std::vector<std::unique_ptr<DeviceQueues>>(make_all_queues());
  return *(*all)[static_cast<std::size_t>(ordinal)];
}

hipError_t submit(const std::shared_ptr<Queue>& queue, std::function<void()> run, Ticket* ticket,
                  Ticket after) {
  if (is_shut_down.load()) return hipErrorDeinitialized;
  // Places in a queue mean nothing to a graph.
  if (ticket != nullptr || !run) {
    if (const hipError_t error = queue->capture().refuse(); error != hipSuccess) return error;
  } else if (const auto recorded = queue->capture().add(run)) {
    return *recorded;
  }
  Ticket place = queues_of(queue->traits().device).submit(queue, std::move(run), std::move(after));
  if (place.queue == nullptr) return hipErrorInvalidHandle;
  if (ticket != nullptr) *ticket = std::move(place);
  return hipSuccess;
}

hipError_t submit_and_wait(const std::shared_ptr<Queue>& queue, std::function<void()> run) {
  Ticket ticket;
  const hipError_t error = submit(queue, std::move(run), &ticket);
  if (error != hipSuccess) return error;
  return ticket.wait() ? failure_of(queue) : hipErrorDeinitialized;
}

hipError_t failure_of(const std::shared_ptr<Queue>& queue) {
  const bool failed = queues_of(queue->traits().device).take_failure(queue);
  return failed ? hipErrorLaunchFailure : hipSuccess;
}

hipError_t failure_of_device(int ordinal) {
  return queues_of(ordinal).take_failure() ? hipErrorLaunchFailure : hipSuccess;
}

hipError_t wait_for(const std::vector<Ticket>& tickets) {
  bool all_done = true;
  for (const Ticket& ticket : tickets) all_done = ticket.wait() && all_done;
  return all_done ? hipSuccess : hipErrorDeinitialized;
}

hipError_t wait_for_device(int ordinal) { return wait_for(queues_of(ordinal).outstanding()); }

void wait_for_all_devices() {
  for (int ordinal = 0; ordinal < max_devices; ++ordinal) wait_for_device(ordinal);
}

void shut_down_queues() {
  is_shut_down.store(true);
  for (int ordinal = 0; ordinal < max_devices; ++ordinal) queues_of(ordinal).abandon();
  GridWorkers::instance().stop();
  Workers::instance().wait_all_retired(shut_down_limit);
  Workers::instance().join_retired();
}

}  // namespace hiptool::hip::cpu
