// SPDX-License-Identifier: MIT
#include "cli/process/rank.hpp"

#include <array>

#include "base/text.hpp"
#include "cli/output/standard_output.hpp"
#include "report/text.hpp"
#include "system/host.hpp"

namespace hiptool::cli {
namespace {

struct Launcher {
  const char* rank;
  const char* size;     // null: the launcher does not report it
  bool starts_several;  // if it does not report the size
};

// Sources: mpirun(1) of Open MPI, the PMIx standard 3.3.3, PMI of MPICH, torchrun's manual, srun(1)
// of Slurm, "Indexed Job" of Kubernetes. The task count of a Slurm step comes before the job's.
constexpr std::array launchers{
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
    Launcher{"PMIX_RANK", "SLURM_NTASKS", true},
    Launcher{"PMI_RANK", "PMI_SIZE", true},
    Launcher{"RANK", "WORLD_SIZE", false},
    Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", true},
    Launcher{"JOB_COMPLETION_INDEX", nullptr, true},
};

std::optional<std::uint64_t> read_number(const GetEnvironment& environment, const char* name) {
  return base::parse_number<std::uint64_t>(environment(name).value_or(""));
}

std::optional<std::uint64_t> read_size(const GetEnvironment& environment,
                                       const Launcher& launcher) {
  if (launcher.size == nullptr) return std::nullopt;
  const auto size = read_number(environment, launcher.size);
  const bool is_slurm = std::string_view(launcher.rank) == "SLURM_PROCID";
  return is_slurm && !size ? read_number(environment, "SLURM_NTASKS") : size;
}

bool has_placeholder(const std::filesystem::path& path) {
  return path.string().find("{rank}") != std::string::npos;
}

}  // namespace

std::optional<Rank> find_rank(const GetEnvironment& environment) {
  for (const Launcher& launcher : launchers) {
    const auto number = read_number(environment, launcher.rank);
    if (!number) continue;
    const auto size = read_size(environment, launcher);
    const bool has_others = size ? *size > 1 : launcher.starts_several || *number > 0;
    return Rank{*number, has_others};
  }
  return std::nullopt;
}

std::filesystem::path name_for_rank(const std::filesystem::path& path,
                                    const std::optional<Rank>& rank, const std::string& host) {
  if (path.empty() || is_standard_output(path.string())) return path;
  // A host name must not add folders to the path.
  const std::string with_host =
      base::replaced(path.string(), "{host}", base::replaced(host, "/", "_"));
  const std::string number = std::to_string(rank ? rank->number : 0);
  const std::string text = base::replaced(with_host, "{rank}", number);
  if (has_placeholder(with_host) || !rank || !rank->has_others) return text;
  std::error_code ignored;
  const auto status = std::filesystem::status(text, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return text;
  std::filesystem::path named(text);
  const std::string extension = named.extension().string();
  return named.replace_filename(named.stem().string() + "." + number + extension);
}

std::filesystem::path name_for_this_rank(const std::filesystem::path& path,
                                         const Environment& environment, bool is_quiet) {
  const std::optional<Rank> rank = find_rank(environment.getenv);
  const std::string host = system::read_host(environment.system_root).name;
  std::filesystem::path named = name_for_rank(path, rank, host);
  if (!is_quiet && !has_placeholder(path) && named != name_for_rank(path, std::nullopt, host)) {
    environment.console.err("note: writing " + report::printable_lines(named.string()) + " (rank " +
                            std::to_string(rank->number) + ")\n");
  }
  return named;
}

}  // namespace hiptool::cli
