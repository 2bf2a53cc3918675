// SPDX-License-Identifier: MIT
/// What a plain program reaches that reads a cached file and copies it to several GPUs: threads
/// with two slots of pinned memory each, which share nothing with the loader and verify nothing.
///
/// Usage: plain_ring FILE GPUS [READERS [SLOT_BYTES [REPEAT]]], 32 readers of all GPUs together,
/// 2 MiB and 5 by default. Each GPU gets its own contiguous part of the file. Prints as JSON the
/// GB/s of a first turn, which is as cold as the load of a process is, of each further one, and the
/// median of these.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t slots_of_reader = 2;

void* library = nullptr;

[[noreturn]] void give_up(const char* what, int result) {
  std::fprintf(stderr, "plain_ring: %s: %d\n", what, result);
  std::exit(1);
}

// Names and types of cuda.h (CUDA driver API); 0 is CUDA_SUCCESS.
template <class... Arguments>
void call(const char* name, Arguments... arguments) {
  auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  const int result = function != nullptr ? function(arguments...) : -1;
  if (result != 0) give_up(name, result);
}

/// A contiguous part of the file, its copy on a GPU, and the next place to read.
struct Part {
  void* context = nullptr;
  std::uint64_t memory = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::atomic<std::uint64_t> next = 0;
};

struct Slot {
  void* memory = nullptr;
  void* event = nullptr;
};

void open_part(Part& part, int gpu) {
  call("cuDevicePrimaryCtxRetain", &part.context, gpu);
  call("cuCtxSetCurrent", part.context);
  call("cuMemAlloc_v2", &part.memory, static_cast<std::size_t>(part.end - part.begin));
}

class Reader {
 public:
  Reader(int file, Part& part, std::size_t slot_bytes)
      : file_(file), part_(part), slot_bytes_(slot_bytes) {
    call("cuCtxSetCurrent", part.context);
    call("cuStreamCreate", &stream_, 1u);  // CU_STREAM_NON_BLOCKING
    for (Slot& slot : slots_) {
      call("cuMemHostAlloc", &slot.memory, slot_bytes, 0u);
      call("cuEventCreate", &slot.event, 2u);  // CU_EVENT_DISABLE_TIMING
    }
  }

  /// Reads and copies until nothing of the part is left, then waits for the copies.
  void run() {
    for (std::size_t turn = 0;; ++turn) {
      const std::uint64_t start = part_.begin + part_.next.fetch_add(slot_bytes_);
      if (start >= part_.end) break;
      const std::size_t size = std::min<std::uint64_t>(slot_bytes_, part_.end - start);
      Slot& slot = slots_[turn % slots_of_reader];
      call("cuEventSynchronize", slot.event);
      read(static_cast<char*>(slot.memory), size, start);
      call("cuMemcpyHtoDAsync_v2", part_.memory + (start - part_.begin),
           static_cast<const void*>(slot.memory), size, stream_);
      call("cuEventRecord", slot.event, stream_);
    }
    call("cuStreamSynchronize", stream_);
  }

 private:
  void read(char* destination, std::size_t size, std::uint64_t start) const {
    for (std::size_t done = 0; done < size;) {
      const ssize_t now =
          pread(file_, destination + done, size - done, static_cast<off_t>(start + done));
      if (now <= 0) give_up("pread", static_cast<int>(now));
      done += static_cast<std::size_t>(now);
    }
  }

  int file_;
  Part& part_;
  std::size_t slot_bytes_;
  void* stream_ = nullptr;
  std::array<Slot, slots_of_reader> slots_;
};

/// Both ends of a part, so that a copy that did nothing is seen.
void compare_ends(int file, const Part& part) {
  for (const std::uint64_t at : {part.begin, part.end - 4096}) {
    std::array<char, 4096> expected{}, found{};
    if (pread(file, expected.data(), expected.size(), static_cast<off_t>(at)) != 4096) {
      give_up("pread", 0);
    }
    call("cuCtxSetCurrent", part.context);
    call("cuMemcpyDtoH_v2", static_cast<void*>(found.data()), part.memory + (at - part.begin),
         found.size());
    if (found != expected) give_up("the copy differs from the file", 0);
  }
}

// With the first turn, one more than `repeat`.
std::vector<double> rates_of_turns(int file, std::vector<Part>& parts, std::size_t readers,
                                   std::size_t slot_bytes, int repeat, std::uint64_t size) {
  std::vector<double> rates;
  Clock::time_point start;
  const auto begin_turn = [&]() noexcept { start = Clock::now(); };
  std::barrier begins(static_cast<std::ptrdiff_t>(readers), begin_turn);
  const auto end_turn = [&]() noexcept {
    const std::chrono::duration<double> passed = Clock::now() - start;
    rates.push_back(static_cast<double>(size) / passed.count() / 1e9);
    for (Part& part : parts) part.next = 0;
  };
  std::barrier ends(static_cast<std::ptrdiff_t>(readers), end_turn);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < readers; ++i) {
    threads.emplace_back([&, i] {
      Reader reader(file, parts[i % parts.size()], slot_bytes);
      for (int turn = 0; turn <= repeat; ++turn) {
        begins.arrive_and_wait();
        reader.run();
        ends.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return rates;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: plain_ring FILE GPUS [READERS [SLOT_BYTES [REPEAT]]]\n");
    return 2;
  }
  const auto gpus = static_cast<std::size_t>(std::max(1, std::atoi(argv[2])));
  const auto readers = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 32;
  const auto slot_bytes = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 2 << 20;
  const int repeat = argc > 5 ? std::atoi(argv[5]) : 5;
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "plain_ring: %s\n", dlerror());
    return 77;
  }
  const int file = open(argv[1], O_RDONLY | O_CLOEXEC);
  struct stat state {};
  if (file < 0 || fstat(file, &state) != 0) give_up("open", file);
  const auto size = static_cast<std::uint64_t>(state.st_size);
  if (readers < gpus || slot_bytes == 0 || repeat < 1 || size < gpus * 4096) {
    give_up("too few readers, bytes or turns", 0);
  }
  call("cuInit", 0u);
  std::vector<Part> parts(gpus);
  for (std::size_t i = 0; i < gpus; ++i) {
    parts[i].begin = size / gpus * i;
    parts[i].end = i + 1 == gpus ? size : size / gpus * (i + 1);
    open_part(parts[i], static_cast<int>(i));
  }
  std::vector<double> rates = rates_of_turns(file, parts, readers, slot_bytes, repeat, size);
  for (const Part& part : parts) compare_ends(file, part);
  const double first = rates.front();
  rates.erase(rates.begin());
  std::printf("{\"gpus\": %zu, \"readers\": %llu, \"slot_bytes\": %llu, \"first\": %.1f, ", gpus,
              static_cast<unsigned long long>(readers), static_cast<unsigned long long>(slot_bytes),
              first);
  std::printf("\"gb_per_s\": [");
  for (std::size_t i = 0; i < rates.size(); ++i) std::printf("%s%.1f", i ? ", " : "", rates[i]);
  std::sort(rates.begin(), rates.end());
  std::printf("], \"median\": %.1f}\n", rates[rates.size() / 2]);
  return 0;
}
