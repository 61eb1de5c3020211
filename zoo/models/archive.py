"""A fitted scikit-learn estimator as bytes, without pickle: skops' archive, and only types from a fixed list.

skops writes the parameters and arrays of an estimator as JSON and .npy files and refuses to construct a type that it
does not trust. It trusts most of scikit-learn by itself; the list below adds what the classifiers of scikit-learn need
besides. Any other type is refused when a model is saved and when it is loaded: a folder may come from anywhere.
"""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import numpy as np
import torch
from torch import Tensor

from zoo.errors import ModelError

TRUSTED = (
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.tree._tree.Tree",
)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # of the files in the archive: equal estimators have equal bytes
_NUMBER = re.compile(rb'"__id__": (\d+)')


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ModelError(
            "saving or loading a scikit-learn estimator needs skops, which keeps it without pickle: "
            "pip install 'ecm[tables]', or work in memory with zoo.fit_estimator"
        ) from error
    return skops.io


def _require_trusted(found: list[str], what: str) -> None:
    if unknown := sorted(set(found) - set(TRUSTED)):
        raise ModelError(
            f"{what} holds {', '.join(unknown[:3])}, which cannot be kept without pickle: use an estimator of "
            "scikit-learn, or work in memory with zoo.fit_estimator and smoothing.SmoothedClassifier"
        )


def pack(estimator: Any) -> Tensor:
    """Return the fitted estimator as a tensor of bytes; equal estimators give equal bytes."""
    skops = _skops()
    name = type(estimator).__name__
    try:
        content = skops.dumps(estimator)
        found = skops.get_untrusted_types(data=content)
    except Exception as error:  # whatever an estimator of the user's own may hold
        raise ModelError(
            f"the estimator {name} cannot be kept without pickle ({error}): work in memory with zoo.fit_estimator"
        ) from error
    _require_trusted(found, f"the estimator {name}")
    return torch.from_numpy(np.frombuffer(_canonical(content), dtype=np.uint8).copy())


def unpack(archive: Tensor) -> Any:
    """Return the estimator of `pack`. An archive with any other type than those trusted is refused before it is
    read."""
    skops, content = _skops(), archive.cpu().numpy().tobytes()
    try:
        found = skops.get_untrusted_types(data=content)
    except Exception as error:  # not an archive of skops, or a damaged one
        raise ModelError(f"the estimator in the weights cannot be read ({error}): train again") from error
    _require_trusted(found, "the estimator in the weights")
    try:
        return skops.loads(content, trusted=list(TRUSTED))
    except Exception as error:
        raise ModelError(
            f"the estimator in the weights cannot be read ({error}): load it with the version of scikit-learn that its "
            "card names, or train again"
        ) from error


def _canonical(content: bytes) -> bytes:
    """Return the same archive with objects numbered in the order in which they stand, instead of by their place in
    memory."""
    with zipfile.ZipFile(io.BytesIO(content)) as given:
        schema = given.read("schema.json")
        files = {name: given.read(name) for name in given.namelist() if name != "schema.json"}
    numbers = dict.fromkeys(found for name in files if (found := name.split(".")[0].encode()).isdigit())
    order = {number: str(k).encode() for k, number in enumerate(dict.fromkeys(_NUMBER.findall(schema)) | numbers)}
    renamed = {_renumbered(name.encode(), order).decode(): body for name, body in files.items()}
    renamed["schema.json"] = _renumbered(schema, order)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in sorted(renamed):
            made.writestr(zipfile.ZipInfo(name, _EPOCH), renamed[name], zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _renumbered(text: bytes, order: dict[bytes, bytes]) -> bytes:
    """Replace the numbers of objects, in `__id__` and in the names of files, by their order."""
    text = _NUMBER.sub(lambda found: b'"__id__": ' + order[found[1]], text)
    return re.sub(rb"\b(\d+)(?=\.(?:npy|npz|bin))", lambda found: order.get(found[1], found[1]), text)
