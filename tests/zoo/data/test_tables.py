"""Tables: columns become levels as declared, a metric is given by column, and what is certified holds."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import zoo
from ecm import ECM
from smoothing import BruteForce, Certificate, Scheme, SmoothedClassifier, certify
from zoo.data.column import Column
from zoo.data.table import with_columns
from zoo.models.archive import pack, unpack
from zoo.reports.statement import changes_alone, in_words

pandas = pytest.importorskip("pandas")


def people(rows: int = 60) -> Any:
    """A table with a column of every kind; whether somebody is ill depends on age, smoking and town."""
    random = np.random.RandomState(0)
    age = random.randint(20, 80, rows)
    smoker = random.rand(rows) < 0.5
    town = random.choice(["Bonn", "Kiel", "Ulm"], rows)
    size = pandas.Categorical(random.choice(["S", "M", "L"], rows), categories=["S", "M", "L"], ordered=True)
    ill = np.where(age + 20 * smoker + 10 * (town == "Ulm") > 60, "yes", "no")
    return pandas.DataFrame(
        {"age": age, "weight": 50 + 40 * random.rand(rows), "smoker": smoker, "town": town, "size": size, "ill": ill}
    )


# ---- columns become levels -------------------------------------------------------------------------------------------


def test_kinds_are_read_from_the_frame() -> None:
    """Numbers, truth values, texts and ordered categories are told apart, and the order of a category is kept."""
    spec = zoo.Table.from_frame(people(), "ill", outside="clip").spec
    assert [(c.name, c.kind) for c in spec.columns] == [
        ("age", "numeric"),
        ("weight", "numeric"),
        ("smoker", "boolean"),
        ("town", "categorical"),
        ("size", "ordinal"),
    ]
    assert spec.columns[4].values == ("S", "M", "L")
    assert spec.classes == ("no", "yes")


def test_limits_come_from_training_rows_alone() -> None:
    """Test rows move no limit: with other test rows the description is the same."""
    frame = people()
    first, far = frame.iloc[:40], frame.iloc[40:].assign(age=500)
    spec = zoo.Table.from_frame(first, "ill", test=far, outside="clip").spec
    assert spec == zoo.TableSpec.fit(first, "ill", outside="clip")
    assert spec.columns[0].high == first["age"].max()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"age": 500}, r"column 'age': row 0 holds 500, outside the limits .* limits=\{'age': \(low, high\)\}"),
        ({"age": float("nan")}, "column 'age': the value in row 0 is missing"),
        ({"age": float("inf")}, "column 'age': row 0 holds inf"),
        ({"age": "old"}, "column 'age' contains something that is not a number"),
        ({"town": "Rome"}, r"column 'town': row 0 holds 'Rome', .* categories=\{'town': \[...\]\}"),
        ({"town": None}, "column 'town': the value in row 0 is missing"),
        ({"height": 1.8}, "a column 'height' that the table did not have"),
        ({"ill": "maybe"}, "column 'ill': row 0 holds 'maybe'"),
    ],
)
def test_a_value_that_has_no_level_is_named(change: dict[str, Any], said: str) -> None:
    """Values outside the limits, missing values and unknown categories are refused with their place and the cure."""
    spec = zoo.TableSpec.fit(people(), "ill")
    rows = people().iloc[:3].astype(object).assign(**change)
    with pytest.raises(zoo.DataError, match=said):
        zoo.Table.of(spec, rows, rows)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"free": ["ages"]}, "free names 'ages', which is not a column"),
        ({"immutable": "age"}, r"immutable = 'age': write a list of column names, as in \['age'\]"),
        ({"immutable": ["age"], "free": ["age"]}, "both immutable and free"),
        ({"q": 1}, "column 'town' has 3 different levels, but q = 1 allows 2"),
        ({"q": 0}, "q = 0: write the largest level"),
        ({"limits": {"age": (80, 20)}}, "column 'age': the limits 80.0..20.0 are not an interval"),
        ({"steps": {"age": 0}}, "column 'age': steps = 0"),
        ({"outside": "cut"}, "outside = 'cut'"),
    ],
)
def test_a_wrong_description_is_refused(settings: dict[str, Any], said: str) -> None:
    """Settings that name no column, contradict each other or do not fit q say what to write instead."""
    with pytest.raises(zoo.DataError, match=said):
        zoo.Table.from_frame(people(), "ill", **({"outside": "clip"} | settings))


def test_a_frame_without_a_target_gets_the_cure() -> None:
    """A bare DataFrame is not guessed at."""
    with pytest.raises(zoo.DataError, match=r"zoo.Table.from_frame\(frame, target='...'\)"):
        zoo.load_data(people())


def test_clipping_never_moves_two_values_apart() -> None:
    """For numbers in any order, levels are monotone, within 0..q, and clipped values are those of the limits."""
    column = Column("a", "numeric", low=-1.0, high=2.0, steps=7)
    values = np.linspace(-3, 4, 500)
    levels = column.levels(values, 63, "clip")
    assert (np.diff(levels) >= 0).all()
    assert levels[0] == 0
    assert levels[-1] == 63
    assert set(levels.tolist()) == {round(63 * k / 7) for k in range(8)}


@pytest.mark.parametrize("steps", [3, 9, 10])
def test_what_is_printed_is_within_reach(steps: int) -> None:
    """The ends of an interval in words, read back as numbers, have levels within reach; the next step has not."""
    column = Column("a", "numeric", low=100.0, high=101.0, steps=steps)
    for level, reach in itertools.product(range(11), range(11)):
        text = column.within(level, reach, 10)
        if text in ("any value", "no change"):
            continue
        ends = np.array([float(end) for end in text.split(" to ")])
        assert (abs(column.levels(ends, 10) - level) <= reach).all()


def test_a_description_survives_its_card() -> None:
    """Through JSON and back nothing changes."""
    import json

    spec = zoo.Table.from_frame(people(), "ill", outside="clip", free=["town"], steps={"weight": 5}).spec
    assert zoo.TableSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


# ---- a metric by column ----------------------------------------------------------------------------------------------


def test_a_metric_by_name() -> None:
    """Named columns get their own g, "*" is for the others, and roles and kinds are kept."""
    spec = zoo.TableSpec.fit(people(), "ill", immutable=["age"], free=["town"])
    metric = spec.metric({"weight": "z**0.5/4", "*": "log(1 + 5*z)/log(6)/8"})
    by_column = [metric.components[c].text for c in metric.component_of((5,))]
    assert by_column[0] == "sign(z)"
    assert by_column[1] == "z**(1/2)/4"
    assert by_column[3] == "0"
    assert by_column[2] == ECM.from_expr("sign(z)/8").components[0].text  # a truth value: every change is z = 1
    assert "log" in by_column[4]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"weight": "z/4"}, "says nothing about the columns smoker, town, size"),
        ({"age": "z/4", "*": "z"}, "names 'age', which is immutable and has no metric"),
        ({"heigt": "z/4", "*": "z"}, "names 'heigt', which is not a column"),
        (ECM.grouped(["z", "z", "z", "z", "sign(z)/2"]), "column 'age' is immutable, but the metric gives it g = z"),
        (ECM.grouped(["sign(z)", "z", "z", "z", "z"]), "the values of 'smoker' have no order"),
    ],
)
def test_a_metric_that_does_not_fit_is_refused(given: Any, said: str) -> None:
    """Columns without a metric, metrics without a column, and roles that a metric would break."""
    spec = zoo.TableSpec.fit(people(), "ill", immutable=["age"])
    with pytest.raises(zoo.DataError, match=said):
        spec.metric(given)


# ---- soundness by enumeration ----------------------------------------------------------------------------------------

TINY = zoo.TableSpec(
    (
        Column("a", "numeric", high=1.0, steps=2),
        Column("b", "categorical", values=("x", "y", "z")),
        Column("c", "numeric", high=1.0, steps=2, role="immutable"),
        Column("d", "numeric", high=1.0, steps=2, role="free"),
    ),
    "y",
    (0, 1),
    q=2,
)
METRICS = [{"a": "z**0.5/2", "b": "sign(z)/3"}, {"*": "sign(z)/3"}, {"a": "z/2", "b": "z/4"}]


def tiny_world(formulas: dict[str, str], seed: int) -> BruteForce:
    metric = TINY.metric(formulas)
    coupling: Any = ("spread", "independent", "permutation")[seed % 3]
    return BruteForce(Scheme(metric.design(12, q=2), shape=(4,), coupling=coupling, seed=seed))


def claims(world: BruteForce, f: Any, x: int) -> list[Certificate]:
    votes, levels = world.votes(f, x), world.points[x]
    return [
        certify(votes, levels, world.scheme, classes=2, certificate=method)
        for method in ("paper", "integer", "vote_aware")
    ]


@pytest.mark.parametrize("formulas", METRICS, ids=str)
def test_no_row_in_a_certified_ball_changes_class(formulas: dict[str, str]) -> None:
    """All 81 rows of a tiny table: within every ball the class is the same, for many voting functions and the worst."""
    held = 0
    for seed in range(6):
        world = tiny_world(formulas, seed)
        f = np.random.RandomState(seed).choice(2, size=world.inputs, p=[0.85, 0.15])
        for x in range(0, len(world.points), 7):
            for ball in claims(world, f, x):
                held += ball.exists
                assert world.counterexample(ball, f, x, 2) is None
                assert world.counterexample(ball, world.worst(f, x, 1 - ball.prediction), x, 2) is None
    assert held > 50


def broken(ball: Certificate, spec: zoo.TableSpec, world: BruteForce, f: Any, x: int) -> bool:
    """Whether some row that the words of the certificate allow gets another class."""
    count = ball.features(among=spec.having("changeable"))
    if count is None:
        return False
    changed = world.points != world.points[x]
    allowed = changed[:, list(spec.having("changeable"))].sum(axis=1) <= count
    allowed &= ~changed[:, list(spec.having("immutable"))].any(axis=1)
    return bool((world.predictions(f, 2, 0)[allowed] != ball.prediction).any())


def test_the_words_hold_for_every_row_they_allow() -> None:
    """ "any n columns change", immutable columns kept and free ones anything: no such row gets another class."""
    most = 0
    for seed, formulas in itertools.product(range(6), METRICS):
        world = tiny_world(formulas, seed)
        f = np.random.RandomState(seed).choice(2, size=world.inputs, p=[0.9, 0.1])
        for x in range(0, len(world.points), 5):
            for ball in claims(world, f, x):
                most = max(most, ball.features(among=(0, 1)) or 0)
                assert not broken(ball, TINY, world, world.worst(f, x, 1 - ball.prediction), x)
                assert not broken(ball, TINY, world, f, x)
    assert most >= 1


def test_a_false_role_is_caught() -> None:
    """The check above can fail: were an immutable column counted as free to change, some certificate would be wrong."""
    lying = attrs.evolve(TINY, columns=(*TINY.columns[:2], attrs.evolve(TINY.columns[2], role="free"), TINY.columns[3]))
    found = False
    for seed in range(6):
        world = tiny_world({"*": "sign(z)/3"}, seed)
        f = np.random.RandomState(seed).choice(2, size=world.inputs, p=[0.9, 0.1])
        for x in range(len(world.points)):
            ball = claims(world, f, x)[2]
            found = found or broken(ball, lying, world, world.worst(f, x, 1 - ball.prediction), x)
    assert found


def test_single_changes_in_words_hold() -> None:
    """Each column alone may take every value that the words name."""
    for seed, formulas in itertools.product(range(4), METRICS):
        world = tiny_world(formulas, seed)
        f = np.random.RandomState(seed).choice(2, size=world.inputs, p=[0.85, 0.15])
        for x in range(0, len(world.points), 9):
            ball = claims(world, f, x)[2]
            if not ball.exists:
                continue
            after = world.predictions(world.worst(f, x, 1 - ball.prediction), 2, 0)
            others = np.delete(np.arange(4), [0, 3])
            alone = (world.points[:, others] == world.points[x, others]).all(axis=1)  # d is free
            reach = ball.reach(0)
            near = abs(world.points[:, 0] - world.points[x, 0]) <= reach
            assert (after[alone & near] == ball.prediction).all()
            assert changes_alone(ball, TINY, world.points[x].tolist()).keys() == {"a", "b"}


def test_an_immutable_column_does_not_weaken_the_vote_aware_certificate() -> None:
    """Its ball is at least that of the same votes where the column is left out of the scheme, up to radius 1."""
    with_it = ECM.grouped(["z**0.5/2", "sign(z)"], groups=[0, 0, 1])
    without = ECM.lp("1/2", 2)
    for seed in range(5):
        wide = Scheme(with_it.design(24, q=4), shape=(3,), coupling="independent", seed=seed)
        narrow = Scheme(without.design(24, q=4), shape=(2,), coupling="independent", seed=seed)
        votes = np.random.RandomState(seed).choice(2, size=24, p=[0.9, 0.1]).astype(np.uint8)
        levels = np.array([1, 3, 2])
        one = certify(votes, levels, wide, classes=2)
        other = certify(votes, levels[:2], narrow, classes=2)
        assert one.radius is not None
        assert other.radius is not None
        assert one.strength == (False, min(other.radius, Fraction(1)), False)


def test_sentences() -> None:
    """The sentence of a ball, for counts, for a metric, with roles, and for none."""

    def said(radius: Fraction | None, formula: str = "sign(z)/4", **roles: Any) -> str:
        spec = zoo.TableSpec.fit({"a": [0, 1], "b": [0, 1], "c": [0, 1], "y": [0, 1]}, "y", **roles)
        return in_words(Certificate(0, "paper", radius, True, spec.metric(formula), spec.q, (3,)), spec)

    assert said(Fraction(1, 2)) == "This prediction holds if any 2 of these 3 columns change, by any amount."
    assert said(Fraction(3, 4)) == "This prediction holds whatever the values of these 3 columns are."
    assert said(Fraction(1, 8)).startswith("This prediction is guaranteed for this row alone")
    assert said(None).startswith("There is no guarantee")
    assert said(Fraction(1, 8), "z/4") == "This prediction holds within metric distance 0.125."
    assert said(Fraction(1, 4), immutable=["a"], free=["c"]) == (
        "This prediction holds whatever the values of these 1 columns are, as long as a stays the same. "
        "c may always be anything."
    )


# ---- estimators ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model on a table with all kinds of columns and roles, and its table."""
    table = zoo.Table.from_frame(people(200), "ill", outside="clip", immutable=["town"], free=["size"], name="people")
    folder = tmp_path_factory.mktemp("tables") / "a"
    return zoo.train("sign(z)/3", table, model=DecisionTreeClassifier(max_depth=6), out=folder), table


