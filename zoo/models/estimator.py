"""A scikit-learn estimator as base classifier: fitted on noisy rows, voting by its scores."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smoothing import FromArrays, Noise, Scheme
from zoo.data import Dataset
from zoo.errors import ModelError, SettingError
from zoo.models.archive import pack, unpack

MOST_ROWS = 40_000  # noisy rows that an estimator is fitted on by default
MOST_COPIES = 32


def is_estimator(model: Any) -> bool:
    """Return whether this is a classifier in scikit-learn's manner: an object with `fit` and `predict`.

    >>> from sklearn.linear_model import LogisticRegression
    >>> is_estimator(LogisticRegression()), is_estimator(torch.nn.Linear(2, 2)), is_estimator("mlp")
    (True, False, False)
    """
    if isinstance(model, torch.nn.Module):
        return False
    fits = hasattr(model, "fit") and hasattr(model, "predict")
    if fits and isinstance(model, type):
        raise ModelError(f"model = {model.__name__} is a class: pass an estimator, {model.__name__}(...)")
    return fits


class EstimatorBase(FromArrays):
    """A fitted estimator that votes on the two ends of every column's bin, the upper ends first.

    Its scores are those of `predict_proba` or `decision_function`, or its labels where it has neither. `archive` holds
    the estimator as bytes (see `zoo.models.archive`), once it was packed: with it the model can be saved.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> rows, labels = np.array([[0.1, 0.0], [0.2, 0.1], [0.9, 0.8], [1.0, 0.9]]), np.array([0, 0, 1, 1])
    >>> EstimatorBase(GaussianNB().fit(rows, labels), classes=2)(torch.tensor([[0.95, 0.9]])).argmax().item()
    1
    """

    def __init__(self, estimator: Any, classes: int, archive: Tensor | None = None) -> None:
        super().__init__(self._scores, classes)
        self.estimator = estimator
        if getattr(estimator, "n_jobs", None) not in (None, 1):  # sums of threads come in an order of chance
            self.estimator.n_jobs = 1
        self.register_buffer("archive", archive)

    def packed(self) -> EstimatorBase:
        """Return the same base with its archive, read back once, so that what is saved is what votes."""
        archive = pack(self.estimator)
        return EstimatorBase(unpack(archive), self.classes, archive)

    @classmethod
    def from_archive(cls, archive: Tensor, classes: int) -> EstimatorBase:
        """Return the base whose archive this is."""
        estimator = unpack(archive)
        if not is_estimator(estimator):
            raise ModelError(f"the archive holds a {type(estimator).__name__}, no classifier: train again")
        return cls(estimator, classes, archive)

    def _scores(self, lower: NDArray[np.float32], upper: NDArray[np.float32]) -> NDArray[Any]:
        shown = np.hstack([upper, lower])
        for method in ("predict_proba", "decision_function"):
            if hasattr(self.estimator, method):
                scores = np.asarray(getattr(self.estimator, method)(shown), dtype=np.float64)
                if scores.ndim == 1:  # of two classes, positive for the second
                    scores = np.stack([-scores, scores], axis=1)
                if scores.shape == (len(shown), self.classes):
                    return scores
        return np.asarray(self.estimator.predict(shown), dtype=np.int64)


def fit_estimator(
    estimator: Any, scheme: Scheme, levels: Any, labels: Any, *, copies: int | None = None, seed: int = 0
) -> EstimatorBase:
    """Fit a copy of a scikit-learn classifier on noisy rows; the result is a base for `SmoothedClassifier`.

    `levels` and `labels` are the training rows, `scheme` has the noise that they are shown with, and `seed` chooses the
    samples. The `estimator` reads two numbers per column, both in [0, 1]: the upper ends of all columns' bins, then the
    lower ends. Each row is shown at `copies` different samples of the scheme (by default as many as make about 40,000
    rows in all, 32 per row at most, and never more than there are samples).

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ecm import ECM
    >>> from smoothing import SmoothedClassifier
    >>> scheme = Scheme(ECM.l0(3).design(3, q=7), shape=(4,))
    >>> levels = np.repeat([[0, 1, 0, 1], [7, 6, 7, 6]], 10, axis=0)
    >>> base = fit_estimator(DecisionTreeClassifier(random_state=0), scheme, levels, [0] * 10 + [1] * 10)
    >>> SmoothedClassifier(base, scheme, classes=2).predict(np.array([[7, 7, 0, 7]])).item()
    1
    """
    if not is_estimator(estimator):
        raise ModelError(
            f"model of type {type(estimator).__name__}: pass a scikit-learn classifier, with fit and predict"
        )
    if scheme.representation != "upper_lower" or len(scheme.shape) != 1:
        raise SettingError(
            f"a scheme of shape {scheme.shape} with the representation {scheme.representation}: an estimator reads "
            "rows of a table by the ends of their bins, Scheme(design, shape=(columns,))"
        )
    rows, target = torch.as_tensor(np.asarray(levels)), np.asarray(labels, dtype=np.int64)
    classes = int(target.max()) + 1
    if len(np.unique(target)) != classes:
        raise ModelError(f"the training rows have {len(np.unique(target))} of {classes} classes: give rows of each")
    if copies is None:
        copies = min(MOST_COPIES, max(1, MOST_ROWS // len(rows)))
    if isinstance(copies, bool) or not isinstance(copies, int | np.integer) or copies < 1:
        raise SettingError(f"copies = {copies!r}: write how many noisy copies of each row are trained on, 1 or more")
    samples = drawn_samples(scheme, len(rows), min(int(copies), scheme.samples), seed)
    shown = Noise(scheme).paired(rows.repeat_interleave(samples.shape[1], 0), samples.flatten()).numpy()
    fitted = _cloned(estimator, seed).fit(shown, np.repeat(target, samples.shape[1]))
    return EstimatorBase(fitted, classes)


def drawn_samples(scheme: Scheme, rows: int, copies: int, seed: int) -> Tensor:
    """Return different random samples per row, [rows, copies], as they come in the vote: with weights, the heavier
    more."""
    random = np.random.RandomState([seed, 7])
    if scheme.weights is not None:
        share = scheme.weights / scheme.total
        return torch.from_numpy(random.choice(scheme.samples, size=(rows, copies), p=share))
    if copies == scheme.samples:
        return torch.arange(copies).expand(rows, copies)
    return torch.from_numpy(np.stack([random.permutation(scheme.samples)[:copies] for _ in range(rows)]))


def unsmoothed_accuracy(estimator: Any, data: Dataset) -> float:
    """Return accuracy on test rows of the same estimator, fitted on the training rows as they are: without any
    guarantee."""
    train, test = (split.take(range(len(split))).numpy() / data.q for split in (data.train, data.test))
    fitted = _cloned(estimator, 0).fit(train, data.train.labels.numpy())
    return float(np.mean(np.asarray(fitted.predict(test)) == data.test.labels.numpy()))


def _cloned(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy, with a seed where it takes one and has none: the same call then gives the same model."""
    from sklearn.base import clone

    try:
        fresh = clone(estimator)
        settings = fresh.get_params(deep=True)
    except TypeError:  # not one of scikit-learn's own kind
        return copy.deepcopy(estimator)
    unseeded = [name for name, value in settings.items() if name.split("__")[-1] == "random_state" and value is None]
    return fresh.set_params(**dict.fromkeys(unseeded, seed))
