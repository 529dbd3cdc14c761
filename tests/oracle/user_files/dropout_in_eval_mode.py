import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.eval()

    def forward(self, x):
        return self.drop(x) + 1


def get_inputs():
    return [torch.rand(4, 8)]
