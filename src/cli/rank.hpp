// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/console.hpp"
#include "cli/environment.hpp"

namespace hiptool::cli {

/// This process among those that a launcher started for one job.
struct Rank {
  std::uint64_t number = 0;
  bool has_others = false;
};

/// Reads the launcher's variables, the innermost launcher's first: Open MPI, PMIx, PMI, torchrun
/// and others (RANK), Slurm, an indexed Kubernetes job. Absent where none is set to a whole number.
/// Where a launcher that starts several does not say how many there are, there are others.
std::optional<Rank> find_rank(const GetEnvironment& environment);

/// The file that this process writes where all of the job were given the same name: `{rank}` and
/// `{host}` are replaced; without `{rank}`, and with others in the job, the rank is put before the
/// extension ("out.json" to "out.3.json"), so that none overwrites the file of another. What is
/// there and no regular file (a pipe, /dev/stdout) keeps its name.
std::filesystem::path name_for_rank(const std::filesystem::path& path,
                                    const std::optional<Rank>& rank, const std::string& host);

/// The same for this process on this machine. A rank that was put into a name without `{rank}` is
/// reported on stderr, with the name, unless `is_quiet`.
std::filesystem::path name_for_this_rank(const std::filesystem::path& path,
                                         const Environment& environment, bool is_quiet);

}  // namespace hiptool::cli
