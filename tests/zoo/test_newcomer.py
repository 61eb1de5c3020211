"""The first things that somebody tries who knows torch, timm, RobustBench, foolbox and ART: all succeed.

Read from top to bottom it is a notebook: every step uses public names only, and nothing but what the names promise.
"""

from __future__ import annotations

import copy
import functools
import io
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import zoo
from zoo.data import torchvision

NAME = "digits-l0.5-a4"


@pytest.fixture(scope="module")
def model() -> zoo.Model:
    return zoo.load(NAME)


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    """Eight test images as most people hold them: floats in [0, 1]."""
    return zoo.load_data("digits").test.take(range(8)).float() / 16


@pytest.fixture(scope="module")
def labels() -> torch.Tensor:
    return zoo.load_data("digits").test.labels[:8]


def test_1_call_the_loaded_model_on_a_float_batch(model: zoo.Model, images: torch.Tensor) -> None:
    """Shares of the votes, one row per image, and the class that has most of them."""
    shares = model(images)
    assert shares.shape == (8, 10)
    assert torch.equal(shares.argmax(1), model.predict(images))
    assert torch.equal(model(images), model((images * 16).to(torch.uint8)))
    assert torch.equal(model(images[0]), shares[:1])


def test_2_move_it(model: zoo.Model, images: torch.Tensor) -> None:
    """A module among modules: device, mode, parameters, and a place inside another module."""
    moved = model.to("cpu").eval()
    assert moved is model
    assert model.device == torch.device("cpu")
    assert not model.training
    assert sum(p.numel() for p in model.parameters()) > 10_000
    assert nn.Sequential(model, nn.Softmax(dim=1))(images).shape == (8, 10)


def test_3_a_data_loader(model: zoo.Model, images: torch.Tensor, labels: torch.Tensor, tmp_path: Path) -> None:
    """Everything that the loader gives is certified, in the order of its data set."""
    loader = DataLoader(TensorDataset(images, labels), batch_size=3, shuffle=True)
    found = zoo.certify(model, loader, out=tmp_path, progress=False)
    assert found.images == found.split_size == 8
    assert sorted(row.idx for row in found.rows) == list(range(8))


@pytest.mark.parametrize("kind", ["partial", "function"])
def test_4_a_timm_style_factory(kind: str, tmp_path: Path) -> None:
    """timm's own `create_model` is called by its own argument names."""
    torchvision()  # timm imports it, too
    timm = pytest.importorskip("timm")

    def tiny(pretrained: bool = False, **settings: int) -> nn.Module:
        assert pretrained is False
        return nn.Sequential(nn.Flatten(), nn.Linear(settings["in_chans"] * 64, settings["num_classes"]))

    factory = functools.partial(timm.create_model, "test_vit", img_size=8, patch_size=4) if kind == "partial" else tiny
    made = zoo.train("z**0.5/2", model=factory, epochs=0, budget=16, out=tmp_path, progress=False)
    assert made.predict(torch.zeros(1, 1, 8, 8)).shape == (1,)


def test_5_a_hugging_face_like_data_set(model: zoo.Model, images: torch.Tensor, tmp_path: Path) -> None:
    """A split with an image and a label column, decoded as PIL images."""
    from PIL import Image

    class Named:
        names = tuple("0123456789")

    class Split:
        """What `datasets.Dataset` looks like from outside."""

        column_names = ("image", "label")

        def __init__(self) -> None:
            self.features = {"image": object(), "label": Named()}

        def __len__(self) -> int:
            return 3

        def __iter__(self):  # type: ignore[no-untyped-def]
            for k in range(3):
                yield {"image": Image.fromarray((images[k, 0] * 16).byte().numpy()), "label": k}

    assert zoo.certify(model, Split(), out=tmp_path, progress=False).images == 3


