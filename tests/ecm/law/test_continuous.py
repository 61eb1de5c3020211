"""The continuous law of Lambda: exact where it has a name, consistent with its own definition everywhere."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ecm import ECM
from ecm.errors import ECMError
from ecm.formula import Z
from ecm.law.continuous import Law, U
from ecm.law.mixture import _float_parts
from ecm.metric import Profile

FORMULAS = [
    "0", "z", "z/18", "z**0.5/18", "z**(1/3)", "z**0.9", "log(1+5*z)/log(6)", "log1p(z)", "1-exp(-3*z)", "tanh(2*z)",
    "atan(3*z)/2", "asinh(5*z)/3", "sin(z)", "z/(z+1/4)", "Min(3*z,1)/18", "Min(sqrt(z)/0.5,1)", "sign(z)/18",
    "Piecewise((3*z,z<1/4),(z/3+2/3,True))", "0.5*sqrt(z)+0.25*log1p(z)+sign(z)/8", "sqrt(log1p(z))", "2*z-z**2",
    "Min(tanh(2*z), z**0.9)/2",
]  # fmt: skip
POINTS = [1e-9, 1e-4, 0.01, 0.2, 0.25, 1 / 3, 0.5, 0.9, 1.0]
LAWS = {text: ECM.from_expr(text).law() for text in FORMULAS}


def atoms(text: str) -> dict[sympy.Expr, sympy.Expr]:
    return {atom.location: atom.mass for atom in LAWS[text].atoms}


@pytest.mark.parametrize("text", FORMULAS)
def test_integrating_the_law_gives_g(text: str) -> None:
    """Density and atoms, put into the definition of the split probability by quadrature, give g(z)."""
    law = LAWS[text]
    for z in POINTS:
        assert law.integrated_split(z) == pytest.approx(law.split(z), abs=1e-11)
    assert law.integrated_split(0.0) == 0


@pytest.mark.parametrize("text", FORMULAS)
def test_the_masses_add_up_to_one(text: str) -> None:
    """Density masses and atoms are positive and sum to 1, symbolically to 25 digits."""
    law = LAWS[text]
    masses = [d.mass for d in law.densities] + [a.mass for a in law.atoms]
    assert all(mass.evalf(30) > 0 for mass in masses)
    assert abs((sum(masses, sympy.Integer(0)) - 1).evalf(30)) < 1e-25


@pytest.mark.parametrize("text", FORMULAS)
def test_the_distribution_function_is_the_integral_of_the_law(text: str) -> None:
    """P(Lambda <= z) from g - z g' equals the quadrature of density and atoms up to z."""
    law = LAWS[text]
    for z in POINTS[1:-1]:
        steps = [float(d.lower) for d in law.densities] + [float(a.location) for a in law.atoms]
        if any(abs(z - step) < 1e-12 for step in steps):
            continue
        # split(z) = P(Lambda <= z) + z E[1{Lambda > z}/Lambda], and the second term is the slope of split at z.
        h = 1e-6 * z
        slope = (law.integrated_split(z + h) - law.integrated_split(z - h)) / (2 * h)
        assert law.cdf(z) == pytest.approx(law.integrated_split(z) - z * slope, abs=1e-7)


@pytest.mark.parametrize("text", FORMULAS)
def test_quantile_and_distribution_function_are_inverse(text: str) -> None:
    """quantile(u) is the smallest width z with P(Lambda <= z) >= u."""
    law = LAWS[text]
    u = np.linspace(0, 1, 997)
    z = law.quantile(u)
    assert (np.diff(law.cdf(np.sort(z))) >= 0).all()
    assert (law.cdf(z) >= u - 1e-12).all()
    inside = (z > 0) & (z < np.inf)
    below = np.where(z[inside] < 1, z[inside] * (1 - 1e-9), np.nextafter(1, 0))
    assert (law.cdf(below) <= u[inside] + 1e-12).all()
    assert (law.cdf(np.full(1, np.nextafter(1.0, 0))) <= u[z == np.inf].min(initial=1.0) + 1e-12).all()


@pytest.mark.parametrize(
    "text", ["tanh(2*z)", "z/(z+1/4)", "0.5*sqrt(z)+0.25*log1p(z)+sign(z)/8", "Min(tanh(2*z), z**0.9)/2"]
)
def test_many_quantiles_are_the_same_as_few(text: str) -> None:
    """What is quick for many levels gives the widths that bisection gives one by one."""
    law = LAWS[text]
    u = np.random.default_rng(3).random(5000)
    few = np.concatenate([law.quantile(part) for part in np.split(u, 10)])
    many = law.quantile(u)
    finite = np.isfinite(few)
    assert (np.isfinite(many) == finite).all()
    assert many[finite] == pytest.approx(few[finite], rel=1e-7, abs=1e-12)
    assert (np.abs(law.cdf(many) - law.cdf(few)) <= 1e-13).all()


