/* message.c: see message.h. The wire format: https://protobuf.dev/programming-guides/encoding/ */
#include "proto/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_64_BITS = 1,
    WIRE_BYTES = 2,
    WIRE_32_BITS = 5,
};

struct walk {
    size_t n_messages, n_fields;
    struct leat_error *err;
};

struct bytes {
    const uint8_t *data;
    size_t n;
};

static int take_varint(struct bytes *bytes, uint64_t *ret_value) {
    uint64_t value = 0;

    for (unsigned i = 0; i < 10 && i < bytes->n; i++) {
        value |= (uint64_t)(bytes->data[i] & 0x7f) << (7 * i);
        if (!(bytes->data[i] & 0x80)) {
            bytes->data += i + 1;
            bytes->n -= i + 1;
            *ret_value = value;
            return 0;
        }
    }
    return -EPROTO;
}

static int take_bytes(struct bytes *bytes, uint64_t n, struct bytes *ret_taken) {
    if (n > bytes->n)
        return -EPROTO;
    *ret_taken = (struct bytes){.data = bytes->data, .n = (size_t)n};
    bytes->data += n;
    bytes->n -= (size_t)n;
    return 0;
}

/* Takes the value of one field; *ret_inner is what a WIRE_BYTES field holds. */
static int take_value(struct bytes *bytes, enum wire_type type, struct bytes *ret_inner) {
    uint64_t number;

    switch (type) {
    case WIRE_VARINT:
        return take_varint(bytes, &number);
    case WIRE_64_BITS:
        return take_bytes(bytes, 8, ret_inner);
    case WIRE_32_BITS:
        return take_bytes(bytes, 4, ret_inner);
    case WIRE_BYTES:
        if (take_varint(bytes, &number) < 0)
            return -EPROTO;
        return take_bytes(bytes, number, ret_inner);
    default:
        return -EPROTO;
    }
}

/* The bits of a field, and of those that exclude it (oneof). No message has more than 64 fields. */
static uint64_t bits_of(const ProtobufCMessageDescriptor *descriptor,
                        const ProtobufCFieldDescriptor *field) {
    uint64_t bits = UINT64_C(1) << ((field - descriptor->fields) % 64);

    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return bits;
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *other = &descriptor->fields[i];

        if ((other->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
            other->quantifier_offset == field->quantifier_offset)
            bits |= UINT64_C(1) << (i % 64);
    }
    return bits;
}

/* protobuf-c merges the occurrences of a message, which takes the square of their number. */
static int check_once(struct walk *walk, const ProtobufCMessageDescriptor *descriptor,
                      const ProtobufCFieldDescriptor *field, uint64_t *seen) {
    uint64_t bits;

    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return 0;
    bits = bits_of(descriptor, field);
    if (*seen & bits)
        return leat_error_set(walk->err, -EPROTO,
                              "%s.%s occurs twice, or with a field that excludes it",
                              descriptor->short_name, field->name);
    *seen |= bits;
    return 0;
}

static int check_message(struct walk *walk, const ProtobufCMessageDescriptor *descriptor,
                         struct bytes bytes, int depth);

static int check_field(struct walk *walk, const ProtobufCMessageDescriptor *descriptor,
                       struct bytes *bytes, uint64_t *seen, int depth) {
    const ProtobufCFieldDescriptor *field;
    struct bytes inner = {.data = NULL};
    uint64_t tag;
    int r;

    if (++walk->n_fields > LEAT_MESSAGE_MAX_FIELDS)
        return leat_error_set(walk->err, -EPROTO, "a message has more than %d fields",
                              LEAT_MESSAGE_MAX_FIELDS);
    if (take_varint(bytes, &tag) < 0 || tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3 ||
        take_value(bytes, (enum wire_type)(tag & 7), &inner) < 0)
        return leat_error_set(walk->err, -EPROTO, "a message is truncated or not protobuf");
    field = protobuf_c_message_descriptor_get_field(descriptor, (unsigned)(tag >> 3));
    if (!field)
        return 0;
    r = check_once(walk, descriptor, field, seen);
    if (r < 0 || field->type != PROTOBUF_C_TYPE_MESSAGE || (tag & 7) != WIRE_BYTES)
        return r;
    return check_message(walk, field->descriptor, inner, depth + 1);
}

static int check_message(struct walk *walk, const ProtobufCMessageDescriptor *descriptor,
                         struct bytes bytes, int depth) {
    uint64_t seen = 0;

    if (depth > LEAT_MESSAGE_MAX_DEPTH || ++walk->n_messages > LEAT_MESSAGE_MAX_COUNT)
        return leat_error_set(
            walk->err, -EPROTO,
            "a message is nested deeper than %d, or contains more than %d other messages",
            LEAT_MESSAGE_MAX_DEPTH, LEAT_MESSAGE_MAX_COUNT);
    while (bytes.n > 0) {
        int r = check_field(walk, descriptor, &bytes, &seen, depth);

        if (r < 0)
            return r;
    }
    return 0;
}

int leat_message_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                       size_t n_bytes, struct leat_error *err) {
    struct walk walk = {.err = err};

    return check_message(&walk, descriptor, (struct bytes){.data = data, .n = n_bytes}, 1);
}

static void *alloc_noted(void *is_short, size_t n_bytes) {
    void *memory = malloc(n_bytes);

    if (!memory)
        *(bool *)is_short = true;
    return memory;
}

static void free_noted(void *is_short, void *memory) {
    (void)is_short;
    free(memory);
}

void *leat_message_unpack(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                          size_t n_bytes, const char *what, struct leat_error *err) {
    bool is_short = false;
    ProtobufCAllocator allocator = {alloc_noted, free_noted, &is_short};
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator, n_bytes, data);

    if (!message && is_short)
        leat_error_oom(err);
    else if (!message)
        leat_error_set(err, -EPROTO, "%s", what);
    return message;
}

/* ---- errors ---- */

void leat_error_to_message(const struct leat_error *err, Leat__Error *ret_message) {
    leat__error__init(ret_message);
    ret_message->code = err->code;
    ret_message->file = (char *)(uintptr_t)err->file;
    ret_message->line = err->line;
    ret_message->column = err->column;
    ret_message->path = (char *)(uintptr_t)err->path;
    ret_message->message = (char *)(uintptr_t)err->message;
}

void leat_error_from_message(struct leat_error *err, const Leat__Error *message) {
    int code = message->code < 0 && message->code > -4096 ? message->code : -EPROTO;

    leat_error_set(err, code, "%s",
                   message->message[0] ? message->message : "the other end gave no reason");
    leat_error_locate(err, message->file, message->line, message->column);
    if (message->path[0])
        leat_error_prefix(err, "%s", message->path);
}
