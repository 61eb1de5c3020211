"""Training of a base classifier under the noise it will be certified with."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.training.joining import ensemble
    from zoo.training.loop import bf16_pays
    from zoo.training.objectives import OBJECTIVES
    from zoo.training.optimizer import Average, make_optimizer
    from zoo.training.recipe import Preset, Recipe, preset, seconds_of, settings_in
    from zoo.training.run import train

__all__ = [
    "OBJECTIVES",
    "Average",
    "Preset",
    "Recipe",
    "bf16_pays",
    "ensemble",
    "make_optimizer",
    "preset",
    "seconds_of",
    "settings_in",
    "train",
]

__getattr__ = lazy(
    __name__,
    {
        "joining": "ensemble",
        "loop": "bf16_pays",
        "objectives": "OBJECTIVES",
        "optimizer": "Average make_optimizer",
        "recipe": "Preset Recipe preset seconds_of settings_in",
        "run": "train",
    },
)
