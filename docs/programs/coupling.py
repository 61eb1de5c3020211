"""Draws docs/img/coupling.png: one image under a sample of the independent and of the spread coupling, at one alpha."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

mpl.use("agg")
import matplotlib.pyplot as plt

from ecm import ECM
from smoothing import Scheme
from zoo.lab.samples import COUPLINGS, middle, picture

ALPHA, SAMPLE = 18, 7
TARGET = Path(__file__).parents[1] / "img" / "coupling.png"


def shown(scheme: Scheme, image: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the middle of every feature's bin at one sample, in [0,1]; hidden features are grey."""
    return np.asarray(middle(scheme, image, SAMPLE)[0] / (4 * scheme.q)).transpose(1, 2, 0)


def main() -> None:
    """Write the figure."""
    image = picture("flower", 255)
    design = ECM.lp("1/2", ALPHA).design(128 * ALPHA)
    panels = {"the image": image.transpose(1, 2, 0) / 255}
    for coupling in COUPLINGS:
        scheme = Scheme(design, image.shape, coupling=coupling)
        panels[f"one {coupling} sample"] = shown(scheme, image)
    figure, axes = plt.subplots(1, len(panels), figsize=(9, 3.2), layout="constrained")
    for ax, (title, pixels) in zip(axes, panels.items(), strict=True):
        ax.imshow(pixels, interpolation="nearest")
        ax.set_title(title, fontsize=11)
        ax.set_axis_off()
    figure.savefig(TARGET, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
