import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y, z):
        return x.float() * 2, y * y, z - 1


def get_inputs():
    return [torch.rand(4, 8).half(), torch.rand(4, 8).bfloat16(), torch.rand(4, 8).double()]
