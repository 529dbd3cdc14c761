"""Runs of a module in other arithmetic: float64 (the truth), TF32-rounded operands, half-precision storage."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .magnitude import Magnitudes
from .normal_form import RANDOM
from .trees import map_tensors

MATMULS = {"mm": (0, 1), "addmm": (1, 2), "bmm": (0, 1), "baddbmm": (1, 2), "addbmm": (1, 2)}  # op -> its two operands
CONVOLUTIONS = {"convolution": (0, 1), "_convolution": (0, 1), "cudnn_convolution": (0, 1), "cudnn_convolution_transpose": (0, 1)}


def op_name(func):
    return func._schema.name.split("::")[1]


def is_float(value):
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def to_double(tensor):
    return tensor.double() if tensor.dtype.is_floating_point else tensor


class Float64(TorchDispatchMode):
    """Every floating computation in float64, whatever the module's own casts say. Random draws stay those of the run in the
    user's own dtype, so that dropout masks agree. With `magnitudes` the size of what is summed is tracked beside it."""

    def __init__(self, magnitudes=False):
        super().__init__()
        self.magnitudes = Magnitudes() if magnitudes else None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = op_name(func)
        plain = name.rstrip("_") if not name.startswith("__") else name
        if plain in RANDOM:
            return self.random(func, plain, args, kwargs)
        if getattr(kwargs.get("dtype"), "is_floating_point", False):
            kwargs["dtype"] = torch.float64
        if name.endswith("_") and not name.endswith("__"):
            result = func(*args, **kwargs)
        else:
            args = map_tensors(tuple(args), to_double)
            kwargs = map_tensors(kwargs, to_double)
            if name in ("_softmax", "_log_softmax"):
                args = (args[0], args[1], False)
            result = func(*args, **kwargs)
        if self.magnitudes is not None:
            self.magnitudes.observe(name, func, args, kwargs, result)
        return result

    def random(self, func, plain, args, kwargs):
        takes_dtype = "dtype" in [a.name for a in func._schema.arguments] and plain not in ("randint", "randint_like", "randperm")
        if takes_dtype and kwargs.get("dtype") in (None, torch.float64):
            kwargs["dtype"] = torch.float32
        if plain == "native_dropout" and is_float(args[0]):
            # The mask depends on the dtype's vector width, so it is drawn for the user's dtype and applied to ours.
            _, mask = func(torch.ones_like(args[0], dtype=torch.float32), *args[1:], **kwargs)
            keep = 1.0 - args[1] if args[2] in (True, None) else 1.0
            return args[0] * mask * (1.0 / keep if keep else 0.0), mask
        if op_name(func).endswith("_") and is_float(args[0]):
            drawn = torch.empty_like(args[0], dtype=torch.float32)
            func(drawn, *args[1:], **kwargs)
            return args[0].copy_(drawn)
        down = map_tensors(tuple(args), lambda t: t.float() if t.dtype == torch.float64 else t)
        return map_tensors(func(*down, **kwargs), to_double)


def round_mantissa(tensor, bits):
    """float32 values rounded to nearest even with `bits` explicit mantissa bits; infinities and NaN unchanged."""
    if tensor.dtype != torch.float32:
        return tensor
    drop = 23 - bits
    word = tensor.contiguous().view(torch.int32)
    odd = (word >> drop) & 1
    rounded = ((word + ((1 << (drop - 1)) - 1) + odd) & -(1 << drop)).view(torch.float32)
    return torch.where(torch.isfinite(tensor), rounded, tensor)


class RoundedOperands(TorchDispatchMode):
    """Contractions of the allowed kinds see operands of `bits` mantissa bits (TF32: 10); the rest is as it was."""

    def __init__(self, matmul, convolution, bits=10):
        super().__init__()
        self.operands = {**(MATMULS if matmul else {}), **(CONVOLUTIONS if convolution else {})}
        self.bits = bits
        self.fired = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        positions = self.operands.get(op_name(func))
        if positions:
            self.fired = True
            args = list(args)
            for position in positions:
                args[position] = round_mantissa(args[position], self.bits)
        return func(*args, **(kwargs or {}))


def to_half_values(tensor):
    return tensor.half().to(tensor.dtype) if tensor.dtype == torch.float32 else tensor


class HalfStorage(TorchDispatchMode):
    """Every float32 tensor that an operator reads or writes holds float16 values; accumulation stays in float32."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = op_name(func)
        if name.endswith("_") or any(a.alias_info is not None for a in func._schema.arguments):
            return func(*args, **(kwargs or {}))
        args = map_tensors(tuple(args), to_half_values)
        return map_tensors(func(*args, **(kwargs or {})), to_half_values)
