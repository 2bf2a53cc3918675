// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiptool/cancel.hpp"
#include "hiptool/decoder_spec.hpp"
#include "hiptool/model_file.hpp"
#include "reference/prove/prove.hpp"
#include "reference/prove/reference_decoder.hpp"

namespace hiptool::reference {

/// What the reference computes for a prompt, so that a device can be checked without it.
///
/// A file of it is a safetensors file, which numpy and torch read without hiptool, and in which
/// numbers take 4 or 8 bytes:
/// * `prompt_ids` U32 [tokens];
/// * `logits` F32 [vocabulary], of the last token;
/// * `projections` F64 [layers + 1, tokens, 16]: of the embedding and the output of each layer, the
///   sums of the elements with signs; element i is negative in sum r where bit r of splitmix64(i)
///   is set (Steele et al. 2014: one step of the generator whose state is i). A wrong element
///   changes all 16;
/// * `sizes` F64 [layers + 1, tokens]: the roots of the sums of the squares of those elements.
/// Its metadata has `format` "hiptool.golden/1"; `model_digest`, as in VerifyResult;
/// `numbers_digest`, the XXH3-64 of the description's numbers and names, which the model's digest
/// does not cover; `settings`, those numbers for people; `digest`, the XXH3-64 of the data and
/// these three. Digests have 16 hexadecimal digits.
struct Golden {
  static constexpr std::size_t signs = 16;

  std::uint64_t model_digest = 0;
  std::uint64_t numbers_digest = 0;
  std::string settings;  ///< golden_settings(); empty in what read_golden() returns
  std::vector<std::uint32_t> prompt_ids;
  std::vector<double> projections;
  std::vector<double> sizes;
  std::vector<float> logits;

  std::size_t layers() const { return sizes.size() / prompt_ids.size() - 1; }
};

/// Of the size of a token's elements: f32 against float64 is at most 2.4e-6 of it in the 30 layers
/// of SmolLM2-135M.
inline constexpr double projection_bound = 3e-5;

/// The digest of the model's bytes, from its files. Blocks; throws Error(input_failed) and
/// Error(cancelled).
std::uint64_t digest_of_files(const ModelFile& model, const CancelToken* cancel);
std::uint64_t numbers_digest(const DecoderSpec& spec);
/// The same as hiptool 0.2.0 computed it, with the trained context even where it changes nothing.
/// Its goldens have no settings.
std::uint64_t first_numbers_digest(const DecoderSpec& spec);

/// The description's numbers as "name=value;name=value".
std::string golden_settings(const DecoderSpec& spec);
/// The first setting of such a text, which anyone may have written, that the model does not have:
/// "rope base 10000, where this model has 500000". Empty: there is none.
std::string different_setting(std::string_view settings, const DecoderSpec& spec);
/// More ids than a command line has place for.
inline constexpr std::uint64_t most_golden_tokens = 65536;

/// Computes it, without its model_digest, and resets the reference. `progress` is called with the
/// layers that are done. Throws what the reference throws.
Golden make_golden(ReferenceDecoder& reference, std::span<const std::uint32_t> ids,
                   const std::function<void(std::size_t layers)>& progress = {});

/// The bytes of its file.
std::string golden_file(const Golden& golden);
/// The golden of a model with this description, from a file that anyone may have written: memory is
/// bounded by the sizes of the model and the prompt, and all values are possible ones. Throws
/// Error(input_failed) for a file that cannot be read or is no golden, of another description or,
/// where one is given, of another prompt, and Error(corrupt_data) for one that is damaged.
Golden read_golden(const std::filesystem::path& path, const DecoderSpec& spec,
                   std::span<const std::uint32_t> prompt = {});

/// Throws Error(input_failed), naming the path, for a golden of another model.
void require_model(const Golden& golden, std::uint64_t model_digest, const std::string& path);

/// Runs the golden's prompt on the device and compares embedding, outputs of layers and logits end
/// to end, in the time of the device alone. Errors add up from layer to layer, so the bounds are
/// wider than the bounds of prove(). Where they are exceeded, prove() compares the layers up to
/// there with the reference, to name the place; where none of their values is wrong, the first
/// wrong value is one of the signed sums, of the stage "embedding_projections" or
/// "output_projections" of a layer, unless all of the model is proved and computes the same sums
/// again: then the layers enlarge the rounding of f32, and the result is that of prove(). Where the
/// device chose other experts than the golden's, and rounding may decide between them, the
/// reference computes the golden again with the device's choices, in the time of make_golden(), and
/// the same values of the device are compared with that; only such choices are counted as ties.
/// What is right is decoded as prove() does. Throws what prove() throws, and Error(corrupt_data)
/// where no value is wrong and the reference computes other sums than the golden has.
ProveResult check_golden(ModelRuntime& runtime, ReferenceDecoder& reference, const Golden& golden,
                         const ProveOptions& options = {});

}  // namespace hiptool::reference
