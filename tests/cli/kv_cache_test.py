# SPDX-License-Identifier: MIT
"""KV caches of 44 models at two contexts, from the numbers of their GGUF or config.json.

The wanted bytes are the allocation rule of llama.cpp written out (src/llama-kv-cache.cpp,
llama-kv-cache-iswa.cpp and, for the layers, src/models/NAME.cpp of
https://github.com/ggml-org/llama.cpp), or what a log of it says: then the address is given.
A layer with a window W has min(context, W + 512) cells, up to a multiple of 256.
Usage: kv_cache_test.py PROGRAM [unittest options].
"""
import json
import unittest

import program
from program import CliTest, run

try:
    import gguf
    import numpy
    import safetensors.numpy
except ImportError as missing:
    print(f"skipped: the package {missing.name} is not installed")
    raise SystemExit(77) from missing

MIB = 1 << 20
SHORT, LONG = 4096, 32768


def cells(window, context):
    return min(context, (window + 512 + 255) // 256 * 256)


def full(layers, heads, length):
    """Bytes of layers that keep all tokens, in f16."""
    return lambda context: layers * context * heads * length * 2 * 2


def mixed(whole, windowed, window, heads, length):
    def size_bytes(context):
        return (whole * context + windowed * cells(window, context)) * heads * length * 4
    return size_bytes


def latent(layers, length=576):
    return lambda context: layers * context * length * 2


def shape(layers, embedding, heads, kv_heads, length=None, value_length=None, **more):
    keys = {"block_count": layers, "context_length": 1 << 20, "embedding_length": embedding,
            "attention.head_count": heads, "attention.head_count_kv": kv_heads}
    if length:
        keys["attention.key_length"] = length
        keys["attention.value_length"] = value_length or length
    keys.update({key.replace("__", "."): value for key, value in more.items()})
    return keys


def config(model_type, layers, embedding, heads, kv_heads, **more):
    return {"model_type": model_type, "num_hidden_layers": layers, "hidden_size": embedding,
            "num_attention_heads": heads, "num_key_value_heads": kv_heads, **more}


MLA = {"attention__key_length_mla": 192, "attention__value_length_mla": 128,
       "attention__kv_lora_rank": 512}
GEMMA4 = [i % 6 != 5 for i in range(60)]
NEMOTRON = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
KIMI = [4, 8, 12, 16, 20, 24, 27]
WINDOW = "attention__sliding_window"

# name, architecture, keys, wanted bytes by context
GGUF_MODELS = [
    ("Llama 3 8B", "llama", shape(32, 4096, 32, 8), full(32, 8, 128)),
    ("Mistral 7B v0.1: its window is not implemented", "llama",
     shape(32, 4096, 32, 8, **{WINDOW: 4096}), full(32, 8, 128)),
    ("Mistral Nemo 12B", "llama", shape(40, 5120, 32, 8, 128), full(40, 8, 128)),
    # github.com/ggml-org/llama.cpp/issues/11200: 4352.00 MiB in q8_0 at 32768
    ("Qwen2.5 32B", "qwen2", shape(64, 5120, 40, 8), full(64, 8, 128)),
    ("Qwen3 30B A3B", "qwen3moe", shape(48, 2048, 32, 4, 128), full(48, 4, 128)),
    ("Phi-3 mini: windows are disabled", "phi3", shape(32, 3072, 32, 32, **{WINDOW: 2047}),
     full(32, 32, 96)),
    ("GLM-4.5-Air: the last layer is of multi-token prediction", "glm4moe",
     shape(47, 4096, 96, 8, 128, nextn_predict_layers=1), full(46, 8, 128)),
    ("Gemma 2 9B: no key for the window", "gemma2", shape(42, 3584, 16, 8, 256),
     mixed(21, 21, 4096, 8, 256)),
    # github.com/unslothai/unsloth/pull/5225: 27.00 MiB at 4096
    ("Gemma 3 270M", "gemma3", shape(18, 640, 4, 1, 256, **{WINDOW: 512}),
     mixed(3, 15, 512, 1, 256)),
    ("Gemma 3 27B", "gemma3", shape(62, 5376, 32, 16, 128, **{WINDOW: 1024}),
     mixed(10, 52, 1024, 16, 128)),
    ("Gemma 3n E4B: 20 of 35 layers have caches", "gemma3n",
     shape(35, 2048, 8, 2, 256, **{WINDOW: 512}), mixed(4, 16, 512, 2, 256)),
    ("Gemma 4 31B", "gemma4",
     shape(60, 5376, 32, [16 if w else 4 for w in GEMMA4], 512, **{WINDOW: 1024},
           attention__sliding_window_pattern=GEMMA4, attention__key_length_swa=256,
           attention__value_length_swa=256),
     lambda context: 10 * context * 8192 + 50 * cells(1024, context) * 16384),
    ("Llama 4 Scout: no key for chunks of 8192", "llama4", shape(48, 5120, 40, 8, 128),
     mixed(12, 36, 8192, 8, 128)),
    ("Command R7B", "cohere2", shape(32, 4096, 32, 8, 128, **{WINDOW: 4096}),
     mixed(8, 24, 4096, 8, 128)),
    # github.com/ggml-org/llama.cpp/pull/17609: 18.00 MiB for the windows at 4096
    ("gpt-oss 20B", "gpt-oss", shape(24, 2880, 64, 8, 64, **{WINDOW: 128}),
     mixed(12, 12, 128, 8, 64)),
    ("EXAONE 4 32B", "exaone4", shape(64, 5120, 40, 8, 128, **{WINDOW: 4096}),
     mixed(16, 48, 4096, 8, 128)),
    ("EXAONE 4 1.2B: windows in the 32B alone", "exaone4", shape(30, 2048, 32, 8, 64),
     full(30, 8, 64)),
    ("OLMo 3 7B", "olmo2", shape(32, 4096, 32, 32, **{WINDOW: 4096}), mixed(8, 24, 4096, 32, 128)),
    ("OLMo 2 7B: no window", "olmo2", shape(32, 4096, 32, 32), full(32, 32, 128)),
    ("SmallThinker 21B: the first of four is whole", "smallthinker",
     shape(52, 2560, 28, 4, 128, **{WINDOW: 4096}), mixed(13, 39, 4096, 4, 128)),
    ("DeepSeek V3", "deepseek2", shape(61, 7168, 128, 1, 576, 512, **MLA), latent(61)),
    ("DeepSeek V2 Lite of before 2025: decompressed", "deepseek2",
     shape(27, 2048, 16, 16, 192, 128), lambda c: 27 * c * 16 * (192 + 128) * 2),
    ("DeepSeek V3.2: a key for the indexer", "deepseek32",
     shape(61, 7168, 128, 1, 576, 512, attention__indexer__key_length=128, **MLA),
     latent(61, 576 + 128)),
    ("Kimi Linear 48B", "kimi-linear",
     shape(27, 2304, 32, [1 if i + 1 in KIMI else 0 for i in range(27)], 576, 512, **MLA,
           kda__head_dim=128, ssm__conv_kernel=4), latent(7)),
    ("Mamba 2.8B", "mamba", shape(64, 2560, 0, 0, ssm__conv_kernel=4, ssm__inner_size=5120,
                                  ssm__state_size=16), full(0, 0, 0)),
    ("RWKV 7 1.5B", "rwkv7", shape(24, 2048, 0, 0, wkv__head_size=64), full(0, 0, 0)),
    ("Jamba 1.5 Mini", "jamba", shape(32, 4096, 32, [8 if i % 8 == 4 else 0 for i in range(32)]),
     full(4, 8, 128)),
    ("Falcon-H1 34B: every layer is both", "falcon-h1", shape(72, 5120, 20, 4, 128),
     full(72, 4, 128)),
    ("LFM2 1.2B", "lfm2", shape(16, 2048, 32, [8 if i in (2, 5, 8, 10, 12, 14) else 0
                                               for i in range(16)], shortconv__l_cache=3),
     full(6, 8, 64)),
    # Shapes in github.com/ollama/ollama/issues/12982 and ggml-org/llama.cpp/issues/20570.
    ("Granite 4.0 H Small", "granitehybrid",
     shape(40, 4096, 32, [8 if i % 10 == 5 else 0 for i in range(40)], ssm__conv_kernel=4,
           ssm__inner_size=8192, ssm__state_size=128, ssm__group_count=1), full(4, 8, 128)),
    ("Nemotron 3 Nano 30B", "nemotron_h_moe",
     shape(52, 2688, 32, [2 if letter == "*" else 0 for letter in NEMOTRON], 128,
           feed_forward_length=[1856 if letter == "E" else 0 for letter in NEMOTRON],
           ssm__conv_kernel=4, ssm__inner_size=4096, ssm__state_size=128, ssm__group_count=8),
     full(6, 2, 128)),
    ("GLM-5.2: an indexer in 21 of 78 layers", "glm-dsa",
     shape(79, 6144, 64, 1, 576, 512, attention__indexer__key_length=128, nextn_predict_layers=1,
           **{**MLA, "attention__key_length_mla": 256, "attention__value_length_mla": 256}),
     lambda context: context * 2 * (78 * 576 + 21 * 128)),
    ("Qwen3.6 27B", "qwen35", shape(64, 5120, 24, 4, 256, full_attention_interval=4,
                                    ssm__conv_kernel=4, ssm__inner_size=6144,
                                    ssm__state_size=128, ssm__group_count=16), full(16, 4, 256)),
]

CONFIG_MODELS = [
    ("StarCoder", {"model_type": "gpt_bigcode", "n_layer": 40, "n_embd": 6144, "n_head": 48,
                   "multi_query": True}, full(40, 1, 128)),
    ("GLM-4 9B", {"model_type": "chatglm", "num_layers": 40, "hidden_size": 4096,
                  "num_attention_heads": 32, "multi_query_attention": True,
                  "multi_query_group_num": 2, "kv_channels": 128}, full(40, 2, 128)),
    ("Falcon 7B", {"model_type": "falcon", "num_hidden_layers": 32, "hidden_size": 4544,
                   "num_attention_heads": 71, "multi_query": True,
                   "new_decoder_architecture": False}, full(32, 1, 64)),
    ("Gemma 3 4B: heads by default", {"model_type": "gemma3", "text_config": {
        "model_type": "gemma3_text", "num_hidden_layers": 34, "hidden_size": 2560,
        "sliding_window": 1024}}, mixed(5, 29, 1024, 4, 256)),
    ("Qwen2.5-Omni 7B", {"model_type": "qwen2_5_omni", "thinker_config": {"text_config": config(
        "qwen2_5_omni_text", 28, 3584, 28, 4)}}, full(28, 4, 128)),
    ("Nemotron 3 Nano", config("nemotron_h", 52, 2688, 32, 2, head_dim=128,
                               hybrid_override_pattern=NEMOTRON), full(6, 2, 128)),
    ("Nemotron Super 49B: block_configs", config(
        "nemotron-nas", 4, 8192, 64, None, block_configs=[
            {"attention": {"n_heads_in_group": None if i % 2 else 8}} for i in range(4)]),
     full(2, 8, 128)),
    ("Bamba 9B", config("bamba", 32, 4096, 32, 8, attn_layer_indices=[9, 18, 27]),
     full(3, 8, 128)),
    ("Qwen3-Next 80B", config("qwen3_next", 48, 2048, 16, 2, head_dim=256,
                              full_attention_interval=4), full(12, 2, 256)),
    # github.com/ml-explore/mlx-lm/issues/790: several times as much in another program.
    ("GLM-4.7-Flash", config("glm4_moe_lite", 47, 2048, 20, 20, kv_lora_rank=512,
                             qk_rope_head_dim=64, qk_nope_head_dim=192, v_head_dim=256),
     latent(47)),
    ("Kimi K2", config("kimi_k2", 61, 7168, 64, 64, kv_lora_rank=512, qk_rope_head_dim=64),
     latent(61)),
]

QWEN35_27B = next(keys for name, _, keys, _ in GGUF_MODELS if name == "Qwen3.6 27B")
LFM2 = shape(16, 1024, 16, [8 if i in (2, 5, 8, 10, 12, 14) else 0 for i in range(16)],
             shortconv__l_cache=3)
SMOL = shape(32, 960, 15, 5)
GLM52 = next(keys for name, _, keys, _ in GGUF_MODELS if name.startswith("GLM-5.2"))
GEMMA3 = next(keys for name, _, keys, _ in GGUF_MODELS if name == "Gemma 3 270M")
# What logs of llama.cpp say, or tables made from them: address, model, architecture, keys, context,
# type of the cache, MiB.
LOGS = [
    ("ggml-org/llama.cpp/pull/22101", "Granite 4.0 1B", "granite", shape(40, 2048, 16, 4, 128),
     4096, "f16", 320),
    ("Luce-Org/lucebox/pull/21", "Qwen3.5 27B", "qwen35", QWEN35_27B, 65536, "q4_0", 1152),
    ("Luce-Org/lucebox/pull/21", "Qwen3.5 27B", "qwen35", QWEN35_27B, 131072, "q4_0", 2304),
    ("gianlucamazza/xllama/pull/181", "LFM2.5 350M", "lfm2", LFM2, 2048, "f16", 24),
    ("gianlucamazza/xllama/pull/181", "LFM2.5 350M", "lfm2", LFM2, 2048, "q8_0", 12.75),
    ("gianlucamazza/xllama/pull/181", "SmolLM2 360M", "llama", SMOL, 2048, "f16", 80),
    ("gianlucamazza/xllama/pull/181", "SmolLM2 360M", "llama", SMOL, 2048, "q8_0", 42.5),
    # 672 MiB of indexers; sgl-project/sglang/pull/30531 has the layers.
    ("ikawrakow/ik_llama.cpp/pull/2093", "GLM-5.2", "glm-dsa", GLM52, 131072, "f16",
     78 * 144 + 672),
    # Windows are in the type of the cache: leaving them in f16 was reverted.
    ("ggml-org/llama.cpp/pull/21332", "Gemma 3 270M", "gemma3", GEMMA3, 4096, "q8_0",
     27 * 34 / 64),
    ("huggingface/blog/issues/2345", "Llama 3.1 8B", "llama", shape(32, 4096, 32, 8), 1024, "f16",
     128),
    ("huggingface/blog/issues/2345", "Llama 3.1 70B", "llama", shape(80, 8192, 64, 8), 1024, "f16",
     320),
]


class KvCaches(CliTest):
    def write_gguf(self, number, architecture, keys):
        path = self.folder / f"{number}.gguf"
        writer = gguf.GGUFWriter(path, architecture)
        for key, value in keys.items():
            name = f"{architecture}.{key}"
            if isinstance(value, list):
                writer.add_array(name, value)
            else:
                writer.add_uint32(name, value)
        writer.add_tensor("output_norm.weight", numpy.ones(8, dtype=numpy.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def write_config(self, number, text):
        folder = self.folder / f"c{number}"
        folder.mkdir()
        safetensors.numpy.save_file({"a": numpy.ones(8, numpy.float32)},
                                    folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(text), encoding="utf-8")
        return folder

    def test_models_at_two_contexts(self):
        models = [(name, self.write_gguf(i, architecture, keys), wanted)
                  for i, (name, architecture, keys, wanted) in enumerate(GGUF_MODELS)]
        models += [(name, self.write_config(i, text), wanted)
                   for i, (name, text, wanted) in enumerate(CONFIG_MODELS)]
        self.assertGreaterEqual(len(models), 40)
        for context in (SHORT, LONG):
            # Some may be too large for this machine's memory, which changes no size.
            result = run("load", *[str(path) for _, path, _ in models], "--dry-run", "--device",
                         "cpu", "--context", str(context), "--format", "json")
            loads = json.loads(result.stdout)["models"]
            self.assertEqual(len(loads), len(models), result.stderr)
            for (name, _, wanted), load in zip(models, loads):
                with self.subTest(name, context=context):
                    fit = load["fit"]
                    self.assertFalse(fit["kv_cache_is_bound"])
                    self.assertEqual(fit["kv_cache_bytes"], wanted(context))

    def test_published_logs(self):
        for number, (address, name, architecture, keys, context, kind, mib) in enumerate(LOGS):
            with self.subTest(name, address="github.com/" + address, context=context, kind=kind):
                path = self.write_gguf(number, architecture, keys)
                result = run("load", str(path), "--dry-run", "--device", "cpu", "--context",
                             str(context), "--kv-type", kind, "--format", "json")
                fit = json.loads(result.stdout)["fit"]
                self.assertFalse(fit["kv_cache_is_bound"])
                self.assertEqual(fit["kv_cache_bytes"], mib * MIB)

    def test_recurrent_states(self):
        # github.com/ggml-org/llama.cpp/pull/23792, a log of a model of this shape with two
        # sequences: "size = 299.25 MiB (2 cells, 64 layers ...), R (f32): 11.25 MiB, S (f32):
        # 288.00 MiB"
        keys = next(keys for name, _, keys, _ in GGUF_MODELS if name == "Qwen3.6 27B")
        path = self.write_gguf(0, "qwen35", keys)
        result = run("load", str(path), "--dry-run", "--device", "cpu", "--context", "512",
                     "--parallel", "2", "--format", "json")
        self.assertEqual(json.loads(result.stdout)["fit"]["state_bytes"], 299.25 * MIB)

    def test_infinity_in_a_config(self):
        path = self.write_config(0, config("llama", 2, 512, 4, 2, time_step_limit=[
            0.0, float("inf"), float("-inf"), float("nan")]))
        result = run("load", str(path), "--dry-run", "--device", "cpu", "--context", "512",
                     "--format", "json")
        self.assertEqual(json.loads(result.stdout)["fit"]["kv_cache_bytes"],
                         2 * 512 * 2 * 128 * 2 * 2)


if __name__ == "__main__":
    program.main(__doc__)
