#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decoders that transformers and Python's gguf write, computed by decoder_logits.cpp.

Usage: decoder_files.py DECODER_LOGITS [MODEL_TYPE...]. It needs gguf, safetensors, torch and
transformers. Models of odd sizes with random weights are saved as a Hugging Face folder by
transformers (gpt-oss, whose experts it does not save in MXFP4, by safetensors, and read back by
transformers), some of them in FP8 as well, or with the experts of a layer in one tensor, and as a
GGUF by gguf.GGUFWriter, with the names of gguf's own tables: nothing here knows what make-model
writes. For prompts of 1, 12 and 200 tokens,
of which the longer ones pass the window's edge, the logits of the float64 reference are compared
with those of transformers in float64, the cpu platform's with the reference's (transformers in f32
may be further away in models whose states add up rounding), chunks of any length bit for bit, and
every layer by the proof.
"""
import copy
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path += [str(pathlib.Path(__file__).resolve().parent),
             str(pathlib.Path(__file__).resolve().parent.parent / "goldens")]
from kernel_images import finish, skip  # noqa: E402 (it lies in a folder named above)

try:
    import gguf
    import numpy
    import safetensors.torch
    import torch
    import transformers
except ImportError as error:
    skip(f"{error.name} is not installed")
import make_goldens  # noqa: E402 (it skips without these packages)
import scaled_files  # noqa: E402 (it needs torch)
import state_files  # noqa: E402 (it needs gguf)

BOUND, DEVICE_BOUND = 2e-6, 1e-5   # standard deviations of the logits
PROMPTS = (1, 12, 200)
LAYERS, WINDOW, VOCABULARY = 4, 7, 211
COMMON = {"num_hidden_layers": LAYERS, "num_attention_heads": 6, "num_key_value_heads": 3,
          "vocab_size": VOCABULARY, "max_position_embeddings": 256, "rms_norm_eps": 1e-4}
YARN = {"rope_type": "yarn", "rope_theta": 5e4, "factor": 4.0, "beta_fast": 4.0, "beta_slow": 0.25,
        "original_max_position_embeddings": 64}
CONFIGS = {
    "qwen3_moe": {"hidden_size": 90, "head_dim": 26, "intermediate_size": 77,
                  "moe_intermediate_size": 51, "num_experts": 9, "num_experts_per_tok": 4,
                  "norm_topk_prob": True, "tie_word_embeddings": False,
                  "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
    "gemma3_text": {"hidden_size": 90, "head_dim": 26, "intermediate_size": 77,
                    "query_pre_attn_scalar": 26, "sliding_window": WINDOW,
                    "rope_parameters": {
                        "full_attention": {"rope_type": "linear", "factor": 8.0,
                                           "rope_theta": 1e6},
                        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}},
                    "layer_types": ["sliding_attention", "full_attention"] * 2},
    "gpt_oss": {"hidden_size": 96, "head_dim": 32, "intermediate_size": 64,
                "num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": WINDOW,
                "tie_word_embeddings": False, "rope_parameters": YARN},
    "phi3": {"hidden_size": 96, "intermediate_size": 77, "sliding_window": WINDOW,
             "tie_word_embeddings": False, "original_max_position_embeddings": 64,
             "num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0,
             "rope_parameters": {"rope_type": "longrope", "rope_theta": 5e4,
                                 "partial_rotary_factor": 0.75,
                                 "original_max_position_embeddings": 64,
                                 "short_factor": [1.0 + at / 8 for at in range(9)],
                                 "long_factor": [1.5 + at / 2 for at in range(9)]}},
    "mixtral": {"hidden_size": 90, "head_dim": 26, "intermediate_size": 51,
                "num_local_experts": 5, "num_experts_per_tok": 2, "tie_word_embeddings": False,
                "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    "smollm3": {"hidden_size": 90, "head_dim": 26, "intermediate_size": 77, "pad_token_id": 0,
                "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
    "granite": {"hidden_size": 96, "intermediate_size": 77, "tie_word_embeddings": True,
                "embedding_multiplier": 12.0, "attention_multiplier": 0.25,
                "residual_multiplier": 0.21875, "logits_scaling": 8.0,   # numbers that f32 has
                "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}},
    "ministral3": {"hidden_size": 90, "head_dim": 26, "intermediate_size": 77,
                   "tie_word_embeddings": False, "rope_parameters": YARN | {
                       "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.25}},
    "olmo2": {"hidden_size": 96, "intermediate_size": 77, "tie_word_embeddings": False,
              "pad_token_id": 0, "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
    "olmo3": {"hidden_size": 96, "intermediate_size": 77, "tie_word_embeddings": False,
              "pad_token_id": 0, "sliding_window": WINDOW,
              "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
              "rope_parameters": {
                  "full_attention": YARN,
                  "sliding_attention": {"rope_type": "default", "rope_theta": 5e4}}},
    "gemma2": {"hidden_size": 90, "head_dim": 26, "intermediate_size": 77,
               "query_pre_attn_scalar": 26, "sliding_window": WINDOW,
               "attn_logit_softcapping": 2.0, "final_logit_softcapping": 5.0,
               "layer_types": ["sliding_attention", "full_attention"] * 2,
               "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}},
    "exaone4": {"hidden_size": 90, "head_dim": 26, "intermediate_size": 77,
                "tie_word_embeddings": False, "sliding_window": WINDOW,
                "sliding_window_pattern": "LLLG",
                "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
                "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    "cohere2": {"hidden_size": 96, "intermediate_size": 77, "layer_norm_eps": 1e-4,
                "logit_scale": 0.25, "sliding_window": WINDOW,
                "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
                "rope_parameters": {"rope_type": "default", "rope_theta": 5e4}},
    "deepseek_v3": {"hidden_size": 90, "intermediate_size": 77, "moe_intermediate_size": 51,
                    "num_key_value_heads": 6, "q_lora_rank": 33, "kv_lora_rank": 27,
                    "qk_rope_head_dim": 10, "qk_nope_head_dim": 14, "v_head_dim": 18,
                    "n_routed_experts": 12, "num_experts_per_tok": 4, "n_group": 4,
                    "topk_group": 2, "n_shared_experts": 1, "first_k_dense_replace": 2,
                    "routed_scaling_factor": 2.5, "norm_topk_prob": True,
                    "rope_parameters": YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}},
    "deepseek_v2": {"hidden_size": 90, "intermediate_size": 77, "moe_intermediate_size": 51,
                    "num_key_value_heads": 6, "q_lora_rank": None, "kv_lora_rank": 28,
                    "qk_rope_head_dim": 10, "qk_nope_head_dim": 14, "v_head_dim": 18,
                    "n_routed_experts": 9, "num_experts_per_tok": 4, "n_group": 1,
                    "topk_group": 1, "n_shared_experts": 2, "first_k_dense_replace": 1,
                    "routed_scaling_factor": 1.0, "topk_method": "greedy",
                    "rope_parameters": {"rope_type": "default", "rope_theta": 5e4}},
    "glm4_moe": {"hidden_size": 90, "head_dim": 28, "intermediate_size": 77, "pad_token_id": 0,
                 "moe_intermediate_size": 51, "n_routed_experts": 10, "num_experts_per_tok": 3,
                 "n_group": 1, "topk_group": 1, "n_shared_experts": 1, "first_k_dense_replace": 2,
                 "routed_scaling_factor": 2.5, "norm_topk_prob": True, "use_qk_norm": True,
                 "attention_bias": True, "tie_word_embeddings": False,
                 "rope_parameters": {"rope_type": "default", "rope_theta": 5e4,
                                     "partial_rotary_factor": 0.5}},
    **state_files.CONFIGS,
}
GEMMAS = ("gemma2", "gemma3_text")
JOINED = ("qwen3_moe", "mixtral", "glm4_moe", "deepseek_v3", "qwen3_next", "qwen3_5_moe_text")
REORDERED = ("mixtral", "smollm3", "granite", "ministral3")   # q and k of a GGUF
EAGER = ("gpt_oss", "gemma2")   # sinks and softcaps


def make_model(name, truncates):
    fields = {key: dict(value) if isinstance(value, dict) else value
              for key, value in (COMMON | CONFIGS[name]).items()}
    if name == "cohere2":
        del fields["rms_norm_eps"]
    if name == "gpt_oss":
        fields["rope_parameters"]["truncate"] = truncates
    config = transformers.AutoConfig.for_model(name, **fields)
    config._experts_implementation = "eager"
    # transformers has this epsilon in norms of latents whatever the configuration says.
    if name.startswith("deepseek"):
        config.rms_norm_eps = 1e-6
    attention = "eager" if name in EAGER else "sdpa"
    torch.manual_seed(len(name))
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    with torch.no_grad():
        for key, weights in model.named_parameters():
            spread = weights.shape[-1] ** -0.5 if weights.dim() > 1 else 0.3
            weights.copy_(torch.randn(weights.shape) * spread + ("norm" in key))
            if "experts" in key and weights.dim() == 3 and name == "gpt_oss":
                weights.copy_(rounded_to_mxfp4(weights))
        for key, values in model.named_buffers():
            if "correction" in key:
                values.copy_(torch.randn(values.shape) * 0.2)
        for key, values in model.state_dict().items():
            numbers = values.numpy().astype(numpy.float32)   # what files hold
            if (name in GEMMAS and "norm" in key
                    or name in state_files.CONFIGS and state_files.has_offset(key)):
                numbers = numbers + numpy.float32(1) - numpy.float32(1)
            values.copy_(torch.from_numpy(numbers.astype(numpy.float64)))
    if name == "gemma3_text":
        make_goldens.keep_scale(model)
    return model


def rounded_to_mxfp4(weights):
    """Of [experts, columns, rows], blocks along the columns."""
    rows = weights.transpose(1, 2).contiguous().to(torch.float32).numpy()
    kind = gguf.GGMLQuantizationType.MXFP4
    values = gguf.quants.dequantize(gguf.quants.quantize(rows, kind), kind)
    return torch.from_numpy(values.reshape(rows.shape)).transpose(1, 2)


def packed(weights):
    """Codes, the first of two in a byte's low half, and exponents, of [experts, rows, columns]."""
    blocks = weights.reshape(*weights.shape[:2], -1, 32)
    most = numpy.abs(blocks).max(axis=-1)
    exponents = numpy.where(most > 0, numpy.floor(numpy.log2(numpy.maximum(most, 1e-30))) - 2, 0)
    numbers = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    for _ in range(4):   # the largest number of a block need not be 4 or 6
        scaled = blocks / numpy.exp2(exponents)[..., None]
        is_held = numpy.isin(numpy.abs(scaled), numbers).all(axis=-1)
        exponents = numpy.where(is_held, exponents, exponents - 1)
    assert is_held.all()
    codes = numpy.searchsorted(numbers, numpy.abs(scaled)) + 8 * (scaled < 0)
    codes = codes.astype(numpy.uint8)
    return codes[..., ::2] | codes[..., 1::2] << 4, (exponents + 127).astype(numpy.uint8)


