// SPDX-License-Identifier: MIT
#include <array>
#include <limits>

#include "hostile.hpp"
#include "unit/model_writer/sample_models.hpp"

namespace hiptool::test {
namespace {

void read_files(Hostile& hostile) {
  for (const char* path : {"", "/", "/dev/null", "/proc/self/mem"}) {
    hostile.call("hiptool::ModelFile::open", [&] { (void)ModelFile::open(path); });
  }
  ModelFile model = hostile.model;
  const ModelFile copied = std::move(model);
  const std::string name = "hiptool::ModelFile::";
  const std::string_view key("\0\xff", 2);
  hostile.call(name + "array_size", [&] { (void)model.array_size(key); });
  hostile.call(name + "boolean", [&] { (void)model.boolean(key); });
  hostile.call(name + "booleans", [&] { (void)model.booleans(key, most, most); });
  hostile.call(name + "integer", [&] { (void)model.integer(key); });
  hostile.call(name + "integers", [&] { (void)model.integers(key, most, most); });
  hostile.call(name + "real", [&] { (void)model.real(key); });
  hostile.call(name + "reals", [&] { (void)model.reals(key, most, most); });
  hostile.call(name + "text", [&] { (void)model.text(key); });
  hostile.call(name + "texts", [&] { (void)model.texts(key, most, most); });
  hostile.call(name + "unsigned_integer", [&] { (void)model.unsigned_integer(key); });
  hostile.call(name + "unsigned_integers", [&] { (void)model.unsigned_integers(key, 1, most); });
  hostile.call(name + "find", [&] { (void)model.find(key); });
  hostile.call(name + "extents", [&] { (void)model.extents(); });
  hostile.call(name + "file_bytes", [&] { (void)model.file_bytes(); });
  hostile.call(name + "files", [&] { (void)model.files(); });
  hostile.call(name + "folder", [&] { (void)model.folder(); });
  hostile.call(name + "format", [&] { (void)model.format(); });
  hostile.call(name + "format_version", [&] { (void)model.format_version(); });
  hostile.call(name + "kind", [&] { (void)model.kind(); });
  hostile.call(name + "metadata", [&] { (void)model.metadata(); });
  hostile.call(name + "parameters", [&] { (void)model.parameters(); });
  hostile.call(name + "path", [&] { (void)model.path(); });
  hostile.call(name + "tensor_bytes", [&] { (void)model.tensor_bytes(); });
  hostile.call(name + "tensors", [&] { (void)model.tensors(); });
  hostile.call(name + "warnings", [&] { (void)model.warnings(); });
  hostile.call("hiptool::summarize", [&] { (void)summarize(model); });
  hostile.call("hiptool::DecoderSpec::read", [&] { (void)DecoderSpec::read(model); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<ModelFormat>()); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<ModelKind>()); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<RopeScaling>()); });
}