@given(st.fractions(Fraction(1, 10), 1, max_denominator=12), st.integers(1, 30))
@settings(max_examples=25, deadline=None)
def test_powers_are_beta_mixtures(p: Fraction, alpha: int) -> None:
    """z**p/alpha: Beta(p, 1) with weight (1-p)/alpha, 1 with weight p/alpha, infinity with 1 - 1/alpha."""
    law = ECM.lp(p, alpha).law()
    power, scale = sympy.Rational(p.numerator, p.denominator), sympy.Integer(alpha)
    expected = {sympy.Integer(1): power / scale, sympy.oo: 1 - 1 / scale}
    assert {a.location: a.mass for a in law.atoms} == {z: mass for z, mass in expected.items() if mass}
    if p < 1:
        (density,) = law.densities
        assert (density.mass, density.name) == ((1 - power) / scale, f"Beta({power}, 1)")
        assert f"{(1 - power) / scale} * Beta({power}, 1)" in str(law)
    else:
        assert not law.densities


@given(
    st.fractions(Fraction(1, 4), 1, max_denominator=8),
    st.fractions(Fraction(1, 5), Fraction(9, 10), max_denominator=10),
)
@settings(max_examples=15, deadline=None)
def test_a_capped_power_has_its_atom_at_the_cap(p: Fraction, alpha: Fraction) -> None:
    """Min(z**p/alpha, 1), alpha < 1: an atom p at alpha**(1/p), the density below it, nothing above."""
    law = ECM.lp(p, alpha).law()
    power, scale = (sympy.Rational(x.numerator, x.denominator) for x in (p, alpha))
    (atom,) = law.atoms
    assert sympy.simplify(atom.location - scale ** (1 / power)) == 0
    assert atom.mass == power
    if p < 1:
        (density,) = law.densities
        assert density.mass == 1 - power
        assert sympy.simplify(density.formula - power * (1 - power) / scale * Z ** (power - 1)) == 0
        assert (density.lower, density.upper) == (0, atom.location)


def test_named_atoms() -> None:
    """l0 is an atom at 0, l1 one at 1, a kink one at the kink, a free feature one at infinity."""
    quarter, third = sympy.Rational(1, 4), sympy.Rational(1, 3)
    assert atoms("sign(z)/18") == {sympy.Integer(0): sympy.Rational(1, 18), sympy.oo: sympy.Rational(17, 18)}
    assert atoms("z") == {sympy.Integer(1): sympy.Integer(1)}
    assert atoms("Min(3*z,1)/18") == {third: sympy.Rational(1, 18), sympy.oo: sympy.Rational(17, 18)}
    assert atoms("Piecewise((3*z,z<1/4),(z/3+2/3,True))") == {quarter: 2 * third, sympy.Integer(1): third}
    assert atoms("0") == {sympy.oo: sympy.Integer(1)}
    assert not any(LAWS[text].densities for text in ("sign(z)/18", "z", "Min(3*z,1)/18", "0"))


def test_symbolic_forms() -> None:
    """Densities, distribution functions and quantile functions come out in closed form where there is one."""
    assert sympy.simplify(LAWS["1-exp(-3*z)"].densities[0].formula - 9 * Z * sympy.exp(-3 * Z)) == 0
    assert (
        sympy.simplify(LAWS["log(1+5*z)/log(6)"].densities[0].formula - 25 * Z / (5 * Z + 1) ** 2 / sympy.log(6)) == 0
    )
    assert sympy.simplify(LAWS["z/(z+1/4)"].cdf_formula - Z**2 / (Z + sympy.Rational(1, 4)) ** 2) == 0
    assert LAWS["2*z-z**2"].quantile_formula() == sympy.sqrt(U)
    assert LAWS["sin(z)"].quantile_formula() is None


@pytest.mark.parametrize(
    "text", ["z**0.5/18", "Min(sqrt(z)/0.5,1)", "z/(z+1/4)", "Piecewise((3*z,z<1/4),(z/3+2/3,True))"]
)
def test_symbolic_and_numeric_forms_agree(text: str) -> None:
    """The formulas evaluate to what the float functions give."""
    law = LAWS[text]
    quantile = law.quantile_formula()
    assert quantile is not None
    for value in (sympy.Rational(1, 50), sympy.Rational(3, 10), sympy.Rational(7, 9)):
        assert float(law.cdf_formula.subs(Z, value)) == pytest.approx(float(law.cdf(float(value))), abs=1e-12)
        assert float(law.split_formula.subs(Z, value)) == pytest.approx(float(law.split(float(value))), abs=1e-12)
        assert float(quantile.subs(U, value)) == pytest.approx(float(law.quantile(float(value))), rel=1e-9)


