"""leat-control(7), the control protocol: messages, fields and what they mean from proto/leat.proto, rights of verbs from
proto/control_verbs.def, limits from the headers beside them.

In leat.proto a comment in lines of its own belongs to what follows; one behind a field to that, with the lines of
nothing but a comment below it that begin further right.
"""
import re

from scdoc import bold, definition, escape, page, paragraphs, section, sentence

INTRODUCTION = """\
This page describes the protocol of the socket control.sock. The file proto/leat.proto defines its messages, in version 3 of
protobuf.

A client connects to control.sock (SOCK_STREAM) and sends requests as frames. A frame begins with its length (u32, little endian,
1..{frame}). A ControlRequest of version 1 follows. The daemon answers each request with one frame, a ControlReply, in the
order of the requests. Only `subscribe` gets further replies, until the connection ends. If a request fails, its reply contains
only `error`.

Both sides ignore fields that they do not know. Later versions may add fields, but never use a field number again. The daemon
answers a verb that it does not know with the error -EOPNOTSUPP. It answers with -EPROTO if a field occurs
twice, unless the field is marked `repeated`. It also answers so if a request has more than {messages} messages or {fields} fields.

Every user may connect. The kernel tells the daemon which user it is (SO_PEERCRED, SO_PEERGROUPS). Members of `control_groups` may
use the verbs with the right `read`. Members of `admin_groups` may also use those with the right `operate`. The daemon's own user
and root may use all verbs. Other callers get the error -EACCES, which names the group that they need.

The requests of one user get at most a hundredth of the daemon's time, however many connections the user has. Further requests
wait. The work that `operate` verbs cause does not count. A user may have at most 80 connections. The daemon disconnects a client
that does not read its replies.
"""
FIELD = re.compile(r"(repeated )?(\w+) (\w+) = (\d+);")


class Message:
    """A message of leat.proto; fields are (is repeated, type, name, number, comment), verbs those of a oneof."""

    def __init__(self, name, comment):
        self.name, self.comment = name, comment
        self.fields, self.verbs = [], []

    def comment_of(self, name):
        return next((field[4] for field in self.fields if field[2] == name), "")


def parse(text):
    """{name: Message}"""
    messages, message, above, column, is_verb = {}, None, [], 0, False
    for line in text.split("\n"):
        code, _, comment = (part.rstrip() for part in line.partition("//"))
        behind = comment.strip()
        indent = len(line) - len(line.lstrip())
        if not code.strip():
            if comment and above is None and message and message.fields and indent > column:
                message.fields[-1][4] += " " + behind
            else:
                above = (above or []) + [behind] if comment else []
            continue
        begun = re.match(r"\s*message (\w+) \{", code)
        if begun:
            message = messages[begun.group(1)] = Message(begun.group(1), " ".join(above or []))
        is_verb = (is_verb or "oneof verb" in code) and code.strip() != "}"
        for repeated, kind, name, number in FIELD.findall(code):
            whole = " ".join((above or []) if not begun else []) + (" " + behind if behind else "")
            message.fields.append([bool(repeated), kind, name, int(number), whole.strip()])
            if is_verb:
                message.verbs.append(name)
        column, above = indent, None if FIELD.search(code) else []
    return messages


def reached(messages, name, found):
    """Adds the message of that name and those of its fields, each once."""
    if name in messages and name not in found:
        found.append(name)
        for field in messages[name].fields:
            reached(messages, field[1], found)
    return found


def verb(messages, rights, name):
    """The reply to a verb has the same name, or is `done`."""
    request, reply = messages["ControlRequest"], messages["ControlReply"]
    told = "update" if name == "subscribe" else name
    kinds = {field[2]: field[1] for field in reply.fields}
    what = request.comment_of(name)
    if name not in rights or len(what) < 10:
        raise SystemExit(f"leat.proto: the verb {name} has no right in control_verbs.def, or no comment")
    kind = next(field[1] for field in request.fields if field[2] == name)
    return definition(f"{bold(name)} (right: {rights[name].lower()}), _{escape(kind)}_, answered by "
                      f"_{escape(kinds.get(told, 'Empty'))}_", sentence(what))


def entry(message):
    fields = "\n".join(definition(f"{bold(name)} = {number}, _{'repeated ' if repeated else ''}{escape(kind)}_",
                                  sentence(what)) for repeated, kind, name, number, what in message.fields)
    return section(escape(message.name), (paragraphs(message.comment) + "\n" if message.comment else "")
                   + (fields or "No fields."), level=2)


def limit(proto, header, name):
    """The value of a #define, as C has it: 16384, or (UINT32_C(1) << 20)."""
    value = re.search(rf"#define {name}\s+(?:\(UINT32_C\((\d+)\) << (\d+)\)|(\d+))",
                      (proto / header).read_text(encoding="utf-8"))
    return int(value.group(3)) if value.group(3) else int(value.group(1)) << int(value.group(2))


def pages(root, version):
    proto = root / "proto"
    messages = parse((proto / "leat.proto").read_text(encoding="utf-8"))
    rights = dict(re.findall(r"LEAT_CONTROL_VERB\(\w+, (\w+), (\w+)\)",
                             (proto / "control_verbs.def").read_text(encoding="utf-8")))
    names = messages["ControlRequest"].verbs
    if set(names) != set(rights):
        raise SystemExit(f"control_verbs.def and leat.proto differ: {sorted(set(names) ^ set(rights))}")
    introduction = INTRODUCTION.format(frame=limit(proto, "frame.h", "LEAT_CONTROL_FRAME_MAX"),
                                       messages=limit(proto, "message.h", "LEAT_MESSAGE_MAX_COUNT"),
                                       fields=limit(proto, "message.h", "LEAT_MESSAGE_MAX_FIELDS"))
    found = reached(messages, "ControlReply", reached(messages, "ControlRequest", []))
    return {"leat-control.7": page(
        "leat-control", 7, version, "the protocol of leatd's control socket",
        section("DESCRIPTION", paragraphs(introduction)),
        section("VERBS", "\n".join(verb(messages, rights, name) for name in names)),
        section("MESSAGES", "\n".join(entry(messages[name]) for name in found)),
        also="leatctl(1) leatd(8)")}
