"""Where the wrong elements are, in words: what a person would see in a heat map."""

import torch

FEW = 4096  # indices of an axis that are looked at one by one


def axis_names(rank):
    """The names that people use for the last two axes, "axis k" for the others."""
    return [f"axis {axis}" for axis in range(rank - 2)] + ["row", "column"][-min(rank, 2):] if rank > 1 else ["element"]


def describe_wrong(wrong, shape):
    """Sentences about a flat bool mask over a row-major `shape`; empty when nothing is wrong."""
    count, total = int(wrong.sum()), wrong.numel()
    if count == 0:
        return []
    if count == total:
        return ["all elements"]
    sentences = [f"{count} of {total} elements ({100.0 * count / total:.3g} %)"]
    if len(shape) == 0:
        return sentences
    names = axis_names(len(shape))
    for axis, size in enumerate(shape):
        if size > 1:
            sentences.extend(describe_axis(wrong, shape, axis, names))
    return sentences


def describe_axis(wrong, shape, axis, names):
    """What the indices along one axis that hold any wrong element have in common."""
    size = shape[axis]
    outer = inner = 1
    for n in shape[:axis]:
        outer *= n
    for n in shape[axis + 1:]:
        inner *= n
    hit = wrong.view(outer, size, inner).any(dim=2).any(dim=0)
    indices = torch.nonzero(hit).reshape(-1)
    count = indices.numel()
    if count == size:
        return []
    name = names[axis]
    first, last = int(indices[0]), int(indices[-1])
    if count == 1:
        return [f"only {name} {first} of {size}"]
    if last - first + 1 == count:
        return [contiguous(name, first, last, size, axis == len(shape) - 1, len(shape))]
    steps = indices[1:] - indices[:-1]
    step = int(steps[0])
    if bool((steps == step).all()):
        start = f", from {first}" if first else ""
        return [f"every {ordinal(step)} {name}{start}"]
    block = block_pattern(hit, size)
    return [f"{name}s {block}"] if block else []


def contiguous(name, first, last, size, innermost, rank):
    if last == size - 1:
        if innermost and rank > 1:
            return f"only the last {size - first} elements of each row"
        return f"{name}s >= {first} (of {size})"
    if first == 0:
        return f"{name}s < {last + 1} (of {size})"
    return f"{name}s {first} to {last} (of {size})"


def block_pattern(hit, size):
    """A part of each block of 2^k indices, the smallest such k: a lane, fragment or tile that went wrong."""
    period = 2
    while period <= min(size // 2, FEW):
        whole = size // period * period
        folded = hit[:whole].view(-1, period)
        if bool((folded == folded[0]).all()) and not bool(folded[0].all()):
            inside = torch.nonzero(folded[0]).reshape(-1)
            first, last = int(inside[0]), int(inside[-1])
            if last - first + 1 == inside.numel():
                return f"{first} to {last} of every {period}" if first != last else f"{first} of every {period}"
            return f"at {inside.numel()} fixed places of every {period}"
        period *= 2
    return ""


def ordinal(n):
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"
