// SPDX-License-Identifier: MIT
#include "reference/prove/self_test.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "hiptool/copy.hpp"
#include "hiptool/error.hpp"
#include "reference/prove/decoding.hpp"
#include "reference/prove/observation.hpp"
#include "reference/prove/values.hpp"
#include "runtime/decoder_places.hpp"

namespace hiptool::reference {
namespace {

// Each is found in its layer.
constexpr std::array layer_kinds{PlantedKind::weight_bit, PlantedKind::norm_bit,
                                 PlantedKind::short_row, PlantedKind::nan};
constexpr std::size_t short_columns = 32;  // that a row loses

std::vector<double> block_values(ElementType type, std::span<const std::byte> block) {
  std::vector<double> values(static_cast<std::size_t>(type.block_elements()));
  to_doubles(type, block, values);
  return values;
}

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// By how much the element changes; negative where a value of the block is not finite.
double change_of(std::span<const double> before, std::span<const double> after,
                 std::size_t element) {
  const bool is_finite = std::ranges::all_of(after, [](double x) { return std::isfinite(x); });
  return is_finite ? std::abs(after[element] - before[element]) : -1;
}

/// The block with one bit flipped, so that the element changes by at least an eighth of the
/// largest value, and by no more than needed. Empty: there is no such bit.
std::vector<std::byte> with_flipped_bit(ElementType type, std::span<const std::byte> block,
                                        std::size_t element) {
  const std::vector<double> before = block_values(type, block);
  const double least = largest_of(before) / 8;
  std::vector<std::byte> best;
  if (!(least > 0)) return best;
  double smallest = 0;
  for (std::size_t bit = 0; bit < 8 * block.size(); ++bit) {
    std::vector<std::byte> changed(block.begin(), block.end());
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    const double change = change_of(before, block_values(type, changed), element);
    if (change < least || (!best.empty() && change >= smallest)) continue;
    smallest = change;
    best = std::move(changed);
  }
  return best;
}

/// The block with NaN among its values, whose number is a float of 32, 16 or 8 bits somewhere in
/// it. Empty: the type has no NaN.
std::vector<std::byte> with_nan(ElementType type, std::span<const std::byte> block) {
  constexpr std::array<std::array<std::uint8_t, 4>, 6> patterns{{{0, 0, 0xC0, 0x7F},
                                                                 {0, 0x7E, 0, 0},
                                                                 {0xC0, 0x7F, 0, 0},
                                                                 {0xFF, 0, 0, 0},
                                                                 {0x7F, 0, 0, 0},
                                                                 {0x80, 0, 0, 0}}};
  constexpr std::array<std::size_t, 6> sizes{4, 2, 2, 1, 1, 1};
  for (std::size_t pattern = 0; pattern < patterns.size(); ++pattern) {
    for (std::size_t at = 0; at + sizes[pattern] <= block.size(); ++at) {
      std::vector<std::byte> changed(block.begin(), block.end());
      for (std::size_t i = 0; i < sizes[pattern]; ++i) {
        changed[at + i] = std::byte{patterns[pattern][i]};
      }
      const std::vector<double> values = block_values(type, changed);
      if (std::ranges::any_of(values, [](double x) { return std::isnan(x); })) return changed;
    }
  }
  return {};
}

/// Blocks of a row, or of a vector as one row, in device memory.
struct PlantedPlace {
  Buffer tensor;
  std::uint64_t offset = 0;
  std::vector<std::byte> blocks;
};

/// Other bytes in device memory, for its lifetime.
class Planting {
 public:
  Planting(PlantedPlace place, std::span<const std::byte> bytes) : place_(std::move(place)) {
    write(bytes);
  }
  ~Planting() {
    try {
      write(place_.blocks);
    } catch (const Error&) {
      // The call that failed before says more.
    }
  }
  Planting(const Planting&) = delete;
  Planting& operator=(const Planting&) = delete;

