"""Cards, and folders whose pieces do not belong together."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from ecm import ECM
from tests.zoo.tiny import tiny_data, tiny_model
from zoo import Model, ModelError, certify, list_models, load
from zoo.models import find_model


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return tiny_model(tmp_path / "model")


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_loaded_model_is_the_one_that_was_kept(model: Model) -> None:
    """Same weights, same scheme, same answers."""
    again = load(model.path)
    assert again.scheme == model.scheme
    images = tiny_data().test.take([0, 1, 2])
    assert (again.smoothed().votes(images) == model.smoothed().votes(images)).all()


@pytest.mark.parametrize("wrong", [5, None], ids=repr)
@pytest.mark.parametrize(
    "entry", ["law", "coupling", "coupling/samples", "versions", "versions/ecm", "name", "data/name", "data", "model"]
)
def test_an_entry_that_is_wrong_or_missing_is_named_before_anything_is_made(
    model: Model, entry: str, wrong: object
) -> None:
    """Where the card decides nothing, a wrong value is shown as it is; otherwise the model is refused in words."""
    *outer, last = entry.split("/")

    def change(card: dict[str, Any]) -> None:
        inside = card
        for name in outer:
            inside = inside[name]
        if wrong is None:
            del inside[last]
        else:
            inside[last] = wrong

    edit(model.path / "card.json", change)
    if wrong is None:
        with pytest.raises(ModelError, match=f"lacks the entry '{last}'"):
            load(model.path)
    else:
        with contextlib.suppress(ModelError):
            certify(load(model.path), tiny_data(), progress=False, tolerance=1e-4)


def test_a_certification_that_is_no_report_is_refused(model: Model) -> None:
    """The rule of the votes is read from it."""
    edit(model.path / "card.json", lambda card: card.update(certification=5))
    with pytest.raises(ModelError, match="certification = 5"):
        load(model.path)


def test_the_card_says_how_everything_was_made(model: Model) -> None:
    """Metric, proof, law, design with its gap, coupling, data with checksums, versions, digest of the weights."""
    card = json.loads((model.path / "card.json").read_text())
    assert ECM.from_json(json.dumps(card["metric"])) == model.scheme.metric
    assert [row[0] for row in card["law"][0]["proof"]]
    assert sum(share for _, share in card["law"][0]["widths"]) == pytest.approx(1)
    assert card["design"]["fingerprint"] == model.scheme.design.fingerprint
    assert card["design"]["eps_max"] == model.scheme.design.eps_max
    assert card["coupling"] | {"kind": "spread", "seed": 0, "representation": "upper_lower"} == card["coupling"]
    assert card["data"]["digest"] == tiny_data().digest
    assert {"python", "torch", "ecm", "numpy"} <= set(card["versions"])
    assert len(card["weights"]) == 64


def test_pieces_of_two_models_are_refused(tmp_path: Path, model: Model) -> None:
    """Weights, scheme, card or votes of another model: each is found, whatever was swapped."""
    other = tiny_model(tmp_path / "other", "z**0.5/3", seed=1)
    for folder in (model, other):
        certify(folder, tiny_data(), progress=False, limit=2)
    for piece in ("model.safetensors", "scheme.json", "card.json", "votes"):
        mixed = tmp_path / f"mixed-{piece}"
        shutil.copytree(model.path, mixed)
        if piece == "votes":
            shutil.rmtree(mixed / piece)
            shutil.copytree(other.path / piece, mixed / piece)
        else:
            shutil.copy(other.path / piece, mixed / piece)
        with pytest.raises(ModelError, match=r"mixed up|another"):
            load(mixed)


def test_one_changed_bit_of_the_weights_is_found(model: Model) -> None:
    """The card knows the sha256 of the weights."""
    path = model.path / "model.safetensors"
    raw = bytearray(path.read_bytes())
    raw[-5] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(ModelError, match=r"model.safetensors is damaged"):
        load(model.path)


@pytest.mark.parametrize("piece", ["model.safetensors", "scheme.json", "card.json"])
@pytest.mark.parametrize("damage", ["missing", "empty", "half", "noise"])
def test_a_damaged_or_missing_piece_is_named(model: Model, piece: str, damage: str) -> None:
    """Every kind of damage gives an error of our own that names the file."""
    path = model.path / piece
    raw = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "half": raw[: len(raw) // 2], "noise": b"\x80\x04\x95pickle?" * 9}[damage])
    with pytest.raises(ModelError, match=Path(piece).stem):
        load(model.path)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]"])
def test_a_damaged_header_of_the_votes_is_named(model: Model, content: bytes) -> None:
    """The folder and what to do with it are said."""
    (model.path / "votes").mkdir()
    (model.path / "votes" / "header.json").write_bytes(content)
    with pytest.raises(ModelError, match=r"model.votes is damaged .*: delete votes/ and certify again"):
        load(model.path)


@pytest.mark.parametrize("entry", ["model", "metric", "scheme", "weights", "data"])
def test_a_card_without_an_entry_is_refused(model: Model, entry: str) -> None:
    """A missing entry is named."""
    edit(model.path / "card.json", lambda card: card.pop(entry))
    with pytest.raises(ModelError, match=entry):
        load(model.path)


def test_a_card_with_another_metric_is_refused(model: Model) -> None:
    """The card may not promise another metric than the scheme gives."""
    wrong = json.loads(ECM.lp("1/3", 2).to_json())
    edit(model.path / "card.json", lambda card: card.update(metric=wrong))
    with pytest.raises(ModelError, match="another metric"):
        load(model.path)


def test_the_wrong_metric_for_the_weights_is_refused(model: Model) -> None:
    """Who asks for a certificate in another metric is told what the weights are for."""
    assert load(model.path, metric="sqrt(z)/2").name == "model"
    with pytest.raises(ModelError, match=r"trained for d with g = z\*\*\(1/2\)/2, not for g = z\*\*\(1/2\)/9"):
        load(model.path, metric="z**0.5/9")


class Loud(nn.Module):
    """A user's own network."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Flatten(), nn.Linear(18, 2))

    def forward(self, shown: torch.Tensor) -> Any:
        return self.inner(shown)


