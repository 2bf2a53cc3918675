// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/platform.hpp"
#include "measure/doctor/doctor.hpp"
#include "report/tree.hpp"

namespace hiptool::measure {

/// A process that queries a driver reports to the one that started it in lines of JSON, one for
/// each finding, so that everything before a hang or a crash is known.
struct Record {
  std::string name;  ///< "status", "step", "gpu", "path" or "peer"
  report::Object fields;
};

/// A line, with the name as the field `record`.
std::string to_text(const Record& record);

/// Takes text as it comes and gives each record that is whole. Other lines are skipped.
class RecordReader {
 public:
  std::vector<Record> add(std::string_view text);

 private:
  std::string rest_;
};

/// Everything one platform answered.
struct ProbeResult {
  PlatformAnswer answer;
  std::vector<DoctorGpu> gpus;
  std::vector<PeerAnswer> peers;
};

Record status_record(const PlatformStatus& status);
Record step_record(const std::string& what);  ///< "copying to amd:0", the next step
Record gpu_record(const DoctorGpu& gpu);
Record path_record(const std::string& id, const system::PciPath& path);
Record peer_record(const PeerAnswer& peer);

/// Adds the findings of a record; one with an unknown name changes nothing. PCI facts are read
/// below `root`.
void apply(const Record& record, const std::filesystem::path& root, ProbeResult& result);

struct ProbeOptions {
  std::filesystem::path root = "/";
  bool with_copies = true;  ///< read links while copies run and try copies between devices
  std::chrono::milliseconds copy_time{300};  ///< of each device
};

/// Asks one platform in this process: its status, each device, sensors, links under load, peers.
/// Each finding is told as soon as it is there, and before a step that may hang a step record.
void probe_platform(Platforms& platforms, Platform platform, const ProbeOptions& options,
                    const std::function<void(const Record&)>& tell);

/// The same without a second process, which a driver that hangs would block.
ProbeResult probe_here(Platforms& platforms, Platform platform, const ProbeOptions& options);

/// Asks each platform in a process of its own, all at once: `program probe-platform NAME ROOT`. One
/// that tells nothing for `patience` is ended and reported as hung, one that ends by a signal as
/// crashed; what they told before stands. Never waits for a process that cannot be ended. Throws
/// Error(cancelled).
std::vector<ProbeResult> probe_in_children(const std::filesystem::path& program,
                                           const std::vector<Platform>& platforms,
                                           const ProbeOptions& options,
                                           std::chrono::milliseconds patience,
                                           const CancelToken& cancel);

}  // namespace hiptool::measure
