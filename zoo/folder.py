"""The files in the folder of a run, by name, and what each holds."""

from __future__ import annotations

WEIGHTS = "weights.safetensors"  # weights and normalisation of the base classifier
SCHEME = "scheme.json"  # the scheme with its whole design
CARD = "card.json"  # what the model is and how it was measured
CHECKPOINT = "checkpoint.safetensors"  # the state of an unfinished training
METRICS = "metrics.jsonl"  # one line per epoch
VOTES = "votes"  # a folder: the record of the votes
TABLE = "certify.tsv"  # one row per certified image
ABOUT = "certify.json"  # what the columns of the table mean, and the accuracies
PAGE = "report.html"  # the page about the run
FIGURES = "figures"  # a folder: the pictures of the page
PLAN = "plan.json"  # what an experiment was planned to cost here
FACTS, CHECKER = "facts.json", "checker.py"  # beside exported certificates