def test_a_trained_table_is_certified_and_reported(trained: Any, tmp_path: Path) -> None:
    """The whole way: train, certify every row given, statements and a page that names columns."""
    model, table = trained
    found = zoo.certify(model, table, progress=False)
    assert found.images == len(table.test)
    assert found.unit.name == "changed columns"
    assert "test rows of people" in repr(found)
    assert found.certified_accuracy(0).share == found.smoothed_accuracy.share
    sentences = zoo.statements(found)
    assert [s.idx for s in sentences] == [row.idx for row in found.rows]
    assert any("any 1 of these 3 columns changes, by any amount, as long as town stays" in s.text for s in sentences)
    page = zoo.report(found, tmp_path / "page.html", data=table).read_text()
    assert "as long as town stays the same" in page
    assert "Rows with their certified radius" in page
    assert "nobody can change it" in page
    assert "test images" not in page


def test_every_row_given_is_evaluated(trained: Any, tmp_path: Path) -> None:
    """`certify` takes a DataFrame: all its rows, encoded with the limits that the model was trained with."""
    model, _ = trained
    rows = people(230).iloc[200:].assign(age=200)  # beyond every limit: clipped, not fitted anew
    found = zoo.certify(model, rows, out=tmp_path / "rows", progress=False)
    assert found.images == 30
    levels = with_columns(rows, model.card["data"]).test.images
    assert (levels[:, 0] == model.scheme.q).all()


