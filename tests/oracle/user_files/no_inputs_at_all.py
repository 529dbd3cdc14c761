import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.rand(8))

    def forward(self):
        return self.w * 2


def get_inputs():
    return []
