#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tensor operations have the results of PyTorch, for what both have.

Usage: torch_operations.py OPERATION_RESULTS [--device ID] [--torch DEVICE] [--only PATTERN]
--device: on which OPERATION_RESULTS computes (default cpu)
--torch:  on which PyTorch computes (default cpu)

Prints how many results agree, and where both systems differ by rule and not by rounding:
DIFFERENCES. Elements that such a rule concerns are not compared.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from kernel_images import finish, skip

try:
    import numpy
    import torch
    from torch.nn import functional
except ImportError as error:
    skip(f"{error.name} is not installed")
import torch_layers  # noqa: E402 (it needs PyTorch)

DIFFERENCES = {
    "round": "hiptool rounds halves away from zero, PyTorch to even",
    "div": "of integers, x / 0 and the least number / -1 are defined in hiptool only",
    "sqrt": "hiptool gives the nearest number, PyTorch on a processor may give its neighbour",
    "minimum": "hiptool orders -0 before 0, PyTorch leaves open which one it returns",
    "maximum": "hiptool orders -0 before 0, PyTorch leaves open which one it returns",
    "argmin": "hiptool takes the lowest index of equals, PyTorch leaves it open",
    "argmax": "hiptool takes the lowest index of equals, PyTorch leaves it open",
    "cast": "hiptool saturates numbers that an integer or f8e4m3 cannot hold and makes NaN 0 in "
            "integers, PyTorch leaves integers open and makes NaN of the others",
    "normcdf": "PyTorch loses small results to cancellation: 1 + erf(x)",
    "gelu": "PyTorch loses small results to cancellation: 1 + tanh(x)",
    "gelu_erf": "PyTorch loses small results to cancellation: 1 + erf(x)",
    "index_select": "the largest number of the id's type chooses zeros in hiptool only",
    "gather": "the largest number of the id's type chooses zeros in hiptool only",
    "scatter": "the last of equal ids wins in hiptool, PyTorch leaves it open; the largest number "
               "of the id's type writes nothing in hiptool only",
    "scatter_add": "the largest number of the id's type adds nothing in hiptool only",
    "index_add": "the largest number of the id's type adds nothing in hiptool only",
    **torch_layers.DIFFERENCES,
}
# Other generators: the same seed gives other numbers.
NOT_IN_TORCH = {"rand_uniform", "rand_normal"}

TORCH = {"u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
         "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
         "f64": torch.float64, "f8e4m3": torch.float8_e4m3fn, "u32": torch.uint32}
INTEGERS = {"u8", "u32", "i16", "i32", "i64"}
# It moves these and converts them, but has no arithmetic for them.
CONVERTED_ONLY = {"f8e4m3", "u32"}
MOVEMENT = {"cast", "copy_strided", "copy2d", "concat", "fill", "transpose"}
# The distance from 1 to the next number.
EPSILON = {"f16": 2 ** -10, "bf16": 2 ** -7, "f32": 2 ** -23, "f64": 2 ** -52}
SIZE = {"u8": 1, "f8e4m3": 1, "i16": 2, "f16": 2, "bf16": 2, "u32": 4, "i32": 4, "f32": 4,
        "i64": 8, "f64": 8}
NUMBER = r"-?\d+(?:\.\d+)?|NaN"


class Unsupported(Exception):
    """PyTorch does not have this operation for this type."""


class Call:
    """One line of results: inputs and result as tensors, and the words of its variant."""

    def __init__(self, line, data, device):
        self.operation = line["operation"]
        self.dtype = line["dtype"]
        self.variant = line["variant"]
        self.data = line["data"]
        self.shapes = [one["dims"] for one in line["inputs"]]
        self.inputs = [self.tensor(one, data, device) for one in line["inputs"]]
        self.result_dtype = line["result"]["dtype"]
        self.result = self.tensor(line["result"], data, device)
        self.title = f"{self.operation} {self.dtype} {self.variant} {self.data} " + \
            "x".join(map(str, self.shapes[0] if self.shapes else line["result"]["dims"]))

    @staticmethod
    def tensor(of, data, device):
        count = int(numpy.prod(of["dims"], dtype=numpy.int64))
        if count == 0:
            return torch.empty(of["dims"], dtype=TORCH[of["dtype"]], device=device)
        raw = data[of["offset"]:of["offset"] + count * SIZE[of["dtype"]]].copy()
        return torch.from_numpy(raw).view(TORCH[of["dtype"]]).reshape(of["dims"]).to(device)

    def numbers(self):
        return [float(word) for word in re.findall(NUMBER, self.variant)]

    @property
    def axis(self):
        """Of "axis 1 by u32", "last axis", "first axis" and ""."""
        found = re.search(r"axis (\d+)", self.variant)
        return int(found.group(1)) if found else 0 if "first" in self.variant else -1


