# SPDX-License-Identifier: MIT
"""`hiptool load --dry-run`: what a model is, and whether it fits with its KV cache.

The models are written by other programs (gguf, safetensors), and the numbers are computed here.
Usage: fit_test.py PROGRAM [unittest options].
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


def aligned(size):
    return (size + 255) // 256 * 256


def compute_bytes(tokens, embedding=4096, vocabulary=3, heads=32, length=128):
    """Of llama.cpp with flash attention: the logits, or the mask and queries of a layer."""
    cells = aligned(tokens)
    batch = min(512, cells)
    return max(4 * batch * (embedding + vocabulary),
               6 * batch * cells + 8 * batch * (embedding + heads * length))


class Fit(CliTest):
    def write_gguf(self, layers=32, heads=32, kv_heads=8, embedding=4096, architecture="llama",
                   **more):
        """A GGUF of that shape with one small tensor in each layer; its tensors' sizes too."""
        path = self.folder / "m.gguf"
        writer = gguf.GGUFWriter(path, architecture)
        writer.add_name("A model")
        writer.add_context_length(8192)
        writer.add_embedding_length(embedding)
        writer.add_block_count(layers)
        for key, value in (("head_count", heads), ("head_count_kv", kv_heads)):
            if isinstance(value, list):
                writer.add_array(f"{architecture}.attention.{key}", value)
            elif value is not None:
                writer.add_uint32(f"{architecture}.attention.{key}", value)
        for key, value in more.items():
            writer.add_uint32(architecture + "." + key.replace("__", "."), value)
        writer.add_array("tokenizer.ggml.tokens", ["a", "b", "ç"])
        sizes = []
        for name, count in [("token_embd.weight", 300), ("output.weight", 100)] + [
                (f"blk.{layer}.attn_norm.weight", 3 + layer) for layer in range(layers)]:
            writer.add_tensor(name, numpy.ones(count, dtype=numpy.float32))
            sizes.append(4 * count)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path, sizes

    def write_safetensors(self, config):
        path = self.folder / "model.safetensors"
        safetensors.numpy.save_file({"model.layers.0.a": numpy.ones((2, 3), numpy.float16)}, path)
        text = config if isinstance(config, str) else json.dumps(config)
        (self.folder / "config.json").write_text(text, encoding="utf-8")
        return path

    def plan(self, path, *words, code=0):
        result = run("load", str(path), "--dry-run", "--format", "json", *words)
        self.assertEqual(result.returncode, code, result.stderr)
        return self.assert_document(result.stdout, "load.schema.json")

    def test_compute_buffers_of_servers(self):
        """llama-server since June 2026: the mask in f16, logits of one token per sequence."""
        path, _ = self.write_gguf(layers=1, feed_forward_length=14336)
        fit = self.plan(path, "--context", "131072", "--device", "cpu")["fit"]
        network = 4 * 512 * 3 * (14336 + 4096)
        self.assertEqual(fit["compute_least_bytes"], 2 * 512 * 131072 + network)
        self.assertEqual(fit["compute_bytes"], compute_bytes(131072))
        shown = " ".join(run("load", str(path), "--dry-run", "--context", "131072", "--device",
                             "cpu").stdout.split())
        self.assertIn("llama-server since June 2026 needs 236 MiB in place of 416 MiB", shown)
        shown = run("load", str(path), "--dry-run", "--context", "512", "--device", "cpu").stdout
        self.assertNotIn("llama-server", shown)  # it needs as much

    def test_llama_3_8b(self):
        path, sizes = self.write_gguf()
        document = self.plan(path, "--context", "8192", "--device", "cpu")
        fit = document["fit"]
        self.assertEqual(fit["kv_cache_bytes"], 8192 * 128 * 1024)
        self.assertEqual(fit["kv_cache_bytes"], 8192 * 32 * 8 * (128 + 128) * 2)
        self.assertEqual(fit["weights_bytes"], sum(map(aligned, sizes)))
        self.assertEqual((fit["kv_type"], fit["compute_bytes"]), ("f16", compute_bytes(8192)))
        self.assertIsNone(fit["compute_least_bytes"])  # without the feed-forward length
        self.assertEqual(fit["total_bytes"],
                         fit["weights_bytes"] + fit["kv_cache_bytes"] + fit["compute_bytes"])
        self.assertEqual((fit["verdict"], fit["split"], fit["gpu_layers"]), ("fits", None, None))
        part, = fit["devices"]
        self.assertEqual((part["id"], part["tensors"]), ("cpu:0", len(sizes)))
        self.assertEqual(fit["most_context"], 8192)   # as trained
        longest = fit["memory_context"]
        for tokens, fits in ((longest, True), (longest + 1, False)):
            needed = fit["weights_bytes"] + aligned(tokens) * 128 * 1024 + compute_bytes(tokens)
            self.assertEqual(needed <= part["memory_free_bytes"], fits)
        device, = document["devices"]
        self.assertEqual((device["id"], device["bytes"]), ("cpu:0", sum(sizes)))
        model = document["model"]
        self.assertEqual([model[key] for key in (
            "architecture", "name", "layers", "heads", "kv_heads", "key_length", "value_length",
            "embedding_length", "context_length", "vocabulary_size", "experts")],
            ["llama", "A model", 32, 32, 8, 128, 128, 4096, 8192, 3, None])
        self.assertEqual(model["quantization"],
                         [{"type": "F32", "tensors": len(sizes), "bytes": sum(sizes)}])

    def test_heads_of_each_layer(self):
        kv_heads = [2, 0, 4, 0]
        path, _ = self.write_gguf(4, [8, 0, 8, 0], kv_heads, 512, attention__value_length=32,
                                  ssm__state_size=16, attention__sliding_window=64)
        document = self.plan(path, "--context", "1000")
        self.assertEqual(document["model"]["kv_heads"], kv_heads)
        self.assertEqual(document["fit"]["kv_cache_bytes"], 1024 * sum(kv_heads) * (64 + 32) * 2)
        text = run("load", str(path), "--dry-run", "--context", "9000").stdout
        self.assert_width(text)
        for part in ("KV heads 0 to 4 by layer", "sliding window 64",
                     "warning: the model was trained for 8 192 tokens"):
            self.assertIn(part, text)

    def test_config_json(self):
        config = {"model_type": "llava", "text_config": {
            "model_type": "mistral", "num_hidden_layers": 2, "num_attention_heads": 32,
            "num_key_value_heads": 8, "hidden_size": 4096, "vocab_size": 32000}}
        document = self.plan(self.write_safetensors(config), "--context", "100", "--tensors")
        self.assertEqual(document["fit"]["kv_cache_bytes"], 256 * 2 * 8 * 256 * 2)
        self.assertEqual(document["model"]["architecture"], "mistral")
        self.assertEqual(document["model"]["vocabulary_size"], 32000)
        self.assertEqual(document["tensors"][0]["device"], "cpu:0")

    def test_malformed_config_json_is_a_warning(self):
        for config in ("", "{", "[]", '{"num_hidden_layers": 1e99}', "{" * 100_000):
            path = self.write_safetensors(config)
            result = run("load", str(path), "--dry-run")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("warning: ", result.stdout)
            refused = run("load", str(path), "--dry-run", "--context", "5")
            said = "num_hidden_layers" if "num_hidden_layers" in config else "config.json"
            self.assertIn(said, refused.stderr)

    def test_missing_config_json_is_named(self):
        path = self.write_safetensors({})
        config = self.folder / "config.json"
        for link in (False, True):
            config.unlink(missing_ok=True)
            if link:
                config.symlink_to(self.folder / "blobs" / "abc")
            self.assertEqual(run("load", str(path), "--dry-run").returncode, 0)
            refused = run("load", str(path), "--dry-run", "--context", "5")
            self.assertEqual(refused.returncode, 4, refused.stderr)
            text = " ".join(refused.stderr.split())
            self.assertIn("blobs/abc, which is missing" if link else "config.json is missing", text)
            self.assertIn("download", text)
            self.assertNotIn("num_hidden_layers", text)
            shown = " ".join(run("inspect", str(path)).stdout.split())
            self.assertEqual("blobs/abc, which is missing" in shown, link, shown)
            self.assertEqual("its folder has no config.json" in shown, not link, shown)

    def test_what_does_not_fit(self):
        path, _ = self.write_gguf()
        context = 1 << 30
        document = self.plan(path, "--context", str(context), code=3)
        fit = document["fit"]
        self.assertEqual((document["status"], document["error"]["code"]),
                         ("failed", "out_of_memory"))
        self.assertEqual((fit["verdict"], fit["gpu_layers"]), ("does not fit", None))
        needed = fit["weights_bytes"] + context * 128 * 1024 + fit["compute_bytes"]
        self.assertEqual(fit["total_bytes"], needed)
        self.assertGreater(fit["shortfall_bytes"], 0)
        for words in (["--dry-run"], []):
            result = run("load", str(path), *words, "--device", "cpu", "--context", str(context))
            self.assertEqual(result.returncode, 3)
            self.assertRegex(result.stderr, r"^error: the model needs .* TiB too little\n"
                                            r"hint: reduce --context to \d+; or ")
        longest = self.plan(path, "--context", "1")["fit"]["memory_context"]
        self.plan(path, "--context", str(longest // 2))

    def test_cache_types_and_suffixes(self):
        path, _ = self.write_gguf()
        for word in ("8k", "8K", "8192"):
            self.assertEqual(self.plan(path, "--context", word)["fit"]["context"], 8192)
        tiny, _ = self.write_gguf(layers=1, kv_heads=1, embedding=64)
        self.assertEqual(self.plan(tiny, "--context", "1M")["fit"]["context"], 1 << 20)
        path, _ = self.write_gguf()
        for kind, block in (("f16", 64), ("q8_0", 34), ("q4_0", 18), ("bf16", 64), ("f32", 128),
                            ("q4_1", 20), ("q5_0", 22), ("q5_1", 24), ("iq4_nl", 18)):
            fit = self.plan(path, "--context", "8k", "--kv-type", kind.upper())["fit"]
            self.assertEqual((fit["kv_type"], fit["kv_cache_bytes"]),
                             (kind, 32 * 8192 * 8 * (128 + 128) // 32 * block))
        text = run("load", str(path), "--dry-run", "--context", "2k", "--kv-type", "q4_0").stdout
        self.assert_width(text)
        for part in ("in q4_0 + compute", "needs flash attention",
                     "maximum context 8 192 tokens, as trained (memory holds "):
            self.assertIn(part, text)
        odd, _ = self.write_gguf(attention__key_length=80)
        document = self.plan(odd, "--context", "8k", "--kv-type", "q8_0", code=2)
        self.assertIn("blocks of 32 elements", document["error"]["message"])

    def test_latent_attention(self):
        path, _ = self.write_gguf(61, 128, 1, 7168, architecture="deepseek2",
                                  attention__kv_lora_rank=512, attention__key_length=576,
                                  attention__value_length=512, attention__key_length_mla=192,
                                  attention__value_length_mla=128)
        fit = self.plan(path, "--context", "1k")["fit"]
        self.assertEqual(fit["kv_cache_bytes"], 61 * 1024 * 576 * 2)
        self.assertFalse(fit["kv_cache_is_bound"])
        self.assertIsNone(fit["compute_bytes"])
        text = run("load", str(path), "--dry-run", "--context", "1k").stdout
        self.assert_width(text)
        self.assertIn("unknown for latent", text)

    def test_unknown_architecture_is_a_bound(self):
        path, _ = self.write_gguf(architecture="frobnicate", attention__sliding_window=1024)
        fit = self.plan(path, "--context", "8k", "--device", "cpu")["fit"]
        self.assertTrue(fit["kv_cache_is_bound"])
        self.assertEqual(fit["kv_cache_bytes"], 8192 * 128 * 1024)
        # Nothing says that its layers keep tokens rather than a state.
        self.assertEqual(fit["kv_cache_least_bytes"], 0)
        self.assertIsNone(fit["most_context"])
        text = run("load", str(path), "--dry-run", "--context", "8k", "--device", "cpu").stdout
        self.assertIn("is not known: it has at most 1.00 GiB", " ".join(text.split()))

    def test_sequences_and_types_of_keys_and_values(self):
        path, _ = self.write_gguf()
        fit = self.plan(path, "--context", "8k", "--parallel", "2", "--kv-type-k", "q8_0",
                        "--kv-type-v", "q5_1")["fit"]
        self.assertEqual(fit["kv_cache_bytes"], 2 * 32 * 8192 * 8 * (128 // 32) * (34 + 24))
        self.assertEqual((fit["kv_type"], fit["kv_type_k"], fit["kv_type_v"], fit["sequences"]),
                         (None, "q8_0", "q5_1", 2))

    def test_every_form_at_80_columns(self):
        path, _ = self.write_gguf()
        for words in ([], ["--tensors"], ["--context", "4096"], ["--context", "1073741824"],
                      ["--context", "5", "--device", "cpu", "--tensors"]):
            text = run("load", str(path), "--dry-run", *words).stdout
            self.assert_width(text)
            self.assertIn("layers  32, embedding 4 096, heads 32, KV heads 8", text)
        for form in ("csv", "markdown"):
            result = run("load", str(path), "--dry-run", "--context", "5", "--format", form)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("cpu:0", result.stdout)

    def test_wrong_usage(self):
        path, _ = self.write_gguf()
        for words in (["--context", "0"], ["--context", "-1"], ["--context", "8kB"],
                      ["--context", "k"], ["--context", "0k"], ["--context", "1025M"],
                      ["--kv-type", "q8_0"], ["--parallel", "2"], ["--kv-type-k", "q8_0"],
                      ["--context", "5", "--parallel", "0"],
                      ["--context", "5", "--kv-type", "q6_K"],
                      ["--context", "1073741825"], ["--context"],
                      ["--context", "5", "--device", "gpu"],
                      ["--context", "5", "--device", "cpu,"]):
            with self.subTest(words):
                result = run("load", str(path), "--dry-run", *words)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        # github.com/TheTom/llama-cpp-turboquant and other forks have types of their own.
        for kind in ("tq3_0", "turbo3", "q6_0"):
            result = run("load", str(path), "--dry-run", "--context", "5", "--kv-type-k", kind)
            self.assertIn("these are the types of llama.cpp", result.stderr)
            self.assertNotIn("did you mean", result.stderr)
        bare, _ = self.write_gguf(layers=0, heads=None, kv_heads=None)
        document = self.plan(bare, "--context", "5", code=2)
        self.assertEqual(document["error"]["code"], "not_found")
        self.assertIn("llama.attention.head_count", document["error"]["message"])


if __name__ == "__main__":
    program.main(__doc__)
