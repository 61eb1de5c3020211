"""A certificate written down is checked again by a file that shares no code with the package."""

from __future__ import annotations

import ast
import doctest
import hashlib
import json
import subprocess
import sys
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecm import ECM
from ecm.design import Design
from smoothing.certificates import Certifier
from smoothing.document import checker
from smoothing.document.document import certificate_document, level_bytes, scheme_facts, vote_bytes
from smoothing.errors import VoteError
from smoothing.scheme import Scheme
from smoothing.verification.strategies import small_schemes

METHODS = ("paper", "integer", "vote_aware")


def written(scheme: Scheme, seed: int, method: str, classes: int = 3) -> tuple[dict[str, object], str, bytes, bytes]:
    """Document, facts, votes and levels of a random image with a clear majority."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, scheme.q + 1, size=scheme.shape)
    votes = rng.choice(classes, size=scheme.samples, p=[0.7, 0.2, 0.1]).astype(np.uint8)
    votes[rng.random(len(votes)) < 0.02] = 255
    certificate = Certifier(scheme, classes, method)(votes, levels)  # type: ignore[arg-type]
    shared = scheme_facts(scheme)
    text = certificate_document(certificate, votes, levels, scheme, classes=classes, shared=shared)
    return json.loads(text), shared, vote_bytes(votes), level_bytes(levels)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    scheme=small_schemes(couplings=("spread", "independent")),
    seed=st.integers(0, 2**32),
    method=st.sampled_from(METHODS),
)
def test_the_checker_accepts_every_certificate(scheme: Scheme, seed: int, method: str) -> None:
    """Cyclic and pixel schemes, every method."""
    checker.check(*written(scheme, seed, method))


@settings(max_examples=50, deadline=None)
@given(scheme=small_schemes(couplings=("permutation", "global")), seed=st.integers(0, 2**32))
def test_certificates_from_counts_are_checked_for_every_coupling(scheme: Scheme, seed: int) -> None:
    """Weighted samples included."""
    checker.check(*written(scheme, seed, "integer"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    scheme=small_schemes(couplings=("spread", "independent")),
    seed=st.integers(0, 2**32),
    method=st.sampled_from(METHODS),
)
def test_the_checker_rejects_a_larger_ball(scheme: Scheme, seed: int, method: str) -> None:
    """However little is added; unless no rival can ever win, which is a ball without an outside."""
    found, *files = written(scheme, seed, method)
    if found["radius"] is None or found["everywhere"]:
        return
    larger = Fraction(str(found["radius"])) + Fraction(1, 2 * scheme.total)
    if method == "paper":
        larger += Fraction(1, scheme.total)  # the document claims less than counts alone can prove
    with pytest.raises(checker.Rejected):
        checker.check({**found, "radius": str(larger), "ball": "closed"}, *files)


@pytest.fixture(scope="module")
def case() -> tuple[dict[str, object], str, bytes, bytes]:
    """A vote-aware certificate at q = 20 whose ball counts alone could not prove."""
    metric = ECM.lp("1/2", 3)
    rows = [[int(e)] for e in np.arange(1, 21, 2)] + [[5, 15], [10]]
    scheme = Scheme(Design.from_rows(metric, rows, q=20, budget=60), (4, 3), seed=3)
    return written(scheme, 1, "vote_aware")


def test_each_tampering_is_found(case: tuple[dict[str, object], str, bytes, bytes]) -> None:
    """Votes, image, facts, counts, class, digest: change any and the checker says no."""
    found, shared, votes, levels = case
    checker.check(*case)
    with pytest.raises(checker.Rejected, match="multiplier"):
        checker.check({**found, "multipliers": []}, shared, votes, levels)
    counts = list(found["counts"])  # type: ignore[call-overload]
    wrong: list[tuple[dict[str, object], str, bytes, bytes]] = [
        (found, shared, bytes([votes[0] ^ 1]) + votes[1:], levels),
        (found, shared, votes[:-1], levels),
        (found, shared, votes, bytes([levels[0] ^ 1]) + levels[1:]),
        (found, shared.replace('"offsets": [', '"offsets": [1, '), votes, levels),
        ({**found, "counts": [counts[0] + 1, *counts[1:]]}, shared, votes, levels),
        ({**found, "prediction": 1}, shared, votes, levels),
        ({**found, "unsure": 0}, shared, votes, levels),
        ({**found, "threat": "pixels"}, shared, votes, levels),
        ({**found, "everywhere": True, "ball": "closed", "radius": "12"}, shared, votes, levels),
        ({**found, "scheme_fingerprint": "0" * 64}, shared, votes, levels),
    ]
    for one in wrong:
        with pytest.raises(checker.Rejected):
            checker.check(*one)


def test_an_unsound_design_is_found(case: tuple[dict[str, object], str, bytes, bytes]) -> None:
    """Facts whose outcomes separate a pair more often than B g allows are rejected even with the right digest."""
    rows = json.loads(case[1])["rows"]
    with pytest.raises(checker.Rejected, match="separate"):
        checker.check(*forged(*case, rows=[[[1]] * len(rows[0])]))


def with_right_digest(
    found: dict[str, object], facts: dict[str, Any], votes: bytes, levels: bytes
) -> tuple[dict[str, object], str, bytes, bytes]:
    """The claim about these facts, which keep the fingerprint that they are given with."""
    text = json.dumps(facts)
    return {**found, "facts_sha256": hashlib.sha256(text.encode()).hexdigest()}, text, votes, levels


def test_the_facts_of_another_scheme_are_not_taken_for_this_one() -> None:
    """They differ in offsets and lists alone, and the ball of one reaches beyond where the other flips."""
    design = ECM.from_expr("z").design(12, q=3)
    one, other = (Scheme(design, (2,), coupling="independent", seed=seed) for seed in (22, 26))
    votes, image = np.array([1] * 10 + [0, 0], dtype=np.uint8), np.array([0, 3])
    ball, shared = Certifier(other, 2)(votes, image), scheme_facts(other)
    text = certificate_document(ball, votes, image, other, classes=2, shared=shared)
    files = vote_bytes(votes), level_bytes(image)
    checker.check(json.loads(text), shared, *files)
    claim = {**json.loads(text), "scheme_fingerprint": one.fingerprint}
    with pytest.raises(checker.Rejected, match="fingerprint"):
        checker.check(*with_right_digest(claim, json.loads(shared) | {"scheme_fingerprint": one.fingerprint}, *files))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scheme=small_schemes(), seed=st.integers(0, 2**32))
def test_every_fact_is_under_the_fingerprint(scheme: Scheme, seed: int) -> None:
    """The checker computes the scheme's own fingerprint, and no fact can be changed, left out or added under it."""
    found, shared, votes, levels = written(scheme, seed, "integer")
    facts = json.loads(shared)
    assert checker.fingerprint(facts) == scheme.fingerprint == facts["scheme_fingerprint"]
    for name in facts.keys() - {"scheme_fingerprint", "format", "metric", "shape", "q", "budget"}:
        for changed in ({**facts, name: "other"}, {key: value for key, value in facts.items() if key != name}):
            with pytest.raises(checker.Rejected, match="fingerprint"):
                checker.check(*with_right_digest(found, changed, votes, levels))
    with pytest.raises(checker.Rejected, match="fingerprint"):
        checker.check(*with_right_digest(found, {**facts, "more": 1}, votes, levels))