 private:
  void write(std::span<const std::byte> bytes) {
    copy_h2d_and_wait(place_.tensor.view(place_.offset, bytes.size()), bytes);
  }
  PlantedPlace place_;
};

class SelfTest {
 public:
  SelfTest(const LoadedModel& model, std::span<const Backend> backends,
           const std::function<ModelRuntime()>& make_runtime, const ReferenceDecoder& reference,
           std::span<const std::uint32_t> ids, const ProveOptions& options)
      : model_(model),
        backends_(backends),
        make_runtime_(make_runtime),
        reference_(reference),
        ids_(ids),
        options_(options),
        chosen_(options.layers) {
    if (chosen_.empty()) {
      chosen_.resize(reference.spec().layers.size());
      std::iota(chosen_.begin(), chosen_.end(), std::size_t{0});
    }
  }

  std::vector<PlantedFault> run() {
    find_columns();
    std::vector<PlantedFault> faults;
    for (std::size_t i = 0; i < layer_kinds.size(); ++i) {
      faults.push_back(plant(layer_kinds[i], layer_of(i)));
    }
    faults.push_back(plant(PlantedKind::decoding, chosen_.back()));
    return faults;
  }

 private:
  std::size_t layer_of(std::size_t fault) const {
    return chosen_[(chosen_.size() - 1) * fault / (layer_kinds.size() - 1)];
  }

  // The middle one of the columns by their largest input, of the stages that faults are seen in.
  void find_columns() {
    ModelRuntime runtime = make_runtime_();
    std::map<std::pair<std::size_t, std::string>, std::vector<double>> largest;
    const Observation observation(runtime, [&](const DecoderStage& stage) {
      if (options_.alter) options_.alter(stage);
      if (!stage.layer || stage.name != "attention_norm") return;
      const auto width = static_cast<std::size_t>(stage.values.dims()[1]);
      std::vector<double>& columns = largest[{*stage.layer, std::string(stage.name)}];
      columns.resize(width);
      const std::vector<double> values = read_values(stage.stream, stage.values, options_.cancel);
      for (std::size_t i = 0; i < values.size(); ++i) {
        columns[i % width] = std::max(columns[i % width], std::abs(values[i]));
      }
    });
    runtime.decode_step(ids_);
    wait_unless_cancelled(runtime.backend().stream(), options_.cancel);
    for (const auto& one : largest) {
      const std::vector<double>& columns = one.second;
      std::vector<std::size_t> order(columns.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2),
                               {}, [&](std::size_t column) { return columns[column]; });
      columns_[one.first.first] = order[order.size() / 2];
    }
  }

  Weight weight(const std::string& tensor) const {
    const auto find = [&](const std::string& name, const Device& device) {
      return model_.weight(name, device);
    };
    return find(tensor, backends_[runtime::place_of(backends_, find, tensor)].device());
  }

  // `count` blocks from the one of a column on.
  PlantedPlace blocks_of(const Weight& weight, std::uint64_t row, std::uint64_t columns,
                         std::uint64_t column, std::uint64_t count) const {
    const std::uint64_t block_bytes = weight.type.block_bits() / 8;
    const std::uint64_t blocks_of_row = columns / weight.type.block_elements();
    const std::uint64_t first = row * blocks_of_row + column / weight.type.block_elements();
    PlantedPlace place{weight.bytes, first * block_bytes,
                       std::vector<std::byte>(static_cast<std::size_t>(count * block_bytes))};
    copy_d2h_and_wait(place.blocks, weight.bytes.view(place.offset, place.blocks.size()));
    return place;
  }

  PlantedFault plant(PlantedKind kind, std::size_t number) {
    const DecoderLayer& layer = reference_.spec().layers[number];
    PlantedFault fault;
    fault.kind = kind;
    fault.layer = number;
    switch (kind) {
      case PlantedKind::weight_bit: {
        const bool has_latent = layer.has_latent() && layer.latent.query_length > 0;
        const MatrixSpec& matrix = layer.has_delta() ? layer.delta.mixed
                                   : has_latent      ? layer.latent.query_down
                                                     : layer.q;
        plant_bit(fault, matrix.weight, matrix.rows, matrix.columns);
        break;
      }
      case PlantedKind::norm_bit: plant_norm(fault, layer, false); break;
      case PlantedKind::short_row:
      case PlantedKind::decoding: plant_short_row(fault, layer.attention_output); break;
      case PlantedKind::nan: plant_nan(fault, layer); break;
    }
    return fault;
  }

