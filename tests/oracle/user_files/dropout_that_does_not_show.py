import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.dropout(x, 0.5, True) * 0


def get_inputs():
    return [torch.rand(4, 8)]
