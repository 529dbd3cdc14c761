import torch
import torch.nn as nn


def Model(x):
    return x


def get_inputs():
    return [torch.rand(4, 8)]
