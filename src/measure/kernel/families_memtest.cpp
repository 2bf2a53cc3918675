// SPDX-License-Identifier: MIT
// Memory tests: patterns are written to all of the memory and read back.
#include <array>
#include <cstdio>

#include "base/text.hpp"
#include "hiptool/copy.hpp"
#include "measure/kernel/work.hpp"

namespace hiptool::measure {
namespace {

// Measured by tests/bench/kernel_table --blocks, on an H200: 64 were faster by 0.02 than 32, by
// 0.05 than 16, and by 0.05 to 0.15 than as many as there is work for.
constexpr std::uint64_t memtest_blocks_per_unit = 64;
constexpr std::uint64_t memtest_units_per_thread = 1;
// The host compares this much itself, to verify the check that runs on the device.
constexpr std::uint64_t most_compared_words = std::uint64_t{4} << 20;

/// As in kernels/memtest.hip.
enum class Test : std::uint32_t { walking_ones, own_address, inversions, random_words, modulo_20 };

std::uint32_t word_at(Test test, std::uint64_t index, std::uint32_t pass) {
  const auto low = static_cast<std::uint32_t>(index);
  switch (test) {
    case Test::walking_ones: return 1u << ((low + pass) % 32);
    case Test::own_address: return low + pass;
    case Test::inversions: return (pass * 0x35u & 0xFFu) * 0x01010101u;
    case Test::modulo_20: return index % 20 == pass % 20 ? 0x5A5AA5A5u : 0xA5A55A5Au;
    case Test::random_words: break;
  }
  std::uint32_t word = low * 0x9E3779B1u + static_cast<std::uint32_t>(index >> 32) * 0x85EBCA77u +
                       pass * 0xC2B2AE3Du;
  word = (word ^ word >> 15) * 0x85EBCA77u;
  word = (word ^ word >> 13) * 0xC2B2AE3Du;
  return word ^ word >> 16;
}

struct Found {
  std::uint64_t wrong = 0;
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t bits = 0;
};

class MemoryTestWork final : public KernelWork {
 public:
  MemoryTestWork(const Device& device, const WorkContext& context, Test test)
      : test_(test),
        stream_(context.stream),
        write_(context.find_kernel("hiptool_memtest_write")),
        check_(context.find_kernel("hiptool_memtest_check")),
        units_(std::max<std::uint64_t>(1, context.size_bytes / 16)),
        config_(stride_grid(context, units_, memtest_blocks_per_unit, memtest_units_per_thread)),
        data_(device, units_ * 16),
        found_(device, sizeof(Found)) {}

  Figures figures() const override {
    Figures figures;
    figures.size_bytes = units_ * 16;
    figures.elements = units_ * 4;
    // Each check that inverts writes as well.
    figures.bytes = static_cast<double>(figures.size_bytes) * (inverts() ? 6 : 2);
    return figures;
  }

  /// Flips one bit of the last word and stores what the check reports, without it and with it.
  void reset() override {
    forget();
    queue_write();
    own_ = check_once();
    const std::uint64_t last = last_word();
    const std::uint32_t right = word_at(test_, last, pass_);
    std::uint32_t word = 0;
    copy_d2h_and_wait(std::as_writable_bytes(std::span(&word, 1)), data_.view(last * 4, 4));
    own_others_ = own_.wrong - (own_.wrong > 0 && word != right ? 1 : 0);
    word = right ^ planted_bit;
    copy_h2d_and_wait(data_.view(last * 4, 4), std::as_bytes(std::span(&word, 1)));
    planted_ = check_once();
  }

  void queue() override {
    ++pass_;
    ++runs_;
    queue_write();
    if (inverts()) {
      queue_check(0, true);
      queue_check(~0u, true);
    }
    queue_check(0, false);
  }

  Comparison check() override {
    const auto expected = [this](std::uint64_t index) { return word_at(test_, index, pass_); };
    const std::uint64_t compared = std::min(units_ * 4, most_compared_words);
    Comparison result = compare_values(data_, compared, ValueKind::u32, 0, computed(expected));
    result.checked = units_ * 4 * runs_;
    const Found found = read_found();
    if (found.wrong > 0) result.wrong = describe(found);
    result.missed_fault = missed_fault();
    return result;
  }

 private:
  static constexpr std::uint32_t planted_bit = 0x400;

