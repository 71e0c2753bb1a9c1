/* mutate.c: see mutate.h. */
#include "tests/fuzz/mutate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/rng.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t extremes[] = {0,         1,           2,          7,           8,
                                    63,        64,          127,        128,         255,
                                    256,       65535,       0x7fffffff, 0x80000000,  0xffffffff,
                                    INT64_MAX, 1ULL << 63U, UINT64_MAX, 0xfffffffeU, 1ULL << 32U};

static uint64_t extreme(struct leat_rng *rng) {
    return extremes[leat_rng_below(rng, N(extremes))] + leat_rng_below(rng, 2);
}

/* ---- messages ---- */

static size_t member_size(const ProtobufCFieldDescriptor *field) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

/* Whether the message has the field, as one of a union may be another. */
static bool has_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
    uint32_t which;

    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
        return true;
    memcpy(&which, (const uint8_t *)message + field->quantifier_offset, sizeof(which));
    return which == field->id;
}

static void mutate_one(ProtobufCMessage *message, struct leat_rng *rng);

static void mutate_value(const ProtobufCFieldDescriptor *field, void *value, struct leat_rng *rng) {
    uint64_t number = extreme(rng);

    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        ProtobufCMessage *inner = *(ProtobufCMessage **)value;

        if (inner)
            mutate_one(inner, rng);
    } else if (field->type == PROTOBUF_C_TYPE_STRING) {
        char *text = *(char **)value;
        size_t n = text ? strlen(text) : 0;

        if (n > 0 && leat_rng_below(rng, 2))
            text[leat_rng_below(rng, n)] = '\0';
        else if (n > 0)
            text[leat_rng_below(rng, n)] = (char)(1 + leat_rng_below(rng, 127));
    } else if (field->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData *bytes = value;

        if (bytes->len > 0)
            bytes->len = leat_rng_below(rng, bytes->len + 1);
    } else {
        memcpy(value, &number, member_size(field));
    }
}

static void mutate_list(const ProtobufCFieldDescriptor *field, uint8_t *items, size_t *n,
                        struct leat_rng *rng) {
    size_t size = member_size(field), at = leat_rng_below(rng, *n);

    /* what a pointer points to has one owner, so that these only move */
    if (leat_rng_below(rng, 3) == 0 && *n > 1) {
        uint8_t held[sizeof(ProtobufCBinaryData)];
        size_t other = leat_rng_below(rng, *n);

        memcpy(held, items + at * size, size);
        memcpy(items + at * size, items + other * size, size);
        memcpy(items + other * size, held, size);
    } else {
        mutate_value(field, items + at * size, rng);
    }
}

static void mutate_one(ProtobufCMessage *message, struct leat_rng *rng) {
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    const ProtobufCFieldDescriptor *field;
    uint8_t *member;

    if (descriptor->n_fields == 0)
        return;
    field = &descriptor->fields[leat_rng_below(rng, descriptor->n_fields)];
    member = (uint8_t *)message + field->offset;
    if (!has_field(message, field))
        return;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t *n = (size_t *)(void *)((uint8_t *)message + field->quantifier_offset);

        if (*n > 0)
            mutate_list(field, *(uint8_t **)(void *)member, n, rng);
    } else {
        mutate_value(field, member, rng);
    }
}

size_t mutate_message(const ProtobufCMessageDescriptor *descriptor, uint8_t *data, size_t size,
                      size_t max_size, unsigned seed) {
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, NULL, size, data);
    struct leat_rng rng = {seed};
    uint64_t n_changes = 1 + leat_rng_below(&rng, 8);
    uint8_t *packed;
    size_t n;

    if (!message)
        return LLVMFuzzerMutate(data, size, max_size);
    while (n_changes-- > 0)
        mutate_one(message, &rng);
    n = protobuf_c_message_get_packed_size(message);
    packed = n > 0 ? malloc(n) : NULL;
    if (packed)
        n = protobuf_c_message_pack(message, packed);
    protobuf_c_message_free_unpacked(message, NULL);
    if (n == 0 || n > max_size || !packed) {
        free(packed);
        return LLVMFuzzerMutate(data, size, max_size);
    }
    memcpy(data, packed, n);
    free(packed);
    return n;
}

/* The whole frame at `at` with its size in front, or 0. */
static size_t frame_at(const uint8_t *data, size_t size, size_t at) {
    uint32_t n;

    if (size - at < sizeof(n))
        return 0;
    memcpy(&n, data + at, sizeof(n));
    return n <= size - at - sizeof(n) ? n + sizeof(n) : 0;
}

