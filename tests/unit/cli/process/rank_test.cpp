// SPDX-License-Identifier: MIT
#include "cli/process/rank.hpp"

#include <doctest/doctest.h>

#include "harness.hpp"

using namespace hiptool::cli;
using namespace hiptool::cli::testing;

namespace {

std::string named(const std::string& path, const Variables& variables) {
  return name_for_rank(path, find_rank(reader_of(variables)), "node07").string();
}

}  // namespace

TEST_CASE("each launcher's rank is put before the extension") {
  for (const char* name : {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "RANK",
                           "JOB_COMPLETION_INDEX"}) {
    CAPTURE(name);
    CHECK(named("/a.b/out.json", {{name, "3"}}) == "/a.b/out.3.json");
    CHECK(named("out-{rank}.json", {{name, "3"}}) == "out-3.json");
    // Only whole numbers are ranks.
    for (const char* bad : {"", "x", "-1", "3x", " 3", "99999999999999999999"}) {
      CHECK(named("out.json", {{name, bad}}) == "out.json");
    }
  }
}

TEST_CASE("alone, the name stays") {
  CHECK(named("out.json", {}) == "out.json");
  CHECK(named("out.json", {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}) ==
        "out.json");
  CHECK(named("out.json", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}) == "out.json");
  CHECK(named("out.json", {{"RANK", "0"}}) == "out.json");
  CHECK(named("out.json", {{"RANK", "0"}, {"WORLD_SIZE", "2"}}) == "out.0.json");
  CHECK(named("{host}-{rank}.json", {}) == "node07-0.json");
}

TEST_CASE("rank 0 of several gets its number too") {
  CHECK(named("out.json", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}) == "out.0.json");
  CHECK(named("out.json", {{"SLURM_PROCID", "0"}}) == "out.0.json");
  CHECK(named("out.json", {{"JOB_COMPLETION_INDEX", "0"}}) == "out.0.json");
  CHECK(named("out.json", {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}) == "out.json");
  // One task in a step of a larger job.
  CHECK(named("out.json",
              {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "4"}}) ==
        "out.json");
}

TEST_CASE("the innermost launcher counts") {
  CHECK(named("out.json", {{"SLURM_PROCID", "0"},
                           {"SLURM_NTASKS", "2"},
                           {"OMPI_COMM_WORLD_RANK", "5"},
                           {"OMPI_COMM_WORLD_SIZE", "8"}}) == "out.5.json");
  CHECK(named("out.json", {{"SLURM_PROCID", "1"}, {"RANK", "6"}, {"WORLD_SIZE", "8"}}) ==
        "out.6.json");
}

TEST_CASE("names with several placeholders, without extension, of no regular file") {
  const Variables third{{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}};
  CHECK(named("{rank}/{host}/{rank}.json", third) == "3/node07/3.json");
  CHECK(named("out", third) == "out.3");
  CHECK(named("dir.d/out", third) == "dir.d/out.3");
  CHECK(named(".json", third) == ".json.3");
  CHECK(named("{host}.json", third) == "node07.3.json");
  CHECK(named("{other}.json", third) == "{other}.3.json");
  CHECK(named("/dev/null", third) == "/dev/null");
  CHECK(named("-", third) == "-");
  CHECK(named("/dev/stdout", third) == "/dev/stdout");
  CHECK(name_for_rank("{host}.json", {}, "../../x").string() == ".._.._x.json");
  CHECK(name_for_rank("{host}.json", {}, "{host}").string() == "{host}.json");
}

TEST_CASE("exports of several ranks do not overwrite each other") {
  const TemporaryFolder folder;
  Machine machine;
  for (const char* rank : {"0", "1"}) {
    machine.variables["SLURM_PROCID"] = rank;
    machine.variables["SLURM_NTASKS"] = "2";
    CHECK(machine.run({"devices", "--export", "json=" + (folder / "out.json")}) == 0);
  }
  CHECK(std::filesystem::exists(folder / "out.0.json"));
  CHECK(std::filesystem::exists(folder / "out.1.json"));
  CHECK_FALSE(std::filesystem::exists(folder / "out.json"));
}

TEST_CASE("timelines of several ranks do not overwrite each other") {
  const TemporaryFolder folder;
  Machine machine;
  for (const char* rank : {"0", "1"}) {
    machine.variables["SLURM_PROCID"] = rank;
    machine.variables["SLURM_NTASKS"] = "2";
    CHECK(machine.run({"load", "--demo", "--device", "cpu", "--trace", folder / "t.json"}) == 0);
  }
  CHECK(std::filesystem::exists(folder / "t.0.json"));
  CHECK(std::filesystem::exists(folder / "t.1.json"));
  CHECK_FALSE(std::filesystem::exists(folder / "t.json"));
}

TEST_CASE("a rank that goes into a name without placeholder is reported once for each file") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "out").string();
  Machine machine;
  machine.variables = {{"SLURM_PROCID", "3"}};
  const std::vector<std::string> words{"devices",
                                       "--platform",
                                       "cpu",
                                       "--export",
                                       "json=" + path + ".json",
                                       "--export",
                                       "prom=" + path + "-{rank}.prom"};
  CHECK(machine.run(words) == 0);
  CHECK(machine.err.text == "note: writing " + path + ".3.json (rank 3)\n");
  machine.err.text.clear();
  std::vector<std::string> quiet = words;
  quiet.emplace_back("-q");
  CHECK(machine.run(quiet) == 0);
  CHECK(machine.err.text.empty());
  machine.variables = {};
  CHECK(machine.run(words) == 0);
  CHECK(machine.err.text.empty());
}