void load_models(Hostile& hostile) {
  const Device& device = hostile.device;
  const ModelFile& model = hostile.model;
  hostile.call("hiptool::load_model", [&] { (void)load_model(model, OpenDevices(), 1); });
  hostile.call("hiptool::load_model", [&] {
    (void)load_model(
        model, [] { return std::vector<Device>(); }, static_cast<std::uint32_t>(four_billion));
  });
  hostile.call("hiptool::load_model", [&] { (void)load_model(model, std::span<const Device>()); });
  hostile.call("hiptool::load_model", [&] {
    (void)load_model(model, std::vector{device, device});
  });
  std::vector<LoadOptions> choices(9);
  choices[0].verify = wrong<VerifyMode>();
  choices[1].split.kind = wrong<SplitKind>();
  choices[2].split = {SplitKind::proportions, {std::numeric_limits<double>::quiet_NaN()}};
  choices[3].read.request_bytes = most;
  choices[4].read.direct_request_bytes = 0;
  choices[5].read.depth = static_cast<std::uint32_t>(four_billion);
  choices[6].arenas.resize(3);
  choices[7].context_tokens = most;
  choices[8].read.mode = wrong<ReadMode>();
  for (const LoadOptions& options : choices) {
    hostile.call("hiptool::load_model", [&] { (void)load_model(model, device, options); });
  }
  LoadedModel loaded = load_model(model, device);
  const LoadedModel taken = std::move(loaded);
  for (const LoadedModel* each : std::array<const LoadedModel*, 2>{&loaded, &taken}) {
    hostile.call("hiptool::LoadedModel::plan", [&] { (void)each->plan(); });
    for (const char* name : {"", "w", "none"}) {
      hostile.call("hiptool::LoadedModel::weight", [&] { (void)each->weight(name); });
      hostile.call("hiptool::LoadedModel::weight",
                   [&] { (void)each->weight(name, hostile.other); });
      hostile.call("hiptool::LoadedModel::tensor", [&] { (void)each->tensor(name); });
      hostile.call("hiptool::LoadedModel::tensor",
                   [&] { (void)each->tensor(name, hostile.other); });
      hostile.call("hiptool::LoadedModel::quantised_tensor",
                   [&] { (void)each->quantised_tensor(name); });
      hostile.call("hiptool::LoadedModel::quantised_tensor",
                   [&] { (void)each->quantised_tensor(name, hostile.other); });
    }
  }
  hostile.call("hiptool::LoadedModel::LoadedModel", [&] {
    const LoadedModel made(model, std::vector<Buffer>(3), {});
    (void)made.weight("w");
  });
  hostile.call("hiptool::dtype_of", [&] { (void)dtype_of(model.tensors().front().type); });
  for (const char* name : {"", "none"}) {
    hostile.call("hiptool::load_weight", [&] { (void)load_weight(device, model, name); });
    hostile.call("hiptool::load_tensor", [&] { (void)load_tensor(device, model, name); });
  }
  const std::array<std::uint64_t, 2> wide{1u << 31, 1u << 31};
  hostile.call("hiptool::load_file_range", [&] {
    (void)load_file_range(device, hostile.model_path, most, wrong<DType>(), wide);
  });
  hostile.call("hiptool::load_file_range", [&] {
    (void)load_file_range(device, hostile.model_path, most - 7, DType::f64, {1});
  });
  hostile.call("hiptool::load_file_range",
               [&] { (void)load_file_range(device, "/dev/zero", 0, DType::f64, {1}); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<VerifyMode>()); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<LoadStatus>()); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<Fault>()); });
}

void plan_models(Hostile& hostile) {
  const ModelFile& model = hostile.model;
  const std::vector<Device> devices{hostile.device};
  hostile.call("hiptool::lay_out", [&] { (void)lay_out(model); });
  hostile.call("hiptool::lay_out",
               [&] { (void)lay_out(model, std::array{static_cast<std::uint32_t>(four_billion)}); });
  hostile.call("hiptool::plan_load", [&] { (void)plan_load(model, {}); });
  hostile.call("hiptool::plan_load", [&] {
    (void)plan_load(model, devices, {wrong<SplitKind>(), {}});
  });
  hostile.call("hiptool::plan_load", [&] {
    (void)plan_load(model, devices, {}, std::array{DeviceMemory{}, DeviceMemory{}});
  });
  hostile.call("hiptool::read_memory", [] { (void)read_memory({}); });
  ModelSummary summary;
  summary.layers = most;
  summary.kv_heads = {most, most};
  summary.heads = {most};
  summary.key_length = most;
  summary.value_length = most;
  summary.embedding_length = most;
  summary.vocabulary_size = most;
  summary.feed_forward_length = {most};
  summary.caches = {{most, most, most, most, most, most}};
  KvCacheOptions options(wrong<KvType>());
  options.sequences = most;
  for (const KvCacheOptions& each : {options, KvCacheOptions()}) {
    for (const ModelSummary& of : {summary, ModelSummary()}) {
      hostile.call("hiptool::kv_cache_bytes", [&] { (void)kv_cache_bytes(of, most, each); });
      hostile.call("hiptool::kv_cache_least_bytes",
                   [&] { (void)kv_cache_least_bytes(of, most, each); });
      hostile.call("hiptool::recurrent_state_bytes",
                   [&] { (void)recurrent_state_bytes(of, most); });
      ComputeBufferOptions buffers{wrong<GraphReserve>(), most, false, most};
      hostile.call("hiptool::compute_buffer_bytes",
                   [&] { (void)compute_buffer_bytes(of, most, buffers); });
      hostile.call("hiptool::compute_buffer_bytes",
                   [&] { (void)compute_buffer_bytes(of, most, most); });
      const std::array memory{DeviceMemory{"", most, most, false}};
      hostile.call("hiptool::fit_model",
                   [&] { (void)fit_model(model.tensors(), of, most, memory, memory, each); });
      hostile.call("hiptool::fit_model", [&] { (void)fit_model({}, of, 0, {}); });
    }
  }
  hostile.call("hiptool::kv_type_from_name", [] { (void)kv_type_from_name("\xff"); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<KvType>()); });
  hostile.call("hiptool::to_string", [] { (void)to_string(wrong<FitVerdict>()); });
}

