"""Ensembles: the mean of finished models as one model, which is loaded, voted with and certified like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import zoo
from smoothing.votes.inference import prepare
from zoo.cli import app
from zoo.errors import CheckpointError, ModelError, TrainingError
from zoo.models import Model
from zoo.models.places import read_card

SETTINGS = {"epochs": 1, "budget": 16, "progress": False}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[Model]:
    """Two networks for the same metric on digits."""
    runs = tmp_path_factory.mktemp("runs")
    return [zoo.train("z**0.5/2", "digits", seed=seed, out=runs / str(seed), **SETTINGS) for seed in (0, 1)]


def test_an_ensemble_is_a_model_like_any_other(pair: list[Model], tmp_path: Path) -> None:
    """It answers with the mean logits of its members, up to the rounding of weights; it is read back bit by bit, its
    votes are those of the mean, and it can be certified and saved again."""
    before = [{name: value.clone() for name, value in model.base.state_dict().items()} for model in pair]
    both = zoo.ensemble(pair, out=tmp_path / "both")
    for model, state in zip(pair, before, strict=True):  # the members themselves are left alone
        assert all(torch.equal(value, state[name]) for name, value in model.base.state_dict().items())
    again = zoo.load(tmp_path / "both")
    shown = torch.rand(40, 2, 8, 8)
    wanted = (pair[0].base(shown) + pair[1].base(shown)).detach() / 2
    assert float((again.base(shown).detach() - wanted).abs().max()) < 0.05 * float(wanted.abs().max())
    assert torch.equal(again.base(shown), both.base(shown))
    found = zoo.certify(again, limit=12, progress=False)
    assert found.images == 12
    assert again.save(tmp_path / "copy").card["weights"] == both.card["weights"]
    small, large = ((path / "model.safetensors").stat().st_size for path in (both.path, pair[0].path))
    assert small < 0.6 * large  # two networks in eight bits each, one in 32
    assert both.card["training"]["members"]["name"] == "0 + 1"
    assert both.card["model"]["members"] == ["mlp", "mlp"]


def test_an_ensemble_of_convolutions_votes_with_folded_norms(tmp_path: Path) -> None:
    """The fast copy of the voting follows all members."""
    settings = {"model": "small_cnn", "epochs": 0, "budget": 16, "progress": False}
    member = zoo.train("z**0.5/2", "digits", out=tmp_path / "a", **settings)
    both = zoo.ensemble([member, member], out=tmp_path / "both")
    left = []
    for model in (member, both):
        prepared = prepare(model.base, torch.rand(3, 2, 8, 8), channels_last=True)
        assert prepared.pure
        left.append(sum(isinstance(module, nn.BatchNorm2d) for module in prepared.network.modules()))
    assert left[1] == 2 * left[0] < sum(isinstance(module, nn.BatchNorm2d) for module in both.base.modules())


def test_an_ensemble_teaches(pair: list[Model], tmp_path: Path) -> None:
    """It can be a teacher of one network; as the name of a network it means nothing."""
    both = zoo.ensemble(pair, out=tmp_path / "both")
    pupil = zoo.train("z**0.5/2", "digits", teacher=both, out=tmp_path / "pupil", **SETTINGS)
    assert pupil.card["training"]["teacher"]["name"] == "both"
    with pytest.raises(ModelError, match="ensemble"):
        zoo.train("z**0.5/2", "digits", model="ensemble", out=tmp_path / "more", **SETTINGS)
    with pytest.raises(ModelError, match="model 'ensemble' is unknown"):
        zoo.train("z**0.5/2", "digits", model="ensemble", start=pair[0], out=tmp_path / "more", **SETTINGS)


def test_the_members_of_an_ensemble_are_trained_together(pair: list[Model], tmp_path: Path) -> None:
    """A training that starts with an ensemble keeps its function, moves the weights of all members under any noise,
    and ends with an ensemble that is loaded and certified like any other."""
    both = zoo.ensemble(pair, out=tmp_path / "both")
    shown = torch.rand(40, 2, 8, 8)
    same = zoo.train("z**0.5/2", "digits", start=both, out=tmp_path / "same", **{**SETTINGS, "epochs": 0})
    assert torch.equal(same.base(shown), both.base(shown))
    more = zoo.train("z**0.5/3", "digits", start=both, bits=8, out=tmp_path / "more", **SETTINGS)
    again = zoo.load(tmp_path / "more")
    assert torch.equal(again.base(shown), more.base(shown))
    assert again.card["model"]["members"] == ["mlp", "mlp"]
    assert again.card["training"]["start"]["name"] == "both"
    resumed = zoo.train("z**0.5/3", "digits", start=both, bits=8, out=tmp_path / "more", **SETTINGS)
    assert resumed.card["weights"] == more.card["weights"]
    before, after = both.base.state_dict(), again.base.state_dict()
    for k in range(2):
        name = f"network.members.{k}.network.1.weight"
        assert not torch.equal(before[name], after[name])
    for name in ("mean", "std"):  # the members normalise, each for itself; nothing is normalised twice
        assert torch.equal(before[name], after[name])
    assert zoo.certify(again, limit=4, progress=False).images == 4


def test_single_networks_and_ensembles_are_no_common_start(pair: list[Model], tmp_path: Path) -> None:
    """The mean of the weights of unlike networks is refused, with the name of the one that does not fit."""
    both = zoo.ensemble(pair, out=tmp_path / "both")
    for starts, name in (([both, pair[0]], "0"), ([pair[0], both], "both")):
        with pytest.raises(TrainingError, match=f"start = {name}: its network"):
            zoo.train("z**0.5/2", "digits", start=starts, out=tmp_path / "refused", **SETTINGS)


def test_members_see_the_same_noise(pair: list[Model], tmp_path: Path) -> None:
    """Other metrics, other data, networks of the user's own and no members at all are refused, with what differs."""
    other = zoo.train("z**0.5/3", "digits", out=tmp_path / "other", **SETTINGS)
    with pytest.raises(ModelError, match="other and 0 differ in their metric"):
        zoo.ensemble([pair[0], other], out=tmp_path / "refused")
    own = nn.Sequential(nn.Flatten(), nn.Linear(128, 10))
    mine = zoo.train("z**0.5/2", "digits", model=own, out=tmp_path / "mine", **SETTINGS)
    with pytest.raises(ModelError, match="its network is 'Sequential'"):
        zoo.ensemble([pair[0], mine], out=tmp_path / "refused")
    with pytest.raises(ModelError, match="give two or more"):
        zoo.ensemble([], out=tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
    card = (other.path / "card.json").read_text()
    with pytest.raises(ModelError, match="holds a model already"):
        zoo.ensemble(pair, out=other.path)
    assert (other.path / "card.json").read_text() == card


def test_a_card_with_unknown_members_is_refused(pair: list[Model], tmp_path: Path) -> None:
    """A damaged card names what is wrong."""
    both = zoo.ensemble(pair, out=tmp_path / "both")
    text = (both.path / "card.json").read_text()
    (both.path / "card.json").write_text(text.replace('"mlp"', '"mlpp"'))
    with pytest.raises((ModelError, CheckpointError), match="its members must be networks of the package"):
        zoo.load(both.path)


def test_ensembles_on_the_command_line(pair: list[Model], tmp_path: Path) -> None:
    """`ecm ensemble A B --out C` does the same."""
    names = [str(model.path) for model in pair]
    said = CliRunner().invoke(app, ["ensemble", *names, "--out", str(tmp_path / "both")])
    assert said.exit_code == 0, said.output
    assert "Base accuracy" in said.output
    assert read_card(tmp_path / "both")["model"]["name"] == "ensemble"