def test_6_numpy(model: zoo.Model, images: torch.Tensor, labels: torch.Tensor, tmp_path: Path) -> None:
    """Arrays are the test set, all of it, with the levels and the classes of the model."""
    pair = ((images.numpy() * 16).astype(np.uint8), labels.numpy())
    found = zoo.certify(model, pair, out=tmp_path, progress=False)
    assert found.images == 8
    assert [row.predict for row in sorted(found.rows, key=lambda row: row.idx)] == model.predict(images).tolist()


def test_7_certify_one_image(model: zoo.Model, images: torch.Tensor) -> None:
    """Without a data set and without a folder."""
    (ball,) = model.certify(images[0])
    radius = ball.lp_radius()
    assert radius is not None
    assert radius > 0.1
    assert ball.prediction == int(model.predict(images[0]))


def test_8_pandas() -> None:
    """One row per image, in the columns that everybody's scripts read."""
    pytest.importorskip("pandas")
    frame = zoo.read_certification(NAME).to_pandas()
    assert list(frame.columns[:6]) == ["idx", "label", "predict", "radius", "correct", "time"]
    assert (frame.correct & (frame.radius >= 1)).mean() == pytest.approx(0.8329, abs=1e-3)
    assert zoo.list_models().to_pandas().name.tolist() == [one.name for one in zoo.list_models()]


def test_9_plot(tmp_path: Path) -> None:
    """A figure, the curve as arrays, and what a notebook shows."""
    found = zoo.read_certification(NAME)
    found.plot().savefig(tmp_path / "curve.png")
    radii, accuracy = found.curve()
    assert radii.shape == accuracy.shape
    assert accuracy[0] <= found.smoothed_accuracy.share
    assert "<table>" in found._repr_html_()
    assert "<table>" in zoo.list_models()._repr_html_()


def test_10_save_and_load(model: zoo.Model, images: torch.Tensor, tmp_path: Path) -> None:
    """In a folder, by state dict, and by the names of the Hub."""
    kept = model.save(tmp_path / "mine")
    assert torch.equal(zoo.load(tmp_path / "mine")(images), model(images))
    assert torch.equal(zoo.Model.from_pretrained(tmp_path / "mine")(images), model(images))
    assert zoo.read_certification(kept.path).images == 359
    other = copy.deepcopy(model)
    nn.init.zeros_(next(other.parameters()))
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(images), model(images))


def test_11_deepcopy_and_pickle(model: zoo.Model, images: torch.Tensor) -> None:
    """Also by torch.save, and what comes back votes as before."""
    wanted = model(images)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.load(file, weights_only=False)):
        assert torch.equal(other(images), wanted)
        assert other.scheme == model.scheme
        assert next(other.parameters()) is not next(model.parameters())


def test_12_foolbox(images: torch.Tensor) -> None:
    """foolbox reads accuracies and runs a decision-based attack; floats are rounded because the user says so."""
    torchvision()
    foolbox = pytest.importorskip("foolbox")
    model = zoo.load(NAME, quantize=True).eval()
    wrapped = foolbox.PyTorchModel(model, bounds=(0, 1), device="cpu")
    classes = model.predict(images[:2])
    assert foolbox.accuracy(wrapped, images[:2], classes) == 1.0
    attack = foolbox.attacks.SaltAndPepperNoiseAttack(steps=5)
    _, clipped, _ = attack(wrapped, images[:2], classes, epsilons=None)
    assert clipped.shape == (2, 1, 8, 8)


def test_12_art(images: torch.Tensor) -> None:
    """The adversarial robustness toolbox as well."""
    art = pytest.importorskip("art.estimators.classification")
    attacks = pytest.importorskip("art.attacks.evasion")
    model = zoo.load(NAME, quantize=True)
    wrapped = art.PyTorchClassifier(
        model, loss=nn.CrossEntropyLoss(), input_shape=(1, 8, 8), nb_classes=10, clip_values=(0, 1)
    )
    some = images[:1].numpy()
    assert wrapped.predict(some).argmax(1).tolist() == model.predict(images[:1]).tolist()
    attack = attacks.HopSkipJump(wrapped, max_iter=1, max_eval=10, init_eval=5, init_size=5, verbose=False)
    assert attack.generate(some).shape == some.shape
