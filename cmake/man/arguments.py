"""Arguments of stages, options of streams and settings of the daemon, from their tables as JSON."""
import re

from scdoc import bold, definition, escape, literal, page, paragraphs, section, sentence

KINDS = {
    "source": "A source: it reads the records of a stream.",
    "map": "A per-record stage: its result depends only on the record.",
    "order": "A stage of the order: it decides which records come, and in which order.",
    "collate": "A stage of batches.",
}


def number(value):
    """15 digits are enough for whole numbers, and a limit reads best without an exponent."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:g}"


def limits(arg):
    if "choices" in arg:
        return "One of " + ", ".join(f"`{choice}`" for choice in arg["choices"]) + "."
    if "min" not in arg:
        return ""
    what = " items" if arg["type"].startswith("list") or arg["type"] == "map" else ""
    return f"From {number(arg['min'])} to {number(arg['max'])}{what}."


def default(arg):
    if arg["required"]:
        return "Required."
    if arg["default"] is None:
        return ""
    quote = "" if re.search(r"\w", arg["default"]) else "'" if arg["default"] == '"' else '"'
    return f"Default: `{quote}{arg['default']}{quote}`."


def entries(args, group="", notes=()):
    """One definition each; those of a group follow it, as group.name. notes: {name: sentence}."""
    lines = []
    for arg in args:
        name = f"{group}.{arg['name']}" if group else arg["name"]
        facts = " ".join(fact for fact in (default(arg), limits(arg), dict(notes).get(name, "")) if fact)
        lines.append(definition(f"{bold(name)} ({escape(arg['type'])})", sentence(arg["help"]), facts))
        lines += [entries(arg["arguments"], name)] if "arguments" in arg else []
    return "\n".join(lines)


def page_name(entry):
    return f"leat-{'source' if entry['kind'] == 'source' else 'stage'}-{entry['name']}"


def stage_page(entry, version):
    kind = "source" if entry["kind"] == "source" else "stages"
    form = f"{entry['name']}: {entry['example']}"
    example = f"source:\n  {form}" if kind == "source" else f"stages:\n  - {form}"
    return page(page_name(entry), 7, version, entry["summary"],
                section("DESCRIPTION", paragraphs(KINDS[entry["kind"]])),
                section("ARGUMENTS", entries(entry["arguments"]) or "None."),
                section("EXAMPLE", literal(example)),
                also="leat-stages(7) leatd.yaml(5) leatctl-stages(1) leatctl-head(1)")


def stages_text(stages, kinds):
    return "\n".join(definition(f"{bold(entry['name'])}, see {bold(page_name(entry))}(7)",
                                sentence(entry["summary"]))
                     for entry in stages if entry["kind"] in kinds)


def overview(stages, settings):
    """What stands in the written pages in place of @sources@, @stages@, .. and @settings@."""
    options = next(entry for entry in stages if entry["kind"] == "options")
    notes = {name: "A change needs a restart." for name in settings["at_start"]}
    return {
        "sources": stages_text(stages, {"source"}),
        "map_stages": stages_text(stages, {"map"}),
        "order_stages": stages_text(stages, {"order"}),
        "collate_stages": stages_text(stages, {"collate"}),
        "stream_options": entries(options["arguments"]),
        "settings": entries(settings["settings"], notes=notes),
    }


def pages(stages, version):
    return {f"{page_name(entry)}.7": stage_page(entry, version) for entry in stages if entry["kind"] != "options"}
