"""Slow twin of the vote, from the words of its rule, one row and one voter at a time."""

from fractions import Fraction


def vote_reference(D, codes, k, barred=()):
    """Seats by class and the classes that win, of one row at distances D from rows with these codes (-1: no vote).

    `barred` are the numbers of rows that have no vote on this row. k=None: ten, but no more than half the rows of the
    largest class among the nearest voters.
    """
    voters = sorted((j for j in range(len(D)) if codes[j] >= 0 and j not in barred), key=lambda j: D[j])
    if k is None:
        largest = max(sum(code == codes[j] for code in codes) for j in voters if D[j] == D[voters[0]])
        k = max(1, min(10, largest // 2))
    k = min(k, len(voters))
    last = D[voters[k - 1]]
    seats = {}
    for j in voters:
        if D[j] > last:
            continue
        free = k - sum(D[i] < last for i in voters)
        share = Fraction(1) if D[j] < last else Fraction(free, sum(D[i] == last for i in voters))
        seats[codes[j]] = seats.get(codes[j], Fraction(0)) + share
    most = max(seats.values())
    drawing = [code for code in seats if seats[code] == most]
    nearest = {code: min(D[j] for j in voters if codes[j] == code) for code in drawing}
    return seats, sorted(code for code in drawing if nearest[code] == min(nearest.values()))


def vote_error_reference(D, y_judged, y_fit, k, own):
    """k-NN error: the mean chance that the vote names another class; `own` if row i is fitted row i."""
    errors = []
    for i in range(len(D)):
        _, winners = vote_reference(D[i], y_fit, k, barred=(i,) if own else ())
        errors.append(1 - (y_judged[i] in winners) / len(winners))
    return sum(errors) / len(errors)
