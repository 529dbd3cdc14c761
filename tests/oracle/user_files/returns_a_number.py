import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return {'y': torch.relu(x), 'rows': x.shape[0]}


def get_inputs():
    return [torch.rand(4, 8)]
