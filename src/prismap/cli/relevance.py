"""`prismap relevance`: which features a map shows."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from prismap._util.missing import mean_filled
from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.job import load_model
from prismap.exceptions import InputError
from prismap.page._data import Relevance
from prismap.page._folder import load_folder
from prismap.tables import Roles, Table, encoding_of, read_table
from prismap.tables._table import describe_names

NEIGHBORS = 10


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "relevance", parents=[common], help="list the features that a map shows",
        description="List how much of a map's neighbourhoods each feature of DATA explains, beside permuted features.",
    )  # fmt: skip
    parser.add_argument("map", type=Path, metavar="MAP", help="folder of prismap map, or its model.prismap")
    parser.add_argument(
        "data", type=Path, nargs="?", metavar="DATA",
        help="the file of the map, or new rows (default: print what the map's page says)",
    )  # fmt: skip
    parser.add_argument(
        "--method", choices=("forward", "backward", "weights", "matrix"), default="forward",
        help="forward: each feature alone (default). backward: all others. weights, matrix: all together",
    )  # fmt: skip
    parser.add_argument(
        "--neighbors",
        type=options.count,
        default=NEIGHBORS,
        metavar="K",
        help="size of the neighbourhoods (default: 10)",
    )
    parser.add_argument(
        "--groups", metavar="COL", help="column of DATA whose rows are not independent: features are shuffled by groups"
    )
    options.add_place(parser)
    parser.add_argument("--seed", type=options.seed, default=0, metavar="N", help="random seed (default: 0)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the features by relevance: those of the map's page, or of the rows of a file, placed and judged."""
    judged = page_relevance(args.map, args) if args.data is None else data_relevance(args, console)
    order = np.argsort(-np.asarray(judged.values), kind="stable").tolist()
    features = [
        {
            "feature": str(judged.names[place]),
            "relevance": float(np.asarray(judged.values)[place]),
            "relevant": bool(np.asarray(judged.values)[place] > judged.threshold),
        }
        for place in order
    ]
    shuffled = {"baseline": judged.baseline, "spread": judged.spread, "threshold": judged.threshold}
    console.result(
        _as_text(features, judged, args),
        {"method": args.method, "neighbors": args.neighbors, **shuffled, "features": features},
    )


def page_relevance(folder: Path, args: argparse.Namespace) -> Relevance:
    """What the page of a map says of its columns."""
    if not folder.is_dir() or args.method != "forward" or args.neighbors != NEIGHBORS:
        raise InputError(
            "without DATA only what the page of a folder says can be told: name the folder of a map and leave --method "
            "and --neighbors out, or name the file of its rows."
        )
    page = load_folder(folder)
    if page.relevance is None:
        raise InputError(f"the page in {folder} has no relevance of columns: name the file of the rows as DATA.")
    return page.relevance


def data_relevance(args: argparse.Namespace, console: Console) -> Relevance:
    """Place the rows of a file and judge its features."""
    from prismap.map._tables import may_lack

    model = load_model(args.map, console)
    fitted = model.map_
    if fitted.data.is_matrix:
        raise InputError(f"{args.map} was made of a matrix of pairs ({fitted.data.kind}): it has no features to judge.")
    encoding = encoding_of(model)
    with console.stage(f"reading {args.data}"):
        roles = replace(encoding.roles, groups=args.groups)
        table = read_table(args.data, roles, sheet=args.sheet, skip_rows=args.skip_rows)
        encoded = encoding.apply(table, may_lack=may_lack(fitted, encoding))
    for note in encoded.surprises:
        console.note(note)
    X, names = encoded.X, encoding.feature_names
    there = [
        place for name, places in encoding.feature_places.items() if name not in encoded.absent for place in places
    ]
    if (n_missing := int(np.isnan(X[:, there]).any(axis=1).sum())) > 0:
        console.note(f"values are missing in {n_missing} of {len(X)} rows: each is taken as the mean of its feature")
    if len(X) <= args.neighbors:
        raise InputError(f"{args.data} has {len(X)} rows; --neighbors {args.neighbors} needs more.")
    with console.stage("judging the features"):
        groups = None if args.groups is None else groups_in(table, args.groups)
        judged = _judge(mean_filled(X), model.transform(X), args, groups)
    return Relevance(names, judged.relevance_, judged.baseline_, judged.spread_, judged.threshold_)


def groups_in(table: Table, name: str) -> Any:
    """The groups of the rows of a table."""
    from prismap.map._tables import unit_values

    if name not in table.columns:
        raise InputError(f"there is no column {name!r} for --groups; {describe_names(name, table.columns)}.")
    return unit_values(table, name, Roles())


def _judge(X: Any, Y: Any, args: argparse.Namespace, groups: Any = None) -> Any:
    from prismap.relevance import FeatureRelevance

    kind: Any = FeatureRelevance
    return kind(args.method, n_neighbors=args.neighbors, random_state=args.seed).fit(X, Y, groups=groups)


def _as_text(features: list[dict[str, Any]], judged: Relevance, args: argparse.Namespace) -> str:
    width = max(len(one["feature"]) for one in features)
    lines = [f"{one['feature']:<{width}}  {one['relevance']:.4f}{' *' if one['relevant'] else ''}" for one in features]
    head = f"relevance of the features ({args.method}, {args.neighbors} neighbours)"
    tail = f"{'shuffled':<{width}}  {judged.baseline:.4f} +- {judged.spread:.4f}"
    return "\n".join(
        [head, *lines, tail, f"* above {judged.threshold:.4f}, the best of features with their rows shuffled"]
    )
