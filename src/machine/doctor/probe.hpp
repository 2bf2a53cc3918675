// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/platform.hpp"
#include "machine/doctor/doctor.hpp"
#include "report/tree.hpp"

namespace hiptool::machine {

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
  std::string loading;  ///< the library that is being loaded; empty: a driver is called
};

Record status_record(const PlatformStatus& status);
Record step_record(const std::string& what);        ///< the next step: "copying to amd:0"
Record loading_record(const std::string& library);  ///< the next step
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

/// How long a process may report nothing.
struct ProbePatience {
  std::chrono::milliseconds call{4500};      ///< in a call of a driver, while it reads no disk
  std::chrono::milliseconds library{60000};  ///< while it loads a library, or reads the disk
  /// Grows while the process waits for a disk; empty: its major page faults and bytes read.
  std::function<std::uint64_t(int process)> disk_reads = {};

  /// Of the option --timeout.
  static ProbePatience of_seconds(double seconds);
};

/// Queries all platforms at once, each in its own process: `program probe-platform NAME ROOT`. One
/// that reports nothing for the patience is killed and reported as hung, or the library that it
/// loads as given up; one that ends by a signal is reported as crashed. Earlier findings are kept.
/// Never waits for a process that cannot be killed. Throws Error(cancelled).
std::vector<ProbeResult> probe_in_children(const std::filesystem::path& program,
                                           const std::vector<Platform>& platforms,
                                           const ProbeOptions& options,
                                           const ProbePatience& patience,
                                           const CancelToken& cancel);

}  // namespace hiptool::machine
