#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""numpy reads what `prove --write-logits --observe` writes; the numbers are those of a numpy model.

Usage: npy_files.py HIPTOOL. The rows of the first layer's outputs and of the logits are computed
again from the weights of a small llama model in float64.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from kernel_images import finish, skip

try:
    import numpy
except ImportError:
    skip("no numpy")

IDS = [5, 300, 41, 7, 7, 99]
HEADS, KV_HEADS, LENGTH, EPSILON, BASE = 6, 2, 24, 1e-3, 10000.0   # of config.json


def read_weights(path):
    """The F32 tensors of a safetensors file by name."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, info in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in info["data_offsets"])
        values = numpy.frombuffer(data[begin:end], "<f4").astype(numpy.float64)
        tensors[name] = values.reshape(info["shape"])
    return tensors


def norm(x, weight):
    return x / numpy.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * weight


def rotated(x):
    angles = numpy.outer(numpy.arange(len(x)), BASE ** (-numpy.arange(0, LENGTH, 2) / LENGTH))
    cosine, sine = numpy.cos(angles)[:, None], numpy.sin(angles)[:, None]
    first, second = x[..., :LENGTH // 2], x[..., LENGTH // 2:]
    return numpy.concatenate([first * cosine - second * sine, second * cosine + first * sine], -1)


def layer(x, weights, number):
    def at(name):
        return weights[f"model.layers.{number}.{name}.weight"]

    normed = norm(x, at("input_layernorm"))
    q = rotated((normed @ at("self_attn.q_proj").T).reshape(len(x), HEADS, LENGTH))
    k = rotated((normed @ at("self_attn.k_proj").T).reshape(len(x), KV_HEADS, LENGTH))
    v = (normed @ at("self_attn.v_proj").T).reshape(len(x), KV_HEADS, LENGTH)
    heads = []
    for head in range(HEADS):
        kv_head = head // (HEADS // KV_HEADS)
        scores = q[:, head] @ k[:, kv_head].T / LENGTH ** 0.5
        scores[numpy.triu_indices(len(x), 1)] = -numpy.inf
        parts = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        heads.append(parts / parts.sum(axis=1, keepdims=True) @ v[:, kv_head])
    x = x + numpy.concatenate(heads, 1) @ at("self_attn.o_proj").T
    normed = norm(x, at("post_attention_layernorm"))
    gate = normed @ at("mlp.gate_proj").T
    gated = gate / (1 + numpy.exp(-gate)) * (normed @ at("mlp.up_proj").T)
    return x + gated @ at("mlp.down_proj").T


def difference(found, expected, name):
    if found.dtype != numpy.float32 or found.shape != expected.shape:
        return [f"{name}: {found.dtype} {found.shape}, expected float32 {expected.shape}"]
    error = abs(found - expected).max() / expected.std()
    return [f"{name}: off by {error} standard deviations"] if not error < 1e-5 else []


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        model, logits = folder / "model.safetensors", folder / "logits.npy"
        for words in (["make-model", model, "--architecture", "llama", "--dtype", "F32"],
                      ["prove", model, "--device", "cpu", "--write-logits", logits, "--observe",
                       "0,2", "--prompt-ids", ",".join(map(str, IDS))]):
            subprocess.run([sys.argv[1], *words], check=True, stdout=subprocess.DEVNULL)
        config = json.loads((folder / "config.json").read_text())
        known = (config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"],
                 config["rms_norm_eps"], config["rope_parameters"]["rope_theta"])
        assert known == (HEADS, KV_HEADS, LENGTH, EPSILON, BASE), known
        weights = read_weights(model)
        x = weights["model.embed_tokens.weight"][IDS]
        wrong = []
        for number in range(3):
            x = layer(x, weights, number)
            if number != 1:
                found = numpy.load(folder / f"logits.layer{number}.npy")
                wrong += difference(found, x, f"layer {number}")
        expected = norm(x, weights["model.norm.weight"]) @ weights["lm_head.weight"].T
        wrong += difference(numpy.load(logits), expected, "logits")
    finish(3, wrong)


if __name__ == "__main__":
    main()
