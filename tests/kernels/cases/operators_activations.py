import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.gelu(x), F.gelu(x, approximate='tanh'), F.celu(x, 0.7), F.hardsigmoid(x), F.hardshrink(x), F.softshrink(x), F.relu6(x), F.hardtanh(x, -0.5, 0.75), F.threshold(x, 0.1, 20.0), F.softsign(x), F.mish(x), F.silu(x), F.logsigmoid(x), F.softplus(x, 2.0, 10.0), torch.sigmoid(x), F.selu(x), F.elu(x, 0.3)


def get_inputs():
    return [torch.randn(4099) * 4]


def get_init_inputs():
    return []
