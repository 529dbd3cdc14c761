import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return x + 1e-9 * y


def get_inputs():
    return [torch.rand(4, 8), torch.rand(4, 8)]
