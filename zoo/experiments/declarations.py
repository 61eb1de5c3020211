"""Every experiment of Levine & Feizi (2022) as data: rows of models, radii, and the orderings that the paper claims."""

from __future__ import annotations

import difflib
from fractions import Fraction
from typing import Literal

import attrs

from ecm.design import Kind
from ecm.errors import ECMError
from zoo.experiments.paper import Published, published, published_base

Scale = Literal["paper", "small"]
HALF, THIRD, ONE, ZERO = Fraction(1, 2), Fraction(1, 3), Fraction(1), Fraction(0)
NEAR = "radii below 1/4, at alpha = 1, are not in the paper"
NONE_PUBLISHED = "a figure in the paper: no numbers published in the text"


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
        """In what these models differ from those of the main text (for p = 1: from Levine & Feizi 2021)."""
        usual = "center" if self.p == 1 else "upper_lower"
        found = [self.representation] if self.representation != usual else []
        found += [self.coupling] if self.coupling else []
        found += ["pixel"] if self.pixel else []
        found += [f"{self.kind}{self.per_alpha}"] if self.kind else []
        return (*found, f"seed{self.seed}") if self.seed else tuple(found)

    def run_name(self, data: str, alpha: int) -> str:
        """Return the folder of one model; it tells models apart, so that tables with the same model share it.

        >>> Family(label="", p=HALF, alphas=(18,), small=(), seed=2).run_name("cifar10", 18)
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
        """In what radii are counted."""
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


def find_experiment(name: str) -> Experiment:
    """
    >>> find_experiment("tabel1")
    Traceback (most recent call last):
        ...
    ecm.errors.ECMError: there is no experiment 'tabel1'; did you mean 'table1'? ...
    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    close = difflib.get_close_matches(name, EXPERIMENTS, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ECMError(
        f"there is no experiment {name!r}; {hint}`ecm reproduce --list` names them: {', '.join(EXPERIMENTS)}"
    )


def _radii(*radii: int | str) -> tuple[Fraction, ...]:
    return tuple(Fraction(radius) for radius in radii)


def _both(family: Family, *, small: tuple[int, ...] = ()) -> tuple[Family, Family]:
    """Return a row by standard and one by stability training; `small` are the alphas of the second at the small
    scale."""
    return family, attrs.evolve(family, label=f"{family.label}, stability", objective="stability", small=small)


def _above(first: str, second: str, *, stability: bool = True) -> tuple[Claim, ...]:
    """Return the claims that `first` is above `second` at every radius, for each kind of training."""
    kinds = ("", ", stability") if stability else ("",)
    return tuple(
        Claim(name=f"{first}{kind} above {second}{kind}", first=first + kind, second=second + kind) for kind in kinds
    )


def _alike(first: str, second: str) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            name=f"{first}{kind} and {second}{kind} alike", first=first + kind, second=second + kind, relation="alike"
        )
        for kind in ("", ", stability")
    )


ALPHAS = (1, 3, 6, 9, 12, 15, 18)
LARGE = (21, 24, 27, 30)
NEAR_RADII = tuple(Fraction(k, 40) for k in range(1, 10))
HALF_RADII, THIRD_RADII = _radii(*range(10, 81, 10)), _radii(*range(90, 721, 90))

BASELINE = Family(label="L&F (2021) from l1", p=ONE, alphas=ALPHAS, small=(6, 18), representation="center")
VARIABLE = Family(label="Variable Lambda", p=HALF, alphas=ALPHAS, small=(6, 18))
STABILITY_WINS = Claim(
    name="Variable Lambda: stability training better at large radii",
    first="Variable Lambda, stability",
    second="Variable Lambda",
    start={HALF: 50, THIRD: 450},
)


def _near(*families: Family) -> Panel:
    """Return rows at alpha = 1, with the radii that it reaches: an eighteenth of the votes of alpha = 18."""
    rows = tuple(attrs.evolve(family, alphas=(1,), small=(1,)) for family in families)
    return Panel(p=HALF, radii=NEAR_RADII, families=rows)


def _at_budget(kind: Kind, per_alpha: int, p: Fraction, alpha: int, borrows: bool = True) -> Family:
    """Return table 1's model with B = per_alpha * alpha votes; at the small scale it may borrow the usual weights."""
    label, only = f"{kind}, B = {per_alpha} alpha", (alpha,)
    return Family(label=label, p=p, alphas=only, small=only, kind=kind, per_alpha=per_alpha, borrows=borrows)


_TABLE1 = Experiment(
    name="table1",
    title="Table 1: CIFAR-10, p = 1/2 and 1/3, against l1 certificates converted to l_p",
    data="cifar10",
    panels=(
        Panel(
            p=HALF,
            radii=HALF_RADII,
            table="table1-half",
            families=(*_both(BASELINE), *_both(VARIABLE)),
        ),
        Panel(
            p=THIRD,
            radii=THIRD_RADII,
            table="table1-third",
            families=(*_both(BASELINE), *_both(attrs.evolve(VARIABLE, p=THIRD))),
        ),
    ),
    claims=(*_above("Variable Lambda", "L&F (2021) from l1"), STABILITY_WINS),
    minutes=120.0,
)

