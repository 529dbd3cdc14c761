"""A linear layer and a ReLU: a GEMM whose epilogue is worth fusing."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, k: int, n: int):
        super().__init__()
        self.linear = nn.Linear(k, n)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.rand(128, 256)]


def get_init_inputs():
    return [256, 192]
