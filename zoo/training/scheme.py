"""The scheme of a run: the metric that was declared for the data, its design and coupling, and the run's name."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

from ecm import ECM, default_budget
from smoothing.scheme import Scheme
from zoo.data import Dataset, Table
from zoo.errors import SettingError
from zoo.training.recipe import Preset

Metric = ECM | Scheme | str | Mapping[str, ECM | str]


def declared_metric(metric: Metric, data: Dataset) -> ECM | Scheme | str:
    """Return the metric of a run: for a table with the roles of its columns, for other data as it is."""
    if isinstance(data, Table):
        if isinstance(metric, Scheme):
            data.spec.require_roles(metric.metric)
            return metric
        return data.spec.metric(metric)
    if isinstance(metric, Mapping):
        raise SettingError(f"formulas by column name, but {data.name} has no named columns: give one formula or an ECM")
    return metric


def make_scheme(
    metric: ECM | Scheme | str, data: Dataset, chosen: Preset, budget: int | None, pixel: bool = False
) -> Scheme:
    """Return the scheme of a run: the one given, or the preset's kind of design with B outcomes."""
    if isinstance(metric, Scheme):
        if pixel and not metric.pixel:
            raise SettingError("pixel=True, but the scheme does not share offsets by pixel: Scheme(..., pixel=True)")
        if metric.shape != data.shape or metric.q != data.q:
            raise SettingError(
                f"the scheme is for inputs of shape {metric.shape} with q = {metric.q}; "
                f"{data.name} has {data.shape} with q = {data.q}: write "
                f"Scheme(metric.design(B, q={data.q}), shape={data.shape}), or pass the metric alone"
            )
        if budget not in (None, metric.total):
            raise SettingError(f"budget = {budget}, but the scheme has {metric.total} outcomes: leave the budget out")
        return metric
    declared = ECM.from_expr(metric) if isinstance(metric, str) else metric
    if not isinstance(declared, ECM):
        raise SettingError(f"a metric of type {type(metric).__name__}: give an ECM, its formula as text, or a Scheme")
    if budget is None:
        budget = default_budget(_priced(declared, data.q), data.q)
        if chosen.per_alpha is not None:
            top = max(float(g.values(data.q)[-1]) for g in _priced(declared, data.q).components) or 1.0
            budget = math.ceil(round(chosen.per_alpha / top, 6))
    design = declared.design(budget, data.q, kind=chosen.kind)
    return Scheme(design, data.shape, coupling=chosen.coupling, order=chosen.order, pixel=pixel)


def _priced(metric: ECM, q: int) -> ECM:
    """Return the metric without the components that no certified change can touch (g(1/q) = 1): they say nothing about
    B."""
    kept = tuple(profile for profile in metric.components if profile.floors(1, q)[1] < 1)
    return ECM(kept, tuple(range(len(kept)))) if kept and len(kept) < len(metric.components) else metric


def run_name(data: Dataset, scheme: Scheme, preset: str) -> str:
    """Return a folder's name, such as `cifar10-l0.5-a18`; a metric without such a short name is named by a digest."""
    power = scheme.metric.power()
    short = hashlib.sha256(scheme.metric.to_json().encode()).hexdigest()[:8]
    metric = f"l{float(power[0]):.3g}-a{float(power[1]):g}" if power else f"ecm-{short}"
    return f"{data.name}-{metric}" + ("-pixel" if scheme.pixel else "") + ("" if preset == "standard" else f"-{preset}")
