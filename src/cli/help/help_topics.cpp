// SPDX-License-Identifier: MIT
#include <algorithm>
#include <sstream>
#include <string_view>

#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/help/help.hpp"
#include "cli/output/failure.hpp"
#include "cli/value_words.hpp"
#include "machine/codes.hpp"

namespace hiptool::cli {
namespace {

constexpr std::string_view environment_text =
    R"(Environment variables. Options on the command line override them. An empty
variable counts as unset, except HIP_VISIBLE_DEVICES and the like, which hide
all devices then.

  HIPTOOL_DEVICE         default of --device: nvidia:0, amd:0-3, cpu, all, ...
  HIPTOOL_FORMAT         default of --format: table, json, csv or markdown
  HIPTOOL_HIP_LIBRARY    path of the ROCm runtime library to use
  HIPTOOL_CUDA_LIBRARY   path of the CUDA driver library to use
  HIPTOOL_LIBRARY_PATH   folders of the BLAS, DNN and NCCL libraries to use,
                         separated by colons; no others are searched
  HIPTOOL_CPU_DEVICES    number of cpu devices, default 1
  HIPTOOL_LIBRARY_TIMEOUT  seconds after which a vendor's library that computes
                         one product or convolution is killed, default 300
  NO_COLOR               no colour if not empty
  CLICOLOR_FORCE         colour also without a terminal, if not empty and not 0
  COLUMNS                makes output narrower than the terminal, never wider; a
                         pipe has no limit without it
  TERM                   dumb: no colour, no progress bar
  LC_ALL, LC_CTYPE, LANG plain ASCII output unless they name UTF-8
  LD_LIBRARY_PATH        folders searched first for runtime libraries
  ROCM_PATH, HIP_PATH, ROCM_HOME
                         installations of ROCm, searched next
  VIRTUAL_ENV, CONDA_PREFIX, PATH
                         Python environments whose packages may bring a runtime;
                         the newest of these, of /opt and of the system is used
  TMPDIR                 folder for temporary files, default /tmp
  XDG_CACHE_HOME         cache of compiled kernels: its folder hiptool, default
                         ~/.cache/hiptool; used if only you can write there
  HF_HUB_CACHE, HF_HOME, LLAMA_CACHE, MODELS_PATH, OLLAMA_MODELS
                         folders of downloaded models, searched where a path is
                         the name of a model: org/name, llama3.2:1b
  OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK, RANK, SLURM_PROCID,
  JOB_COMPLETION_INDEX   rank of this process in a job, for the files of
                         --export, --trace, --write-manifest, --write-golden
                         and --write-expect: {rank} and {host} in a name are
                         replaced, else out.json becomes out.3.json, with a
                         note on standard error

The vendors' runtimes read their own variables, among them:

  HIP_VISIBLE_DEVICES    AMD devices that HIP shows, and their order
  ROCR_VISIBLE_DEVICES   the same, one layer below
  GPU_DEVICE_ORDINAL     the same, older name
  HSA_OVERRIDE_GFX_VERSION   run an AMD device as another architecture
  CUDA_VISIBLE_DEVICES   NVIDIA devices that the driver shows, and their order
  CUDA_DEVICE_ORDER      FASTEST_FIRST or PCI_BUS_ID
)";

constexpr std::string_view units_text =
    R"(Units of input and output.

Sizes on the command line:
  4096                   bytes
  64KiB 64K              binary: 1 KiB is 1024 bytes; also MiB GiB TiB, M G T
  64KB 64MB 64GB 64TB    decimal: 1 MB is 1 000 000 bytes
  1.5GiB                 a fraction of a unit
  4K,1M                  a list, for options that take several sizes
  4KiB..1GiB             a range of powers of two, both ends included

Tables:
  sizes                  binary: KiB, MiB, GiB
  rates                  decimal: GB/s is 1 000 000 000 bytes per second
  PCIe rates             one direction, after line coding

JSON and CSV use base units: bytes, seconds, bytes per second, hertz, shares
from 0 to 1. An unknown value is null in JSON and empty in CSV. CSV text that a
spreadsheet would run as a formula (it starts with = + - or @) is prefixed with
an apostrophe.
)";

