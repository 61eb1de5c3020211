"""Wide residual networks for 32x32 images (Zagoruyko & Komodakis 2016); WRN-40-2 is the one used for CIFAR-10 here."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.models.small_cnn import Block


class WideResNet(nn.Module):
    """WRN-depth-widen: a 3x3 stem of 16 channels, three groups of (depth - 4)/6 pre-activation blocks, 8x8 pooling."""

    fast_copy = True  # `forward` reads its input and its own tensors alone, see smoothing/votes/inference.py

    def __init__(self, in_channels: int, classes: int, depth: int = 40, widen: int = 2) -> None:
        super().__init__()
        self.stem = nn.Conv2d(in_channels, 16, 3, padding=1, bias=False)
        blocks: list[nn.Module] = []
        width_in = 16
        for group, width in enumerate((16 * widen, 32 * widen, 64 * widen)):
            for k in range((depth - 4) // 6):
                blocks.append(Block(width_in, width, 2 if group and k == 0 else 1))
                width_in = width
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(width_in)
        self.head = nn.Linear(width_in, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.blocks(self.stem(x))))
        logits: Tensor = self.head(x.mean((2, 3)))
        return logits
