# SPDX-License-Identifier: MIT
"""Models with latents (DeepSeek V2 and V3) of make_goldens.py, as transformers has them."""
import numpy
import quantised

# Of models with latents; 0: queries have none.
LATENTS = {1: {"head": 28, "turned": 8, "value": 20, "latent": 36, "query": 44, "expert": 51},
           32: {"head": 40, "turned": 8, "value": 32, "latent": 32, "query": 64, "expert": 64}}
WIDE_LATENTS = {"head": 80, "turned": 16, "value": 128, "latent": 256, "query": 256, "expert": 256}
ROUTES = {"experts": 12, "used": 3, "shared": 2, "groups": 4, "open": 2, "dense": 1}
ARCHITECTURES = ("deepseek2", "deepseek_v2")
ROPE_SCALE, ALL_SCALE, SHARE_SCALE = 0.75, 0.5, 1.5
# as CASES of make_goldens.py
CASES = [
    ("gguf", "deepseek2", "none", 0, False, "F32", 12),
    ("gguf", "deepseek2", "yarn", 0, False, "F32", 40),
    ("gguf", "deepseek2", "yarn", 0, True, "BF16", 12),   # as V2-Lite
    ("gguf", "deepseek2", "none", 0, False, "F32", 1),
    ("gguf", "deepseek2", "none", 0, False, "Q8_0", 200),
    ("gguf", "deepseek2", "yarn", 0, False, "Q4_K", 12),
    ("safetensors", "deepseek2", "yarn", 0, False, "F32", 12),
    ("safetensors", "deepseek2", "none", 0, True, "BF16", 40),
    ("safetensors", "deepseek2", "yarn", 0, False, "F8_E4M3", 12),
    ("safetensors", "deepseek_v2", "yarn", 0, False, "F32", 12),
    ("safetensors", "deepseek_v2", "none", 0, True, "F16", 12),
]


def scales_of(form):
    """A GGUF does not have the first; llama.cpp takes the second for both."""
    return {"mscale": ALL_SCALE if form == "gguf" else ROPE_SCALE, "mscale_all_dim": ALL_SCALE}


def sizes_of(block):
    """By the elements of a block."""
    return ROUTES | LATENTS.get(block, WIDE_LATENTS)


def make_parts(form, make, count, width, height):
    """Gates, up and down of all experts."""
    if form == "gguf":
        gate, up = (make.matrix(count * height, width).reshape(count, height, width)
                    for _ in range(2))
        return gate, up, make.matrix(count * width, height).reshape(count, width, height)
    parts = [(make.matrix(height, width), make.matrix(height, width),
              make.matrix(width, height)) for _ in range(count)]
    return [numpy.stack(part) for part in zip(*parts)]


def has_sigmoids(form, architecture, tied):
    return architecture == "glm4moe" or architecture == "deepseek2" and not (form == "gguf"
                                                                             and tied)


def make_latents(form, tied, name, make, size, kind):
    """Queries, and the latent of keys and values."""
    heads, plain, width = size["heads"], size["head"] - size["turned"], size["embedding"]
    queries, value, latent = heads * size["head"], size["value"], size["latent"]
    if tied:
        state = {name + "q_proj.weight": make.matrix(queries, width)}
    else:
        state = {name + "q_a_proj.weight": make.matrix(size["query"], width),
                 name + "q_a_layernorm.weight": make.vector(size["query"]),
                 name + "q_b_proj.weight": make.matrix(queries, size["query"])}
    state[name + "kv_a_proj_with_mqa.weight"] = make.matrix(latent + size["turned"], width)
    state[name + "kv_a_layernorm.weight"] = make.vector(latent)
    if form == "gguf" and not tied and plain % quantised.block_elements(kind) == 0:
        # The converter splits the matrix by heads, and transposes what makes keys.
        keys = make.matrix(heads * latent, plain).reshape(heads, latent, plain).swapaxes(1, 2)
        values = make.matrix(heads * value, latent).reshape(heads, value, latent)
        both = numpy.concatenate([keys, values], axis=1).reshape(-1, latent)
    else:
        both = make.matrix(heads * (plain + value), latent)
    return state | {name + "kv_b_proj.weight": both}


def make_routes(form, architecture, tied, name, make, size):
    """Router, shared experts and the others."""
    count, width, height = size["experts"], size["embedding"], size["expert"]
    state = {name + "gate.weight": make.matrix(count, width, plain=True)}
    if has_sigmoids(form, architecture, tied):
        state[name + "gate.e_score_correction_bias"] = make.vector(count, -2, False)
    shared = size["shared"] * height
    for part in ("gate", "up"):
        state[name + f"shared_experts.{part}_proj.weight"] = make.matrix(shared, width)
    state[name + "shared_experts.down_proj.weight"] = make.matrix(width, shared)
    gate, up, down = make_parts(form, make, count, width, height)
    return state | {name + "experts.gate_up_proj": numpy.concatenate([gate, up], axis=1),
                    name + "experts.down_proj": down}


def fields_of(form, architecture, tied, size):
    """model_type, and members of its configuration."""
    is_v3 = has_sigmoids(form, architecture, tied)
    is_grouped = is_v3 or not tied
    fields = {
        "num_key_value_heads": size["heads"], "qk_rope_head_dim": size["turned"],
        "qk_nope_head_dim": size["head"] - size["turned"], "v_head_dim": size["value"],
        "kv_lora_rank": size["latent"], "q_lora_rank": None if tied else size["query"],
        "first_k_dense_replace": size["dense"], "n_routed_experts": size["experts"],
        "n_shared_experts": size["shared"], "num_experts_per_tok": size["used"],
        "moe_intermediate_size": size["expert"], "routed_scaling_factor": SHARE_SCALE,
        "n_group": size["groups"] if is_grouped else 1,
        "topk_group": size["open"] if is_grouped else 1, "norm_topk_prob": is_v3}
    if not is_v3:
        fields["topk_method"] = "greedy" if tied else "group_limited_greedy"
    return "deepseek_v3" if is_v3 else "deepseek_v2", fields
