/* schema.h: the schema of a Parquet file (parquet.thrift, "SchemaElement"; LogicalTypes.md), as
 * that of an Arrow file with the same columns, and what each leaf has in the file.
 *
 * Lists and maps are what LogicalTypes.md says, also in the older forms ("Backward-compatibility
 * rules"). Numbers and texts are those of Arrow. Dates, times and timestamps are text, as Arrow
 * prints them (2024-01-31 12:34:56.789000; Z behind UTC); decimals are numbers, int64 if they are
 * whole and have at most 18 digits, else float64. A selection may want it the other way round:
 * dates as days since 1970-01-01, times and timestamps as microseconds, decimals as text. Bytes
 * without a meaning are read only where a selection wants text.
 *
 * Levels: a value has a definition level, which says how much of its path is there, and a
 * repetition level, which says which list it continues.
 *
 * Immutable once made. Owner: the reader.
 */
#pragma once

#include "pipeline/sources/arrow/columns.h"
#include "pipeline/sources/parquet/thrift.h"

enum leat_parquet_type {
    LEAT_PARQUET_BOOLEAN,
    LEAT_PARQUET_INT32,
    LEAT_PARQUET_INT64,
    LEAT_PARQUET_INT96,
    LEAT_PARQUET_FLOAT,
    LEAT_PARQUET_DOUBLE,
    LEAT_PARQUET_BYTES,
    LEAT_PARQUET_FIXED, /* so many bytes */
    LEAT_PARQUET_N_TYPES
};

/* The meaning of a leaf's values. */
enum leat_parquet_meaning {
    LEAT_PARQUET_UNKNOWN, /* leat does not read it */
    LEAT_PARQUET_NULL,
    LEAT_PARQUET_TRUTH,
    LEAT_PARQUET_NUMBER, /* the first bytes are the number, little-endian */
    LEAT_PARQUET_TEXT,
    LEAT_PARQUET_BINARY,
    LEAT_PARQUET_UUID,
    LEAT_PARQUET_DATE,
    LEAT_PARQUET_TIME,
    LEAT_PARQUET_TIMESTAMP,
    LEAT_PARQUET_IMPALA_TIME, /* INT96: nanoseconds of a day, and the day */
    LEAT_PARQUET_DECIMAL,
};

#define LEAT_PARQUET_DIGITS_MAX 76 /* of a decimal */
#define LEAT_PARQUET_FIXED_MAX  (1 << 20)

struct leat_parquet_leaf {
    uint32_t column; /* in a row group */
    enum leat_parquet_type type;
    uint32_t n_bytes; /* of a value; BYTES: 0 */
    enum leat_parquet_meaning meaning;
    uint32_t digits; /* of the fraction, of a time or decimal */
    bool is_utc;
    uint8_t max_definition, max_repetition;
};

/* Beside each field of the Arrow schema. */
struct leat_parquet_field {
    uint8_t definition; /* from which it is not null */
    uint8_t exists;     /* from which there is a place for it: an item of the list around it */
    uint8_t items;      /* of a list: from which it has an item */
    uint8_t repetition; /* of the lists around it */
    struct leat_parquet_leaf leaf; /* if it has no children */
};

struct leat_parquet_schema {
    struct leat_arrow_schema arrow;
    struct leat_parquet_field *fields; /* [arrow.n_fields] */
    size_t capacity;
    uint32_t n_leaves; /* columns of a row group */
};

/* Reads a list of SchemaElement. -EBADMSG: it is damaged; -EINVAL: it is too large or too deep. */
int leat_parquet_schema_parse(struct leat_thrift *thrift, const struct leat_thrift_field *list,
                              struct leat_parquet_schema *ret_schema, struct leat_error *err);
/* Makes numbers or texts of the columns that selections want so. */
void leat_parquet_schema_adapt(struct leat_parquet_schema *schema,
                               const struct leat_arrow_selection *selections, size_t n_selections);
void leat_parquet_schema_deinit(struct leat_parquet_schema *schema);
