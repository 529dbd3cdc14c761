import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return self.helper(x)

    def helper(self, x):
        raise RuntimeError('boom')


def get_inputs():
    return [torch.rand(4, 8)]
