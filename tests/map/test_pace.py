"""A time as `fit_rows`: what it is taken for, the law of costs, the trials, and a map that owes nothing to them.

No clock is looked at: fake clocks and trials of known cost stand in for the machine.
"""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs

from prismap import PrisMap
from prismap._util.progress import seconds_in
from prismap.comparisons import Objects
from prismap.embeddings import TSNE
from prismap.exceptions import FileFormatError, InputError
from prismap.map import _time_budget as time_budget
from prismap.map._methods import fit_bytes, most_fitted
from prismap.map._time_budget import (
    DENSE_ROWS,
    GROWTH,
    TRIALS,
    Pace,
    Trial,
    cost,
    growth,
    pace_of,
    predicted,
    sizes_up_to,
    time_asked,
    usual_growth,
)
from prismap.mappings import KernelMap
from prismap.metrics._geometry import data_metric
from prismap.page import page_of
from prismap.page._live import live_compute

# --- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90 s", 90),
        ("90s", 90),
        (" 10 min ", 600),
        ("2 h", 7200),
        ("1.5 hours", 5400),
        ("1 minute", 60),
        ("0.5 sec", 0.5),
    ],
)
def test_times_are_read(text, seconds):
    assert seconds_in(text) == time_asked(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "5000", "min", "ten min", "-3 min", "0 s", "10 m", "2 days", "1e3 s", "٣ s", "1 min 30 s", "9" * 400 + " h"],
)
def test_what_is_no_time_is_refused_with_a_way_out(text):
    assert seconds_in(text) is None
    with pytest.raises(InputError, match="fit_rows must be a number of samples such as 5000, or a time") as found:
        PrisMap(fit_rows=text).fit(*make_blobs(30, random_state=0))
    assert repr(text) in str(found.value)


def test_a_number_is_no_time():
    assert time_asked(5000) is None


# --- the law ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("usual", [1.15, 2.0, 3.0])
def test_the_usual_power_is_carried_on_and_the_last_trial_is_met(usual):
    sizes = [125, 250, 500, 1000]
    seconds = [1e-6 * n**usual for n in sizes]
    for n in (1000, 3000, DENSE_ROWS):
        assert cost(n, sizes, seconds, usual) == pytest.approx(1e-6 * n**usual)


def test_another_power_is_learnt_from_more_trials_and_never_overshot():
    sizes = [125, 250, 500, 1000]
    found = [growth(sizes[:k], [n**2.0 for n in sizes[:k]], 1.15) for k in range(1, 5)]
    assert found[0] == 1.15
    assert found == sorted(found)
    assert 1.75 < found[-1] < 2.0


def test_the_power_is_that_of_a_ridge_regression():
    x, y, usual = np.log([125, 250, 500, 1000]), np.log([0.5, 0.9, 2.3, 4.0]), 1.15
    slopes = np.linspace(1, 2, 100_001)
    residuals = (y - y.mean()) - slopes[:, None] * (x - x.mean())
    loss = np.square(residuals).sum(axis=1) + GROWTH.belief * np.square(slopes - usual)
    assert growth([125, 250, 500, 1000], [0.5, 0.9, 2.3, 4.0], usual) == pytest.approx(slopes[loss.argmin()], abs=2e-5)


def test_what_costs_less_and_less_per_sample_is_not_believed_to_go_on_so():
    assert cost(5000, [125, 250, 500], [1.0, 1.0, 1.0]) == pytest.approx(10.0)


def test_all_pairs_grow_with_their_number():
    assert usual_growth("tsne", data_metric("vectors")) < usual_growth("nerv", data_metric("vectors"))
    assert usual_growth(TSNE(), data_metric("dissimilarity")) == usual_growth("mds", data_metric("cosine")) == 2.0


def test_large_maps_grow_with_the_samples():
    dense = [500, 1000, 2000], [1.0, 2.0, 4.0]
    assert cost(40_000, *dense) == pytest.approx(2 * cost(20_000, *dense))
    assert cost(2 * DENSE_ROWS, *dense) < 2 * cost(DENSE_ROWS, *dense)
    assert cost(64_000, [8000, 16_000, 32_000], [20.0, 30.0, 50.0]) == pytest.approx(100.0)


