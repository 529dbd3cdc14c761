import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.minimum(x, torch.tensor(0.5)).masked_fill(x > 0.25, float('-inf')) + torch.full((8,), 3.0)


def get_inputs():
    return [torch.rand(4, 8)]
