"""The element types that cutegen carries, under PyTorch's names."""

import torch

from .errors import UNSUPPORTED, OracleError

NAMES = {
    torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float64: "float64",
    torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8", torch.uint8: "uint8", torch.bool: "bool",
}
BY_NAME = {name: dtype for dtype, name in NAMES.items()}
# Explicit mantissa bits and the exponent of the smallest normal number.
MANTISSA = {torch.float32: (23, -126), torch.float16: (10, -14), torch.bfloat16: (7, -126), torch.float64: (52, -1022)}


def name_of(dtype, where):
    if dtype not in NAMES:
        raise OracleError(UNSUPPORTED, f"{where} has dtype {str(dtype).replace('torch.', '')}, which cutegen does not carry")
    return NAMES[dtype]


def item_size(dtype):
    return torch.empty((), dtype=dtype).element_size()


def spec(name, tensor):
    """The JSON form of a TensorSpec."""
    return {"name": name, "dtype": name_of(tensor.dtype, name), "shape": [int(n) for n in tensor.shape]}