def whole(call):
    return call.dtype in INTEGERS


def divide(call):
    x, y = call.inputs
    if not whole(call):
        return x / y, None
    defined = (y != 0) & ~((y == -1) & (x == torch.iinfo(x.dtype).min)) \
        if call.dtype != "u8" else y != 0
    return torch.div(x, torch.where(defined, y, 1), rounding_mode="trunc"), defined


def order(function):
    def compute(call):
        x, y = call.inputs
        return function(x, y), ~((x == 0) & (y == 0))
    return compute


def round_half(call):
    x = call.inputs[0]
    return torch.round(x), (x.double() - torch.trunc(x.double())).abs() != 0.5


def affine(call):
    factor, addend = {"-3 x + 5": (-3, 5), "2.7 x - 0.3": (2.7, -0.3)}[call.variant]
    x = call.inputs[0]
    factor, addend = (torch.tensor(n, dtype=x.dtype, device=x.device) for n in (factor, addend))
    if call.dtype in ("f16", "bf16"):   # rounded once, after both
        return (x.float() * factor.float() + addend.float()).to(x.dtype), None
    return x * factor + addend, None


def where(call):
    condition, x, y = call.inputs
    return torch.where(condition.view(torch.int32 if call.shapes and "u32" in call.variant
                                      else condition.dtype) != 0, x, y), None


def cast(call):
    x, to = call.inputs[0], call.result_dtype
    wide = x.double()
    if to in INTEGERS and not whole(call):
        kind = TORCH[to]
        least, most = (0, 2 ** 32 - 1) if to == "u32" else \
            (torch.iinfo(kind).min, torch.iinfo(kind).max)
        # Numbers next to 2^63 round to it.
        held = (wide > least - 1.0) & (wide < (2.0 ** 63 if to == "i64" else most + 1))
        clean = torch.where(held, wide, 0)
        return clean.to(torch.int64).to(kind), held
    if to == "f8e4m3":
        return x.to(TORCH[to]), ~(wide.abs() > 448)
    return x.to(TORCH[to]), None


def fill(call):
    value = call.numbers()[0] if "NaN" not in call.variant else float("nan")
    if call.result_dtype in INTEGERS and (value != int(value) if value == value else True):
        raise Unsupported
    if call.result_dtype in ("u8", "u32"):   # wraps
        value = int(value) % 2 ** (8 * SIZE[call.result_dtype])
    return torch.full_like(call.result, value), None


def copy2d(call):
    out = call.result
    if call.variant == "rows out of wider ones":
        return call.inputs[0][:, 8:8 + out.shape[1]], None
    into = call.inputs[1].clone()
    into[:, 1:1 + call.inputs[0].shape[1]] = call.inputs[0]
    return into, None


def reduce(function):
    def compute(call):
        x = call.inputs[0]
        if call.variant.startswith("first axis"):
            return function(x, 0, True), None
        is_row = call.variant.startswith("last axis")
        return function(x if is_row else x.reshape(-1), -1, False), None
    return compute


def arg(function):
    """Where several are equal, any of their places is right."""
    def compute(call):
        x = call.inputs[0]
        keeps = call.variant == "first axis"
        if call.variant not in ("last axis", "first axis"):
            x = x.reshape(-1)
        axis = 0 if keeps else -1
        found = function(x, axis, True)
        ours = call.result.view(torch.int32).to(torch.int64).reshape(found.shape)
        same = (x.gather(axis, found) == x.gather(axis, ours)) | \
            (x.gather(axis, found).isnan() & x.gather(axis, ours).isnan())
        return torch.where(same, ours, found).reshape(call.result.shape).to(torch.int32), None
    return compute


def total(x, axis, keeps):
    if x.dtype.is_floating_point:
        return torch.sum(x, axis, keeps)
    return torch.sum(x.to(torch.int64), axis, keeps).to(x.dtype)