def test_a_table_with_other_limits_is_refused(trained: Any) -> None:
    """Levels that mean other values would make a certificate about another row."""
    model, _ = trained
    other = zoo.Table.from_frame(people(50), "ill", outside="clip")
    with pytest.raises(zoo.DataError, match="pass the DataFrame itself"):
        zoo.certify(model, other, progress=False)


def test_a_saved_estimator_votes_as_before(trained: Any) -> None:
    """The folder holds no pickle, and what is loaded from it votes as the model that was trained."""
    model, table = trained
    again = zoo.load(model.path)
    levels = table.test.images
    assert np.array_equal(model.smoothed().votes(levels), again.smoothed().votes(levels))
    assert not list(model.path.rglob("*.pkl"))


def test_equal_estimators_are_equal_bytes() -> None:
    """An estimator is known by the sha256 of its weights, so its bytes may not depend on memory or time."""
    x, y = np.random.RandomState(0).rand(60, 4), np.arange(60) % 3
    for make in (
        lambda: HistGradientBoostingClassifier(max_iter=3, random_state=0),
        lambda: DecisionTreeClassifier(random_state=0),
        LogisticRegression,
    ):
        first, second = pack(make().fit(x, y)), pack(make().fit(x, y))
        assert torch.equal(first, second)
        assert np.array_equal(unpack(first).predict(x), make().fit(x, y).predict(x))


