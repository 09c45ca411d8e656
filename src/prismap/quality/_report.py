"""The report on a map: every figure that the verdict rests on, and the verdict in words."""

from __future__ import annotations

import importlib.metadata
import platform
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from prismap._version import __version__
from prismap.exceptions import InputError
from prismap.quality._cluster_report import MapClusters
from prismap.quality._estimates import Estimate, RankCurve
from prismap.quality._groups import Arrangement
from prismap.quality._knn import Overlap
from prismap.quality._scores import TargetScore, written
from prismap.quality._trust import Trust, TrustRule
from prismap.quality._verdict import overstates, target_shows, verdict

FORMAT = 1
TARGETS = ("class", "ordered", "real", "several", "none")
DEPTHS = ("method", "coordinates")


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
    scores : errors of the map, the one the verdict rests on first; empty without a target. Classes: the error of 10
        neighbours, or that of one where most classes are small. Ordered classes: the steps that neighbours are off.
        Real targets: the error of the ranks. Several targets: the mean error over chance, then those of each target
    structure : R_NX curves by what they compare, map against data metric first
    measures : further figures by name: trustworthiness, label-trustworthiness, steadiness over seeds, ...
    overlaps : pairs of classes that are mixed in the map, most mixed first; None if not asked
    rare : classes with fewer than five judged rows, on which no figure rests
    arrangement : how far distances between classes agree with those in the data; None where that was not judged
    trust : how far single rows can be trusted, a `TrustRule`; None where that is not known
    row_trust : the trust in each row and its parts, a `Trust`, of maps that another method made; it is not stored. Of a
        `PrisMap` it is `PrisMap.trust_`
    clusters : the clusters of the map, whether they are there in other runs, and their gaps; None where not asked
    circular : what clustering explains, where the labels were made by it
    budget : "full", or "quick" if few maps were made for comparison: the figures are then less precise
    looks : how many verdicts are read together: a claim must stand though so many were tried
    depth : "method" if the map could be made again, "coordinates" if there was only the map
    limits : what could not be determined, and why
    bandwidths, posterior, seed, versions, times, settings : how the map was made; times in seconds
    notes, warnings : what else a reader should know
    supervision_curve : what "supervision" was chosen from, if it was: dictionaries of posterior, supervision, score
        (share of rows that their ten nearest predict correctly, or nRMSE), standard_error, and whether it was taken
    target_weights : how much each of several targets counts in the metric, by name
    medoids : of objects that are no vectors, the most typical of each class and cluster: dictionaries of what it is the
        medoid of, its row, the number of rows of the group, and its text

    `verdict` puts it in words (rules in `prismap.quality._verdict`), ``str()`` makes a table, `to_dict` is JSON-safe.
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
    arrangement: Arrangement | None = None
    trust: TrustRule | None = None
    row_trust: Trust | None = None
    clusters: MapClusters | None = None
    circular: Circularity | None = None
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

    def __post_init__(self) -> None:
        if self.target not in TARGETS:
            raise InputError(f"target must be one of {', '.join(TARGETS)}; got {self.target!r}.")
        if self.depth not in DEPTHS:
            raise InputError(f"depth must be one of {', '.join(DEPTHS)}; got {self.depth!r}.")
        if self.scores and self.target == "none":
            raise InputError("a report without a target (target='none') cannot hold scores of one.")

    @property
    def predicts_shares(self) -> bool:
        """Whether the supervision was chosen by a share of rows, of right classes, and not by an nRMSE."""
        return self.target == "class"

    @property
    def verdict(self) -> str:
        """The findings in words that need no statistics."""
        return verdict(self)

    @property
    def target_shows(self) -> bool | None:
        """Whether the target shows beyond chance; None without one."""
        return target_shows(self, self.scores[0]) if self.scores else None

    @property
    def overstates(self) -> bool | None:
        """Whether the map makes the target look clearer than it is; None without one, and for coordinates alone."""
        return overstates(self, self.scores[0]) if self.scores and self.depth == "method" else None

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings for JSON, curves thinned; the verdict is there for readers."""
        return {
            "format": FORMAT,
            "target": self.target,
            "n_fitted": int(self.n_fitted),
            "n_judged": int(self.n_judged),
            "judged": self.judged,
            "verdict": self.verdict,
            "target_shows": self.target_shows,
            "overstates": self.overstates,
            "scores": [score.to_dict() for score in self.scores],
            "structure": {name: curve.thin().to_dict() for name, curve in self.structure.items()},
            "measures": {name: value.to_dict() for name, value in self.measures.items()},
            "overlaps": None if self.overlaps is None else [vars(pair) for pair in self.overlaps],
            "rare": list(self.rare),
            "arrangement": None if self.arrangement is None else vars(self.arrangement),
            "trust": None if self.trust is None else self.trust.to_dict(),
            "clusters": None if self.clusters is None else self.clusters.to_dict(),
            "circular": None if self.circular is None else vars(self.circular),
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
    def from_dict(cls, stored: Mapping[str, Any]) -> MapReport:
        """The inverse of `to_dict`."""
        if stored.get("format") != FORMAT:
            raise InputError(f"this is no report of format {FORMAT}; its format is {stored.get('format')!r}.")
        made = ("bandwidths", "posterior", "seed", "versions", "times", "settings")
        overlaps, arranged, circular = stored["overlaps"], stored["arrangement"], stored["circular"]
        return cls(
            **{name: stored[name] for name in ("target", "n_fitted", "n_judged", "judged", *made)},
            scores=tuple(TargetScore.from_dict(score) for score in stored["scores"]),
            structure={name: RankCurve.from_dict(curve) for name, curve in stored["structure"].items()},
            measures={name: Estimate.from_dict(value) for name, value in stored["measures"].items()},
            overlaps=None if overlaps is None else tuple(Overlap(**pair) for pair in overlaps),
            rare=tuple(stored["rare"]),
            arrangement=None if arranged is None else Arrangement(**arranged),
            trust=None if (trust := stored["trust"]) is None else TrustRule.from_dict(trust),
            clusters=None if (clusters := stored["clusters"]) is None else MapClusters.from_dict(clusters),
            circular=None if circular is None else Circularity(**circular),
            budget=stored["budget"],
            looks=int(stored["looks"]),
            depth=stored["depth"],
            limits=tuple(stored["limits"]),
            notes=tuple(stored["notes"]),
            warnings=tuple(stored["warnings"]),
            supervision_curve=None if (curve := stored["supervision_curve"]) is None else tuple(curve),
            medoids=tuple(stored["medoids"]),
            target_weights=dict(stored["target_weights"]),
        )

    def __repr__(self) -> str:
        tables = [line for rows in _tables(self) for line in ("", *_aligned(rows))]
        return "\n".join([_headline(self), *tables, "", *textwrap.wrap(self.verdict, 100), *_remarks(self)])

    def _repr_html_(self) -> str:
        """The same for notebooks: the verdict first, then the tables."""
        parts = [f"<p><b>{escape(self.verdict)}</b></p>", f"<p>{escape(_headline(self))}</p>"]
        parts += [_html_table(rows) for rows in _tables(self)]
        parts += [f"<p><small>{escape(line)}</small></p>" for line in _remarks(self) if line]
        return f"<div>{''.join(parts)}</div>"


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


def _headline(report: MapReport) -> str:
    """What was judged."""
    quickly = ", quickly" if report.budget == "quick" else ""
    how = f", {report.n_judged} judged ({report.judged}{quickly})" if report.scores else ""
    return f"Map of {report.n_fitted} fitted rows{how}, target: {report.target}"


def _tables(report: MapReport) -> list[list[list[str]]]:
    """The scores and the areas: tables of cells, each with a line of names."""
    tables = []
    if report.scores:
        head = ["", "map", "fitted rows", "unsupervised", "permuted", "permuted, fitted", "chance"]
        rows = [
            [score.name, *(written(part, share=score.is_share) for part in (*score.figures, score.chance))]
            for score in report.scores
        ]
        tables.append(_without_empty_columns([head, *rows]))
    if report.structure:
        head = ["neighbourhoods kept", "area", "local", "rows judged"]
        rows = [
            [name, f"{curve.auc_log_k}", f"{curve.q_local}", f"{curve.n_samples} of {curve.n_rows}"]
            for name, curve in report.structure.items()
        ]
        tables.append([head, *rows])
    if report.supervision_curve:
        tables.append(_tried(report))
    if report.clusters is not None and report.clusters.clusters:
        tables.append(_cluster_rows(report.clusters))
    if report.measures:
        tables.append([["measure", ""], *([name, str(value)] for name, value in report.measures.items())])
    return tables


def _tried(report: MapReport) -> list[list[str]]:
    """The supervision that was tried: how well ten neighbours predict the target, and what is kept for it."""
    share = report.predicts_shares
    rows = [["supervision tried", "predicted" if share else "nRMSE", "on a quick map", "neighbours kept", ""]]
    for one in report.supervision_curve or ():
        tried, kept = f"{one['supervision']:g}", one.get("neighbors_kept")
        rows.append(
            [
                tried if one["posterior"] == "none" else f"{tried}, {one['posterior']}",
                written(one["score"], share=share),
                written(one.get("map_score"), share=share),
                "" if kept is None else f"{100 * kept:.0f} %",
                "taken" if one["taken"] else "",
            ]
        )
    return _without_empty_columns(rows)


def _cluster_rows(clusters: MapClusters) -> list[list[str]]:
    """A line per cluster: its rows, its gap, and what becomes of it in other runs."""
    rows = [["cluster", "rows", "commonest class", "gap", "in other runs", "splits", "rows that move"]]
    for j, one in enumerate(clusters.clusters):
        mostly = "" if one.mostly is None else f"{one.mostly} ({one.purity:.0%})"
        over_runs = ["" if part != part else f"{part:.0%}" for part in (one.there, one.splits, one.moved)]
        rows.append([str(j + 1), f"{one.share:.0%}", mostly, f"{one.gap:.1f}", *over_runs])
    if clusters.null_gaps:
        rows.append(["one Gaussian", "", "", f"up to {clusters.wide_from:.1f}", "", "", ""])
    return _without_empty_columns(rows)


def _remarks(report: MapReport) -> list[str]:
    """How the map was made, notes and warnings, a line each."""
    made = [f"{name} bandwidth {value:.4g}" for name, value in report.bandwidths.items()]
    made += [f"posterior {report.posterior}"] if report.posterior else []
    made += [f"seed {report.seed}"] if report.seed is not None else []
    made += [f"{name} {seconds:.1f} s" for name, seconds in report.times.items()]
    lines = [", ".join(made)] if made else []
    lines += [f"not judged: {limit}" for limit in report.limits]
    lines += [f"most typical of {one['of']}: row {one['row']}, {one['text'][:60]}" for one in report.medoids]
    lines += [f"note: {note}" for note in report.notes] + [f"warning: {warning}" for warning in report.warnings]
    return ["", *lines] if lines else []


def _without_empty_columns(rows: list[list[str]]) -> list[list[str]]:
    kept = [j for j in range(len(rows[0])) if any(row[j] for row in rows[1:])]
    return [[row[j] for j in kept] for row in rows]


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _html_table(rows: list[list[str]]) -> str:
    head, *body = rows
    names = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = [
        f"<tr><th>{escape(line[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in line[1:])}</tr>"
        for line in body
    ]
    return f"<table><thead><tr>{names}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
