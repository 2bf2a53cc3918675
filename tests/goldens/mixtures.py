# SPDX-License-Identifier: MIT
"""Routers and experts of make_goldens.py, as transformers has them in memory."""
import latents
import numpy


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
