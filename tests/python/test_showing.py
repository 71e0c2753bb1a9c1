"""The view of a pipeline in notebooks, its first batch, named regions of a memory profile."""

from __future__ import annotations

import html.parser
import pathlib

import pytest

import leat
from leat import errors

HOSTILE = "</td><script>alert(1)</script>"


@pytest.fixture
def rows(tmp_path: pathlib.Path) -> leat.Pipeline:
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"n": {n}, "{HOSTILE}": "{HOSTILE}"}}\n' for n in range(10)))
    return leat.jsonl(tmp_path / "rows.jsonl")


class _Tags(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def test_a_view_has_no_tag_of_the_data(rows: leat.Pipeline, tmp_path: pathlib.Path) -> None:
    seen = _Tags(rows.rename({HOSTILE: HOSTILE + "<b>"})._repr_html_())
    assert seen.tags <= {"table", "tr", "th", "td", "img", "pre"} and HOSTILE in seen.text
    seen = _Tags(rows.batch(4)._repr_html_())
    assert seen.tags == {"table", "tr", "th", "td", "img"}
    assert "int64" in seen.text and "rows.jsonl" in seen.text and HOSTILE in seen.text
    broken = _Tags(leat.jsonl(tmp_path / f"{HOSTILE.replace('/', '')}.jsonl").batch(4)._repr_html_())
    assert broken.tags == {"table", "tr", "th", "td", "pre"} and "NotFoundError" in broken.text


def test_first_disturbs_no_loop(rows: leat.Pipeline, tmp_path: pathlib.Path) -> None:
    batches = rows.batch(4)
    loop = iter(batches)
    assert next(loop)["n"].tolist() == [0, 1, 2, 3]
    assert batches.first()["n"].tolist() == [0, 1, 2, 3]
    assert next(loop)["n"].tolist() == [4, 5, 6, 7]
    assert rows.first() == {"n": 0, HOSTILE: HOSTILE}
    with pytest.raises(errors.DataError, match="no batch"):
        rows.filter("n", min=100).batch(4).first()
    batches.close()


def test_regions_of_a_memory_profile() -> None:
    profile = leat.memory_profile(interval=0.01)
    with pytest.raises(RuntimeError, match="not running"), profile.region("early"):
        pass
    with profile:
        with profile.region("outer"), pytest.raises(ZeroDivisionError), profile.region("inner"):
            held = bytearray(64 << 20)
            held[:: 4096] = b"x" * len(held[::4096])
            1 / 0
    inner, outer = profile.regions
    assert (inner.name, outer.name) == ("inner", "outer")
    assert outer.start_s <= inner.start_s <= inner.end_s <= outer.end_s
    assert inner.rss_peak - inner.rss_start >= 48 << 20 and outer.rss_peak >= inner.rss_peak
    assert str(inner).startswith("inner: ")
    del held
    assert profile.start().regions == []
    profile.stop()
