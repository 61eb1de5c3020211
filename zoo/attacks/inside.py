"""Certificates tested from outside: the attack looks for an input of another class inside the certified ball.

On a sound certificate it never succeeds, however large its budget. That it could is shown by radii that are wrong on
purpose: scaled by 1.3, some of them are caught.
"""

from __future__ import annotations

import os
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecm.progress import ProgressBar
from ecm.verification import Finding, Report
from smoothing.certificates import Certificate, Certifier
from zoo.attacks.evaluation import Evaluation
from zoo.attacks.run import ball_scaled, confirmed
from zoo.attacks.search import Search
from zoo.certification import fitting_data, image_order
from zoo.data import key_seed
from zoo.models import Model, given_model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_TOLERANCE = 1e-4  # of logits: votes closer than this count against the prediction


def attack_inside(
    evaluation: Evaluation, levels: ArrayLike, ball: Certificate, *, budget: float = 20, seed: int = 0
) -> NDArray[np.int64] | None:
    """Levels of an input in the ball around `levels` with another smoothed class than the ball's, or None.

    Whatever is returned lies in the ball (decided exactly) and was confirmed by a full vote. `budget` is in votes: half
    of it goes into the search for the nearest change, wherever it is, half into moves that stay in the ball.

    >>> from zoo import load, load_data
    >>> smoothed, image = load("digits-l0.5-a4").smoothed(), load_data("digits").test.take([116])[0].numpy()
    >>> (ball,) = smoothed.certify(image[None])
    >>> attack_inside(Evaluation(smoothed), image, ball, budget=10) is None
    True
    >>> attack_inside(Evaluation(smoothed), image, ball_scaled(ball, Fraction(3)), budget=20) is None
    False
    """
    if ball.radius is None or ball.everywhere:
        return None
    x = np.asarray(levels).astype(np.int64)
    passes, bound = int(budget * evaluation.scheme.samples), float(ball.radius)
    inside: list[NDArray[np.int64]] = []
    for limit in (np.inf, bound):
        search = Search(evaluation, x.ravel(), ball.prediction, budget=passes // 2, bound=limit, seed=seed)
        search.run()
        inside += [point.levels for point in search.kept if ball.contains(x, point.levels)]
    _, found = confirmed(evaluation.classifier, ball.prediction, inside)
    return None if found is None else found.reshape(evaluation.scheme.shape)


def verify_model(
    model: Model | str | os.PathLike[str],
    data: Any = None,
    *,
    limit: int = 20,
    budget: float = 40,
    seed: int = 0,
    scale: Fraction | int | str = 1,
    root: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Report:
    """Attack a model inside its certified balls, with a generous budget; the report fails if any attack succeeds.

    The first `limit` test images are voted on and certified here and now. `model`, `data`, `root`, `budget`, `seed` and
    `progress` are as in `attack`. `scale` multiplies the radii: with a scale above 1 they are wrong, and the check
    should fail.

    >>> verify_model("digits-l0.5-a4", limit=1, budget=5).passed
    True
    """
    trained = given_model(model)
    loaded, began = fitting_data(trained, data, root), time.perf_counter()
    classifier = trained.smoothed(tolerance=_TOLERANCE)
    evaluation, certifier = Evaluation(classifier), Certifier(trained.scheme, trained.classes, rule=classifier.rule)
    caught, tried = "", 0
    order = image_order(len(loaded.test))[:limit].tolist()
    with ProgressBar(len(order), "attacking inside certified balls", progress) as advance:
        for idx in order:
            levels = loaded.test.take([idx])[0].cpu().numpy().astype(np.int64)
            ball = ball_scaled(certifier(classifier.rankings(levels[None])[0], levels), Fraction(scale))
            tried += ball.exists
            own = key_seed("inside", seed, idx) % 2**32
            found = attack_inside(evaluation, levels, ball, budget=budget, seed=own)
            advance(1)
            if found is not None:
                where = ", ".join(
                    f"{i}: {levels.flat[i]} -> {found.flat[i]}" for i in np.flatnonzero(found != levels).tolist()
                )
                sign = "<=" if ball.closed else "<"
                caught = (
                    f"test image {idx}, class {ball.prediction} certified {sign} {ball.radius}: "
                    f"another class when features change ({where})"
                )
                break
    finding = Finding(
        "attack",
        "no input in the certified ball of a test image gets another class",
        "attack",
        tried,
        time.perf_counter() - began,
        not caught if tried else None,
        f"an attack with {budget:g} votes' worth of passes per image, {tried} certified images of {loaded.name}",
        caught,
    )
    settings = {"model": trained.name, "images": len(order), "budget": budget, "seed": seed}
    return Report(str(trained.scheme.metric), settings, (finding,))
