/* thrift.h: structs of foreign bytes in Thrift's compact protocol, each read checked ("Thrift
 * Compact protocol encoding").
 *
 * A value that does not fit in the bytes, or has another type, reads as 0 and marks the reader as
 * bad, so a caller checks once, at the end. Pure; any thread. The bytes belong to the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum leat_thrift_type {
    LEAT_THRIFT_TRUE = 1,
    LEAT_THRIFT_FALSE = 2,
    LEAT_THRIFT_I8 = 3,
    LEAT_THRIFT_I16 = 4,
    LEAT_THRIFT_I32 = 5,
    LEAT_THRIFT_I64 = 6,
    LEAT_THRIFT_DOUBLE = 7,
    LEAT_THRIFT_BINARY = 8,
    LEAT_THRIFT_LIST = 9,
    LEAT_THRIFT_SET = 10,
    LEAT_THRIFT_MAP = 11,
    LEAT_THRIFT_STRUCT = 12,
    LEAT_THRIFT_UUID = 13,
};

struct leat_thrift {
    const uint8_t *at, *end;
    bool is_bad;
    bool is_short; /* bad since the bytes end: with more of them it may be good */
};

/* A field of a struct. It begins as {0}. */
struct leat_thrift_field {
    int16_t id;
    uint8_t type; /* enum leat_thrift_type */
};

/* Goes to the next field of the struct; its value must be read or skipped. False: there are no
 * more, or the reader is bad. */
bool leat_thrift_next(struct leat_thrift *thrift, struct leat_thrift_field *field);

int64_t leat_thrift_int(struct leat_thrift *thrift, const struct leat_thrift_field *field);
bool leat_thrift_bool(struct leat_thrift *thrift, const struct leat_thrift_field *field);
/* Returns its bytes, which stay where they are. */
const uint8_t *leat_thrift_binary(struct leat_thrift *thrift, const struct leat_thrift_field *field,
                                  size_t *ret_n_bytes);
/* True if the field is a struct, whose fields can be read then. */
bool leat_thrift_is_struct(struct leat_thrift *thrift, const struct leat_thrift_field *field);
/* Returns the number of items of a list of structs, which follow; at most as many as bytes. */
uint32_t leat_thrift_structs(struct leat_thrift *thrift, const struct leat_thrift_field *field);

void leat_thrift_skip(struct leat_thrift *thrift, const struct leat_thrift_field *field);