class Own(DecisionTreeClassifier):
    """An estimator of the user's own: its code is not that of the package."""


def test_an_estimator_that_needs_code_is_not_saved(tmp_path: Path) -> None:
    """A class that is not scikit-learn's is refused for saving, with the way to use it in memory, which works."""
    table = zoo.load_data("iris")
    with pytest.raises(zoo.ModelError, match=r"cannot be kept without pickle: .* zoo.fit_estimator"):
        zoo.train("sign(z)/2", table, model=Own(random_state=0), out=tmp_path / "a")
    assert not (tmp_path / "a" / "card.json").exists()
    scheme = Scheme(ECM.l0(2).design(2, q=table.q), shape=(4,))
    base = zoo.fit_estimator(Own(random_state=0), scheme, table.train.images, table.train.labels)
    balls = SmoothedClassifier(base, scheme, table.classes).certify(table.test.images)
    assert np.mean([ball.prediction == label for ball, label in zip(balls, table.test.labels, strict=True)]) > 0.8


def test_a_forged_archive_is_refused() -> None:
    """An archive that names a type off the list is refused before anything is constructed."""
    import skops.io

    content = skops.io.dumps({"run": print, "what": Own()})
    with pytest.raises(zoo.ModelError, match="cannot be kept without pickle"):
        unpack(torch.from_numpy(np.frombuffer(content, dtype=np.uint8).copy()))
    with pytest.raises(zoo.ModelError, match="cannot be read"):
        unpack(torch.zeros(100, dtype=torch.uint8))