def ids_of(call):
    """As i64, and which of them choose something; the others are 0."""
    ids = call.inputs[1]
    kind = re.search(r"by (\w+)", call.variant).group(1)
    numbers = ids.view(torch.int32).to(torch.int64) & 0xFFFFFFFF if kind == "u32" else \
        ids.to(torch.int64)
    most = {"u8": 255, "u32": 2 ** 32 - 1, "i64": 2 ** 63 - 1}[kind]
    return torch.where(numbers == most, 0, numbers), numbers != most


def choose(call):
    ids, chosen = ids_of(call)
    x, axis = call.inputs[0], call.axis
    if call.operation == "gather":
        return torch.gather(x, axis, ids), chosen
    shape = [1] * x.dim()
    shape[axis] = -1
    return torch.index_select(x, axis, ids), chosen.reshape(shape).expand(call.result.shape)


def scatter(call):
    """Into a row more, which takes what has no place; only where each id stands once."""
    ids, chosen = ids_of(call)
    x, axis, source = call.inputs[0], call.axis, call.inputs[2]
    if call.operation == "index_add":
        shape = [1] * x.dim()
        shape[axis] = -1
        ids, chosen = (of.reshape(shape).expand(source.shape) for of in (ids, chosen))
    length = x.shape[axis]
    ids = torch.where(chosen, ids, length)
    longer = torch.cat([x, torch.zeros_like(x.narrow(axis, 0, 1))], axis)
    if call.operation == "scatter":
        result = longer.scatter(axis, ids, source)
    elif whole(call):
        result = longer.scatter_add(axis, ids, source)
    else:   # in f64, which the comparison's bound allows for
        result = longer.double().scatter_add(axis, ids, source.double())
    hits = torch.zeros(longer.shape, dtype=torch.int64, device=x.device)
    hits = hits.scatter_add(axis, ids, torch.ones_like(ids))
    compared = hits.narrow(axis, 0, length) <= 1 if call.operation == "scatter" else None
    return result.narrow(axis, 0, length), compared


def softmax(function):
    def compute(call):
        return function(call.inputs[0], call.axis), None
    return compute


def norm(call):
    from_rows = call.inputs[0].shape[-1:]
    if call.operation == "rmsnorm":
        return functional.rms_norm(call.inputs[0], from_rows, call.inputs[1], 1e-5), None
    bias = call.inputs[2] if call.variant == "with bias" else None
    return functional.layer_norm(call.inputs[0], from_rows, call.inputs[1], bias, 1e-5), None


def rope(call):
    """By complex numbers; what has no angle stays."""
    x, cosines, sines = call.inputs
    pairs = cosines.shape[-1]
    wide = x.double()
    turned = wide[..., :2 * pairs]
    angles = torch.complex(cosines.double(), sines.double())[..., :, None, :]
    if call.variant.startswith("neighbours"):
        turned = torch.view_as_complex(turned.reshape(*turned.shape[:-1], pairs, 2).contiguous())
        turned = torch.view_as_real(turned * angles).flatten(-2)
    else:
        turned = torch.complex(turned[..., :pairs], turned[..., pairs:]) * angles
        turned = torch.cat([turned.real, turned.imag], -1)
    return torch.cat([turned, wide[..., 2 * pairs:]], -1), None


def gate(function):
    return lambda call: (function(call.inputs[0].double()) * call.inputs[1].double(), None)


def simple(function):
    return lambda call: (function(*call.inputs), None)


def compare(function):
    return lambda call: (function(*call.inputs).to(torch.uint8), None)


def tanh_gelu(x):
    return functional.gelu(x, approximate="tanh")


def widened(function):
    return lambda call: (function(call.inputs[0].double()), None)


