"""Data as people have them: every way of giving the same images gives the same levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, Subset, SubsetRandomSampler, TensorDataset

from tests.zoo.tiny import tiny_data, tiny_model
from zoo import DataError, certify, load_data, report
from zoo.data.catalogue import load_evaluated
from zoo.data.image_folder import SUFFIXES

LEVELS = np.random.RandomState(0).randint(0, 256, (20, 3, 6, 6)).astype(np.uint8)
LABELS = np.arange(20) % 2


def pil(levels: np.ndarray[Any, Any]) -> Any:
    from PIL import Image

    return Image.fromarray(np.moveaxis(levels, 0, -1))


class Pairs(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """(image, label) pairs, the image made by `show`."""

    classes = ("no", "yes")

    def __init__(self, show: Callable[[np.ndarray[Any, Any]], Any]) -> None:
        self.show = show

    def __len__(self) -> int:
        return len(LEVELS)

    def __getitem__(self, k: int) -> tuple[Any, int]:
        return self.show(LEVELS[k]), int(LABELS[k])


class Stream(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter(Pairs(torch.from_numpy))  # type: ignore[call-overload]


def floats(levels: np.ndarray[Any, Any]) -> torch.Tensor:
    return torch.from_numpy(levels).float() / 255


WAYS: dict[str, Callable[[], Any]] = {
    "arrays": lambda: (LEVELS, LABELS),
    "list": lambda: [LEVELS, LABELS],
    "tensors": lambda: (torch.from_numpy(LEVELS), torch.from_numpy(LABELS)),
    "floats": lambda: (floats(LEVELS), LABELS),
    "doubles": lambda: (LEVELS / 255, LABELS),
    "TensorDataset": lambda: TensorDataset(floats(LEVELS), torch.from_numpy(LABELS)),
    "uint8 pairs": lambda: Pairs(torch.from_numpy),
    "float pairs": lambda: Pairs(floats),
    "PIL pairs": lambda: Pairs(pil),
    "channels last": lambda: Pairs(lambda one: np.moveaxis(one, 0, -1)),
    "stream": Stream,
    "loader": lambda: DataLoader(Pairs(floats), batch_size=7),
    "shuffled loader": lambda: DataLoader(Pairs(floats), batch_size=7, shuffle=True),
    "loader with workers": lambda: DataLoader(Stream(), batch_size=4),
    "subset": lambda: Subset(Pairs(torch.from_numpy), range(20)),
    "mapping": lambda: {"train": (LEVELS[:2], LABELS[:2]), "test": (LEVELS, LABELS)},
    "two halves": lambda: (Pairs(pil), Pairs(pil)),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_levels(way: str) -> None:
    """All of it, in its own order, whatever type it has."""
    data = load_evaluated(WAYS[way](), 255, (3, 6, 6), ["no", "yes"])
    assert torch.equal(data.test.take(range(20)), torch.from_numpy(LEVELS))
    assert data.test.labels.tolist() == LABELS.tolist()


def test_data_for_training_keep_the_names_of_the_classes() -> None:
    """As torchvision's data sets have them; a fifth of each class is held out if there is no test half."""
    data = load_data(Pairs(pil))
    assert (data.class_names, len(data.train), len(data.test)) == (("no", "yes"), 16, 4)
    assert len(load_data((Pairs(pil), Pairs(pil))).test) == 20


def test_a_sampler_chooses() -> None:
    """A loader whose sampler takes a part gives that part."""
    loader = DataLoader(Pairs(floats), batch_size=2, sampler=SubsetRandomSampler([3, 5, 8]))
    assert len(load_evaluated(loader, 255, (3, 6, 6), ["no", "yes"]).test) == 3


def test_a_hugging_face_split_is_read() -> None:
    """The real package: an image and a label column, class names, and a dictionary of splits."""
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"img": datasets.Image(), "kind": datasets.ClassLabel(names=["no", "yes"])})
    split = datasets.Dataset.from_dict({"img": [pil(one) for one in LEVELS], "kind": LABELS.tolist()}, features)
    data = load_data(datasets.DatasetDict({"train": split, "test": split}))
    assert data.class_names == ("no", "yes")
    assert torch.equal(data.test.take(range(20)), torch.from_numpy(LEVELS))
    streamed = load_evaluated(split.to_iterable_dataset(), 255, (3, 6, 6), ["no", "yes"])
    assert torch.equal(streamed.test.take(range(20)), torch.from_numpy(LEVELS))


