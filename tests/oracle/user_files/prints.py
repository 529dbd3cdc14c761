import torch
import torch.nn as nn
import os
import sys

print('importing')
print('x' * 100000, file=sys.stderr)


class Model(nn.Module):
    def forward(self, x):
        os.system('echo from a child')
        print('forward')
        return torch.relu(x)


def get_inputs():
    return [torch.rand(4, 8)]
