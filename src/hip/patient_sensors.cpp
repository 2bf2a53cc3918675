// SPDX-License-Identifier: MIT
#include "hip/patient_sensors.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace hiptool::hip {
namespace {

std::array<std::atomic<int>, 3> late_calls_of_platforms;

/// It owns all that it uses, for its thread may outlive the caller.
struct Call {
  std::function<void(SensorLibrary&)> work;
  std::exception_ptr error;
  bool has_ended = false;
  bool is_late = false;  // nobody waits for it any more
};

/// What a thread that makes the calls shares with the callers.
struct CallSlot {
  explicit CallSlot(std::atomic<int>& late) : late_calls(late) {}

  std::atomic<int>& late_calls;
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<Call> call;  // null: the thread is idle
  bool shall_stop = false;
  bool is_left = false;  // nobody waits for the thread
  bool has_ended = false;
};

void make_calls(CallSlot& slot) {
  SensorLibrary library;
  std::unique_lock lock(slot.mutex);
  while (true) {
    slot.changed.wait(lock, [&slot] { return slot.call || slot.shall_stop; });
    if (!slot.call) break;
    const std::shared_ptr<Call> call = slot.call;
    lock.unlock();
    try {
      call->work(library);
    } catch (...) {
      call->error = std::current_exception();
    }
    lock.lock();
    if (call->is_late) --slot.late_calls;
    call->has_ended = true;
    slot.call.reset();
    slot.changed.notify_all();
  }
  lock.unlock();
  library.sensors.reset();
  lock.lock();
  if (slot.is_left) --slot.late_calls;
  slot.has_ended = true;
  slot.changed.notify_all();
}

class PatientSensors final : public Sensors {
 public:
  PatientSensors(std::chrono::milliseconds patience, std::atomic<int>& late_calls,
                 const CancelToken* cancel)
      : patience_(patience), cancel_(cancel), slot_(std::make_shared<CallSlot>(late_calls)) {
    std::thread([slot = slot_] { make_calls(*slot); }).detach();
  }
  // The program may end next, and the vendor's library is closed before.
  ~PatientSensors() override {
    std::unique_lock lock(slot_->mutex);
    slot_->shall_stop = true;
    slot_->changed.notify_all();
    const bool has_late_call = slot_->call && slot_->call->is_late;
    const auto has_ended = [this] { return slot_->has_ended; };
    if (!has_late_call && wait(lock, Clock::now() + patience_, has_ended)) return;
    slot_->is_left = true;
    ++slot_->late_calls;
  }
  PatientSensors(const PatientSensors&) = delete;
  PatientSensors& operator=(const PatientSensors&) = delete;

  /// False if the work does not end in time, which is short where the program is to stop, or late
  /// work has not ended.
  bool run_in_time(std::function<void(SensorLibrary&)> work) const {
    const auto deadline = Clock::now() + patience_;
    const auto call = std::make_shared<Call>();
    call->work = std::move(work);
    std::unique_lock lock(slot_->mutex);
    if (slot_->late_calls > 0) return false;
    const auto is_idle = [this] { return !slot_->call; };
    if (!wait(lock, deadline, is_idle)) return false;
    slot_->call = call;
    slot_->changed.notify_all();
    if (!wait(lock, deadline, [&call] { return call->has_ended; })) {
      call->is_late = true;
      ++slot_->late_calls;
      return false;
    }
    if (call->error) std::rethrow_exception(call->error);
    return true;
  }

  void set_source(std::string source) { source_ = std::move(source); }
  const std::string& source() const noexcept override { return source_; }
  SensorReading read(std::string_view pci_bus_id) override {
    return read_by(&Sensors::read, pci_bus_id);
  }
  SensorReading read_load(std::string_view pci_bus_id) override {
    return read_by(&Sensors::read_load, pci_bus_id);
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Read = SensorReading (Sensors::*)(std::string_view);

  /// In pieces, because a signal handler sets the token and cannot notify.
  template <class IsDone>
  bool wait(std::unique_lock<std::mutex>& lock, Clock::time_point deadline, IsDone is_done) const {
    if (cancel_ == nullptr) return slot_->changed.wait_until(lock, deadline, is_done);
    while (true) {
      const auto piece = std::min(deadline, Clock::now() + cancelled_patience);
      if (slot_->changed.wait_until(lock, piece, is_done)) return true;
      if (cancel_->is_cancelled() || Clock::now() >= deadline) return false;
    }
  }

  SensorReading read_by(Read read, std::string_view pci_bus_id) const {
    const auto reading = std::make_shared<SensorReading>();
    const auto work = [reading, read, bus_id = std::string(pci_bus_id)](SensorLibrary& library) {
      *reading = (library.sensors.get()->*read)(bus_id);
    };
    if (run_in_time(work)) return std::move(*reading);
    SensorReading late;
    late.has_timed_out = true;
    return late;
  }

  std::chrono::milliseconds patience_;
  const CancelToken* cancel_;
  std::shared_ptr<CallSlot> slot_;
  std::string source_;
};

}  // namespace

SensorLibrary open_patient_sensors(Platform platform, const std::filesystem::path& root,
                                   std::chrono::milliseconds patience, const CancelToken* cancel) {
  return open_patient_sensors([platform, root] { return open_sensors(platform, root); }, patience,
                              late_calls_of_platforms.at(static_cast<std::size_t>(platform)),
                              cancel);
}

bool has_left_sensors() noexcept {
  return std::any_of(late_calls_of_platforms.begin(), late_calls_of_platforms.end(),
                     [](const std::atomic<int>& late_calls) { return late_calls > 0; });
}

SensorLibrary open_patient_sensors(std::function<SensorLibrary()> open,
                                   std::chrono::milliseconds patience, std::atomic<int>& late_calls,
                                   const CancelToken* cancel) {
  std::unique_ptr<PatientSensors> sensors;
  try {
    sensors = std::make_unique<PatientSensors>(patience, late_calls, cancel);
  } catch (const std::system_error& error) {
    return {nullptr, std::string("no thread for the sensors: ") + error.what()};
  }
  struct Opened {
    bool has_sensors = false;
    std::string source;
    std::string reason;
  };
  const auto opened = std::make_shared<Opened>();
  const auto work = [opened, open = std::move(open)](SensorLibrary& library) {
    library = open();
    opened->reason = library.reason;
    opened->has_sensors = library.sensors != nullptr;
    if (library.sensors) opened->source = library.sensors->source();
  };
  if (!sensors->run_in_time(work)) return {nullptr, sensors_hang, true};
  if (!opened->has_sensors) return {nullptr, opened->reason};
  sensors->set_source(opened->source);
  return {std::move(sensors), opened->reason};
}

}  // namespace hiptool::hip
