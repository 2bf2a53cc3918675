// SPDX-License-Identifier: MIT
#include "tree_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "system/device_node.hpp"
#include "system/numa.hpp"

namespace hiptool::machine {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Words split(const std::string& text, char at) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, at);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

/// The value of "key=value" among the words; empty without one.
std::string value_of(const Words& words, const std::string& key) {
  for (const std::string& word : words) {
    if (word.rfind(key + "=", 0) == 0) return word.substr(key.size() + 1);
  }
  return {};
}

template <class Number>
std::optional<Number> number_of(const Words& words, const std::string& key) {
  const std::string text = value_of(words, key);
  if (text.empty()) return {};
  return static_cast<Number>(std::stod(text));
}

std::optional<bool> flag_of(const Words& words, const std::string& key) {
  const std::string text = value_of(words, key);
  return text.empty() ? std::nullopt : std::optional(text == "1");
}

Platform platform_of(const std::string& name) {
  return name.rfind("amd", 0) == 0 ? Platform::amd : Platform::nvidia;
}

int errno_of(const std::string& name) {
  const std::map<std::string, int> names{{"EACCES", EACCES}, {"EPERM", EPERM}, {"EINVAL", EINVAL},
                                         {"ENOMEM", ENOMEM}, {"ENXIO", ENXIO}, {"EAGAIN", EAGAIN}};
  REQUIRE(names.count(name) == 1);
  return names.at(name);
}

class Reader {
 public:
  explicit Reader(TreeFile& file) : file_(file), tree_(*file.tree) {}

  void read(const std::string& path) {
    std::ifstream stream(path);
    REQUIRE_MESSAGE(stream.is_open(), path);
    for (std::string line; std::getline(stream, line);) {
      if (!line.empty() && line.front() == '|') {
        content_ += line.substr(1) + "\n";
        continue;
      }
      finish_file();
      if (line.empty() || line.front() == '#') continue;
      CAPTURE(line);
      const Words words = split(line, ' ');
      REQUIRE_MESSAGE(take(words, line), line);
    }
    finish_file();
  }

 private:
  void finish_file() {
    if (!open_file_.empty()) {
      // SyntheticTree adds the last line end.
      tree_.write(open_file_, content_.empty() ? "" : content_.substr(0, content_.size() - 1));
    }
    open_file_.clear();
    content_.clear();
  }

  bool take(const Words& words, const std::string& line) {
    const std::string& what = words.front();
    if (what == "file") {
      open_file_ = words.at(1);
    } else if (what == "link") {
      tree_.link(words.at(1), words.at(2));
    } else if (what == "folder") {
      fs::create_directories(tree_.root() / words.at(1));
    } else if (what == "node") {
      add_node(words);
    } else if (what == "pci") {
      add_pci(words);
    } else {
      return take_fact(words, line);
    }
    return true;
  }

