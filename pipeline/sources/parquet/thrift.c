#include "pipeline/sources/parquet/thrift.h"

#define DEPTH_MAX 32 /* of what is skipped */

static size_t n_left(const struct leat_thrift *thrift) {
    return (size_t)(thrift->end - thrift->at);
}

/* It reads as empty from here on. */
static void fail(struct leat_thrift *thrift, bool is_short) {
    if (!thrift->is_bad)
        thrift->is_short = is_short;
    thrift->is_bad = true;
    thrift->at = thrift->end;
}

static uint8_t take_byte(struct leat_thrift *thrift) {
    if (thrift->at == thrift->end) {
        fail(thrift, true);
        return 0;
    }
    return *thrift->at++;
}

static uint64_t take_varint(struct leat_thrift *thrift) {
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = take_byte(thrift);

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    fail(thrift, false);
    return 0;
}

static int64_t take_zigzag(struct leat_thrift *thrift) {
    uint64_t value = take_varint(thrift);

    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static void pass(struct leat_thrift *thrift, uint64_t n_bytes) {
    if (n_bytes > n_left(thrift))
        fail(thrift, true);
    else
        thrift->at += n_bytes;
}

bool leat_thrift_next(struct leat_thrift *thrift, struct leat_thrift_field *field) {
    uint8_t head = take_byte(thrift), delta = head >> 4;
    int64_t id;

    field->type = head & 0x0f;
    if (field->type == 0 || thrift->is_bad)
        return false;
    id = delta ? field->id + delta : take_zigzag(thrift);
    if (id < INT16_MIN || id > INT16_MAX)
        fail(thrift, false);
    field->id = (int16_t)id;
    return !thrift->is_bad;
}

int64_t leat_thrift_int(struct leat_thrift *thrift, const struct leat_thrift_field *field) {
    if (field->type == LEAT_THRIFT_I8)
        return (int8_t)take_byte(thrift);
    if (field->type >= LEAT_THRIFT_I16 && field->type <= LEAT_THRIFT_I64)
        return take_zigzag(thrift);
    fail(thrift, false);
    return 0;
}

bool leat_thrift_bool(struct leat_thrift *thrift, const struct leat_thrift_field *field) {
    if (field->type != LEAT_THRIFT_TRUE && field->type != LEAT_THRIFT_FALSE)
        fail(thrift, false);
    return field->type == LEAT_THRIFT_TRUE;
}

const uint8_t *leat_thrift_binary(struct leat_thrift *thrift, const struct leat_thrift_field *field,
                                  size_t *ret_n_bytes) {
    const uint8_t *bytes;
    uint64_t n = 0;

    if (field->type == LEAT_THRIFT_BINARY)
        n = take_varint(thrift);
    else
        fail(thrift, false);
    bytes = thrift->at;
    pass(thrift, n);
    *ret_n_bytes = thrift->is_bad ? 0 : (size_t)n;
    return bytes;
}

bool leat_thrift_is_struct(struct leat_thrift *thrift, const struct leat_thrift_field *field) {
    if (field->type != LEAT_THRIFT_STRUCT)
        fail(thrift, false);
    return !thrift->is_bad;
}

/* Reads the head of a list or set. */
static uint64_t take_list(struct leat_thrift *thrift, uint8_t *ret_type) {
    uint8_t head = take_byte(thrift);
    uint64_t n = head >> 4 == 15 ? take_varint(thrift) : head >> 4;

    *ret_type = head & 0x0f;
    if (n > n_left(thrift)) /* each item has a byte at least */
        fail(thrift, true);
    return thrift->is_bad ? 0 : n;
}

uint32_t leat_thrift_structs(struct leat_thrift *thrift, const struct leat_thrift_field *field) {
    uint8_t type = LEAT_THRIFT_STRUCT;
    uint64_t n = 0;

    if (field->type == LEAT_THRIFT_LIST)
        n = take_list(thrift, &type);
    if (field->type != LEAT_THRIFT_LIST || (n > 0 && type != LEAT_THRIFT_STRUCT) || n > UINT32_MAX)
        fail(thrift, false);
    return thrift->is_bad ? 0 : (uint32_t)n;
}

/* ---- what is not wanted ---- */

static void skip(struct leat_thrift *thrift, uint8_t type, uint32_t depth);

static void skip_items(struct leat_thrift *thrift, uint32_t depth) {
    uint8_t type;
    uint64_t n = take_list(thrift, &type);

    for (uint64_t i = 0; i < n && !thrift->is_bad; i++)
        if (type == LEAT_THRIFT_TRUE || type == LEAT_THRIFT_FALSE)
            pass(thrift, 1);
        else
            skip(thrift, type, depth);
}

static void skip_map(struct leat_thrift *thrift, uint32_t depth) {
    uint64_t n = take_varint(thrift);
    uint8_t types = n > 0 ? take_byte(thrift) : 0;

    if (n > n_left(thrift))
        fail(thrift, true);
    for (uint64_t i = 0; i < 2 * n && !thrift->is_bad; i++) {
        uint8_t type = i % 2 ? types & 0x0f : types >> 4;

        if (type == LEAT_THRIFT_TRUE || type == LEAT_THRIFT_FALSE)
            pass(thrift, 1);
        else
            skip(thrift, type, depth);
    }
}

static void skip(struct leat_thrift *thrift, uint8_t type, uint32_t depth) {
    struct leat_thrift_field field = {0};

    if (depth == DEPTH_MAX) {
        fail(thrift, false);
        return;
    }
    switch (type) {
    case LEAT_THRIFT_TRUE:
    case LEAT_THRIFT_FALSE:
        break;
    case LEAT_THRIFT_I8:
        pass(thrift, 1);
        break;
    case LEAT_THRIFT_I16:
    case LEAT_THRIFT_I32:
    case LEAT_THRIFT_I64:
        (void)take_varint(thrift);
        break;
    case LEAT_THRIFT_DOUBLE:
        pass(thrift, 8);
        break;
    case LEAT_THRIFT_UUID:
        pass(thrift, 16);
        break;
    case LEAT_THRIFT_BINARY:
        pass(thrift, take_varint(thrift));
        break;
    case LEAT_THRIFT_LIST:
    case LEAT_THRIFT_SET:
        skip_items(thrift, depth + 1);
        break;
    case LEAT_THRIFT_MAP:
        skip_map(thrift, depth + 1);
        break;
    case LEAT_THRIFT_STRUCT:
        while (leat_thrift_next(thrift, &field))
            skip(thrift, field.type, depth + 1);
        break;
    default:
        fail(thrift, false);
    }
}

void leat_thrift_skip(struct leat_thrift *thrift, const struct leat_thrift_field *field) {
    skip(thrift, field->type, 0);
}
