"""One HTML page per run, complete in itself: pictures inline, no font, nothing loaded from anywhere.

The words of the page stand in its template, `page.html`; the modules `*_part` give it numbers and pictures. The page
reads without its script, which only moves a radius along the curve. The policy in the page names the script by its
hash, so what a class or a run may be called cannot run.
"""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from zoo.certification import (
    METHOD_NAMES,
    Certification,
    certified_curve,
    find_run,
    png,
    radius_histogram,
    read_about,
    read_certification,
    svg,
)
from zoo.data import Dataset
from zoo.errors import ModelError
from zoo.files import write_atomically
from zoo.folder import FIGURES, PAGE
from zoo.models import PRETRAINED, RUNS
from zoo.reports.accuracy_part import accuracy_curve, accuracy_table, counts, spread, tiles
from zoo.reports.attack_part import attack_of, attack_section
from zoo.reports.card_part import facts, fingerprints
from zoo.reports.display import down, pretty, short
from zoo.reports.gallery import gallery, images_of
from zoo.reports.metric_part import components
from zoo.reports.statement import spec_of
from zoo.reports.table_rows import table_rows

if TYPE_CHECKING:
    from zoo.attacks import Attack
    from zoo.models import Model


def report(
    run: Certification | Model | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    data: Any = None,
    root: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the report of a certified run and its figures to the path `out`, and return it (default: in the run's
    folder, for a model of the package in `runs/<name>`).

    `run` is the folder of the run, a model or its name, or what `certify` gave. The gallery needs the images: they are
    found by the data set's name under `root`, or given as `data`, and are used only if they are those certified.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as out:
    ...     page = report("digits-l0.5-a4", f"{out}/page.html")
    ...     "Certified robustness of digits-l0.5-a4" in page.read_text()
    True
    """
    folder = find_run(run)
    about, found = read_about(folder), read_certification(folder)
    if not found.rows:
        raise ModelError(f"{folder} holds no finished {found.things[:-1]} yet: run `ecm certify {folder}` first")
    page = Path(out) if out is not None else (RUNS / folder.name if folder.parent == PRETRAINED else folder) / PAGE
    figures = page.parent / FIGURES
    try:
        figures.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"{figures} cannot be made: {error.strerror}; choose another place for the report") from error
    for name, figure in (("certified", certified_curve(found)), ("radii", radius_histogram(found))):
        write_atomically(figures / f"{name}.svg", svg(figure).encode())
        write_atomically(figures / f"{name}.png", png(figure))
    images = images_of(about, data, root)
    write_atomically(page, render(found, about, images, attack_of(folder, about)).encode())
    return page


def render(found: Certification, about: dict[str, Any], images: Dataset | str, attacked: Attack | None = None) -> str:
    """Return the page's text. `images` is the data set, or a sentence that says why there is no gallery."""
    import jinja2

    here = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(here), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"pretty": pretty, "percent": _percent, "down": down, "short": short}
    spec, script = spec_of(about), (here / "page.js").read_text()
    return environment.get_template("page.html").render(
        found=found,
        thing=found.things[:-1],
        unit=found.unit.name,
        counted=counts(found),
        methods=[(method, METHOD_NAMES[method]) for method in found.methods],
        tolerance=f"{about['tolerance']:g}",
        missing=images if isinstance(images, str) else "",
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        head=tiles(found),
        table=accuracy_table(found),
        curve=accuracy_curve(found),
        spread=spread(found),
        components=components(found, () if spec is None else spec.names),
        facts=facts(found, about),
        fingerprints=fingerprints(found, about),
        version=version("ecm"),
        attack=attack_section(attacked, images),
        **table_rows(found, about, images),
        **gallery(found, images),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
