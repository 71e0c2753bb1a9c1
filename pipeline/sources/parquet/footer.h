/* footer.h: the footer of a Parquet file (parquet.thrift, "FileMetaData"): the schema, which rows
 * are in which row group, and where the columns of a row group are.
 *
 * The footer stays in memory as it is; of its row groups only the number of rows is known until one
 * is entered. Owner: the reader.
 */
#pragma once

#include "pipeline/io/input.h"
#include "pipeline/sources/parquet/schema.h"

#define LEAT_PARQUET_ROWS_MAX INT32_MAX /* of a file: places have 32 bits for it */

enum leat_parquet_codec {
    LEAT_PARQUET_PLAIN,
    LEAT_PARQUET_SNAPPY,
    LEAT_PARQUET_GZIP,
    LEAT_PARQUET_LZO,
    LEAT_PARQUET_BROTLI,
    LEAT_PARQUET_LZ4_HADOOP,
    LEAT_PARQUET_ZSTD,
    LEAT_PARQUET_LZ4,
    LEAT_PARQUET_N_CODECS
};

struct leat_parquet_group {
    uint32_t first_row, n_rows;
    size_t at; /* of its RowGroup, in the footer */
};

/* A column of a row group. */
struct leat_parquet_chunk {
    uint64_t at, end; /* in the file */
    uint64_t n_values;
    enum leat_parquet_codec codec;
    enum leat_parquet_type type;
    bool is_there; /* its place is in the file, and its codec is known */
    bool is_encrypted, is_elsewhere;
};

struct leat_parquet_footer {
    uint8_t *bytes;
    size_t n_bytes;
    struct leat_parquet_schema schema;
    struct leat_parquet_group *groups;
    uint32_t n_groups;
    size_t capacity;
    uint64_t n_rows;
    uint64_t file_bytes;
};

/* Reads the footer of a plain file. -EBADMSG: it is damaged, or is no Parquet file; -EINVAL: leat
 * does not read it. */
int leat_parquet_footer_read(struct leat_parquet_footer *footer, struct leat_input *file,
                             uint64_t max_bytes, struct leat_error *err);
void leat_parquet_footer_deinit(struct leat_parquet_footer *footer);

/* Returns the row group of a row that the file has. */
uint32_t leat_parquet_footer_find(const struct leat_parquet_footer *footer, uint64_t row);
/* Reads where the columns of the row group are: chunks[schema.n_leaves]. */
int leat_parquet_footer_chunks(const struct leat_parquet_footer *footer, uint32_t group,
                               struct leat_parquet_chunk *chunks, struct leat_error *err);
