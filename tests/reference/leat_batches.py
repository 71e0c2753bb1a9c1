"""How rows come together in batches: by number, by tokens, by bucket.

Written from the documentation (pipeline/order/batcher.h, the arguments of `batch` and `bucket`), not from
the C code.
"""
import leat_order

def padded(column, n):
    """Elements that a row of n takes, if no other of the batch is longer."""
    if column.pad is None:
        return n
    if column.pad["length"]:
        return column.pad["length"]
    return -(-n // column.pad["multiple_of"]) * column.pad["multiple_of"]


def counted(args, columns):
    """The lists whose tokens count."""
    names = args.get("tokens_of", list(columns)) if "max_tokens" in args else []
    lists = [columns[name] for name in ([names] if isinstance(names, str) else names)]
    return [column for column in lists
            if column.is_list and column.mask_of is None and column.shaped_by is None]


class Cutter:
    """Open batches. A batch is closed when no row could be added, or when one does not fit."""

    def __init__(self, args, columns):
        self.size = args.get("batch_size") or args.get("max_rows")
        self.tokens = args.get("max_tokens")
        self.columns = counted(args, columns)
        self.open = {}

    def cost(self, row):
        return max([1] + [padded(column, len(row[column])) for column in self.columns])

    def add(self, bucket, row):
        """The batches that are closed by it."""
        batch = self.open.setdefault(bucket, [])
        closed = []
        if self.tokens and batch and (len(batch) + 1) * max(map(self.cost, batch + [row])) > self.tokens:
            closed.append(self.open[bucket])
            batch = self.open[bucket] = []
        batch.append(row)
        if len(batch) == self.size or (
                self.tokens and (len(batch) + 1) * max(map(self.cost, batch)) > self.tokens):
            closed.append(self.open.pop(bucket))
        return closed

    def rest(self):
        rest = [self.open[bucket] for bucket in sorted(self.open) if self.open[bucket]]
        self.open = {}
        return rest


def bucket_of(boundaries, length):
    return sum(length > boundary for boundary in boundaries)


def by_window(rows, bucket, cutter, key):
    """Sorted windows, cut from the shortest on; what is left goes into the next window."""
    rng = leat_order.Rng(leat_order.rng_key(key["seed"], bucket["args"].get("seed", 0), key["epoch"],
                                            leat_order.BUCKET, key["lane"] << 16))
    carried, gathered = [], []

    def window():
        batches = []
        for row in sorted(carried + gathered, key=lambda row: len(row[bucket["column"]])):
            batches += cutter.add(0, row)
        for n in range(len(batches), 1, -1):
            if bucket["args"].get("shuffle", True):
                drawn = rng.below(n)
                batches[drawn], batches[n - 1] = batches[n - 1], batches[drawn]
        return batches

    for row in rows:
        gathered.append(row)
        if len(gathered) == bucket["args"]["window"]:
            yield from window()
            carried, gathered = sum(cutter.rest(), []), []
    yield from window()


def batches(rows, args, columns, bucket, key):
    """Lists of rows. bucket: its column and arguments, or None; key: seed, epoch and lane."""
    args = args or {"batch_size": 1}
    cutter = Cutter(args, columns)
    if bucket and "window" in bucket["args"]:
        yield from by_window(rows, bucket, cutter, key)
    else:
        for row in rows:
            place = bucket_of(bucket["args"]["boundaries"], len(row[bucket["column"]])) if bucket else 0
            yield from cutter.add(place, row)
    if not args.get("drop_last"):
        yield from cutter.rest()
