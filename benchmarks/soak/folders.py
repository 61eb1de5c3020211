"""Folders of models, tampered with: no accuracy is reported that the honest folder does not have."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

from benchmarks.soak._result import Options, Result
from benchmarks.soak._runs import SETTINGS, certification, data, training
from benchmarks.soak.documents import change_leaf
from ecm import ECMError
from zoo import Certification, certify, load, read_certification
from zoo.folder import ABOUT, CARD, CONFIG, SCHEME, TABLE, VOTES, WEIGHTS

FILES = (
    *(CARD, ABOUT, TABLE, SCHEME, WEIGHTS, CONFIG),
    *(f"{VOTES}/header.json", f"{VOTES}/rank-00000.rows"),
)
CELLS = ("all", "none", "0", "1", "7", "<1/2", "<=1/2", "<1e99999999", "x", "-1", "", "<9/10;0:-")


def soak(options: Options) -> Result:
    """Tamper with as many folders as asked for; load, read and certify each of them."""
    result, rng = Result(), options.rng("folders")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["ECM_CACHE"] = str(place / "cache")
        honest = place / "honest"
        training(honest)
        certification(honest)(honest)
        truth = _figures(certify(load(honest), data(), tolerance=1e-4, batch_size=24, **SETTINGS))
        for number in range(options.folders):
            folder = place / "tampered"
            shutil.copytree(honest, folder)
            what = _tamper(folder, rng)
            result.counts["tampered"] += 1
            for act in (load, read_certification, _certified):
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = act(folder)
                except ECMError:
                    result.counts["refused in words"] += 1
                except Exception as error:
                    result.fail(f"number {number}, {what}, {act.__name__}: {error!r}")
                else:
                    if act is _certified and isinstance(found, Certification) and _figures(found) != truth:
                        result.fail(f"number {number}, {what}: other figures")
            shutil.rmtree(folder)
    return result


def _certified(folder: Path) -> Certification:
    return certify(load(folder), data(), tolerance=1e-4, batch_size=24, **SETTINGS)


def _figures(found: Certification) -> tuple[Any, ...]:
    radii = ("0", "1/4", "1/2", "1")
    certified = [found.certified_accuracy(r, method).share for r in radii for method in found.methods]
    return found.images, found.base_accuracy, found.smoothed_accuracy.share, certified


def _tamper(folder: Path, rng: random.Random) -> str:
    """One change of one file, in words."""
    name = rng.choice(FILES)
    path = folder / name
    content = bytearray(path.read_bytes())
    if name.endswith(".json") and rng.random() < 0.7:
        fields = json.loads(content)
        change_leaf(fields, rng)
        path.write_text(json.dumps(fields))
        return f"an entry of {name}"
    if name == TABLE and rng.random() < 0.8:
        header, *lines = content.decode().splitlines()
        at = rng.randrange(len(lines))
        cells = lines[at].split("\t")
        k = rng.randrange(len(cells))
        cells[k] = rng.choice(CELLS)
        lines[at] = "\t".join(cells)
        if rng.random() < 0.2:
            lines.insert(at, rng.choice(lines))
        path.write_text("\n".join([header, *lines]) + "\n")
        return f"a cell of {name}, column {k}"
    match rng.randrange(3):
        case 0:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        case 1:
            del content[rng.randrange(len(content)) :]
        case _:
            path.unlink()
            return f"{name} is gone"
    path.write_bytes(bytes(content))
    return f"bytes of {name}"
