"""The evaluator: each pair at most once, on all cores, kept beyond errors and programs."""

import pickle
import shutil
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

from prismap.comparisons import Objects, get_comparison
from prismap.comparisons import _objects as objects
from prismap.comparisons import _running as running
from prismap.comparisons._content import _hash, digest, function_digest
from prismap.comparisons._objects import CHECKED_OBJECTS, CHECKED_PAIRS
from prismap.comparisons._store import PairStore
from prismap.exceptions import InputError, PrismapWarning


def gap(a, b):
    """A dissimilarity of numbers."""
    return abs(a - b)


def scaled_gap(a, b, factor=1.0):
    return factor * abs(a - b)


def fails_at_seven(a, b):
    if 7 in (a, b):
        raise ZeroDivisionError("seven\nis not liked")
    return abs(a - b)


class Counted:
    """A comparison that counts its calls by unordered pair."""

    def __init__(self, function=gap):
        self.function, self.calls = function, []

    def __call__(self, a, b):
        self.calls.append(frozenset((a, b)))
        return self.function(a, b)


NUMBERS = [3.0, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0]
TABLE = np.abs(np.subtract.outer(NUMBERS, NUMBERS))


def test_each_pair_is_evaluated_at_most_once():
    count = Counted()
    evaluator = Objects(count, "dissimilarity", n_jobs=1).over(NUMBERS)
    np.testing.assert_array_equal(evaluator.block([0, 1, 2], [2, 3]), TABLE[:3, 2:4])
    np.testing.assert_array_equal(
        evaluator.pairs([3, 3, 0, 5, 5], [1, 1, 3, 5, 6]), TABLE[[3, 3, 0, 5, 5], [1, 1, 3, 5, 6]]
    )
    np.testing.assert_array_equal(evaluator.block(), TABLE)
    assert evaluator.n_evaluations == evaluator.n_remembered == 21
    assert len(count.calls) == 21 + evaluator.n_checks
    assert evaluator.n_checks <= CHECKED_PAIRS + CHECKED_OBJECTS
    checked = len(count.calls)
    evaluator.block()
    assert len(count.calls) == checked


def test_similarities_are_evaluated_on_the_diagonal_too():
    evaluator = Objects(lambda a, b: a * b, "similarity").over(NUMBERS)
    np.testing.assert_array_equal(evaluator.block(), np.multiply.outer(NUMBERS, NUMBERS))
    assert evaluator.n_evaluations == 28


def test_new_objects_are_compared_with_the_objects_asked_for():
    evaluator = Objects(gap, "dissimilarity").over(NUMBERS)
    np.testing.assert_array_equal(evaluator.new([0.0, 5.0], [4, 0]), [[9.0, 3.0], [4.0, 2.0]])
    assert evaluator.n_evaluations == 4
    assert evaluator.n_remembered == 0
    assert evaluator.new([], None).shape == (0, 7)


def test_empty_questions_have_empty_answers():
    evaluator = Objects(gap, "dissimilarity").over(NUMBERS)
    assert evaluator.block([], [1, 2]).shape == (0, 2)
    assert evaluator.pairs([], []).shape == (0,)
    assert Objects("edit").over(["a"]).block([], [0]).shape == (0, 1)
    assert Objects("edit").over(["a"]).pairs([], []).shape == (0,)
    assert Objects(gap, "dissimilarity").over([2.0]).block().tolist() == [[0.0]]


@pytest.mark.parametrize("function", [gap, lambda a, b: abs(a - b), partial(scaled_gap, factor=1.0)])
def test_processes_give_the_same(function, monkeypatch):
    monkeypatch.setattr(running, "WORTH_WORKERS", 0.0)
    monkeypatch.setattr(running, "FIRST_PAIRS", 3)
    monkeypatch.setattr(running, "MOST_PAIRS", 4)
    evaluator = Objects(function, "dissimilarity", n_jobs=2).over(NUMBERS)
    np.testing.assert_array_equal(evaluator.block(), TABLE)
    assert evaluator.n_evaluations == 21


