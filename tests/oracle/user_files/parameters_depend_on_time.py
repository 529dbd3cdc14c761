import torch
import torch.nn as nn


COUNT = [0]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        COUNT[0] += 1
        self.w = nn.Parameter(torch.rand(COUNT[0], 1))

    def forward(self, x):
        return x * self.w.sum()


def get_inputs():
    return [torch.rand(4, 8)]