def test_a_busy_machine_stretches_the_prediction_and_noise_of_the_clock_does_not_bend_it():
    calm = [Trial(n, 0.002 * n, 0.002 * n) for n in (250, 500, 1000)]
    busy = [Trial(n, factor * 0.002 * n, 0.002 * n) for n, factor in ((250, 1), (500, 5), (1000, 3))]
    stretch = (250 + 5 * 500 + 3 * 1000) / 1750
    assert predicted(5000, busy, 1.0) == pytest.approx(stretch * predicted(5000, calm, 1.0))
    assert predicted(5000, calm, 1.0) == pytest.approx(10)
    idle = [Trial(n, 0.002 * n, 0.0) for n in (250, 500, 1000)]  # a comparison that waits for another machine
    assert predicted(5000, idle, 1.0) == pytest.approx(10)


@pytest.mark.parametrize("most", [251, 9999, 10_000, 10_001, 123_456_789])
def test_sizes_are_round_rise_in_small_steps_and_end_with_all(most):
    sizes = sizes_up_to(most)
    assert sizes[0] == TRIALS.fewest
    assert sizes[-1] == most
    assert all(a < b <= 4 / 3 * a + 1e-9 for a, b in itertools.pairwise(sizes[:-1]))
    assert all(size % 10 ** (len(str(size)) - 2) == 0 for size in sizes[:-1] if size >= 1000)


# --- trials -----------------------------------------------------------------------------------------------------------


class Machine:
    """Trials of a known cost and the clocks that they move; other work takes `busy - 1` times as long as the fits."""

    def __init__(self, seconds, busy=1.0, least=0):
        self.seconds, self.busy, self.least = seconds, busy, least
        self.cpu, self.tried = 0.0, []

    def trial(self, n_rows):
        self.tried.append(n_rows)
        n_rows = max(n_rows, self.least)
        self.cpu += self.seconds(n_rows)
        return n_rows

    def pace(self, asked, n_given=10**8, most=np.inf):
        clocks = (lambda: self.busy * self.cpu, lambda: self.cpu)
        return pace_of(asked, n_given, self.trial, most=most, perplexity=30, clocks=clocks)


def dense(n):
    return 1e-3 * n**GROWTH.neighbors


@pytest.fixture(autouse=True)
def _room(monkeypatch):
    """Memory enough for everything."""
    monkeypatch.setattr(time_budget, "available_bytes", lambda: 10**15)


@pytest.mark.parametrize("asked", ["10 s", "20 s", "28 s", "5 min", "2 h"])
@pytest.mark.parametrize("busy", [1.0, 7.0])
def test_the_largest_size_that_fits_is_taken(asked, busy):
    def seconds(n):
        return dense(n) if n <= DENSE_ROWS else GROWTH.large_share * dense(DENSE_ROWS) * n / DENSE_ROWS

    machine = Machine(seconds, busy)
    found, budget = machine.pace(asked), time_asked(asked)
    after = min(size for size in sizes_up_to(10**8) if size > found.n_rows)
    assert found.spent == pytest.approx(busy * sum(seconds(n) for n in machine.tried))
    assert found.seconds == pytest.approx(busy * seconds(found.n_rows))
    assert found.spent + found.seconds <= budget < found.spent + busy * seconds(after)
    assert machine.tried == [125 * 2**k for k in range(len(machine.tried))]
    assert found.spent <= TRIALS.share * budget or len(machine.tried) == 2
    if len(machine.tried) > 2:  # and no further trial would have been short enough
        assert found.spent + busy * seconds(2 * machine.tried[-1]) > TRIALS.share * budget


def test_more_time_takes_no_fewer_samples():
    taken = [Machine(dense).pace(f"{seconds} s", most=DENSE_ROWS).n_rows for seconds in range(1, 120, 3)]
    assert taken == sorted(taken)
    assert taken[0] == TRIALS.fewest
    assert taken[-1] == DENSE_ROWS


def test_few_samples_are_all_taken_without_a_trial():
    machine = Machine(dense)
    found = machine.pace("1 s", n_given=TRIALS.fewest)
    assert (found.n_rows, found.seconds, machine.tried) == (TRIALS.fewest, None, [])
    assert str(found) == "fit_rows='1 s' took all 250 samples."


