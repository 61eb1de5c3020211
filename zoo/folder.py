"""The files in the folder of a run, by name, and what each holds."""

from __future__ import annotations

WEIGHTS = "model.safetensors"  # weights and normalisation of the base classifier, or an archive of an estimator
OLD_WEIGHTS = "weights.safetensors"  # the same in folders of earlier versions, which are still read
SCHEME = "scheme.json"  # the scheme with its whole design
CARD = "card.json"  # what the model is and how it was measured
CONFIG, README = "config.json", "README.md"  # the configuration and the model card that the Hub shows
CHECKPOINT = "checkpoint.safetensors"  # the state of an unfinished training
METRICS = "metrics.jsonl"  # one line per epoch
VOTES = "votes"  # a folder: the record of the votes
TABLE = "certify.tsv"  # one row per certified image
ATTACK_TABLE = "attack.tsv"  # one row per attacked image
ATTACK_ABOUT = "attack.json"  # what the columns of that table mean, and the settings of the attack
ABOUT = "certify.json"  # what the columns of the table mean, and the accuracies
PAGE = "report.html"  # the page about the run
FIGURES = "figures"  # a folder: the pictures of the page
PLAN = "plan.json"  # what an experiment was planned to cost here
FACTS, CHECKER = "facts.json", "checker.py"  # beside exported certificates
