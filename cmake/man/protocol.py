"""leat-control(7), the control protocol, from what `leatctl protocol` prints."""
import re

from scdoc import bold, definition, escape, page, paragraphs, section, sentence


def verb(item):
    return definition(f"{bold(item['name'])} (right: {item['right']}), _{escape(item['request'])}_, answered by "
                      f"_{escape(item['reply'])}_", sentence(item["what"]))


def message(item):
    fields = "\n".join(definition(f"{bold(field['name'])} = {field['number']}, "
                                  f"_{'repeated ' if field['is_repeated'] else ''}{escape(field['type'])}_",
                                  sentence(field["what"])) for field in item["fields"])
    return section(escape(item["name"]), (paragraphs(item["what"]) + "\n" if item["what"] else "")
                   + (fields or "No fields."), level=2)


def pages(markdown, reference, version):
    """The introduction is that of the Markdown: from its title to the first heading."""
    text = re.search(r"^# [^\n]*\n+(.*?)^## ", markdown, re.S | re.M).group(1)
    return {"leat-control.7": page(
        "leat-control", 7, version, "the protocol of leatd's control socket",
        section("DESCRIPTION", paragraphs(text)),
        section("VERBS", "\n".join(verb(item) for item in reference["verbs"])),
        section("MESSAGES", "\n".join(message(item) for item in reference["messages"])),
        also="leatctl(1) leatctl-protocol(1) leatd(8)")}
