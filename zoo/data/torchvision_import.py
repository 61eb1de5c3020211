"""The one place where torchvision is imported.

torchvision's import declares shapes for two detection operators, `nms` and `qnms`, which live in its compiled half.
Beside a CPU-only torch that half often does not load, and the import then ends with "operator torchvision::nms does
not exist", although data sets, transforms and classification networks need no compiled code. Here the import is tried
as it is; only if it fails in this way are the two operators declared (not implemented: calling them still fails)
and the import tried again.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import torch

_OPERATORS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
_declared: list[Any] = []  # a torch.library.Library takes its operators with it when it is collected


def torchvision(submodule: str = "") -> ModuleType:
    """Import `torchvision`, or one of its submodules, beside any torch.

    >>> torchvision("models").__name__
    'torchvision.models'
    """
    name = f"torchvision.{submodule}".rstrip(".")
    try:
        return importlib.import_module(name)
    except RuntimeError as error:
        if "operator torchvision::" not in str(error) or _declared:
            raise
    for module in [module for module in sys.modules if module.split(".")[0] == "torchvision"]:
        del sys.modules[module]  # half imported
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    _declared.append(library)
    for operator, signature in _OPERATORS.items():
        library.define(operator + signature)  # type: ignore[no-untyped-call]
    return importlib.import_module(name)
