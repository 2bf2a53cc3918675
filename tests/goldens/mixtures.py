# SPDX-License-Identifier: MIT
"""Routers and experts of make_goldens.py, as transformers has them in memory."""
import latents
import numpy

EXPERT = {1: 51, 32: 64}   # rows of an expert of glm4moe by the elements of a block
# as CASES of make_goldens.py
CASES = [
    ("gguf", "glm4moe", "none", 0, False, "F32", 12),
    ("gguf", "glm4moe", "yarn", 0, True, "BF16", 12),   # without norms of heads
    ("gguf", "glm4moe", "none", 0, False, "F32", 1),
    ("gguf", "glm4moe", "none", 0, False, "Q8_0", 200),
    ("safetensors", "glm4moe", "none", 0, False, "F32", 12),
    ("safetensors", "glm4moe", "yarn", 0, True, "BF16", 40),
    ("safetensors", "glm4moe", "none", 0, False, "F8_E4M3", 12),
]


def sizes_of_glm(block):
    return latents.ROUTES | {"expert": EXPERT.get(block, 256)}


def fields_of_glm(form, tied, size):
    """Members of its configuration; converters write no groups."""
    return {"attention_bias": True, "use_qk_norm": not tied, "norm_topk_prob": True,
            "first_k_dense_replace": size["dense"], "n_routed_experts": size["experts"],
            "n_shared_experts": size["shared"], "num_experts_per_tok": size["used"],
            "moe_intermediate_size": size["expert"],
            "routed_scaling_factor": latents.SHARE_SCALE,
            "n_group": 1 if form == "gguf" else size["groups"],
            "topk_group": 1 if form == "gguf" else size["open"]}


def make_biased_experts(form, name, make, size):
    """Of gpt-oss, as transformers has them in memory: columns first, gate and up in turn."""
    count, width, height = size["experts"], size["embedding"], size["ff"]
    if form == "gguf":
        gate, up, down = ((make.matrix(count * rows, columns).reshape(count, rows, columns),
                           make.vector(count * rows, -2, False).reshape(count, rows))
                          for rows, columns in ((height, width), (height, width), (width, height)))
        both = [numpy.stack(pair, axis=2).reshape(count, 2 * height, *pair[0].shape[2:])
                for pair in zip(gate, up)]
    else:
        both, down = ((make.packed(count, rows, columns),
                       make.vector(count * rows, -2, False).reshape(count, rows))
                      for rows, columns in ((2 * height, width), (width, height)))
    return {name + "gate_up_proj": both[0].swapaxes(1, 2), name + "gate_up_proj_bias": both[1],
            name + "down_proj": down[0].swapaxes(1, 2), name + "down_proj_bias": down[1]}


def make_experts(form, architecture, name, make, size):
    """Router and experts, as transformers has them in memory."""
    count, width, height = size["experts"], size["embedding"], size["ff"]
    router = make.matrix(count, width, plain=True)
    if architecture == "gpt-oss":
        return {name + "router.weight": router, name + "router.bias": make.vector(count, -2, False),
                **make_biased_experts(form, name + "experts.", make, size)}
    gate, up, down = latents.make_parts(form, make, count, width, height)
    return {name + "gate.weight": router,
            name + "experts.gate_up_proj": numpy.concatenate([gate, up], axis=1),
            name + "experts.down_proj": down}
