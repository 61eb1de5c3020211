"""An attack on the test images of a model: resumable, row by row, with every success confirmed by a full vote."""

from __future__ import annotations

import math
import os
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import torch
from numpy.typing import NDArray

from ecm.errors import ECMError
from ecm.progress import ProgressBar
from ecm.spelling import spelled
from smoothing import SmoothedClassifier
from smoothing.certificates import RUNOFF_METHODS, Certificate
from zoo.attacks.evaluation import Evaluation
from zoo.attacks.result import Attack, Attacked
from zoo.attacks.search import Search
from zoo.attacks.table import MEANING, AttackTable
from zoo.certification import (
    Row,
    certify,
    fitting_data,
    image_order,
    kept_on_disk,
    moved_to,
    read_about,
    read_certification,
    run_folder,
)
from zoo.data import DATASETS, Dataset, key_seed
from zoo.distributed import workers
from zoo.errors import CertifyError, ModelError
from zoo.files import alone, write_atomically, write_json
from zoo.folder import ABOUT as CERTIFIED
from zoo.folder import ATTACK_ABOUT, ATTACK_TABLE, CARD, SCHEME, read_description
from zoo.models import Model, given_model, read_scheme, require_unchanged

FORMAT = "ecm-attack-1"
_SAME = ("weights", "scheme", "data", "certificate", "budget", "seed")
_NAMED = 100  # images of a named data set, which nobody chose one by one; an attack takes long
_ROUND = 1 << 64  # denominator of distances that are not rational


def attack(
    model: Model | str | os.PathLike[str],
    data: Any = None,
    *,
    limit: int | None = None,
    budget: float = 20,
    seed: int = 0,
    resume: bool = True,
    device: str | torch.device | None = None,
    root: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Attack:
    """Search, for each test image, the nearest input that changes the smoothed prediction, in the model's own metric.

    A certified radius is a lower bound on the distance of such an input, the attack gives an upper bound: together
    they say how tight the certificate is. An attack that finds nothing proves nothing.

    `model` is a model, its folder or its name. All images that you give as `data` are attacked, and of a named data set
    the first 100; with `limit` so many, in the order in which `certify` takes them. `budget` is in votes per image: the
    attack spends at most `budget * scheme.samples` passes through the base, a backward pass counting as one. The same
    `seed` gives the same result on the same machine. Images that are not certified yet are certified first. `data`,
    `root`, `device`, `out` and `progress` are those of `certify`.

    Written into `out` (default: the model's folder, `runs/<name>` for a model of the package): `attack.tsv` (one row
    per image, flushed as it comes) and `attack.json` (settings, meaning of the columns, totals). A stopped attack goes
    on with the same call; `resume=False` begins it anew.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as out:
    ...     found = attack("digits-l0.5-a4", limit=1, budget=8, out=out, progress=False)
    >>> [row.ratio > 1 for row in found.rows]
    [True]
    """
    _check(limit, budget, seed)
    trained = given_model(model)
    require_unchanged(trained)
    loaded = fitting_data(trained, data, root)
    named = data is None or (isinstance(data, str) and spelled(data, DATASETS) in DATASETS)
    order = image_order(len(loaded.test))[: _NAMED if limit is None and named else limit].tolist()
    folder = run_folder(trained, out)
    if folder.resolve() != trained.path.resolve() and (folder / CARD).exists():
        raise ModelError(f"{folder} is the folder of another model, which would be spoilt: choose another out")
    certified, method = _certified(trained, loaded, folder, order, device=device, progress=progress)
    about = {
        "format": FORMAT,
        "model": trained.name,
        "weights": trained.card["weights"],
        "scheme": trained.scheme.fingerprint,
        "data": {"name": loaded.name, "test_digest": loaded.test.digest, "test_images": len(loaded.test)},
        "certificate": method,
        "budget": budget,
        "seed": seed,
        "columns": MEANING,
    }
    with workers(device) as here, moved_to(trained, here), kept_on_disk(folder), alone(folder):
        table = AttackTable(folder / ATTACK_TABLE, trained.scheme, method)
        rows = _known(table, folder, about) if resume else {}
        if not (folder / SCHEME).exists():
            write_atomically(folder / SCHEME, trained.scheme.to_json().encode())
        write_json(folder / ATTACK_ABOUT, about)
        left = [idx for idx in order if idx not in rows]
        rule = "runoff" if method in RUNOFF_METHODS else "plurality"  # whose class the balls are about
        evaluation = Evaluation(trained.smoothed(rule=rule)) if left else None
        with table.start(list(rows.values())) as file, ProgressBar(len(left), "attacking", progress) as advance:
            for idx in left:
                assert evaluation is not None
                rows[idx] = _attacked(evaluation, loaded, certified[idx], method=method, budget=budget, seed=seed)
                file.write(table.line(rows[idx]))
                file.flush()
                advance(1)
        every = Attack(
            trained.name,
            loaded.name,
            len(loaded.test),
            trained.scheme,
            tuple(rows.values()),
            method,
            budget,
            seed,
            folder,
        )
        write_json(folder / ATTACK_ABOUT, about | {"summary": every.summary()})
    return attrs.evolve(every, rows=tuple(rows[idx] for idx in order))


def _check(limit: int | None, budget: float, seed: int) -> None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1):
        raise ECMError(f"limit = {limit!r}: write a number of images >= 1, or leave it out")
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not 1 <= budget < math.inf:
        raise ECMError(f"budget = {budget!r}: write how many votes' worth of passes an image may take, 1 or more")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ECMError(f"seed = {seed!r}: seeds are integers >= 0")


