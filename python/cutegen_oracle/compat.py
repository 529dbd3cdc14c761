"""What differs between torch 1.13 and 2.11, in one place."""

import contextlib

import torch


def pooled(size, kernel, stride, padding, dilation, ceil_mode):
    """Output length of one pooled axis, as ATen's pooling_output_shape has it."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    out = (-(-span // stride) if ceil_mode else span // stride) + 1
    return out - 1 if ceil_mode and (out - 1) * stride >= size + padding else out


def _max_pool3d_meta(x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    def triple(value):
        value = [value] if isinstance(value, int) else list(value)
        return value * 3 if len(value) == 1 else value

    kernel = triple(kernel)
    stride = triple(stride) if stride else kernel
    sizes = [pooled(n, k, s, p, d, ceil_mode)
             for n, k, s, p, d in zip(x.shape[-3:], kernel, stride, triple(padding), triple(dilation))]
    shape = list(x.shape[:-3]) + sizes
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


def register_missing_meta_kernels():
    """Without a meta kernel FakeTensorMode runs the real one on real zeros, which may not fit in memory."""
    try:
        torch.ops.aten.max_pool3d_with_indices(torch.empty(1, 1, 2, 2, 2, device="meta"), [2, 2, 2])
    except (NotImplementedError, RuntimeError):
        library = torch.library.Library("aten", "IMPL", "Meta")
        library.impl("max_pool3d_with_indices", _max_pool3d_meta)
        register_missing_meta_kernels.library = library  # unregistered when collected


@contextlib.contextmanager
def default_device(device):
    """Factories without a device= make their tensors on `device` (torch 2.0 and newer; earlier: nothing changes)."""
    if device.type == "cpu" or not hasattr(torch, "set_default_device"):
        yield
        return
    with device:
        yield


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def tf32_flags():
    """(matmul, convolution) as PyTorch stands now."""
    return bool(torch.backends.cuda.matmul.allow_tf32), bool(torch.backends.cudnn.allow_tf32)


class GlobalState:
    """What a user's file may set for the whole process; put back before the next file is loaded."""

    def __init__(self):
        self.tf32, self.dtype, self.grad = tf32_flags(), torch.get_default_dtype(), torch.is_grad_enabled()

    def restore(self):
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = self.tf32
        torch.set_default_dtype(self.dtype)
        torch.set_grad_enabled(self.grad)


@contextlib.contextmanager
def tf32(matmul, convolution):
    before = tf32_flags()
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = matmul, convolution
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