  void describe(PlantedFault& fault, const std::string& tensor, const Weight& weight) const {
    fault.tensor = tensor;
    fault.type = weight.type.name();
    fault.device = weight.bytes.device().id();
  }

  // In the first row from the middle on whose block is not zero.
  void plant_bit(PlantedFault& fault, const std::string& tensor, std::uint64_t rows,
                 std::uint64_t columns) {
    const Weight weight = this->weight(tensor);
    describe(fault, tensor, weight);
    const std::uint64_t column = columns_.at(fault.layer);
    const auto element = static_cast<std::size_t>(column % weight.type.block_elements());
    for (std::uint64_t i = 0; i < rows; ++i) {
      fault.row = (rows / 2 + i) % rows;
      const PlantedPlace place = blocks_of(weight, fault.row, columns, column, 1);
      const auto changed = with_flipped_bit(weight.type, place.blocks, element);
      if (!changed.empty()) return prove_with(fault, place, changed);
    }
    refuse(tensor);
  }

  void plant_norm(PlantedFault& fault, const DecoderLayer& layer, bool is_nan) {
    const std::string& norm =
        layer.attention_norm.empty() ? layer.attention_post_norm : layer.attention_norm;
    const Weight weight = this->weight(norm);
    describe(fault, norm, weight);
    fault.row = columns_.at(fault.layer);
    const std::uint64_t elements = reference_.spec().embedding;
    const PlantedPlace place = blocks_of(weight, 0, elements, fault.row, 1);
    const auto element = static_cast<std::size_t>(fault.row % weight.type.block_elements());
    const auto changed = is_nan ? with_nan(weight.type, place.blocks)
                                : with_flipped_bit(weight.type, place.blocks, element);
    if (changed.empty()) refuse(norm);
    prove_with(fault, place, changed);
  }

  void plant_short_row(PlantedFault& fault, const MatrixSpec& matrix) {
    const Weight weight = this->weight(matrix.weight);
    describe(fault, matrix.weight, weight);
    const std::uint64_t block_elements = weight.type.block_elements();
    const std::uint64_t lost = std::min<std::uint64_t>(short_columns, (matrix.columns + 1) / 2);
    const std::uint64_t count = (lost + block_elements - 1) / block_elements;
    for (std::uint64_t i = 0; i < matrix.rows; ++i) {
      fault.row = (matrix.rows / 2 + i) % matrix.rows;
      const PlantedPlace place = blocks_of(weight, fault.row, matrix.columns,
                                           matrix.columns - count * block_elements, count);
      std::vector<double> values(static_cast<std::size_t>(count * block_elements));
      to_doubles(weight.type, place.blocks, values);
      if (!(largest_of(values) > 0)) continue;
      const std::vector<std::byte> zeros(place.blocks.size());
      return fault.kind == PlantedKind::decoding ? decode_with(fault, place, zeros)
                                                 : prove_with(fault, place, zeros);
    }
    refuse(matrix.weight);
  }

  void plant_nan(PlantedFault& fault, const DecoderLayer& layer) {
    const MatrixSpec& matrix = layer.has_delta()    ? layer.delta.mixed
                               : layer.has_latent() ? layer.latent.down
                                                    : layer.v;
    const Weight weight = this->weight(matrix.weight);
    fault.row = matrix.first_row + matrix.rows / 2;
    const PlantedPlace place = blocks_of(weight, fault.row, matrix.columns, 0, 1);
    const auto changed = with_nan(weight.type, place.blocks);
    if (changed.empty()) return plant_norm(fault, layer, true);
    describe(fault, matrix.weight, weight);
    prove_with(fault, place, changed);
  }

