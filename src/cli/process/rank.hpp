// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/environment.hpp"
#include "cli/output/console.hpp"

namespace hiptool::cli {

/// The rank of this process in a job with one or more processes.
struct Rank {
  std::uint64_t number = 0;
  bool has_others = false;
};

/// Reads the variables of Open MPI, PMIx, PMI, torchrun and others (RANK), Slurm and indexed
/// Kubernetes jobs, the innermost launcher first. Absent if none is set to a whole number. If a
/// multi-process launcher does not report the number of processes, more than one is assumed.
std::optional<Rank> find_rank(const GetEnvironment& environment);

/// The output file of this process: all processes of a job get the same arguments and must not
/// overwrite each other's files. Replaces `{rank}` and `{host}`; without `{rank}`, and with several
/// processes, inserts the rank before the extension ("out.json" to "out.3.json"). Existing pipes
/// and devices, and standard output ("-"), keep their name; an
/// empty one stays empty.
std::filesystem::path name_for_rank(const std::filesystem::path& path,
                                    const std::optional<Rank>& rank, const std::string& host);

/// The same for this process on this machine. Prints the name to stderr if a rank was inserted,
/// unless `is_quiet`.
std::filesystem::path name_for_this_rank(const std::filesystem::path& path,
                                         const Environment& environment, bool is_quiet);

}  // namespace hiptool::cli
