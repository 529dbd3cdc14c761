import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.mish(x) + F.silu(x) + F.softplus(x) + F.elu(x) + F.selu(x) + F.hardswish(x) + F.leaky_relu(x, 0.2) + F.logsigmoid(x)


def get_inputs():
    return [torch.randn(3, 12345)]


def get_init_inputs():
    return []