def test_trials_end_as_soon_as_all_samples_surely_fit():
    machine = Machine(dense)
    found = machine.pace("1 h", n_given=4000)
    assert (found.n_rows, machine.tried) == (4000, [125, 250])
    assert "took all 4,000 samples, predicted" in str(found)


def test_a_first_trial_that_takes_all_of_the_time_is_the_last():
    machine = Machine(lambda n: 60.0)
    assert (machine.pace("10 s").n_rows, machine.tried) == (TRIALS.fewest, [125])


def test_no_more_than_memory_and_the_method_take(monkeypatch):
    assert Machine(dense).pace("10 h", most=DENSE_ROWS).n_rows == DENSE_ROWS
    monkeypatch.setattr(time_budget, "available_bytes", lambda: fit_bytes(3000, 30))
    assert Machine(dense).pace("10 h", most=DENSE_ROWS).n_rows == 3000
    # Less memory is needed beyond all pairs than for all pairs.
    monkeypatch.setattr(time_budget, "available_bytes", lambda: fit_bytes(20_000, 30))
    assert Machine(dense).pace("10 h").n_rows == 20_000


def test_draws_that_are_too_small_are_passed_over():
    class Choosy(Machine):
        def trial(self, n_rows):
            if n_rows < 1000:
                raise InputError("too few")
            return super().trial(n_rows)

    machine = Choosy(dense)
    assert machine.pace("30 s").n_rows == 5000
    assert machine.tried == [1000, 2000]


def test_many_classes_make_small_draws_larger():
    machine = Machine(dense, least=700)
    found = machine.pace("20 s")
    assert machine.tried[:4] == [125, 250, 500, 1000]
    assert found.spent + found.seconds <= 20


@pytest.mark.parametrize(
    ("method", "mapping", "most"),
    [
        ("tsne", "auto", np.inf), (TSNE(max_iter=100), KernelMap(), np.inf), ("nerv", "auto", DENSE_ROWS),
        ("tsne", "direct", DENSE_ROWS), ("tsne", KernelMap("elm"), DENSE_ROWS), ("som", "own", DENSE_ROWS),
    ],
)  # fmt: skip
def test_what_needs_all_pairs_takes_no_large_map(method, mapping, most):
    assert most_fitted(method, mapping, data_metric("vectors")) == most


def test_a_similarity_of_objects_takes_few():
    assert most_fitted("tsne", "auto", data_metric(Objects(lambda a, b: 1.0, "similarity"))) == 5000


# --- maps -------------------------------------------------------------------------------------------------------------

X, y = make_blobs(320, 4, centers=3, cluster_std=3.0, random_state=0)


@pytest.fixture
def slow(monkeypatch):
    """A machine that has time for trials of 40 and 80 samples and a map of 120."""

    def of(asked, n_given, trial, *, most, usual, perplexity):
        assert [trial(40), trial(80)] == [40, 80]
        return Pace(asked, 120, n_given, 55.0, 2.0)

    monkeypatch.setattr("prismap.map._fitting.pace_of", of)