def test_what_cannot_be_sent_to_processes_runs_in_threads(monkeypatch):
    monkeypatch.setattr(running, "WORTH_WORKERS", 0.0)
    monkeypatch.setattr(running, "FIRST_PAIRS", 3)
    monkeypatch.setattr(running, "MOST_PAIRS", 4)
    lock, seen = threading.Lock(), set()

    def locked(a, b):
        with lock:
            seen.add(threading.current_thread())
            return abs(a - b)

    np.testing.assert_array_equal(Objects(locked, "dissimilarity", n_jobs=2).over(NUMBERS).block(), TABLE)
    assert len(seen) > 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pair_that_fails_is_named_and_nothing_is_lost(n_jobs, monkeypatch, tmp_path):
    if n_jobs == 2:
        monkeypatch.setattr(running, "WORTH_WORKERS", 0.0)
    monkeypatch.setattr(running, "FIRST_PAIRS", 4)
    monkeypatch.setattr(running, "MOST_PAIRS", 4)
    things = list(range(30))
    evaluator = Objects(fails_at_seven, "dissimilarity", n_jobs=n_jobs, cache=tmp_path).over(things)
    i = np.arange(29)
    evaluator._checked = True  # the check of symmetry would meet the pair first
    with pytest.raises(InputError) as caught:
        evaluator.pairs(i, i + 1)
    message = str(caught.value)
    assert message.startswith(
        "compare failed for object 6 (6, int) and object 7 (7, int): ZeroDivisionError: seven is not liked. The "
    )
    assert message.endswith(f"values found so far ({evaluator.n_remembered}) are kept.")
    assert "\n" not in message
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    known = evaluator.n_evaluations
    assert known == evaluator.n_remembered >= 6
    # It can be asked on, and what is known is not evaluated again.
    good = np.setdiff1d(i, [6, 7])
    np.testing.assert_array_equal(evaluator.pairs(good, good + 1), np.ones(27))
    assert evaluator.n_evaluations == 27
    evaluator.close()
    # A later program finds all of it.
    again = Objects(fails_at_seven, "dissimilarity", n_jobs=n_jobs, cache=tmp_path).over(things)
    again.pairs(good, good + 1)
    assert (again.n_evaluations, again.n_remembered) == (0, 27)


def test_a_failure_among_new_objects_says_so():
    evaluator = Objects(fails_at_seven, "dissimilarity").over([1, 2, 3])
    with pytest.raises(InputError, match="failed for new object 1 .7, int. and object 0 .1, int.: ZeroDivisionError"):
        evaluator.new([5, 7])


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda a, b: a - b, "dissimilarity", r"must be symmetric: object 0 \(3.0, float\) and object 1 \(1.0, float\) "
                                              "gave 2 one way round and -2 the other"),
        (lambda a, b: a * b, "dissimilarity", "gave 81 for object 4 .9.0, float. and itself; a dissimilarity must"),
        (lambda a, b: float("nan"), "similarity", "object 0 .* and object 1 .*: it gave nan, which is no finite"),
        (lambda a, b: "far", "similarity", "it gave 'far', which is no number"),
        (lambda a, b: None, "similarity", "it gave None, which is no number"),
        (lambda a: 0.0, "similarity", "TypeError: .* takes 1 positional argument"),
    ],
)  # fmt: skip
def test_functions_that_are_no_comparisons_are_refused(function, kind, message):
    with pytest.raises(InputError, match=message) as caught:
        Objects(function, kind).over(NUMBERS).block()
    assert "\n" not in str(caught.value)


def test_a_function_is_checked_though_the_diagonal_was_asked_first():
    evaluator = Objects(lambda a, b: a - 2 * b, "similarity").over(NUMBERS)
    np.testing.assert_array_equal(evaluator.pairs([0, 1], [0, 1]), [-3.0, -1.0])
    with pytest.raises(InputError, match="must be symmetric"):
        evaluator.pairs([0], [1])


def test_mixed_types_are_named():
    things = ["word"] * 40 + [12] + ["word"] * 9
    with pytest.raises(InputError, match=r"object 0 \('word', str\) and object 40 \(12, int\): TypeError: .*len"):
        Objects(lambda a, b: abs(len(a) - len(b)), "dissimilarity").over(things).pairs([0] * 49, np.arange(1, 50))


