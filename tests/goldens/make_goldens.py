#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Logits of Hugging Face transformers in float64 for the models of make-model --architecture.

Usage: make_goldens.py [ARCHITECTURE] > tests/goldens/goldens.inc, or make_goldens.py --check FILE
[ARCHITECTURE]. It needs the packages gguf, torch and transformers. The models are remade here from
their formula, so that the file also fixes what make-model writes. transformers computes norms,
softmax and rotary angles in float32 whatever the model's type is: these casts are lifted here, and
--check shows that it gives the same without that, within the precision of float32.
"""
import contextlib
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
import latents  # noqa: E402 (it needs numpy)
import mixtures  # noqa: E402 (likewise)
import states  # noqa: E402
import quantised  # noqa: E402 (it skips without gguf)
from values import Tensors  # noqa: E402 (likewise)
from lifted import SINGLE, doubles, keep_scale  # noqa: E402 (it needs torch)

SIZES = {"embedding": 96, "heads": 6, "kv_heads": 2, "head": 24, "ff": 163, "vocabulary": 331,
         "layers": 3, "context": 64, "original": 32, "factor": 4.0, "experts": 7, "used": 3}
BETA_FAST, BETA_SLOW, EPSILON = 4.0, 0.25, 1e-3
WIDTHS = {1: {}, 32: {"head": 32, "ff": 160}}   # by the elements of a block
SCALED = {"embedding": 200, "ff": 263}   # of which some are cut
WIDE = {"embedding": 256, "head": 128, "ff": 768}   # for longer blocks
PERIOD = 3   # the last of so many layers has no window, where an architecture has such periods
STEP = 5   # every fifth logit is kept
BOUND = 2e-6   # standard deviations that another version's logits may differ by
SINGLE_BOUND = 2e-5   # the same with the casts to float32 in place
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
    ("safetensors", "qwen3", "none", 0, True, "F8_E4M3", 12),
    ("gguf", "qwen3moe", "none", 0, False, "F32", 12),
    ("gguf", "qwen3moe", "yarn", 0, True, "Q4_K", 12),
    ("gguf", "qwen3moe", "none", 0, False, "F32", 1),
    ("gguf", "qwen3moe", "none", 0, False, "Q8_0", 200),
    ("safetensors", "qwen3moe", "none", 0, False, "F32", 12),   # weights not normalised
    ("safetensors", "qwen3moe", "none", 5, True, "BF16", 12),
    ("safetensors", "qwen3moe", "none", 0, False, "F8_E4M3", 40),
    ("gguf", "gemma3", "none", 5, True, "F32", 12),
    ("gguf", "gemma3", "linear", 5, True, "Q5_K", 12),
    ("gguf", "gemma3", "none", 5, True, "F32", 1),
    ("gguf", "gemma3", "none", 5, True, "Q8_0", 200),
    ("safetensors", "gemma3", "none", 5, False, "F32", 12),
    ("safetensors", "gemma3", "linear", 5, True, "BF16", 12),
    ("gguf", "gpt-oss", "yarn", 5, False, "F32", 12),
    ("gguf", "gpt-oss", "yarn", 5, False, "MXFP4", 12),
    ("gguf", "gpt-oss", "yarn", 5, False, "F32", 1),
    ("gguf", "gpt-oss", "yarn", 5, False, "MXFP4", 200),
    ("safetensors", "gpt-oss", "yarn", 5, False, "F32", 12),
    ("safetensors", "gpt-oss", "yarn", 5, False, "BF16", 40),
    ("gguf", "phi3", "none", 5, False, "F32", 12),
    ("gguf", "phi3", "longrope", 0, True, "Q4_0", 12),
    ("gguf", "phi3", "longrope", 5, False, "F16", 40),
    ("safetensors", "phi3", "longrope", 5, True, "F32", 12),
    ("safetensors", "phi3", "longrope", 0, False, "F32", 40),
    ("safetensors", "phi3", "none", 0, False, "F8_E4M3", 12),
    ("gguf", "mixtral", "none", 0, False, "F32", 12),
    ("gguf", "mixtral", "none", 0, False, "Q5_0", 200),
    ("safetensors", "mixtral", "none", 5, False, "BF16", 12),
    ("gguf", "smollm3", "none", 0, True, "F32", 12),
    ("gguf", "smollm3", "yarn", 0, False, "Q4_K", 40),
    ("safetensors", "smollm3", "none", 5, True, "F32", 12),
    ("gguf", "granite", "none", 0, True, "F32", 12),
    ("gguf", "granite", "none", 0, False, "Q8_0", 200),
    ("safetensors", "granite", "yarn", 0, False, "F32", 12),
    ("gguf", "mistral3", "yarn", 0, False, "F32", 40),
    ("gguf", "mistral3", "yarn", 0, True, "Q6_K", 12),
    ("safetensors", "mistral3", "yarn", 0, False, "F32", 100),
    ("gguf", "olmo2", "none", 0, False, "F32", 12),
    ("safetensors", "olmo2", "linear", 0, False, "F32", 12),
    ("gguf", "olmo3", "yarn", 5, False, "F32", 12),
    ("gguf", "olmo3", "none", 5, True, "Q4_1", 200),
    ("safetensors", "olmo3", "yarn", 5, False, "F32", 12),
    ("gguf", "gemma2", "none", 5, True, "F32", 12),
    ("gguf", "gemma2", "none", 5, True, "Q8_0", 200),
    ("safetensors", "gemma2", "none", 5, True, "F16", 12),
    ("gguf", "exaone4", "none", 5, False, "F32", 12),
    ("gguf", "exaone4", "llama3", 0, True, "Q5_1", 40),
    ("safetensors", "exaone4", "llama3", 5, False, "F32", 12),
    ("gguf", "cohere2", "none", 5, True, "F32", 12),
    ("gguf", "cohere2", "none", 5, True, "Q8_0", 200),
    ("safetensors", "cohere2", "linear", 5, True, "F32", 12),
]
NAMES = {"qwen3moe": "qwen3_moe", "gemma3": "gemma3_text", "gpt-oss": "gpt_oss",
         "mistral3": "ministral3", "glm4moe": "glm4_moe",
         **states.NAMES}   # where transformers has another one
REORDERED = ("llama", "mixtral", "smollm3", "granite", "mistral3")   # q and k of a GGUF
POST_NORMS = ("gemma2", "gemma3", "olmo2", "olmo3", "exaone4")
NO_PRE_NORMS = ("olmo2", "olmo3", "exaone4")
MULTIPLIERS = {"embedding_multiplier": 3.5, "attention_multiplier": 0.3,
               "residual_multiplier": 0.22, "logits_scaling": 1.75}   # of granite
CAPS = {"attn_logit_softcapping": 2.5, "final_logit_softcapping": 3.0}   # of gemma2
TEMPERATURE = 0.375   # of mistral3
CASES += latents.CASES + mixtures.CASES + states.CASES
# Each quantised type, in the architectures in turn.
CASES += [("gguf", ("llama", "qwen2", "qwen3")[at % 3], "none", 0, at % 2 == 1, kind, 5)
          for at, kind in enumerate(quantised.TYPES)]


def natural_order(rows, heads):
    """Rows of q or k as Hugging Face has them, from those of a GGUF of llama."""
    shape = rows.shape
    return rows.reshape(heads, shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(shape)


def sizes_of(kind, architecture):
    block = quantised.block_elements(kind)
    if kind == "F8_E4M3":
        more = latents.sizes_of(block) if architecture in latents.ARCHITECTURES else {}
        more = mixtures.sizes_of_glm(block) if architecture == "glm4moe" else more
        return SIZES | more | SCALED | ({"expert": 139} if more else {})
    if architecture == "glm4moe":
        return SIZES | WIDTHS.get(block, WIDE) | mixtures.sizes_of_glm(block)
    if architecture == "smollm3":
        return SIZES | WIDTHS.get(block, WIDE) | {"layers": 5}   # the fourth does not turn
    if architecture in latents.ARCHITECTURES:
        return SIZES | WIDTHS.get(block, WIDE) | latents.sizes_of(block)
    if architecture in states.ARCHITECTURES:
        return SIZES | WIDTHS.get(block, WIDE) | states.sizes_of(block)
    return SIZES | WIDTHS.get(max(block, 32) if architecture == "gpt-oss" else block, WIDE)


def make_weights(form, architecture, tied, kind, scaling):
    size, make, state = sizes_of(kind, architecture), Tensors(kind), {}
    queries, keys = size["heads"] * size["head"], size["kv_heads"] * size["head"]
    state["model.embed_tokens.weight"] = make.matrix(size["vocabulary"], size["embedding"], -1,
                                                        plain=True)
    for layer in range(size["layers"]):
        name = f"model.layers.{layer}."
        if architecture not in NO_PRE_NORMS:
            state[name + "input_layernorm.weight"] = make.vector(size["embedding"])
        rows = {"q": queries, "k": keys, "v": keys}
        if architecture == "phi3":
            state[name + "self_attn.qkv_proj.weight"] = make.matrix(queries + 2 * keys,
                                                                    size["embedding"])
            rows = {}
        if architecture in latents.ARCHITECTURES:
            state |= latents.make_latents(form, tied, name + "self_attn.", make, size, kind)
            rows = {}
        if states.has_state(architecture, layer):
            state |= states.make_delta(form, architecture, name + "linear_attn.", make, size)
            state[name + "post_attention_layernorm.weight"] = make.vector(size["embedding"])
            state |= states.make_mlp(form, architecture, name + "mlp.", make, size)
            continue
        if architecture in states.ARCHITECTURES:
            rows["q"] *= 2   # a gate behind each query
        for part, height in rows.items():
            weight = make.matrix(height, size["embedding"])
            if form == "gguf" and architecture in REORDERED and part != "v":
                weight = natural_order(weight, height // size["head"])
            state[name + f"self_attn.{part}_proj.weight"] = weight
        if architecture in ("qwen2", "gpt-oss", "glm4moe"):
            for part, height in rows.items():
                state[name + f"self_attn.{part}_proj.bias"] = make.vector(height, -2, False)
        if architecture in ("olmo2", "olmo3"):
            state[name + "self_attn.q_norm.weight"] = make.vector(queries)
            state[name + "self_attn.k_norm.weight"] = make.vector(keys)
        if (architecture in ("qwen3", "qwen3moe", "gemma3", "exaone4") + states.ARCHITECTURES
                or architecture == "glm4moe" and not tied):
            state[name + "self_attn.q_norm.weight"] = make.vector(size["head"])
            state[name + "self_attn.k_norm.weight"] = make.vector(size["head"])
        state[name + "self_attn.o_proj.weight"] = make.matrix(
            size["embedding"], size["heads"] * size.get("value", size["head"]))
        if architecture == "gpt-oss":
            state[name + "self_attn.o_proj.bias"] = make.vector(size["embedding"], -2, False)
            state[name + "self_attn.sinks"] = make.vector(size["heads"], 0, False)
        if architecture != "cohere2":
            state[name + "post_attention_layernorm.weight"] = make.vector(size["embedding"])
        if architecture in POST_NORMS:
            parts = ("post",) if architecture in NO_PRE_NORMS else ("post", "pre")
            for part in parts:
                state[name + f"{part}_feedforward_layernorm.weight"] = make.vector(
                    size["embedding"])
        if (architecture in (*latents.ARCHITECTURES, "glm4moe") and layer >= size["dense"]):
            state |= latents.make_routes(form, architecture, tied, name + "mlp.", make, size)
            continue
        if architecture in states.ARCHITECTURES:
            state |= states.make_mlp(form, architecture, name + "mlp.", make, size)
            continue
        if architecture in ("qwen3moe", "gpt-oss", "mixtral"):
            state |= mixtures.make_experts(form, architecture, name + "mlp.", make, size)
            continue
        if architecture == "phi3":
            state[name + "mlp.gate_up_proj.weight"] = make.matrix(2 * size["ff"],
                                                                  size["embedding"])
        else:
            state[name + "mlp.gate_proj.weight"] = make.matrix(size["ff"], size["embedding"])
            state[name + "mlp.up_proj.weight"] = make.matrix(size["ff"], size["embedding"])
        state[name + "mlp.down_proj.weight"] = make.matrix(size["embedding"], size["ff"])
    state["model.norm.weight"] = make.vector(size["embedding"])
    output = state["model.embed_tokens.weight"]
    state["lm_head.weight"] = output if tied else make.matrix(*output.shape, plain=True)
    if form == "gguf" and architecture in ("gemma2", "gemma3") + states.ARCHITECTURES:
        # The converter adds the 1 that transformers adds when it computes.
        state |= {name: values - 1 for name, values in state.items()
                  if "norm" in name and "linear_attn.norm" not in name}
    divisors = []
    if form == "gguf" and scaling in ("llama3", "longrope"):
        divisors = [make.vector(rotary_of(architecture, size) // 2)
                    for _ in range(1 if scaling == "llama3" else 2)]
    return state, divisors


def rotary_of(architecture, size):
    return size["head"] // 4 * 3 if architecture == "phi3" else size["head"]


def rope_parameters(form, architecture, scaling):
    plain = {"rope_theta": 10000.0 if architecture == "llama" else 1e6, "rope_type": "default"}
    if architecture in ("phi3", "glm4moe") + states.ARCHITECTURES:
        plain["partial_rotary_factor"] = 0.5 if architecture == "glm4moe" else 0.75
    if scaling == "none" or (form == "gguf" and scaling in ("llama3", "longrope")):
        return plain
    found = plain | {"rope_type": scaling, "factor": SIZES["factor"]}
    if scaling != "linear":
        found["original_max_position_embeddings"] = SIZES["original"]
    if scaling == "yarn":
        found |= {"beta_fast": BETA_FAST, "beta_slow": BETA_SLOW}
        if architecture == "mistral3":
            found |= {"mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": TEMPERATURE}
    if scaling == "yarn" and architecture in latents.ARCHITECTURES:
        found |= latents.scales_of(form)
    if scaling == "llama3":
        found |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    if scaling == "longrope":
        found |= {f"{name}_factor": [1 + step * (pair % 5)
                                     for pair in range(rotary_of(architecture, SIZES) // 2)]
                  for name, step in (("short", 0.125), ("long", 0.75))}
    return found


def make_config(form, architecture, scaling, window, tied, size):
    name = "mistral" if form == "gguf" and architecture == "llama" and window else architecture
    name = NAMES.get(name, name)
    # LlamaConfig takes only whole multiples of the heads, though the model computes with any width.
    fields = {
        "hidden_size": size["heads"] * size["head"], "intermediate_size": size["ff"],
        "num_hidden_layers": size["layers"], "num_attention_heads": size["heads"],
        "num_key_value_heads": size["kv_heads"], "head_dim": size["head"],
        "vocab_size": size["vocabulary"], "max_position_embeddings": size["context"],
        "rms_norm_eps": EPSILON, "tie_word_embeddings": tied,
        "rope_parameters": rope_parameters(form, architecture, scaling)}
    if name in ("mistral", "mixtral", "phi3", "exaone4"):
        fields["sliding_window"] = window or None
    if name in ("phi3", "smollm3"):
        fields["pad_token_id"] = None   # by default one beyond this vocabulary
    if name == "phi3":
        fields["original_max_position_embeddings"] = size["original"]
    if name == "mixtral":
        fields |= {"num_local_experts": size["experts"], "num_experts_per_tok": size["used"]}
    if name == "smollm3":
        fields |= {"use_sliding_window": window > 0, "sliding_window": window or None}
    if name == "granite":
        fields |= {key: float(numpy.float32(value)) if form == "gguf" else value
                   for key, value in MULTIPLIERS.items()}
    if name == "cohere2":
        del fields["rms_norm_eps"]
        fields |= {"layer_norm_eps": EPSILON, "logit_scale": 1.75}
    if name in ("olmo3", "gemma2", "exaone4", "cohere2"):
        period = 2 if name == "gemma2" else PERIOD
        fields |= {"sliding_window": window or None,
                   "layer_types": ["sliding_attention" if window and layer % period < period - 1
                                   else "full_attention" for layer in range(size["layers"])]}
    if name == "olmo3":
        fields["rope_parameters"] = {
            "full_attention": fields["rope_parameters"],
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e6}}
    if name == "gemma2":
        fields |= CAPS | {"query_pre_attn_scalar": size["head"] if form == "gguf" else 40}
    if name in ("qwen2", "qwen3", "qwen3_moe"):
        fields |= {"use_sliding_window": window > 0, "sliding_window": window or None,
                   "max_window_layers": 1}
    if name == "gpt_oss":
        fields["rope_parameters"]["truncate"] = form == "gguf"   # which llama.cpp always does
        fields |= {"sliding_window": window, "num_local_experts": size["experts"],
                   "num_experts_per_tok": size["used"],
                   "swiglu_limit": 7.0 if form == "gguf" else 1.5}
    if name == "gemma3_text":
        fields |= {"sliding_window": window, "sliding_window_pattern": PERIOD,
                   "query_pre_attn_scalar": size["head"] if form == "gguf" else 40,
                   "rope_parameters": {
                       "full_attention": fields["rope_parameters"],
                       "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}}
    if name == "qwen3_moe":
        fields |= {"num_experts": size["experts"], "num_experts_per_tok": size["used"],
                   "moe_intermediate_size": size["ff"], "norm_topk_prob": form == "gguf" or tied}
    if architecture == "glm4moe":
        fields |= mixtures.fields_of_glm(form, tied, size)
    if architecture in latents.ARCHITECTURES:
        name, more = latents.fields_of(form, architecture, tied, size)
        del fields["head_dim"]
        fields |= more
    if architecture in states.ARCHITECTURES:
        fields |= states.fields_of(form, architecture, tied, size)
    config = transformers.AutoConfig.for_model(name, **fields)
    config.hidden_size, config.head_dim = size["embedding"], size.get("turned", size["head"])
    return config


def logits_of(case, is_lifted=True):
    with doubles() if is_lifted else contextlib.nullcontext():
        return logits_with_casts(case)


def logits_with_casts(case):
    form, architecture, scaling, window, tied, kind, tokens = case
    state, divisors = make_weights(form, architecture, tied, kind, scaling)
    config = make_config(form, architecture, scaling, window, tied,
                         sizes_of(kind, architecture))
    config._experts_implementation = "eager"   # the others have no float64
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=(
        "eager" if architecture in ("gpt-oss", "gemma2") else "sdpa"))   # no sinks, no softcap
    model = model.double().eval()
    if "gemma" in architecture:
        halves = {"F16": torch.float16, "BF16": torch.bfloat16} if form == "safetensors" else {}
        keep_scale(model, halves.get(kind, SINGLE))
    if form == "gguf" and architecture in latents.ARCHITECTURES:
        # llama.cpp has one epsilon for all norms; transformers another one for latents.
        for name, module in model.named_modules():
            if name.endswith(("q_a_layernorm", "kv_a_layernorm")):
                module.variance_epsilon = EPSILON
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


def golden_of(case, logits=None):
    form, architecture, scaling, window, tied, kind, tokens = case
    logits = logits_of(case) if logits is None else logits
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


def check(path, cases):
    text = pathlib.Path(path).read_text(encoding="ascii")
    committed = {}
    for golden in text.split("\n{")[1:]:
        model, _, logits = fields_of(golden)
        committed[model] = logits
    findings = []
    for case in cases:
        all_logits = logits_of(case)
        model, deviation, logits = fields_of(golden_of(case, all_logits))
        single = abs(logits_of(case, is_lifted=False) - all_logits).max() / deviation
        if not single <= SINGLE_BOUND:
            findings.append(f"{model}: {single:.1e} standard deviations with casts to float32")
        if model not in committed:
            findings.append(f"{model}: not in {path}")
            continue
        difference = abs(logits - committed.pop(model)).max() / deviation
        print(f"{model}: {difference:.1e}, with casts {single:.1e}", flush=True)
        if not difference <= BOUND:
            findings.append(f"{model}: {difference:.1e} standard deviations from {path}")
    if cases == CASES:
        findings += [f"{model}: in {path} only" for model in committed]
    finish(len(cases), findings)


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    is_check = "--check" in sys.argv
    wanted = arguments[1 if is_check else 0:]
    cases = [case for case in CASES if not wanted or case[1] in wanted]
    if is_check:
        check(arguments[0], cases)
    packages = [f"{name} {importlib.metadata.version(name)}"
                for name in ("transformers", "torch", "numpy", "gguf")]
    print("// SPDX-License-Identifier: MIT")
    print(f"// Made by tests/goldens/make_goldens.py with\n// {', '.join(packages)}.")
    for case in cases:
        print(golden_of(case), end="")


if __name__ == "__main__":
    main()
