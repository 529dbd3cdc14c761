import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        y = x * 2
        y[:, 0] = 0
        return y


def get_inputs():
    return [torch.rand(4, 8)]
