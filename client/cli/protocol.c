/* protocol.c: see protocol.h, and `leatctl protocol`. */
#include "client/cli/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/commands.h"
#include "client/cli/members.h"
#include "client/cli/schema.h"
#include "proto/frame.h"
#include "proto/leat.pb-c.h"
#include "proto/message.h"

#define MESSAGES_MAX 128

/* Those that the two sides may say, each once, in the order in which they are met. */
struct messages {
    const ProtobufCMessageDescriptor *items[MESSAGES_MAX];
    size_t n_items;
};

static void collect(struct messages *messages, const ProtobufCMessageDescriptor *message) {
    for (size_t i = 0; i < messages->n_items; i++)
        if (messages->items[i] == message)
            return;
    if (messages->n_items == MESSAGES_MAX)
        return;
    messages->items[messages->n_items++] = message;
    for (unsigned i = 0; i < message->n_fields; i++)
        if (message->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
            collect(messages, message->fields[i].descriptor);
}

static void collect_all(struct messages *messages) {
    *messages = (struct messages){.n_items = 0};
    collect(messages, &leat__control_request__descriptor);
    collect(messages, &leat__control_reply__descriptor);
}

/* ---- words ---- */

static const char *type_name(const ProtobufCFieldDescriptor *field) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
        return "int32";
    case PROTOBUF_C_TYPE_INT64:
        return "int64";
    case PROTOBUF_C_TYPE_UINT32:
        return "uint32";
    case PROTOBUF_C_TYPE_UINT64:
        return "uint64";
    case PROTOBUF_C_TYPE_DOUBLE:
        return "double";
    case PROTOBUF_C_TYPE_BOOL:
        return "bool";
    case PROTOBUF_C_TYPE_STRING:
        return "string";
    case PROTOBUF_C_TYPE_BYTES:
        return "bytes";
    case PROTOBUF_C_TYPE_MESSAGE:
        return ((const ProtobufCMessageDescriptor *)field->descriptor)->short_name;
    default:
        return "?";
    }
}

static bool is_repeated(const ProtobufCFieldDescriptor *field) {
    return field->label == PROTOBUF_C_LABEL_REPEATED;
}

/* One of several, of which a request has one: a verb. */
static bool is_verb(const ProtobufCFieldDescriptor *field) {
    return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
}

static const char *right_of(const char *verb) {
    static const struct {
        const char *name, *right;
    } verbs[] = {
#define LEAT_CONTROL_VERB(upper, name, right) {#name, #right},
#include "proto/control_verbs.def"
#undef LEAT_CONTROL_VERB
    };

    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i].name, verb) == 0)
            return strcmp(verbs[i].right, "READ") == 0 ? "read" : "operate";
    return "none";
}

/* What answers a verb: what the reply calls the same, or nothing but that it is done. */
static const char *reply_of(const char *verb) {
    const ProtobufCFieldDescriptor *field;

    if (strcmp(verb, "subscribe") == 0)
        verb = "update";
    field = protobuf_c_message_descriptor_get_field_by_name(&leat__control_reply__descriptor, verb);
    return field ? type_name(field) : "Empty";
}

/* ---- Markdown ---- */

static const char introduction[] =
    "# The control protocol of leatd\n\n"
    "Of leat " LEAT_VERSION ", from its tables (`leatctl protocol`). The messages are those of "
    "`proto/leat.proto`, in\nprotobuf's third syntax.\n\n"
    "A client connects to `control.sock` (SOCK_STREAM) and sends frames: the number of bytes (u32, "
    "little endian,\n1..%u), then a ControlRequest of version 1. Each is answered by one frame "
    "with a ControlReply, in order; those\nto `subscribe` go on. A reply with an `error` has "
    "nothing else. Fields that a side does not know it passes over,\nand numbers are never given "
    "to another field: what is added later breaks nobody. A verb that a daemon does not\nknow is "
    "answered with -EOPNOTSUPP. A request is refused with -EPROTO if a field that is not repeated\n"
    "occurs twice, or if it has more than %d messages or %d fields.\n\n"
    "Everybody may connect. Who it is the kernel tells (SO_PEERCRED, SO_PEERGROUPS): verbs of the "
    "right `read` are for\nmembers of `control_groups`, those of the right `operate` for members "
    "of `admin_groups`; the daemon's own user and\nroot may do all. Who may not is answered with "
    "-EACCES, and told which group it would take.\n\n"
    "All connections of a user together get at most a hundredth of the loop's time: accepting and "
    "receiving, refusing\nand answering count, the work of verbs of the right `operate` does not. "
    "What is more waits. A user has at most 80\nconnections. A client that does not read its "
    "replies is dropped.\n\n";

