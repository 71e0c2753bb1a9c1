"""chunk and pack: rows that are parts of records, or several of them.

Written from the documentation (the arguments of the stages, pipeline/stages/pack/packing.h), not
from the C code. An ORDER stage is a generator over rows; these make new rows.
"""

def chunk(rows, args, _key):
    """args["cut"]: (column, column of its parts) each; args["start_column"]: or None."""
    length, stride = args["length"], args.get("stride", args["length"])
    for row in rows:
        n, start = len(row[args["cut"][0][0]]), 0
        while True:
            part = dict(row)
            for whole, column in args["cut"]:
                part[column] = row[whole][start:start + length]
            part[args["start_column"]] = start
            if min(length, n - start) >= args.get("min_length", 0):
                yield part
            if start + length >= n or start + stride >= n:
                break
            start += stride


def fit_rows(lengths, room, is_best):
    """Lists of the documents that come together: from long to short, each into the first row with
    room, or where the least room is left (of several, the one that was filled last)."""
    found, rooms = [], {}  # rooms: row -> room left, the one that was filled last at the end
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        n = lengths[place]
        if is_best:
            fitting = [(left, -age, row) for age, (row, left) in enumerate(rooms.items()) if left >= n]
        else:
            fitting = [(row, 0, row) for row, left in rooms.items() if left >= n]
        if fitting:
            row = min(fitting)[2]
            found[row].append(place)
        else:
            row = len(found)
            found.append([place])
            rooms[row] = room
        left = rooms.pop(row) - n
        rooms[row] = left
    return [sorted(places) for places in sorted(found, key=min)]


def parts_of(row, columns, start, end):
    return [row[column][start:end] for column in columns]


def groups(rows, args):
    """Lists of documents, which are lists of parts of each column."""
    columns, length = [whole for whole, _ in args["cut"]], args["length"]
    how, splits = args.get("how", "best_fit"), args.get("split", False)
    held = []
    for row in rows:
        n, at = len(row[columns[0]]), 0
        if n == 0:
            continue
        if how != "concat":
            while n - at > length:
                yield [parts_of(row, columns, at, at + length)]
                at += length
            held.append(parts_of(row, columns, at, n))
            if len(held) == args.get("window", 4096):
                yield from fit_window(held, length, how)
                held = []
            continue
        if not splits and held_length(held) + n > length:
            yield held
            held = []
        while at < n:
            some = min(n - at, length - held_length(held))
            held.append(parts_of(row, columns, at, at + some))
            at += some
            if held_length(held) == length:
                yield held
                held = []
    if how != "concat":
        yield from fit_window(held, length, how)
    elif held:
        yield held


def held_length(documents):
    return sum(len(document[0]) for document in documents)


def fit_window(documents, length, how):
    lengths = [len(document[0]) for document in documents]
    for places in fit_rows(lengths, length, how == "best_fit"):
        yield [documents[place] for place in places]


def pack(rows, args, _key):
    length, made = args["length"], args["made"]
    for documents in groups(rows, args):
        lengths = [len(document[0]) for document in documents]
        rest = length - sum(lengths)
        row = {}
        for i, (_, column) in enumerate(args["cut"]):
            row[column] = [x for document in documents for x in document[i]]
            if column.are_labels:
                row[column] = [x for document in documents for x in [column.pad["value"]] + document[i][1:]]
        if "labels" in made:
            column, i = made["labels"]
            row[column] = [x for document in documents
                           for x in [column.pad["value"]] + document[i][1:]]
        if "position_ids" in made:
            row[made["position_ids"]] = [k for n in lengths for k in range(n)] + [0] * rest
        if "segment_ids" in made:
            row[made["segment_ids"]] = [i + 1 for i, n in enumerate(lengths) for _ in range(n)] + [0] * rest
        if "cu_seqlens" in made:
            row[made["cu_seqlens"]] = lengths + [rest] * (rest > 0)
        yield row
