// SPDX-License-Identifier: MIT
#include "measure/library/measure.hpp"

namespace hiptool::measure {

report::Measurement measurement_of(const LibraryResult& result) {
  report::Measurement measured = measurement_of(static_cast<const KernelResult&>(result));
  const auto if_judged = [&](report::Value value) {
    return result.checked > 0 ? std::move(value) : report::Value();
  };
  const MatmulProblem* const product = matmul_of(result.problem);
  const auto of_product = [&](auto value) {
    return product == nullptr ? report::Value() : report::Value(value(*product));
  };
  const auto add = [&](const char* key, report::Value value) {
    measured.details.emplace_back(key, std::move(value));
  };
  add("library_version", report::text_or_absent(result.library_version));
  add("library_path", report::text_or_absent(result.library_path));
  add("transpose", of_product([](const MatmulProblem& one) { return transpose_word(one); }));
  add("batch", of_product([](const MatmulProblem& one) { return one.batch; }));
  add("compute", to_string(types_of(result.problem).compute));
  add("result_dtype", to_string(types_of(result.problem).result));
  add("share_of_fastest", result.share_of_fastest);
  add("judged_share", if_judged(result.judged_share));
  add("judging_terms_per_s", if_judged(result.terms_per_s));
  add("same_bits_twice", if_judged(result.has_same_bits));
  add("wrong_data", report::text_or_absent(result.data));
  add("wrong_where", report::text_or_absent(result.where));
  add("trap", report::text_or_absent(result.trap));
  add("scaled", report::text_or_absent(result.scaled));
  return measured;
}

}  // namespace hiptool::measure
