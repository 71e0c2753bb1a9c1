"""Everything that decides order: random numbers and the stages that permute records.

Written from the documentation (proto/base/rng.h, the arguments of the stages), not from the C code.
An ORDER stage is a generator over what comes before it, made anew for each pass.
"""
import heapq
import itertools

import leat_cuts

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
SHUFFLE, TOKENIZE, BUCKET, SAMPLE, MIX, BLOCKS = 1, 2, 3, 4, 5, 6


def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def fold(key, word):
    return mix(key + GOLDEN + word & MASK)


def rng_key(*words):
    """words: stream seed, stage seed, epoch, purpose, index"""
    key = 0
    for word in words:
        key = fold(key, word)
    return key


class Rng:
    """SplitMix64, started at a key."""

    def __init__(self, key):
        self.state = key

    def next(self):
        self.state = self.state + GOLDEN & MASK
        return mix(self.state)

    def below(self, n):
        return self.next() * n >> 64

    def unit(self):
        return (self.next() >> 11) * 2.0**-53


def shuffle(rows, args, key):
    """A reservoir: while it fills nothing leaves; then each row that comes takes the place of one
    drawn at random; at the end the rest leaves, drawn at random, the last one filling the gap."""
    again = args.get("reshuffle_each_epoch", True)
    epoch, place = (key["epoch"], key["pass"]) if again else (0, 0)
    rng = Rng(rng_key(key["seed"], args.get("seed", 0), epoch, SHUFFLE, (place << 32) + key["index"]))
    size = float("inf") if args.get("global") else args["buffer_size"]
    kept = []
    for row in rows:
        if len(kept) < size:
            kept.append(row)
            continue
        drawn = rng.below(size)
        yield kept[drawn]
        kept[drawn] = row
    while kept:
        drawn = rng.below(len(kept))
        yield kept[drawn]
        kept[drawn] = kept[-1]
        kept.pop()


def n_lanes_of(orders):
    """To how many lanes a pass is dealt; 0: none."""
    return max([args.get("lanes", 0) for name, args, _ in orders if name == "shuffle"], default=0)


def read_blocks(records, orders, key):
    """All (number, record, lane) of a pass in the order in which they are read: with `shuffle {blocks: true}` blocks
    of each file in random order, drawn as the rest of a reservoir is, and dealt to lanes, if there are some."""
    wanted = [(args, index) for name, args, index in orders if name == "shuffle" and args.get("blocks")]
    if not wanted:
        return ((number, record, 0) for number, record in records)
    (args, index), = wanted
    again = args.get("reshuffle_each_epoch", True)
    epoch, place = (key["epoch"], key["pass"]) if again else (0, 0)
    rng = Rng(rng_key(key["seed"], args.get("seed", 0), epoch, BLOCKS, (place << 32) + index))
    size = args.get("block_size", 256)
    left = []
    for _, group in itertools.groupby(records, lambda numbered: numbered[1].file):
        of_file = list(group)
        left += [of_file[i:i + size] for i in range(0, len(of_file), size)]
    blocks = []
    while left:
        drawn = rng.below(len(left))
        blocks.append(left[drawn])
        left[drawn] = left[-1]
        left.pop()
    n_lanes = args.get("lanes", 1)
    if n_lanes > len(blocks):
        raise SystemExit(f"{n_lanes} lanes of {len(blocks)} blocks")
    return ((number, record, lane) for lane, block in zip(deal([len(block) for block in blocks], n_lanes), blocks)
            for number, record in block)


def deal(sizes, n_lanes):
    """The lane of each block: each goes to the lane with the fewest records; then lanes are numbered from the one with the most."""
    hands, dealt = [(0, lane) for lane in range(n_lanes)], []
    for size in sizes:
        n, lane = hands[0]
        dealt.append(lane)
        heapq.heapreplace(hands, (n + size, lane))
    ranked = sorted(hands, key=lambda hand: (-hand[0], hand[1]))
    numbers = {lane: number for number, (_, lane) in enumerate(ranked)}
    return [numbers[lane] for lane in dealt]


def take(rows, args, _key):
    return itertools.islice(rows, args["count"])


def skip(rows, args, _key):
    return itertools.islice(rows, args["count"], None)


def dedup(rows, args, key):
    """The first of equal rows; args["hash"] gives a row's."""
    room, policy = args.get("max_records", 2**24), args.get("when_full", "fail")
    older, newer = set(), set()
    for row in rows:
        hash_ = args["hash"](row)
        if hash_ in older or hash_ in newer:
            continue
        if policy == "forget" and len(newer) >= room // 2:
            older, newer = newer, set()
        elif policy == "fail" and len(newer) >= room:
            raise SystemExit("dedup: more different records than max_records")
        if policy == "forget" or len(newer) < room:
            newer.add(hash_)
        yield row


ORDERS = {"shuffle": shuffle, "take": take, "skip": skip, "dedup": dedup,
          "chunk": leat_cuts.chunk, "pack": leat_cuts.pack}


def take_turns(lanes):
    """The next of each lane by turns; one that has no more drops out."""
    lanes = list(lanes)
    while lanes:
        for lane in list(lanes):
            item = next(lane, None)
            if item is None:
                lanes.remove(lane)
            else:
                yield item


def chain(read_pass, stages, seed, epoch, lane=0):
    """read_pass(n): the rows of the n-th pass over the data. stages: (name, args, ordinal among its
    name) of all ORDER stages, `keep` for filters that stand behind one."""
    def through(rows, some, place):
        for name, args, index in some:
            if name == "keep":
                rows = filter(args, rows)
            else:
                key = {"seed": seed, "epoch": epoch, "pass": place, "index": index + (lane << 16)}
                rows = ORDERS[name](rows, args, key)
        return rows

    names = [name for name, _, _ in stages]
    if "repeat" not in names:
        return through(read_pass(0), stages, 0)
    at = names.index("repeat")
    count = stages[at][1]["count"]
    passes = range(count) if count else itertools.count()
    every = (through(read_pass(place), stages[:at], place) for place in passes)
    return through(itertools.chain.from_iterable(every), stages[at + 1:], 0)
