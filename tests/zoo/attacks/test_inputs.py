"""The attack takes whatever `certify` takes, and attacks all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, TensorDataset

import zoo
from tests.zoo.tiny import tiny_data, tiny_model
from zoo import Dataset
from zoo.data import load_evaluated

Pair = tuple[torch.Tensor, torch.Tensor]
WAYS: dict[str, Callable[[Pair], Any]] = {
    "arrays": lambda pair: (pair[0].numpy(), pair[1].numpy()),
    "floats on the grid": lambda pair: (pair[0].float() / 4, pair[1]),
    "data set": lambda pair: TensorDataset(pair[0].float() / 4, pair[1]),
    "loader": lambda pair: DataLoader(TensorDataset(*pair), batch_size=3),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_attack(way: str, tmp_path: Path) -> None:
    """Images as people have them: all six are attacked, and the inputs found are those of the named data set."""
    model, test = tiny_model(tmp_path / "model"), tiny_data().test
    pair = (test.take(range(6)), test.labels[:6])
    found = zoo.attack(model, WAYS[way](pair), budget=10, out=tmp_path / "out", progress=False)
    assert sorted(row.idx for row in found.rows) == list(range(6))
    smoothed = model.smoothed()
    for row in found.rows:
        assert row.label == int(pair[1][row.idx])
        if row.turned is not None:
            changed = row.adversarial(pair[0][row.idx].numpy())
            assert smoothed.predict(changed[None])[0] == row.turned != row.predict
    assert any(row.turned is not None for row in found.rows)


def test_everything_that_is_given_is_attacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a named data set, which nobody chose image by image, the first hundred (here: two)."""
    import zoo.attacks.run

    monkeypatch.setattr(zoo.attacks.run, "_NAMED", 2)
    monkeypatch.setitem(zoo.DATASETS, "tiny", lambda root: tiny_data())
    model, test = tiny_model(tmp_path / "model"), tiny_data().test
    given = zoo.attack(model, (test.take(range(4)), test.labels[:4]), budget=1, out=tmp_path / "out", progress=False)
    assert given.images == 4
    assert zoo.attack(model, "Tiny", budget=1, out=tmp_path / "named", progress=False).images == 2
    assert zoo.attack(model, "tiny", limit=3, budget=1, out=tmp_path / "named", progress=False).images == 3


def test_folders_of_images(tmp_path: Path) -> None:
    """Pictures in class folders are attacked, all of them; the inputs that were found get the class that is named."""
    random = np.random.RandomState(0)
    for label, name in enumerate(("dark", "bright")):
        folder = tmp_path / "pictures" / name
        folder.mkdir(parents=True)
        for k in range(2):
            pixels = random.randint(0, 128, (8, 9, 3)) + 60 * label
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{k}.png")
    labels = np.arange(64) % 2
    pair = (random.randint(0, 128, (64, 3, 4, 4)) + 60 * labels[:, None, None, None]).astype(np.uint8), labels
    data = Dataset.from_arrays(pair, pair, q=255, name="small", class_names=["dark", "bright"])
    model = zoo.train(
        "z**0.5/2", data, model="mlp", budget=32, epochs=12, batch=8, out=tmp_path / "model", progress=False
    )
    found = zoo.attack(model, tmp_path / "pictures", budget=400, out=tmp_path / "out", progress=False)
    assert sorted((row.idx, row.label) for row in found.rows) == [(0, 0), (1, 0), (2, 1), (3, 1)]
    seen, smoothed = load_evaluated(tmp_path / "pictures", 255, (3, 4, 4), model.class_names), model.smoothed()
    for row in found.rows:
        if row.turned is not None:
            changed = row.adversarial(seen.test.take([row.idx])[0].numpy())
            assert smoothed.predict(changed[None])[0] == row.turned != row.predict
    assert any(row.turned is not None for row in found.rows)


def test_tables_and_estimators(tmp_path: Path) -> None:
    """A scikit-learn tree on a table, attacked on its own test rows and on the rows of a DataFrame."""
    pytest.importorskip("pandas")
    from sklearn.datasets import load_iris
    from sklearn.tree import DecisionTreeClassifier

    model = zoo.train("sign(z)/2", "iris", model=DecisionTreeClassifier(max_depth=3), out=tmp_path / "model")
    named = zoo.attack(model, limit=4, budget=10, progress=False)
    frame = load_iris(as_frame=True).frame.iloc[[0, 60, 120]]
    target = model.card["data"]["table"]["target"] if "table" in model.card["data"] else "target"
    rows = frame.rename(columns={"target": target}).assign(
        **{target: [model.class_names[k] for k in frame["target"].tolist()]}
    )
    given = zoo.attack(model, rows, budget=10, out=tmp_path / "rows", progress=False)
    assert (named.images, given.images) == (4, 3)
    for found in (named, given):
        changed = [row for row in found.rows if row.turned is not None]
        assert changed
        assert all(row.ratio is None or row.ratio >= 1 for row in changed)
