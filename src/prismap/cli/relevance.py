"""`prismap relevance`: which features a map shows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from prismap.cli import options
from prismap.cli.console import Console
from prismap.cli.job import load_model
from prismap.exceptions import InputError
from prismap.tables import encoding_of, read_table


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "relevance", parents=[common], help="which features a map shows",
        description="How much of a map's neighbourhoods each feature of DATA explains, against permuted features.",
    )  # fmt: skip
    parser.add_argument("map", type=Path, metavar="MAP", help="folder of prismap map, or its model.prismap")
    parser.add_argument("data", type=Path, metavar="DATA", help="rows to judge by: the file of the map, or new ones")
    parser.add_argument(
        "--method", choices=("forward", "backward", "weights", "matrix"), default="forward",
        help="each feature alone (default), without it, or all of them weighted together",
    )  # fmt: skip
    parser.add_argument("--neighbors", type=options.count, default=10, metavar="K", help="size of neighbourhoods (10)")
    parser.add_argument("--seed", type=options.seed, default=0, metavar="N", help="random seed (default: 0)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, console: Console) -> None:
    """Place the rows, judge the features, print them by relevance."""
    model = load_model(args.map, console)
    if model.parts_.data.is_matrix:
        raise InputError(f"{args.map} was made of a matrix of pairs ({model.data}): it has no features to judge.")
    encoding = encoding_of(model)
    with console.stage(f"reading {args.data}"):
        X = encoding.apply(read_table(args.data, encoding.roles)).X
    if len(X) <= args.neighbors:
        raise InputError(f"{args.data} has {len(X)} rows; --neighbors {args.neighbors} needs more.")
    with console.stage("judging the features"):
        judged = _judge(X, model.transform(X), args)
    order = np.argsort(-judged.relevance_, kind="stable")
    features = [
        {
            "feature": encoding.feature_names[place],
            "relevance": float(judged.relevance_[place]),
            "relevant": bool(judged.relevant_[place]),
        }
        for place in order.tolist()
    ]
    console.result(
        _as_text(features, float(judged.threshold_), args),
        {"method": args.method, "neighbors": args.neighbors, "threshold": judged.threshold_, "features": features},
    )


def _judge(X: Any, Y: Any, args: argparse.Namespace) -> Any:
    from prismap.relevance import FeatureRelevance

    kind: Any = FeatureRelevance
    return kind(args.method, n_neighbors=args.neighbors, random_state=args.seed).fit(X, Y)


def _as_text(features: list[dict[str, Any]], threshold: float, args: argparse.Namespace) -> str:
    width = max(len(one["feature"]) for one in features)
    lines = [f"{one['feature']:<{width}}  {one['relevance']:.4f}{' *' if one['relevant'] else ''}" for one in features]
    head = f"relevance of the features ({args.method}, {args.neighbors} neighbours)"
    return "\n".join([head, *lines, f"* above {threshold:.4f}, the best of features with their rows shuffled"])
