import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        return x


def get_inputs():
    return [torch.rand(4, 8)]
