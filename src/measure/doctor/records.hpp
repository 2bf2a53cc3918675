// SPDX-License-Identifier: MIT
/// What a process that asks a driver tells the one that started it: lines of text, so that all that
/// came before a hang or a crash is known.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "measure/doctor/doctor.hpp"

namespace hiptool::measure {

/// "begin NAME", a line "key=value" for each field (with \n and \\ for line ends and backslashes)
/// and "end".
struct Record {
  std::string name;
  std::map<std::string, std::string> fields;
};
std::string to_text(const Record& record);

/// Takes text as it comes and gives each record that is whole.
class RecordReader {
 public:
  std::vector<Record> add(std::string_view text);

 private:
  std::string rest_;
  Record open_;
};

/// Everything one platform answered.
struct ProbeResult {
  PlatformAnswer answer;
  std::vector<DoctorGpu> gpus;
  std::vector<PeerAnswer> peers;
};

Record status_record(const PlatformStatus& status);
Record step_record(const std::string& what);  ///< "copying to amd:0", what is tried next
Record gpu_record(const DoctorGpu& gpu);
Record path_record(const std::string& id, const system::PciPath& path);
Record peer_record(const PeerAnswer& peer);

/// Adds what the record tells; one of an unknown name changes nothing. PCI facts are read below
/// `root`.
void apply(const Record& record, const std::filesystem::path& root, ProbeResult& result);

}  // namespace hiptool::measure
