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

/// A finding that a process which queries a driver sends to its parent as a line of JSON, so that
/// everything before a hang or a crash is known.
struct Record {
  std::string name;  ///< "status", "step", "gpu", "path", "peer" or "library"
  report::Object fields;
};

/// A line, with the name as the field `record`.
std::string to_text(const Record& record);

/// Takes parts of the text and returns the complete records. Other lines are skipped.
class RecordReader {
 public:
  std::vector<Record> add(std::string_view text);

 private:
  std::string rest_;
};

/// All findings of one platform.
struct ProbeResult {
  PlatformAnswer answer;
  std::vector<DoctorGpu> gpus;
  std::vector<PeerAnswer> peers;
  std::vector<LibraryAnswer> libraries;
};

Record status_record(const PlatformStatus& status);
Record step_record(const std::string& what);  ///< the next step: "copying to amd:0"
Record gpu_record(const DoctorGpu& gpu);
Record path_record(const std::string& id, const system::PciPath& path);
Record peer_record(const PeerAnswer& peer);
Record library_record(const LibraryAnswer& library);

/// Adds the findings of a record; one with an unknown name changes nothing. PCI facts are read
/// below `root`.
void apply(const Record& record, const std::filesystem::path& root, ProbeResult& result);

struct ProbeOptions {
  std::filesystem::path root = "/";
  bool with_copies = true;      ///< read links while copies run and try copies between devices
  bool with_libraries = false;  ///< load BLAS and DNN libraries: only in a process of its own
  std::chrono::milliseconds copy_time{300};  ///< of each device
};

/// Queries one platform in this process: its status, each device, sensors, links under load, peers.
/// Each finding is reported as soon as it is known, and each step that may hang before it starts.
void probe_platform(Platforms& platforms, Platform platform, const ProbeOptions& options,
                    const std::function<void(const Record&)>& report_record);

/// The same with the result of apply(); a driver that hangs blocks the calling process.
ProbeResult probe_here(Platforms& platforms, Platform platform, const ProbeOptions& options);

/// Queries all platforms at once, each in its own process: `program probe-platform NAME ROOT`. One
/// that reports nothing for `patience` is killed and reported as hung, one that ends by a signal as
/// crashed; earlier findings are kept. Never waits for a process that cannot be killed. Throws
/// Error(cancelled).
std::vector<ProbeResult> probe_in_children(const std::filesystem::path& program,
                                           const std::vector<Platform>& platforms,
                                           const ProbeOptions& options,
                                           std::chrono::milliseconds patience,
                                           const CancelToken& cancel);

}  // namespace hiptool::measure