size_t mutate_frames(const ProtobufCMessageDescriptor *descriptor, uint8_t *data, size_t size,
                     size_t max_size, unsigned seed) {
    struct leat_rng rng = {seed};
    size_t at = 0, found = size, n_found = 0, n, after;
    uint64_t n_frames = 0;
    uint32_t n_bytes;

    for (; (n = frame_at(data, size, at)) > 0; at += n)
        if (leat_rng_below(&rng, ++n_frames) == 0) {
            found = at;
            n_found = n;
        }
    if (n_found == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    after = size - found - n_found;
    switch (leat_rng_below(&rng, 4)) {
    case 0: /* gone */
        memmove(data + found, data + found + n_found, after);
        return size - n_found;
    case 1: /* doubled */
        if (size + n_found > max_size)
            return size;
        memmove(data + found + n_found, data + found, after + n_found);
        return size + n_found;
    default: {
        uint8_t *rest = malloc(after + 1);

        if (!rest)
            return size;
        memcpy(rest, data + found + n_found, after);
        n = mutate_message(descriptor, data + found + sizeof(n_bytes), n_found - sizeof(n_bytes),
                           max_size - after - found - sizeof(n_bytes), seed);
        n_bytes = (uint32_t)n;
        memcpy(data + found, &n_bytes, sizeof(n_bytes));
        memcpy(data + found + sizeof(n_bytes) + n, rest, after);
        free(rest);
        return found + sizeof(n_bytes) + n + after;
    }
    }
}

/* ---- texts ---- */

static size_t skip_quoted(const uint8_t *data, size_t size, size_t at) {
    uint8_t quote = data[at++];

    while (at < size && data[at] != quote && data[at] != '\n')
        at += data[at] == '\\' ? 2 : 1;
    return at < size ? at + 1 : size;
}

/* Behind the bracket that closes the one at `at`. */
static size_t skip_brackets(const uint8_t *data, size_t size, size_t at) {
    int depth = 0;

    while (at < size) {
        if (strchr("([{", data[at]))
            depth++;
        else if (strchr(")]}", data[at]))
            depth--;
        if (data[at] == '"' || data[at] == '\'')
            at = skip_quoted(data, size, at);
        else
            at++;
        if (depth <= 0)
            break;
    }
    return at;
}

static bool is_number(uint8_t c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-';
}

/* The end of what begins there: something in brackets or quotes, a number, a line, a word. */
static size_t end_of(const uint8_t *data, size_t size, size_t at, struct leat_rng *rng) {
    size_t end = at;

    if (data[at] && strchr("([{", data[at]))
        return skip_brackets(data, size, at);
    if (data[at] == '"' || data[at] == '\'')
        return skip_quoted(data, size, at);
    if (is_number(data[at])) {
        while (end < size && is_number(data[end]))
            end++;
        return end;
    }
    if (at == 0 || data[at - 1] == '\n' || leat_rng_below(rng, 4) == 0) {
        while (end < size && data[end] != '\n')
            end++;
        return end < size ? end + 1 : size;
    }
    while (end < size && ((data[end] | 32) >= 'a' && (data[end] | 32) <= 'z'))
        end++;
    return end > at ? end : at + 1;
}

/* Puts n bytes in place of those from `at` to `end`. */
static size_t replace(uint8_t *data, size_t size, size_t max_size, size_t at, size_t end,
                      const uint8_t *bytes, size_t n) {
    if (size - (end - at) + n > max_size)
        return size;
    memmove(data + at + n, data + end, size - end);
    memcpy(data + at, bytes, n);
    return size - (end - at) + n;
}

static size_t mutate_number(uint8_t *data, size_t size, size_t max_size, size_t at, size_t end,
                            struct leat_rng *rng) {
    static const char *const odd[] = {"-1", "0",     "1e400", "-0.0", ".5",
                                      "1.", "1e-30", "NaN",   "~",    "00"};
    char text[32];

    if (leat_rng_below(rng, 2))
        (void)snprintf(text, sizeof(text), "%s", odd[leat_rng_below(rng, N(odd))]);
    else
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)extreme(rng));
    return replace(data, size, max_size, at, end, (const uint8_t *)text, strlen(text));
}

size_t mutate_text(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    struct leat_rng rng = {seed};
    size_t at, end, other, n;
    uint8_t *copy;

    if (size == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    at = leat_rng_below(&rng, size);
    while (at > 0 && data[at - 1] && !strchr(" \n([{,:", data[at - 1]))
        at--;
    end = end_of(data, size, at, &rng);
    if (is_number(data[at]) && leat_rng_below(&rng, 4) > 0)
        return mutate_number(data, size, max_size, at, end, &rng);
    if (leat_rng_below(&rng, 3) == 0) /* gone */
        return replace(data, size, max_size, at, end, data, 0);
    n = end - at;
    copy = malloc(n);
    if (!copy)
        return size;
    memcpy(copy, data + at, n);
    if (leat_rng_below(&rng, 2)) { /* doubled */
        size = replace(data, size, max_size, end, end, copy, n);
    } else { /* in place of another */
        other = leat_rng_below(&rng, size);
        while (other > 0 && data[other - 1] && !strchr(" \n([{,:", data[other - 1]))
            other--;
        size = replace(data, size, max_size, other, end_of(data, size, other, &rng), copy, n);
    }
    free(copy);
    return size;
}

/* ---- places that stay ---- */

size_t mutate_in_place(uint8_t *data, size_t size, unsigned seed) {
    static const size_t widths[] = {1, 4, 4, 8};
    struct leat_rng rng = {seed};
    uint64_t n_changes = 1 + leat_rng_below(&rng, 4);

    while (n_changes-- > 0) {
        size_t width = widths[leat_rng_below(&rng, N(widths))], at, from;
        uint64_t number = extreme(&rng);

        if (size < width)
            break;
        at = leat_rng_below(&rng, size - width + 1) / width * width;
        from = leat_rng_below(&rng, size - width + 1) / width * width;
        if (leat_rng_below(&rng, 3) == 0)
            memmove(data + at, data + from, width);
        else if (leat_rng_below(&rng, 4) == 0)
            data[at] ^= (uint8_t)(1U << leat_rng_below(&rng, 8));
        else
            memcpy(data + at, &number, width);
    }
    return size;
}
