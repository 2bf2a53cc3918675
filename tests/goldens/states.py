# SPDX-License-Identifier: MIT
"""Models with a recurrent state (Qwen3-Next, Qwen3.5) of make_goldens.py, as transformers has
them. It computes the state in chunks of 64 tokens, and here one token after the other."""
import latents
import numpy

ARCHITECTURES = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")
PERIOD = 3   # the last of so many layers has attention
SIZES = {"layers": PERIOD + 1, "key_heads": 2, "value_heads": 6, "key": 12, "value_length": 20,
         "taps": 4, "shared": 51}
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
]


def has_state(architecture, layer):
    return architecture in ARCHITECTURES and layer % PERIOD != PERIOD - 1


def make_delta(architecture, name, make, size):
    width, heads = size["embedding"], size["value_heads"]
    values = heads * size["value_length"]
    channels = 2 * size["key_heads"] * size["key"] + values
    if architecture == "qwen3_next":
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


def make_mlp(architecture, name, make, size):
    width, height = size["embedding"], size["ff"]
    if architecture == "qwen3_5_text":
        return {name + "gate_proj.weight": make.matrix(height, width),
                name + "up_proj.weight": make.matrix(height, width),
                name + "down_proj.weight": make.matrix(width, height)}
    state = {name + "gate.weight": make.matrix(size["experts"], width),
             name + "shared_expert_gate.weight": make.matrix(1, width)}
    for part in ("gate", "up"):
        state[name + f"shared_expert.{part}_proj.weight"] = make.matrix(size["shared"], width)
    state[name + "shared_expert.down_proj.weight"] = make.matrix(width, size["shared"])
    gate, up, down = latents.make_parts("safetensors", make, size["experts"], width, height)
    return state | {name + "experts.gate_up_proj": numpy.concatenate([gate, up], axis=1),
                    name + "experts.down_proj": down}


def fields_of(architecture, tied, size):
    """Members of its configuration."""
    fields = {
        "linear_num_key_heads": size["key_heads"], "linear_num_value_heads": size["value_heads"],
        "linear_key_head_dim": size["key"], "linear_value_head_dim": size["value_length"],
        "linear_conv_kernel_dim": size["taps"],
        "layer_types": ["linear_attention" if has_state(architecture, layer) else "full_attention"
                        for layer in range(size["layers"])]}
    if architecture == "qwen3_5_text":
        return fields
    if architecture == "qwen3_next":
        fields["norm_topk_prob"] = not tied
    return fields | {
        "num_experts": size["experts"], "num_experts_per_tok": size["used"],
        "moe_intermediate_size": size["ff"], "shared_expert_intermediate_size": size["shared"]}
