# SPDX-License-Identifier: MIT
"""Models with a recurrent state (Qwen3-Next, Qwen3.5) of make_goldens.py, as transformers has
them. It computes the state in chunks of 64 tokens, and here one token after the other."""
import math

import latents
import numpy

# of a GGUF: what transformers has
NAMES = {"qwen3next": "qwen3_next", "qwen35": "qwen3_5_text", "qwen35moe": "qwen3_5_moe_text"}
ARCHITECTURES = (*NAMES, *NAMES.values())
PERIOD = 3   # the last of so many layers has attention
SIZES = {"layers": PERIOD + 1, "key_heads": 2, "value_heads": 6, "key": 12, "value_length": 20,
         "taps": 4, "shared": 51}
WIDTHS = {1: {}, 32: {"value_length": 16, "shared": 64}}   # by the elements of a block
WIDE = {"value_length": 128, "shared": 256}   # for longer blocks
# as CASES of make_goldens.py
CASES = [
    ("safetensors", "qwen3_next", "none", 0, False, "F32", 12),
    ("safetensors", "qwen3_next", "none", 0, True, "BF16", 1),
    ("safetensors", "qwen3_next", "yarn", 0, False, "F16", 200),
    ("safetensors", "qwen3_5_text", "none", 0, False, "F32", 12),
    ("safetensors", "qwen3_5_text", "none", 0, True, "BF16", 3),
    ("safetensors", "qwen3_5_text", "linear", 0, True, "F32", 130),
    ("safetensors", "qwen3_5_moe_text", "none", 0, False, "F32", 12),
    ("safetensors", "qwen3_5_moe_text", "none", 0, True, "F16", 70),
    ("gguf", "qwen3next", "none", 0, False, "F32", 12),
    ("gguf", "qwen3next", "yarn", 0, True, "F32", 1),
    ("gguf", "qwen3next", "none", 0, False, "Q4_K", 200),
    ("gguf", "qwen35", "none", 0, True, "F32", 3),
    ("gguf", "qwen35", "linear", 0, False, "BF16", 130),
    ("gguf", "qwen35", "none", 0, False, "Q8_0", 12),
    ("gguf", "qwen35moe", "none", 0, False, "F32", 12),
    ("gguf", "qwen35moe", "none", 0, True, "Q6_K", 70),
    ("gguf", "qwen35moe", "yarn", 0, False, "F16", 200),
]


def sizes_of(block):
    return SIZES | WIDTHS.get(block, WIDE)


def has_state(architecture, layer):
    return architecture in ARCHITECTURES and layer % PERIOD != PERIOD - 1


def is_grouped(architecture):
    return NAMES.get(architecture, architecture) == "qwen3_next"


def is_dense(architecture):
    return NAMES.get(architecture, architecture) == "qwen3_5_text"


def make_delta(form, architecture, name, make, size):
    if form == "gguf":
        return converted_back(architecture, name, make, size)
    width, heads = size["embedding"], size["value_heads"]
    values = heads * size["value_length"]
    channels = 2 * size["key_heads"] * size["key"] + values
    if is_grouped(architecture):
        rows = {"in_proj_qkvz": channels + values, "in_proj_ba": 2 * heads}
    else:
        rows = {"in_proj_qkv": channels, "in_proj_z": values, "in_proj_b": heads,
                "in_proj_a": heads}
    state = {f"{name}{part}.weight": make.matrix(height, width) for part, height in rows.items()}
    taps = make.matrix(channels, size["taps"]).reshape(channels, 1, size["taps"])
    return state | {name + "conv1d.weight": taps, name + "A_log": make.vector(heads, -1, False),
                    name + "dt_bias": make.vector(heads, -2, False),
                    name + "norm.weight": make.vector(size["value_length"]),
                    name + "out_proj.weight": make.matrix(width, values)}


def flat_matrix(make, rows, columns):
    """One that a GGUF has in F32 whatever the type of the others is."""
    magnitude = math.floor(-math.log2(columns) / 2 - 0.6 + 0.5)
    return make.vector(rows * columns, magnitude, False).reshape(rows, columns)


