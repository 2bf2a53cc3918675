// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "hiptool/ops_move.hpp"
#include "measure/ops/operation.hpp"
#include "reference/ops/index.hpp"

namespace hiptool::measure {
namespace {

using reference::Expected;
using reference::Values;

enum class Indexing { select, gather, scatter, scatter_add, index_add };

/// How ids of one case are made.
struct IdKind {
  DType dtype = DType::u32;
  std::size_t axis = 0;
  bool has_none = false;   ///< some ids choose nothing
  std::uint64_t more = 0;  ///< as many more ids along the axis than the input has elements
};

std::uint64_t largest_id(DType dtype) {
  if (dtype == DType::u8) return std::numeric_limits<std::uint8_t>::max();
  if (dtype == DType::u32) return std::numeric_limits<std::uint32_t>::max();
  return std::numeric_limits<std::int64_t>::max();
}

/// Replaces every fifth id by the largest number of its type.
void choose_nothing(InputData& ids) {
  const std::size_t size = element_size_bytes(ids.dtype);
  const std::uint64_t largest = largest_id(ids.dtype);
  for (std::size_t at = 2 * size; at < ids.bytes.size(); at += 5 * size) {
    std::memcpy(ids.bytes.data() + at, &largest, size);
  }
}

InputData make_ids(const IdKind& kind, std::span<const std::uint64_t> dims, std::uint64_t length,
                   InputMaker& maker) {
  // 255 as u8 is not an index.
  const std::uint64_t most = kind.dtype == DType::u8 ? 255 : length;
  InputData ids = maker.indices(kind.dtype, dims, std::min(length, most));
  if (kind.has_none) choose_nothing(ids);
  return ids;
}

void run_indexing(Indexing indexing, const Backend& backend, std::span<const Tensor> in,
                  std::size_t axis, Tensor& out) {
  switch (indexing) {
    case Indexing::select: return ops::index_select_into(backend, out, in[0], in[1], axis);
    case Indexing::gather: return ops::gather_into(backend, out, in[0], in[1], axis);
    case Indexing::scatter: return ops::scatter_into(backend, out, in[0], in[1], in[2], axis);
    case Indexing::scatter_add:
      return ops::scatter_add_into(backend, out, in[0], in[1], in[2], axis);
    case Indexing::index_add: break;
  }
  ops::index_add_into(backend, out, in[0], in[1], in[2], axis);
}

/// The reference, which knows no types of ids, gets -1 for the largest number of the type.
Values typeless_ids(DType dtype, Values ids) {
  for (long double& id : ids.at) {
    if (id == static_cast<long double>(largest_id(dtype))) id = -1;
  }
  return ids;
}

Values expect_indexing(Indexing indexing, DType dtype, std::span<const Values> in,
                       const Values& ids, std::size_t axis) {
  switch (indexing) {
    case Indexing::select: return reference::index_select(in[0], ids, axis);
    case Indexing::gather: return reference::gather(in[0], ids, axis);
    case Indexing::scatter: return reference::scatter(in[0], ids, in[2], axis);
    case Indexing::scatter_add: return reference::scatter_add(dtype, in[0], ids, in[2], axis);
    case Indexing::index_add: break;
  }
  const Values spread = reference::spread_ids(ids, in[2].dims, axis);
  return reference::scatter_add(dtype, in[0], spread, in[2], axis);
}

OperationCase indexing_case(Indexing indexing, const IdKind& kind, DType dtype,
                            std::span<const std::uint64_t> dims, InputMaker& maker) {
  const std::size_t axis = kind.axis;
  const bool is_flat = indexing == Indexing::select || indexing == Indexing::index_add;
  Dims chosen(dims.begin(), dims.end());
  // Nothing can be chosen from an axis without elements.
  if (dims[axis] != 0) chosen[axis] += kind.more;
  OperationCase made;
  made.variant = "axis " + std::to_string(axis) + " by " + std::string(to_string(kind.dtype));
  made.inputs.push_back(maker.canonical_numbers(dtype, dims));
  made.inputs.push_back(make_ids(kind, is_flat ? Dims{chosen[axis]} : chosen, dims[axis], maker));
  made.result_dtype = dtype;
  if (indexing == Indexing::select || indexing == Indexing::gather) {
    made.result_dims = chosen;
  } else {
    made.inputs.push_back(maker.canonical_numbers(dtype, chosen));
    made.result_dims.assign(dims.begin(), dims.end());
    made.in_place = 0;
  }
  made.run = [=](const Backend& backend, std::span<const Tensor> in, Tensor& out) {
    run_indexing(indexing, backend, in, axis, out);
  };
  made.reference = [=](std::span<const Values> in) -> Expected {
    return {expect_indexing(indexing, dtype, in, typeless_ids(kind.dtype, in[1]), axis), {}};
  };
  return made;
}

void add_indexing(std::vector<OperationEntry>& list, Indexing indexing, const char* name,
                  const char* description, std::uint64_t arrays) {
  OperationEntry entry{name, "indexing", description, {}, arrays, false};
  entry.dtypes.assign(dtypes.begin(), dtypes.end());
  entry.cases = [indexing](DType dtype, std::span<const std::uint64_t> dims, InputMaker& maker) {
    std::vector<OperationCase> cases;
    if (dims.empty()) return cases;
    const std::size_t last = dims.size() - 1;
    const bool takes_rows = indexing == Indexing::select;
    std::vector<IdKind> kinds{{DType::u32, takes_rows ? 0 : last},
                              {DType::i64, takes_rows ? last : 0, true, 3}};
    // Ids are read alike for all types of elements.
    if (dtype == DType::u8 || dtype == DType::f32) {
      kinds.push_back({DType::u8, dims.size() / 2, true, 1});
    }
    for (const IdKind& kind : kinds) {
      cases.push_back(indexing_case(indexing, kind, dtype, dims, maker));
    }
    if (takes_rows) cases.front().row_ids = 1;
    return cases;
  };
  list.push_back(std::move(entry));
}

}  // namespace

void add_indexing_operations(std::vector<OperationEntry>& list) {
  add_indexing(list, Indexing::select, "index_select",
               "takes the slices along an axis that the ids name", 2);
  add_indexing(list, Indexing::gather, "gather",
               "takes the element along an axis that each id names", 4);
  add_indexing(list, Indexing::scatter, "scatter",
               "writes each element to the index given by its id", 5);
  add_indexing(list, Indexing::scatter_add, "scatter_add",
               "adds each element at the index given by its id", 5);
  add_indexing(list, Indexing::index_add, "index_add",
               "adds each slice at the index given by its id", 3);
}

}  // namespace hiptool::measure
