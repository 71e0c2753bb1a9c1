/* schema.h: the schema of an Arrow file, from its Schema message (Arrow columnar format, "IPC
 * Serialization and Interprocess Communication"; Schema.fbs).
 *
 * Fields are in depth-first order, as their buffers are in a record batch; the children of a field
 * follow it. The number of buffers is known for types that leat does not read, too, so the columns
 * behind them are found.
 *
 * Immutable once parsed. Owner: the reader.
 */
#pragma once

#include "pipeline/sources/arrow/flatbuffer.h"
#include "proto/base/dtype.h"
#include "proto/base/error.h"

#define LEAT_ARROW_FIELDS_MAX 65536
#define LEAT_ARROW_DEPTH_MAX  32

enum leat_arrow_kind {
    LEAT_ARROW_OTHER, /* not read */
    LEAT_ARROW_NULL,
    LEAT_ARROW_BOOL,
    LEAT_ARROW_NUMBER,
    LEAT_ARROW_TEXT,
    LEAT_ARROW_LIST, /* also a map: a list of its entries */
    LEAT_ARROW_FIXED_LIST,
    LEAT_ARROW_STRUCT,
};

enum leat_arrow_number {
    LEAT_ARROW_INT8,
    LEAT_ARROW_UINT8,
    LEAT_ARROW_INT16,
    LEAT_ARROW_UINT16,
    LEAT_ARROW_INT32,
    LEAT_ARROW_UINT32,
    LEAT_ARROW_INT64,
    LEAT_ARROW_UINT64,
    LEAT_ARROW_FLOAT16,
    LEAT_ARROW_FLOAT32,
    LEAT_ARROW_FLOAT64,
    LEAT_ARROW_TRUTH, /* a boolean as one byte: never in a file */
    LEAT_ARROW_N_NUMBERS
};

/* In bytes. */
static inline size_t leat_arrow_number_size(enum leat_arrow_number number) {
    static const uint8_t sizes[LEAT_ARROW_N_NUMBERS] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 1};

    return sizes[number];
}
const char *leat_arrow_number_name(enum leat_arrow_number number);
/* The dtype that holds its values; int64 stands for uint64. */
enum leat_dtype leat_arrow_number_dtype(enum leat_arrow_number number);

struct leat_arrow_field {
    const char *name, *key; /* key: the name as a JSON string, and a colon */
    size_t n_key;
    const char *type; /* for people: "timestamp" */
    enum leat_arrow_kind kind;
    enum leat_arrow_number number; /* NUMBER */
    uint8_t offset_bytes;          /* TEXT, LIST: 4 or 8 */
    uint64_t n_items;              /* FIXED_LIST: of every row */
    uint8_t n_buffers;             /* of the field itself */
    bool has_views;                /* and as many more as the batch says */
    uint32_t n_children, n_fields; /* n_fields: itself and all below */
    bool has_dictionary;           /* a batch has indices in place of values */
    int64_t dictionary;
    enum leat_arrow_number index; /* their type */
};

struct leat_arrow_schema {
    struct leat_arrow_field *fields;
    uint32_t n_fields;
    size_t capacity;
    char *keys;  /* of all fields */
    char *names; /* of all fields */
    size_t n_name_bytes;
};

/* message: a Schema table; version: of the metadata (V5 is 4). -EBADMSG: it is no schema; -EINVAL:
 * leat does not read it. */
int leat_arrow_schema_parse(const struct leat_flat_table *message, int version,
                            struct leat_arrow_schema *ret_schema, struct leat_error *err);
/* Makes the keys of the fields from their names. */
int leat_arrow_schema_set_keys(struct leat_arrow_schema *schema, struct leat_error *err);
void leat_arrow_schema_deinit(struct leat_arrow_schema *schema);