  bool take_fact(const Words& words, const std::string& line) {
    const std::string& what = words.front();
    Evidence& evidence = file_.evidence;
    if (what == "open") {
      file_.open_errors[words.at(1)] = errno_of(words.at(2));
    } else if (what == "env") {
      const std::string pair = line.substr(4);
      variables_[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
      evidence.getenv = [variables = variables_](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      };
    } else if (what == "cpus") {
      evidence.allowed_cpus = system::parse_cpu_list(words.at(1));
    } else if (what == "platform") {
      add_platform(words);
    } else if (what == "device") {
      add_device(words);
    } else if (what == "sensors") {
      add_sensors(words);
    } else if (what == "load") {
      gpu_at(words.at(1)).path_under_load = system::read_pci_path(tree_.root(), words.at(1));
    } else if (what == "peer") {
      evidence.peers.push_back({words.at(1), words.at(2), words.at(3) == "1",
                                words.size() > 4 ? std::optional(words[4] == "1") : std::nullopt});
    } else if (what == "expect") {
      file_.expected.push_back(line.substr(7));
    } else {
      return false;
    }
    return true;
  }

  void add_node(const Words& words) const {
    tree_.write(words.at(1), "");
    const fs::path path = tree_.root() / words.at(1);
    chmod(path.c_str(), static_cast<mode_t>(std::stoul(words.at(2), nullptr, 8)));
    // Only root may; without it the node belongs to whoever runs the test.
    if (chown(path.c_str(), static_cast<uid_t>(std::stoul(words.at(3))),
              static_cast<gid_t>(std::stoul(words.at(4)))) != 0) {
      return;
    }
  }

  void add_pci(const Words& words) {
    const std::string& bus_id = words.at(1);
    const std::string parent = value_of(words, "under");
    const std::string folder =
        (parent.empty() ? "sys/devices/pci0000:00" : folders_.at(parent)) + "/" + bus_id;
    folders_[bus_id] = folder;
    for (const char* key : {"vendor", "device", "class"}) {
      if (const std::string value = value_of(words, key); !value.empty()) {
        tree_.write(folder + "/" + key, value);
      }
    }
    tree_.write(folder + "/numa_node",
                value_of(words, "numa").empty() ? "-1" : value_of(words, "numa"));
    write_link(folder, "current_link_", value_of(words, "link"));
    write_link(folder, "max_link_", value_of(words, "max"));
    if (const std::string driver = value_of(words, "driver"); !driver.empty()) {
      tree_.link(folder + "/driver", "../../../bus/pci/drivers/" + driver);
    }
    tree_.link("sys/bus/pci/devices/" + bus_id, "../../../../" + folder);
  }

  void write_link(const std::string& folder, const std::string& start, const std::string& text) {
    if (text.empty()) return;
    const auto slash = text.find('/');
    tree_.write(folder + "/" + start + "speed", text.substr(0, slash) + " GT/s PCIe");
    tree_.write(folder + "/" + start + "width", text.substr(slash + 1));
  }

  void add_platform(const Words& words) {
    PlatformAnswer answer;
    answer.status.platform = platform_of(words.at(1));
    answer.status.usable = words.at(2) == "usable";
    answer.kind = words[2] == "hung"      ? PlatformAnswer::Kind::hung
                  : words[2] == "crashed" ? PlatformAnswer::Kind::crashed
                                          : PlatformAnswer::Kind::answered;
    answer.after_s = 0.1;
    answer.status.device_count = number_of<int>(words, "count").value_or(0);
    answer.status.runtime_version = value_of(words, "runtime");
    answer.status.library = value_of(words, "library");
    for (std::size_t i = 3; i < words.size(); ++i) {
      if (words[i].find('=') != std::string::npos) continue;
      answer.status.reason += (answer.status.reason.empty() ? "" : " ") + words[i];
    }
    if (answer.kind == PlatformAnswer::Kind::crashed) answer.detail = answer.status.reason;
    file_.evidence.platforms.push_back(std::move(answer));
  }

  void add_device(const Words& words) {
    DoctorGpu gpu;
    gpu.id = words.at(1);
    gpu.platform = platform_of(gpu.id);
    gpu.pci = system::find_pci_device(tree_.root(), words.at(2));
    gpu.info.arch = value_of(words, "arch");
    gpu.info.memory_total_bytes = number_of<std::uint64_t>(words, "memory");
    gpu.info.ecc_enabled = flag_of(words, "ecc");
    gpu.sensor_reason = "not given";
    file_.evidence.gpus.push_back(std::move(gpu));
  }

  // By id or bus id; a GPU that no runtime shows is made.
  DoctorGpu& gpu_at(const std::string& name) {
    const auto find = [&] {
      return std::find_if(file_.evidence.gpus.begin(), file_.evidence.gpus.end(),
                          [&](const DoctorGpu& gpu) {
                            return gpu.id == name || (gpu.pci && gpu.pci->bus_id == name);
                          });
    };
    if (find() == file_.evidence.gpus.end()) add_hardware(file_.evidence);
    REQUIRE(find() != file_.evidence.gpus.end());
    return *find();
  }

  void add_sensors(const Words& words) {
    DoctorGpu& gpu = gpu_at(words.at(1));
    gpu.sensor_source = words.at(2);
    hip::SensorReading& sensors = gpu.sensors;
    if (const std::string text = value_of(words, "throttle"); !text.empty()) {
      sensors.throttle_reasons = text == "none" ? Words{} : split(text, ',');
    }
    sensors.power_limit_w = number_of<double>(words, "power");
    sensors.default_power_limit_w = number_of<double>(words, "default_power");
    sensors.uncorrected_errors = number_of<std::uint64_t>(words, "uncorrected");
    sensors.corrected_errors = number_of<std::uint64_t>(words, "corrected");
    sensors.repair_pending = flag_of(words, "repair_pending");
    sensors.host_visible_bytes = number_of<std::uint64_t>(words, "visible");
    sensors.persistence_enabled = flag_of(words, "persistence");
    sensors.partitioned = flag_of(words, "mig");
    sensors.links_up = number_of<std::uint64_t>(words, "links");
    if (const std::string text = value_of(words, "processes"); !text.empty()) {
      sensors.processes.emplace();
      for (const std::string& id : split(text, ',')) {
        if (id != "none") sensors.processes->push_back({std::stoull(id), "", {}});
      }
    }
  }

  TreeFile& file_;
  const system::SyntheticTree& tree_;
  std::string open_file_;
  std::string content_;
  std::map<std::string, std::string> folders_;
  std::map<std::string, std::string> variables_;
};

}  // namespace

TreeFile read_tree_file(const std::string& path) {
  TreeFile file;
  file.evidence.root = file.tree->root();
  Reader(file).read(path);
  add_hardware(file.evidence);
  std::sort(file.expected.begin(), file.expected.end());
  const fs::path root = file.tree->root();
  file.evidence.open_node = [root, errors = file.open_errors](const fs::path& node) {
    const auto found = errors.find(fs::relative(node, root).string());
    return found == errors.end() ? system::try_open(node) : found->second;
  };
  return file;
}

std::vector<std::string> found_in(const std::vector<Check>& checks) {
  std::vector<std::string> found;
  for (const Check& check : checks) {
    if (check.severity == Severity::pass) continue;
    found.push_back(std::string(to_string(check.severity)) + " " + check.id +
                    (check.device.empty() ? "" : " " + check.device));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace hiptool::machine
