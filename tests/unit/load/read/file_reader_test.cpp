// SPDX-License-Identifier: MIT
#include "load/read/file_reader.hpp"

#include <doctest/doctest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "cases.hpp"
#include "hiptool/error.hpp"
#include "small_model.hpp"
#include "unit/load/evict.hpp"
#include "unit/load/read/plain_file.hpp"

using namespace hiptool;

namespace {

struct FileReaderFixture {
  test::TemporaryFolder folder;
  std::filesystem::path path = test::write_small_model(folder.path() / "m.safetensors",
                                                       {{"t", test::random_bytes(3'000'001, 1)}});
  ModelFile model = ModelFile::open(path);
  std::vector<std::byte> contents;

  FileReaderFixture() {
    contents.resize(std::filesystem::file_size(path));
    std::ifstream(path, std::ios::binary)
        .read(reinterpret_cast<char*>(contents.data()),
              static_cast<std::streamsize>(contents.size()));
  }

  ReadOptions options(ReadMode mode) const {
    ReadOptions options;
    options.mode = mode;
    options.request_bytes = 50'000;
    options.direct_request_bytes = 64u << 10;
    return options;
  }

  bool is_cold() const {
    return test::evict(path) && load::DirectFile::open(base::File::open(path), false).is_open();
  }

  bool can_read_directly() const {
    return load::DirectFile::open(base::File::open(path), true).is_open();
  }

  LoadStatistics read_and_compare(
      load::FileSet& files, load::FileReader& reader,
      const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges) {
    std::vector<std::vector<std::byte>> found;
    std::vector<load::ReadPart> parts;
    for (const auto& [offset, size_bytes] : ranges) found.emplace_back(size_bytes);
    for (std::size_t i = 0; i < ranges.size(); ++i) parts.push_back({0, ranges[i].first, found[i]});
    reader.read(parts);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      CAPTURE(i);
      REQUIRE(std::equal(found[i].begin(), found[i].end(),
                         contents.begin() + static_cast<std::ptrdiff_t>(ranges[i].first)));
    }
    LoadStatistics statistics;
    files.report(statistics);
    return statistics;
  }
};

// Answers what it is told to, after half of the bytes, which are wrong.
class FailingEngine final : public load::DirectReader {
 public:
  explicit FailingEngine(load::DirectResult result) : result_(result) {}
  load::DirectResult read(const Range& range, const Take& take,
                          const std::function<void()>&) override {
    const std::vector<std::byte> wrong(range.bytes.size_bytes / 2, std::byte{0xAB});
    take(range.bytes.offset, wrong);
    return result_;
  }
  const char* name() const noexcept override { return "failing"; }

 private:
  load::DirectResult result_;
};

const std::vector<std::pair<std::uint64_t, std::uint64_t>> various{
    {0, 1},       {1, 4'095},        {4'096, 4'096},       {8'193, 100'000}, {108'193, 0},
    {108'200, 5}, {130'000, 70'001}, {500'000, 1'000'000}, {1'500'001, 7},   {2'000'000, 900'001},
};

}  // namespace

TEST_CASE_FIXTURE(FileReaderFixture,
                  "every mode delivers the same bytes, unaligned and up to the last one") {
  auto ranges = various;
  ranges.push_back({contents.size() - 4'097, 4'097});
  ranges.push_back({contents.size() - 1, 1});
  std::uint64_t total = 0;
  for (const auto& range : ranges) total += range.second;
  for (const ReadMode mode : {ReadMode::automatic, ReadMode::buffered, ReadMode::direct}) {
    for (const std::uint32_t depth : {1u, 4u}) {
      CAPTURE(depth);
      auto chosen = options(mode);
      chosen.depth = depth;
      load::FileSet files(model, chosen);
      load::FileReader reader(files, [] {});
      const auto statistics = read_and_compare(files, reader, ranges);
      CHECK(statistics.read_bytes == total);
      if (mode == ReadMode::direct && can_read_directly()) {
        CHECK(statistics.direct_bytes == total);
        CHECK(statistics.direct_engine == (depth == 1 ? "pread" : statistics.direct_engine));
        CHECK_FALSE(statistics.direct_engine.empty());
      } else {
        CHECK(statistics.buffered_bytes == total);
        CHECK(statistics.direct_engine.empty());
      }
      if (mode == ReadMode::buffered) CHECK(statistics.read_notes.empty());
    }
  }
}

