"""Which steps the ranks of a world see, and what `skip_steps` and `skip_records` take out."""
import pathlib


def parse_range(text):
    """(first, last)"""
    first, _, last = text.partition("-")
    return int(first), int(last or first)


class Skips:
    def __init__(self, spec):
        self.steps, self.numbers, self.lines = [], [], []
        for item in spec.get("skip_steps", []):
            epoch, _, steps = str(item).rpartition(":")
            self.steps.append((int(epoch) if epoch else None, *parse_range(steps)))
        for item in spec.get("skip_records", []):
            file, _, numbers = str(item).rpartition(":")
            if file:
                self.lines.append((file, *parse_range(numbers)))
            else:
                self.numbers.append(parse_range(numbers))

    def has_step(self, epoch, step):
        return any(of in (None, epoch) and first <= step <= last for of, first, last in self.steps)

    def has_record(self, number, record):
        """number: in the pass; record.place is FILE@OFFSET, of a file that is not compressed."""
        if any(first <= number <= last for first, last in self.numbers):
            return True
        path, _, offset = str(record.place).rpartition("@")
        if not any(path.endswith(file) for file, _, _ in self.lines):
            return False
        line = 1 + pathlib.Path(path).read_bytes().count(b"\n", 0, int(offset))
        return any(path.endswith(file) and line <= last and line + record.raw.count(b"\n") >= first
                   for file, first, last in self.lines)


def ranked(every, uneven, world_size, skips, epoch):
    """(step, rows) of all that is handed out over all ranks, of the batches of an epoch in order."""
    if world_size == 1:
        uneven = "drop"
    batches = list(every)
    left = len(batches) % world_size
    if left and uneven == "error":
        raise SystemExit(f"{len(batches)} steps are no rounds of {world_size}")
    if left and uneven == "pad":
        last = batches[-left:]
        batches += [last[i % left] for i in range(left, world_size)]
    elif left:
        del batches[-left:]
    for step, batch in enumerate(batches):
        rows = [row for row in batch if not row.get("is_skipped")]
        if rows and not skips.has_step(epoch, step):
            yield step, rows
