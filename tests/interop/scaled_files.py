# SPDX-License-Identifier: MIT
"""Folders of decoder_files.py in FP8 with a scale for each block, as DeepSeek V3 and Qwen3 have."""
import json

import safetensors.torch
import torch

SCALES = {"deepseek_v3": torch.float32, "qwen3_moe": torch.bfloat16}   # types by model_type
BLOCK = (48, 40)   # rows and columns, so that small matrices have several and the last are cut
PLAIN = ("embed_tokens.weight", "lm_head.weight", "mlp.gate.weight")   # not in FP8
MOST = 448   # the largest number of F8_E4M3


def split(values, kind):
    """Codes, a scale for each block, and the numbers that they stand for."""
    rows, columns = values.shape
    codes = torch.empty(rows, columns, dtype=torch.float8_e4m3fn)
    scales = torch.empty(-(-rows // BLOCK[0]), -(-columns // BLOCK[1]), dtype=kind)
    numbers = torch.empty(rows, columns, dtype=torch.float64)
    for row in range(scales.shape[0]):
        for column in range(scales.shape[1]):
            place = (slice(row * BLOCK[0], (row + 1) * BLOCK[0]),
                     slice(column * BLOCK[1], (column + 1) * BLOCK[1]))
            scales[row, column] = values[place].abs().max() / MOST
            scale = scales[row, column].double()
            codes[place] = (values[place].double() / scale).float().clamp(
                -MOST, MOST).to(torch.float8_e4m3fn)
            numbers[place] = codes[place].double() * scale
    return codes, scales, numbers


def scale_folder(model, folder):
    """Writes the folder's matrices in FP8; the model gets the numbers that the folder has then."""
    path = folder / "model.safetensors"
    stored, numbers = {}, {}
    for key, values in safetensors.torch.load_file(path).items():
        if values.dim() != 2 or key.endswith(PLAIN):
            stored[key] = values
            continue
        stored[key], scales, numbers[key] = split(values, SCALES[model.config.model_type])
        stored[key + "_scale_inv"] = scales
    safetensors.torch.save_file(stored, path, {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {
        "quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
        "weight_block_size": list(BLOCK), "modules_to_not_convert": ["lm_head"]}
    (folder / "config.json").write_text(json.dumps(config))

    def experts(key, parts, count):
        stem = key.rsplit(".", 1)[0]
        return torch.stack([torch.cat([numbers[f"{stem}.{expert}.{part}_proj.weight"]
                                       for part in parts]) for expert in range(count)])
    with torch.no_grad():
        for key, values in model.state_dict().items():
            if key in numbers:
                values.copy_(numbers[key])
            elif key.endswith("experts.gate_up_proj"):
                values.copy_(experts(key, ("gate", "up"), values.shape[0]))
            elif key.endswith("experts.down_proj"):
                values.copy_(experts(key, ("down",), values.shape[0]))
