"""A report as text and as HTML: short, what is read first, and in full, with every figure."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from prismap.quality._cluster_report import MapClusters
from prismap.quality._headlines import basis
from prismap.quality._scores import written
from prismap.quality._statements import Statement
from prismap.quality._verdict import BESIDE

if TYPE_CHECKING:
    from prismap.quality._report import MapReport

#: Columns and lines of a short report, and columns that answers have.
WIDTH, LINES, MARGIN = 100, 12, 13


def short_text(report: MapReport, more: str = "print(report.details)") -> str:
    """What is read first, in at most twelve lines: warnings and answers, and how to see the rest.

    If there are more lines, the second and third answer lose their reasons, and then the last warnings stay out.
    """
    first = [one for one in report.statements if one.level != "detail"]
    warnings, answers = ([one for one in first if (one.level == "warning") is whether] for whether in (True, False))
    brief = [*answers[:1], *map(without_reason, answers[1:])]
    lines = short_lines(report, warnings, answers, more)
    for n_warnings in range(len(warnings), -1, -1):
        if len(lines) <= LINES:
            break
        lines = short_lines(report, warnings[:n_warnings], brief, more)
    return "\n".join(lines)


def short_lines(report: MapReport, warnings: list[Statement], answers: list[Statement], more: str) -> list[str]:
    """These statements, below what was judged, and how many others there are."""
    left = sum(one.level == "warning" for one in report.statements) - len(warnings)
    rest = sum(one.level == "detail" for one in report.statements)
    unread = [f"{left} more warning{'s' if left > 1 else ''}"] if left else []
    unread += [f"{rest} more statement{'s' if rest > 1 else ''}"] if rest else []
    last = [f"{' and '.join(unread)}, and all figures: {more}"] if unread else []
    return [title_of(report), *(line for one in (*warnings, *answers) for line in statement_lines(one)), *last]


def without_reason(statement: Statement) -> Statement:
    """An answer alone: its words up to the colon.

    >>> without_reason(Statement("target_needed", "The target was needed: without it the error is 5 %.")).words
    'The target was needed.'
    """
    answer, colon, _ = statement.words.partition(": ")
    return replace(statement, words=f"{answer}.") if colon else statement


def statement_lines(statement: Statement) -> list[str]:
    """The answer in a column of its own, and the words beside it."""
    mark, words = marked(statement)
    lines = textwrap.wrap(
        re.sub(r" (?=%)| (?=±)|(?<=±) ", "\u00a0", words), WIDTH, initial_indent=mark.ljust(MARGIN),
        subsequent_indent=" " * MARGIN, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace("\u00a0", " ") for line in lines]


def marked(statement: Statement) -> tuple[str, str]:
    """What stands beside the words, and the words, without "Cannot tell" if that stands beside them.

    >>> marked(Statement("target_shows", "Cannot tell whether it shows.", answer="cannot tell"))
    ('cannot tell', 'whether it shows.')
    """
    mark = "warning" if statement.level == "warning" else statement.answer or ""
    return mark, statement.words.removeprefix("Cannot tell ") if mark == "cannot tell" else statement.words


def full_text(report: MapReport) -> str:
    """All statements and all figures."""
    stated = [line for one in report.statements if one.id not in BESIDE for line in statement_lines(one)]
    tables = [line for rows in tables_of(report) for line in ("", *_aligned(rows))]
    methods = textwrap.wrap(f"In a methods section: {methods_sentence(report)}", WIDTH)
    return "\n".join([title_of(report), "", *stated, *tables, *_remarks(report), "", *methods])


def html_of(report: MapReport) -> str:
    """For notebooks: warnings and answers first, everything else folded."""
    first: list[str] = []
    rest: list[str] = []
    for one in report.statements:
        mark, words = marked(one)
        line = f"<p>{f'<b>{escape(mark)}</b> ' if mark else ''}{escape(words)}</p>"
        (rest if one.level == "detail" else first).append(line)
    rest += [_html_table(rows) for rows in tables_of(report)]
    rest += [f"<p><small>{escape(line)}</small></p>" for line in _made(report)]
    rest += [f"<p><small>In a methods section: {escape(methods_sentence(report))}</small></p>"]
    fold = f"<details><summary>Everything else</summary>{''.join(rest)}</details>"
    return f"<div><p>{escape(title_of(report))}</p>{''.join(first)}{fold}</div>"


def methods_sentence(report: MapReport) -> str:
    """One sentence for the methods section of a paper."""
    version, method = report.versions.get("prismap"), report.settings.get("method")
    by = f"prismap {version}" if version else "prismap"
    made = f"The map of {report.n_fitted} rows was made with {by}" if method else f"The map was judged with {by}"
    how = [f"method {method}"] if method else []
    share = report.settings.get("supervision taken", report.settings.get("supervision"))
    how += [f"supervision {share:g}"] if isinstance(share, (int, float)) else []
    how += [f"seed {report.seed}"] if report.seed is not None else []
    settings = f" ({', '.join(how)})" if how else ""
    if not report.scores:
        area = [f"{one.auc_log_k:.2f}" for one in report.structure.values()]
        return f"{made}{settings}{f'; its area under R_NX is {area[0]}' if area else ''}."
    score = report.scores[0]
    against = [f"{score.figure(score.chance)} by chance"]
    if score.permuted is not None:
        against.insert(0, f"{score.figure(score.permuted.mean)} for {score.wording.permuted}")
    if score.unsupervised is not None:
        against.insert(0, f"{score.with_error(score.unsupervised)} for an unsupervised map")
    error = f"the {score.name} is {score.with_error(score.value)}, {basis(report)}, against {_listed(against)}"
    return f"{made}{settings}; {error}."


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def title_of(report: MapReport) -> str:
    """What was judged."""
    quickly = ", quickly" if report.budget == "quick" else ""
    how = f", {report.n_judged} judged ({report.judged}{quickly})" if report.scores else ""
    return f"Map of {report.n_fitted} fitted rows{how}, target: {report.target}"


def tables_of(report: MapReport) -> list[list[list[str]]]:
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


def _made(report: MapReport) -> list[str]:
    """How the map was made, and its most typical rows, a line each."""
    made = [f"{name} bandwidth {value:.4g}" for name, value in report.bandwidths.items()]
    made += [f"posterior {report.posterior}"] if report.posterior else []
    made += [f"seed {report.seed}"] if report.seed is not None else []
    made += [f"{name} {seconds:.1f} s" for name, seconds in report.times.items()]
    lines = [", ".join(made)] if made else []
    return lines + [f"most typical of {one['of']}: row {one['row']}, {one['text'][:60]}" for one in report.medoids]


def _remarks(report: MapReport) -> list[str]:
    """How the map was made, what was not judged, and notes, a line each."""
    lines = [*_made(report), *(f"not judged: {limit}" for limit in report.limits)]
    lines += [f"note: {note}" for note in report.notes]
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
