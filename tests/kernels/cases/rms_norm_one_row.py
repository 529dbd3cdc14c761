import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)


def get_inputs():
    return [torch.randn(1, 8193)]


def get_init_inputs():
    return []
