"""What a card says about the noise, for a person to read; `scheme.json` beside it is what a program uses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smoothing import Scheme


def describe(scheme: Scheme) -> dict[str, Any]:
    """Return proof and law of every component, the design with its gap, and the coupling, as plain data.

    `widths` pools the law of Lambda on the grid: [widths in levels, probability]. `eps_max` and `eps_mean` are the
    largest and the mean gap between g and the share of outcomes that separate two levels (metric distance).

    >>> from smoothing import Scheme
    >>> describe(Scheme.l1(2, shape=(3,), q=4))["design"]["budget"]
    8
    """
    design, metric = scheme.design, scheme.metric
    return {
        "law": [
            {
                "g": profile.text,
                "proof": [[str(c.condition), str(c.method), str(c.detail)] for c in profile.proof.conditions],
                "widths": [list(row) for row in metric[i].quantized(scheme.q).rows()],
            }
            for i, profile in enumerate(metric.components)
        ],
        "design": {
            "kind": design.kind,
            "q": design.q,
            "budget": design.budget,
            "finite": [outcomes.finite for outcomes in design.outcomes],
            "infinite": [outcomes.infinite for outcomes in design.outcomes],
            "weights": None if design.weights is None else [{str(j): w for j, w in m.items()} for m in design.weights],
            "eps_max": design.eps_max,
            "eps_mean": design.eps_mean,
            "provenance": json.loads(json.dumps(dict(design.provenance), default=str)),
            "fingerprint": design.fingerprint,
        },
        "coupling": {
            "kind": scheme.coupling,
            "order": scheme.order,
            "seed": scheme.seed,
            "pixel": scheme.pixel,
            "representation": scheme.representation,
            "shape": list(scheme.shape),
            "samples": scheme.samples,
        },
    }