def test_a_run_is_resumed_only_as_it_was(tmp_path: Path) -> None:
    """The same call loads the folder; another setting of the estimator is another run."""
    first = zoo.train("sign(z)/2", "iris", model=DecisionTreeClassifier(max_depth=3), out=tmp_path)
    again = zoo.train("sign(z)/2", "iris", model=DecisionTreeClassifier(max_depth=3), out=tmp_path)
    assert again.card["weights"] == first.card["weights"]
    with pytest.raises(zoo.CheckpointError, match="max_depth=4"):
        zoo.train("sign(z)/2", "iris", model=DecisionTreeClassifier(max_depth=4), out=tmp_path)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"model": DecisionTreeClassifier}, r"is a class: pass an estimator, DecisionTreeClassifier\(...\)"),
        ({"model": DecisionTreeClassifier(), "epochs": 3}, "fitted at once"),
        ({"model": DecisionTreeClassifier(), "lr": 3}, "'lr' is no setting for DecisionTreeClassifier"),
        ({"model": DecisionTreeClassifier(), "copies": 0}, "copies = 0"),
        ({"model": DecisionTreeClassifier(), "data": "digits"}, "reads the rows of a table"),
        ({"model": "mlp", "data": "digits", "metric": {"a": "z"}}, "digits has no named columns"),
    ],
)
def test_wrong_calls_get_the_cure(call: dict[str, Any], said: str, tmp_path: Path) -> None:
    """What does not fit tables or estimators is refused in words."""
    given = {"metric": "sign(z)/2", "data": "iris", "out": tmp_path} | call
    with pytest.raises((zoo.ModelError, zoo.TrainingError), match=said):
        zoo.train(given.pop("metric"), given.pop("data"), **given)


