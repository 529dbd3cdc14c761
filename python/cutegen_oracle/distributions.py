"""How inputs and parameters are drawn for a trial (DESIGN, accuracy policy). Only floating tensors change."""

import torch


def generator_for(tensor, seed):
    generator = torch.Generator(device=tensor.device)
    generator.manual_seed(seed)
    return generator


def random_like(tensor, generator):
    return torch.rand(tensor.shape, generator=generator, device=tensor.device, dtype=torch.float32)


def sign_symmetric(x, generator):
    sign = (random_like(x, generator) < 0.5).to(x.dtype) * 2 - 1
    return x.abs() * sign


def wide_exponent(x, generator):
    exponent = torch.floor(random_like(x, generator) * 25) - 12  # -12 .. 12
    return (x.float() * torch.exp2(exponent)).to(x.dtype) if x.dtype != torch.float64 else x * torch.exp2(exponent.double())


def ties(x, generator):
    """Five of x's own values, each about equally often."""
    flat = x.reshape(-1)
    if flat.numel() == 0:
        return x
    picks = (torch.rand(5, generator=generator, device=x.device) * flat.numel()).long().clamp(max=flat.numel() - 1)
    return flat[picks][(random_like(x, generator) * 5).long().clamp(max=4)]


def small_integers(x, generator):
    return (torch.floor(random_like(x, generator) * 9) - 4).to(x.dtype)  # -4 .. 4


DISTRIBUTIONS = {
    "as_given": lambda x, generator: x,
    "times3": lambda x, generator: x * 3,
    "times001": lambda x, generator: x * 0.01,
    "negated": lambda x, generator: -x,
    "sign_symmetric": sign_symmetric,
    "wide_exponent": wide_exponent,
    "ties": ties,
    "small_integers": small_integers,
}


def draw(name, x, seed):
    """`x` as `name` has it; integers and bools as given."""
    if name not in DISTRIBUTIONS:
        raise ValueError(f"unknown distribution '{name}'")
    return DISTRIBUTIONS[name](x, generator_for(x, seed)) if x.dtype.is_floating_point else x


def randomised(name, kind, value, seed):
    """A parameter or running statistic away from its initial value, as large as it was. Other buffers stay: they may be
    masks or tables that the module's meaning rests on."""
    if not value.dtype.is_floating_point or value.numel() == 0:
        return value
    generator = generator_for(value, seed)

    def normal():
        return torch.randn(value.shape, generator=generator, device=value.device, dtype=torch.float32).to(value.dtype)

    leaf = name.rsplit(".", 1)[-1]
    if kind != "param":
        if leaf == "running_var":
            return random_like(value, generator).to(value.dtype) + 0.5
        return normal() * 0.1 if leaf == "running_mean" else value
    low, high = float(value.min()), float(value.max())
    if low == high == 0.0:
        return normal() * 0.1
    if low == high:
        return (low * (0.5 + random_like(value, generator))).to(value.dtype)
    mean, spread = value.double().mean().item(), value.double().std(unbiased=False).item()
    return (normal() * spread + mean).to(value.dtype)
