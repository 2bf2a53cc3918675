// SPDX-License-Identifier: MIT
#include "reference/ops/index.hpp"

namespace hiptool::reference {
namespace {

using Index = std::vector<std::uint64_t>;

/// The index of the next element in row-major order; all 0 after the last.
void advance(Index& index, const Index& dims) {
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis]) return;
    index[axis] = 0;
  }
}

std::size_t place_of(const Index& index, const Index& dims) {
  std::size_t place = 0;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) place = place * dims[axis] + index[axis];
  return place;
}

/// Calls body(element of ids, element of x) for the ids that are indices, in row-major order.
template <class Body>
void each_id(const Values& x, const Values& ids, std::size_t axis, Body body) {
  Index index(ids.dims.size());
  for (std::size_t i = 0; i < ids.at.size(); ++i, advance(index, ids.dims)) {
    const long double id = ids.at[i];
    if (id < 0 || id >= static_cast<long double>(x.dims[axis])) continue;
    const std::uint64_t along = index[axis];
    index[axis] = static_cast<std::uint64_t>(id);
    body(i, place_of(index, x.dims));
    index[axis] = along;
  }
}

long double added(DType dtype, long double sum, long double value) {
  const auto bits = [&] {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(sum)) +
           static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  };
  switch (dtype) {
    case DType::u8: return static_cast<std::uint8_t>(bits());
    case DType::u32: return static_cast<std::uint32_t>(bits());
    case DType::i16: return static_cast<std::int16_t>(bits());
    case DType::i32: return static_cast<std::int32_t>(bits());
    case DType::i64: return static_cast<long double>(static_cast<std::int64_t>(bits()));
    case DType::f64: return static_cast<double>(sum) + static_cast<double>(value);
    default: return static_cast<float>(sum) + static_cast<float>(value);
  }
}

}  // namespace

Values spread_ids(const Values& ids, std::vector<std::uint64_t> dims, std::size_t axis) {
  dims[axis] = ids.at.size();
  Values result{dims, {}};
  std::size_t count = 1;
  for (const std::uint64_t dim : dims) count *= dim;
  Index index(dims.size());
  for (std::size_t i = 0; i < count; ++i, advance(index, dims)) {
    result.at.push_back(ids.at[index[axis]]);
  }
  return result;
}

Values index_select(const Values& x, const Values& ids, std::size_t axis) {
  return gather(x, spread_ids(ids, x.dims, axis), axis);
}

Values gather(const Values& x, const Values& ids, std::size_t axis) {
  Values result{ids.dims, std::vector<long double>(ids.at.size())};
  each_id(x, ids, axis, [&](std::size_t i, std::size_t place) { result.at[i] = x.at[place]; });
  return result;
}

Values scatter(const Values& x, const Values& ids, const Values& source, std::size_t axis) {
  Values result = x;
  each_id(x, ids, axis, [&](std::size_t i, std::size_t place) { result.at[place] = source.at[i]; });
  return result;
}

Values scatter_add(DType dtype, const Values& x, const Values& ids, const Values& source,
                   std::size_t axis) {
  Values result = x;
  each_id(x, ids, axis, [&](std::size_t i, std::size_t place) {
    result.at[place] = added(dtype, result.at[place], source.at[i]);
  });
  return result;
}

}  // namespace hiptool::reference
