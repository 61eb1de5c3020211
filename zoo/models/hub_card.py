"""What the Hugging Face Hub wants to know of a model, made from its card: `config.json` and the model card."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any


def config_text(card: dict[str, Any]) -> str:
    """Return `config.json`: what a program on the Hub asks a model, made from its card.

    >>> from zoo import load
    >>> json.loads(config_text(load("digits-l0.5-a4").card))["num_labels"]
    10
    """
    data, coupling = card["data"], card["coupling"]
    names = data["class_names"]
    config = {
        "model_type": "ecm",
        "architectures": [card["model"]["name"]],
        "num_labels": len(names),
        "id2label": {str(k): name for k, name in enumerate(names)},
        "label2id": {name: k for k, name in enumerate(names)},
        "input_shape": list(data["shape"]),
        "levels": data["q"],
        "metric": [part["g"] for part in card["law"]],
        "votes_per_image": coupling["samples"],
        "representation": coupling["representation"],
        "scheme_fingerprint": card["scheme"],
        "weights_sha256": card["weights"],
        "torch_dtype": card.get("precision", "float32"),
        "ecm_version": card["versions"]["ecm"],
    }
    return json.dumps(config, indent=2) + "\n"


def readme_text(card: dict[str, Any]) -> str:
    """Return `README.md`: a model card with its YAML header, the measured accuracies as a `model-index`.

    >>> from zoo import load
    >>> print(readme_text(load("digits-l0.5-a4").card)[:44])
    ---
    library_name: "ecm"
    pipeline_tag: "image
    """
    data, found = card["data"], card.get("certification")
    formulas = ", ".join(part["g"] for part in card["law"])
    task = "image-classification" if len(data["shape"]) == 3 else "tabular-classification"
    header: dict[str, Any] = {
        "library_name": "ecm",
        "pipeline_tag": task,
        "tags": ["certified-robustness", "randomized-smoothing", "deterministic"],
        "datasets": [data["name"]],
        "metrics": ["accuracy"],
        "model-index": [{"name": card["name"], "results": _results(card, task)}],
    }
    about = [
        f"# {card['name']}",
        "",
        f"A classifier of {data['name']} with deterministic certified robustness in the metric "
        f"d(x, y) = sum_i g(|x_i - y_i|), g(z) = `{formulas}`. Each prediction is decided by "
        f"{card['coupling']['samples']} votes per image and comes with a radius within which no input changes the "
        "predicted class.",
        "",
        "```python",
        "import zoo",
        "",
        'model = zoo.Model.from_pretrained("this folder, or this repository")',
        f"shares = model(images)          # levels 0..{data['q']} or floats in [0, 1], (N, "
        f"{', '.join(map(str, data['shape']))})",
        "balls = model.certify(images)   # one certificate per image",
        "```",
        "",
        *_accuracies(card, found),
        "## What is guaranteed",
        "",
        "For every input in the certified ball the smoothed classifier predicts the same class, without a confidence "
        "level. It is not guaranteed that the class is right, and nothing is said about changes that are small in "
        "another metric.",
        "",
        f"Network: {card['model']['name']}. Training: {_said(card['training'])}.",
        "",
        "This file was generated from `card.json`, which has every detail.",
        "",
    ]
    return "\n".join(["---", *_yaml(header), "---", "", *about])


def _results(card: dict[str, Any], task: str) -> list[dict[str, Any]]:
    found = card.get("certification")
    data = {"name": card["data"]["name"], "type": card["data"]["name"]}
    metrics: list[dict[str, Any]] = []
    if found:
        data |= {"name": found["data"], "type": found["data"], "split": "test"}
        metrics.append(_metric("smoothed accuracy", found["smoothed_accuracy"]))
        method = found["certificate"]
        for row in found["certified_accuracy"]:
            name = f"certified accuracy at {found['radius_unit']} {_decimal(row['radius'])} ({method})"
            metrics.append(_metric(name, row[method]))
    elif (base := card.get("accuracy", {}).get("base")) is not None:
        metrics.append(_metric("base accuracy under the noise", base["value"]))
    return [{"task": {"type": task}, "dataset": data, "metrics": metrics}] if metrics else []


def _metric(name: str, value: float) -> dict[str, Any]:
    return {"type": "accuracy", "name": name, "value": round(value, 4)}


def _accuracies(card: dict[str, Any], found: dict[str, Any] | None) -> list[str]:
    if not found:
        return ["It has not been certified yet: `ecm certify` does that.", ""]
    radii = [_decimal(row["radius"]) for row in found["certified_accuracy"]]
    shares = [f"{100 * row[found['certificate']]:.1f}%" for row in found["certified_accuracy"]]
    return [
        f"## Accuracy on {found['images']} of {found['of']} test images",
        "",
        f"| {found['radius_unit']} | {' | '.join(radii)} |",
        "|---|" + "---|" * len(radii),
        f"| certified ({found['certificate']}) | {' | '.join(shares)} |",
        "",
        f"Smoothed accuracy {100 * found['smoothed_accuracy']:.1f}%; {100 * found['base_accuracy']:.1f}% of the single "
        f"votes are right. Measure it again with `ecm certify {card['name']} --limit {found['images']}`.",
        "",
    ]


def _decimal(radius: str) -> str:
    return f"{float(Fraction(radius)):g}"


def _said(training: dict[str, Any]) -> str:
    told = [f"{name} {value}" for name, value in training.items() if isinstance(value, str | int | float)]
    return ", ".join(told) or "not described"


def _yaml(value: Any, indent: int = 0) -> Iterator[str]:
    """Yield lines of YAML for lists, mappings and scalars; scalars are JSON, which YAML contains."""
    pad = " " * indent
    pairs = value.items() if isinstance(value, dict) else ((None, part) for part in value)
    for name, part in pairs:
        head = f"{pad}{name}:" if name is not None else f"{pad}-"
        if isinstance(part, dict | list) and part:
            inner = list(_yaml(part, indent + 2))
            if name is None:  # the first line of an item stands beside its dash
                yield f"{head} {inner[0].lstrip()}"
                yield from inner[1:]
            else:
                yield head
                yield from inner
        else:
            yield f"{head} {json.dumps(part)}"
