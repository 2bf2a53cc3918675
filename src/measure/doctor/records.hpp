// SPDX-License-Identifier: MIT
/// The report of a process that queries a driver to the one that started it: a line of JSON for
/// each finding, so that everything before a hang or a crash is known.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "measure/doctor/doctor.hpp"
#include "report/tree.hpp"

namespace hiptool::measure {

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

}  // namespace hiptool::measure