def save_folder(model, folder, is_joined=False):
    if model.config.model_type != "gpt_oss":
        model.to(torch.float32).save_pretrained(folder, save_original_format=not is_joined)
        model.double()
        return
    state = {}
    for key, values in model.state_dict().items():
        values = values.to(torch.float32)
        if key.endswith(("gate_up_proj", "down_proj")):
            codes, exponents = packed(values.transpose(1, 2).double().numpy())
            state[key + "_blocks"] = torch.from_numpy(codes)
            state[key + "_scales"] = torch.from_numpy(exponents)
        else:
            state[key] = values.contiguous()
    folder.mkdir()
    safetensors.torch.save_file(state, folder / "model.safetensors", {"format": "pt"})
    model.config.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": []}
    (folder / "config.json").write_text(json.dumps(config))


def read_again(model, folder):
    """Whether transformers reads from the packed folder what was written."""
    if importlib.util.find_spec("accelerate") is None:
        print("accelerate is not installed: the packed folder is not read by transformers")
        return []
    read = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    state = read.double().state_dict()
    # It gives everything else in bf16.
    return [f"transformers reads another {key}" for key, values in model.state_dict().items()
            if key.endswith(("gate_up_proj", "down_proj")) and not torch.equal(state[key], values)]


ARCH = gguf.MODEL_ARCH
ARCHITECTURES = {"qwen3_moe": ARCH.QWEN3MOE, "gemma3_text": ARCH.GEMMA3, "gpt_oss": ARCH.GPT_OSS,
                 "phi3": ARCH.PHI3, "mixtral": ARCH.LLAMA, "smollm3": ARCH.SMOLLM3,
                 "granite": ARCH.GRANITE, "ministral3": ARCH.MISTRAL3, "olmo2": ARCH.OLMO2,
                 "olmo3": ARCH.OLMO2, "gemma2": ARCH.GEMMA2, "exaone4": ARCH.EXAONE4,
                 "cohere2": ARCH.COHERE2, "deepseek_v3": ARCH.DEEPSEEK2,
                 "deepseek_v2": ARCH.DEEPSEEK2, "glm4_moe": ARCH.GLM4_MOE,
                 **state_files.ARCHITECTURES}


