"""Random brightness and contrast of training images, against learning their exact values by heart."""

from __future__ import annotations

import torch
from torch import Tensor


def jittered(images: Tensor, share: float, q: int, draws: Tensor) -> Tensor:
    """Return levels [N, C, H, W] with the contrast and the brightness of each image changed, rounded to 0..q.

    `draws` [N, 2] are uniform on [0, 1): contrast is multiplied by 1 - `share` .. 1 + `share` about the middle level,
    then up to `share`/2 of the range is added or subtracted.

    >>> jittered(torch.tensor([[[[0, 100, 255]]]], dtype=torch.uint8), 0.2, 255, torch.tensor([[0.0, 0.5]])).tolist()
    [[[[26, 106, 230]]]]
    """
    factor, offset = (share * (2 * draws.to(images.device) - 1) + torch.tensor([1.0, 0.0], device=images.device)).T
    middle = q / 2
    levels: Tensor = (images - middle) * factor[:, None, None, None] + (middle + middle * offset[:, None, None, None])
    return levels.round_().clamp_(0, q).to(images.dtype)
