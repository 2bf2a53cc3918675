// SPDX-License-Identifier: MIT
#define DOCTEST_CONFIG_IMPLEMENT
#include "cases.hpp"

#include <doctest/doctest.h>

#include <iostream>
#include <string>
#include <vector>

namespace hiptool::test {
namespace {

struct CaseLog {
  std::string running;  ///< the name of the running case
  bool is_skipped = false;
  bool has_started = false;  ///< false for a query, such as --list-test-cases
  int cases = 0;
  std::vector<std::string> empty;
};

CaseLog& case_log() {
  static CaseLog log;
  return log;
}

/// doctest counts a case without assertions as passed.
class EmptyCases final : public doctest::IReporter {
 public:
  explicit EmptyCases(const doctest::ContextOptions&) {}

  void test_run_start() override { case_log().has_started = true; }
  void test_case_start(const doctest::TestCaseData& started) override {
    case_log().running = started.m_name;
    case_log().is_skipped = false;
    ++case_log().cases;
  }
  void test_case_end(const doctest::CurrentTestCaseStats& ended) override {
    CaseLog& log = case_log();
    const bool asserted = ended.numAssertsCurrentTest > 0 || ended.failure_flags != 0;
    if (!asserted && !log.is_skipped) log.empty.push_back(log.running);
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("empty cases", 1, EmptyCases);

/// The reader of the line takes what follows the first ": " for the reason.
std::string without_colons(std::string name) {
  std::string::size_type at = 0;
  while ((at = name.find(": ", at)) != std::string::npos) name.replace(at, 2, " / ");
  return name;
}

}  // namespace

void skip_case(std::string_view reason) {
  case_log().is_skipped = true;
  // A line of its own on standard output, where doctest's report goes too.
  std::cout << "skipped case: " << without_colons(case_log().running) << ": " << reason << '\n'
            << std::flush;
}

int run_cases(doctest::Context& context) {
  const int result = context.run();
  const CaseLog& log = case_log();
  for (const std::string& name : log.empty) {
    std::cout << "FAILED: the case \"" << name
              << "\" made no assertion and did not call skip_case()\n";
  }
  const bool ran_none = log.has_started && log.cases == 0;
  if (ran_none) std::cout << "FAILED: no case ran; the filters match none\n";
  return result != 0 || !log.empty.empty() || ran_none ? 1 : 0;
}

}  // namespace hiptool::test
