"""The report on a map: every figure, and the statements that are made of them."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prismap._version import __version__
from prismap.exceptions import InputError
from prismap.quality._agreement import Levels
from prismap.quality._cluster_report import MapClusters
from prismap.quality._confounding import Confounding
from prismap.quality._estimates import Estimate, RankCurve
from prismap.quality._groups import Arrangement
from prismap.quality._knn import Overlap
from prismap.quality._report_text import full_text, html_of, methods_sentence, short_text
from prismap.quality._scores import Recall, TargetScore
from prismap.quality._statements import SCHEMA, Statement
from prismap.quality._stored_report import readable
from prismap.quality._trust import Trust, TrustRule
from prismap.quality._verdict import statements_of, verdict

FORMAT = 1
TARGETS = ("class", "ordered", "real", "several", "none")
DEPTHS = ("method", "coordinates")
#: Fields that reports of the first versions do not have.
LATER = ("n_units", "unit", "fewest_units", "unjudged", "uses_target")


@dataclass(frozen=True)
class Circularity:
    """Labels made by clustering: how well they separate, and how well those of data without structure do.

    Attributes
    ----------
    separation : mean silhouette width of the labels, at most 1
    null : the same for clusters of data whose columns were permuted independently
    where : "map" or "data", where it is judged
    """

    separation: float
    null: float
    where: str

    @property
    def explained(self) -> float:
        """The share of the separation that clustering by itself explains, 0 to 1."""
        return float(min(max(self.null, 0.0) / self.separation, 1.0)) if self.separation > 0 else 1.0


@dataclass(frozen=True, eq=False, repr=False)
class MapReport:
    """How good a map is, and how that was found out.

    Attributes
    ----------
    target : "class", "ordered", "real", "several" or "none"
    n_fitted, n_judged : rows the map was fitted to, and rows the scores come from
    judged : "held-out rows", "cross-validation" or "in-sample"
    scores : errors of the map, the one the verdict rests on first; empty without a target. Classes: the error of the
        vote, or its mean over the classes where these are very unequal. Ordered classes: the steps that neighbours are
        off. Real targets: the error of the ranks. Several targets: the mean error over chance, then those of each
    structure : R_NX curves by what they compare, map against data metric first
    measures : further figures by name: trustworthiness, label-trustworthiness, steadiness over seeds, ...
    overlaps : pairs of classes that are mixed in the map, most mixed first; None if not asked
    rare : classes with fewer than five judged rows, on which no figure rests
    levels : whether votes separate units, and samples inside them, `Levels`; None if no target varies inside units
    recalls : how many judged rows of each class the vote names right, a `Recall` each; empty without classes
    arrangement : how far distances between classes agree with those in the data; None where that was not judged
    trust : how far single rows can be trusted, a `TrustRule`; None where that is not known
    row_trust : the trust in each row and its parts, a `Trust`, of maps that another method made; it is not stored. Of a
        `PrisMap` it is `PrisMap.trust_`
    clusters : the clusters of the map, whether they are there in other runs, and their gaps; None where not asked
    circular : what clustering explains, where the labels were made by it
    confounding : what a column of no interest has to do with the target and the map; None without such a column
    budget : "full", or "quick" if few maps were made for comparison: the figures are then less precise
    looks : how many verdicts are read together: a claim must stand though so many were tried
    depth : "method" if the map could be made again, "coordinates" if there was only the map
    limits : what could not be determined, and why
    bandwidths, posterior, seed, versions, times, settings : how the map was made; times in seconds
    notes : what else a reader should know
    warnings : what a reader should know first
    supervision_curve : what "supervision" was chosen from, if it was: dictionaries of posterior, supervision, score
        (share of rows that their ten nearest predict correctly, or nRMSE), standard_error, whether it was taken, and
        whether its posterior knows anything of the target (`knows_target`)
    target_weights : how much each of several targets counts in the metric, by name
    medoids : of objects that are no vectors, the most typical of each class and cluster: dictionaries of what it is the
        medoid of, its row, the number of rows of the group, and its text
    mislabelled : rows whose label the cross-fitted posterior finds improbable, the surest first: dictionaries of the
        `row`, its `given` class, the `likelier` one, and the `chance` of each (`chance`, `chance_given`)
    findings : statements that do not follow from these figures, such as columns that give the target away
    n_units, unit : how many of the judged rows are independent, and what such a unit is called ("patient"); None if
        every row is one
    fewest_units : units of the judged class that has the fewest, or of all rows without classes; None if not counted
    unjudged : why the target could not be judged; None where it was, and without one
    uses_target : whether the map was made with the target

    `statements` are what follows from all this (rules in `prismap.quality._headlines` and `_verdict`), `verdict` is
    their words, ``str()`` has those that are read first, `details` all of them and the figures. `to_dict` is JSON-safe.
    """

    target: str
    n_fitted: int
    n_judged: int = 0
    judged: str = "held-out rows"
    scores: tuple[TargetScore, ...] = ()
    structure: dict[str, RankCurve] = field(default_factory=dict)
    measures: dict[str, Estimate] = field(default_factory=dict)
    overlaps: tuple[Overlap, ...] | None = None
    rare: tuple[str, ...] = ()
    recalls: tuple[Recall, ...] = ()
    levels: Levels | None = None
    arrangement: Arrangement | None = None
    trust: TrustRule | None = None
    row_trust: Trust | None = None
    clusters: MapClusters | None = None
    circular: Circularity | None = None
    confounding: Confounding | None = None
    budget: str = "full"
    looks: int = 1
    depth: str = "method"
    limits: tuple[str, ...] = ()
    bandwidths: dict[str, float] = field(default_factory=dict)
    posterior: str | None = None
    seed: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    supervision_curve: tuple[dict[str, Any], ...] | None = None
    medoids: tuple[dict[str, Any], ...] = ()
    target_weights: dict[str, float] = field(default_factory=dict)
    mislabelled: tuple[dict[str, Any], ...] = ()
    findings: tuple[Statement, ...] = ()
    n_units: int | None = None
    unit: str = "row"
    fewest_units: int | None = None
    unjudged: str | None = None
    uses_target: bool = True

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise InputError(f"target must be one of {', '.join(TARGETS)}; got {self.target!r}.")
        if self.depth not in DEPTHS:
            raise InputError(f"depth must be one of {', '.join(DEPTHS)}; got {self.depth!r}.")
        if self.scores and not self.has_target:
            raise InputError("a report without a target (target='none') cannot hold scores of one.")

    @property
    def has_target(self) -> bool:
        """Whether the map was judged by a target."""
        return self.target != "none"

    @property
    def predicts_shares(self) -> bool:
        """Whether the supervision was chosen by a share of rows, of right classes, and not by an nRMSE."""
        return self.target == "class"

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All that the report states: warnings first, then the answers to the three questions, then details."""
        return statements_of(self)

    def statement(self, id: str) -> Statement | None:
        """The first statement with this id; None if there is none."""
        return next((one for one in self.statements if one.id == id), None)

    @property
    def verdict(self) -> str:
        """The statements as one paragraph."""
        return verdict(self)

    def summary(self, more: str = "print(report.details)") -> str:
        """What is read first, in at most twelve lines; `more` is how the reader gets the rest. ``str()`` is this."""
        return short_text(self, more)

    @property
    def details(self) -> str:
        """All statements and all figures as text; ``str()`` has those that are read first."""
        return full_text(self)

    @property
    def methods_sentence(self) -> str:
        """One sentence for the methods section of a paper."""
        return methods_sentence(self)

    @property
    def target_shows(self) -> bool | None:
        """Whether the target shows, at least in part; None without one, and if that is not known."""
        return self._answer("target_shows")

    @property
    def overstates(self) -> bool | None:
        """Whether the map makes the target look clearer than it is; None without one, and if that is not known."""
        return self._answer("map_exaggerates")

    def _answer(self, id: str) -> bool | None:
        """The answer of a statement as True or False; None for "cannot tell"."""
        stated = self.statement(id)
        return None if stated is None or stated.answer == "cannot tell" else stated.answer != "no"

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings for JSON, curves thinned; the statements are there for readers."""
        return {
            "format": FORMAT,
            "schema": SCHEMA,
            "statements": [one.to_dict() for one in self.statements],
            "methods_sentence": self.methods_sentence,
            "target": self.target,
            "n_fitted": int(self.n_fitted),
            "n_judged": int(self.n_judged),
            "n_units": None if self.n_units is None else int(self.n_units),
            "unit": self.unit,
            "fewest_units": None if self.fewest_units is None else int(self.fewest_units),
            "judged": self.judged,
            "unjudged": self.unjudged,
            "uses_target": self.uses_target,
            "mislabelled": [dict(one) for one in self.mislabelled],
            "findings": [one.to_dict() for one in self.findings],
            "verdict": self.verdict,
            "target_shows": self.target_shows,
            "overstates": self.overstates,
            "scores": [score.to_dict() for score in self.scores],
            "structure": {name: curve.thin().to_dict() for name, curve in self.structure.items()},
            "measures": {name: value.to_dict() for name, value in self.measures.items()},
            "overlaps": None if self.overlaps is None else [vars(pair) for pair in self.overlaps],
            "rare": list(self.rare),
            "levels": None if self.levels is None else self.levels.to_dict(),
            "recalls": [recall.to_dict() for recall in self.recalls],
            "arrangement": None if self.arrangement is None else self.arrangement.to_dict(),
            "trust": None if self.trust is None else self.trust.to_dict(),
            "clusters": None if self.clusters is None else self.clusters.to_dict(),
            "circular": None if self.circular is None else vars(self.circular),
            "confounding": None if self.confounding is None else self.confounding.to_dict(),
            "budget": self.budget,
            "looks": self.looks,
            "depth": self.depth,
            "limits": list(self.limits),
            "bandwidths": {name: float(value) for name, value in self.bandwidths.items()},
            "posterior": self.posterior,
            "seed": None if self.seed is None else int(self.seed),
            "versions": dict(self.versions),
            "times": {name: float(value) for name, value in self.times.items()},
            "settings": dict(self.settings),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "supervision_curve": None if self.supervision_curve is None else [dict(c) for c in self.supervision_curve],
            "medoids": [dict(one) for one in self.medoids],
            "target_weights": {name: float(weight) for name, weight in self.target_weights.items()},
        }

    @classmethod
    @readable(FORMAT)
    def from_dict(cls, stored: Mapping[str, Any]) -> MapReport:
        """The inverse of `to_dict`."""
        made = ("bandwidths", "posterior", "seed", "versions", "times", "settings")
        overlaps, arranged, circular = stored["overlaps"], stored["arrangement"], stored["circular"]
        return cls(
            **{name: stored[name] for name in ("target", "n_fitted", "n_judged", "judged", *made)},
            scores=tuple(TargetScore.from_dict(score) for score in stored["scores"]),
            structure={name: RankCurve.from_dict(curve) for name, curve in stored["structure"].items()},
            measures={name: Estimate.from_dict(value) for name, value in stored["measures"].items()},
            overlaps=None if overlaps is None else tuple(Overlap(**pair) for pair in overlaps),
            rare=tuple(stored["rare"]),
            levels=None if (levels := stored.get("levels")) is None else Levels.from_dict(levels),
            recalls=tuple(Recall.from_dict(recall) for recall in stored.get("recalls", ())),
            arrangement=None if arranged is None else Arrangement.from_dict(arranged),
            trust=None if (trust := stored["trust"]) is None else TrustRule.from_dict(trust),
            clusters=None if (clusters := stored["clusters"]) is None else MapClusters.from_dict(clusters),
            circular=None if circular is None else Circularity(**circular),
            confounding=None if (known := stored.get("confounding")) is None else Confounding.from_dict(known),
            budget=stored["budget"],
            looks=int(stored["looks"]),
            depth=stored["depth"],
            limits=tuple(stored["limits"]),
            notes=tuple(stored["notes"]),
            warnings=tuple(stored["warnings"]),
            supervision_curve=None if (curve := stored["supervision_curve"]) is None else tuple(curve),
            medoids=tuple(stored["medoids"]),
            target_weights=dict(stored["target_weights"]),
            mislabelled=tuple(stored.get("mislabelled", ())),
            findings=tuple(Statement.from_dict(one) for one in stored.get("findings", ())),
            **{name: stored[name] for name in LATER if name in stored},
        )

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """For notebooks: what is read first, and everything else folded."""
        return html_of(self)


def current_versions() -> dict[str, str]:
    """Versions of prismap, Python and the packages that numbers depend on.

    Returns
    -------
    dict of str

    Examples
    --------
    >>> sorted(current_versions())[:2]
    ['numpy', 'openTSNE']
    """
    packages = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "openTSNE")}
    return {"prismap": __version__, "python": platform.python_version(), **packages}