def grouped_rows(rows, size):
    """Of value heads as Hugging Face has them, from those of a GGUF that has the first one of each
    key head, then the second ones."""
    heads, key_heads = size["value_heads"], size["key_heads"]
    parts = rows.reshape(heads // key_heads, key_heads, -1, *rows.shape[1:])
    return parts.swapaxes(0, 1).reshape(rows.shape)


def converted_back(architecture, name, make, size):
    """The tensors of a GGUF, before llama.cpp's conversion/qwen.py changed them."""
    width, heads, key_heads = size["embedding"], size["value_heads"], size["key_heads"]
    keys, values = key_heads * size["key"], heads * size["value_length"]
    grouped = is_grouped(architecture)
    mixed = make.matrix(2 * keys + values, width)
    z = make.matrix(values, width)
    scores = [make.matrix(2 * heads, width)] if grouped else [make.matrix(heads, width)
                                                              for _ in range(2)]
    taps = flat_matrix(make, 2 * keys + values, size["taps"])
    rates = make.vector(heads, -1)   # times -1 in the file
    bias = make.vector(heads, -2, False)
    state = {name + "norm.weight": make.vector(size["value_length"])}
    output = make.matrix(width, values)
    if grouped:
        parts = [part.reshape(key_heads, -1, width)
                 for part in (mixed[:keys], mixed[keys:2 * keys], mixed[2 * keys:], z)]
        state |= {name + "in_proj_qkvz.weight": numpy.concatenate(parts, 1).reshape(-1, width),
                  name + "in_proj_ba.weight": scores[0]}
    else:
        def behind_keys(rows):
            return numpy.concatenate([rows[:2 * keys], grouped_rows(rows[2 * keys:], size)])

        state |= {name + "in_proj_qkv.weight": behind_keys(mixed),
                  name + "in_proj_z.weight": grouped_rows(z, size),
                  name + "in_proj_b.weight": grouped_rows(scores[0], size),
                  name + "in_proj_a.weight": grouped_rows(scores[1], size)}
        taps, output = behind_keys(taps), grouped_rows(output.T, size).T
        rates, bias = grouped_rows(rates, size), grouped_rows(bias, size)
    return state | {name + "conv1d.weight": taps[:, None], name + "A_log": numpy.log(rates),
                    name + "dt_bias": bias, name + "out_proj.weight": output}


def make_mlp(form, architecture, name, make, size):
    width, height = size["embedding"], size["ff"]
    if is_dense(architecture):
        return {name + "gate_proj.weight": make.matrix(height, width),
                name + "up_proj.weight": make.matrix(height, width),
                name + "down_proj.weight": make.matrix(width, height)}
    state = {name + "gate.weight": make.matrix(size["experts"], width)}
    state[name + "shared_expert_gate.weight"] = (flat_matrix(make, 1, width) if form == "gguf"
                                                 else make.matrix(1, width))
    for part in ("gate", "up"):
        state[name + f"shared_expert.{part}_proj.weight"] = make.matrix(size["shared"], width)
    state[name + "shared_expert.down_proj.weight"] = make.matrix(width, size["shared"])
    if form == "safetensors" and not is_grouped(architecture):
        count = size["experts"]
        return state | {
            name + "experts.gate_up_proj":
                make.matrix(2 * count * height, width).reshape(count, 2 * height, width),
            name + "experts.down_proj":
                make.matrix(count * width, height).reshape(count, width, height)}
    gate, up, down = latents.make_parts(form, make, size["experts"], width, height)
    return state | {name + "experts.gate_up_proj": numpy.concatenate([gate, up], axis=1),
                    name + "experts.down_proj": down}


def fields_of(form, architecture, tied, size):
    """Members of its configuration."""
    fields = {
        "linear_num_key_heads": size["key_heads"], "linear_num_value_heads": size["value_heads"],
        "linear_key_head_dim": size["key"], "linear_value_head_dim": size["value_length"],
        "linear_conv_kernel_dim": size["taps"],
        "layer_types": ["linear_attention" if has_state(architecture, layer) else "full_attention"
                        for layer in range(size["layers"])]}
    if is_dense(architecture):
        return fields
    if is_grouped(architecture):
        fields["norm_topk_prob"] = form == "gguf" or not tied
    return fields | {
        "num_experts": size["experts"], "num_experts_per_tok": size["used"],
        "moe_intermediate_size": size["ff"], "shared_expert_intermediate_size": size["shared"]}