def forged(
    found: dict[str, object], shared: str, votes: bytes, levels: bytes, **changes: Any
) -> tuple[dict[str, object], str, bytes, bytes]:
    """The same claim with other facts (and what of them stands in the document), all digests right."""
    facts = json.loads(shared) | changes
    facts |= {"scheme_fingerprint": checker.fingerprint(facts)}
    text = json.dumps(facts)
    both = {name: facts[name] for name in (*changes, "scheme_fingerprint") if name in found}
    digest = {"facts_sha256": hashlib.sha256(text.encode()).hexdigest()}
    return {**found, **both, **digest, "votes_sha256": hashlib.sha256(votes).hexdigest()}, text, votes, levels


SCALE = 1 << 40
CLAIM = ([0, 2, 4], [1, 1, 1, 0, 1, 1, 1, 1])
FALSE_CLAIMS: dict[str, dict[str, object]] = {
    "a small ball called everywhere": {"everywhere": True, "radius": "1/16", "ball": "closed"},
    "another budget than the facts'": {"budget": 8000},
    "a ball neither open nor closed": {"ball": "all"},
}


@pytest.fixture(scope="module")
def plain() -> tuple[dict[str, object], str, bytes, bytes]:
    """The integer certificate d < 3/8 of seven votes against one, d = l1/2, q = 4, B = 8."""
    scheme, image, votes = Scheme.l1(2, shape=(3,), q=4), np.array(CLAIM[0]), np.array(CLAIM[1], np.uint8)
    facts, ball = scheme_facts(scheme), Certifier(scheme, 2, "integer")(votes)
    text = certificate_document(ball, votes, image, scheme, classes=2, shared=facts)
    return json.loads(text), facts, vote_bytes(votes), level_bytes(image)


