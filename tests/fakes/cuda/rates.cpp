// SPDX-License-Identifier: MIT
#include "fakes/cuda/rates.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <string>

#include "fakes/common/settings.hpp"

namespace hiptool::fake {
namespace {

class Rates {
 public:
  static Rates& instance() {
    static Rates rates;
    return rates;
  }

  void add_copy(CUstream stream, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (is_planted_) times_s_[stream] += static_cast<double>(bytes) / bytes_per_s_;
  }
  void add_event(CUevent event, CUstream stream) {
    const std::scoped_lock lock(mutex_);
    if (is_planted_) events_s_[event] = {stream, times_s_[stream]};
  }
  std::optional<float> between(CUevent start, CUevent stop) {
    const std::scoped_lock lock(mutex_);
    const auto from = events_s_.find(start);
    const auto to = events_s_.find(stop);
    if (from == events_s_.end() || to == events_s_.end()) return {};
    if (from->second.stream != to->second.stream) return {};
    const double time_s = to->second.time_s - from->second.time_s;
    if (!(time_s > 0)) return {};
    std::normal_distribution<double> normal;
    return static_cast<float>(time_s * std::exp(within_ * normal(random_)) * 1e3);
  }

 private:
  struct Mark {
    CUstream stream;
    double time_s;
  };

  Rates() {
    const std::string text = text_from("FAKE_CUDA_RATE", "");
    double gigabytes = 0;
    double between = 0;
    int end = 0;
    is_planted_ =
        std::sscanf(text.c_str(), "%lf:%lf:%lf:%n", &gigabytes, &between, &within_, &end) == 3;
    if (!is_planted_) return;
    const std::string file = text.substr(static_cast<std::size_t>(end));
    std::error_code failed;
    const auto before = std::filesystem::file_size(file, failed);
    std::ofstream(file, std::ios::app) << '.';
    random_.seed(failed ? 0 : before);
    random_.discard(10);
    std::normal_distribution<double> normal;
    bytes_per_s_ = gigabytes * 1e9 * std::exp(between * normal(random_));
  }

  std::mutex mutex_;
  std::mt19937_64 random_;
  bool is_planted_ = false;
  double bytes_per_s_ = 1;
  double within_ = 0;
  std::map<CUstream, double> times_s_;
  std::map<CUevent, Mark> events_s_;
};

}  // namespace

void plant_copy(CUstream stream, std::size_t bytes) { Rates::instance().add_copy(stream, bytes); }
void plant_event(CUevent event, CUstream stream) { Rates::instance().add_event(event, stream); }
std::optional<float> planted_milliseconds(CUevent start, CUevent stop) {
  return Rates::instance().between(start, stop);
}

}  // namespace hiptool::fake