@pytest.mark.parametrize("known", [True, False])
def test_a_streamed_split_is_read_to_its_end(known: bool) -> None:
    """It has no length, and perhaps no description of its columns; then their usual names are looked for."""

    class Streamed:
        column_names = ("img", "label") if known else None
        features = {"img": object(), "label": object()} if known else None

        def __iter__(self) -> Iterator[dict[str, Any]]:
            return ({"img": pil(one), "label": int(k)} for one, k in zip(LEVELS, LABELS, strict=True))

    data = load_evaluated(Streamed(), 255, (3, 6, 6), ["no", "yes"])
    assert torch.equal(data.test.take(range(20)), torch.from_numpy(LEVELS))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            Pairs(lambda one: floats(one) * 2 - 1),
            r"the input spans .*; floats are v/255 in \[0,1\].* Leave out transforms",
        ),
        (Pairs(lambda one: floats(one) / 3), "is not v/255: .* smoothing.quantize"),
        (Pairs(lambda one: one[:, : 4 + one[0, 0, 0] % 2]), "images of different shapes"),
        (TensorDataset(torch.zeros(3, 1, 2, 2)), r"an item of type tuple|\(image, label\)"),
        ({"tain": (LEVELS, LABELS)}, "one of them must be called 'train'"),
        (7, "data of type int: give a name"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_cure(data: Any, message: str) -> None:
    """The condition that fails and what to write instead."""
    with pytest.raises(DataError, match=message):
        load_data(data)


def test_what_is_given_to_certify_is_certified(tmp_path: Path) -> None:
    """Arrays at q = 4: all of them, not a fifth, with the model's classes; the report is given the same."""
    model, test = tiny_model(tmp_path / "model"), tiny_data().test
    pair = (test.take(range(20)).numpy(), test.labels.numpy())
    found = certify(model, pair, progress=False)
    whole = certify(tiny_model(tmp_path / "other"), tiny_data(), progress=False)
    assert found.images == found.split_size == 20
    assert {row.idx: row.balls for row in found.rows} == {row.idx: row.balls for row in whole.rows}
    assert "Test image" in report(found, data=pair).read_text()
    one_class = (pair[0][:3], np.zeros(3, int))
    assert certify(model, one_class, out=tmp_path / "one", progress=False).images == 3
    with pytest.raises(DataError, match="custom has the shape"):
        certify(model, (pair[0][:, :, :2], pair[1]), out=tmp_path / "two", progress=False)


def test_a_folder_of_class_folders_is_evaluated_as_a_whole(tmp_path: Path) -> None:
    """Without train/ and val/: all its images, by the names of the model's classes."""
    for k, name in enumerate(["no", "yes"]):
        (tmp_path / name).mkdir()
        pil(LEVELS[k]).resize((224, 224)).save(tmp_path / name / "a.png")
    assert ".png" in SUFFIXES
    data = load_evaluated(tmp_path, 255, (3, 224, 224), ["no", "yes", "maybe"])
    assert (len(data.test), data.classes, data.test.labels.tolist()) == (2, 3, [0, 1])
    with pytest.raises(DataError, match="one folder for each class of the model"):
        load_evaluated(tmp_path, 255, (3, 224, 224), ["cat", "dog"])


def test_an_image_file_of_the_size_of_the_model_is_taken_as_it_is(tmp_path: Path) -> None:
    """CIFAR-10 as a folder of PNG files is CIFAR-10, not a crop of enlarged copies."""
    for k, name in enumerate(["no", "yes"]):
        (tmp_path / name).mkdir()
        pil(LEVELS[k]).save(tmp_path / name / "a.png")
    data = load_evaluated(tmp_path, 255, (3, 6, 6), ["no", "yes"])
    assert torch.equal(data.test.take([0, 1]), torch.from_numpy(LEVELS[:2]))
