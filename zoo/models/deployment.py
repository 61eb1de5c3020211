"""The base classifier for other runtimes: an exported program or ONNX."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from zoo.errors import ModelError

if TYPE_CHECKING:
    from zoo.models.model import Model

_CLOSE = 1e-3  # of the largest logit: how far another runtime may be from this one


def export_base(model: Model, path: Path) -> Path:
    """Write the base classifier as `.pt2` (`torch.export`) or `.onnx`; see `Model.export_base`.

    >>> import tempfile, zoo
    >>> model = zoo.load("digits-l0.5-a4")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program = torch.export.load(export_base(model, Path(folder) / "base.pt2"))
    >>> tuple(program.module()(torch.rand(5, 2, 8, 8)).shape)
    (5, 10)
    """
    if path.suffix not in (".pt2", ".onnx"):
        raise ModelError(f"{path}: write a name that ends in .pt2 (torch.export) or .onnx")
    base = copy.deepcopy(model.base).cpu().eval().requires_grad_(False)
    samples = [0, model.scheme.samples // 2]
    levels = torch.zeros((1, *model.scheme.shape), dtype=torch.int32)
    shown = model.smoothed().noise.inputs(levels.to(model.device), samples).flatten(0, 1).cpu()
    program = torch.export.export(base, (shown,), dynamic_shapes=({0: torch.export.Dim("inputs", min=1)},))
    _require_close(program.module()(shown), base(shown), path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".pt2":
        torch.export.save(program, path)
        return path
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ModelError("ONNX needs two more packages: pip install 'ecm[onnx]'") from error
    with warnings.catch_warnings():  # about its own internals
        warnings.simplefilter("ignore")
        torch.onnx.export(program, (shown,), path, input_names=["shown"], output_names=["logits"], external_data=False)
    return path


def _require_close(found: Tensor, wanted: Tensor, path: Path) -> None:
    far = float((found - wanted).abs().max())
    if far > _CLOSE * float(wanted.abs().max().clamp(min=1.0)):
        raise ModelError(f"{path}: the exported program differs from the base by {far:.2g} in a logit; not written")
