// SPDX-License-Identifier: MIT
#include "cli/compare_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/output/failure.hpp"

namespace hiptool::cli {

void add_compare_options(CLI::App& app, CompareOptions& options, const std::string& place,
                         const std::string& usual) {
  const std::string start = place.empty() ? "" : place + ": ";
  add_text(app, "--effect", "SHARE", options.effect,
           OptionHelp(start + "ignore changes below this")
               .with_details("auto: the smallest change that the noise between the processes of "
                             "--repeat can decide; otherwise half the rate for calls under 100 us")
               .with_default(usual));
  add_flag(app, "--strict-compare", options.is_strict, start + "exit 1 also for AMBIGUOUS");
}

std::optional<double> effect_of(const CompareOptions& options, double usual) {
  const std::string& text = options.effect;
  if (text.empty()) return usual;
  if (base::equals_ignoring_case(text, "auto")) return std::nullopt;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  std::string_view rest(stop, static_cast<std::size_t>(end - stop));
  if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const double share = rest == "%" ? number / 100 : number;
  if (error == std::errc{} && (rest.empty() || rest == "%") && share > 0 && share < 1) return share;
  throw usage_error(fmt::format("--effect: '{}' is not a share between 0 and 100 %", text),
                    "write it as --effect 3% or --effect 0.03, or --effect auto");
}

}  // namespace hiptool::cli
