"""A module's tensors in Task order (parameters, buffers, then plain tensor attributes), and putting others in their place."""

import contextlib

import torch


class Slot:
    """One place in a module that holds a tensor."""

    def __init__(self, name, owner, attribute, kind):
        self.name, self.owner, self.attribute, self.kind = name, owner, attribute, kind

    def table(self):
        return {"param": self.owner._parameters, "buffer": self.owner._buffers, "plain": self.owner.__dict__}[self.kind]

    def get(self):
        return self.table()[self.attribute]

    def put(self, tensor):
        self.table()[self.attribute] = tensor


def slots(module):
    """Each distinct tensor once, under its first name; aliases (tied weights) are second items of the pairs.

    Returns [(slot, [slots that hold the same tensor])].
    """
    found, by_id = [], {}
    for kind in ("param", "buffer", "plain"):
        for prefix, owner in module.named_modules():
            table = {"param": owner._parameters, "buffer": owner._buffers, "plain": owner.__dict__}[kind]
            for attribute, value in table.items():
                if not isinstance(value, torch.Tensor):
                    continue
                slot = Slot(f"{prefix}.{attribute}" if prefix else attribute, owner, attribute, kind)
                if id(value) in by_id:
                    by_id[id(value)].append(slot)
                    continue
                by_id[id(value)] = []
                found.append((slot, by_id[id(value)]))
    return found


@contextlib.contextmanager
def replaced(module, state, tensors):
    """Within the context the slots of `state` (from slots(module)) hold `tensors`."""
    everywhere = [(slot, group) for slot, aliases in state for group in ([slot] + aliases)]
    before = [slot.get() for _, slot in everywhere]
    new = {id(slot): tensor for (slot, _), tensor in zip(state, tensors)}
    try:
        for first, slot in everywhere:
            slot.put(new[id(first)])
        refresh_flat_weights(module)
        yield
    finally:
        for (_, slot), tensor in zip(everywhere, before):
            slot.put(tensor)
        refresh_flat_weights(module)


def refresh_flat_weights(module):
    """Recurrent layers keep a second list of their weights."""
    for child in module.modules():
        if isinstance(child, torch.nn.RNNBase):
            child.__dict__["_flat_weights"] = [getattr(child, name) for name in child._flat_weights_names]
