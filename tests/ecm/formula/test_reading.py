"""Reading formulas: what is accepted means what it says, what is refused is refused with a position."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import pytest
import sympy

from ecm import ECMError, ExpressionError, NotAnECM, Profile
from ecm.formula.building import exact
from ecm.formula.reading import read


def parse(source: object) -> sympy.Expr:
    return read(source).expr


def text(source: object) -> str:
    return read(source).text


SAME = [
    ("z**0.5/18", "z**(1/2)/18"),
    ("z**0.5/18", "sqrt(z)/18"),
    ("z**.5/18", "1/18*z**0.50"),
    ("0.5*z + z/2", "z"),
    ("1e-6*z", "z/1000000"),
    ("(z + 1)/2", "z/2 + 1/2"),
    ("cbrt(z)", "z**(1/3)"),
    ("sqrt(sqrt(z))", "z**(1/4)"),
    ("2**-z", "exp(-z*log(2))"),
    ("log1p(1)*z", "log(2)*z"),
    ("Min(z, Min(1, 2*z))", "Min(2*z, 1, z)"),
    ("Abs(z)", "z"),
    ("sin(-z)", "-sin(z)"),
    (" z\n + 1 ", "z+1"),
    ("Piecewise((z, z < 1/2), (1/2, True))", "Piecewise((z, 0.5 > z), (0.5, True), (7, z < 3))"),
    ("Piecewise((z, 1 < 2), (1, True))", "z"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_equal_formulas_are_equal_expressions(a: str, b: str) -> None:
    """Two ways to write the same sum or product give one expression, one hash and one text."""
    assert parse(a) == parse(b)
    assert hash(parse(a)) == hash(parse(b))
    assert text(a) == text(b)
    assert parse(text(a)) == parse(a)


@pytest.mark.parametrize(
    ("text", "value"), [("0.1", (1, 10)), ("1e-6", (1, 10**6)), ("2.50E+1", (25, 1)), (".3", (3, 10))]
)
def test_decimal_literals_are_exact(text: str, value: tuple[int, int]) -> None:
    """A decimal means the fraction it writes, not the nearest float."""
    assert parse(text) == sympy.Rational(*value)
    assert exact(parse(f"{text}*z*3"), Fraction(1)) == 3 * sympy.Rational(*value)


REFUSED = [
    ("", "empty", None),
    ("   ", "empty", None),
    ("nan", "not a real number", 0),
    ("z + inf", "not a real number", 4),
    ("z**0.5/18 + x", "unknown name 'x'", 12),
    ("sqr(z)", "did you mean sqrt", 0),
    ("tan(z)", "did you mean tanh", 0),
    ("min(z, 1)", "did you mean Min", 0),
    ("Z", "the variable is z", 0),
    ("z.real", "attribute access", 0),
    ("z + sqrt(z).imag", "attribute access", 4),
    ("1j*z", "1j", 0),
    ("True", "True", 0),
    ("z < 1", "comparison outside Piecewise", 0),
    ("z^2", "write ** for a power", 1),
    ("z²", "write **2", 1),
    ("√z", "write sqrt(...)", 0),
    ("0.5·z", "write * instead", 3),
    ("z − z**2/2", "write - instead", 2),
    ("|z|", "write Abs(...)", 0),
    ("ln(1+z)", "write log(...)", 0),
    ("log2(1+z)", "write log(...)/log(2)", 0),
    ("log(1+z, 2)", "log(...)/log(b)", 0),
    ("pow(z, 0.5)", "write a**b", 0),
    ("0,5*z", "decimal point is written .", 1),
    ("z**0,5", "decimal point is written .", 4),
    ("2z", "as in 2*z", 0),
    ("sqrt z", "as in sqrt(z)", 5),
    ("g(z) = sqrt(z)", "write only the formula", 5),
    ("1" * 5000, "at most 1000 digits", 0),
    ("z/(" + "*".join(["123456789"] * 900) + ")", "more than 1000 digits", None),
    ("1e-900*1e-900*z", "more than 1000 digits", None),
    ("z // 2", "operator", 0),
    ("z % 2", "'%'", 2),
    ("not z", "operator", 0),
    ("z if z else 1", "not part of a formula", 0),
    ("sqrt", "write sqrt(...)", 0),
    ("sqrt()", "takes one argument", 0),
    ("sqrt(z, z)", "takes one argument", 0),
    ("sqrt(z)(z)", "calling this", 0),
    ("Min()", "at least one", 0),
    ("Min(*z)", "not part of a formula", 4),
    ("sqrt(x=z)", "keyword", 7),
    ("1 + 1/0", "division by zero", 6),
    ("z/(1-1)", "division by zero", 3),
    ("sqrt(-1)*z", "not real", 0),
    ("log(0)", "not real", 0),
    ("9**9**9", "too large", 0),
    ("z + 2**(10**9)", "too large", 4),
    ("z**(10**9)", "too large", 0),
    ("1e99999", "too long", 0),
    ("0x10*z", "plain decimal", 0),
    ("1_000*z", "plain decimal", 0),
    ("z**z", "use exp and log", 0),
    ("z +", "not a formula", None),
    ("z z", "not a formula", None),
    ("(z", "not a formula", None),
    ("z)", "closing parenthesis", 1),
    ("z # comment", "'#'", 2),
    ("[z]", "'['", 0),
    ("z; z", "';'", 1),
    ("(z := 1)", "':'", 3),
    ("é*z", "'é'", 0),
    ("Piecewise(z)", "pair", 10),
    ("Piecewise((z, z == 1))", "compares with", 14),
    ("Piecewise((z, z))", "compares with", 14),
    ("Piecewise((z, False))", "no branch", 0),
]


@pytest.mark.parametrize(("text", "message", "position"), REFUSED)
def test_refusals_name_the_cause_and_the_position(text: str, message: str, position: int | None) -> None:
    """Whatever is not a formula is refused with what is wrong and where."""
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert message in str(caught.value)
    if position is not None:
        assert caught.value.position == position


def test_sympy_expressions_in_one_symbol_are_read() -> None:
    """A sympy expression gives the tree of the same formula, whatever its symbol is called."""
    t = sympy.Symbol("t", nonnegative=True)
    assert parse(sympy.sqrt(t) / 18) == parse("z**0.5/18")
    assert parse(sympy.Min(3 * t, 1) / 18) == parse("Min(3*z,1)/18")
    assert parse(sympy.log(1 + 5 * t) / sympy.log(6)) == parse("log(1+5*z)/log(6)")
    assert parse(sympy.Piecewise((3 * t, t < sympy.Rational(1, 4)), (t / 3 + sympy.Rational(2, 3), True))) == parse(
        "Piecewise((3*z, z<1/4), (z/3+2/3, True))"
    )
    assert parse(sympy.Integer(0)) == 0
    assert parse(0.5 * t) == parse("z/2")
    assert parse(sympy.cos(t)) == parse("sin(z + pi/2)")


@pytest.mark.parametrize(
    "expression",
    [sympy.Symbol("x") + sympy.Symbol("y"), sympy.tan(sympy.Symbol("x")), sympy.nan, sympy.oo, sympy.I, sympy.true],
)
def test_other_sympy_objects_are_refused(expression: object) -> None:
    """Two symbols, foreign functions and non-numbers are refused."""
    with pytest.raises(ExpressionError):
        parse(expression)


@pytest.mark.parametrize("power", ["({})**(1/3)", "(2*({}))**0.5", "({0})*({0})", "(({})**2)**3"])
def test_a_power_of_a_piecewise_is_left_as_it_is_written(power: str) -> None:
    """sympy would rewrite its conditions into what is no comparison where one of them holds a Piecewise itself."""
    inner = "Piecewise((0, z <= 0), (z**0.3, E < z), (z, True))"
    source = power.format(f"Piecewise((1/8, {inner} < 1/3), (1/3, True))")
    expr = parse(source)
    assert not expr.has(sympy.ITE)
    assert parse(text(source)) == expr
    with pytest.raises(NotAnECM, match="does not start at 0"):
        Profile.from_expr(source)


def test_a_branch_that_never_applies_may_hold_a_pole() -> None:
    """1/0 stands in the branch z < 0 alone."""
    profile = Profile.from_expr("z/4*Piecewise((0, z < 0), (2, True))**-1")
    assert profile.text == "z/4/Piecewise((0, z < 0), (2, True))"


@pytest.mark.parametrize("thing", [None, [], b"z", True, object()])
def test_other_objects_are_refused(thing: object) -> None:
    """Only texts, exact numbers and sympy expressions are formulas."""
    with pytest.raises(ExpressionError):
        parse(thing)


def test_reading_text_needs_no_slow_imports() -> None:
    """A formula is read, proved and floored with sympy alone."""
    code = (
        "import sys; from ecm import Profile; Profile.from_expr('Min(sqrt(z),1/2)+sin(z)/9').floors(100, 5); "
        "sys.exit(bool({'torch', 'matplotlib', 'hypothesis', 'mip'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


LONG = "9" * 999


@pytest.mark.parametrize("text", [f"z + {LONG}", f"log(z - {LONG})", f"log(-{LONG})", f"(-{LONG})**0.5", f"{LONG}*z"])
def test_a_long_number_is_not_printed_whole(text: str) -> None:
    """Messages show the first digits of a number of a thousand digits."""
    with pytest.raises(ECMError) as caught:
        Profile.from_expr(text)
    assert len(str(caught.value)) < 700


def test_the_canonical_text_of_shipped_formulas_is_pinned() -> None:
    """Fingerprints hash these texts, so no version of sympy may change them."""
    for source, canonical in PINNED.items():
        assert text(source) == canonical


PINNED = {
    "z**0.5/18": "z**(1/2)/18",
    "sqrt(z)": "z**(1/2)",
    "z**(1/3)/6": "z**(1/3)/6",
    "z/18": "z/18",
    "sign(z)/12": "sign(z)/12",
    "Min(3*z, 1)/18": "Min(3*z, 1)/18",
    "Min(z**(1/2)/(1/2), 1)": "Min(2*z**(1/2), 1)",
    "log(1+5*z)/log(6)": "log(5*z + 1)/log(6)",
    "1-exp(-3*z)": "1 - exp(-3*z)",
    "z/(z+1/4)": "z/(z + 1/4)",
    "Piecewise((3*z,z<1/4),(z/3+2/3,True))": "Piecewise((3*z, z < 1/4), (z/3 + 2/3, True))",
    "0.5*sqrt(z)+sign(z)/8": "sign(z)/8 + z**(1/2)/2",
    "2*z-z**2": "2*z - z**2",
}


@pytest.mark.parametrize("text", ["sin(exp((1e-9)**-1))*z/20", "exp(sin(exp(1e9))*z) - 1", "z*sin(-exp(100000))"])
def test_a_constant_angle_beyond_reach_is_refused_at_once(text: str) -> None:
    """The sine of a huge constant is refused when the formula is read: to compute it takes all its digits of pi."""
    with pytest.raises(ExpressionError, match=r"the angle is a constant beyond 2\*\*60000"):
        Profile.from_expr(text)


def test_a_large_constant_angle_within_reach_is_computed() -> None:
    """A sine of many thousand bits is an ordinary number."""
    assert 1 / 9 <= float(Profile.from_expr("(2 + sin(exp(10000)))*z/9").number(1, 1)) <= 3 / 9