void upload(Hostile& hostile) {
  const Device& device = hostile.device;
  const auto many = static_cast<std::uint32_t>(four_billion);
  for (const auto& [streams, slot_bytes, slots] :
       {std::tuple{many, std::uint64_t{4096}, 1u}, std::tuple{1u, most, 1u},
        std::tuple{1u, std::uint64_t{4096}, many}, std::tuple{0u, std::uint64_t{0}, 0u}}) {
    hostile.call("hiptool::AsyncLoader::AsyncLoader",
                 [&, streams = streams, slot_bytes = slot_bytes, slots = slots] {
                   AsyncLoader::Options options;
                   options.streams = streams;
                   options.slot_bytes = slot_bytes;
                   options.slots = slots;
                   AsyncLoader loader(device, options);
                   loader.prepare();
                 });
  }
  hostile.call("hiptool::AsyncLoader::AsyncLoader", [&] {
    AsyncLoader::Options options;
    options.external_streams = {hostile.moved_stream};
    const AsyncLoader loader(device, options);
  });
  AsyncLoader loader(device);
  hostile.call("hiptool::AsyncLoader::prepare", [&] { loader.prepare(); });
  const std::array<std::byte, 17> bytes{};
  for (const Device& on : {device, hostile.other}) {
    Buffer buffer(on, 16);
    hostile.call("hiptool::AsyncLoader::upload", [&] { loader.upload(buffer, bytes); });
    hostile.call("hiptool::AsyncLoader::upload",
                 [&] { loader.upload(buffer, std::span(bytes).first(16)); });
  }
  Buffer none;
  hostile.call("hiptool::AsyncLoader::upload", [&] { loader.upload(none, {}); });
  hostile.call("hiptool::AsyncLoader::stream", [&] { (void)loader.stream(most); });
  hostile.call("hiptool::AsyncLoader::stream_count", [&] { (void)loader.stream_count(); });
  hostile.call("hiptool::AsyncLoader::synchronize", [&] { loader.synchronize(); });
}

void sample(Hostile& hostile) {
  const std::array<float, 2> not_numbers{0, std::numeric_limits<float>::quiet_NaN()};
  const std::array<float, 2> logits{0, 1};
  std::vector<SamplingOptions> choices(4);
  choices[0].temperature = std::numeric_limits<double>::quiet_NaN();
  choices[1].temperature = -1;
  choices[2].top_p = 0;
  choices[3] = {.temperature = 1e-308, .top_k = most, .top_p = 1, .seed = most};
  for (const SamplingOptions& options : choices) {
    hostile.call("hiptool::require_valid", [&] { require_valid(options); });
    hostile.call("hiptool::sample_token", [&] { (void)sample_token(logits, options, most); });
    hostile.call("hiptool::sample_token", [&] { (void)sample_token(not_numbers, options, most); });
    hostile.call("hiptool::sample_token", [&] { (void)sample_token({}, options, most); });
  }
}

