// SPDX-License-Identifier: MIT
/// What the program does alongside a load: the bar, notes, hashes of the files, and a signal.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <string_view>

#include "cli/output/heartbeat.hpp"
#include "cli/output/notes.hpp"
#include "cli/output/progress.hpp"
#include "cli/process/interrupt.hpp"
#include "harness.hpp"
#include "hiptool/error.hpp"
#include "hiptool/load.hpp"
#include "load/manifest/file_hashes.hpp"
#include "small_model.hpp"

using namespace hiptool;
using namespace hiptool::cli;
using namespace hiptool::load;

namespace {

/// Draws the bar, and notes each report of a reader.
class BusyObserver final : public LoadObserver {
 public:
  BusyObserver(Progress& progress, NoteCollector& notes) : progress_(progress), notes_(notes) {}
  void on_phase(std::string_view name) noexcept override {
    progress_.on_phase(name);
    if (name == "load" && on_load) on_load();
  }
  void on_phase_end() noexcept override { progress_.on_phase_end(); }
  void on_progress(std::uint64_t done_bytes, std::uint64_t total_bytes) noexcept override {
    progress_.on_progress(done_bytes, total_bytes);
    notes_.note("reader", "one more chunk");
  }
  std::function<void()> on_load;

 private:
  Progress& progress_;
  NoteCollector& notes_;
};

struct LoadFixture : test::ModelFixture {
  /// Loads with full verification alongside the hashes of the tensors.
  LoadReport load(const CancelToken& cancel, const std::function<void()>& on_load) {
    FileHashes::Options wanted;
    wanted.tensors = HashKind::sha256;
    FileHashes hashes(model, wanted);
    Progress progress(console, false);
    BusyObserver observer(progress, notes);
    observer.on_load = on_load;
    LoadReport report;
    LoadOptions options;
    options.verify = VerifyMode::full;
    options.cancel = cancel;
    options.observer = observer;
    options.report = report;
    static_cast<void>(load_model(model, device, options));
    CHECK(hashes.get().tensors.size() == tensors.size());
    return report;
  }

  testing::CaptureStream out;
  testing::CaptureStream err;
  Console console{out, err, testing::reader_of({{"TERM", "xterm"}})};
  NoteCollector notes;
};

}  // namespace

TEST_CASE_FIXTURE(LoadFixture, "readers draw the bar and note while files are hashed") {
  err.terminal = true;
  const LoadReport report = load(CancelToken(), {});
  CHECK(report.status == LoadStatus::verified);
  CHECK(out.text.empty());
  notes.print(console, true);
  CHECK(testing::contains(err.text, "note: reader: one more chunk"));
}

TEST_CASE_FIXTURE(LoadFixture, "a signal ends a load beside its readers and the hashes") {
  CancelToken cancel;
  const InterruptHandler handler(cancel);
  CHECK(test::code_of([&] { load(cancel, [] { std::raise(SIGTERM); }); }) == ErrorCode::cancelled);
  CHECK(InterruptHandler::signal() == SIGTERM);
}

namespace {

/// A terminal whose clock runs as fast as it is looked at; wait() ends with a text.
struct BeatingScreen {
  explicit BeatingScreen(const std::string& text) {
    err.terminal = true;
    err.on_write = [this, text](std::string_view part) {
      if (!testing::contains(part, text)) return;
      is_seen = true;
      is_seen.notify_all();
    };
  }
  void wait() const { is_seen.wait(false); }

  std::atomic<int> looks{0};
  std::atomic<bool> is_seen{false};
  testing::CaptureStream out;
  testing::CaptureStream err;
  Console console{out, err, testing::reader_of({{"TERM", "xterm"}}),
                  [this] { return Console::Clock::time_point() + std::chrono::seconds(++looks); }};
};

}  // namespace

TEST_CASE("a heartbeat shows the step while the run waits, writes beside it and ends") {
  CancelToken cancel;
  BeatingScreen screen("starting the devices, ");
  {
    const Heartbeat heartbeat(screen.console, cancel, "hiptool devices");
    screen.console.set_step("starting the devices");
    for (int i = 0; i < 1000; ++i) screen.console.err("line\n");
    screen.wait();
  }
  const int writes = screen.err.writes;
  screen.console.err("");
  CHECK(screen.err.writes <= writes + 2);  // the line is cleared, and nobody writes another one
  BeatingScreen stopped("; still in: measuring kernels on nvidia:5, 1 of 2 done");
  const Heartbeat heartbeat(stopped.console, cancel, "hiptool devices");
  stopped.console.set_step("measuring kernels on nvidia:5", "1 of 2 done");
  cancel.cancel();
  stopped.wait();
}

TEST_CASE("a heartbeat of a load names the devices that are not done") {
  const std::vector<std::string> left{"nvidia:1", "nvidia:2", "nvidia:5"};
  const CancelToken cancel;
  for (const std::string text :
       {"allocating device memory, waiting for nvidia:1-2, nvidia:5, ",
        "load, 75 %, waiting for nvidia:1-2, nvidia:5, ", "computing digests on the devices, 1"}) {
    BeatingScreen screen(text);
    const Heartbeat heartbeat(screen.console, cancel, "hiptool load");
    Progress progress(screen.console, false, [&screen] {
      return Progress::Clock::time_point() + std::chrono::seconds(++screen.looks);
    });
    progress.on_phase(text.starts_with("load") ? "load" : "allocate");
    if (text.starts_with("load")) progress.on_progress(75, 100);
    progress.on_waiting(left);
    if (text.starts_with("computing")) progress.on_phase("digest");
    screen.wait();
    CHECK(screen.is_seen);
  }
}