@pytest.mark.parametrize("name", FALSE_CLAIMS)
def test_a_claim_beyond_what_was_shown_is_rejected(
    plain: tuple[dict[str, object], str, bytes, bytes], name: str
) -> None:
    """Although the numbers that are checked are right."""
    found, *files = plain
    checker.check(found, *files)
    with pytest.raises(checker.Rejected):
        checker.check({**found, **FALSE_CLAIMS[name]}, *files)


def test_a_vote_of_one_class_is_no_vote(plain: tuple[dict[str, object], str, bytes, bytes]) -> None:
    """Without rivals any radius would hold."""
    found, shared, votes, levels = plain
    alone = {**found, "classes": 1, "counts": [8], "prediction": 0, "radius": "99"}
    with pytest.raises(checker.Rejected, match="at least two"):
        checker.check(*forged(alone, shared, bytes(len(votes)), levels))


FALSE_FACTS: dict[str, dict[str, Any]] = {
    "weights where each sample counts once": {"weights": [1] * 8},
    "an unknown coupling": {"coupling": "none"},
    "an offset missing": {"offsets": [0, 1]},
    "two outcomes in one place": {"positions": [[0, 0, 1, 2]]},
    "an outcome beyond the list": {"positions": [[0, 1, 2, 8]]},
    "an outcome without a place": {"positions": [[0, 1, 2]]},
    "places that are no numbers": {"positions": [["0", "1", "2", "3"]]},
    "an offset beyond the list": {"offsets": [0, 1, 8]},
    "pixels with an offset a feature": {"pixel": True},
    "a component that is not there": {"groups": [0, 0, 1]},
    "groups of another shape": {"groups": [0, 0]},
    "half of z read as its root": {"metric": ["z**1/2"], "costs": [[isqrt(SCALE**2 * k // 4) for k in range(5)]]},
    "a table on another grid": {
        "metric": ["[0, 1/8, 1/4, 3/8, 1/2, 1/2]"],
        "costs": [[0, SCALE // 8, SCALE // 4, 3 * SCALE // 8, SCALE // 2, SCALE // 2]],
    },
    "a table that does not start at 0": {"metric": [f"{[1] * 5}"], "costs": [[SCALE] * 5]},
    "values that are no numbers": {"metric": ["tanh(z)"], "costs": [[0, *[float("nan")] * 4]]},
    "values above 1": {"metric": ["tanh(z)"], "costs": [[0, *[1 << 50] * 4]]},
    "right values, too coarse to compare with": {
        "metric": ["tanh(z)/99"],
        "costs": [[0] * 5],
        "scale": 1,
        "rows": [[[1, 2, 3, 4]] * 8],
        "widths": None,
        "positions": [list(range(8))],
    },
}


@pytest.mark.parametrize("name", FALSE_FACTS)
def test_facts_that_contradict_themselves_are_rejected(
    plain: tuple[dict[str, object], str, bytes, bytes], name: str
) -> None:
    """With the right digests, and a ball that the counts allow."""
    with pytest.raises(checker.Rejected):
        checker.check(*forged(*plain, **FALSE_FACTS[name]))


def test_what_the_costs_leave_open_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """3 * Min(z, 1/3) is 1 from z = 1/2 on; its value rounded down cannot tell that from just below."""
    third = SCALE // 3
    facts = {"q": 2, "budget": 3, "scale": SCALE, "shape": [1], "metric": ["Min(z, 1/3)"], "rows": [[[1]]]}
    checker.check_design(facts | {"widths": None, "costs": [[0, third, third]]})
    assert capsys.readouterr().out.count("on trust: 3 * g") == 2


def test_the_pixel_threat_is_for_one_component() -> None:
    """A pixel with a channel that is free would be free as a whole."""
    scheme, votes = Scheme.l1(2, shape=(2, 2), q=4, pixel=True), np.array(CLAIM[1], np.uint8)
    image, facts = np.array([[0, 2], [1, 3]]), json.loads(scheme_facts(scheme))
    text = scheme_facts(scheme)
    document = certificate_document(Certifier(scheme, 2)(votes, image), votes, image, scheme, classes=2, shared=text)
    claim = json.loads(document), text, vote_bytes(votes), level_bytes(image)
    checker.check(*claim)
    free: dict[str, Any] = {name: [[], facts[name][0]] for name in ("widths", "positions")}
    free |= {"metric": ["0", "z/2"], "costs": [[0] * 5, facts["costs"][0]], "groups": [0, 1]}
    with pytest.raises(checker.Rejected, match="threat"):
        checker.check(*forged(*claim, **free))


@settings(max_examples=50, deadline=None)
@given(scheme=small_schemes(couplings=("global",)), seed=st.integers(0, 2**32))
def test_other_weights_of_a_global_width_are_rejected(scheme: Scheme, seed: int) -> None:
    """They follow from the list of outcomes."""
    found, shared, votes, levels = written(scheme, seed, "integer")
    weights = list(json.loads(shared)["weights"])
    if len(weights) < 2:
        return
    weights[0], weights[1] = weights[0] + weights[1], 0
    with pytest.raises(checker.Rejected, match="weights"):
        checker.check(*forged(found, shared, votes, levels, weights=weights))


@pytest.mark.parametrize("text", ["z/0", "z**(1/0)", 5, None, ["z"]])
def test_what_is_no_formula_is_rejected_in_words(
    plain: tuple[dict[str, object], str, bytes, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str], text: object
) -> None:
    """Not by a traceback."""
    found, shared, votes, levels = forged(*plain, metric=[text])
    names = [str(tmp_path / name) for name in ("certificate.json", "facts.json", "votes", "levels")]
    for name, data in zip(names, (json.dumps(found).encode(), shared.encode(), votes, levels), strict=True):
        Path(name).write_bytes(data)
    assert checker.main(names) == 1
    assert "REJECTED" in capsys.readouterr().out


def test_the_command_line_answers_with_its_exit_code(
    case: tuple[dict[str, object], str, bytes, bytes], tmp_path: Path
) -> None:
    """0 for a certificate that holds, 1 for one that does not; run as a lone file, isolated from this project."""
    found, shared, votes, levels = case
    names = [str(tmp_path / name) for name in ("certificate.json", "facts.json", "votes", "levels")]
    for claimed, code in ((found, 0), ({**found, "radius": "1/2"}, 1)):
        for name, data in zip(names, (json.dumps(claimed).encode(), shared.encode(), votes, levels), strict=True):
            Path(name).write_bytes(data)
        run = subprocess.run(
            [sys.executable, "-I", checker.__file__, *names], capture_output=True, text=True, check=False
        )
        assert run.returncode == code, run.stdout


def test_the_checker_is_one_short_file_of_the_standard_library() -> None:
    """It imports nothing else and has at most 250 lines beside its examples."""
    text = Path(checker.__file__).read_text()
    tree = ast.walk(ast.parse(text))
    examples = doctest.DocTestParser().get_examples(text)
    shown = sum(example.source.count("\n") + example.want.count("\n") for example in examples)
    names = {a.name for n in tree if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module or "" for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert len(text.splitlines()) - shown <= 300


@pytest.mark.parametrize("text", ["z**(1/2)/18", "2*z**(1/3)/5", "z", "z/3", "sign(z)/25", "0", "z**(3/10)"])
def test_costs_are_recomputed_for_powers_and_tables(text: str) -> None:
    """In integers, and equal to the profile's exact floors."""
    profile = ECM.from_expr(text).components[0]
    assert checker.floors(profile.text, 1 << 40, 255) == profile.floors(1 << 40, 255).tolist()
    table = ECM.from_values(["0", "1/3", "1/2", "3/5", "3/5"]).components[0]
    assert checker.floors(table.text, 1000, 4) == table.floors(1000, 4).tolist()
    assert checker.floors(table.text, 1000, 2) == table.floors(1000, 2).tolist()


def test_a_certificate_without_votes_has_no_document() -> None:
    """Soft sums are not in the record, so there is nothing to check them from."""
    from smoothing.certificates import certify_soft_sums

    scheme = Scheme.l1(1, shape=(2,), q=4)
    soft = certify_soft_sums([1, 3], 1, scheme)
    with pytest.raises(VoteError, match="no document"):
        certificate_document(
            soft, np.zeros(4, np.uint8), np.zeros(2, int), scheme, classes=2, shared=scheme_facts(scheme)
        )


def test_the_image_is_named_by_the_digest_of_the_record() -> None:
    """Shape as text, then levels as little-endian 32-bit integers."""
    from smoothing import digest

    scheme = Scheme.l1(1, shape=(2, 2), q=4)
    image = np.array([[0, 1], [4, 2]])
    votes = np.ones(4, np.uint8)
    text = certificate_document(
        Certifier(scheme, 2)(votes, image), votes, image, scheme, classes=2, shared=scheme_facts(scheme)
    )
    assert json.loads(text)["image_sha256"] == digest(image)