_ALPHA6 = Experiment(
    name="alpha6",
    title="CIFAR-10, alpha = 6: radii below those of Table 1",
    data="cifar10",
    panels=tuple(
        Panel(
            p=p,
            radii=radii,
            families=(
                attrs.evolve(BASELINE, alphas=(6,), small=(6,)),
                *_both(attrs.evolve(VARIABLE, p=p, alphas=(6,), small=(6,)), small=small),
            ),
        )
        for p, radii, small in ((HALF, _radii(*range(1, 9)), (6,)), (THIRD, _radii(*range(3, 25, 3)), ()))
    ),
    claims=(
        *_above("Variable Lambda", "L&F (2021) from l1", stability=False),
        attrs.evolve(STABILITY_WINS, start={HALF: 5}),
    ),
    note="not in the paper, whose tables begin at the radii 10 and 90",
)

_BUDGETS = Experiment(
    name="budgets",
    title="CIFAR-10: certified accuracy against the number of votes",
    data="cifar10",
    panels=(
        Panel(
            p=HALF,
            radii=NEAR_RADII,
            families=(
                *(_at_budget("aperiodic", n, HALF, 1) for n in (32, 64, 128, 256, 1000)),
                _at_budget("periodic", 1000, HALF, 1),
            ),
        ),
        Panel(
            p=THIRD,
            radii=tuple(Fraction(k, 80) for k in range(1, 10)),
            families=(_at_budget("aperiodic", 128, THIRD, 1), _at_budget("periodic", 1000, THIRD, 1)),
        ),
        Panel(
            p=HALF,
            radii=_radii(*range(1, 9)),
            families=(
                *(_at_budget("aperiodic", n, HALF, 6) for n in (32, 64, 128)),
                _at_budget("periodic", 1000, HALF, 6),
            ),
        ),
        Panel(
            p=THIRD,
            radii=_radii(*range(3, 25, 3)),
            families=(_at_budget("aperiodic", 128, THIRD, 6), _at_budget("periodic", 1000, THIRD, 6)),
        ),
    ),
    note="not in the paper, which has B = 1000 alpha; radii to 1/4 and 1/8 at alpha = 1, to 8 and 24 at alpha = 6",
)

_ALPHA9 = Experiment(
    name="alpha9",
    title="CIFAR-10, p = 1/2, alpha = 9: each budget with a training of its own",
    data="cifar10",
    panels=(
        Panel(
            p=HALF,
            radii=_radii(*range(2, 19, 2)),
            families=(
                *(_at_budget("aperiodic", n, HALF, 9, borrows=False) for n in (64, 128)),
                _at_budget("periodic", 1000, HALF, 9, borrows=False),
            ),
        ),
    ),
    note="not in the paper, whose tables begin at the radius 10",
)

_LARGE_ALPHA = Experiment(
    name="large-alpha",
    title="CIFAR-10, p = 1/2, alpha up to 30",
    data="cifar10",
    panels=(
        Panel(
            p=HALF,
            radii=_radii(*range(30, 211, 30)),
            table="large-alpha",
            families=(
                *_both(attrs.evolve(BASELINE, alphas=ALPHAS + LARGE, small=(30,)), small=(30,)),
                *_both(attrs.evolve(VARIABLE, alphas=ALPHAS + LARGE, small=(30,)), small=(30,)),
            ),
        ),
    ),
    claims=(
        *_above("Variable Lambda", "L&F (2021) from l1"),
        attrs.evolve(STABILITY_WINS, start={HALF: 90}),
    ),
)

_SHOWN = tuple(
    attrs.evolve(VARIABLE, label=label, representation=representation, small=())
    for label, representation in (
        ("Center", "center"),
        ("Center Center", "center_center"),
        ("Center Error", "center_error"),
        ("Upper Lower", "upper_lower"),
    )
)

_REPRESENTATIONS = Experiment(
    name="representations",
    title="CIFAR-10, p = 1/2: what of a bin the network is shown",
    data="cifar10",
    panels=(
        Panel(
            p=HALF,
            radii=HALF_RADII,
            table="representations",
            families=tuple(row for shown in (attrs.evolve(BASELINE, small=()), *_SHOWN) for row in _both(shown)),
        ),
        _near(_SHOWN[0], _SHOWN[-1]),
    ),
    claims=(
        *_above("Center", "L&F (2021) from l1"),
        *_above("Upper Lower", "Center"),
        *_above("Center Error", "Center Center"),
        *_alike("Center", "Center Center"),
        *_alike("Upper Lower", "Center Error"),
    ),
    note=NEAR,
)

_SEED = tuple(attrs.evolve(VARIABLE, label=f"Seed {seed}", seed=seed, small=(), borrows=seed > 0) for seed in range(5))