def reordered(rows, heads):
    """As llama.cpp's conversion/llama.py orders rows of q and k: pairs become neighbours."""
    return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def gguf_tensors(model):
    """(name of transformers before it joined experts, values)"""
    name, state = model.config.model_type, model.state_dict()
    for key, values in state.items():
        values = values.to(torch.float32).numpy()
        if key == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        if name in GEMMAS and "norm" in key:
            values = values + numpy.float32(1)
        if name in REORDERED and key.endswith(("q_proj.weight", "k_proj.weight")):
            config = model.config
            values = reordered(values, config.num_attention_heads if "q_proj" in key
                               else config.num_key_value_heads)
        if name == "deepseek_v3" and key.endswith("kv_b_proj.weight"):
            # As the converter does: by heads, and what makes keys transposed.
            heads = values.reshape(model.config.num_attention_heads, -1, values.shape[1])
            plain = model.config.qk_nope_head_dim
            yield key.replace("kv_b", "k_b"), heads[:, :plain].swapaxes(1, 2)
            yield key.replace("kv_b", "v_b"), heads[:, plain:]
            continue
        if name in state_files.CONFIGS and ".experts." not in key:
            yield from state_files.converted(model.config, key, values)
            continue
        if ".experts." not in key:
            yield key.replace("correction_bias", "correction.bias"), values
            continue
        suffix = ".bias" if key.endswith("_bias") else ".weight"
        part = key.removesuffix("_bias")
        stem = part.rsplit(".", 1)[0]
        if name == "gpt_oss" and suffix == ".weight":
            values = values.swapaxes(1, 2)
        if part.endswith("gate_up_proj"):
            half = values.shape[1] // 2
            both = ((values[:, ::2], values[:, 1::2]) if name == "gpt_oss"
                    else (values[:, :half], values[:, half:]))
            for which, one in zip(("gate", "up"), both):
                yield f"{stem}.{which}_proj{suffix}", one
        else:
            yield f"{stem}.down_proj{suffix}", values