constexpr std::string_view thresholds_text =
    R"(Thresholds: --fail-below of bench-copy and run-kernel exits 1 if a result is
slower.

  'h2d.pinned>=48GB/s'   a name, >= and a rate; quoted, or the shell takes the >
  'h2d.latency<=20us'    a name, <= and a time: the longest latency of a copy
  @FILE                  a file with one threshold per line

A name consists of parts separated by dots. A threshold applies to all results
that match every part; a name that matches no result exits 2.
  h2d.pinned.256MiB      bench-copy, parts in any order: kind, memory, engine,
                         size, read, latency, node0, device
  stream.f32.1GiB        run-kernel: kernel or group first, then type, size,
                         device

Rates:
  48GB/s 44GiB/s         copies count each byte once, kernels bytes read plus
                         bytes written
  20TFLOP/s              operations per second, for kernels
  90%                    of the limit shown in the report; exits 2 if there is
                         no limit or the rate exceeds it: give a rate then

Latencies (bench-copy only) are the median time of one small copy and the wait
for it: 500ns 20us 1.5ms 1s

In a file, a line in brackets starts a section for devices whose names contain
that text (case-insensitive):
  h2d>=10GB/s            # for all
  [H200]
  h2d>=48GB/s
  d2h>=90%

bench-copy --retry 2/3: passes if 2 of at most 3 measurements reach the rate.

The first line of the report and failures[] in JSON name each missed threshold
with the measurement, the expected rate and the measured one.
)";

// "environment" for "hiptool_device", "exit-codes" for "5": the topic with a line whose first
// column has the word; empty if there is none.
std::string topic_that_lists(const std::string& word) {
  for (const char* const topic : {"exit-codes", "environment", "units"}) {
    std::istringstream lines(topic_text(topic));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
      if (start == 0) continue;
      std::istringstream column(line.substr(start, line.find("  ", start) - start));
      for (std::string one; column >> one;) {
        if (one.ends_with(',')) one.pop_back();
        if (base::equals_ignoring_case(one, word)) return topic;
      }
    }
  }
  const machine::CodeInfo* const code = machine::find_code("HT-" + word);
  return code == nullptr ? std::string() : std::string(code->code);
}

}  // namespace

std::vector<std::string> help_topics() {
  return {"exit-codes", "codes", "environment", "thresholds", "units", "reference", "man"};
}

std::string topic_text(const std::string& topic) {
  if (topic == "exit-codes") return exit_codes_text();
  if (topic == "codes") return machine::codes_text();
  if (const machine::CodeInfo* const code = machine::find_code(topic)) {
    return machine::code_text(*code);
  }
  if (topic == "environment") return std::string(environment_text);
  if (topic == "thresholds") return std::string(thresholds_text);
  if (topic == "units") return std::string(units_text);
  return {};
}

Error unknown_topic(CommandTree& tree, const std::string& word) {
  if (base::equals_ignoring_case(word.substr(0, 3), "HT-")) {
    return usage_error("unknown code '" + word + "'", "see 'hiptool help codes' for all of them");
  }
  const std::string message = "no help topic '" + word + "'";
  if (const std::string topic = topic_that_lists(word); !topic.empty()) {
    return usage_error(message, "see 'hiptool help " + topic + "'");
  }
  std::string hint = hint_for_word(tree.root(), word, {});
  if (hint.empty()) {
    std::vector<std::string> topics = help_topics();
    for (const Command& command : commands()) topics.push_back(command.name);
    hint = base::suggestion(word, topics);
  }
  return usage_error(message, join_lines(hint, help_named_in(hint)));
}

}  // namespace hiptool::cli