# Equal bits are asked for.
EXACT = {
    "add": simple(torch.add), "sub": simple(torch.sub), "mul": simple(torch.mul), "div": divide,
    "minimum": order(torch.minimum), "maximum": order(torch.maximum),
    "eq": compare(torch.eq), "ne": compare(torch.ne), "lt": compare(torch.lt),
    "le": compare(torch.le), "gt": compare(torch.gt), "ge": compare(torch.ge),
    "neg": simple(torch.neg), "abs": simple(torch.abs), "sqr": simple(torch.square),
    "relu": simple(torch.relu), "sign": simple(torch.sign), "floor": simple(torch.floor),
    "ceil": simple(torch.ceil), "round": round_half,
    "recip": simple(torch.reciprocal), "affine": affine, "where": where, "cast": cast,
    "fill": fill, "copy_strided": simple(torch.clone), "copy2d": copy2d,
    "transpose": lambda call: (call.inputs[0].T, None),
    "concat": lambda call: (torch.cat(call.inputs, int(call.numbers()[1])), None),
    "min": reduce(torch.amin), "max": reduce(torch.amax),
    "argmin": arg(torch.argmin), "argmax": arg(torch.argmax),
    "index_select": choose, "gather": choose, "scatter": scatter,
    "row_bias": simple(torch.add),
}
# So many units of the last place, of the largest of result and, for sums, of what is summed.
ROUNDED = {
    "sqrt": (1, widened(torch.sqrt)), "rsqrt": (2, widened(torch.rsqrt)),
    "exp": (2, widened(torch.exp)),
    "log": (2, widened(torch.log)), "sin": (2, widened(torch.sin)),
    "cos": (2, widened(torch.cos)), "tanh": (2, widened(torch.tanh)),
    "erf": (2, widened(torch.erf)), "normcdf": (4, widened(torch.special.ndtr)),
    "sigmoid": (3, widened(torch.sigmoid)), "silu": (4, widened(functional.silu)),
    "gelu": (8, widened(tanh_gelu)), "gelu_erf": (8, widened(functional.gelu)),
    "powf": (2, lambda call: (call.inputs[0].double().pow(call.numbers()[0]), None)),
    "elu": (3, lambda call: (functional.elu(call.inputs[0].double(), call.numbers()[0]), None)),
    "softmax": (4, softmax(torch.softmax)), "log_softmax": (4, softmax(torch.log_softmax)),
    "rmsnorm": (8, norm), "layernorm": (8, norm), "rope": (4, rope),
    "swiglu": (6, gate(functional.silu)), "gate_gelu": (12, gate(tanh_gelu)),
    "gate_gelu_erf": (12, gate(functional.gelu)), "gate_relu": (2, gate(torch.relu)),
    "gate_sigmoid": (6, gate(torch.sigmoid)),
    "sum": (8, reduce(total)), "scatter_add": (8, scatter), "index_add": (8, scatter),
}


def add_unary(line):
    """An elementwise operation of one tensor needs no entry where PyTorch has its name."""
    name = line["operation"]
    shape = [line["result"][key] for key in ("dtype", "dims")]
    if line["variant"] or [[one["dtype"], one["dims"]] for one in line["inputs"]] != [shape]:
        return
    for module in (torch, torch.special, functional):
        if hasattr(module, name):
            ROUNDED[name] = (2, widened(getattr(module, name)))
            return
    NOT_IN_TORCH.add(name)


# With an activation that is rounded to f32 before the product.
GATES = {"swiglu", "gate_relu", "gate_sigmoid"}


def bits_of(x):
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    return x.contiguous().view(kind)


def magnitude(call):
    """What rounding is relative to, beside the result."""
    x = call.inputs[0].double().abs() if call.inputs else torch.zeros(())
    x = torch.where(x.isfinite(), x, 0)
    if call.operation == "sum":
        return reduce(lambda v, axis, keeps: v.sum(axis, keeps))(
            type("Of", (), {"inputs": [x], "variant": call.variant}))[0]
    if call.operation in ("scatter_add", "index_add"):
        return x.max() + call.inputs[2].double().abs().nan_to_num(0, 0, 0).max() * 8
    if call.operation in ("log_softmax", "layernorm"):
        return x.max() * 2
    if call.operation == "rope":
        return x.max() * call.inputs[1].double().abs().max().clamp(min=1) * 2
    return torch.zeros((), device=call.result.device)


def absolute_bound(call):
    """PyTorch adds 1 to an error function or a hyperbolic tangent: what is lost, in f64. An
    activation is rounded before it is multiplied."""
    if call.operation in GATES and call.dtype != "f64":
        # The activation is a number of f32, and may be a very small one.
        return 2 ** -148 * call.inputs[1].double().abs().nan_to_num(0, 0, 0)
    if "gelu" not in call.operation and call.operation != "normcdf":
        return 0
    x = call.inputs[0].double().abs().nan_to_num(0, 0, 0).clamp(min=1)
    if call.operation == "normcdf":
        return 2 ** -52
    return 2 ** -52 * x * (call.inputs[1].double().abs() if len(call.inputs) > 1 else 1)