TEST_CASE_FIXTURE(FileReaderFixture, "bytes are there when a step of a part is reported") {
  std::vector<std::byte> first(1'000'000), second(300'000);
  const std::vector<load::ReadPart> parts{{0, 1'000, first}, {0, 1'500'001, second}};
  const std::uint64_t step = load::FileReader::step_bytes;
  for (const ReadMode mode : {ReadMode::buffered, ReadMode::direct}) {
    if (mode == ReadMode::direct && !can_read_directly()) continue;
    load::FileSet files(model, options(mode));
    load::FileReader reader(files, [] {});
    std::vector<std::pair<std::uint64_t, std::uint64_t>> steps;  // place in the file, and size
    std::ranges::fill(first, std::byte{0xEE});
    std::ranges::fill(second, std::byte{0xEE});
    reader.read(parts, [&](const load::ReadPart& part, std::uint64_t at, std::uint64_t size) {
      const auto found = part.destination.subspan(at, size);
      CHECK(std::ranges::equal(found, std::span(contents).subspan(part.file_offset + at, size)));
      steps.emplace_back(part.file_offset + at, size);
    });
    if (mode == ReadMode::direct) {
      CHECK(steps == decltype(steps){{1'000, 1'000'000}, {1'500'001, 300'000}});
    } else {
      CHECK(steps == decltype(steps){{1'000, step},
                                     {1'000 + step, step},
                                     {1'000 + 2 * step, step},
                                     {1'000 + 3 * step, 1'000'000 - 3 * step},
                                     {1'500'001, step},
                                     {1'500'001 + step, 300'000 - step}});
    }
  }
}

TEST_CASE_FIXTURE(FileReaderFixture,
                  "by default a reader uses direct reads for pages that are not in the cache") {
  load::FileSet warm(model, options(ReadMode::automatic));
  CHECK(warm.choose_direct(0, 0, contents.size()) == nullptr);
  CHECK(warm.choose_regions() == 1);
  if (!is_cold()) return test::skip_case(test::no_cold_file);
  load::FileSet files(model, options(ReadMode::automatic));
  CHECK(files.choose_regions() == 4);
  CHECK(load::FileSet(model, options(ReadMode::buffered)).choose_regions() == 4);
  CHECK(load::FileSet(model, options(ReadMode::direct)).choose_regions() == 1);
  load::FileReader reader(files, [] {});
  const auto statistics = read_and_compare(files, reader, {{200'000, 1'000'000}, {2'500'000, 9}});
  CHECK(statistics.direct_bytes == 1'000'000);
  CHECK(statistics.buffered_bytes == 9);  // too little to be worth it
  // Half cold: each extent for itself.
  const base::File file = base::File::open(path);
  std::vector<std::byte> first(1'500'000);
  posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM);
  file.read_at(first, 0);
  CHECK(files.choose_direct(0, 0, 1'000'000) != nullptr);  // as it was when the load began
  load::FileSet half(model, options(ReadMode::automatic));
  CHECK(half.choose_direct(0, 0, 1'000'000) == nullptr);
  CHECK(half.choose_direct(0, 1'900'000, 1'000'000) != nullptr);
}

TEST_CASE_FIXTURE(FileReaderFixture,
                  "reading what is cached brings nothing else into the page cache") {
  if (!is_cold()) return test::skip_case(test::no_cold_file);
  const base::File file = base::File::open(path);
  std::vector<std::byte> first(1'000'000);
  posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_RANDOM);
  file.read_at(first, 0);
  load::FileSet files(model, options(ReadMode::automatic));
  load::FileReader reader(files, [] {});
  const auto statistics = read_and_compare(files, reader, {{0, 1'600'000}});
  CHECK(statistics.buffered_bytes == 1'600'000);  // more than half of it is cached
  const std::uint64_t rest = contents.size() - 1'700'000;
  CHECK(system::cached_bytes(files.file(0).descriptor(), 1'700'000, rest) == 0);
}

TEST_CASE_FIXTURE(FileReaderFixture, "all readers together keep 8 MiB in flight") {
  CHECK(load::FileSet(model, options(ReadMode::automatic), 1).depth() == 64);
  CHECK(load::FileSet(model, options(ReadMode::automatic), 16).depth() == 8);
  CHECK(load::FileSet(model, options(ReadMode::automatic), 1000).depth() == 1);
  auto chosen = options(ReadMode::automatic);
  chosen.depth = 3;
  CHECK(load::FileSet(model, chosen, 16).depth() == 3);
}

TEST_CASE_FIXTURE(FileReaderFixture,
                  "a large uncached file is read all ways before one is chosen") {
  const auto trial_of = [&](ReadMode mode, std::uint64_t trial_bytes, load::KnownReadRates& known) {
    load::FileSet files(model, options(mode), 1, trial_bytes, known);
    return files.trial() != nullptr;
  };
  load::KnownReadRates known;
  if (!is_cold()) return test::skip_case(test::no_cold_file);
  CHECK_FALSE(trial_of(ReadMode::automatic, 1u << 20, known));  // too small
  CHECK_FALSE(trial_of(ReadMode::direct, 1, known));
  auto chosen = options(ReadMode::automatic);
  chosen.depth = 1;  // where io_uring is missing, more would be told in a note
  load::FileSet files(model, chosen, 1, 20'000, known);
  REQUIRE(files.trial() != nullptr);
  load::FileReader reader(files, [] {});
  // The first request starts the clock of a window, the second one ends it.
  std::uint64_t offset = contents.size();
  for (int reads = 0; reads < 14 && !files.trial()->decision(); ++reads) {
    offset -= 200'000;
    read_and_compare(files, reader, {{offset, 140'000}});
  }
  LoadStatistics statistics;
  files.report(statistics);
  CHECK(statistics.direct_bytes >= 280'000);
  CHECK(statistics.buffered_bytes >= 140'000);
  REQUIRE(files.trial()->decision());
  REQUIRE(statistics.read_notes.size() == 1);
  CHECK(statistics.read_notes[0] == files.trial()->text());
  // A later load needs no trial, also of a smaller file.
  if (!is_cold()) return test::skip_case(test::no_cold_file);
  load::FileSet next(model, chosen, 1, 1u << 20, known);
  REQUIRE(next.trial() != nullptr);
  REQUIRE(next.trial()->decision());
  CHECK(next.trial()->decision()->chosen == files.trial()->decision()->chosen);
}

TEST_CASE_FIXTURE(FileReaderFixture, "each way of reading delivers the same bytes") {
  for (const load::ReadWay way :
       {load::ReadWay::parallel, load::ReadWay::serial, load::ReadWay::buffered}) {
    if (!is_cold()) return test::skip_case(test::no_cold_file);
    load::KnownReadRates known;
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    known.keep({status.st_dev, 1}, {way, {}});
    load::FileSet files(model, options(ReadMode::automatic), 1, 1u << 20, known);
    load::FileReader reader(files, [] {});
    const std::uint64_t before = test::requested_bytes();
    const auto statistics =
        read_and_compare(files, reader, {{200'000, 1'200'000}, {1'500'000, 200'000}});
    const std::uint64_t requested = test::requested_bytes() - before;
    CHECK((statistics.buffered_bytes > 0) == (way == load::ReadWay::buffered));
    CHECK((statistics.direct_bytes > 0) == (way != load::ReadWay::buffered));
    // The whole file is one block.
    if (way == load::ReadWay::serial && before > 0) CHECK(requested >= contents.size());
  }
}

TEST_CASE_FIXTURE(FileReaderFixture,
                  "a file system that refuses a direct read is read through the cache") {
  if (!can_read_directly()) {
    load::FileSet files(model, options(ReadMode::direct));
    LoadStatistics statistics;
    files.report(statistics);
    CHECK(statistics.read_notes.size() == 1);
    return;
  }
  for (const int error : {EINVAL, EFAULT, EOPNOTSUPP}) {
    load::FileSet files(model, options(ReadMode::direct));
    load::FileReader reader(
        files, [] {}, std::make_unique<FailingEngine>(load::DirectResult{error, 0, false}));
    const auto statistics = read_and_compare(files, reader, various);
    CHECK(statistics.direct_bytes == 0);
    REQUIRE(statistics.read_notes.size() == 1);
    CHECK(statistics.read_notes[0].find("m.safetensors is read through the page cache") == 0);
  }
}

TEST_CASE_FIXTURE(FileReaderFixture,
                  "other failures of a direct read end it with path and offset") {
  if (!can_read_directly()) {
    CHECK(load::FileSet(model, options(ReadMode::direct)).choose_direct(0, 0, 1) == nullptr);
    return;
  }
  const auto message_of = [&](load::DirectResult result, ErrorCode expected) -> std::string {
    load::FileSet files(model, options(ReadMode::direct));
    load::FileReader reader(
        files, [] {}, std::make_unique<FailingEngine>(result));
    std::vector<std::byte> bytes(100'000);
    try {
      reader.read(std::vector<load::ReadPart>{{0, 10, bytes}});
    } catch (const Error& error) {
      CHECK(error.code() == expected);
      return error.what();
    }
    return {};
  };
  CHECK(message_of({EIO, 65'536, false}, ErrorCode::host_failed)
            .find("m.safetensors at offset 65536") != std::string::npos);
  CHECK(message_of({0, 90'000, false}, ErrorCode::input_failed)
            .find("ends at offset 90000, 10010 bytes too early") != std::string::npos);
}

TEST_CASE_FIXTURE(FileReaderFixture,
                  "the check is called between requests and its exception propagates") {
  for (const ReadMode mode : {ReadMode::buffered, ReadMode::direct}) {
    load::FileSet files(model, options(mode));
    int calls = 0;
    load::FileReader reader(files, [&] {
      if (++calls == 5) throw Error(ErrorCode::cancelled, "load", "enough");
    });
    std::vector<std::byte> bytes(1'000'000);
    CHECK_THROWS_AS(reader.read(std::vector<load::ReadPart>{{0, 0, bytes}}), Error);
    CHECK(calls == 5);
  }
}

TEST_CASE("file systems in memory, overlays and network file systems are recognised by type") {
  CHECK(std::string(load::indirect_file_system(TMPFS_MAGIC)) == "tmpfs");
  CHECK(std::string(load::indirect_file_system(OVERLAYFS_SUPER_MAGIC)) == "overlay");
  CHECK(std::string(load::indirect_file_system(NFS_SUPER_MAGIC)) == "nfs");
  // As a signed 32-bit field arrives in a word.
  const auto extended = static_cast<std::uint64_t>(static_cast<std::int32_t>(CIFS_SUPER_MAGIC));
  CHECK(std::string(load::indirect_file_system(extended)) == "cifs");
  CHECK(load::indirect_file_system(EXT4_SUPER_MAGIC) == nullptr);
  CHECK(load::indirect_file_system(0x58465342) == nullptr);  // XFS
  CHECK(load::indirect_file_system(0) == nullptr);
  struct statfs system {};
  if (statfs("/dev/shm", &system) == 0 && system.f_type == TMPFS_MAGIC) {
    const std::filesystem::path path = "/dev/shm/hiptool-test-" + std::to_string(getpid());
    std::ofstream(path) << "x";
    const auto direct = load::DirectFile::open(base::File::open(path), false);
    CHECK_FALSE(direct.is_open());
    CHECK(direct.refusal() == "it is on tmpfs");
    std::filesystem::remove(path);
  }
}
