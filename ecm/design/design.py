"""Designs: B outcomes per component, verified pair by pair in integers before the object exists."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import index
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from ecm.allocation import Outcomes, whole
from ecm.design.archive import read_arrays
from ecm.design.search import LARGEST_SEARCH, VERSION, Effort, construct, steps_for
from ecm.errors import DesignError
from ecm.jsontext import JsonForm

if TYPE_CHECKING:
    from ecm.elementwise import ECM

Kind = Literal["aperiodic", "periodic"]
FORMAT = "ecm-design-2"
_FORM = JsonForm("a design", (FORMAT,), DesignError, "pass what Design.to_json wrote")
LARGEST_FILE = 1 << 27  # bytes that a saved design may unpack to: 16 million dividers


def _frozen_weights(
    weights: Sequence[Mapping[int, int]] | None,
) -> tuple[Mapping[int, int], ...] | None:
    return None if weights is None else tuple(MappingProxyType({int(j): int(w) for j, w in m.items()}) for m in weights)


def _frozen_provenance(provenance: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(provenance, Mapping):
        raise DesignError(f"provenance = {provenance!r}: write a mapping of what is to be remembered")
    return MappingProxyType(dict(provenance))


@attrs.frozen(eq=False, repr=False, slots=False)
class Design:
    """`budget` outcomes for every component of `metric` on the levels 0..q, such that for all i and all levels x < y

        c_i(x, y) <= B g_i((y - x)/q),      c_i(x, y) = how many of the B outcomes separate x and y.

    That inequality is all that the Lipschitz guarantee needs. It is checked here, for all pairs, in integers; whoever
    proposes the rows (a search, a file, a solver, a user), a Design that breaks it cannot be made.

    `kind` is "periodic" if every component is the list of full offset sets of an allocation (then `weights` holds one
    Mapping width in levels -> count a component), otherwise "aperiodic" (`weights` is None).
    `provenance` says how the rows were found; it is not part of the fingerprint.

    >>> from ecm import ECM
    >>> Design.from_rows(ECM.from_expr("z/2"), [[1, 3], [2, 4]], q=4, budget=16)
    Design(z/2, q=4, B=16, aperiodic, 2 finite + 14 infinite, eps_max=0.3750, eps_mean=0.1500)
    """

    read_metric: ClassVar[Callable[[str], ECM]]  # set where ECM is defined, which stands on this room
    metric: ECM
    q: int = attrs.field(converter=whole)
    budget: int = attrs.field(converter=whole)
    outcomes: tuple[Outcomes, ...]
    kind: Kind = "aperiodic"
    weights: tuple[Mapping[int, int], ...] | None = attrs.field(default=None, converter=_frozen_weights)
    provenance: Mapping[str, Any] = attrs.field(factory=dict, converter=_frozen_provenance)

    def __attrs_post_init__(self) -> None:
        if self.budget < 1:
            raise DesignError(f"budget = {self.budget}: a design has a whole number of outcomes, at least 1")
        for outcomes in self.outcomes:
            if (outcomes.q, outcomes.budget) != (self.q, self.budget):
                raise DesignError(f"{outcomes} does not belong to a design with q = {self.q} and budget {self.budget}")
        if self.kind not in ("aperiodic", "periodic"):
            raise DesignError(f"kind = {self.kind!r}: write 'aperiodic' or 'periodic'")
        if (self.kind == "periodic") != (self.weights is not None):
            raise DesignError("weights belong to a periodic design and to no other")
        if self.weights is not None:
            periodic = tuple(Outcomes.from_weights(w, self.q, self.budget) for w in self.weights)
            if periodic != self.outcomes:
                raise DesignError("the outcomes are not the full offset sets of the weights: use Design.from_weights")
        self.verify(self.metric)

    @classmethod
    def from_rows(
        cls,
        metric: ECM,
        rows: Iterable[Sequence[int]] | Sequence[Iterable[Sequence[int]]],
        q: int,
        budget: int,
        provenance: Mapping[str, Any] | None = None,
    ) -> Design:
        """Return the design whose outcomes have dividers in these gaps (1..q); give one list of rows per component.

        Missing or empty rows are infinite outcomes.
        """
        lists = cast("list[Iterable[Sequence[int]]]", [rows] if len(metric.components) == 1 else list(rows))
        found = tuple(Outcomes.from_rows(part, q, budget) for part in lists)
        return cls(metric, q, budget, found, provenance=provenance or {"source": "rows"})

    @classmethod
    def from_weights(
        cls,
        metric: ECM,
        weights: Mapping[int, int] | Sequence[Mapping[int, int]],
        q: int,
        budget: int,
        provenance: Mapping[str, Any] | None = None,
    ) -> Design:
        """Return the periodic design: width j (levels) with all its j offsets, weights[j] times; one mapping a
        component.

        >>> from ecm import ECM
        >>> Design.from_weights(ECM.l1(), {4: 1}, q=4, budget=4).eps_max
        0.0
        """
        maps = [weights] if isinstance(weights, Mapping) else list(weights)
        outcomes = tuple(Outcomes.from_weights(m, q, budget) for m in maps)
        return cls(metric, q, budget, outcomes, "periodic", maps, provenance or {"source": "weights"})

    def verify(self, metric: ECM) -> None:
        """Raise DesignError unless c_i(x, y) <= B g_i((y-x)/q) for all pairs of levels and all components of `metric`.

        The caps floor(B g_i(k/q)) are decided exactly by the metric, the counts are integers: no float takes part.
        """
        if len(self.outcomes) != len(metric.components):
            raise DesignError(
                f"{len(self.outcomes)} lists of outcomes for {len(metric.components)} components: give one list each"
            )
        for i, (outcomes, caps) in enumerate(zip(self.outcomes, metric.floors(self.budget, self.q), strict=True)):
            over = np.flatnonzero(outcomes.most > caps)
            if len(over):
                k = int(over[0])
                x = next(x for x, row in enumerate(outcomes.splits()) if row[k] > caps[k])
                raise DesignError(
                    f"component {i}: {outcomes.most[k]} of {self.budget} outcomes separate the levels {x} and {x + k}, "
                    f"but B g({k}/{self.q}) allows {caps[k]}: take a divider out of the gaps {x + 1}..{x + k}"
                )

    @cached_property
    def _gaps(self) -> tuple[float, float]:
        worst, mean = [], []
        pairs = np.arange(self.q + 1, 0, -1)
        for outcomes, profile in zip(self.outcomes, self.metric.components, strict=True):
            g: NDArray[np.float64] = profile.values(self.q)
            worst.append(float((g - outcomes.least / self.budget).max()))
            mean.append(float((g * pairs - outcomes.total / self.budget)[1:].sum() / pairs[1:].sum()))
        return max(0.0, *worst), max(0.0, sum(mean) / len(mean))

    @property
    def eps_max(self) -> float:
        """max over all components and all pairs of levels of g - c/B (metric distance; a float, for comparison)."""
        return self._gaps[0]

    @property
    def eps_mean(self) -> float:
        """mean of g - c/B over the q(q+1)/2 pairs x < y, then over the components (a float, for comparison only)."""
        return self._gaps[1]

    @cached_property
    def fingerprint(self) -> str:
        """sha256 (hex) over the metric's canonical JSON, q, budget and all rows, or for a periodic design its weights;
        provenance does not count."""
        head = {
            "format": FORMAT,
            "metric": json.loads(self.metric.to_json()),
            "q": self.q,
            "budget": self.budget,
            "weights": None
            if self.weights is None
            else [sorted((j, w) for j, w in m.items() if w) for m in self.weights],
        }
        digest = hashlib.sha256(json.dumps(head, sort_keys=True, separators=(",", ":")).encode())
        if self.weights is not None:
            return digest.hexdigest()
        for outcomes in self.outcomes:
            digest.update(len(outcomes.starts).to_bytes(8, "little") + len(outcomes.gaps).to_bytes(8, "little"))
            digest.update(outcomes.starts.astype("<i8").tobytes() + outcomes.gaps.astype("<i8").tobytes())
        return digest.hexdigest()

    def _header(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "metric": json.loads(self.metric.to_json()),
            "q": self.q,
            "budget": self.budget,
            "kind": self.kind,
            "provenance": dict(self.provenance),
            "fingerprint": self.fingerprint,
        }

    def to_json(self) -> str:
        """Return the design as JSON text: its weights if it is periodic, else the divider gaps of every finite
        outcome."""
        if self.weights is not None:
            body: dict[str, Any] = {"weights": [{str(j): w for j, w in sorted(m.items())} for m in self.weights]}
        else:
            body = {"rows": [[row.tolist() for row in outcomes.rows()] for outcomes in self.outcomes]}
        return json.dumps(self._header() | body)

    @classmethod
    def from_json(cls, text: str) -> Design:
        """Read what to_json wrote. Soundness is verified again, and the fingerprint must agree with the content.

        >>> from ecm import ECM
        >>> design = Design.from_rows(ECM.from_expr("z**0.5"), [[1, 3], [2, 4]], q=4, budget=4)
        >>> Design.from_json(design.to_json()) == design
        True
        """
        maps = None
        with _FORM.reading(text) as data:
            if "weights" in data:
                maps = [{int(j): index(w) for j, w in m.items()} for m in data["weights"]]
                lists = [Outcomes.from_weights(m, data["q"], data["budget"]) for m in maps]
            else:
                lists = [Outcomes.from_rows(rows, data["q"], data["budget"]) for rows in data["rows"]]
            return cls._from_header(data, lists, maps)

    def save(self, path: str | Path) -> None:
        """Write the design as a compressed npz file (exactly at `path`)."""
        Path(path).write_bytes(self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the npz file that `save` writes."""
        arrays: dict[str, NDArray[Any]] = {"header": np.array(json.dumps(self._header()))}
        for i, outcomes in enumerate(self.outcomes):
            if self.weights is not None:
                arrays[f"weights{i}"] = np.array(sorted(self.weights[i].items()), dtype=np.int64).reshape(-1, 2)
            else:
                arrays |= {f"starts{i}": outcomes.starts, f"gaps{i}": outcomes.gaps}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def load(cls, path: str | Path) -> Design:
        """Read what `save` wrote; everything is verified again. Raises DesignError if the file is damaged."""
        try:
            arrays = read_arrays(path, most=LARGEST_FILE)
            header = str(arrays["header"])
        except KeyError as error:
            raise DesignError(f"{path} is not a readable design file ({error}): build the design again") from error
        with _FORM.reading(header) as data:
            maps = None
            if data["kind"] == "periodic":
                maps = [dict(arrays[f"weights{i}"].tolist()) for i in range(len(arrays) - 1)]
                lists = [Outcomes.from_weights(m, data["q"], data["budget"]) for m in maps]
            else:
                lists = [
                    Outcomes(data["q"], data["budget"], arrays[f"starts{i}"], arrays[f"gaps{i}"])
                    for i in range(len(arrays) // 2)
                ]
            return cls._from_header(data, lists, maps)

    @classmethod
    def _from_header(
        cls, data: dict[str, Any], lists: Sequence[Outcomes], maps: Sequence[Mapping[int, int]] | None
    ) -> Design:
        metric = cls.read_metric(json.dumps(data["metric"]))
        design = cls(metric, data["q"], data["budget"], tuple(lists), data["kind"], maps, data["provenance"])
        if design.fingerprint != data["fingerprint"]:
            raise DesignError(
                f"the content was altered: its fingerprint is {design.fingerprint}, not {data['fingerprint']}; "
                "build the design again"
            )
        return design

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its JSON: whatever a pickle holds, no design is made that was not verified."""
        return Design.from_json, (self.to_json(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Design:
        """Nothing of a design can change, so it is its own copy."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Design):
            return NotImplemented
        return (self.kind, self.fingerprint) == (other.kind, other.fingerprint)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        texts = ", ".join(p.text if len(p.text) <= 40 else p.text[:37] + "..." for p in self.metric.components)
        finite = "/".join(str(o.finite) for o in self.outcomes)
        infinite = "/".join(str(o.infinite) for o in self.outcomes)
        return (
            f"Design({texts}, q={self.q}, B={self.budget}, {self.kind}, {finite} finite + {infinite} infinite, "
            f"eps_max={self.eps_max:.4f}, eps_mean={self.eps_mean:.4f})"
        )


def make_design(
    metric: ECM,
    budget: int,
    q: int = 255,
    *,
    kind: Kind = "aperiodic",
    seed: int = 0,
    effort: Effort = "fast",
) -> Design:
    """Return a verified design of `budget` outcomes for every component of the metric, close to g from below.

    "aperiodic": greedy start and breakout search (about 2.6 outcomes below B g at worst, see docs/designs.md); the same
    seed and effort give the same rows, and what was found once is read from the cache (ECM_CACHE). "periodic": the
    optimal allocation of bin widths, as in the paper; it needs far larger budgets; seed and effort do not matter.

    >>> from ecm import ECM
    >>> make_design(ECM.from_expr("z**0.5"), 16, q=16).kind
    'aperiodic'
    """
    budget, q = whole(budget), whole(q)
    if budget < 1:
        raise DesignError(f"budget = {budget!r}: a design has a whole number of outcomes, at least 1")
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise DesignError(f"seed = {seed!r}: seeds are integers in 0..2**32-1")
    provenance: dict[str, Any] = {"source": "make_design", "kind": kind, "version": VERSION}
    if kind == "periodic":
        method = "exact" if q <= LARGEST_SEARCH else "slopes"
        maps = [metric[i].allocate(budget, q, method=method).weights for i in range(len(metric.components))]
        return Design.from_weights(metric, maps, q, budget, provenance)
    provenance |= {"seed": seed, "effort": effort, "steps": steps_for(effort, q)}
    lists = []
    for profile, caps in zip(metric.components, metric.floors(budget, q), strict=True):
        found = construct(caps, budget * profile.values(q), seed, effort)
        lists.append(Outcomes(q, budget, found.starts, found.gaps))
    return Design(metric, q, budget, tuple(lists), kind, None, provenance)