def add_latents(writer, config):
    """V3 as a current converter writes it; V2 as older ones, with one matrix of the latent."""
    is_v3 = config.model_type == "deepseek_v3"
    key = config.qk_nope_head_dim + config.qk_rope_head_dim
    writer.add_head_count_kv(1 if is_v3 else config.num_key_value_heads)
    writer.add_key_length(config.kv_lora_rank + config.qk_rope_head_dim if is_v3 else key)
    writer.add_value_length(config.kv_lora_rank if is_v3 else config.v_head_dim)
    if is_v3:
        writer.add_key_length_mla(key)
        writer.add_value_length_mla(config.v_head_dim)
        writer.add_q_lora_rank(config.q_lora_rank)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
        writer.add_expert_group_count(config.n_group)
        writer.add_expert_group_used_count(config.topk_group)
        writer.add_expert_weights_norm(True)
        writer.add_rope_scaling_yarn_log_mul(0.1 * config.rope_parameters["mscale_all_dim"])
    writer.add_kv_lora_rank(config.kv_lora_rank)
    writer.add_leading_dense_block_count(config.first_k_dense_replace)
    writer.add_rope_dimension_count(config.qk_rope_head_dim)
    writer.add_expert_count(config.n_routed_experts)
    writer.add_expert_used_count(config.num_experts_per_tok)
    writer.add_expert_shared_count(config.n_shared_experts)
    writer.add_expert_weights_scale(config.routed_scaling_factor)
    writer.add_expert_feed_forward_length(config.moe_intermediate_size)


