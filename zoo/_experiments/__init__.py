"""The paper's experiments as data: what to train and certify, what was published, which orderings are claimed.

`_paper` holds the published numbers, `_declarations` the experiments, `_plan` what a run costs here, `_reproduce` runs
one, `_table` sets ours beside the paper's, `_checks` says which of the paper's orderings hold, `_show` prints.
"""

from zoo._experiments._declarations import EXPERIMENTS, Experiment, find_experiment

__all__ = ["EXPERIMENTS", "Experiment", "find_experiment"]
