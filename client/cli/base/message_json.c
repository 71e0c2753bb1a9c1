/* message_json.c: see message_json.h. Fields come from the descriptors of protobuf-c. */
#include "client/cli/base/message_json.h"

#include <string.h>

#include "proto/leat.pb-c.h"

static void add_bytes(struct leat_text *json, const char *key, const char *at) {
    ProtobufCBinaryData bytes;

    memcpy(&bytes, at, sizeof(bytes));
    leat_json_add_bytes(json, key, bytes.data, bytes.len);
}

static size_t size_of(const ProtobufCFieldDescriptor *field) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return sizeof(uint64_t);
    default:
        return sizeof(uint32_t);
    }
}

/* One value of the field, which lies at `at`. */
static void add_value(struct leat_text *json, const char *key,
                      const ProtobufCFieldDescriptor *field, const char *at) {
    union {
        uint64_t u64;
        int64_t i64;
        uint32_t u32;
        int32_t i32;
        float f32;
        double f64;
        protobuf_c_boolean flag;
        const char *text;
        const void *message;
    } value = {.u64 = 0};

    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        add_bytes(json, key, at);
        return;
    }
    memcpy(&value, at, size_of(field));
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        leat_cli_message_json(json, key, value.message);
        break;
    case PROTOBUF_C_TYPE_STRING:
        leat_json_add_text(json, key, value.text);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        leat_json_add_bool(json, key, value.flag);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        leat_json_add_double(json, key, value.f64);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        leat_json_add_double(json, key, (double)value.f32);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        leat_json_add_int(json, key, value.i64);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        leat_json_add_uint(json, key, value.u64);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        leat_json_add_uint(json, key, value.u32);
        break;
    default:
        leat_json_add_int(json, key, value.i32);
    }
}

static void add_field(struct leat_text *json, const char *key,
                      const ProtobufCFieldDescriptor *field, const char *message) {
    const char *items;
    size_t n_items;

    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        add_value(json, key, field, message + field->offset);
        return;
    }
    memcpy(&n_items, message + field->quantifier_offset, sizeof(n_items));
    memcpy(&items, message + field->offset, sizeof(items));
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        leat_cli_messages_json(json, key, field->descriptor, items, n_items);
        return;
    }
    leat_json_open(json, key, '[');
    for (size_t i = 0; i < n_items; i++)
        add_value(json, NULL, field, items + i * size_of(field));
    leat_json_close(json, ']');
}

static const ProtobufCMessageDescriptor *descriptor_of(const void *message) {
    const ProtobufCMessage *base = message;

    return base->descriptor;
}

static bool is_named(const ProtobufCMessageDescriptor *descriptor) {
    return descriptor == &leat__failure_count__descriptor ||
           descriptor == &leat__charge__descriptor || descriptor == &leat__room_level__descriptor;
}

/* "name": value, or "name": {the other fields}. */
static void add_named(struct leat_text *json, const void *message) {
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(message);
    const char *name;

    memcpy(&name, (const char *)message + descriptor->fields[0].offset, sizeof(name));
    if (descriptor->n_fields == 2) {
        add_value(json, name, &descriptor->fields[1],
                  (const char *)message + descriptor->fields[1].offset);
        return;
    }
    leat_json_open(json, name, '{');
    leat_cli_message_fields(json, message, descriptor->fields[0].name);
    leat_json_close(json, '}');
}

void leat_cli_message_fields(struct leat_text *json, const void *message, const char *skip) {
    const ProtobufCMessageDescriptor *descriptor = descriptor_of(message);

    for (unsigned i = 0; i < descriptor->n_fields; i++)
        if (!skip || strcmp(descriptor->fields[i].name, skip) != 0)
            add_field(json, descriptor->fields[i].name, &descriptor->fields[i], message);
}

void leat_cli_message_list_json(struct leat_text *json, const void *message) {
    add_field(json, NULL, &descriptor_of(message)->fields[0], message);
}

void leat_cli_message_json(struct leat_text *json, const char *key, const void *message) {
    if (!message) {
        leat_json_add_null(json, key);
        return;
    }
    leat_json_open(json, key, '{');
    leat_cli_message_fields(json, message, NULL);
    leat_json_close(json, '}');
}

void leat_cli_messages_json(struct leat_text *json, const char *key,
                            const ProtobufCMessageDescriptor *descriptor, const void *messages,
                            size_t n_messages) {
    const void *const *items = messages;

    leat_json_open(json, key, is_named(descriptor) ? '{' : '[');
    for (size_t i = 0; i < n_messages; i++)
        if (is_named(descriptor))
            add_named(json, items[i]);
        else
            leat_cli_message_json(json, NULL, items[i]);
    leat_json_close(json, is_named(descriptor) ? '}' : ']');
}