@pytest.mark.parametrize("text", ["z**0.5/2", "tanh(2*z)", "Min(3*z,1)/18", "0.5*sqrt(z)+0.25*log1p(z)+sign(z)/8"])
def test_samples_follow_the_law(text: str) -> None:
    """At every test width the share of smaller samples lies within six standard deviations of the distribution."""
    law = ECM.from_expr(text).law()
    n = 100_000
    sample = law.sample(np.random.default_rng(11), (100, n // 100)).ravel()
    for z in (0.0, 0.01, 0.2, 0.3332, 0.3334, 0.7, 0.9999999, 1.0, 2.0):
        p = float(law.cdf(z))
        assert abs((sample <= z).sum() - n * p) <= 6 * (n * p * (1 - p)) ** 0.5 + 1e-6
    for atom in law.atoms:
        p = float(atom.mass)
        hits = (sample == float(atom.location)).sum()
        assert abs(hits - n * p) <= 6 * (n * p * (1 - p)) ** 0.5 + 1e-6


def test_sampled_bins_split_with_probability_g() -> None:
    """Bins of sampled widths, with dividers at s + n*Lambda, separate two points with probability g(|x - y|)."""
    law = ECM.from_expr("z**0.5/2").law()
    rng = np.random.default_rng(5)
    n = 200_000
    width = law.sample(rng, n)
    offset = rng.random(n)
    for x, y in ((0.1, 0.2), (0.35, 0.95), (0.0, 1.0)):
        with np.errstate(invalid="ignore"):
            apart = np.floor(x / width - offset) != np.floor(y / width - offset)
        split = np.where(width == np.inf, False, apart)
        p = float(law.split(y - x))
        assert abs(split.sum() - n * p) <= 6 * (n * p * (1 - p)) ** 0.5


def test_a_grid_has_no_continuous_law() -> None:
    """A table, or a formula proven only on a grid, is refused with the call that works instead."""
    for metric in (ECM.from_values([0, "1/2", "3/4"]), ECM.from_expr("sqrt(z)", grid=2)):
        with pytest.raises(ECMError, match=r"\.quantized\(2\)"):
            metric.law()


def test_a_wrong_density_is_noticed() -> None:
    """The quadrature can fail: it does for a law whose pieces are those of another g."""
    honest = LAWS["z**0.5/18"]
    wrong = Law(Profile.from_expr("z**0.5/17"), honest.pieces)
    assert abs(wrong.integrated_split(0.5) - wrong.split(0.5)) > 1e-3


@pytest.mark.parametrize("u", [-0.1, 1.1, float("nan")])
def test_quantiles_are_asked_at_probabilities(u: float) -> None:
    """Anything outside [0, 1] is refused."""
    with pytest.raises(ECMError, match="probabilities"):
        LAWS["z"].quantile([0.5, u])


@pytest.mark.parametrize("text", FORMULAS)
def test_json_and_print(text: str) -> None:
    """Each part of the law is in its JSON and on its own printed line."""
    law = LAWS[text]
    data = json.loads(law.to_json())
    assert [d["mass_float"] for d in data["densities"]] == [float(d.mass) for d in law.densities]
    assert [a["mass_float"] for a in data["atoms"]] == [float(a.mass) for a in law.atoms]
    assert len(str(law).splitlines()) == 1 + len(law.densities) + len(law.atoms)


@pytest.mark.parametrize("text", FORMULAS)
def test_the_float_parts_stand_in_for_the_exact_ones(text: str) -> None:
    """Where the derivatives are too long the same densities and atoms come out as floats."""
    law = LAWS[text]
    floats = _float_parts(law.pieces, law.start)
    exact = [(d.lower, float(d.mass)) for d in law.densities] + [(a.location, float(a.mass)) for a in law.atoms]
    found = [(d.lower, float(d.mass)) for d in floats.densities] + [(a.location, float(a.mass)) for a in floats.atoms]
    assert [place for place, _ in found] == [place for place, _ in exact]
    assert [mass for _, mass in found] == pytest.approx([mass for _, mass in exact], abs=1e-12)


def test_a_formula_beyond_sympy_still_has_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its derivatives are too long to write down, the law is numeric and still splits like g."""
    monkeypatch.setattr("ecm.law.mixture._MOST_PARTS", 0)
    law = ECM.from_expr("Min(tanh(2*z), 3/4)").law()
    assert not law.densities[0].mass.is_Rational
    assert law.densities[0].formula.has(sympy.Derivative)
    assert law.quantile_formula() is None
    for z in POINTS:
        assert law.integrated_split(z) == pytest.approx(law.split(z), abs=1e-11)
