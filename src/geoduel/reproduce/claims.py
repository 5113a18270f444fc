"""What the paper claims, and what a measurement makes of it. Verdicts are derived here alone.

An experiment states where the paper says what, which number is measured, and the rule that bears
the paper out. The verdict follows from the rule, the intervals and the controls; no experiment
writes one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from ..errors import ArgumentError
from .estimates import LEVEL, Estimate, number
from .places import PLACES

__all__ = [
    "FAILS",
    "HOLDS",
    "PARTLY",
    "UNTESTED",
    "VERDICTS",
    "Claim",
    "Rule",
    "above",
    "at_least",
    "at_most",
    "below",
    "between",
    "by_setting",
    "conflicts",
    "count",
    "equal",
]

HOLDS, PARTLY, FAILS, UNTESTED = "holds", "holds in part", "does not hold", "not tested"
VERDICTS = (HOLDS, PARTLY, FAILS, UNTESTED)


@dataclass(frozen=True)
class Rule:
    """Which numbers bear a claim out.

    Attributes
    ----------
    words : str
        As in "at most 10".
    passes : callable
        Of one number; the numbers that pass are an interval.
    each : bool
        Every single value must pass, as for "in all cases". Otherwise the median is judged by its
        interval.
    """

    words: str
    passes: Callable[[float], bool]
    each: bool = False

    def of_each(self) -> Rule:
        """The same rule for every single value."""
        return Rule(f"{self.words}, each", self.passes, each=True)

    def judge(self, estimate: Estimate) -> str:
        """Verdict on one measured number, `PARTLY` where the measurement decides nothing."""
        if self.each:
            tried = list(map(self.passes, estimate.values))
        elif estimate.coverage < LEVEL:
            return UNTESTED
        else:
            tried = list(map(self.passes, (estimate.low, estimate.value, estimate.high)))
        return HOLDS if all(tried) else PARTLY if any(tried) else FAILS

    def accepts(self, estimate: Estimate) -> bool:
        """Whether the number itself passes, whatever its interval: what no control may do."""
        return all(map(self.passes, estimate.values if self.each else (estimate.value,)))


def at_most(bound: float) -> Rule:
    """At most ``bound``."""
    return Rule(f"at most {_short(bound)}", lambda x: x <= bound)


def below(bound: float) -> Rule:
    """Less than ``bound``."""
    return Rule(f"below {_short(bound)}", lambda x: x < bound)


def at_least(bound: float) -> Rule:
    """At least ``bound``."""
    return Rule(f"at least {_short(bound)}", lambda x: x >= bound)


def above(bound: float) -> Rule:
    """More than ``bound``."""
    return Rule(f"above {_short(bound)}", lambda x: x > bound)


def equal(value: float, error: float) -> Rule:
    """``value`` up to ``error``."""
    words = f"{_short(value)}, up to {_short(error)}"
    return Rule(words, lambda x: abs(x - value) <= error)


def between(low: float, high: float) -> Rule:
    """From ``low`` to ``high``."""
    return Rule(f"{_short(low)} to {_short(high)}", lambda x: low <= x <= high)


def _short(x: float) -> str:
    return f"{x:,g}" if 1e-3 <= abs(x) < 1e6 or x == 0 else number(x)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and the numbers that decide it.

    Attributes
    ----------
    where : tuple of str
        Its places in the paper, keys of `PLACES`.
    says : str
        What the paper says.
    measures : str
        What the number is that was measured.
    rule : Rule
        Which numbers bear the claim out.
    cases : mapping of str to Estimate
        The number in each case: sizes, problems. None if nothing could be measured.
    controls : mapping of str to Estimate
        The same number with an oracle that tells nothing or lies. The rule must refuse each of
        them, or it decides nothing.
    remark : str
        What to know besides; no part of the measurement.
    under : str
        A setting that the paper leaves open and the experiment had to choose, such as a law.
    again : bool
        Tried once more under a setting that the paper does not name: shown, and not counted.
    missing : str
        Why there are no cases.
    """

    where: tuple[str, ...]
    says: str
    measures: str
    rule: Rule
    cases: Mapping[str, Estimate]
    controls: Mapping[str, Estimate] = field(default_factory=dict)
    remark: str = ""
    under: str = ""
    again: bool = False
    missing: str = ""

    def __post_init__(self) -> None:
        unknown = [place for place in self.where if place not in PLACES]
        if unknown or not self.where:
            raise ArgumentError(f"where must name places of the paper, got {self.where}")
        if not self.cases and not self.missing:
            raise ArgumentError(f"a claim without cases must say what is missing: {self.says!r}")

    @property
    def rule_text(self) -> str:
        """The rule as a sentence: what was measured, and which numbers pass."""
        return f"{self.measures}: {self.rule.words}"

    @property
    def judged(self) -> dict[str, str]:
        """Verdict on each case."""
        return {name: self.rule.judge(estimate) for name, estimate in self.cases.items()}

    @property
    def fooled(self) -> list[str]:
        """Controls that the rule does not refuse."""
        return [name for name, e in self.controls.items() if self.rule.accepts(e)]

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`: what all cases share, else "holds in part"."""
        found = set(self.judged.values()) - {UNTESTED}
        if not found or self.fooled:
            return UNTESTED
        return found.pop() if len(found) == 1 and UNTESTED not in self.judged.values() else PARTLY

    @property
    def why(self) -> str:
        """Where the claim does not hold and by which numbers, or why it was not tested."""
        if not self.cases:
            return self.missing
        few = [e for name, e in self.cases.items() if self.judged[name] == UNTESTED]
        if len(few) == len(self.cases):
            return f"{len(few[0].values)} {few[0].over} are too few for a 90 % interval"
        if self.fooled:
            return f"the rule does not tell the methods from {', '.join(self.fooled)}"
        return "; ".join(
            self._why(name, found) for name, found in self.judged.items() if found != HOLDS
        )

    def _why(self, name: str, found: str) -> str:
        e = self.cases[name]
        if found == UNTESTED:
            return f"{name}: {len(e.values)} {e.over} are too few for a 90 % interval"
        if self.rule.each:
            passed = sum(map(self.rule.passes, e.values))
            return f"{name}: {passed} of {len(e.values)} {e.over}"
        if found == PARTLY:
            return f"{name}: undecided, {number(e.low)} to {number(e.high)}"
        return f"{name}: {number(e.value)}"

    def as_json(self) -> dict[str, Any]:
        """Everything, for ``summary.json``."""
        cases = {
            name: {"verdict": self.judged[name], **_plain(e)} for name, e in self.cases.items()
        }
        return {
            "where": list(self.where),
            "says": self.says,
            "measures": self.measures,
            "rule": self.rule.words,
            "verdict": self.verdict,
            "why": self.why,
            "under": self.under,
            "counted": not self.again,
            "cases": cases,
            "controls": {name: _plain(e) for name, e in self.controls.items()},
            "remark": self.remark,
        }


def _plain(e: Estimate) -> dict[str, Any]:
    """An estimate as JSON; infinity, which JSON lacks, as text."""
    numbers = {"median": e.value, "low": e.low, "high": e.high, "coverage": e.coverage}
    finite = {k: v if math.isfinite(v) else str(v) for k, v in numbers.items()}
    values = [v if math.isfinite(v) else str(v) for v in e.values]
    return {**finite, "over": e.over, "values": values}


def count(claims: Sequence[Claim]) -> dict[str, int]:
    """How many of the paper's claims have each verdict; claims tried again are left out."""
    found = Counter(claim.verdict for claim in claims if not claim.again)
    return {verdict: found[verdict] for verdict in VERDICTS}


def by_setting(claims: Sequence[Claim]) -> dict[str, dict[str, Claim]]:
    """Claims that were tried under several settings: by their words, then by setting."""
    found: dict[str, dict[str, Claim]] = {}
    for claim in claims:
        if claim.under:
            found.setdefault(claim.says, {})[claim.under] = claim
    return {says: tried for says, tried in found.items() if len(tried) > 1}


def conflicts(claims: Sequence[Claim]) -> list[str]:
    """Pairs of claims that no setting bears out together, though one bears out each."""
    kept = {
        says: [under for under, claim in tried.items() if claim.verdict == HOLDS]
        for says, tried in by_setting(claims).items()
    }
    return [
        f"No setting bears out both “{a}” and “{b}”: the first holds under "
        f"{_listed(kept[a])} only, the second under {_listed(kept[b])} only."
        for a, b in combinations(kept, 2)
        if kept[a] and kept[b] and not set(kept[a]) & set(kept[b])
    ]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
