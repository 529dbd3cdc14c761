import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cumprod(x * 0.5 + 0.75, dim=-1)


def get_inputs():
    return [torch.rand(37, 131)]


def get_init_inputs():
    return []