  std::uint64_t last_word() const { return units_ * 4 - 1; }

  /// Whether the check reported the planted bit besides the memory's own wrong words, whose number
  /// may change between two reads. Of sound memory it reports nothing else.
  bool has_found_planted() const {
    if (own_.wrong == 0) {
      return planted_.wrong == 1 && planted_.first == last_word() && planted_.bits == planted_bit;
    }
    if ((planted_.bits & planted_bit) == 0) return false;
    return (own_.bits & planted_bit) == 0 || planted_.wrong > own_others_;
  }

  /// Empty where the check reported the planted bit.
  std::string missed_fault() const {
    if (has_found_planted()) return {};
    const std::uint64_t last = last_word();
    const auto hex = [](std::uint64_t bits) {
      std::array<char, 24> text;
      std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(bits));
      return std::string(text.data());
    };
    std::string text = "a self-test fault was missed: bits " + hex(planted_bit) + " of word " +
                       std::to_string(last) + " were flipped, and the check reported ";
    if (planted_.wrong == 0) return text + "no wrong word";
    text += base::count_of(planted_.wrong, "wrong word") + ", the first at " +
            std::to_string(planted_.first) + ", bits " + hex(planted_.bits);
    return own_.wrong == 0 ? text : text + ", " + std::to_string(own_.wrong) + " without it";
  }

  bool inverts() const { return test_ == Test::inversions || test_ == Test::random_words; }

  void forget() {
    const Found none;
    copy_h2d_and_wait(found_, std::as_bytes(std::span(&none, 1)));
    runs_ = 0;
  }

  Found check_once() {
    queue_check(0, false);
    stream_->synchronize();
    const Found found = read_found();
    forget();
    return found;
  }

  Found read_found() const {
    Found found;
    copy_d2h_and_wait(std::as_writable_bytes(std::span(&found, 1)), found_);
    return found;
  }

  void queue_write() {
    launch(write_, config_, *stream_, data_, units_, static_cast<std::uint32_t>(test_), pass_,
           std::uint32_t{0});
  }

  void queue_check(std::uint32_t flip, bool invert) {
    launch(check_, config_, *stream_, data_, units_, static_cast<std::uint32_t>(test_), pass_, flip,
           static_cast<std::uint32_t>(invert ? 1 : 0), found_);
  }

  /// The word is read once more: it is still wrong if the memory is at fault.
  WrongData describe(const Found& found) const {
    WrongData wrong;
    wrong.first_index = found.first;
    wrong.count = found.wrong;
    wrong.xor_bits = found.bits;
    std::uint32_t word = 0;
    if (found.first < units_ * 4) {
      copy_d2h_and_wait(std::as_writable_bytes(std::span(&word, 1)),
                        data_.view(found.first * 4, 4));
    }
    const std::uint32_t expected = word_at(test_, found.first, pass_);
    wrong.expected = expected;
    wrong.reread_agrees = word != expected;
    // The wrong value is lost if a later check inverted or rewrote the word.
    if (wrong.reread_agrees) wrong.got = word;
    return wrong;
  }

  Test test_;
  const StreamRef* stream_;
  Kernel write_;
  Kernel check_;
  std::uint64_t units_;
  LaunchConfig config_;
  Buffer data_;
  Buffer found_;
  std::uint32_t pass_ = 0;
  std::uint64_t runs_ = 0;
  Found own_;                     ///< what the check reported before the bit was planted
  std::uint64_t own_others_ = 0;  ///< of these words without the last, in which it is planted
  Found planted_;                 ///< what the check reported with the planted bit
};

}  // namespace

void add_memory_tests(std::vector<FamilyEntry>& families) {
  struct Row {
    const char* name;
    const char* what;
    Test test;
  };
  constexpr Row rows[] = {
      {"walking", "one bit set, moving from word to word", Test::walking_ones},
      {"address", "every word holds its own index", Test::own_address},
      {"inversions", "one byte everywhere, inverted in place twice", Test::inversions},
      {"random", "mixed words, inverted in place twice", Test::random_words},
      {"modulo20", "one word of twenty differs from all others", Test::modulo_20},
  };
  for (const Row& row : rows) {
    families.push_back({{std::string("memtest-") + row.name, "memtest", row.what, {"u32"}},
                        1,
                        maker<MemoryTestWork>(row.test)});
  }
}

}  // namespace hiptool::measure