def test_a_network_reads_tables_too(tmp_path: Path) -> None:
    """Without an estimator the usual network is trained, with the same metric by name."""
    model = zoo.train({"petal length (cm)": "sign(z)/2", "*": "z/2"}, "iris", epochs=1, out=tmp_path, progress=False)
    assert model.card["model"]["name"] == "mlp"
    assert len(model.card["data"]["table"]["columns"]) == 4
    found = zoo.certify(model, limit=3, progress=False)
    assert len(zoo.statements(found)) == 3


# ---- documents and the page ------------------------------------------------------------------------------------------


def test_the_checker_accepts_immutable_columns_and_no_larger_ball() -> None:
    """A vote-aware certificate with immutable and free columns passes the checker; a larger ball does not."""
    import json

    from smoothing import certificate_document, level_bytes, scheme_facts, vote_bytes
    from smoothing.document.checker import Rejected, check

    metric = TINY.metric({"a": "z**0.5/2", "b": "sign(z)/3"})
    scheme = Scheme(metric.design(24, q=2), shape=(4,), coupling="independent")
    levels, facts, better = np.array([1, 0, 2, 1]), scheme_facts(scheme), 0
    for seed in range(8):
        votes = np.random.RandomState(seed).choice(2, size=24, p=[0.85, 0.15]).astype(np.uint8)
        ball = certify(votes, levels, scheme, classes=2)
        better += ball.strength > certify(votes, levels, scheme, classes=2, certificate="integer").strength
        text = certificate_document(ball, votes, levels, scheme, classes=2, shared=facts)
        check(json.loads(text), facts, vote_bytes(votes), level_bytes(levels))
        for false in ({"radius": str(10 * (ball.radius or 1))}, {"radius": "1", "ball": "closed"}):
            with pytest.raises(Rejected):
                check(json.loads(text) | false, facts, vote_bytes(votes), level_bytes(levels))
    assert better


def test_the_page_shows_what_was_measured() -> None:
    """docs/howto/tables.md is written from the record by docs/programs/tables.py."""
    import importlib.util
    import json

    file = Path(__file__).parents[3] / "docs" / "programs" / "tables.py"
    spec = importlib.util.spec_from_file_location("docs_tables", file)
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page, record = tables.PAGE.read_text(), json.loads(tables.RECORD.read_text())
    assert tables.rendered(page, record) == page
    assert {(one["table"], one["formula"]) for one in record} == {
        (name, formula) for name in tables.TABLES for formula in tables.BUDGETS
    }
