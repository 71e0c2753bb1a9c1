"""What the tables of leatd know: its options (from its help), events and metrics."""
import re

from scdoc import bold, definition, escape, page, paragraphs, section, sentence

OPTION = re.compile(r"^  (?:(-\w), |    )(--[\w-]+)(\S*)(?: ([A-Z][A-Z=]*))?(?:  +(.*))?$")
LABELS = {
    "daemon": "",
    "stream": " Labels: `stream`, `owner`.",
    "stage": " Labels: `stream`, `owner`, `stage`, `role`.",
}


def options(text):
    """The lines of `leatd --help` that tell of options, with those that go on below them."""
    found = []
    for line in text.split("\n"):
        match = OPTION.match(line)
        if match:
            letter, name, form, value, what = match.groups()
            found.append([", ".join(bold(word) for word in (letter, name + form) if word)
                          + (f" _{escape(value)}_" if value else ""), [what or ""]])
        elif found and line.startswith(" " * 20):
            found[-1][1].append(line.strip())
        elif found and not line.strip():
            break
    return "\n".join(definition(term, sentence(" ".join(what).strip())) for term, what in found)


def event(item):
    return definition(f"{bold(item['name'])} ({item['level']}, room {escape(item['room'])})",
                      sentence(item["message"]), item["advice"],
                      f"MESSAGE_ID={item['id']}")


def events_page(reference):
    text = ("`leatd` may log the events below. Each event comes with advice. In the journal, you find an event by its name "
            "or its id. `journalctl -x` also prints the advice:\n\n"
            "  journalctl -u leatd LEAT_EVENT=stream-failed\n  journalctl -u leatd -x\n\n"
            "Later versions keep the id of each event. The setting `log_level` chooses the lowest level that `leatd` logs. "
            "`leatctl log-level` changes it for parts of the daemon, which are called rooms.")
    return page("leat-events", 7, reference["version"], "the events of leatd, and what to do about them",
                section("DESCRIPTION", paragraphs(text)),
                section("EVENTS", "\n".join(event(item) for item in reference["events"])),
                also="leatd(8) leatd.yaml(5) leatctl-log-level(1) journalctl(1)")


def metrics_page(reference):
    text = ("`leatctl metrics` prints the metrics below. The setting `http_listen` also serves them at /metrics. "
            "The format is OpenMetrics 1.0, or Prometheus' text format 0.0.4. Counters never decrease while the daemon "
            "runs. Only a limited number of streams and stages get labels of their own; the rest have the label `other`.\n\n"
            "The examples of the package contain a dashboard and alert rules: grafana/leat.json and prometheus/leat.rules.yaml.")
    body = "\n".join(definition(f"{bold(item['name'])} ({item['kind']})", item["help"] + LABELS[item["scope"]])
                     for item in reference["metrics"])
    return page("leat-metrics", 7, reference["version"], "the metrics of leatd for Prometheus",
                section("DESCRIPTION", paragraphs(text)), section("METRICS", body),
                also="leatctl-metrics(1) leatctl-stats(1) leatd.yaml(5)")


def pages(reference):
    return {"leat-events.7": events_page(reference), "leat-metrics.7": metrics_page(reference)}
