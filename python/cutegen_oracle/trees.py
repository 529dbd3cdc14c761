"""Nested lists, tuples and dicts of tensors, flattened in order with a name for each leaf."""

import torch


def flatten(tree, name):
    """[(name, leaf)] in order: list and tuple items are numbered, dict items keyed, dataclass-like namedtuples by field."""
    if isinstance(tree, dict):
        return [leaf for key, value in tree.items() for leaf in flatten(value, f"{name}.{key}" if name else str(key))]
    if isinstance(tree, (list, tuple)):
        fields = getattr(tree, "_fields", None) or range(len(tree))
        return [leaf for key, value in zip(fields, tree) for leaf in flatten(value, f"{name}.{key}" if name else str(key))]
    return [(name, tree)]


def unflatten(tree, leaves):
    """`tree` with its leaves replaced by the iterator `leaves`, in flatten()'s order."""
    if isinstance(tree, dict):
        return {key: unflatten(value, leaves) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        items = [unflatten(value, leaves) for value in tree]
        if hasattr(tree, "_fields"):
            return type(tree)(*items)
        return items if isinstance(tree, list) else tuple(items)
    return next(leaves)


def map_tensors(tree, function):
    leaves = [function(leaf) if isinstance(leaf, torch.Tensor) else leaf for _, leaf in flatten(tree, "")]
    return unflatten(tree, iter(leaves))
