"""The size of what is summed: for a sum, the sum of the terms' absolute values, carried through the epilogue.

An error of a few ulps in a sum is relative to this, not to the (perhaps cancelled) result.
"""

import weakref

import torch

# Operators whose output moves no more than about as much as their first argument does.
FOLLOWING = {"relu", "leaky_relu", "tanh", "sigmoid", "hardtanh", "clamp", "clamp_min", "clamp_max", "gelu", "silu", "elu", "celu",
             "softplus", "mish", "hardsigmoid", "hardswish", "neg", "abs", "sqrt", "_to_copy", "clone", "detach", "alias", "relu6", "threshold"}
RESHAPING = {"view", "_unsafe_view", "_reshape_alias", "t", "transpose", "permute", "expand", "unsqueeze", "squeeze", "slice",
             "select", "unbind", "flip"}
REDUCING = {"sum", "mean", "cumsum"}
CONTRACTING = {"mm": (0, 1), "bmm": (0, 1), "addmm": (0, 1, 2), "baddbmm": (0, 1, 2), "convolution": (0, 1, 2), "mv": (0, 1), "dot": (0, 1)}


class Magnitudes:
    """Watches an operator at a time (modes.Float64); of(tensor) is the magnitude, or None where the rules do not reach."""

    LIMIT = 1 << 28  # elements; beyond it a second float64 tensor beside each is too much

    def __init__(self):
        self.known = {}

    def of(self, tensor):
        found = self.known.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def observe(self, name, func, args, kwargs, result):
        if not isinstance(result, torch.Tensor) or not result.dtype.is_floating_point or result.numel() > self.LIMIT:
            return
        size = self.size_of(name, func, args, kwargs)
        if isinstance(size, torch.Tensor) and size.shape == result.shape:
            self.known[id(result)] = (weakref.ref(result), size)

    def size_of(self, name, func, args, kwargs):
        if name in CONTRACTING:
            positions = CONTRACTING[name]
            return func(*[self.absolute(a) if i in positions else a for i, a in enumerate(args)], **kwargs)
        if name in REDUCING:
            return func(self.absolute(args[0]), *args[1:], **kwargs)
        if not args or not any(isinstance(a, torch.Tensor) and self.of(a) is not None for a in args):
            return None
        first = self.of(args[0]) if isinstance(args[0], torch.Tensor) else None
        if name in FOLLOWING:
            return first
        if name in RESHAPING and first is not None:
            return func(first, *args[1:], **kwargs)
        if name in ("add", "sub", "rsub", "maximum", "minimum"):
            return self.absolute(args[0]) + self.absolute(args[1]) * abs(kwargs.get("alpha", 1))
        if name == "mul":
            return self.absolute(args[0]) * self.absolute(args[1])
        if name == "div" and not kwargs.get("rounding_mode"):
            return self.absolute(args[0]) / (args[1].abs() if isinstance(args[1], torch.Tensor) else abs(args[1]))
        return None

    def absolute(self, value):
        """The magnitude of an operand: tracked, else its absolute value."""
        if not isinstance(value, torch.Tensor):
            return abs(value) if isinstance(value, (int, float)) else value
        size = self.of(value)
        return size if size is not None else value.abs()
