# SPDX-License-Identifier: MIT
"""transformers without its casts to float32."""
import contextlib

import torch

SINGLE = torch.float32   # also where casts to it are lifted


@contextlib.contextmanager
def doubles():
    """transformers' casts to float32 give float64."""
    saved = torch.float32, torch.float, torch.Tensor.float, torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = saved[:3]
        torch.set_default_dtype(saved[3])


def keep_scale(model, dtype=SINGLE):
    """Of Gemma's embedding: a number of the model, an f32 in its type, and no step of a sum."""
    scale = model.model.embed_tokens.embed_scale
    model.model.embed_tokens.embed_scale = scale.to(SINGLE).to(dtype).to(scale.dtype)