def _certified(
    model: Model, data: Dataset, folder: Path, order: list[int], *, device: Any, progress: bool
) -> tuple[dict[int, Row], str]:
    """The rows of a certification of these images and the certificate they report: found on disk, or made now."""
    wanted = (model.card["weights"], model.scheme.fingerprint, data.test.digest)
    for place in (folder, model.path):
        if (place / CERTIFIED).exists():
            about = read_about(place)
            if (about["weights"], about["scheme"], about["data"]["test_digest"]) == wanted:
                found = read_certification(place)
                rows = {row.idx: row for row in found.rows}
                if set(order) <= rows.keys():
                    return rows, found.certificate
    found = certify(model, data, limit=len(order), device=device, out=folder, progress=progress)
    return {row.idx: row for row in found.rows}, found.certificate


def _known(table: AttackTable, folder: Path, about: dict[str, Any]) -> dict[int, Attacked]:
    """The rows of a stopped run with these very settings; an error for one with others."""
    if not (folder / ATTACK_ABOUT).exists():
        return {}
    before = read_attack_about(folder)
    differ = [key for key in _SAME if before.get(key) != about[key]]
    if differ and table.path.exists():
        said = ", ".join(f"{key} {before.get(key)!r} instead of {about[key]!r}" for key in differ)
        raise ModelError(
            f"{folder} contains an attack with different settings ({said}): choose another folder (out=..., --out), or "
            "replace it (resume=False, --no-resume)"
        )
    return table.read()


def _attacked(evaluation: Evaluation, data: Dataset, row: Row, *, method: str, budget: float, seed: int) -> Attacked:
    """Attack one image and confirm what was found by a full vote."""
    began, spent, ball = time.perf_counter(), evaluation.passes, row.balls[method]
    levels = data.test.take([row.idx])[0].cpu().numpy().astype(np.int64)
    passes = int(budget * evaluation.scheme.samples)
    own = key_seed("attack", seed, row.idx) % 2**32
    search = Search(evaluation, levels.ravel(), ball.prediction, budget=passes, seed=own)
    search.run()
    turned, found = confirmed(evaluation.classifier, ball.prediction, [p.levels for p in search.kept])
    far, changes = None, []
    if found is not None:
        if ball.contains(levels, found):
            raise CertifyError(
                f"test image {row.idx}: an input inside the certified ball ({method}, radius {ball.radius}) gets the "
                f"class {turned} instead of {ball.prediction}. The certificate is unsound: please report this"
            )
        far = rounded_up(ball.distance(levels, found)[1])
        changes = [(int(i), int(found[i])) for i in np.flatnonzero(found != levels.ravel())]
    seconds = round(time.perf_counter() - began, 3)
    return Attacked(row.idx, row.label, ball, far, turned, tuple(changes), evaluation.passes - spent, seconds)


def confirmed(
    classifier: SmoothedClassifier, c: int, points: list[NDArray[np.int64]]
) -> tuple[int | None, NDArray[np.int64] | None]:
    """The last of these points (flat levels) whose full vote is not for class c, and its class.

    The search evaluates samples in batches of other shapes, so that a near-tie may fall otherwise there.
    """
    for levels in reversed(points):
        found = int(classifier.predict(levels.reshape(1, *classifier.scheme.shape))[0])
        if found != c:
            return found, levels
    return None, None


def rounded_up(distance: Fraction) -> Fraction:
    """The distance, or a little more with a denominator that can be printed.

    >>> rounded_up(Fraction(1, 3)), float(rounded_up(Fraction(1, 3**50)))
    (Fraction(1, 3), 5.42...e-20)
    """
    if distance.denominator <= _ROUND:
        return distance
    return Fraction(math.ceil(distance * _ROUND), _ROUND)


def read_attack(path: str | os.PathLike[str]) -> Attack:
    """Return the attack that the folder `path` contains, as far as it got; no weights are loaded.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as out:
    ...     found = attack("digits-l0.5-a4", limit=1, budget=6, out=out, progress=False)
    ...     read_attack(out) == found
    True
    """
    folder = Path(path)
    about = read_attack_about(folder)
    try:
        scheme = read_scheme(folder)
        if scheme.fingerprint != about["scheme"]:
            raise ModelError(f"{folder}: {ATTACK_TABLE} was made under another scheme than {SCHEME}; attack again")
        rows = AttackTable(folder / ATTACK_TABLE, scheme, about["certificate"]).read()
        return Attack(
            about["model"],
            about["data"]["name"],
            int(about["data"]["test_images"]),
            scheme,
            tuple(rows.values()),
            about["certificate"],
            about["budget"],
            about["seed"],
            folder,
        )
    except (KeyError, TypeError) as error:
        raise ModelError(f"{folder / ATTACK_ABOUT} is damaged ({error!r}): delete it and attack again") from error


def read_attack_about(folder: Path) -> dict[str, Any]:
    """`attack.json` of a folder, or an error that says what to do."""
    missing = f"contains no attack: {ATTACK_ABOUT} is missing; run `ecm attack {folder}`"
    return read_description(folder / ATTACK_ABOUT, FORMAT, missing=missing, again="delete it and attack again")


def ball_scaled(ball: Certificate, scale: Fraction) -> Certificate:
    """The same claim with another radius: a wrong one, where scale > 1, for tests of the attack itself."""
    return ball if ball.radius is None else attrs.evolve(ball, radius=ball.radius * scale)