static void add_verbs(struct leat_text *text) {
    const ProtobufCMessageDescriptor *request = &leat__control_request__descriptor;

    leat_text_add(text, "## Verbs\n\n| verb | right | request | reply | what |\n"
                        "| --- | --- | --- | --- | --- |\n");
    for (unsigned i = 0; i < request->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &request->fields[i];

        if (!is_verb(field))
            continue;
        leat_text_add(text, "| `%s` | %s | %s | %s | ", field->name, right_of(field->name),
                      type_name(field), reply_of(field->name));
        leat_cli_schema_comment(text, request->short_name, field->name);
        leat_text_add(text, " |\n");
    }
}

static void add_message(struct leat_text *text, const ProtobufCMessageDescriptor *message) {
    leat_text_add(text, "\n### %s\n\n", message->short_name);
    leat_cli_schema_comment(text, message->short_name, NULL);
    leat_text_add(text, "\n\n| field | number | type | what |\n| --- | --- | --- | --- |\n");
    for (unsigned i = 0; i < message->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->fields[i];

        leat_text_add(text, "| `%s` | %u | %s%s | ", field->name, field->id,
                      is_repeated(field) ? "repeated " : "", type_name(field));
        leat_cli_schema_comment(text, message->short_name, field->name);
        leat_text_add(text, " |\n");
    }
}

void leat_cli_protocol_markdown(struct leat_text *text) {
    struct messages messages;

    collect_all(&messages);
    leat_text_add(text, introduction, LEAT_CONTROL_FRAME_MAX, LEAT_MESSAGE_MAX_COUNT,
                  LEAT_MESSAGE_MAX_FIELDS);
    add_verbs(text);
    leat_text_add(text, "\n## Messages\n");
    for (size_t i = 0; i < messages.n_items; i++)
        add_message(text, messages.items[i]);
}

/* ---- JSON ---- */

static void add_comment_json(struct leat_text *text, const char *message, const char *field) {
    struct leat_text comment = {.data = NULL};

    leat_cli_schema_comment(&comment, message, field);
    leat_text_add(text, ", \"what\": ");
    leat_text_add_json(text, comment.data ? comment.data : "", comment.n_bytes);
    free(comment.data);
}

static void add_verbs_json(struct leat_text *text) {
    const ProtobufCMessageDescriptor *request = &leat__control_request__descriptor;
    bool is_first = true;

    leat_text_add(text, "{\"verbs\": [");
    for (unsigned i = 0; i < request->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &request->fields[i];

        if (!is_verb(field))
            continue;
        leat_text_add(
            text, "%s{\"name\": \"%s\", \"right\": \"%s\", \"request\": \"%s\", \"reply\": \"%s\"",
            is_first ? "" : ",\n ", field->name, right_of(field->name), type_name(field),
            reply_of(field->name));
        add_comment_json(text, request->short_name, field->name);
        leat_text_add(text, "}");
        is_first = false;
    }
}

static void add_message_json(struct leat_text *text, const ProtobufCMessageDescriptor *message) {
    leat_text_add(text, "{\"name\": \"%s\"", message->short_name);
    add_comment_json(text, message->short_name, NULL);
    leat_text_add(text, ", \"fields\": [");
    for (unsigned i = 0; i < message->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->fields[i];

        leat_text_add(text,
                      "%s{\"name\": \"%s\", \"number\": %u, \"type\": \"%s\", \"is_repeated\": %s",
                      i ? ", " : "", field->name, field->id, type_name(field),
                      is_repeated(field) ? "true" : "false");
        add_comment_json(text, message->short_name, field->name);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]}");
}

void leat_cli_protocol_json(struct leat_text *text) {
    struct messages messages;

    collect_all(&messages);
    add_verbs_json(text);
    leat_text_add(text, "],\n\"messages\": [");
    for (size_t i = 0; i < messages.n_items; i++) {
        leat_text_add(text, i ? ",\n " : "");
        add_message_json(text, messages.items[i]);
    }
    leat_text_add(text, "]}\n");
}

int leat_cli_protocol(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_text text = {.data = NULL};

    (void)err;
    if (arguments->json)
        leat_cli_protocol_json(&text);
    else
        leat_cli_protocol_markdown(&text);
    leat_cli_print(&text);
    return LEAT_CLI_OK;
}
