// SPDX-License-Identifier: MIT
#include "ops/shares.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "ops/backend_state.hpp"
#include "ops/layers.hpp"

// Shared with the kernels.
#include <hiptool_experts.h>
#include <hiptool_shares.h>

namespace hiptool::ops {
namespace {

constexpr std::string_view shares_name = "route_shares";

void require_share_shape(const Tensor& tensor, DType dtype, std::array<std::uint64_t, 2> dims) {
  if (tensor.dtype() == dtype && tensor.layout().is_contiguous() &&
      std::ranges::equal(tensor.dims(), dims)) {
    return;
  }
  refuse(shares_name, describe(tensor) + " is not contiguous " + std::string(to_string(dtype)) +
                          " " + list_of(dims));
}

void require_groups(const ExpertsSpec& experts, std::uint64_t count) {
  const std::uint64_t groups = experts.groups;
  const bool is_divided = count > 0 && count <= hiptool_ops::most_experts && groups > 0 &&
                          count % groups == 0 && experts.groups_used <= groups;
  const bool fits = is_divided && experts.used >= 1 && experts.group_best >= 1 &&
                    experts.group_best <= 2 && experts.group_best <= count / groups &&
                    experts.used <= experts.groups_used * (count / groups);
  if (fits) return;
  refuse(shares_name, std::to_string(experts.used) + " of " + std::to_string(count) +
                          " experts from " + std::to_string(experts.groups_used) + " of " +
                          std::to_string(groups) + " groups; there are kernels for up to 1024");
}

}  // namespace

void route_shares_into(const Backend& backend, ExpertRouting& out, const Tensor& scores,
                       const std::optional<Tensor>& bias, const ExpertsSpec& experts) {
  require_device(backend, shares_name,
                 std::array<const Tensor*, 3>{&scores, &out.ids, &out.weights});
  require_activations(shares_name, scores, 2);
  const std::uint64_t tokens = scores.dims()[0];
  const std::uint64_t count = scores.dims()[1];
  require_groups(experts, count);
  require_share_shape(out.ids, DType::u32, {tokens, experts.used});
  require_share_shape(out.weights, DType::f32, {tokens, experts.used});
  for (const Tensor* result : {&out.ids, &out.weights}) {
    require_separate(shares_name, std::array<const Tensor*, 1>{&scores}, *result);
  }
  if (bias) {
    require_device(backend, shares_name, std::array<const Tensor*, 1>{&*bias});
    require_activations(shares_name, *bias, 1);
    if (bias->dims()[0] != count || !bias->layout().is_contiguous()) {
      refuse(shares_name, "the bias " + describe(*bias) + " is not one for each expert");
    }
  }
  if (tokens == 0) return;
  const Tensor rows = with_neighbours(backend, scores);
  hiptool_ops::ShareRouting all{};
  all.tokens = tokens;
  all.score_stride = rows.layout().strides()[0];
  all.experts = static_cast<std::uint32_t>(count);
  all.used = static_cast<std::uint32_t>(experts.used);
  all.groups = static_cast<std::uint32_t>(experts.groups);
  all.groups_used = static_cast<std::uint32_t>(experts.groups_used);
  all.has_pairs = experts.group_best == 2 ? 1 : 0;
  all.is_sigmoid = experts.share == ExpertShare::sigmoid ? 1 : 0;
  all.is_normalised = experts.is_normalised ? 1 : 0;
  all.scale = static_cast<float>(experts.scale);
  LaunchConfig config;
  config.grid.x = static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, 0x7FFFFFFF));
  config.block.x = hiptool_ops::layer_threads;
  config.shared_bytes =
      static_cast<std::uint32_t>((2 * count + 2 * experts.groups + experts.used) * sizeof(float));
  launch(state_of(backend).kernel("ops_shares", "hiptool_route_shares"), config, backend.stream(),
         all, rows.address(), bias ? static_cast<const void*>(bias->address()) : nullptr,
         out.ids.address(), out.weights.address());
}

}  // namespace hiptool::ops
