"""Folders in the conventions of the Hugging Face Hub, read by the Hub's own package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.zoo.hub import stand_in
from tests.zoo.tiny import tiny_data, tiny_model
from zoo import Model, ModelError, certify, load


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return tiny_model(tmp_path / "model")


def test_the_model_card_is_one_that_the_hub_reads(model: Model) -> None:
    """Its YAML header names the data, and the certified accuracies are its model-index."""
    hub = pytest.importorskip("huggingface_hub")
    found = certify(model, tiny_data(), progress=False)
    card = hub.ModelCard.load(model.path / "README.md")
    assert card.data.library_name == "ecm"
    assert card.data.datasets == ["tiny"]
    by_name = {result.metric_name: result.metric_value for result in card.data.eval_results}
    assert by_name["smoothed accuracy"] == pytest.approx(found.smoothed_accuracy.share, abs=1e-4)
    assert sum(name.startswith("certified accuracy at l_1/2 radius") for name in by_name) == len(found.radii)
    config = json.loads((model.path / "config.json").read_text())
    assert config["id2label"] == {"0": "dark", "1": "bright"}
    assert config["votes_per_image"] == model.scheme.samples


def test_a_folder_of_an_earlier_version_is_read(model: Model) -> None:
    """It has another name for the weights, and neither config nor README."""
    (model.path / "model.safetensors").rename(model.path / "weights.safetensors")
    for name in ("config.json", "README.md"):
        (model.path / name).unlink()
    images = tiny_data().test.take([0, 1])
    assert torch.equal(load(model.path)(images), model(images))
    assert certify(load(model.path), tiny_data(), limit=3, progress=False).images == 3


def test_a_model_that_was_changed_needs_a_folder_of_its_own(model: Model, tmp_path: Path) -> None:
    """Neither its old folder nor that of another model; the numbers of the old weights do not come along."""
    certify(model, tiny_data(), progress=False)
    with torch.no_grad():
        next(model.parameters()).mul_(2)
    with pytest.raises(ModelError, match=r"model.save\(folder\)"):
        certify(model, tiny_data(), progress=False)
    with pytest.raises(ModelError, match="choose another folder"):
        model.save(model.path)
    with pytest.raises(ModelError, match="holds another model"):
        model.save(tiny_model(tmp_path / "other", seed=1).path)
    kept = model.save(tmp_path / "changed")
    assert "certification" not in kept.card
    assert "accuracy" not in kept.card
    assert certify(kept, tiny_data(), progress=False).images == 20


@pytest.mark.parametrize("precision", ["half", "bfloat16", "double"])
def test_a_model_in_another_precision_votes_and_is_kept_as_it_is(model: Model, precision: str, tmp_path: Path) -> None:
    """It is another classifier: refused under the old name, certified under its own, and loaded in its precision."""
    images = tiny_data().test.take(range(5))
    changed = getattr(model, precision)()
    shares = changed(images)
    assert shares.shape == (5, 2)
    assert bool((shares.sum(1) <= 1).all())
    with pytest.raises(ModelError, match="another precision is a change"):
        certify(changed, tiny_data(), progress=False)
    kept = changed.save(tmp_path / precision)
    assert certify(kept, tiny_data(), limit=4, progress=False).images == 4
    again = load(tmp_path / precision)
    assert next(again.parameters()).dtype == next(changed.parameters()).dtype
    assert torch.equal(again(images), shares)


def test_a_model_is_pushed_and_fetched(model: Model, tmp_path: Path) -> None:
    """By the real package, to and from a server on this machine; what comes back votes the same."""
    pytest.importorskip("huggingface_hub")
    certify(model, tiny_data(), limit=4, progress=False)
    (model.path / "code.py").write_text("raise SystemExit('code of a folder was run')")
    program = (
        "import sys, torch, zoo\n"
        "model = zoo.load(sys.argv[1])\n"
        "print(model.push_to_hub('someone/model', token='hf_none', private=True))\n"
        "again = zoo.Model.from_pretrained('someone/model', cache_dir=sys.argv[2])\n"
        "images = torch.zeros(1, 1, 3, 3)\n"
        "assert torch.equal(again(images), model(images)) and again.path != model.path\n"
    )
    with stand_in() as (address, files):
        settings = {"HF_ENDPOINT": address, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        done = subprocess.run(
            [sys.executable, "-c", program, str(model.path), str(tmp_path / "cache")],
            env=os.environ | settings,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    assert {"README.md", "config.json", "model.safetensors", "scheme.json", "card.json", "certify.tsv"} <= files.keys()
    assert "code.py" not in files


def test_a_name_that_the_hub_does_not_have_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence with what to check; a name without an owner is never looked up."""
    pytest.importorskip("huggingface_hub")
    with pytest.raises(ModelError, match="neither the folder of a model nor a known name"):
        Model.from_pretrained("nobody")
    with pytest.raises(ModelError, match="the Hub did not give it"):
        Model.from_pretrained("nobody/nothing", local_files_only=True)


@pytest.mark.parametrize("suffix", [".pt2", ".onnx"])
def test_the_base_is_exported_by_one_call(model: Model, suffix: str, tmp_path: Path) -> None:
    """The file reads what the noise shows, in batches of any size, and gives the logits of the base."""
    if suffix == ".onnx":
        onnx = pytest.importorskip("onnx")
        pytest.importorskip("onnxscript")
    path = model.export_base(tmp_path / f"base{suffix}")
    shown = model.smoothed().noise.inputs(tiny_data().test.take([0]), range(5)).flatten(0, 1)
    if suffix == ".pt2":
        logits = torch.export.load(path).module()(shown)
    else:
        from onnx.reference import ReferenceEvaluator

        onnx.checker.check_model(onnx.load(path))
        logits = torch.from_numpy(ReferenceEvaluator(str(path)).run(None, {"shown": shown.numpy()})[0])
    torch.testing.assert_close(logits, model.base(shown), rtol=1e-4, atol=1e-5)
    with pytest.raises(ModelError, match=r"ends in .pt2 \(torch.export\) or .onnx"):
        model.export_base(tmp_path / "base.h5")
