"""leatctl(1), and a page for each of its commands, from what `leatctl help --json` prints."""
from scdoc import bold, definition, escape, inline, literal, page, paragraphs, section, sentence

EXITS = {
    0: "The command succeeded.",
    1: "The command failed. The last line on the standard error gives the reason. The commands `doctor` and `cache verify` "
       "end with 1 if they find a fault. The command `check` does so if the fault has no place in a file.",
    2: "The command line has an error.",
    3: "A configuration or data file has an error. The message gives the place.",
    4: "No daemon answers. Start one, or give the folder of its sockets (see `LEAT_SOCKET` and `--socket`).",
    5: "You may not connect to the daemon, or may not make this request.",
    130: "SIGINT or SIGTERM interrupted the command.",
}


def page_name(command):
    return "leatctl-" + command["name"].replace(" ", "-")


def options(command):
    entries = []
    for option in command["options"]:
        value = f" _{escape(option['value'])}_" if option["value"] else ""
        letter = f", {bold('-' + option['letter'])}{value}" if option.get("letter") else ""
        limits = ""
        if option.get("max") and option["max"] < 2**64 - 1:
            limits = f"From {option['min']} to {option['max']}."
        if option.get("choices"):
            limits = f"One of {', '.join('`' + choice + '`' for choice in option['choices'])}."
        entries.append(definition(bold("--" + option["name"]) + value + letter, sentence(option["help"]), limits))
    entries.append(definition("*--help*, *-h*", "Prints a short form of this page."))
    return "\n".join(entries)


def synopsis(command):
    words = [f"*leatctl {escape(command['name'])}*"]
    words += [f"_{escape(word)}_" for word in (command["operand"], command["more"]) if word]
    return " ".join(words + (["\\[_OPTION_...\\]"] if command["options"] else []))


def exits(reference):
    """Of all commands. A status without a text here ends the build."""
    return "\n".join(definition(f"*{item['status']}* {escape(item['text'])}", EXITS[item["status"]])
                     for item in reference["exits"])


def command_page(command, reference):
    others = ["leatctl(1)", "leatd(8)", "leatd.yaml(5)"]
    short = ", ".join(f"`{item['status']}` {item['text']}" for item in reference["exits"])
    return page(page_name(command), 1, reference["version"], command["summary"],
                section("SYNOPSIS", synopsis(command)),
                section("DESCRIPTION", paragraphs(command["description"] or sentence(command["summary"]))),
                section("OPTIONS", options(command)),
                section("EXAMPLES", literal(command["examples"])),
                section("EXIT STATUS", inline(short + ".")),
                also=" ".join(others))


def overview(reference):
    """What stands in leatctl.scd in place of @commands@ and @exits@."""
    commands = "\n".join(definition(f"{bold('leatctl ' + command['name'])}, see {bold(page_name(command))}(1)",
                                    sentence(command["summary"]))
                         for command in reference["commands"])
    return {"commands": commands, "exits": exits(reference)}


def pages(reference):
    """{file name: markup}."""
    return {f"{page_name(command)}.1": command_page(command, reference) for command in reference["commands"]}
