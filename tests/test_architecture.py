"""The house rules that a reader relies on: floors, rooms, doors, no cycle, and what an import costs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.houseplan import FLOORS, ROOT, Plan, cycle, imports, sources

PLAN = Plan(sources())
FORBIDDEN = {"ecm": {"smoothing", "zoo", "torch", "torchvision"}, "smoothing": {"zoo", "torchvision"}, "zoo": set()}
PAGE = ROOT / "docs" / "architecture.md"


def reaches_down_only(plan: Plan) -> list[str]:
    """Imports that go up a floor, or that bring torch into `ecm`; lazy ones and those for types count."""
    return [
        f"{module} imports {one.module}"
        for module, source in plan.modules.items()
        for one in imports(source)
        if one.module.split(".")[0] in FORBIDDEN[module.split(".")[0]]
    ]


def past_doors(plan: Plan) -> list[str]:
    """Imports of a module of another room, instead of from the room."""
    return [
        f"{module} imports {one.module}"
        for module, source in plan.modules.items()
        for one in imports(source)
        if plan.room(one.module) in plan.rooms and one.module != plan.room(one.module)
        if plan.room(one.module) != plan.room(module)
    ]


def listed_rooms(page: str) -> list[str]:
    """The rooms that the page's plan of the house shows, in its order: `ecm/`, and below it `    design/`."""
    rooms, floor = [], ""
    for line in page.split("```text\n")[1].split("```", maxsplit=1)[0].splitlines():
        if found := re.match(r"( *)(\w+)/ ", line):
            if not found[1]:
                floor = found[2]
            else:
                rooms.append(f"{floor}.{found[2]}")
    return rooms


def against_the_order(plan: Plan, order: list[str]) -> list[str]:
    """Rooms that import a room which the page shows below them."""
    place = {room: i for i, room in enumerate(order)}
    return [
        f"{room} imports {other}"
        for room, needed in plan.room_edges().items()
        for other in sorted(needed)
        if room in place and other in place and place[other] > place[room]
    ]


def test_imports_only_go_down() -> None:
    """ecm <- smoothing <- zoo, lazy imports included; ecm never touches torch."""
    assert set(FLOORS) == {name.split(".")[0] for name in PLAN.modules}
    assert not reaches_down_only(PLAN)


def test_rooms_are_entered_through_their_doors() -> None:
    """Other rooms and floors import from a room's `__init__`, never from a module behind it."""
    assert not past_doors(PLAN)


def test_no_module_needs_itself() -> None:
    """The modules form no cycle; imports inside functions count, imports for types do not."""
    assert not cycle(PLAN.edges())


def test_no_room_needs_itself() -> None:
    """Nor do the rooms, together with the modules that stand in a floor's hall."""
    assert not cycle(PLAN.room_edges())


def test_the_page_shows_the_rooms_in_the_order_of_the_data() -> None:
    """The architecture page lists exactly the rooms that exist, and each imports only rooms above it."""
    order = listed_rooms(PAGE.read_text())
    assert sorted(order) == PLAN.rooms
    assert not against_the_order(PLAN, order)


def test_file_names_are_public() -> None:
    """No module's name begins with an underscore: what is public is said by the floors' `__init__`."""
    private = [name for name in PLAN.modules if re.search(r"\._(?!_main__$)", name)]
    assert not private


def test_a_door_never_hides_a_name() -> None:
    """A room exports no name that one of its modules bears: whoever imports the module would find it instead."""
    hidden = [
        f"{room}.{one.name}"
        for room in PLAN.rooms
        for one in imports(PLAN.modules[room])
        if f"{room}.{one.name}" in PLAN.modules
    ]
    assert not hidden


@pytest.mark.parametrize("floor", FLOORS)
def test_tests_mirror_the_rooms(floor: str) -> None:
    """Every room has its folder of tests, and every folder of tests its room."""
    folders = {path.parent.name for path in (ROOT / "tests" / floor).glob("*/test_*.py")}
    assert folders == {room.split(".")[1] for room in PLAN.rooms if room.startswith(f"{floor}.")}


# ---- the rules can be broken ---------------------------------------------------------------------------------------


def broken(**modules: str) -> Plan:
    """The house with some modules replaced; `__` in a name stands for a dot."""
    return Plan({**PLAN.modules, **{name.replace("__", "."): text for name, text in modules.items()}})


def test_a_lazy_import_of_an_upper_floor_is_seen() -> None:
    """An import inside a function counts."""
    plan = broken(ecm__law__quantized="def f():\n    from torch.nn import Module\n    import zoo.cli")
    assert reaches_down_only(plan) == ["ecm.law.quantized imports torch.nn", "ecm.law.quantized imports zoo.cli"]


def test_an_import_past_a_door_is_seen() -> None:
    """Also one for types, and one from another floor."""
    text = "if TYPE_CHECKING:\n    from ecm.design.cache import recall\nimport ecm.law.continuous"
    assert past_doors(broken(smoothing__scheme__noise=text)) == [
        "smoothing.scheme.noise imports ecm.design.cache",
        "smoothing.scheme.noise imports ecm.law.continuous",
    ]


def test_a_cycle_through_a_door_is_seen() -> None:
    """A lazy import of what stands on the module, through a door, closes a cycle of modules and of rooms."""
    plan = broken(ecm__allocation__outcomes="def f():\n    from ecm.design import make_design")
    assert "ecm.design.design" in cycle(plan.edges())
    assert {"ecm.allocation", "ecm.design"} <= set(cycle(plan.room_edges()))


def test_an_import_for_types_closes_no_cycle() -> None:
    """Nothing runs it."""
    plan = broken(ecm__allocation__rounding="if TYPE_CHECKING:\n    from ecm.design import make_design")
    assert not cycle(plan.room_edges())


def test_a_room_against_the_order_is_seen() -> None:
    """Without a cycle, too: the page says which way the data flows."""
    order = listed_rooms(PAGE.read_text())
    plan = broken(ecm__formula__number="from ecm.law import Law", ecm__law__continuous="")
    assert "ecm.formula imports ecm.law" in against_the_order(plan, order)


# ---- cost and lock -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["ecm", "zoo", "zoo.cli"])
def test_a_light_import_stays_light(module: str) -> None:
    """`import ecm` and the command line bring neither torch nor matplotlib nor hypothesis nor a solver."""
    heavy = ["torch", "matplotlib", "hypothesis", "mip", "sklearn"]
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_no_address_in_the_lock() -> None:
    """The lock names packages and exact versions, nothing else."""
    lines = Path(ROOT, "requirements.lock").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(line.count("==") == 1 and not any(c in line for c in ":/@ ") for line in pins)
