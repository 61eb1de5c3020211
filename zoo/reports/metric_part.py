"""The part of the report about one component of the metric: its formula and proof, the law of Lambda, the design."""

from __future__ import annotations

from typing import Any

import numpy as np

from zoo.certification import Certification, design_figure, law_figure
from zoo.models import describe
from zoo.reports.display import formula, pictures, short


def components(found: Certification, names: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return what the page shows about each component of the metric; `names` are those of a table's columns."""
    laws = describe(found.scheme)["law"]
    return [_component(found, law, i, names) for i, law in enumerate(laws)]


def _component(found: Certification, law: dict[str, Any], i: int, names: tuple[str, ...]) -> dict[str, Any]:
    scheme, design = found.scheme, found.scheme.design
    outcomes, profile, budget = design.outcomes[i], scheme.metric.components[i], design.budget
    g, pairs = profile.values(scheme.q), np.arange(scheme.q + 1, 0, -1)
    drawn = formula(rf"g(z) = {profile.latex()}") if short(law["g"]) == law["g"] else None
    return {
        "g": short(law["g"]),
        "source": short(scheme.metric[i]),
        "formula": drawn,
        "zero": profile.is_zero,
        "where": _where(found, i, names),
        "proof": law["proof"],
        "law": {
            **pictures(lambda narrow: law_figure([(name, share) for name, share in law["widths"]], narrow=narrow)),
            "widths": law["widths"],
            "rows": [[name, f"{share:.6g}"] for name, share in law["widths"]],
        },
        "design": {
            **pictures(lambda narrow: design_figure(design, i, narrow=narrow)),
            "kind": design.kind,
            "finite": outcomes.finite,
            "infinite": outcomes.infinite,
            "worst": float((g - outcomes.least / budget).max()),
            "rows": [
                [
                    f"{k}/{scheme.q}",
                    f"{g[k]:.5f}",
                    f"{outcomes.least[k] / budget:.5f}",
                    f"{outcomes.total[k] / pairs[k] / budget:.5f}",
                    f"{outcomes.most[k] / budget:.5f}",
                    f"{g[k] - outcomes.least[k] / budget:.5f}",
                ]
                for k in range(1, scheme.q + 1)
            ],
        },
    }


def _where(found: Certification, i: int, names: tuple[str, ...]) -> str:
    """Return which features have this component; nothing where all of them do."""
    groups = [a for a, component in enumerate(found.scheme.metric.groups) if component == i]
    if not groups:
        return ""
    if names:
        return "columns " * (len(groups) > 1) + ", ".join(names[a] for a in groups)
    return f"index {', '.join(map(str, groups))} of the first axis"
