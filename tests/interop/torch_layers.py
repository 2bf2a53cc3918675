# SPDX-License-Identifier: MIT
"""Products, convolutions, pooling, upsampling and attention by PyTorch, for torch_operations.py.

Functions get a call and give what it should give and by how much it may differ; None: not at all.
What is rounded more than once is compared with PyTorch's result in f64 from the same inputs.

The bound of a sum of k products is the one of hiptool's documentation, (8 sqrt(k) + k / 8) u
sqrt(sum of squares), where u is 2^-24, and half a unit of the result; of f64 twice that with
u = 2^-53, since PyTorch rounds as well.
"""
import math

import torch
from torch.nn import functional

DIFFERENCES = {
    "max_pool2d": "hiptool orders -0 before 0, PyTorch takes the first of them",
}
EPSILON = {torch.float16: 2 ** -10, torch.bfloat16: 2 ** -7, torch.float32: 2 ** -23,
           torch.float64: 2 ** -52}


def prepare():
    """Products of f32 keep their digits, and convolutions sum products: no transforms."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.enabled = False


def unit(dtype):
    """Of the sums of a dtype."""
    return 2 ** -53 if dtype == torch.float64 else 2 ** -24


def least(dtype):
    """The least number that sums of a dtype tell from 0."""
    return 2 ** -1074 if dtype == torch.float64 else 2 ** -149


def rounded(want, slack, dtype):
    """The slack of sums with the rounding of the result to the dtype."""
    info = torch.finfo(dtype)
    units = EPSILON[dtype] / 2 * (want.abs() + slack)
    # Below the normal numbers units do not shrink.
    units = units.clamp(min=info.smallest_normal * EPSILON[dtype] / 2)
    return slack * (2 if dtype == torch.float64 else 1) + units


def products(function, k):
    """Of a function that sums k products of two inputs."""
    def compute(call):
        x, y = (one.double() for one in call.inputs[:2])
        dtype = call.result.dtype
        want = function(call, x, y) + 0.0   # of hiptool a sum is never -0
        if call.data == "whole numbers":
            return want, None
        terms = k(call)
        squares = function(call, x.square(), y.square())
        # Squares of numbers of f64 may be too small for it.
        size = torch.where(squares > 2 ** -900, squares.sqrt(), function(call, x.abs(), y.abs()))
        slack = (8 * math.sqrt(terms) + terms / 8) * unit(dtype) * size + terms * least(dtype)
        return want, rounded(want, slack, dtype)
    return compute


def matmul(call, a, b):
    turn_a, turn_b = (letter == "t" for letter in call.variant)
    return torch.matmul(a.mT if turn_a else a, b.mT if turn_b else b)


def matmul_terms(call):
    return call.shapes[0][-2 if call.variant[0] == "t" else -1]


def conv_options(call, rank):
    """Of an image; along a line those of its width."""
    options = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
    if call.variant in ("3x3", "3x3 in groups"):
        options["padding"] = (1, 1)
    elif call.variant == "2x3 with strides":
        options = {"stride": (2, 3), "padding": (1, 2), "dilation": (1, 2)}
    elif call.variant != "1x1":
        raise ValueError(f"unknown variant: {call.title}")
    return {name: numbers[2 - rank:] for name, numbers in options.items()}


def conv(rank):
    function = functional.conv1d if rank == 1 else functional.conv2d

    def apply(call, x, weights):
        return function(x, weights, groups=x.shape[1] // weights.shape[1],
                        **conv_options(call, rank))
    return products(apply, lambda call: math.prod(call.shapes[1][1:]))


def conv_transpose(rank):
    function = functional.conv_transpose1d if rank == 1 else functional.conv_transpose2d

    def groups(call):
        return call.result.shape[1] // call.shapes[1][1]

    def apply(call, x, weights):
        more = (1, 0) if call.variant == "2x3 with strides" else (0, 0)
        return function(x, weights, groups=groups(call), output_padding=more[2 - rank:],
                        **conv_options(call, rank))

    def terms(call):
        return call.shapes[1][0] // groups(call) * math.prod(call.shapes[1][2:])
    return products(apply, terms)


def windows(call):
    """Kernel and stride. Kernels are cut to the image: then the result tells them apart."""
    image, result = call.shapes[0][2:], list(call.result.shape[2:])
    for wanted, stride in (((2, 2), (2, 2)), ((3, 2), (1, 3)), ((1, 5), (2, 1))):
        kernel = [min(pair) for pair in zip(wanted, image)]
        counts = [(size - length) // step + 1
                  for size, length, step in zip(image, kernel, stride)]
        if call.variant == "{}x{}".format(*kernel) and counts == result:
            return kernel, stride
    raise ValueError(f"unknown variant: {call.title}")


def avg_pool(call):
    x, dtype = call.inputs[0], call.result.dtype
    kernel, stride = windows(call)
    if not dtype.is_floating_point or call.data == "whole numbers":
        return functional.avg_pool2d(x, kernel, stride), None
    terms = math.prod(kernel)
    want = functional.avg_pool2d(x.double(), kernel, stride)
    squares = (functional.avg_pool2d(x.double().square(), kernel, stride) * terms).sqrt()
    slack = (8 * math.sqrt(terms) + terms / 8) * unit(dtype) * squares / terms
    return want, rounded(want, slack + 2 * unit(dtype) * want.abs() + least(dtype), dtype)


def max_pool(call):
    found = functional.max_pool2d(call.inputs[0], *windows(call))
    both = (found == 0) & (call.result == 0)
    return torch.where(both, call.result, found), None


def nearest(call):
    return functional.interpolate(call.inputs[0], size=call.result.shape[2:],
                                  mode="nearest"), None


def bilinear(call):
    x, dtype = call.inputs[0].double(), call.result.dtype
    size = list(call.result.shape[2:])
    factors = {"by factors": (1.6, 0.5)}.get(call.variant, (None, None))
    aligns = call.variant == "aligned corners"
    # The function of torch.nn makes the size of the factors.
    upsample = torch.ops.aten.upsample_bilinear2d
    want = upsample(x, size, aligns, *factors)
    if call.data == "whole numbers" and call.variant == "doubled":
        return want, None   # weights are quarters
    most = x.abs()
    for axis in (2, 3):   # the largest number with a weight
        along = [1, 1]
        along[axis - 2] = size[axis - 2]
        each = torch.eye(x.shape[axis], dtype=x.dtype, device=x.device)
        each = each.reshape((1, -1, x.shape[axis], 1) if axis == 2 else (1, -1, 1, x.shape[axis]))
        weighs = upsample(each, along, aligns, *factors).reshape(-1, size[axis - 2]).T > 0
        most = torch.where(weighs, most.transpose(axis, -1)[..., None, :], 0).amax(-1)
        most = most.transpose(axis, -1)
    operations = 6
    if dtype == torch.float64:   # where positions are rounded as much as their results
        operations += max(x.shape[2:])
    return want, rounded(want, operations * unit(dtype) * most + 4 * least(dtype), dtype)


def attention(call):
    """The bound follows the errors of scores, which are exponents, and of the two sums."""
    q, keys, values = (one.double().transpose(0, 1) for one in call.inputs)
    shared = q.shape[0] // keys.shape[0]
    keys, values = (one.repeat_interleave(shared, 0) for one in (keys, values))
    places = torch.arange(q.shape[1], device=q.device)
    distance = places[:, None] - places[None, :]
    sees = distance >= 0
    if call.variant.startswith("window"):
        sees &= distance < call.numbers()[0]
    scale, u, terms = 0.125, 2 ** -24, q.shape[-1]
    scores = q @ keys.mT * scale
    squares = (q.square() @ keys.square().mT).sqrt()
    slack = ((8 * math.sqrt(terms) + terms / 8) * u * squares + terms * 2 ** -149) * scale
    slack += 2 * u * scores.abs()
    if call.variant.startswith("softcap"):
        scores = call.numbers()[0] * torch.tanh(scores / call.numbers()[0])
        slack += 8 * u * scores.abs()
    weights = torch.softmax(scores.masked_fill(~sees, -math.inf), -1)
    if call.variant.startswith("softcap"):
        want = weights @ values
    else:
        want = functional.scaled_dot_product_attention(q, keys, values, sees, scale=scale)
    widest = scores.masked_fill(~sees, -math.inf).amax(-1, keepdim=True) - \
        scores.masked_fill(~sees, math.inf).amin(-1, keepdim=True)
    error = 2 * slack.masked_fill(~sees, 0).amax(-1, keepdim=True) + \
        (sees.sum(-1, keepdim=True) / 32 + widest + 64) * u
    bound = error * (weights @ values.abs()) + 2 * u * want.abs() + 2 ** -149
    return want.transpose(0, 1), bound.transpose(0, 1)


LAYERS = {
    "matmul": products(matmul, matmul_terms), "matmul_exact": products(matmul, matmul_terms),
    "conv1d": conv(1), "conv2d": conv(2),
    "conv_transpose1d": conv_transpose(1), "conv_transpose2d": conv_transpose(2),
    "avg_pool2d": avg_pool, "max_pool2d": max_pool,
    "upsample_nearest1d": nearest, "upsample_nearest2d": nearest,
    "upsample_bilinear2d": bilinear, "attention": attention,
}