def test_a_users_own_network_must_be_passed(tmp_path: Path) -> None:
    """Code is never loaded from a folder: the class has to come from the caller."""
    from zoo.models.model import write_model
    from zoo.models.networks import Base

    made = tiny_model(tmp_path / "model")
    base = Base(Loud(), torch.zeros(2, 1, 1), torch.ones(2, 1, 1))
    card = {**made.card, "model": {**made.card["model"], "name": "Loud"}}
    write_model(made.path, base, made.scheme, {part: card[part] for part in ("name", "model", "data", "training")})
    with pytest.raises(ModelError, match="base=Loud"):
        load(made.path)
    again = load(made.path, base=Loud())
    assert torch.equal(again.base.state_dict()["network.inner.1.weight"], base.state_dict()["network.inner.1.weight"])
    with pytest.raises(ModelError, match=r"do not fit .*: pass the module that was trained, or train again"):
        load(made.path, base=nn.Linear(18, 2))


def test_models_are_found_by_folder_and_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, or a name in `runs`; a name that is nearly right is suggested."""
    monkeypatch.chdir(tmp_path)
    tiny_model(tmp_path / "runs" / "tiny-l0.5-a2")
    assert find_model("tiny-l0.5-a2") == Path("runs/tiny-l0.5-a2")
    assert load("tiny-l0.5-a2").classes == 2
    with pytest.raises(ModelError, match=r"did you mean 'tiny-l0\.5-a2'"):
        load("tiny-l0.5-a3")
    (tmp_path / "runs" / "begun").mkdir()
    for name in ("runs/begun", "begun"):
        with pytest.raises(ModelError, match="runs/begun holds no finished model"):
            load(name)


def test_listing_reads_cards_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are listed with what is known of them; a damaged one does not hide the others."""
    monkeypatch.chdir(tmp_path)
    model = tiny_model(tmp_path / "runs" / "a")
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "card.json").write_text("{")
    (before,) = [found for found in list_models() if found.path.parts[0] == "runs"]
    assert (before.name, before.data, before.metric, before.smoothed_accuracy) == ("a", "tiny", "z**(1/2)/2", None)
    certify(model, tiny_data(), progress=False)
    (after,) = list_models("runs")
    assert after.images == 20
    assert after.smoothed_accuracy is not None
    with pytest.raises(ModelError):
        list_models("runs/broken")
    with pytest.raises(ModelError, match="not a folder"):
        list_models("nowhere")
