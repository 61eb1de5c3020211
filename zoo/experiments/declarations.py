"""What an experiment is: rows of models, radii, and the orderings that are claimed; `experiments.toml` has them all."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import attrs

from ecm.design import Kind
from zoo.experiments.paper import Published, published, published_base

Scale = Literal["paper", "small"]


@attrs.frozen(kw_only=True)
class Family:
    """A row of a table: models that differ in alpha alone; the row shows, at each radius, the best of them.

    `p` is that of the noise, g = z**p/alpha: 1 is the fixed Lambda of Levine & Feizi (2021), whose l1 certificates are
    converted to l_p; 0 is l0. `small` are the alphas of the small scale, () if the row is left out there. `seed` is
    that of the scheme's offsets. `coupling` None: independent offsets at the scale of the paper, spread ones at ours.
    `per_alpha`: B = per_alpha * alpha at the scale of the paper. `kind` fixes the kind of design and
    B = per_alpha * alpha at both scales. `borrows`: at the small scale these models are not trained but take the
    weights of the usual one, which has the same metric with the scale's own design, coupling and offsets.
    """

    label: str
    p: Fraction
    alphas: tuple[int, ...]
    small: tuple[int, ...]
    objective: str = "noisy"
    representation: str = "upper_lower"
    coupling: str | None = None
    seed: int = 0
    pixel: bool = False
    per_alpha: int = 1000
    kind: Kind | None = None
    borrows: bool = False

    def lender(self, scale: Scale) -> Family | None:
        """Return the models whose weights these ones take instead of being trained."""
        if scale == "paper" or not self.borrows:
            return None
        return attrs.evolve(self, coupling=None, seed=0, kind=None, per_alpha=1000, borrows=False)

    def at(self, scale: Scale) -> tuple[int, ...]:
        """Return the alphas of a scale."""
        return self.alphas if scale == "paper" else self.small

    @property
    def unusual(self) -> tuple[str, ...]:
        """How these models differ from those of the main text (for p = 1: from Levine & Feizi 2021)."""
        usual = "center" if self.p == 1 else "upper_lower"
        found = [self.representation] if self.representation != usual else []
        found += [self.coupling] if self.coupling else []
        found += ["pixel"] if self.pixel else []
        found += [f"{self.kind}{self.per_alpha}"] if self.kind else []
        return (*found, f"seed{self.seed}") if self.seed else tuple(found)

    def run_name(self, data: str, alpha: int) -> str:
        """Return the folder of one model; it tells models apart, so that tables with the same model share it.

        >>> Family(label="", p=Fraction(1, 2), alphas=(18,), small=(), seed=2).run_name("cifar10", 18)
        'cifar10-l0.5-a18-seed2'
        """
        kind = () if self.objective == "noisy" else (self.objective,)
        return "-".join([data, f"l{float(self.p):.3g}", f"a{alpha}", *kind, *self.unusual])


@attrs.frozen(kw_only=True)
class Panel:
    """One part of a table: rows by radius. `p`: radii are l_p radii, or numbers of changed features (pixels) if 0.

    `table` names the published numbers; None where the text of the paper has none.
    """

    p: Fraction
    radii: tuple[Fraction, ...]
    families: tuple[Family, ...]
    table: str | None = None

    @property
    def title(self) -> str:
        """The unit of the radii."""
        if self.p:
            return f"l_{self.p} radius"
        return "changed pixels" if self.families[0].pixel else "changed features"

    def cells(self, label: str) -> tuple[Published, ...] | None:
        """Return what the paper has for a row, at each radius."""
        return None if self.table is None else published(self.table).rows.get(label)


@attrs.frozen(kw_only=True)
class Claim:
    """An ordering of two rows that the paper states: `first` lies above `second`, or they are alike.

    It is about the radii from `start` on, in every panel that has both rows; "alike" means a difference of less than
    `points` percentage points.
    """

    name: str
    first: str
    second: str
    relation: Literal["above", "alike"] = "above"
    start: dict[Fraction, int] = attrs.field(factory=dict)  # by the panel's p; absent: every radius
    points: float = 2.0


@attrs.frozen(kw_only=True)
class Experiment:
    """What `ecm reproduce NAME` runs. `images` are certified at the scale of the paper (None: all test images), at most
    `small_images` at the small one, which takes `minutes` unless told otherwise."""

    name: str
    title: str
    data: str
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...] = ()
    images: int | None = None
    small_images: int = 500
    minutes: float = 60.0
    note: str = ""

    def models(self, scale: Scale) -> dict[str, tuple[Family, int]]:
        """Return every model to train once, by the name of its folder; those that lend their weights come first."""
        found = [(family, alpha) for panel in self.panels for family in panel.families for alpha in family.at(scale)]
        lenders = [(family.lender(scale), alpha) for family, alpha in found]
        every = [(family, alpha) for family, alpha in lenders if family is not None] + found
        return {family.run_name(self.data, alpha): (family, alpha) for family, alpha in every}

    def base(self, family: Family, alpha: int) -> float | None:
        """Return the published base accuracy (percent) of a model; there is one for models of the main text only."""
        return None if family.unusual else published_base(self.data, family.p, family.objective, alpha)
