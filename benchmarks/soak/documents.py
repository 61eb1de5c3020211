"""Certificates, facts, votes and images, tampered with in every way that keeps them readable, and in some that do not.

An attacker is granted right digests and a right fingerprint of whatever the facts have become. What the checker still
accepts must be true of those facts, by brute force over all points.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.soak._oracle import is_true
from benchmarks.soak._result import Options, Result
from ecm import ECM, Design
from smoothing import (
    Certifier,
    Packing,
    Scheme,
    certificate_document,
    level_bytes,
    pack_logits,
    scheme_facts,
    vote_bytes,
)
from smoothing.document import checker

Claim = tuple[dict[str, Any], dict[str, Any], bytes, bytes]


def soak(options: Options) -> Result:
    """Tamper with as many claims as asked for."""
    result, rng = Result(), options.rng("documents")
    honest = list(_claims(rng))
    for claim in honest:
        if not _accepted(*_sealed(claim)):
            result.fail(f"an honest certificate was rejected: {claim[0]}")
    for number in range(options.documents):
        claim = copy.deepcopy(rng.choice(honest))
        damage = rng.choice((_document, _document, _facts, _facts, _votes, _levels, _mixed))
        claim = damage(claim, rng, honest)
        files = _sealed(claim, right=rng.random() < 0.8)
        text = rng.random() < 0.1
        if text:  # a byte of the text itself
            files = files[0], _flipped(files[1].encode(), rng).decode("latin-1"), *files[2:]
        result.counts["tampered"] += 1
        try:
            accepted = _accepted(*files)
        except (RecursionError, MemoryError) as error:
            result.fail(f"number {number}: {error!r}")
            continue
        if accepted:
            result.counts["accepted"] += 1
            if not is_true(files[0], json.loads(files[1]), *files[2:]):
                result.fail(f"number {number} was accepted falsely: {files[:2]}")
    return result


def _claims(rng: random.Random) -> Iterator[Claim]:
    """Honest claims under a few small schemes: features and pixels, rows and widths, groups, unsure votes, run-offs."""
    rows = Design.from_rows(ECM.l1(2), [[1], [2], [3], [4], [1, 3]], q=4, budget=16)
    two = ECM.grouped([ECM.l1(2), ECM.l0(4)])
    schemes = [
        Scheme(rows, (3,), coupling="independent", seed=1),
        Scheme.l1(2, shape=(3,), q=4),
        Scheme.l1("3/2", shape=(2, 2), q=3, pixel=True, coupling="independent", seed=2),
        Scheme(Design.from_rows(two, [[[1], [3]], [[2]]], q=4, budget=8), (2, 1), coupling="independent", seed=3),
    ]
    for scheme, method in ((s, m) for s in schemes for m in ("paper", "integer", "vote_aware")):
        shape = np.random.RandomState(rng.randrange(2**31))
        for classes in (2, 3):
            votes = np.where(shape.rand(scheme.samples) < 0.2, shape.randint(classes, size=scheme.samples), 1)
            votes = np.where(shape.rand(scheme.samples) < 0.03, 255, votes).astype(np.uint8)
            levels = shape.randint(scheme.q + 1, size=scheme.shape)
            ball = Certifier(scheme, classes, method)(votes, levels)  # type: ignore[arg-type]
            facts = scheme_facts(scheme)
            text = certificate_document(ball, votes, levels, scheme, classes=classes, shared=facts)
            yield json.loads(text), json.loads(facts), vote_bytes(votes), level_bytes(levels)
    for scheme, method in ((s, m) for s in schemes for m in ("runoff", "runoff_vote_aware")):
        shape = np.random.RandomState(rng.randrange(2**31))
        for classes, lead in ((2, 0.6), (3, 0.8), (3, 0.5), (3, 0.3)):
            logits = shape.rand(scheme.samples, classes) + lead * (np.arange(classes) == 1)
            codes = pack_logits(logits, tolerance=0.02)
            levels = shape.randint(scheme.q + 1, size=scheme.shape)
            ball = Certifier(scheme, classes, method)(codes, levels)  # type: ignore[arg-type]
            facts = scheme_facts(scheme)
            text = certificate_document(ball, codes, levels, scheme, classes=classes, shared=facts)
            yield json.loads(text), json.loads(facts), vote_bytes(codes), level_bytes(levels)


def _sealed(claim: Claim, right: bool = True) -> tuple[dict[str, Any], str, bytes, bytes]:
    """The files of a claim; with right digests, and with the fingerprint of its facts in both files."""
    document, facts, votes, levels = claim
    if right:
        with contextlib.suppress(Exception):
            facts = {**facts, "scheme_fingerprint": checker.fingerprint(facts)}
            document = {**document, "scheme_fingerprint": facts["scheme_fingerprint"]}
            document |= {name: facts[name] for name in ("shape", "q", "budget", "metric") if name in facts}
            head = str(tuple(document["shape"])).encode()
            document["image_sha256"] = hashlib.sha256(head + levels).hexdigest()
            document["votes_sha256"] = hashlib.sha256(votes).hexdigest()
            first = _first_places(votes, document["classes"]) if document["rule"] == "runoff" else votes
            if facts["weights"] is None:
                counts = [first.count(k) for k in range(document["classes"])]
                document |= {"counts": counts, "unsure": first.count(255)}
    text = json.dumps(facts)
    return {**document, "facts_sha256": hashlib.sha256(text.encode()).hexdigest()}, text, votes, levels


def _first_places(codes: bytes, classes: int) -> bytes:
    """The votes of packed rankings; 255 is unsure."""
    return Packing.of(classes).votes(np.frombuffer(codes, "<u4")).astype(np.uint8).tobytes()


def _accepted(document: dict[str, Any], facts: str, votes: bytes, levels: bytes) -> bool:
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            checker.check(document, facts, votes, levels)
        except (RecursionError, MemoryError):
            raise
        except Exception:  # the command line turns every error into a rejection
            return False
    return True


def _document(claim: Claim, rng: random.Random, _: list[Claim]) -> Claim:
    document = claim[0]
    name = rng.choice(["radius"] * 3 + ["ball", "everywhere", "multipliers", "races", "rule", "method", "*", "*"])
    if name == "radius":
        document[name] = rng.choice(["1/3", "1/2", "3/8", "1/4", "5/12", "7/16", "1e99", "1", "-1", "0"])
    elif name == "ball":
        document[name] = rng.choice(["open", "closed", "all"])
    elif name == "everywhere":
        document |= {"everywhere": True, "ball": "closed"}
    elif name == "multipliers":
        document[name] = [[k, rng.choice([None, 0, 1, 2**30, 2**36, 2**38, -5])] for k in range(document["classes"])]
    elif name == "races" and document[name]:
        race = rng.choice(document[name])
        race[rng.randrange(4)] = rng.choice([0, 1, 2, 2**30, 2**36, 2**38, -5, "duel", "together", "overtake"])
    elif name == "rule":
        document[name] = rng.choice(["plurality", "runoff"])
    elif name == "method":
        document[name] = rng.choice(["paper", "integer", "vote_aware", "runoff", "runoff_vote_aware"])
    else:
        change_leaf(document, rng)
    return claim


def _facts(claim: Claim, rng: random.Random, honest: list[Claim]) -> Claim:
    document, facts, votes, levels = claim
    if rng.random() < 0.2:  # the facts of another scheme
        facts = copy.deepcopy(rng.choice(honest)[1])
    else:
        for _ in range(rng.randint(1, 2)):
            change_leaf(facts, rng)
    return document, facts, votes, levels


def _votes(claim: Claim, rng: random.Random, _: list[Claim]) -> Claim:
    document, facts, votes, levels = claim
    return document, facts, _flipped(votes, rng), levels


def _levels(claim: Claim, rng: random.Random, _: list[Claim]) -> Claim:
    document, facts, votes, levels = claim
    changed = bytearray(levels)
    changed[4 * rng.randrange(len(levels) // 4)] = rng.randrange(facts["q"] + 1)
    return document, facts, votes, bytes(changed)


def _mixed(claim: Claim, rng: random.Random, honest: list[Claim]) -> Claim:
    """Pieces of two claims."""
    other = copy.deepcopy(rng.choice(honest))
    return tuple(rng.choice(pair) for pair in zip(claim, other, strict=True))  # type: ignore[return-value]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def change_leaf(data: Any, rng: random.Random) -> None:
    """Change one number, text or truth somewhere inside, or take an entry out."""
    while True:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(data[key], dict | list) and data[key] and rng.random() < 0.9:
            data = data[key]
            continue
        if rng.random() < 0.1:
            del data[key]
        else:
            data[key] = rng.choice(
                [rng.randint(0, 5), -1, 2**40, 10**30, True, False, None, "z", "z/3", "sign(z)/4", 0.5, [], [1]]
                + ([data[key] + rng.choice([-1, 1])] if isinstance(data[key], int) else [])
            )
        return