void run_models(Hostile& hostile) {
  const Backend& backend = hostile.backend;
  const LoadedModel& loaded = hostile.loaded;
  const std::string name = "hiptool::ModelRuntime::ModelRuntime";
  DecoderSpec spec;
  spec.embedding = most;
  spec.vocabulary = most;
  spec.key_length = huge;
  spec.value_length = huge;
  spec.rope.dimensions = huge;
  spec.layers.resize(2);
  for (DecoderLayer& layer : spec.layers) layer.heads = layer.kv_heads = layer.feed_forward = most;
  const ModelRuntime::Options options{most, most};
  hostile.call(name, [&] { const ModelRuntime made(backend, loaded, spec); });
  hostile.call(name, [&] { const ModelRuntime made(backend, loaded, spec, options); });
  hostile.call(name,
               [&] { const ModelRuntime made(std::span<const Backend>(), loaded, spec, options); });
  hostile.call(name, [&] { const ModelRuntime made(backend, hostile.model, {}, spec, options); });
  hostile.call(name, [&] { const ModelRuntime made(backend, loaded, DecoderSpec(), {}); });
  hostile.call("hiptool::ModelRuntime::memory_bytes",
               [&] { (void)ModelRuntime::memory_bytes(spec, options); });
  hostile.call("hiptool::ModelRuntime::memory_bytes", [&] {
    (void)ModelRuntime::memory_bytes(spec, {1, 1});
  });
}

void step_models(Hostile& hostile) {
  const TemporaryFolder folder;
  const ModelFile model =
      made_model(folder, ModelFormat::gguf, {"llama", RopeScaling::none, 0, false}, {"F32"});
  const LoadedModel loaded = load_model(model, hostile.device);
  const auto make = [&] {
    return ModelRuntime(hostile.backend, loaded, DecoderSpec::read(model), {16, 4});
  };
  ModelRuntime runtime = make();
  ModelRuntime moved = make();
  const ModelRuntime taken = std::move(moved);
  hostile.call("hiptool::ModelRuntime::ModelRuntime", [&] {
    const std::vector<Backend> twice{hostile.backend, hostile.backend};
    const ModelRuntime made(twice, loaded, DecoderSpec::read(model), {16, 4});
  });
  hostile.call("hiptool::ModelRuntime::operator=", [&] {
    ModelRuntime from = make();
    ModelRuntime to = make();
    to = std::move(from);
    move_to_itself(from);
    (void)from.position();
  });
  const std::vector<std::uint32_t> wrong_ids{0xFFFFFFFF};
  const std::vector<std::uint32_t> many(17);
  const std::string name = "hiptool::ModelRuntime::";
  for (ModelRuntime* each : {&runtime, &moved}) {
    hostile.call(name + "decode_step", [&] { each->decode_step({}); });
    hostile.call(name + "decode_step", [&] { each->decode_step(wrong_ids); });
    hostile.call(name + "decode_step", [&] { each->decode_step(many); });
    hostile.each(name + "decode_step", [&](const Tensor& ids) { each->decode_step(ids); });
    hostile.call(name + "input_backend", [&] { (void)each->input_backend(); });
    hostile.call(name + "observe", [&] { each->observe({}); });
    hostile.call(name + "position", [&] { (void)each->position(); });
    hostile.call(name + "memory_bytes", [&] { (void)each->memory_bytes(); });
    hostile.call(name + "spec", [&] { (void)each->spec(); });
    hostile.call(name + "backend", [&] { (void)each->backend(); });
    hostile.call(name + "reset", [&] { each->reset(); });
    hostile.call(name + "cleanup", [&] { each->cleanup(-1); });
    hostile.call(name + "cleanup",
                 [&] { each->cleanup(std::numeric_limits<double>::quiet_NaN()); });
    hostile.call(name + "cleanup", [&] { each->cleanup(1e300); });
    hostile.call(name + "decode_step", [&] { each->decode_step(many); });
  }
}

}  // namespace

void call_models(Hostile& hostile) {
  read_files(hostile);
  load_models(hostile);
  plan_models(hostile);
  upload(hostile);
  sample(hostile);
  run_models(hostile);
  step_models(hostile);
}

}  // namespace hiptool::test
