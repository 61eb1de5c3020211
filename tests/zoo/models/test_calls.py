"""A model is called as other modules are: what it takes, what it answers, and what it refuses with the cure."""

from __future__ import annotations

import warnings

import pytest
import torch

import zoo
from smoothing import InputError, VoteError


@pytest.fixture(scope="module")
def model() -> zoo.Model:
    return zoo.load("digits-l0.5-a4")


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    return zoo.load_data("digits").test.take(range(3))


def test_no_images_give_no_answers(model: zoo.Model, images: torch.Tensor) -> None:
    """The last batch of a loop may be empty."""
    assert model(images[:0]).shape == (0, 10)
    assert model.predict(images[:0]).shape == (0,)
    assert model.certify(images[:0]) == []


def test_a_picture_is_an_image(model: zoo.Model, images: torch.Tensor) -> None:
    """PIL gives an array that nobody may write to; torch must not warn of it."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(Image.fromarray(images[0, 0].byte().numpy())).tolist() == model.predict(images[0]).tolist()


def test_certificates_and_rules_are_named_as_people_write_them(model: zoo.Model, images: torch.Tensor) -> None:
    """Hyphens and capitals do not matter; a certificate of the other rule is refused with a cure that works."""
    (strongest,) = model.certify(images[0])
    assert model.certify(images[0], certificate="Runoff vote-aware") == [strongest]  # type: ignore[arg-type]
    assert model.certify(images[0], rule="run-off") == [strongest]  # type: ignore[arg-type]
    with pytest.raises(VoteError, match="or rule='plurality'"):
        model.certify(images[0], certificate="vote-aware")  # type: ignore[arg-type]
    (ball,) = model.certify(images[0], certificate="vote-aware", rule="plurality")  # type: ignore[arg-type]
    assert ball.method == "vote_aware"


def test_a_wrong_name_is_refused_before_the_votes(model: zoo.Model, images: torch.Tensor) -> None:
    """All votes of a large network cost minutes."""
    asked: list[int] = []
    base = torch.nn.Sequential(model.base)
    base.register_forward_hook(lambda *_: asked.append(1))
    counting = zoo.Model(model.path, base, model.scheme, model.card)
    with pytest.raises(VoteError, match="certificate = 'best' is unknown"):
        counting.certify(images[0], certificate="best", tolerance=0.0)  # type: ignore[arg-type]
    assert not asked
    counting.certify(images[0], tolerance=0.0)
    assert asked


def test_channels_last_is_refused_with_the_cure(model: zoo.Model, images: torch.Tensor) -> None:
    """The order of numpy images, and levels given as floats."""
    with pytest.raises(InputError, match=r"channels come first: x\.permute\(0, 3, 1, 2\)"):
        model(images.permute(0, 2, 3, 1))
    with pytest.raises(InputError, match=r"floats are v/16 in \[0,1\], and levels are integers"):
        model(images.float())