_SEEDS = Experiment(
    name="seeds",
    title="CIFAR-10, p = 1/2: the seed of the offsets",
    data="cifar10",
    panels=(
        Panel(
            p=HALF,
            radii=HALF_RADII,
            table="seeds",
            families=tuple(row for seed in _SEED for row in _both(seed)),
        ),
        _near(*_SEED),
    ),
    claims=tuple(claim for seed in range(1, 5) for claim in _alike("Seed 0", f"Seed {seed}")),
    note=NEAR,
)

_COUPLINGS = (
    attrs.evolve(VARIABLE, label="Cyclic", small=()),
    attrs.evolve(VARIABLE, label="Arbitrary", coupling="permutation", small=(), borrows=True),
)

_PERMUTATIONS = Experiment(
    name="permutations",
    title="CIFAR-10, p = 1/2: cyclic against arbitrary permutations of the outcomes",
    data="cifar10",
    panels=(
        Panel(
            p=HALF,
            radii=HALF_RADII,
            table="permutations",
            families=tuple(row for coupling in _COUPLINGS for row in _both(coupling)),
        ),
        _near(*_COUPLINGS),
    ),
    claims=_alike("Cyclic", "Arbitrary"),
    note=NEAR,
)

_GLOBAL = Experiment(
    name="global-lambda",
    title="CIFAR-10, alpha = 1: one Lambda for all features against one a feature",
    data="cifar10",
    panels=(
        Panel(
            p=HALF,
            radii=_radii("1/20", "1/10", "3/20", "1/5", "1/4"),
            families=(
                attrs.evolve(VARIABLE, alphas=(1,), small=(1,)),
                attrs.evolve(
                    VARIABLE, label="Global Lambda", alphas=(1,), small=(1,), coupling="global", per_alpha=10_000
                ),
            ),
        ),
    ),
    claims=_above("Variable Lambda", "Global Lambda", stability=False),
    note=f"{NONE_PUBLISHED}; p = 1/2 and the radii are our choice. Global Lambda: 10 000 integer weights stand for the "
    "real ones of the law, within 0.0004 of g",
)


def _sparse(data: str, where: str, alphas: tuple[int, ...], small: tuple[int, ...], note: str) -> Experiment:
    """l0 over features and over pixels: B = alpha outcomes, each feature (pixel) kept in exactly one of them."""
    count = _radii(*(k * max(1, max(alphas) // 20) for k in range(1, 11)))
    l0 = Family(label="l0", p=ZERO, alphas=alphas, small=small, per_alpha=1)
    return Experiment(
        name=f"l0-{data}",
        title=f"{where}: changed features (l0) and changed pixels (sparse)",
        data=data,
        panels=tuple(
            Panel(
                p=ZERO,
                radii=tuple(radius for radius in count if 2 * radius <= max(alphas)),
                families=(attrs.evolve(l0, label="sparse" if pixel else "l0", pixel=pixel),),
            )
            for pixel in (False, True)
        ),
        images=500 if data == "imagenet" else None,
        note=f"{NONE_PUBLISHED}; {note}",
    )


_IMAGENET = Experiment(
    name="imagenet",
    title="ImageNet, p = 1/2, against l1 certificates converted to l_1/2",
    data="imagenet",
    panels=(
        Panel(
            p=HALF,
            radii=HALF_RADII,
            families=(
                attrs.evolve(BASELINE, alphas=(6, 12, 18), small=(18,)),
                attrs.evolve(VARIABLE, alphas=(6, 12, 18), small=(18,)),
            ),
        ),
    ),
    claims=_above("Variable Lambda", "L&F (2021) from l1", stability=False),
    images=500,
    note=f"{NONE_PUBLISHED}, only base accuracies; the radii are our choice",
)

_DIGITS = Experiment(
    name="digits",
    title="Table 1 in small, on scikit-learn's digits (q = 16): nothing to download, under a minute",
    data="digits",
    panels=(
        Panel(
            p=HALF,
            radii=_radii(1, "3/2", 2, "5/2", 3, 4),
            families=(
                attrs.evolve(BASELINE, alphas=(3, 6), small=(3, 6)),
                attrs.evolve(VARIABLE, alphas=(3, 6), small=(3, 6)),
            ),
        ),
    ),
    claims=_above("Variable Lambda", "L&F (2021) from l1", stability=False),
    minutes=0.25,
    note="not in the paper",
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        _DIGITS,
        _TABLE1,
        _ALPHA6,
        _BUDGETS,
        _ALPHA9,
        _LARGE_ALPHA,
        _REPRESENTATIONS,
        _SEEDS,
        _PERMUTATIONS,
        _GLOBAL,
        _sparse("cifar10", "CIFAR-10", (6, 12, 18), (12,), "the text names no alpha: these are ours"),
        _sparse("imagenet", "ImageNet", (25, 100), (25,), "the text names the alphas 25 and 100"),
        _IMAGENET,
    )
}