def a_map(fit_rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PrisMap(**{"fit_rows": fit_rows, "perplexity": 8, "random_state": 0, **options})


TEXTS = ["".join("acgt"[int(digit) % 4] for digit in f"{7919 * k:08d}") for k in range(len(X))]
CASES = {
    "classes": (X, y, {}),
    "real": (X, X[:, 0] + X[:, 1], {"method": "mds"}),
    "sparse": (sp.csr_matrix(np.where(np.abs(X) < 2, 0, X)), y, {"supervision": 0.8}),
    "missing": (np.where(np.arange(X.size).reshape(X.shape) % 11 == 0, np.nan, X), y, {"supervision": 0.8}),
    "matrix": (np.abs(X[:, None, 0] - X[None, :, 0]), y, {"data": "dissimilarity", "supervision": 0.8}),
    "objects": (TEXTS, y, {"data": Objects("edit"), "supervision": 0.0}),
}


@pytest.mark.filterwarnings("ignore::prismap.exceptions.PrismapWarning")
@pytest.mark.parametrize("case", CASES)
def test_the_number_gives_the_same_map_bit_by_bit(case, slow):
    rows, target, options = CASES[case]
    timed, plain = (a_map(fit_rows, **options).fit(rows, target) for fit_rows in ("1 min", 120))
    assert len(timed.fit_rows_) == 120
    np.testing.assert_array_equal(timed.fit_rows_, plain.fit_rows_)
    np.testing.assert_array_equal(timed.embedding_, plain.embedding_)
    np.testing.assert_array_equal(timed.positions(), plain.positions())
    assert timed.supervision_ == plain.supervision_
    assert timed.supervision_curve_ == plain.supervision_curve_
    assert timed.notes_[:-1] == plain.notes_
    assert timed.notes_[-1] == (
        "fit_rows='1 min' took 120 of 320 samples, predicted 55 s after 2 s of trial fits; fit_rows=120 gives the same "
        "map anywhere."
    )


def test_trials_call_nobody_and_warn_of_nothing(slow):
    seen = []
    own = TSNE(callback=lambda iteration, error, Y: seen.append(len(Y)), max_iter=60, perplexity=8)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        a_map("1 min", method=own, perplexity=60, supervision=0.8).fit(X, y)
    assert set(seen) == {120}
    said = [str(one.message) for one in said if "is too high for" in str(one.message)]
    assert said
    assert all("120" in words for words in said)
    seen.clear()
    a_map("1 min", supervision=0.8).fit(X, y, callback=lambda iteration, error, Y: seen.append(len(Y)))
    assert set(seen) == {120}


def test_a_real_trial_is_timed():
    """The whole way with a clock that nobody looks at: trials of 125 and 250 samples, then all or fewer."""
    model = a_map("1 h", supervision=0.8).fit(X, y)
    assert len(model.fit_rows_) == 320
    assert "took all 320 samples, predicted" in model.notes_[0]


def test_the_progress_and_the_report_say_so(slow, capsys):
    model = a_map("1 min", method="mds").fit(X, y, verbose=1)
    said = capsys.readouterr().err
    assert "timing a fit of 40 rows" in said
    assert model.notes_[0] in said
    assert model.notes_[0] in model.report(budget="quick").notes


def test_it_is_a_parameter_like_others(slow, tmp_path):
    model = a_map("1 min", supervision=0.8)
    assert clone(model).get_params()["fit_rows"] == "1 min"
    model.fit(X, y).save(tmp_path / "a.prismap")
    loaded = PrisMap.load(tmp_path / "a.prismap")
    assert loaded.fit_rows == "1 min"
    assert len(loaded.fit_rows_) == 120
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


def test_tables_take_it_too(slow):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(kind=y)
    model = PrisMap.from_table(frame, "kind", fit_rows="1 min", perplexity=8, random_state=0, method="mds")
    assert len(model.fit_rows_) == 120
    assert any(note.startswith("fit_rows='1 min' took 120 of 320 samples") for note in model.notes_)


def test_a_file_with_another_text_is_refused(tmp_path):
    model = a_map(100, supervision=0.8).fit(X, y)
    model.map_ = replace(model.map_, recipe=model.map_.recipe.but(fit_rows="soon"))
    model.save(tmp_path / "a.prismap")
    with pytest.raises(FileFormatError, match="fit_rows must be"):
        PrisMap.load(tmp_path / "a.prismap")


def test_a_fit_that_goes_on_later_needs_a_number(tmp_path):
    with pytest.raises(InputError, match="checkpoint needs a number of samples, and fit_rows='10 min'"):
        a_map("10 min").fit(X, y, checkpoint=tmp_path / "kept")


def test_a_trial_that_is_stopped_leaves_nothing_fitted(monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("prismap.map._fitting.pace_of", stopped)
    model = a_map("1 min")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "seed_")


def test_a_live_map_is_embedded_again_without_a_trial(slow, monkeypatch):
    model = a_map("1 min", supervision=0.8).fit(X, y)
    page = page_of(model, judge=False)
    compute, start = live_compute(model, page), np.asarray(page.layers[0].positions, dtype=np.float32)
    monkeypatch.setattr("prismap.map._fitting.pace_of", None)
    Y = compute.reembed(0.5, start=start, progress=lambda *_: None, cancel=lambda: True)
    assert np.isfinite(Y[model.fit_rows_]).all()