def test_one_object_among_thousands_is_named():
    def picky(a, b):
        return abs(a - b) / (a != 4711 and b != 4711)

    evaluator = Objects(picky, "dissimilarity", n_jobs=1).over(list(range(5000)))
    with pytest.raises(InputError, match=r"object 0 \(0, int\) and object 4,711 \(4711, int\): ZeroDivisionError"):
        evaluator.block([0], None)
    assert evaluator.n_remembered > 4700


def test_long_objects_are_cut_short_in_messages():
    with pytest.raises(InputError) as caught:
        Objects(lambda a, b: None, "similarity").over(["word " * 1000, list(range(1000))]).block()
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((gap,), "kind must be 'similarity' or 'dissimilarity' for a function; got None"),
        ((gap, "distance"), "got 'distance'"),
        (("edit", "similarity"), "kind of comparison 'edit' is 'dissimilarity'; got 'similarity'"),
        ((17, "similarity"), "compare must be a function of two objects or a name; got 17"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Objects(*arguments)


def test_wrong_questions_are_refused():
    with pytest.raises(InputError, match="at least one object"):
        Objects("edit").over([])
    evaluator = Objects(gap, "dissimilarity").over(NUMBERS)
    for wrong in ([7], [-1], [0.5], [True, False], 3):
        with pytest.raises(InputError, match="indices must"):
            evaluator.block(wrong)
    with pytest.raises(InputError, match="equally long; got 1 and 2"):
        evaluator.pairs([1], [1, 2])


@pytest.mark.parametrize("memory", [0, 100, 10**6])
def test_values_beyond_the_memory_are_found_in_files(memory, tmp_path):
    rng = np.random.default_rng(0)
    pairs, values = rng.permutation(5000)[:900].astype(np.uint64), rng.normal(size=900)
    for folder in (None, tmp_path):
        store = PairStore(memory, folder)
        for part in np.array_split(np.arange(900), 25):
            store.add(pairs[part], values[part])
        assert sum(run.nbytes for run in store.runs) <= memory
        assert bool(store.files) == (memory < 10**6)
        asked = rng.integers(0, 5000, 2000).astype(np.uint64)
        known = dict(zip(pairs.tolist(), values.tolist(), strict=True))
        np.testing.assert_array_equal(store.find(asked), [known.get(k, np.nan) for k in asked.tolist()])
        assert len(store) == 900
        where = store.folder
        store.close()
        assert where is None or where.exists() == (where == tmp_path)
    again = PairStore(memory, tmp_path)
    np.testing.assert_array_equal(again.find(pairs), values)
    again.close()


def test_a_journal_that_was_cut_short_is_read_to_its_last_entry(tmp_path):
    store = PairStore(10**6, tmp_path)
    store.add(np.arange(10, dtype=np.uint64), np.arange(10.0))
    store.close()
    (journal,) = tmp_path.iterdir()
    whole = journal.stat().st_size
    store = PairStore(10**6, tmp_path)
    store.add(np.array([40], dtype=np.uint64), [5.0])
    store.close()
    journal.write_bytes(journal.read_bytes()[: (whole + journal.stat().st_size) // 2])
    for expected in (10, 11):
        store = PairStore(10**6, tmp_path)
        assert len(store) == expected
        store.add(np.array([50], dtype=np.uint64), [5.0])
        store.close()


@pytest.mark.parametrize("memory", [0, 10**6], ids=["sorted file", "journal"])
@pytest.mark.parametrize("damage", ["header", "value", "digest", "foreign"])
def test_damaged_values_are_set_aside_and_asked_for_again(tmp_path, memory, damage):
    store = PairStore(memory, tmp_path)
    store.add(np.arange(3, dtype=np.uint64), [1.0, 2.0, 3.0])
    store.close()
    (path,) = tmp_path.iterdir()
    raw = bytearray(path.read_bytes())
    raw[{"header": 20, "value": -1, "digest": -50, "foreign": 0}[damage]] ^= 1
    raw = b"no values at all" if damage == "foreign" else bytes(raw)
    path.write_bytes(raw)
    with pytest.warns(PrismapWarning, match=f"{path.name} cannot be trusted and is now {path.name}.damaged"):
        store = PairStore(memory, tmp_path)
    assert len(store) == 0
    store.add(np.array([1], dtype=np.uint64), [7.0])
    np.testing.assert_array_equal(store.find(np.arange(3, dtype=np.uint64)), [np.nan, 7.0, np.nan])
    store.close()
    assert len(PairStore(memory, tmp_path)) == 1
    assert path.with_name(f"{path.name}.damaged").read_bytes() == bytes(
        raw if damage != "foreign" else b"no values at all"
    )


def test_what_stands_before_damage_in_a_journal_is_kept(tmp_path):
    store = PairStore(10**6, tmp_path)
    for k in range(3):
        store.add(np.array([k], dtype=np.uint64), [1.0 + k])
    store.close()
    (path,) = tmp_path.iterdir()
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            store = PairStore(10**6, tmp_path)
        np.testing.assert_array_equal(store.find(np.arange(3, dtype=np.uint64)), [1.0, 2.0, np.nan])
        store.close()


def test_a_journal_of_other_objects_is_not_read(tmp_path):
    """Copied from the folder of other objects, with its own digests in order."""
    store = PairStore(10**6, tmp_path / "one")
    store.add(np.arange(3, dtype=np.uint64), [1.0, 2.0, 3.0])
    store.close()
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    with pytest.warns(PrismapWarning, match="holds no values of pairs of format 1 of these objects"):
        assert len(PairStore(10**6, tmp_path / "other")) == 0


def test_two_stores_of_one_folder_keep_what_both_have(tmp_path):
    one, other = PairStore(10**6, tmp_path), PairStore(10**6, tmp_path)
    one.add(np.array([1], dtype=np.uint64), [1.0])
    other.add(np.array([2], dtype=np.uint64), [2.0])
    third = PairStore(10**6, tmp_path)  # reads journals that others have open, and leaves them alone
    np.testing.assert_array_equal(third.find(np.arange(3, dtype=np.uint64)), [np.nan, 1.0, 2.0])
    third.add(np.array([0], dtype=np.uint64), [0.0])
    assert len(list(tmp_path.glob("journal-*"))) == 3
    for store in (one, other, third):
        store.close()
    last = PairStore(10**6, tmp_path)
    np.testing.assert_array_equal(last.find(np.arange(3, dtype=np.uint64)), [0.0, 1.0, 2.0])
    assert len(list(tmp_path.glob("journal-*"))) == 1
    last.close()


SEVERAL = """
import sys
import numpy as np
from pathlib import Path
from prismap.comparisons._store import PairStore
start = int(sys.argv[2])
for round in range(8):
    print("ready", flush=True)
    sys.stdin.readline()
    store = PairStore(400, Path(sys.argv[1]) / str(round))
    for k in range(start, start + 100, 5):
        pairs = np.arange(k, k + 5, dtype=np.uint64)
        new = pairs[np.isnan(store.find(pairs))]
        store.add(new, new.astype(float))
    known = store.known()
    assert (known["pair"] == known["value"]).all()
    store.close()
"""


def test_three_programs_share_a_cache(tmp_path):
    """They write, move values to files, and take over journals of each other, all at once."""
    command = [sys.executable, "-c", SEVERAL, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    programs = [subprocess.Popen([*command, str(start)], **pipes) for start in (0, 50, 100)]
    for _ in range(8):
        for program in programs:
            program.stdout.readline()
        for program in programs:
            with suppress(BrokenPipeError):  # it has died, as its end says
                program.stdin.write("go\n")
                program.stdin.flush()
    ends = [(program.communicate(timeout=60)[1], program.returncode) for program in programs]
    assert ends == [("", 0)] * 3
    for folder in tmp_path.iterdir():
        store = PairStore(10**6, folder)
        np.testing.assert_array_equal(store.find(np.arange(200, dtype=np.uint64)), np.arange(200.0))
        store.close()


def test_a_cache_of_what_has_no_content_is_refused(tmp_path):
    lock = threading.Lock()
    with pytest.raises(InputError, match="cache needs objects and a function whose content can be read"):
        Objects(lambda a, b: lock and 0.0, "dissimilarity", cache=tmp_path).over(NUMBERS)


def test_blocks_in_parts_are_the_same(monkeypatch):
    monkeypatch.setattr(objects, "BLOCK_VALUES", 10)
    evaluator = Objects(gap, "dissimilarity").over(NUMBERS)
    np.testing.assert_array_equal(evaluator.block(), TABLE)
    assert evaluator.n_evaluations == 21
    words = ["a", "ab", "abc", "b", "", "ba", "abcd"]
    whole = [[abs(len(a) - len(b)) if a in b or b in a else np.nan for b in words] for a in words]
    found = Objects("edit").over(words).block()
    known = ~np.isnan(whole)
    np.testing.assert_array_equal(found[known], np.array(whole)[known])


def test_a_cache_is_known_by_its_content(tmp_path):
    def evaluated(function, things):
        evaluator = Objects(function, "dissimilarity", cache=tmp_path).over(things)
        evaluator.block()
        evaluator.close()
        return evaluator.n_evaluations

    assert evaluated(gap, NUMBERS) == 21
    assert evaluated(gap, list(NUMBERS)) == 0
    assert evaluated(gap, NUMBERS[::-1]) == 21
    assert evaluated(scaled_gap, NUMBERS) == 21
    assert evaluated(partial(scaled_gap, factor=2.0), NUMBERS) == 21
    assert evaluated(partial(scaled_gap, factor=3.0), NUMBERS) == 21
    assert evaluated(partial(scaled_gap, factor=2.0), NUMBERS) == 0


def test_named_comparisons_are_cached_by_their_options(tmp_path):
    things = [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 2.0]]
    for band, expected in ((0.1, 3), (0.1, 0), (None, 3)):
        evaluator = Objects(get_comparison("dtw", band=band), cache=tmp_path).over(things)
        evaluator.block()
        assert evaluator.n_evaluations == expected
        evaluator.close()


def test_digests_tell_content_apart():
    different = [
        1,
        1.5,
        "1",
        b"1",
        [1],
        [[1]],
        [1, 1],
        {1},
        {1: 1},
        None,
        np.array([1]),
        np.array([1.0]),
        "",
        [],
        ["", ""],
    ]
    assert len({digest(thing) for thing in different}) == len(different)
    assert list({0, 8}) != list({8, 0})  # one set, two orders
    assert digest({0, 8}) == digest({8, 0})
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert _hash(b"a", b"bc") != _hash(b"ab", b"c")

    def made(power):
        return lambda a, b: abs(a - b) ** power

    assert function_digest(made(1)) == function_digest(made(1)) != function_digest(made(2))


def test_threads_may_ask_at_once():
    count = Counted()
    evaluator = Objects(count, "dissimilarity", n_jobs=1).over(list(range(40)))
    with ThreadPoolExecutor(4) as pool:
        blocks = list(pool.map(lambda _: evaluator.block(), range(8)))
    for block in blocks:
        np.testing.assert_array_equal(block, np.abs(np.subtract.outer(range(40), range(40))))
    assert evaluator.n_evaluations == 780


def test_interruptions_keep_what_was_found(monkeypatch):
    monkeypatch.setattr(running, "FIRST_PAIRS", 2)
    monkeypatch.setattr(running, "MOST_PAIRS", 2)
    stop = []

    def interrupted(a, b):
        if stop and 20 in (a, b):
            raise KeyboardInterrupt
        return abs(a - b)

    evaluator = Objects(interrupted, "dissimilarity", n_jobs=1).over(list(range(30)))
    evaluator.pairs([0], [1])
    stop.append(True)
    i = np.arange(29)
    with pytest.raises(KeyboardInterrupt):
        evaluator.pairs(i, i + 1)
    assert evaluator.n_remembered >= 18


def test_an_evaluator_travels_with_what_it_knows():
    evaluator = Objects("tree_edit", n_jobs=1).over([["f", *word] for word in ("abc", "abd", "xyz", "xy")])
    values = evaluator.block()
    again = pickle.loads(pickle.dumps(evaluator))
    assert again.n_remembered == evaluator.n_remembered == 6
    before = again.n_evaluations
    np.testing.assert_array_equal(again.block(), values)
    assert again.n_evaluations == before
