// SPDX-License-Identifier: MIT
/// Rate of a warm load onto several devices at once, against the limits of the machine that are
/// measured by turns with it: copies on all links at once without reads, and reads of all threads
/// into pinned memory without copies. One JSON document.
///
/// Usage: multi_bench [OPTIONS] DEVICES FILE, where DEVICES are ids with commas between them.
#include <getopt.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hiptool/device.hpp"
#include "hiptool/error.hpp"
#include "hiptool/pinned_buffer.hpp"
#include "load/transfer/link_probe.hpp"
#include "load/transfer/transfer.hpp"
#include "load/verify/verification.hpp"
#include "read_rates.hpp"

namespace {

using namespace hiptool;
using namespace hiptool::load;
using Clock = std::chrono::steady_clock;

constexpr const char* usage =
    "multi_bench [OPTIONS] DEVICES FILE\n"
    "  --split bytes|layer|replicate   bytes\n"
    "  --verify none|full|fast         none\n"
    "  --readers N                     of all devices together; 0: one for each core\n"
    "  --slots N --slot-bytes N --parts N  of each device; 0: chosen\n"
    "  --streams N                     of each device: 1\n"
    "  --stage                         through slots on the cpu platform too\n"
    "  --repeat N                      5\n";

struct Settings {
  std::vector<std::string> devices;
  std::string file;
  TransferOptions loader;
  std::string split = "bytes";
  std::string verify = "none";
  int repeat = 5;
};

SplitKind split_kind(const std::string& text) {
  if (text == "bytes") return SplitKind::bytes;
  if (text == "layer") return SplitKind::layer;
  if (text == "replicate") return SplitKind::replicate;
  throw std::invalid_argument("--split " + text);
}

Settings parse(int argc, char** argv) {
  Settings settings;
  const std::vector<option> options{
      {"split", 1, nullptr, 'p'},      {"verify", 1, nullptr, 'v'}, {"readers", 1, nullptr, 'r'},
      {"slots", 1, nullptr, 's'},      {"repeat", 1, nullptr, 'n'}, {"stage", 0, nullptr, 'S'},
      {"slot-bytes", 1, nullptr, 'b'}, {"parts", 1, nullptr, 'P'},  {"streams", 1, nullptr, 't'},
      {"help", 0, nullptr, 'h'},       {nullptr, 0, nullptr, 0}};
  for (int chosen = 0; (chosen = getopt_long(argc, argv, "", options.data(), nullptr)) != -1;) {
    switch (chosen) {
      case 'p': settings.split = optarg; break;
      case 'v': settings.verify = optarg; break;
      case 'r': settings.loader.readers = static_cast<std::uint32_t>(std::stoul(optarg)); break;
      case 's': settings.loader.slots = static_cast<std::uint32_t>(std::stoul(optarg)); break;
      case 'P': settings.loader.parts = static_cast<std::uint32_t>(std::stoul(optarg)); break;
      case 't': settings.loader.streams = static_cast<std::uint32_t>(std::stoul(optarg)); break;
      case 'b': settings.loader.slot_bytes = std::stoull(optarg); break;
      case 'n': settings.repeat = std::stoi(optarg); break;
      case 'S': settings.loader.always_stage = true; break;
      default: throw std::invalid_argument(usage);
    }
  }
  const std::set<std::string> modes{"none", "full", "fast"};
  if (argc - optind != 2 || modes.count(settings.verify) == 0) throw std::invalid_argument(usage);
  std::istringstream ids(argv[optind]);
  for (std::string id; std::getline(ids, id, ',');) settings.devices.push_back(id);
  settings.file = argv[optind + 1];
  return settings;
}

struct Figures {
  std::vector<double> loads;     // bytes of the file/s, first read issued to last copy done
  std::vector<double> verdicts;  // the same from the start of the verification to its result
  std::vector<double> links;     // of all links at once; for copies the slowest one in use
  std::vector<double> reads;     // preads into pinned memory
  std::vector<double> ratios;    // load by the smaller of both
  double prepare_s = 0;
  TransferStatistics last;
};

class Bench {
 public:
  Bench(const Settings& settings, const std::vector<Device>& devices)
      : settings_(settings),
        model_(ModelFile::open(settings.file)),
        plan_(plan_load(model_, devices, {split_kind(settings.split), {}})),
        loader_(model_, plan_, settings.loader),
        arenas_(loader_.allocate()) {}

  Figures run() {
    Figures figures;
    bench::warm(settings_.file);
    const auto start = Clock::now();
    loader_.prepare();
    figures.prepare_s = std::chrono::duration<double>(Clock::now() - start).count();
    for (int i = 0; i < settings_.repeat; ++i) {
      load(figures);
      measure_links(figures);
      measure_reads(figures);
      const double limit = std::min(figures.links.back(), figures.reads.back());
      figures.ratios.push_back(figures.loads.back() / limit);
    }
    return figures;
  }

