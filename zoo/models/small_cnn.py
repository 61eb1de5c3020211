"""Residual networks that make sense on a CPU: few parameters, most work at low resolution."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class SmallCNN(nn.Module):
    """A patchifying stem, residual stages of 3x3 convolutions, average pooling and one linear layer.

    `widths` are the channels of the stages, `depths` the blocks in each (one, unless they are given).
    `stride` of the stem: 1 below 16 pixels, 2 below 64, then 4 and 8, so that stage 1 works at about 8..28 pixels.
    """

    fast_copy = True  # `forward` reads its input and its own tensors alone, see smoothing/votes/inference.py

    def __init__(
        self,
        input_shape: tuple[int, ...],
        classes: int,
        widths: tuple[int, ...] = (32, 96, 160),
        depths: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__()
        channels, height = input_shape[0], input_shape[-1]
        stride = 1 if height < 16 else 2 if height < 64 else 4 if height < 160 else 8
        side = max(3, 2 * stride)
        self.stem = nn.Conv2d(channels, widths[0], side, stride, padding=(side - stride + 1) // 2, bias=False)
        blocks: list[nn.Module] = []
        for k, (width, depth) in enumerate(zip(widths, depths or [1] * len(widths), strict=True)):
            blocks.append(Block(widths[max(0, k - 1)], width, 1 if k == 0 else 2))
            blocks.extend(Block(width, width, 1) for _ in range(depth - 1))
        self.stages = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(widths[-1])
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.stages(self.stem(x))))
        logits: Tensor = self.head(x.mean((2, 3)))
        return logits


class Block(nn.Module):
    """Pre-activation residual block (He et al. 2016): norm, relu, conv, twice; 1x1 where the shape changes."""

    fast_copy = True

    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(width_in), nn.BatchNorm2d(width)
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        changes = stride != 1 or width_in != width
        self.shortcut = nn.Conv2d(width_in, width, 1, stride, bias=False) if changes else None

    def forward(self, x: Tensor) -> Tensor:
        active = F.relu(self.norm1(x))
        kept = x if self.shortcut is None else self.shortcut(active)
        out: Tensor = self.conv2(F.relu(self.norm2(self.conv1(active)))) + kept
        return out
