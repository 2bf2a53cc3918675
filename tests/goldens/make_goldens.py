#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Logits of Hugging Face transformers in float64 for the models of make-model --architecture.

Usage: make_goldens.py > tests/goldens/goldens.inc, or make_goldens.py --check FILE. It needs the
packages gguf, torch and transformers. The models are remade here from their formula, so that the
file also fixes what make-model writes. transformers computes norms and rotary angles in float32,
which is what limits the logits to about 1e-6 of their standard deviation.
"""
import importlib.metadata
import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "interop"))
from kernel_images import finish, skip  # noqa: E402 (it lies in the folder named above)

try:
    import numpy
    import torch
    import transformers
except ImportError as error:
    skip(f"{error.name} is not installed")
if int(transformers.__version__.split(".")[0]) < 5:
    skip(f"transformers {transformers.__version__} has no rope_parameters; this needs 5 or later")
import quantised  # noqa: E402 (it skips without gguf)

SEED = 1
SIZES = {"embedding": 96, "heads": 6, "kv_heads": 2, "head": 24, "ff": 163, "vocabulary": 331,
         "layers": 3, "context": 64, "original": 32, "factor": 4.0}
BETA_FAST, BETA_SLOW, EPSILON = 4.0, 0.25, 1e-3
WIDTHS = {1: {}, 32: {"head": 32, "ff": 160}}   # by the elements of a block
WIDE = {"embedding": 256, "head": 128, "ff": 768}   # for longer blocks
STEP = 5   # every fifth logit is kept
BOUND = 1e-5   # standard deviations that another version's logits may differ by
# format, architecture, scaling of the rotary embedding, window, tied, type of matrices, tokens
CASES = [
    ("gguf", "llama", "none", 0, False, "F32", 12),
    ("gguf", "llama", "none", 0, True, "BF16", 12),
    ("gguf", "llama", "linear", 0, False, "F16", 12),
    ("gguf", "llama", "yarn", 0, True, "F32", 12),
    ("gguf", "llama", "llama3", 0, False, "F32", 12),
    ("gguf", "llama", "longrope", 0, False, "F32", 12),
    ("gguf", "llama", "longrope", 0, False, "F32", 40),
    ("gguf", "llama", "none", 5, False, "F32", 12),
    ("gguf", "qwen2", "none", 0, True, "F32", 12),
    ("gguf", "qwen2", "yarn", 0, False, "F32", 12),
    ("gguf", "qwen3", "none", 0, False, "F64", 12),
    ("gguf", "qwen3", "linear", 0, True, "F32", 12),
    ("safetensors", "llama", "none", 0, False, "F32", 12),
    ("safetensors", "llama", "linear", 0, True, "BF16", 12),
    ("safetensors", "llama", "yarn", 0, False, "F16", 12),
    ("safetensors", "llama", "llama3", 0, True, "F32", 12),
    ("safetensors", "llama", "longrope", 0, False, "F32", 12),
    ("safetensors", "llama", "longrope", 0, False, "F32", 40),
    ("safetensors", "mistral", "none", 0, False, "F8_E4M3", 12),
    ("safetensors", "mistral", "none", 5, False, "F32", 12),
    ("safetensors", "qwen2", "none", 0, True, "F32", 12),
    ("safetensors", "qwen2", "none", 5, False, "F32", 12),
    ("safetensors", "qwen3", "none", 0, False, "F32", 12),
    ("safetensors", "qwen3", "yarn", 5, True, "F64", 12),
]
# Each quantised type, in the architectures in turn.
CASES += [("gguf", ("llama", "qwen2", "qwen3")[at % 3], "none", 0, at % 2 == 1, kind, 5)
          for at, kind in enumerate(quantised.TYPES)]
# name: numpy type of the words, bits of exponent and mantissa, bias
FLOATS = {"F64": (8, 11, 52, 1023), "F32": (4, 8, 23, 127), "F16": (2, 5, 10, 15),
          "BF16": (2, 8, 7, 127), "F8_E4M3": (1, 4, 3, 7)}
GAMMA, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def mix(value):
    """SplitMix64's output function on an array of words."""
    value = (value ^ (value >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return value ^ (value >> numpy.uint64(31))


def tensor_seed(number):
    first = int(mix(numpy.array([(SEED + GAMMA) & MASK], numpy.uint64))[0])
    return int(mix(numpy.array([(first + (number + 1) * GAMMA) & MASK], numpy.uint64))[0])


def random_bytes(number, count):
    words = numpy.arange(1, (count + 7) // 8 + 1, dtype=numpy.uint64)
    words = mix(numpy.uint64(tensor_seed(number)) + words * numpy.uint64(GAMMA))
    return words.view(numpy.uint8)[:count]


def tensor_values(number, count, kind, magnitude, positive=False):
    """+-2^magnitude x [1, 2): random bits with a fixed exponent; or blocks of a quantised type."""
    if kind in quantised.TYPES:
        return quantised.values_of(kind, lambda size: random_bytes(number, size), count, magnitude)
    width, exponent_bits, mantissa_bits, bias = FLOATS[kind]
    bits = random_bytes(number, count * width).view(f"<u{width}").astype(numpy.uint64)
    mantissa = bits & numpy.uint64((1 << mantissa_bits) - 1)
    sign = numpy.where((bits >> numpy.uint64(width * 8 - 1)) & numpy.uint64(1), -1.0, 1.0)
    exponent = max(magnitude + bias, 1) - bias
    values = numpy.ldexp(1 + mantissa.astype(numpy.float64) / (1 << mantissa_bits), exponent)
    return values if positive else values * sign


class Tensors:
    """Makes the tensors in the order of the file."""

    def __init__(self, kind):
        self.kind, self.count = kind, 0

    def matrix(self, rows, columns, magnitude=None):
        if magnitude is None:
            magnitude = math.floor(-math.log2(columns) / 2 - 0.6 + 0.5)
        values = tensor_values(self.count, rows * columns, self.kind, magnitude)
        self.count += 1
        return values.reshape(rows, columns)

    def vector(self, count, magnitude=0, positive=True):
        values = tensor_values(self.count, count, "F32", magnitude, positive)
        self.count += 1
        return values


def natural_order(rows, heads):
    """Rows of q or k as Hugging Face has them, from those of a GGUF of llama."""
    shape = rows.shape
    return rows.reshape(heads, shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(shape)


def sizes_of(kind):
    return SIZES | WIDTHS.get(quantised.block_elements(kind), WIDE)


def make_weights(form, architecture, tied, kind, scaling):
    size, make, state = sizes_of(kind), Tensors(kind), {}
    queries, keys = size["heads"] * size["head"], size["kv_heads"] * size["head"]
    state["model.embed_tokens.weight"] = make.matrix(size["vocabulary"], size["embedding"], -1)
    for layer in range(size["layers"]):
        name = f"model.layers.{layer}."
        state[name + "input_layernorm.weight"] = make.vector(size["embedding"])
        rows = {"q": queries, "k": keys, "v": keys}
        for part, height in rows.items():
            weight = make.matrix(height, size["embedding"])
            if form == "gguf" and architecture == "llama" and part != "v":
                weight = natural_order(weight, height // size["head"])
            state[name + f"self_attn.{part}_proj.weight"] = weight
        if architecture == "qwen2":
            for part, height in rows.items():
                state[name + f"self_attn.{part}_proj.bias"] = make.vector(height, -2, False)
        if architecture == "qwen3":
            state[name + "self_attn.q_norm.weight"] = make.vector(size["head"])
            state[name + "self_attn.k_norm.weight"] = make.vector(size["head"])
        state[name + "self_attn.o_proj.weight"] = make.matrix(size["embedding"], queries)
        state[name + "post_attention_layernorm.weight"] = make.vector(size["embedding"])
        state[name + "mlp.gate_proj.weight"] = make.matrix(size["ff"], size["embedding"])
        state[name + "mlp.up_proj.weight"] = make.matrix(size["ff"], size["embedding"])
        state[name + "mlp.down_proj.weight"] = make.matrix(size["embedding"], size["ff"])
    state["model.norm.weight"] = make.vector(size["embedding"])
    output = state["model.embed_tokens.weight"]
    state["lm_head.weight"] = output if tied else make.matrix(*output.shape)
    divisors = []
    if form == "gguf" and scaling in ("llama3", "longrope"):
        divisors = [make.vector(size["head"] // 2) for _ in range(1 if scaling == "llama3" else 2)]
    return state, divisors


def rope_parameters(form, architecture, scaling):
    plain = {"rope_theta": 10000.0 if architecture == "llama" else 1e6, "rope_type": "default"}
    if scaling == "none" or (form == "gguf" and scaling in ("llama3", "longrope")):
        return plain
    found = plain | {"rope_type": scaling, "factor": SIZES["factor"]}
    if scaling != "linear":
        found["original_max_position_embeddings"] = SIZES["original"]
    if scaling == "yarn":
        found |= {"beta_fast": BETA_FAST, "beta_slow": BETA_SLOW}
    if scaling == "llama3":
        found |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    if scaling == "longrope":
        found |= {f"{name}_factor": [1 + step * (pair % 5) for pair in range(SIZES["head"] // 2)]
                  for name, step in (("short", 0.125), ("long", 0.75))}
    return found


def make_config(form, architecture, scaling, window, tied, size):
    name = "mistral" if form == "gguf" and architecture == "llama" and window else architecture
    # LlamaConfig takes only whole multiples of the heads, though the model computes with any width.
    fields = {
        "hidden_size": size["heads"] * size["head"], "intermediate_size": size["ff"],
        "num_hidden_layers": size["layers"], "num_attention_heads": size["heads"],
        "num_key_value_heads": size["kv_heads"], "head_dim": size["head"],
        "vocab_size": size["vocabulary"], "max_position_embeddings": size["context"],
        "rms_norm_eps": EPSILON, "tie_word_embeddings": tied,
        "rope_parameters": rope_parameters(form, architecture, scaling)}
    if name == "mistral":
        fields["sliding_window"] = window or None
    if name in ("qwen2", "qwen3"):
        fields |= {"use_sliding_window": window > 0, "sliding_window": window or None,
                   "max_window_layers": 1}
    config = transformers.AutoConfig.for_model(name, **fields)
    config.hidden_size = size["embedding"]
    return config


def logits_of(case):
    form, architecture, scaling, window, tied, kind, tokens = case
    state, divisors = make_weights(form, architecture, tied, kind, scaling)
    config = make_config(form, architecture, scaling, window, tied, sizes_of(kind))
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
    model = model.double().eval()
    state = {name: torch.from_numpy(numpy.ascontiguousarray(values))
             for name, values in state.items()}
    missing = model.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys and not missing.missing_keys, missing
    rotary = model.model.rotary_emb
    if divisors:
        chosen = divisors[1 if len(divisors) == 2 and tokens > SIZES["original"] else 0]
        rotary.inv_freq = rotary.inv_freq / torch.from_numpy(chosen)
        if scaling == "longrope":
            ratio = math.log(SIZES["factor"]) / math.log(SIZES["original"])
            rotary.attention_scaling = math.sqrt(1 + ratio)
    ids = torch.tensor([[(7 * i * i + 3 * i + 1) % SIZES["vocabulary"] for i in range(tokens)]])
    with torch.no_grad():
        return model(ids, use_cache=False).logits[0, -1].numpy()


def golden_of(case):
    form, architecture, scaling, window, tied, kind, tokens = case
    logits = logits_of(case)
    print(case, f"{logits.std():.3f}", file=sys.stderr)
    kept = [f"{value:.7f}" for value in logits[::STEP]]
    lines = [", ".join(kept[at:at + 8]) for at in range(0, len(kept), 8)]
    return (f'{{ModelFormat::{form}, "{architecture}", RopeScaling::{scaling}, {window}, '
            f'{"true" if tied else "false"}, "{kind}", {tokens}, {logits.std():.6f},\n'
            " {" + ",\n  ".join(lines) + "}},\n")


def fields_of(golden):
    """Its model, standard deviation and logits."""
    head, numbers = golden.strip(" \n{},").split("{")
    model, deviation = head.strip(" \n,").rsplit(", ", 1)
    return model, float(deviation), numpy.array([float(text) for text in numbers.split(",")])


def check(path):
    text = pathlib.Path(path).read_text(encoding="ascii")
    committed = {}
    for golden in text.split("\n{")[1:]:
        model, _, logits = fields_of(golden)
        committed[model] = logits
    findings = []
    for case in CASES:
        model, deviation, logits = fields_of(golden_of(case))
        if model not in committed:
            findings.append(f"{model}: not in {path}")
            continue
        difference = abs(logits - committed.pop(model)).max() / deviation
        if not difference <= BOUND:
            findings.append(f"{model}: {difference:.1e} standard deviations from {path}")
    finish(len(CASES), findings + [f"{model}: in {path} only" for model in committed])


def main():
    if sys.argv[1:2] == ["--check"]:
        check(sys.argv[2])
    packages = [f"{name} {importlib.metadata.version(name)}"
                for name in ("transformers", "torch", "numpy", "gguf")]
    print("// SPDX-License-Identifier: MIT")
    print(f"// Made by tests/goldens/make_goldens.py with\n// {', '.join(packages)}.")
    for case in CASES:
        print(golden_of(case), end="")


if __name__ == "__main__":
    main()
