// SPDX-License-Identifier: MIT
#include "measure/ops/sweep.hpp"

#include <algorithm>
#include <cstring>

#include "base/contains.hpp"
#include "base/text.hpp"
#include "base/xxh3.hpp"
#include "hiptool/error.hpp"
#include "measure/ops/call_judge.hpp"

namespace hiptool::measure {
namespace {

std::uint64_t hash_text(const std::string& text) { return base::xxh3_64(text.data(), text.size()); }

std::vector<DType> sweep_types(const SweepOptions& options, const OperationEntry& operation) {
  if (options.dtypes.empty()) return operation.dtypes;
  std::vector<DType> chosen;
  for (const DType dtype : operation.dtypes) {
    if (base::contains(options.dtypes, to_string(dtype))) chosen.push_back(dtype);
  }
  return chosen;
}

/// One operation with one type.
class TypeSweep {
 public:
  TypeSweep(const SweepOptions& options, const Backend& backend, const OperationEntry& operation,
            DType dtype, KernelResult& result)
      : options_(options),
        backend_(backend),
        operation_(operation),
        dtype_(dtype),
        result_(result) {}

  void run() {
    for (const Arrangement arrangement : arrangements) {
      const auto& chosen = options_.arrangements;
      if (!chosen.empty() && !base::contains(chosen, arrangement)) {
        continue;
      }
      if (operation_.needs_contiguous && !is_in_one_piece(arrangement)) continue;
      LayoutResult layout;
      layout.layout = to_string(arrangement);
      std::vector<std::uint64_t> digests;
      for (const Dims& dims : shapes_of(arrangement, options_.sweep)) {
        for (const DataKind kind : {DataKind::whole, DataKind::random}) {
          if (!layout.has_wrong) run_cases(arrangement, dims, kind, layout, digests);
        }
      }
      const bool has_all_bits = options_.sweep == Sweep::full && operation_.is_elementwise &&
                                element_size_bytes(dtype_) <= 2;
      if (has_all_bits && arrangement == Arrangement::packed && !layout.has_wrong) {
        run_cases(arrangement, {256, 256}, DataKind::all_bits, layout, digests);
      }
      if (layout.cases == 0) continue;
      layout.digest = join_digests(digests);
      all_digests_.insert(all_digests_.end(), digests.begin(), digests.end());
      result_.cases += layout.cases;
      result_.layouts.push_back(std::move(layout));
    }
    result_.digest = join_digests(all_digests_);
  }

 private:
  void run_cases(Arrangement arrangement, const Dims& dims, DataKind kind, LayoutResult& layout,
                 std::vector<std::uint64_t>& digests) {
    const std::string what = operation_.name + "." + std::string(to_string(dtype_)) + " " +
                             layout.layout + " " + shape_text(dims);
    InputMaker maker(kind, options_.seed ^ hash_text(what));
    for (const OperationCase& call : operation_.cases(dtype_, dims, maker)) {
      if (arrangement == Arrangement::in_place && !call.in_place) continue;
      if (options_.cancel != nullptr) options_.cancel->throw_if_cancelled("run operations");
      const CallResult judged = judge_call(backend_, operation_.name, call, arrangement);
      ++layout.cases;
      layout.checked += judged.checked;
      result_.checked += judged.checked;
      result_.elements += judged.checked;
      result_.max_error = std::max(result_.max_error, judged.max_error);
      if (judged.has_bound) result_.tolerance = 1;
      digests.push_back(base::xxh3_64(judged.elements.data(), judged.elements.size()));
      if (!judged.wrong) continue;
      layout.has_wrong = true;
      layout.wrong = judged.wrong->element;
      layout.reason = shape_text(dims) + (call.variant.empty() ? "" : " " + call.variant) + " of " +
                      std::string(to_string(kind)) + ": " + judged.wrong->what;
      if (result_.status == Status::ok) {
        result_.status = Status::mismatch;
        result_.reason = layout.layout + " " + layout.reason;
        result_.wrong = layout.wrong;
      }
      return;
    }
  }

  const SweepOptions& options_;
  const Backend& backend_;
  const OperationEntry& operation_;
  DType dtype_;
  KernelResult& result_;
  std::vector<std::uint64_t> all_digests_;
};

void sweep_type(const SweepOptions& options, const Backend& backend,
                const OperationEntry& operation, DType dtype, KernelResult& result,
                std::optional<Error>& fatal) {
  try {
    if (fatal) throw Error(*fatal);
    TypeSweep(options, backend, operation, dtype, result).run();
    if (result.cases == 0) {
      result.status = Status::skipped;
      result.reason = "has no case in the requested layouts";
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) throw;
    note_failure(result, error);
    if (result.status == Status::failed && !error.is_recoverable()) fatal = error;
  }
}

}  // namespace

std::string shape_text(std::span<const std::uint64_t> dims) {
  if (dims.empty()) return "scalar";
  std::string text;
  for (const std::uint64_t dim : dims) {
    if (!text.empty()) text += 'x';
    text += std::to_string(dim);
  }
  return text;
}

std::string join_digests(std::span<const std::uint64_t> digests) {
  std::vector<std::byte> bytes(digests.size() * 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(digests[i / 8] >> (8 * (i % 8)));
  }
  return base::to_hex(base::xxh3_64(bytes.data(), bytes.size()));
}

std::vector<const OperationEntry*> chosen_operations(const SweepOptions& options) {
  const std::vector<OperationEntry>& all =
      options.operations != nullptr ? *options.operations : operations();
  std::vector<const OperationEntry*> chosen;
  const auto is_named = [](const OperationEntry& operation, const std::string& name) {
    return name == "ops" || name == operation.name || name == operation.group;
  };
  for (const std::string& name : options.names) {
    if (std::ranges::none_of(all, [&](const auto& one) { return is_named(one, name); })) {
      throw Error(ErrorCode::not_found, "run operations", "unknown operation '" + name + "'",
                  "hiptool run-kernel --list names them");
    }
  }
  for (const OperationEntry& operation : all) {
    const auto names_it = [&](const std::string& name) { return is_named(operation, name); };
    if (options.names.empty() || std::ranges::any_of(options.names, names_it)) {
      chosen.push_back(&operation);
    }
  }
  const auto has_type = [&](const OperationEntry* one) {
    return !sweep_types(options, *one).empty();
  };
  if (std::ranges::any_of(chosen, has_type)) return chosen;
  throw Error(ErrorCode::invalid_argument, "run operations",
              "none of the operations has a requested type",
              "hiptool run-kernel --list names the types of each");
}

std::vector<KernelResult> sweep_operations(const SweepOptions& options, const Device& device) {
  const std::vector<const OperationEntry*> chosen = chosen_operations(options);
  const Backend backend(device);
  std::vector<KernelResult> results;
  std::optional<Error> fatal;
  try {
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const OperationEntry& operation = *chosen[i];
      const std::size_t first = results.size();
      std::vector<DType> types = sweep_types(options, operation);
      for (const DType dtype : types) {
        KernelResult result;
        result.kernel = operation.name;
        result.kind = "operation";
        result.group = operation.group;
        result.dtype = to_string(dtype);
        result.destination = device.id();
        result.id = label_of(result) + "@" + result.destination;
        result.set_names();
        sweep_type(options, backend, operation, dtype, result, fatal);
        results.push_back(std::move(result));
      }
      if (options.on_result && results.size() > first) {
        options.on_result(std::span(results).subspan(first), i + 1, chosen.size());
      }
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled) throw;
  }
  return results;
}

}  // namespace hiptool::measure