def verdict(call):
    """None where the result agrees, else the first difference."""
    tolerance, bound, compared = 0, None, None
    if call.operation in torch_layers.LAYERS:
        want, bound = torch_layers.LAYERS[call.operation](call)
    else:
        tolerance, function = (0, EXACT[call.operation]) if call.operation in EXACT else \
            ROUNDED[call.operation]
        want, compared = function(call)
    got = call.result
    if want.numel() != got.numel():
        return f"hiptool {list(got.shape)}, PyTorch {list(want.shape)}"
    want = want.reshape(got.shape)
    if (tolerance == 0 and bound is None) or whole(call):
        if want.dtype != got.dtype:
            want = want.to(got.dtype) if got.dtype != torch.uint32 else want.to(torch.int32)
        same = bits_of(got) == bits_of(want)
        if got.dtype.is_floating_point:
            same |= got.double().isnan() & want.double().isnan()
    else:
        want, have = want.double(), got.double()
        most = torch.finfo(got.dtype).max
        if bound is None:
            tiny = torch.finfo(got.dtype).smallest_normal
            scale = torch.maximum(want.abs(), magnitude(call).to(want.device)).clamp(min=tiny)
            bound = tolerance * EPSILON[call.dtype] * scale + absolute_bound(call)
        same = ((have - want).abs() <= bound) | (have == want) | (have.isnan() & want.isnan())
        same |= (want.abs() > most * (1 - EPSILON[call.dtype])) & have.isinf() & \
            (want.sign() == have.sign())
    if compared is not None:
        same |= ~compared.reshape(got.shape)
    if same.all():
        return None
    place = int((~same).reshape(-1).nonzero()[0])
    return f"element {place}: hiptool {got.reshape(-1)[place].item()}, " \
        f"PyTorch {want.reshape(-1)[place].item()}; {int((~same).sum())} of {got.numel()}"


def find_unlisted(found, tables):
    """Operations that are in the results only, or in the tables only."""
    return [f"{name}: in no table of this test" for name in sorted(found - tables)] + \
        [f"{name}: in no result" for name in sorted(tables - found)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--torch", default="cpu")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    counts = collections.Counter()
    unsupported = collections.defaultdict(set)
    torch_layers.prepare()
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run([options.program, options.device, folder], check=True, text=True,
                              capture_output=True, timeout=600).stdout
        data = numpy.fromfile(pathlib.Path(folder, "results.bin"), numpy.uint8)
        lines = pathlib.Path(folder, "results.jsonl").read_text("utf-8").splitlines()
        lines = [json.loads(line) for line in lines]
        listed = {*EXACT, *ROUNDED, *torch_layers.LAYERS, *NOT_IN_TORCH, *DIFFERENCES}
        for line in lines:
            if line["operation"] not in listed:
                add_unary(line)
        tables = {*listed, *ROUNDED, *NOT_IN_TORCH}
        problems = find_unlisted({line["operation"] for line in lines}, tables)
        for line in lines:
            if line["operation"] not in tables:
                continue
            call = Call(line, data, options.torch)
            if not re.search(options.only, call.title):
                continue
            if call.operation in NOT_IN_TORCH or \
                    call.dtype in CONVERTED_ONLY and call.operation not in MOVEMENT:
                unsupported[call.operation].add(call.dtype)
                continue
            try:
                problem = verdict(call)
            except (RuntimeError, NotImplementedError, Unsupported) as error:
                if not isinstance(error, Unsupported) and "not implemented" not in str(error):
                    raise RuntimeError(call.title) from error
                unsupported[call.operation].add(call.dtype)
                continue
            counts[call.operation] += 1
            if problem:
                problems.append(f"{call.title}: {problem}")
    print(said.strip())
    for operation, dtypes in unsupported.items():
        print(f"not in PyTorch: {operation} of {' '.join(sorted(dtypes))}")
    for operation, difference in DIFFERENCES.items():
        print(f"{operation}: {difference}")
    print(f"{len(counts)} operations, PyTorch {torch.__version__} on {options.torch}")
    finish(sum(counts.values()), problems)


if __name__ == "__main__":
    main()
