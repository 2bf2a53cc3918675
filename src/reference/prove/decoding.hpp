// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hiptool/model_runtime.hpp"
#include "reference/prove/prove.hpp"

namespace hiptool::reference {

/// The stage of a WrongValue: logits of a token that was decoded as programs decode, without a
/// probe and so by kernels that do several stages at once, which have other bits than the
/// observed prompt.
inline constexpr std::string_view decoded_logits = "decoded_logits";
/// The last ones of a prompt; more show no other kernels.
inline constexpr std::size_t most_decoded_tokens = 2;

/// Logits of the last `last` tokens, which follow the others one by one; the last `decoded` of them
/// without a probe, the others with the one of the options. Resets the runtime and ends its
/// observation.
std::vector<std::vector<double>> logits_one_by_one(ModelRuntime& runtime,
                                                   std::span<const std::uint32_t> ids,
                                                   std::size_t last, std::size_t decoded,
                                                   const ProveOptions& options);

/// The same of the last token, decoded without a probe.
std::vector<double> logits_decoded(ModelRuntime& runtime, std::span<const std::uint32_t> ids,
                                   const ProveOptions& options);

/// The same bits, or NaN in the same places.
bool is_same(const std::vector<double>& left, const std::vector<double>& right);

/// The decoded logit that is farthest from the logit of the prompt at once, as a wrong value of the
/// runtime's last device; absent where all are the same.
std::optional<WrongValue> wrong_decoding(const ModelRuntime& runtime,
                                         const std::vector<double>& decoded,
                                         const std::vector<double>& at_once, std::size_t tokens);

}  // namespace hiptool::reference
