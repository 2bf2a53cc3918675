// SPDX-License-Identifier: MIT
/// What was measured, the same for every kind of document: copies of bench-copy, kernels of
/// run-kernel, loads.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace hiptool::report {

struct Measurement {
  std::string id;           ///< unique in its document
  std::string label;        ///< what was measured, without the devices: "h2d.pinned.copy.256MiB"
  std::string series;       ///< the label without its size
  std::string source;       ///< of a copy: "host" or device ids with commas; empty for others
  std::string destination;  ///< the same; the device of what is no copy
  std::vector<std::string> devices;  ///< that took part, each once
  std::uint64_t size_bytes = 0;
  std::string status;  ///< "ok", "skipped", "failed" or "mismatch"
  std::string reason;
  std::vector<double> samples_s;  ///< positive ones only if has_bad_sample is false
  bool has_bad_sample = false;    ///< one was no number above zero
  std::optional<double> median_s;
  std::optional<double> bytes_per_s;  ///< the median; bytes copied once
  std::optional<double> low_bytes_per_s;
  std::optional<double> high_bytes_per_s;
  std::optional<double> flops_per_s;
  std::optional<double> share_of_limit;
  bool is_pair = false;  ///< between two different devices
};

/// Kind and version of a document, by its schema: "hiptool.bench-copy/1". The kind is empty for
/// what hiptool did not write.
struct DocumentKind {
  std::string name;  ///< "bench-copy"
  std::string version;
};
DocumentKind kind_of(const Object& document);

/// In the order of the document; none where it holds none. Throws Error(corrupt_data) for two with
/// the same id.
std::vector<Measurement> measurements(const Object& document);

/// What the document says of a device, in its devices or its context; empty where it does not.
struct DeviceTexts {
  std::string name;
  std::string pci_bus_id;
  std::string uuid;
};
/// By the device's id ("nvidia:0").
std::map<std::string, DeviceTexts> device_texts(const Object& document);
/// Those of one; empty texts for an id that is not there.
const DeviceTexts& texts_of(const std::map<std::string, DeviceTexts>& devices,
                            const std::string& id);

/// A size as ids and labels have it, a word from which nothing is lost: "256MiB", "1500B".
std::string size_word(std::uint64_t size_bytes);

/// The platform of a device id: "nvidia" of "nvidia:0"; empty for what is none.
std::string platform_of(const std::string& id);

}  // namespace hiptool::report
