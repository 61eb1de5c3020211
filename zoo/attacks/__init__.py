"""Attacks on smoothed classifiers: the nearest input found that changes the prediction, in the model's own metric."""

from zoo.attacks.inside import attack_inside, verify_model
from zoo.attacks.result import Attack, Attacked
from zoo.attacks.run import attack, read_attack

__all__ = ["Attack", "Attacked", "attack", "attack_inside", "read_attack", "verify_model"]
