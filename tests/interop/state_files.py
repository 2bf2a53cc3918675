# SPDX-License-Identifier: MIT
"""Models with a recurrent state (Qwen3-Next, Qwen3.5) of decoder_files.py, and what llama.cpp's
conversion/qwen.py makes of them: Qwen3-Next's q, k and v apart from z, the value heads of Qwen3.5
in another order, rates in place of their logarithms, and the 1 that norms add."""
import gguf
import numpy

LAYERS, PERIOD = 4, 3   # the third layer has attention
SIZES = {"hidden_size": 90, "head_dim": 28, "tie_word_embeddings": False,
         "linear_num_key_heads": 3, "linear_num_value_heads": 6, "linear_key_head_dim": 14,
         "linear_value_head_dim": 10, "linear_conv_kernel_dim": 4,
         "layer_types": ["full_attention" if layer % PERIOD == PERIOD - 1 else "linear_attention"
                         for layer in range(LAYERS)],
         "rope_parameters": {"rope_type": "default", "rope_theta": 5e4,
                             "partial_rotary_factor": 0.5, "mrope_section": [3, 2, 2]}}
EXPERTS = {"moe_intermediate_size": 51, "num_experts": 9, "num_experts_per_tok": 4,
           "shared_expert_intermediate_size": 38}
CONFIGS = {"qwen3_next": SIZES | EXPERTS | {"intermediate_size": 77, "norm_topk_prob": True},
           "qwen3_5_text": SIZES | {"intermediate_size": 77, "linear_value_head_dim": 14},
           "qwen3_5_moe_text": SIZES | EXPERTS | {"tie_word_embeddings": True}}
ARCHITECTURES = {"qwen3_next": gguf.MODEL_ARCH.QWEN3NEXT, "qwen3_5_text": gguf.MODEL_ARCH.QWEN35,
                 "qwen3_5_moe_text": gguf.MODEL_ARCH.QWEN35MOE}


def has_offset(key):
    """Whether it is a norm whose weights transformers adds 1 to."""
    return key.endswith("norm.weight") and "linear_attn.norm" not in key


def tiled(rows, config):
    """Of value heads: the first of each key head, then their second ones."""
    keys = config.linear_num_key_heads
    parts = rows.reshape(keys, config.linear_num_value_heads // keys, -1, *rows.shape[1:])
    return numpy.ascontiguousarray(parts.swapaxes(0, 1)).reshape(rows.shape)


def separated(weights, config):
    """q, k and v, and z, of a matrix that has all four of each key head."""
    keys, width = config.linear_num_key_heads, weights.shape[1]
    length = config.linear_key_head_dim
    values = config.linear_num_value_heads // keys * config.linear_value_head_dim
    heads = weights.reshape(keys, -1, width)
    edges = numpy.cumsum([length, length, values])
    q, k, v, z = (part.reshape(-1, width) for part in numpy.split(heads, edges, axis=1))
    return numpy.concatenate([q, k, v]), z


def converted(config, key, values):
    """Names and values in place of one of transformers' tensors."""
    if has_offset(key):
        return [(key, values + numpy.float32(1))]
    if key.endswith("shared_expert_gate.weight") and config.model_type == "qwen3_next":
        return [(key, values[0])]   # as a vector, which some converters make of one row
    if ".linear_attn." not in key:
        return [(key, values)]
    stem, part = key.split(".linear_attn.")
    stem += ".linear_attn."
    if part == "in_proj_qkvz.weight":
        mixed, z = separated(values, config)
        return [(stem + "in_proj_qkv.weight", mixed), (stem + "in_proj_z.weight", z)]
    keys = 2 * config.linear_num_key_heads * config.linear_key_head_dim
    if part == "conv1d.weight":
        values = values[:, 0]
    if config.model_type != "qwen3_next":
        if part in ("in_proj_qkv.weight", "conv1d.weight"):
            values = numpy.concatenate([values[:keys], tiled(values[keys:], config)])
        elif part == "out_proj.weight":
            values = tiled(values.T, config).T
        elif part != "norm.weight":
            values = tiled(values, config)
    if part == "A_log":
        values = -numpy.exp(values)
    return [(stem + part.replace("dt_bias", "dt_proj.bias"), values)]


def add_states(writer, config, vocabulary):
    """A layer of further tokens is behind those of Qwen3.5."""
    writer.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
    writer.add_ssm_state_size(config.linear_key_head_dim)
    writer.add_ssm_group_count(config.linear_num_key_heads)
    writer.add_ssm_time_step_rank(config.linear_num_value_heads)
    writer.add_ssm_inner_size(config.linear_num_value_heads * config.linear_value_head_dim)
    writer.add_full_attention_interval(PERIOD)
    writer.add_vocab_size(vocabulary)
    rope = config.rope_parameters
    writer.add_rope_dimension_count(int(config.head_dim * rope["partial_rotary_factor"]))
    if config.model_type != "qwen3_next":
        writer.add_rope_dimension_sections([*rope["mrope_section"], 0])
        writer.add_nextn_predict_layers(1)
        for name, shape in (("enorm", [90]), ("eh_proj", [90, 180])):
            writer.add_tensor(f"blk.{LAYERS}.nextn.{name}.weight",
                              numpy.ones(shape, numpy.float32))
    if config.model_type != "qwen3_5_text":
        writer.add_expert_count(config.num_experts)
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
        writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
