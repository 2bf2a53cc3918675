# SPDX-License-Identifier: MIT
"""Seeds of the targets packed, hash_list and folder, which write small files next to each other."""
import json

MARK = b"\n--8<--\n"   # between the files of one input; file_folder.hpp


def joined(*files):
    return MARK.join(item if isinstance(item, bytes) else item.encode() for item in files)


def packed(config, *tensors):
    quantization = {"quantization_config": config} if config else {}
    return joined(json.dumps(quantization), "".join(line + "\n" for line in tensors))


def packed_seeds():
    """Each form of packed weights, for a layer of 64 outputs and 128 inputs."""
    gptq = ["I32 [16,64] l.qweight", "I32 [1,8] l.qzeros", "F16 [1,64] l.scales"]
    awq = ["I32 [128,8] l.qweight", "I32 [1,8] l.qzeros", "F16 [1,64] l.scales"]
    group = {"bits": 4, "group_size": 64}
    return {
        "gptq": packed({"quant_method": "gptq", **group}, *gptq, "I32 [128] l.g_idx"),
        "gptq-bare": packed(None, *gptq), "gptq-no-zeros": packed(group, gptq[0], gptq[2]),
        "awq": packed({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, *awq),
        "awq-gemv": packed(group, "I16 [16,128] l.qweight", "F16 [2,64] l.scales"),
        "by-module": packed({**group, "l": {"bits": 8}}, gptq[0], gptq[2]),
        "nunchaku": packed(None, "I8 [64,64] l.qweight", "F16 [2,64] l.wscales"),
        "fp-quant": packed(None, "U8 [64,64] l.qweight", "U8 [64,4] l.scales"),
        "torchao": packed(None, "U8 [64,64] l.weight_qdata", "F16 [64,2] l.weight_scale"),
        "exl2": packed(None, "I32 [16,64] l.q_weight", "I16 [128] l.q_perm",
                       "I16 [2] l.q_groups"),
        "exl3": packed(None, "I16 [8,4,64] l.trellis", "F16 [128] l.suh"),
        "hqq": packed({"quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}},
                      "U8 [64,64] l.W_q", "F16 [128,1] l.scale"),
        "hqq-3": packed({"nbits": 3}, "I32 [13,64] l.W_q"),
        "aqlm": packed(None, "I16 [64,16,1] l.codes", "F16 [1,65536,1,8] l.codebooks"),
        "aqlm-empty": packed(None, "I16 [64,0] l.codes", "F16 [1,2,1,8] l.codebooks"),
        "marlin": packed(None, "I32 [8,128] l.B", "F16 [1,64] l.s", "I32 [8] l.workspace"),
        "mxfp4": packed(None, "U8 [2,64,4,16] e.down_proj_blocks",
                        "U8 [2,64,4] e.down_proj_scales"),
        "compressed": packed({"config_groups": {"group_0": {"weights": {
            "num_bits": 4, "group_size": 64}}}}, "I32 [64,16] l.weight_packed",
            "BF16 [64,2] l.weight_scale", "I64 [2] l.weight_shape"),
        "nvfp4": packed(None, "U8 [64,64] l.weight", "F8_E4M3 [64,8] l.weight_scale",
                        "F32 [] l.weight_scale_2"),
        "fp8": packed({"quant_method": "fp8"}, "F8_E4M3 [64,128] l.weight",
                      "F32 [1,1] l.weight_scale_inv"),
        "bnb-4": packed(None, "U8 [4096,1] l.weight", "U8 [128] l.weight.absmax",
                        "F32 [16] l.weight.quant_map"),
        "bnb-8": packed(None, "I8 [64,128] l.weight", "F32 [64] l.SCB"),
        "mlx": packed({"group_size": 64, "bits": 4}, "U32 [64,16] l.weight", "F16 [64,2] l.scales",
                      "F16 [64,2] l.biases"),
        "quark": packed(None, "I32 [128,8] l.weight", "F16 [2,64] l.weight_scale"),
        "bitnet": packed({"quant_method": "bitnet"}, "U8 [16,128] l.weight",
                         "BF16 [1] l.weight_scale"),
        "unknown": packed({"quant_method": "new"}, "I64 [64,16] l.weight"),
        "huge": packed(group, "I32 [1099511627776] l.qweight"),
        "empty": packed({}, "U8 [0] l.weight", "U8 [0,0] l.weight_scale"),
        "scalar": packed(None, "U8 [] l.weight", "U8 [] l.weight_scale", "U8 [] .weight", "U8 [] "),
        "file": joined("", "U8 [1] quant_config"),
    }


def hash_list_seeds():
    one, two = "ab" * 32, "CD" * 32
    utf16 = f"{one}  m.gguf\r\n".encode("utf-16")
    return {
        "text": joined(f"{one}  m.gguf\n{two}  other\n"), "binary": joined(f"{one} *m.gguf\n"),
        "blank": joined(f"{one} m.gguf"), "tab": joined(f"{one}\tm.gguf\n"),
        "windows": joined(f"{one}  m.gguf\r\n"), "mark": joined(f"\ufeff{one}  m.gguf\n"),
        "utf16": joined(utf16), "utf16-big": joined(utf16[1::-1] + b"".join(
            utf16[i + 1:i + 2] + utf16[i:i + 1] for i in range(2, len(utf16), 2))),
        "bsd": joined(f"SHA256 (m.gguf) = {one}\n"),
        "openssl": joined(f"SHA2-256(m.gguf)= {one}\n"),
        "escaped": joined(f"\\{one}  m.gguf\\n\n"), "path": joined(f"{one}  ./m.gguf\n"),
        "get-file-hash": joined(
            f"Algorithm Hash Path\nSHA256    {two}    C:\\models\\m.gguf\n"),
        "differ": joined(f"{one}  m.gguf\n{two}  m.gguf\n"), "own": joined("", f"{two}\n"),
        "own-other": joined(f"{one}  m.gguf\n", f"{two}  elsewhere/m.gguf\n"),
        "agree": joined(f"{two}  m.gguf\n", f"{two.lower()}  x\\m.gguf\n"),
        "metadata": joined("", "", f"0123456789\n{one}\n1700000000.5\n"),
        "metadata-git": joined("", "", "0\n" + "ab" * 20 + "\n"),
        "short": joined("ab" * 31 + "  m.gguf\n"), "prefix": joined(f"sha256:{one}  m.gguf\n"),
        "no-name": joined(f"{one}\n"), "bsd-open": joined(f"SHA256 (m.gguf = {one}\n"),
        "reversed": joined(f"m.gguf: {one}\n"), "table": joined(f"| m.gguf | `{one}` |\n"),
        "label": joined("", f"Hash      : {two}\n"), "pipe": joined("", f"{one}  -\n"),
        "cut": joined("", f"SHA256  {two}  D:\\backup\\m...\n"),
        "tensors": joined("", f"sha256  {one}  m.gguf\n"),
        "empty": b"",
    }


def folder_seeds(gguf, shards, safetensors):
    """Folders from one model of each format and a GGUF set of two shards."""
    def files(**named):
        return joined(*(name.encode() + b"\n" + (
            content if isinstance(content, bytes) else json.dumps(content).encode())
            for name, content in named.items()))

    def tree(*pairs):
        return files(**dict(pairs))

    digest = "0" * 64
    st = "model.safetensors"
    index = "model.safetensors.index.json"
    manifest = {"layers": [{"mediaType": "application/vnd.ollama.image.model",
                            "digest": "sha256:" + digest}]}
    hub = ".cache/huggingface/hub/models--o--n/"
    return {
        "gguf": tree(("m.gguf", gguf)), "two": tree(("a.gguf", gguf), ("b.gguf", gguf)),
        "safetensors": tree((st, safetensors), ("config.json", {"model_type": "llama"})),
        "consolidated": tree((st, safetensors), ("consolidated.safetensors", safetensors)),
        "index": tree((index, {"weight_map": {"t": "sub/a"}}), ("sub/a", safetensors)),
        "index-up": tree((index, {"weight_map": {"t": "sub/../a"}}), ("a", safetensors),
                         ("sub/b", b"")),
        "lost-index": tree(("model-00002-of-00002.safetensors", safetensors)),
        "shards": tree(("m-00001-of-00002.gguf", shards[0]), ("m-00002-of-00002.gguf", shards[1])),
        "later-shard": tree(("m-00002-of-00002.gguf", shards[1])),
        "apple": tree(("._m.gguf", b"\0\5\x16\7"), ("m.gguf", gguf)),
        "apple-alone": tree(("._m.gguf", b"\0\5\x16\7")),
        "pieces": tree(("m.gguf.part1of2", gguf[:20]), ("m.gguf.part2of2", gguf[20:])),
        "split": tree(("m.gguf.aa", gguf[:20]), ("m.gguf.ab", gguf[20:])),
        "aria2": tree(("m.gguf", gguf), ("m.gguf.aria2", b"")),
        "unfinished": tree(("m.gguf.part", b""), (".cache/huggingface/download/x.incomplete", b"")),
        "renamed": tree(("m.gguf.1", gguf)), "pickle": tree(("pytorch_model.bin", b"")),
        "foreign": tree(("model.onnx", b"")), "below": tree(("Q4/m.gguf", gguf)),
        "joined": tree(("m.gguf", gguf + gguf)), "empty": tree(("README.md", b"")),
        "hub": tree((hub + "refs/main", b"r"), (hub + "snapshots/r/m.gguf", gguf)),
        "hub-tag": tree((hub + "refs/main", b"r\n"), (hub + "snapshots/r/n-Q4_0.gguf", gguf),
                        (hub + "snapshots/r/n-Q8_0.gguf", gguf)),
        "hub-lost": tree((hub + "snapshots/r/m.gguf", gguf), (hub + "snapshots/s/m.gguf", gguf)),
        "hub-path": tree((hub + "refs/main", b"../.."), (hub + "snapshots/r/m.gguf", gguf)),
        "ollama": tree((".ollama/models/manifests/registry.ollama.ai/library/n/latest", manifest),
                       (".ollama/models/blobs/sha256-" + digest, gguf)),
        "docker": tree((".docker/models/models.json", {"models": [
            {"id": "sha256:" + digest, "tags": ["o/n:latest", "ai/n"]}]}),
            (".docker/models/manifests/sha256/" + digest, manifest)),
        "lm-studio": tree((".lmstudio/models/o/n/n-q4_0.gguf", gguf)),
        "lm-studio-settings": tree((".lmstudio/settings.json", {"downloadsFolder": "."})),
        "llama-cpp": tree((".cache/llama.cpp/o_n_n-q4_0.gguf", gguf)),
        "model-scope": tree((".cache/modelscope/hub/models/o/n/n.gguf", gguf)),
    }
