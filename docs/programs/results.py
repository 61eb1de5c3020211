"""Makes the page of results, its figures and the README's tables, from stored records alone.

    python -m docs.programs                              # results.md, paper.md, training.md, parts of README.md
    python -m docs.programs keep FOLDER [--campaign C]   # finished runs into docs/records/C (default: by data set)
    python -m docs.programs ship RUN [--data ROOT]       # a finished run into the package, with votes and a few images

`tests/test_results.py` fails while these files are out of step with the records and cards.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path

from docs.programs import frontier, paper, training
from docs.programs.paper import effort, parameters
from docs.programs.records import MAIN, RECORDS, Run, keep, read_run, ship, shipped
from docs.programs.text import percent, table
from ecm.errors import ECMError
from zoo.models import PRETRAINED

DOCS = Path(__file__).parents[1]
README = DOCS.parent / "README.md"
BLOCK = re.compile(r"(<!-- results: (\w+) -->\n)(.*?)(<!-- end of results -->)", re.DOTALL)
CERTIFICATES = {
    "paper": "the paper's certificate",
    "integer": "integer",
    "vote_aware": "vote-aware",
    "runoff_vote_aware": "run-off, vote-aware",
}


def first() -> str:
    """One number for the first screen: how many test images of CIFAR-10 the packaged model certifies."""
    run = read_run(PRETRAINED / f"{MAIN}-l0.5-a18")
    result = run.certification
    changes = 4
    share = (
        sum(row.correct and ([*row.balls.values()][-1].features() or 0) >= changes for row in result.rows)
        / result.images
    )
    return (
        f"One number: on {result.images} CIFAR-10 test images, the packaged model classifies "
        f"{percent(result.smoothed_accuracy.share)}% correctly, and for **{percent(share)}%** it also\nproves that "
        f"changing any {changes} of the {prod(result.scheme.shape):,} values of the image, by any amount, does not "
        f"change the class.\n"
    )


def demo() -> str:
    """What `make demo` certifies."""
    run = read_run(RECORDS / "demo" / "demo")
    result = run.certification
    radii = [radius for radius in result.radii if 0 < radius <= 5]
    head = ["", "smoothed", f"certified at {result.unit.name} {radii[0]}", *map(str, radii[1:])]
    rows = [
        [name, *(f"{percent(result.certified_accuracy(r, m).share)}%" for r in (0, *radii))]
        for m, name in CERTIFICATES.items()
    ]
    scheme = result.scheme
    return (
        f"`make demo` (digits, q = {scheme.q}, g = {_formula(run)}, B = {scheme.total} votes per image, all "
        f"{result.images} test images, two CPU cores):\n\n{table(head, rows)}\n"
    )


def main_model() -> str:
    """Our best certified accuracy on CIFAR-10 at every radius of the paper, beside the best published one."""
    runs = frontier.models()
    panels = [panel for panel in (frontier.Panel.of(p, runs) for p in (frontier.HALF, frontier.THIRD)) if panel.runs]
    cells = [cell for panel in panels for cell in panel.cells]
    used = sorted({cell.run.name: cell.run for cell in cells}.values(), key=lambda run: (-run.power[0], run.power[1]))
    made = ",\n".join(f"`{run.name}` ({effort(run)}; base accuracy {percent(run.trained.base.share)}%)" for run in used)
    low, high = panels[0].cells[0].certified.interval()
    images = min(cell.certified.images for cell in cells)
    votes = max(run.per_alpha for run in used)
    size = max(parameters(run.card) for run in used)
    text = (
        f"CIFAR-10, {images} test images (intervals are about ±{50 * (high - low):.0f} points), run-off voting with at "
        f"most {votes:g} alpha votes per\nimage, networks of at most {size / 1e6:.1f} M parameters:\n{made}.\n"
        "The published numbers are the best over alpha and over both trainings of the paper's WideResNet-40, with 1000 "
        "alpha votes,\non all test images.\n"
    )
    return text + "".join(f"\n{_beside_published(panel)}\n\n{panel.summary}\n" for panel in panels)


def _beside_published(panel: frontier.Panel) -> str:
    head = [f"certified at l_{panel.p} radius", *(str(cell.radius) for cell in panel.cells)]
    rows = [
        ["ours", *(f"{percent(cell.certified.share)}%" for cell in panel.cells)],
        ["published", *("" if cell.published is None else f"{cell.published:.1f}%" for cell in panel.cells)],
        ["alpha of ours", *(str(cell.run.power[1]) for cell in panel.cells)],
    ]
    return table(head, rows)


def models() -> str:
    """The models of the package."""
    rows = []
    for run in shipped():
        result = run.certification
        middle = result.radii[len(result.radii) // 4]
        certified = percent(result.certified_accuracy(middle).share)
        rows.append(
            [
                f"`{run.name}`",
                _formula(run),
                str(result.scheme.samples),
                str(result.images),
                f"{percent(result.base_accuracy)}%",
                f"{percent(result.smoothed_accuracy.share)}%",
                f"{certified}% at {result.unit.name} {float(middle):g}",
            ]
        )
    return "\n" + table(["model", "g", "votes", "images", "base", "smoothed", "certified"], rows) + "\n\n"


def _formula(run: Run) -> str:
    p, alpha = run.power
    root = {"1/2": "sqrt(z)", "1": "z", "0": "sign(z)"}.get(str(p), f"z^({p})")
    return f"{root}/{alpha}"


BLOCKS: dict[str, Callable[[], str]] = {"first": first, "demo": demo, "cifar10": main_model, "models": models}


def readme(text: str) -> str:
    """The README with what stands between its markers made anew."""
    return BLOCK.sub(lambda block: block[1] + BLOCKS[block[2]]() + block[4], text)


def pages() -> dict[Path, str]:
    """The pages and their figures, by path."""
    found = {DOCS / "training.md": training.page()}
    for name, made in (("results.md", frontier.page()), ("paper.md", paper.page())):
        found[DOCS / name] = made[0]
        found |= {DOCS / "img" / file: figure for file, figure in made[1].items()}
    return found


def write() -> list[Path]:
    """Every file that follows from the records."""
    files = pages() | {README: readme(README.read_text())}
    for path in [*DOCS.glob("img/results-*.svg"), *DOCS.glob("img/paper-*.svg")]:
        if path not in files:
            path.unlink()
    for path, content in files.items():
        path.write_text(content)
    return list(files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command")
    kept = commands.add_parser("keep", help="copy finished runs into the records")
    kept.add_argument("folder", type=Path, nargs="+")
    kept.add_argument("--campaign", help="default: the name of the data")
    sent = commands.add_parser("ship", help="put a finished run into the package")
    sent.add_argument("run", type=Path, nargs="+")
    sent.add_argument("--data", type=Path, help="where the files of the data set lie")
    given = parser.parse_args()
    try:
        if given.command == "keep":
            made = [path for folder in given.folder for path in keep(folder, given.campaign)]
        elif given.command == "ship":
            made = [ship(run, given.data) for run in given.run]
        else:
            made = write()
    except ECMError as error:
        sys.exit(f"error: {error}")
    for path in made:
        print(path)
