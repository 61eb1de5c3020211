"""Attacks on smoothed classifiers: the nearest input found that changes the prediction, in the model's own metric."""

from typing import TYPE_CHECKING

from ecm.lazy import lazy

if TYPE_CHECKING:
    from zoo.attacks.inside import verify_model
    from zoo.attacks.result import Attack, Attacked
    from zoo.attacks.run import ABOUT, attack, read_attack, read_attack_about

__all__ = ["ABOUT", "Attack", "Attacked", "attack", "read_attack", "read_attack_about", "verify_model"]

__getattr__ = lazy(
    __name__,
    {
        "inside": "verify_model",
        "result": "Attack Attacked",
        "run": "ABOUT attack read_attack read_attack_about",
    },
)
