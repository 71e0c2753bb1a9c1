/* schema.h: the schema of an Arrow file, from its Schema message (Arrow columnar format, "IPC
 * Serialization and Interprocess Communication"; Schema.fbs).
 *
 * Fields stand in depth-first order, as their buffers do in a record batch; the children of a field
 * follow it. Of what leat does not read, it is known how many buffers it has, so
 * that other columns are found behind it.
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
/* What holds all its values, or nearly: there is no unsigned dtype of 64 bits. */
enum leat_dtype leat_arrow_number_dtype(enum leat_arrow_number number);

struct leat_arrow_field {
    const char *name;
    const char *type; /* for people: "timestamp" */
    enum leat_arrow_kind kind;
    enum leat_arrow_number number; /* NUMBER */
    uint8_t offset_bytes;          /* TEXT, LIST: 4 or 8 */
    uint64_t n_items;              /* FIXED_LIST: of every row */
    uint8_t n_buffers;             /* of the field itself */
    bool has_views;                /* and as many more as the batch says */
    uint32_t n_children, n_fields; /* those below, itself with all of them */
    bool has_dictionary;           /* a batch has indices of it in place of all this */
    int64_t dictionary;
    enum leat_arrow_number index; /* their type */
};

struct leat_arrow_schema {
    struct leat_arrow_field *fields;
    uint32_t n_fields;
    char *names; /* all, one behind the other */
    size_t n_name_bytes;
};

/* `message` is a Schema table; version: of the metadata, V5 is 4. 0, -ENOMEM, -EBADMSG: it is no
 * schema, -EINVAL: one that leat does not read. */
int leat_arrow_schema_parse(const struct leat_flat_table *message, int version,
                            struct leat_arrow_schema *ret_schema, struct leat_error *err);
void leat_arrow_schema_deinit(struct leat_arrow_schema *schema);
