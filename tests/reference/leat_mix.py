"""Rows of several sources, among each other.

Written from the documentation (pipeline/order/mixer.h), not from the C code.
"""
import leat_order


class Shares:
    """Of the sources that are there, and what they have had since that is known."""

    def __init__(self, shares, there):
        total = 0.0
        for i, share in enumerate(shares):
            total += share if there[i] else 0
        self.shares = [share / total if there[i] else 0.0 for i, share in enumerate(shares)]
        self.taken = [0] * len(shares)
        self.n_all = 0

    def draw(self, rng, there):
        total = 0.0
        for share in self.shares:
            total += share
        u, running, last = rng.unit() * total, 0.0, 0
        for i, share in enumerate(self.shares):
            running += share
            if there[i] and u < running:
                return i
            last = i if there[i] else last
        return last

    def farthest_behind(self, there):
        behind = [(self.shares[i] * (self.n_all + 1) - self.taken[i], -i)
                  for i in range(len(there)) if there[i]]
        return -max(behind)[1]


def mix(laps, args, key):
    """laps[i](): the rows of source i, from its start. key: seed, epoch, pass."""
    numbers = [float(number) for number in args.get("weights") or args["proportions"]]
    total = 0.0
    for number in numbers:
        total += number
    numbers = [number / total for number in numbers]
    rng = leat_order.Rng(leat_order.rng_key(key["seed"], args.get("seed", 0), key["epoch"],
                                            leat_order.MIX, key["pass"]))
    policy = args.get("exhausted", "stop")
    lanes = [lap() for lap in laps]
    n_rows = [0] * len(laps)
    there, ended = [True] * len(laps), [False] * len(laps)
    shares = Shares(numbers, there)
    while True:
        i = shares.draw(rng, there) if "weights" in args else shares.farthest_behind(there)
        while True:
            row = next(lanes[i], None)
            if row is not None:
                break
            ended[i], is_empty, n_rows[i] = True, n_rows[i] == 0, 0
            if policy == "stop" or (policy == "repeat" and all(ended)):
                return
            if policy == "drop" or is_empty:
                there[i] = False
                if not any(there):
                    return
                shares = Shares(numbers, there)
                break
            lanes[i] = laps[i]()
        if row is not None:
            n_rows[i] += 1
            shares.taken[i] += 1
            shares.n_all += 1
            yield row