  const LoadPlan& plan() const { return plan_; }
  const Transfer& loader() const { return loader_; }

 private:
  void load(Figures& figures) {
    const auto start = Clock::now();
    std::unique_ptr<Verification> verification;
    if (settings_.verify != "none") {
      const bool reads_twice = settings_.verify == "full";
      auto files = reads_twice ? std::make_shared<FileDigests>(model_) : nullptr;
      if (files) files->limit_threads(0);
      verification = std::make_unique<Verification>(model_, plan_, arenas_, files);
    }
    figures.last = loader_.load(arenas_, verification.get());
    const auto bytes = static_cast<double>(figures.last.total.read_bytes);
    figures.loads.push_back(bytes / figures.last.total.load_time_s);
    if (verification == nullptr) return;
    if (verification->finish().mismatch_count > 0) {
      throw std::runtime_error("the verification found differences");
    }
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    figures.verdicts.push_back(bytes / elapsed.count());
  }

  // Copies that come from a peer use no link.
  std::vector<Device> linked_devices() const {
    std::vector<Device> devices;
    for (std::size_t i = 0; i < plan_.devices.size(); ++i) {
      const DevicePlan& part = plan_.devices[i];
      if (!part.layout.placements.empty() && !loader_.reaches_first()[i]) {
        devices.push_back(part.device);
      }
    }
    return devices;
  }

  void measure_links(Figures& figures) {
    const std::vector<double> rates = load::measure_links(linked_devices(), nullptr);
    if (rates.empty()) throw std::runtime_error("no link was in use");
    const bool is_copied = plan_.split == SplitKind::replicate;
    figures.links.push_back(is_copied ? *std::min_element(rates.begin(), rates.end())
                                      : std::accumulate(rates.begin(), rates.end(), 0.0));
  }

  // The best of as many threads as the load had and of all cores.
  void measure_reads(Figures& figures) {
    const LoadStatistics& total = figures.last.total;
    // A load that stages nothing has no slots.
    const std::uint64_t piece = total.slot_bytes > 0 ? total.slot_bytes : 2 << 20;
    if (ring_ == nullptr) {
      const std::uint64_t slots = std::max<std::uint64_t>(total.slots, total.readers);
      ring_ = std::make_unique<PinnedBuffer>(plan_.devices.front().device, slots * piece,
                                             PinnedBuffer::Method::registered);
    }
    double best = 0;
    for (const std::uint32_t threads :
         {total.readers, std::max(1u, std::thread::hardware_concurrency())}) {
      best = std::max(best, bench::read_rate(settings_.file, threads, piece, ring_->bytes()));
    }
    figures.reads.push_back(best);
  }

  const Settings& settings_;
  ModelFile model_;
  LoadPlan plan_;
  Transfer loader_;
  std::vector<Buffer> arenas_;
  std::unique_ptr<PinnedBuffer> ring_;
};

nlohmann::json to_json(const Settings& settings, const Bench& bench, const Figures& figures) {
  const auto all = [](const std::vector<double>& values) {
    return nlohmann::json{{"median", bench::median(values)}, {"each", values}};
  };
  nlohmann::json devices = nlohmann::json::array();
  for (std::size_t i = 0; i < figures.last.devices.size(); ++i) {
    const LoadStatistics& device = figures.last.devices[i];
    devices.push_back({{"id", bench.plan().devices[i].device.id()},
                       {"bytes", bench.plan().devices[i].layout.tensor_bytes},
                       {"copy_time_s", device.copy_time_s},
                       {"copied_bytes", device.copied_bytes},
                       {"from_peer", bool{bench.loader().reaches_first()[i]}}});
  }
  return {{"file", settings.file},
          {"file_bytes", figures.last.total.read_bytes},
          {"split", settings.split},
          {"verify", settings.verify},
          {"readers", figures.last.total.readers},
          {"slots", figures.last.total.slots},
          {"slot_bytes", figures.last.total.slot_bytes},
          {"devices", devices},
          {"load_bytes_per_s", all(figures.loads)},
          {"verdict_bytes_per_s", all(figures.verdicts)},
          {"link_limit_bytes_per_s", all(figures.links)},
          {"read_limit_bytes_per_s", all(figures.reads)},
          {"ratio", all(figures.ratios)},
          {"prepare_s", figures.prepare_s}};
}

}  // namespace

int main(int argc, char** argv) try {
  const Settings settings = parse(argc, argv);
  Platforms platforms(Platforms::Options::from_environment());
  std::vector<Device> devices;
  for (const std::string& id : settings.devices) devices.push_back(find_device(platforms, id));
  Bench bench(settings, devices);
  const Figures figures = bench.run();
  std::printf("%s\n", to_json(settings, bench, figures).dump(2).c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