def add_shares(writer, config):
    writer.add_rope_dimension_count(int(config.rope_parameters["partial_rotary_factor"]
                                        * config.head_dim))
    writer.add_expert_count(config.n_routed_experts)
    writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    writer.add_expert_shared_count(config.n_shared_experts)
    writer.add_leading_dense_block_count(config.first_k_dense_replace)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    writer.add_expert_weights_scale(config.routed_scaling_factor)
    writer.add_expert_weights_norm(config.norm_topk_prob)
    writer.add_nextn_predict_layers(1)
    for name, shape in (("enorm", [90]), ("eh_proj", [90, 180])):
        writer.add_tensor(f"blk.{LAYERS}.nextn.{name}.weight", numpy.ones(shape, numpy.float32))


def save_gguf(model, path):
    config, architecture = model.config, ARCHITECTURES[model.config.model_type]
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    writer.add_block_count(LAYERS + (config.model_type in ("glm4_moe", "qwen3_5_text",
                                                           "qwen3_5_moe_text")))
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    if config.model_type != "qwen3_5_moe_text":
        writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    if config.model_type.startswith("deepseek"):
        add_latents(writer, config)
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
        head = getattr(config, "head_dim", None) or (config.hidden_size //
                                                     config.num_attention_heads)
        writer.add_key_length(head)
        writer.add_value_length(head)
    if config.model_type == "cohere2":
        writer.add_layer_norm_eps(config.layer_norm_eps)
        writer.add_logit_scale(config.logit_scale)
    else:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_token_list([f"t{i}" for i in range(VOCABULARY)])
    rope = config.rope_parameters
    if config.model_type == "gemma3_text":
        writer.add_sliding_window(WINDOW)
        writer.add_sliding_window_pattern([kind == "sliding_attention"
                                           for kind in config.layer_types])
        rope = rope["full_attention"]
    if config.model_type in ("olmo3", "exaone4", "gemma2", "cohere2"):
        writer.add_sliding_window(WINDOW)
        if config.model_type != "gemma2":
            writer.add_sliding_window_pattern([kind == "sliding_attention"
                                               for kind in config.layer_types])
        rope = rope.get("full_attention", rope)
    if config.model_type == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if config.model_type == "phi3":
        writer.add_sliding_window(WINDOW)
        writer.add_rope_dimension_count(int(rope["partial_rotary_factor"] * head))
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        scale = config.max_position_embeddings / rope["original_max_position_embeddings"]
        writer.add_rope_scaling_attn_factors((1 + numpy.log(scale) / numpy.log(
            rope["original_max_position_embeddings"])) ** 0.5)
        for part in ("long", "short"):
            writer.add_tensor(f"rope_factors_{part}.weight",
                              numpy.array(rope[part + "_factor"], numpy.float32))
    if config.model_type == "granite":
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_attention_scale(config.attention_multiplier)
        writer.add_logit_scale(config.logits_scaling)
    if config.model_type == "ministral3":
        writer.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
        writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    if config.model_type == "mixtral":
        writer.add_expert_count(config.num_local_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        writer.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
    if config.model_type == "gpt_oss":
        writer.add_sliding_window(WINDOW)
        writer.add_expert_count(config.num_local_experts)
        writer.add_expert_feed_forward_length(config.intermediate_size)
    if config.model_type == "qwen3_moe":
        writer.add_expert_count(config.num_experts)
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    if config.model_type == "glm4_moe":
        add_shares(writer, config)
    if config.model_type in state_files.CONFIGS:
        state_files.add_states(writer, config, VOCABULARY)
    if "moe" in config.model_type or config.model_type in ("gpt_oss", "qwen3_next"):
        writer.add_expert_used_count(config.num_experts_per_tok)
    names = gguf.get_tensor_name_map(architecture, LAYERS)
    for key, values in gguf_tensors(model):
        name = names.get_name(key, try_suffixes=(".weight", ".bias"))
        if name is None:   # "model.layers.0.self_attn.sinks"
            name = names.get_name(key) + ".weight"
        elif name == names.get_name(key) and not name.endswith(".ssm_a"):
            name += ".weight"
        values = numpy.ascontiguousarray(values, dtype=numpy.float32)
        kind = None
        if config.model_type == "gpt_oss" and "_exps.weight" in name:
            kind = gguf.GGMLQuantizationType.MXFP4
            values = gguf.quants.quantize(values, kind)
        writer.add_tensor(name, values, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def compare(program, model, file, label):
    findings = []
    path = next(file.glob("*.safetensors")) if file.is_dir() else file
    for tokens in PROMPTS:
        ids = [(11 * i * i + 5 * i + 3) % VOCABULARY for i in range(tokens)]
        with torch.no_grad(), make_goldens.doubles():
            expected = model(torch.tensor([ids]), use_cache=False).logits[0, -1].numpy()
        with torch.no_grad():
            theirs = copy.deepcopy(model).float()(torch.tensor([ids]), use_cache=False)
        of_theirs = (abs(theirs.logits[0, -1].double().numpy() - expected).max() /
                     expected.std())
        done = subprocess.run([program, path, ",".join(map(str, ids))], capture_output=True,
                              text=True, timeout=600, check=False)
        if done.returncode != 0:
            findings.append(f"{label}, {tokens} tokens: {done.stderr}")
            continue
        own, device, chunks = (numpy.array([float(number) for number in line.split(",")])
                               for line in done.stdout.splitlines())
        of_own = abs(own - expected).max() / expected.std()
        of_device = abs(device - own).max() / expected.std()
        print(f"{label}, {tokens} tokens: {of_own:.1e}, device {of_device:.1e}, "
              f"transformers in f32 {of_theirs:.1e}")
        if not of_own <= BOUND:
            findings.append(f"{label}, {tokens} tokens: {of_own:.1e} standard deviations")
        if not of_device <= max(DEVICE_BOUND, of_theirs):
            findings.append(f"{label}, {tokens} tokens, device: {of_device:.1e} deviations")
        if not (device == chunks).all():
            findings.append(f"{label}, {tokens} tokens: chunks give other logits")
    return findings


def compare_bits(program, folder):
    """Qwen3-Next's folder and GGUF on the device, with rates that f32 has in both ways."""
    with make_goldens.doubles():
        model = make_model("qwen3_next", truncates=False).double().eval()
    with torch.no_grad():
        for key, values in model.named_parameters():
            if key.endswith("A_log"):
                values.zero_()
    save_folder(model, folder / "bits")
    save_gguf(model, folder / "bits.gguf")
    lines = [subprocess.run([program, path, ",".join(map(str, range(3, 80)))], check=True,
                            capture_output=True, text=True, timeout=600).stdout.splitlines()[1]
             for path in (next((folder / "bits").glob("*.safetensors")), folder / "bits.gguf")]
    return [] if lines[0] == lines[1] else ["qwen3_next: a GGUF gives other bits than the folder"]


def main():
    program = sys.argv[1]
    findings, checked = [], 0
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        for name in sys.argv[2:] or CONFIGS:
            for form in (("folder", "gguf") + (("fp8",) if name in scaled_files.SCALES else ())
                         + (("joined",) if name in JOINED else ())):
                with make_goldens.doubles():
                    model = make_model(name, truncates=form == "gguf").double().eval()
                file = folder / (f"{name}.gguf" if form == "gguf" else f"{name}-{form}")
                if form == "gguf":
                    save_gguf(model, file)
                else:
                    save_folder(model, file, is_joined=form == "joined")
                if form == "fp8":
                    scaled_files.scale_folder(model, file)
                if form == "folder" and name == "gpt_oss":
                    findings += read_again(model, file)
                findings += compare(program, model, file, f"{name} {form}")
                checked += len(PROMPTS)
            if name == "qwen3_next":
                findings += compare_bits(program, folder)
                checked += 1
    finish(checked, findings)


if __name__ == "__main__":
    main()
