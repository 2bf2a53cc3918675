// SPDX-License-Identifier: MIT
/// Which queues a device has and in which order their work runs: HIP's legacy default-stream rules.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "hip/abi.hpp"
#include "hip/cpu/queue.hpp"

namespace hiptool::hip::cpu {

/// The queues of one device. Each submission takes the device's lock, so that all work has one
/// order and waits only for older work: no deadlock is possible.
class DeviceQueues {
 public:
  explicit DeviceQueues(int device);

  const std::shared_ptr<Queue>& null_queue() const { return null_queue_; }
  std::shared_ptr<Queue> create(const QueueTraits& traits);

  /// Work of the default stream waits for all older work of blocking streams, theirs for all older
  /// work of the default stream. The ticket has no queue if the stream takes no more work.
  Ticket submit(const std::shared_ptr<Queue>& queue, std::function<void()> run, Ticket after);

  /// Work that must be done before the queue counts as idle; the default stream includes the
  /// blocking ones.
  std::vector<Ticket> outstanding(const std::shared_ptr<Queue>& queue);
  /// Everything that is not done on this device.
  std::vector<Ticket> outstanding();

  /// Whether work that such a wait includes has failed; each failure is reported once.
  bool take_failure(const std::shared_ptr<Queue>& queue);
  bool take_failure();

  void abandon();

 private:
  void forget_ended();

  std::mutex mutex_;
  std::shared_ptr<Queue> null_queue_;
  std::vector<std::shared_ptr<Queue>> queues_;  ///< also those that were destroyed and still work
};

/// The queues of a device, 0 <= ordinal < max_devices. They are never destroyed.
DeviceQueues& queues_of(int ordinal);

/// Submits to the queue's device, or adds to what its stream records; the ticket is only written on
/// success.
hipError_t submit(const std::shared_ptr<Queue>& queue, std::function<void()> run,
                  Ticket* ticket = nullptr, Ticket after = {});

/// Submits and waits until it is done; also returns the failure of older work.
hipError_t submit_and_wait(const std::shared_ptr<Queue>& queue, std::function<void()> run);

hipError_t wait_for(const std::vector<Ticket>& tickets);
/// The result of a completed wait for the queue or device: work that ran may have failed.
hipError_t failure_of(const std::shared_ptr<Queue>& queue);
hipError_t failure_of_device(int ordinal);

hipError_t wait_for_device(int ordinal);
void wait_for_all_devices();

/// At the end of the process: drops work that has not started and joins the workers. Later
/// submissions return hipErrorDeinitialized.
void shut_down_queues();

}  // namespace hiptool::hip::cpu