  [[noreturn]] static void refuse(const std::string& tensor) {
    throw Error(ErrorCode::invalid_argument, "self-test",
                "self-test: no fault can be planted in '" + tensor + "', which has only zeros",
                "use a model with weights");
  }

  // A runtime is made after the fault, because it converts norms that are not F32.
  void prove_with(PlantedFault& fault, const PlantedPlace& place,
                  std::span<const std::byte> bytes) {
    const Planting planting(place, bytes);
    ModelRuntime runtime = make_runtime_();
    ProveOptions options = options_;
    options.layers.clear();
    const std::size_t end = std::min(reference_.spec().layers.size(), fault.layer + 2);
    for (std::size_t layer = fault.layer - std::min<std::size_t>(fault.layer, 1); layer < end;
         ++layer) {
      options.layers.push_back(layer);
    }
    if (options_.progress) {
      options.progress = [this](std::uint64_t done, std::uint64_t total) {
        // Proofs at the ends have fewer layers; each counts for the same share.
        if (proof_bytes_ == 0) proof_bytes_ = total;
        const double share = static_cast<double>(done) / static_cast<double>(total);
        const double all_done =
            (static_cast<double>(proofs_) + share) * static_cast<double>(proof_bytes_);
        options_.progress(static_cast<std::uint64_t>(all_done), layer_kinds.size() * proof_bytes_);
      };
    }
    fault.found = prove(runtime, reference_, ids_, options).first_wrong;
    ++proofs_;
  }

  // Only the run that is not observed has the fault.
  void decode_with(PlantedFault& fault, const PlantedPlace& place,
                   std::span<const std::byte> bytes) {
    std::vector<double> decoded;
    {
      const Planting planting(place, bytes);
      ModelRuntime faulty = make_runtime_();
      decoded = logits_decoded(faulty, ids_, options_);
    }
    ModelRuntime runtime = make_runtime_();
    const Observation observation(runtime, [this](const DecoderStage& stage) {
      if (options_.alter) options_.alter(stage);
      if (stage.name == "output") wait_unless_cancelled(stage.stream, options_.cancel);
    });
    const std::vector<double> at_once =
        read_values(runtime.backend().stream(), runtime.decode_step(ids_), options_.cancel);
    fault.found = wrong_decoding(runtime, decoded, at_once, ids_.size());
  }

  const LoadedModel& model_;
  std::span<const Backend> backends_;
  const std::function<ModelRuntime()>& make_runtime_;
  const ReferenceDecoder& reference_;
  std::span<const std::uint32_t> ids_;
  const ProveOptions& options_;
  std::vector<std::size_t> chosen_;  // layers, ascending
  std::size_t proofs_ = 0;
  std::uint64_t proof_bytes_ = 0;  // weights that the first one reads
  std::map<std::size_t, std::size_t> columns_;
};

}  // namespace

std::string_view to_string(PlantedKind kind) noexcept {
  switch (kind) {
    case PlantedKind::weight_bit: return "weight_bit";
    case PlantedKind::norm_bit: return "norm_bit";
    case PlantedKind::short_row: return "short_row";
    case PlantedKind::nan: return "nan";
    case PlantedKind::decoding: return "decoding";
  }
  return "";
}

bool PlantedFault::is_named() const {
  if (kind == PlantedKind::decoding) return found && found->stage == decoded_logits;
  return found && found->layer == layer && found->tensor == tensor &&
         found->first_row + found->row == row && found->device == device;
}

std::vector<PlantedFault> self_test(const LoadedModel& model, std::span<const Backend> backends,
                                    const std::function<ModelRuntime()>& make_runtime,
                                    const ReferenceDecoder& reference,
                                    std::span<const std::uint32_t> ids,
                                    const ProveOptions& options) {
  return SelfTest(model, backends, make_runtime, reference, ids, options).run();
}

}  // namespace hiptool::reference
