// SPDX-License-Identifier: MIT
/// Rate of a load, warm or cold, against the limits of the machine that are measured by turns with
/// it: plain copies of 64 MiB of pinned memory, reads without copies, and for cold files O_DIRECT
/// reads.
///
/// Usage: load_bench [OPTIONS] [DEVICE [FILE]], see `load_bench --help`.
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/units.hpp"
#include "hiptool/async_loader.hpp"
#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "load/read/read_trial.hpp"
#include "load/transfer/link_probe.hpp"
#include "load/verify/verification.hpp"
#include "model_writer/model_writer.hpp"
#include "read_rates.hpp"
#include "system/residency.hpp"

namespace {

using namespace hiptool;
using namespace hiptool::load;
using Clock = std::chrono::steady_clock;

constexpr const char* usage =
    "load_bench [OPTIONS] [DEVICE [FILE]]; without FILE a model of 256 MiB is made\n"
    "  --readers N --slots N --slot-bytes SIZE --parts N --streams N   the ring; 0: chosen\n"
    "  --io automatic|buffered|direct --depth N --request SIZE --direct-request SIZE\n"
    "  --way parallel|serial|buffered   of a file that is not cached, without a trial\n"
    "  --regions N        parallel regions of the file; 0: the loader chooses\n"
    "  --verify none|full|fast --verify-threads N\n"
    "  --cold               evict the file before each load and each read\n"
    "  --raw-threads N --raw-request SIZE   of the O_DIRECT limit (4, 1MiB)\n"
    "  --fresh              a new loader for each load, so that each one pins its ring\n"
    "  --no-prepare --no-ramp --stage --probe-first --fresh-arena\n"
    "  --repeat N           loads, 5; medians are printed   --json\n";

struct Settings {
  std::string device = "cpu";
  std::string file;
  TransferOptions loader;
  std::optional<ReadWay> way;
  std::string verify = "none";
  std::uint32_t verify_threads = 0;  // during the load; 0: half of the cores
  bool cold = false;
  bool fresh = false;
  bool prepare = true;
  bool probe_first = false;
  bool fresh_arena = false;
  bool json = false;
  std::uint32_t raw_threads = 4;
  std::uint64_t raw_request_bytes = 1u << 20;
  int repeat = 5;
};

ReadMode read_mode(const std::string& text) {
  if (text == "automatic") return ReadMode::automatic;
  if (text == "buffered") return ReadMode::buffered;
  if (text == "direct") return ReadMode::direct;
  throw std::invalid_argument("--io " + text);
}

ReadWay read_way(const std::string& text) {
  if (text == "parallel") return ReadWay::parallel;
  if (text == "serial") return ReadWay::serial;
  if (text == "buffered") return ReadWay::buffered;
  throw std::invalid_argument("--way " + text);
}

Settings parse(int argc, char** argv) {
  Settings settings;
  const std::vector<option> options{
      {"readers", 1, nullptr, 'r'},     {"slots", 1, nullptr, 's'},
      {"slot-bytes", 1, nullptr, 'b'},  {"streams", 1, nullptr, 't'},
      {"io", 1, nullptr, 'i'},          {"depth", 1, nullptr, 'd'},
      {"request", 1, nullptr, 'q'},     {"direct-request", 1, nullptr, 'Q'},
      {"verify", 1, nullptr, 'v'},      {"verify-threads", 1, nullptr, 'V'},
      {"cold", 0, nullptr, 'c'},        {"raw-threads", 1, nullptr, 'T'},
      {"raw-request", 1, nullptr, 'R'}, {"fresh", 0, nullptr, 'f'},
      {"regions", 1, nullptr, 'w'},     {"no-prepare", 0, nullptr, 'P'},
      {"parts", 1, nullptr, 'p'},       {"no-ramp", 0, nullptr, 'M'},
      {"stage", 0, nullptr, 'S'},       {"probe-first", 0, nullptr, 'F'},
      {"fresh-arena", 0, nullptr, 'A'}, {"repeat", 1, nullptr, 'n'},
      {"json", 0, nullptr, 'j'},        {"help", 0, nullptr, 'h'},
      {"way", 1, nullptr, 'W'},         {nullptr, 0, nullptr, 0}};
  const auto number = [] { return static_cast<std::uint32_t>(std::stoul(optarg)); };
  for (int letter = 0; (letter = getopt_long(argc, argv, "", options.data(), nullptr)) != -1;) {
    switch (letter) {
      case 'r': settings.loader.readers = number(); break;
      case 's': settings.loader.slots = number(); break;
      case 'b': settings.loader.slot_bytes = parse_size(optarg); break;
      case 'p': settings.loader.parts = number(); break;
      case 't': settings.loader.streams = number(); break;
      case 'i': settings.loader.read.mode = read_mode(optarg); break;
      case 'd': settings.loader.read.depth = number(); break;
      case 'q': settings.loader.read.request_bytes = parse_size(optarg); break;
      case 'Q': settings.loader.read.direct_request_bytes = parse_size(optarg); break;
      case 'W': settings.way = read_way(optarg); break;
      case 'w': settings.loader.regions = number(); break;
      case 'v': settings.verify = optarg; break;
      case 'V': settings.verify_threads = number(); break;
      case 'c': settings.cold = true; break;
      case 'T': settings.raw_threads = number(); break;
      case 'R': settings.raw_request_bytes = parse_size(optarg); break;
      case 'f': settings.fresh = true; break;
      case 'P': settings.prepare = false; break;
      case 'M': settings.loader.ramp = false; break;
      case 'F': settings.probe_first = true; break;
      case 'A': settings.fresh_arena = true; break;
      case 'S': settings.loader.always_stage = true; break;
      case 'n': settings.repeat = static_cast<int>(number()); break;
      case 'j': settings.json = true; break;
      default: std::fputs(usage, letter == 'h' ? stdout : stderr); std::exit(letter == 'h' ? 0 : 2);
    }
  }
  if (settings.cold && settings.loader.parts == 0) settings.loader.parts = 1;  // as load_model()
  if (optind < argc) settings.device = argv[optind++];
  if (optind < argc) settings.file = argv[optind++];
  return settings;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Figures {
  std::vector<double> loads;     // bytes/s, first read issued to last copy done
  std::vector<double> verdicts;  // bytes/s, start of the verification to its result
  std::vector<double> copies;    // limits: plain pinned copies
  std::vector<double> reads;     // preads into the ring's memory, or the arena's where it is host's
  std::vector<double> raw;       // O_DIRECT
  std::vector<double> prepare_s;
  double residency_s = 0;
  LoadStatistics last;
};

class Bench {
 public:
  Bench(const Settings& settings, const Device& device)
      : settings_(settings),
        device_(device),
        model_(ModelFile::open(settings.file)),
        plan_(plan_load(model_, std::span(&device, 1))),
        layout_(plan_.devices.front().layout),
        arena_(device, layout_.arena_bytes),
        stages_(settings.loader.always_stage || !device.is_host_memory()) {}

  Figures run() {
    Figures figures;
    if (!settings_.cold) bench::warm(settings_.file);
    const auto start = Clock::now();
    system::cached_bytes(settings_.file);
    figures.residency_s = seconds_since(start);
    for (int i = 0; i < settings_.repeat; ++i) {
      if (loader_ == nullptr || settings_.fresh) make_loader(figures);
      if (settings_.fresh_arena && i > 0) {
        arena_ = Buffer();
        arena_ = Buffer(device_, layout_.arena_bytes);
      }
      load(figures);
      measure_limits(figures);
    }
    return figures;
  }

 private:
  // Without rates of the others none of them is tried.
  void force_way(ReadWay way) const {
    struct stat status {};
    if (stat(settings_.file.c_str(), &status) != 0) throw std::runtime_error("stat");
    KnownReadRates::of_process().keep({status.st_dev, loader_->readers()}, {way, {}});
  }

  void make_loader(Figures& figures) {
    loader_.reset();
    loader_ = std::make_unique<Transfer>(model_, plan_, settings_.loader);
    const auto start = Clock::now();
    if (settings_.prepare && stages_) loader_->prepare();
    figures.prepare_s.push_back(seconds_since(start));
    if (settings_.probe_first) measure_links({device_}, nullptr);
  }

  void load(Figures& figures) {
    if (settings_.cold) bench::evict(settings_.file);
    if (settings_.way) force_way(*settings_.way);
    const auto start = Clock::now();
    std::unique_ptr<Verification> verification;
    if (settings_.verify != "none") {
      std::shared_ptr<FileDigests> files;
      if (settings_.verify == "full") {
        files = std::make_shared<FileDigests>(model_);
        files->limit_threads(settings_.verify_threads);
      }
      verification = std::make_unique<Verification>(model_, plan_, std::span(&arena_, 1), files);
    }
    figures.last = loader_->load(std::span(&arena_, 1), verification.get()).total;
    const auto bytes = static_cast<double>(figures.last.read_bytes);
    figures.loads.push_back(bytes / figures.last.load_time_s);
    if (verification == nullptr) return;
    const VerifyResult result = verification->finish();
    if (result.mismatch_count > 0) throw std::runtime_error("the verification found differences");
    figures.verdicts.push_back(bytes / seconds_since(start));
  }

  void measure_limits(Figures& figures) {
    if (stages_) figures.copies.push_back(measure_links({device_}, nullptr).at(0));
    if (settings_.cold) {
      bench::evict(settings_.file);
      figures.raw.push_back(bench::direct_read_rate(settings_.file, settings_.raw_threads,
                                                    settings_.raw_request_bytes));
      return;
    }
    const std::uint32_t threads = figures.last.readers;
    if (stages_) {
      const std::uint64_t bytes = std::uint64_t{figures.last.slots} * figures.last.slot_bytes;
      if (ring_ == nullptr) {
        ring_ = std::make_unique<PinnedBuffer>(device_, bytes, PinnedBuffer::Method::registered);
      }
      figures.reads.push_back(
          bench::read_rate(settings_.file, threads, figures.last.slot_bytes, ring_->bytes()));
    } else {
      const std::span<std::byte> memory(static_cast<std::byte*>(arena_.address()),
                                        arena_.size_bytes());
      const std::uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
      figures.reads.push_back(std::max(bench::read_rate(settings_.file, cores, 1u << 20, memory),
                                       bench::read_rate(settings_.file, cores, 8u << 20, memory)));
    }
  }

  const Settings& settings_;
  Device device_;
  ModelFile model_;
  LoadPlan plan_;
  const ArenaLayout& layout_;
  Buffer arena_;
  bool stages_;
  std::unique_ptr<PinnedBuffer> ring_;
  std::unique_ptr<Transfer> loader_;
};

// The limit that this load has: the disk's where it is cold, else the link's, else the host's.
const std::vector<double>& limit_of(const Figures& figures) {
  if (!figures.raw.empty()) return figures.raw;
  return figures.copies.empty() ? figures.reads : figures.copies;
}

// Of each load with the limit that was measured right after it.
std::vector<double> ratios(const std::vector<double>& rates, const std::vector<double>& limits) {
  std::vector<double> found;
  for (std::size_t i = 0; i < rates.size() && i < limits.size(); ++i) {
    found.push_back(rates[i] / limits[i]);
  }
  return found;
}

void print_json(const Settings& settings, const Figures& figures) {
  const auto all = [](const std::vector<double>& values) {
    return nlohmann::json{{"median", bench::median(values)}, {"each", values}};
  };
  const nlohmann::json document{
      {"device", settings.device},
      {"file", settings.file},
      {"cold", settings.cold},
      {"verify", settings.verify},
      {"regions", settings.loader.regions},
      {"readers", figures.last.readers},
      {"slots", figures.last.slots},
      {"slot_bytes", figures.last.slot_bytes},
      {"load_bytes_per_s", all(figures.loads)},
      {"verdict_bytes_per_s", all(figures.verdicts)},
      {"copy_limit_bytes_per_s", all(figures.copies)},
      {"read_limit_bytes_per_s", all(figures.reads)},
      {"direct_limit_bytes_per_s", all(figures.raw)},
      {"ratio", all(ratios(figures.loads, limit_of(figures)))},
      {"prepare_s", all(figures.prepare_s)},
      {"residency_s", figures.residency_s},
      {"buffered_bytes", figures.last.buffered_bytes},
      {"direct_bytes", figures.last.direct_bytes},
      {"direct_engine", figures.last.direct_engine},
      {"notes", figures.last.read_notes},
  };
  std::printf("%s\n", document.dump(2).c_str());
}

void print_text(const Settings& settings, const Figures& figures) {
  const auto rate = [](const std::vector<double>& values) {
    return values.empty() ? std::string("-") : format_rate(bench::median(values));
  };
  std::printf("%s, %s, %s, verify %s, %u readers, %u slots of %s; medians of %zu\n",
              settings.device.c_str(), format_size(figures.last.read_bytes).c_str(),
              settings.cold ? "cold" : "warm", settings.verify.c_str(), figures.last.readers,
              figures.last.slots, format_size(figures.last.slot_bytes).c_str(),
              figures.loads.size());
  std::printf("load     %s, ratio %.4f; verdict %s\n", rate(figures.loads).c_str(),
              bench::median(ratios(figures.loads, limit_of(figures))),
              rate(figures.verdicts).c_str());
  std::printf("limits   copies %s, reads %s, O_DIRECT %s\n", rate(figures.copies).c_str(),
              rate(figures.reads).c_str(), rate(figures.raw).c_str());
  std::printf("first    %s; prepare %s; residency of the file asked in %s\n",
              format_rate(figures.loads.front()).c_str(),
              format_duration(bench::median(figures.prepare_s)).c_str(),
              format_duration(figures.residency_s).c_str());
  std::printf("read     %s buffered, %s direct %s\n",
              format_size(figures.last.buffered_bytes).c_str(),
              format_size(figures.last.direct_bytes).c_str(), figures.last.direct_engine.c_str());
  for (const std::string& note : figures.last.read_notes)
    std::printf("note     %s\n", note.c_str());
}

// A model that goes with the object.
struct MadeModel {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("load-bench-" + std::to_string(getpid()));

  MadeModel() {
    model_writer::ModelWriterOptions options;
    options.path = path;
    options.size_bytes = 256u << 20;
    options.tensors = 100;
    model_writer::write_model(options);
  }
  ~MadeModel() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  MadeModel(const MadeModel&) = delete;
  MadeModel& operator=(const MadeModel&) = delete;
};

}  // namespace

int main(int argc, char** argv) try {
  Settings settings = parse(argc, argv);
  std::optional<MadeModel> made;
  if (settings.file.empty()) settings.file = made.emplace().path;
  Platforms platforms(Platforms::Options::from_environment());
  const Figures figures = Bench(settings, find_device(platforms, settings.device)).run();
  settings.json ? print_json(settings, figures) : print_text(settings, figures);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
