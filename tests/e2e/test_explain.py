"""leatctl explain in its forms, and run --no-fuse: the same digest."""
import json
import xml.etree.ElementTree as ElementTree

from leat_harness import ctl, main, run_digest

STREAM = """streams:
  "a <b>":
    source: { jsonl: { paths: [data.jsonl] } }
    on_error: quarantine
    quarantine: bad.jsonl
    stages:
      - lower:       { input: "t<&\\"" }
      - shuffle:     { buffer_size: 64 }
      - hash_bucket: { input: "t<&\\"", output: h, buckets: 100 }
      - dedup:       { input: n }
      - filter:      { input: n, min: 5 }
      - cast:        { input: n, dtype: int32 }
      - select:      { fields: [h, n] }
      - batch:       { batch_size: 16 }
"""


def write(folder, more=""):
    file = folder / "a.yaml"
    file.write_text(STREAM.replace("    stages:", more + "    stages:"))
    with open(folder / "data.jsonl", "w") as data:
        for i in range(5000):
            data.write(json.dumps({'t<&"': f"Text {i % 97}", "n": i % 4000, "unread": 1}) + "\n")
            if i % 500 == 7:
                data.write("{no json\n")
    return file


def test_one_digest(folder):
    file = write(folder)
    plain = run_digest(file)
    for more in (["--no-fuse"], ["--no-fuse", "--workers", "1"], ["--no-fuse", "--no-daemon"], ["--no-daemon"]):
        assert run_digest(file, *more) == plain, more
    (folder / "kept").mkdir()
    file = write(folder, "    cache: { path: kept }\n")
    epochs = [run_digest(file, "--epochs", 2, *more) for more in (["--no-fuse"], [], ["--no-fuse"], ["--no-daemon"])]
    assert len(set(epochs)) == 1


def boxes(picture):
    name = "{http://www.w3.org/2000/svg}rect"
    return [tuple(float(box.get(key)) for key in ("x", "y", "width", "height"))
            for box in picture.iter(name) if box.get("class").startswith("b")]


def test_drawings(folder):
    file = write(folder)
    for more in ([], ["--no-fuse"]):
        picture = ElementTree.fromstring(ctl("explain", file, "--format", "svg", *more).stdout)
        found = boxes(picture)
        assert len(found) > 10
        for i, (x, y, width, height) in enumerate(found):
            for u, v, w, h in found[:i]:
                assert x + width <= u or u + w <= x or y + height <= v or v + h <= y, "boxes overlap"
        wide, high = float(picture.get("width")), float(picture.get("height"))
        assert all(x + width <= wide and y + height <= high for x, y, width, height in found)
    assert ctl("explain", file, "--format", "dot").stdout.startswith(b"digraph leat {")
    assert b"moved before shuffle" in ctl("explain", file, "a <b>").stdout


def test_json(folder):
    file = write(folder)
    found = json.loads(ctl("explain", file, "--json").stdout)
    nodes, edges = found["graph"]["nodes"], found["graph"]["edges"]
    assert [node["id"] for node in nodes] == list(range(len(nodes)))
    assert {edge["from"] for edge in edges} | {edge["to"] for edge in edges} <= {node["id"] for node in nodes}
    homes = [node["stage"] for node in nodes if node["stage"] is not None and not node["is_half"]]
    assert sorted(homes) == list(range(8))
    forecast = found["forecast"]
    assert forecast["is_measured"] and forecast["records_per_s"] > 0
    assert abs(forecast["epoch_records"] - 5010) < 500
    assert not (folder / "bad.jsonl").exists()
    again = json.loads(ctl("explain", file, "--json", "--no-measure").stdout)
    assert again["forecast"] == {"is_measured": False, "reason": "--no-measure"}


def test_wrong(folder):
    file = write(folder)
    assert ctl("explain", file, "a <b>", "other", check=False).returncode == 2
    assert b'has no stream "other"' in ctl("explain", file, "other", check=False).stderr
    assert ctl("explain", file, "--format", "png", check=False).returncode == 2


if __name__ == "__main__":
    main(globals())
