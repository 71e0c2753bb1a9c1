#!/usr/bin/env python3
"""chart.py RUN.json CHART.svg [--date DATE]: draws the samples a second of a run of compare.py --json, with its machine and date.

The bars of a pipeline are scaled to its fastest contender. leat has two: its first epoch, and epochs from the cache. The figures
that the chart shows are stored beside it as CHART.json, from which chart.py draws the same chart again.
"""

import argparse
import datetime
import html
import json
import pathlib
import re

NAMES = {"torch": "torch DataLoader", "grain": "Grain", "streaming": "StreamingDataset", "litdata": "LitData",
         "leat": "leat, first epoch"}
TITLES = {"titanic": "CSV, a list of tokens", "titanic-model": "CSV, tokenized, rows of 128 tokens",
          "prose": "JSON Lines, tokenized, rows of 1,024 tokens", "prepared": "prepared tokens, rows of 1,024"}
WIDTH, LEFT, BAR, ROW = 760, 170, 400, 22


def figures(run, date):
    """What a chart needs of a run: date, machine, and samples a second of each contender by pipeline."""
    if "pipelines" in run:
        return run
    pipelines = {}
    for found in run["found"]:
        task = found["task"]
        rates = pipelines[TITLES.get(task["name"], task["name"])] = {}
        for name, median in found["medians"].items():
            shown = "leat" if name == "leat" and task["prepared"] else NAMES.get(name, name)
            rates[shown] = round(median["samples_per_s"])
            if median["cached_samples_per_s"]:
                rates[f"{name}, from the cache"] = round(median["cached_samples_per_s"])
    return {"date": date, "machine": machine_of(run), "pipelines": pipelines}


def machine_of(run):
    """System, processor, number of CPUs, and how many threads wanted them when the run began."""
    found = dict(re.findall(r"(?m)^(machine|CPU|CPUs to use) +(.*)$", run["machine"]))
    system = re.sub(r"(Linux \d+\.\d+)\S*", r"\1", found["machine"])
    return f"{system}, {found['CPU']}, {found['CPUs to use']} CPUs, load {run['load']:.1f}"


def draw(run):
    lines, y = [], 30
    for pipeline, rates in run["pipelines"].items():
        lines.append(f'<text x="10" y="{y}" class="head">{html.escape(pipeline)}: samples a second</text>')
        for name, rate in rates.items():
            y += ROW
            width = max(1, rate / max(rates.values()) * BAR)
            kind = "leat" if name.startswith("leat") else "other"
            lines.append(f'<text x="{LEFT - 8}" y="{y}" text-anchor="end">{html.escape(name)}</text>')
            lines.append(f'<rect x="{LEFT}" y="{y - 13}" width="{width:.1f}" height="16" class="{kind}"/>')
            lines.append(f'<text x="{LEFT + width + 6:.1f}" y="{y}">{rate:,}</text>')
        y += 2 * ROW
    lines.append(f'<text x="10" y="{y}" class="note">{html.escape(run["machine"])}; {html.escape(run["date"])}</text>')
    style = ("text{font:13px sans-serif;fill:#222}.head{font-weight:bold}.note{fill:#666}"
             ".leat{fill:#1668a8}.other{fill:#b0b7bd}.page{fill:#fff}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 14}" width="{WIDTH}">'
            f'<style>{style}</style><rect class="page" width="100%" height="100%"/>\n' + "\n".join(lines) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("chart", type=pathlib.Path)
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    options = parser.parse_args()
    shown = figures(json.loads(options.run.read_text(encoding="utf-8")), options.date)
    options.chart.with_suffix(".json").write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")
    options.chart.write_text(draw(shown), encoding="utf-8")


if __name__ == "__main__":
    main()
