import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, pair, table):
        return pair[0] + pair[1] * table['w']


def get_inputs():
    return [[torch.rand(4), torch.rand(4)], {'w': torch.rand(4)}]
