"""The base classifier at chosen samples of changed images, with every pass through it counted."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np
import torch

from ecm.arrays import Ints, Singles
from zoo.attacks.rule import Goal, Plurality, Rule, Runoff

if TYPE_CHECKING:
    from torch import Tensor

    from smoothing import Scheme, SmoothedClassifier

_CELLS = 1 << 24  # numbers of the images and of the noise that are made at once


@attrs.frozen
class Change:
    """New levels for a few features of an image, and the samples in which the base then sees another input."""

    features: Ints
    levels: Ints
    samples: Ints


class Evaluation:
    """Logits and gradients of a smoothed classifier's base, sample by sample.

    `passes` counts what was spent: 1 for the forward pass of one sample, 1 more for each backward pass through it
    (gradients are taken with respect to the input only, which costs about as much as a forward pass).

    >>> from zoo import load, load_data
    >>> evaluation = Evaluation(load("digits-l0.5-a4").smoothed())
    >>> image = load_data("digits").test.take([0])[0].numpy().ravel()
    >>> evaluation.everywhere(image).shape, evaluation.passes
    ((512, 10), 512)
    """

    def __init__(self, classifier: SmoothedClassifier) -> None:
        self.classifier = classifier
        self.passes = 0
        self._prepared = classifier.prepared

    @property
    def scheme(self) -> Scheme:
        """The scheme of the smoothed classifier."""
        return self.classifier.scheme

    @cached_property
    def weights(self) -> Ints:
        """Weight of every sample, [samples]."""
        given = self.scheme.weights
        return np.ones(self.scheme.samples, np.int64) if given is None else np.asarray(given)

    @cached_property
    def rule(self) -> Rule:
        """How the evaluated samples become a prediction: by the rule of the smoothed classifier."""
        return Runoff(self.weights) if self.classifier.rule == "runoff" else Plurality(self.weights)

    @cached_property
    def _step(self) -> int:
        return max(1, min(self._prepared.rows, _CELLS // self.scheme.features, self.classifier.noise.chunk))

    @cached_property
    def _smooth(self) -> torch.nn.Module:
        """A copy of the base through which gradients flow to the input."""
        network = copy.deepcopy(self.classifier.base).eval().requires_grad_(False)
        return network.to(memory_format=torch.channels_last) if self._last else network  # type: ignore[call-overload]

    @property
    def _last(self) -> bool:
        return self.classifier.channels_last and len(self.scheme.shape) == 3

    # ---- what a change touches -------------------------------------------------------------------------------------

    @cached_property
    def _dividers(self) -> list[tuple[Ints, int]]:
        """By component: (row of its outcome) * (q + 2) + gap of every divider, ascending; and the number of rows."""
        q, found = self.scheme.q, []
        for outcomes in self.scheme.design.outcomes:
            row = np.repeat(np.arange(outcomes.finite), np.diff(outcomes.starts))
            found.append((row * (q + 2) + outcomes.gaps, outcomes.finite))
        return found

    @cached_property
    def showing(self) -> Ints:
        """By feature the samples in which it is shown, ascending, [features, most]; filled up with `samples`."""
        every, finite = np.arange(self.scheme.samples), np.array([rows for _, rows in self._dividers])
        found = []
        for feature in range(self.scheme.features):
            used = self.scheme.outcome(feature, every)
            found.append(np.flatnonzero(used < finite[self.scheme.component[feature]]))
        where = np.full((len(found), max(map(len, found))), self.scheme.samples)
        for feature, samples in enumerate(found):
            where[feature, : len(samples)] = samples
        return where

    def touched(self, feature: int, before: int, after: int) -> Ints:
        """The samples in which moving one feature from level `before` to `after` passes a divider."""
        keys, finite = self._dividers[int(self.scheme.component[feature])]
        used = self.scheme.outcome(feature, np.arange(self.scheme.samples))
        rows = used * (self.scheme.q + 2)
        low, high = sorted((before, after))
        passed = np.searchsorted(keys, rows + low, side="right") != np.searchsorted(keys, rows + high, side="right")
        return np.flatnonzero(passed & (used < finite))

    def change(self, levels: Ints, features: Ints, new: Ints) -> Change:
        """The change of these features of an image to new levels."""
        hit = np.zeros(self.scheme.samples, dtype=bool)
        for feature, level in zip(features.tolist(), new.tolist(), strict=True):
            if level != levels[feature]:
                hit[self.touched(feature, int(levels[feature]), level)] = True
        return Change(features, new, np.flatnonzero(hit))

    # ---- passes ----------------------------------------------------------------------------------------------------

    def everywhere(self, levels: Ints) -> Singles:
        """Logits of one image at all samples, [samples, classes]."""
        samples = np.arange(self.scheme.samples)
        return self.at(levels, [Change(np.zeros(0, np.int64), np.zeros(0, np.int64), samples)])[0]

    def at(self, levels: Ints, changes: Sequence[Change]) -> list[Singles]:
        """For each change of the image the logits at the samples it touches, [touched, classes]."""
        sizes = [len(change.samples) for change in changes]
        owner = np.repeat(np.arange(len(changes)), sizes)
        samples = np.concatenate([change.samples for change in changes]) if changes else np.zeros(0, np.int64)
        out = np.empty((len(samples), self.classifier.classes), np.float32)
        plain = torch.from_numpy(levels.reshape(1, -1))
        for start in range(0, len(samples), self._step):
            part = slice(start, start + self._step)
            images = plain.repeat(len(samples[part]), 1)
            for k in np.unique(owner[part]):
                mine = torch.from_numpy(np.flatnonzero(owner[part] == k))
                for feature, level in zip(changes[k].features.tolist(), changes[k].levels.tolist(), strict=True):
                    images[mine, feature] = level
            shown = self.classifier.noise.paired(
                images.view(-1, *self.scheme.shape), torch.from_numpy(samples[part]), self.classifier.channels_last
            )
            out[part] = self.classifier.evaluate(shown, self._prepared.network).float().cpu().numpy()
        self.passes += len(samples)
        return np.split(out, np.cumsum(sizes)[:-1]) if changes else []

    def shown(self, levels: Ints, samples: Ints) -> Tensor:
        """What the base reads of an image, [samples, planes, features]."""
        image = torch.from_numpy(levels.reshape(1, *self.scheme.shape))
        planes = self.classifier.noise.inputs(image, torch.from_numpy(samples), False)[0]
        return planes.reshape(len(samples), -1, self.scheme.features)

    def gradients(self, levels: Ints, samples: Ints, goal: Goal) -> tuple[Singles, Tensor]:
        """Logits [n, classes], and the gradient of the goal's margin by the input, [n, planes, features].

        A base without gradients (a tree, a rounding) has the gradient 0 everywhere.
        """
        image = torch.from_numpy(levels.reshape(1, *self.scheme.shape))
        logits, slopes = [], []
        for start in range(0, len(samples), self._step):
            chosen = torch.from_numpy(samples[start : start + self._step])
            shown = self.classifier.noise.inputs(image, chosen, self.classifier.channels_last)[0].requires_grad_()
            with torch.enable_grad():
                out = self._smooth(shown)
                margin = goal.margins(out).sum()
            slope = torch.autograd.grad(margin, shown, allow_unused=True)[0] if margin.requires_grad else None
            slope = torch.zeros_like(shown) if slope is None else slope
            logits.append(out.detach().float().to("cpu"))
            slopes.append(slope.detach().reshape(len(chosen), -1, self.scheme.features).to("cpu"))
        self.passes += 2 * len(samples)
        return torch.cat(logits).numpy(), torch.cat(slopes)
