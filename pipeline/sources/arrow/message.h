/* message.h: the metadata of an encapsulated message ("Encapsulated message format"; Message.fbs),
 * and the footer of a file ("IPC File Format"; File.fbs).
 *
 * The results refer to the parsed bytes. Pure; any thread.
 */
#pragma once

#include "pipeline/sources/arrow/flatbuffer.h"
#include "proto/base/error.h"

/* In front of the metadata are a marker, unless Arrow was older than 0.15, and its length; length 0
 * ends the stream. */
#define LEAT_ARROW_CONTINUATION UINT32_C(0xffffffff)
#define LEAT_ARROW_METADATA_MAX (UINT32_C(64) << 20)
#define LEAT_ARROW_ROWS_MAX     INT32_MAX /* of a file */
#define LEAT_ARROW_MAGIC        "ARROW1"
#define LEAT_ARROW_MAGIC_BYTES  6

enum leat_arrow_header {
    LEAT_ARROW_SCHEMA = 1,
    LEAT_ARROW_DICTIONARY_BATCH = 2,
    LEAT_ARROW_RECORD_BATCH = 3,
};

enum leat_arrow_codec { LEAT_ARROW_RAW, LEAT_ARROW_LZ4, LEAT_ARROW_ZSTD };

/* A record batch, or the values of a dictionary. */
struct leat_arrow_batch {
    uint64_t n_rows;
    enum leat_arrow_codec codec;
    struct leat_flat_vector nodes, buffers, view_counts;
};

struct leat_arrow_message {
    struct leat_flatbuffer metadata; /* what the rest refers to: it must not be moved */
    int version;
    uint64_t header; /* enum leat_arrow_header; others are skipped */
    uint64_t body_bytes;
    struct leat_flat_table schema;
    struct leat_arrow_batch batch;
    int64_t dictionary; /* DICTIONARY_BATCH */
    bool is_delta;
};

/* 0, -EBADMSG or -EINVAL. */
int leat_arrow_message_parse(const void *metadata, size_t n_bytes,
                             struct leat_arrow_message *ret_message, struct leat_error *err);

/* False: there is no such node, or its length is impossible. */
bool leat_arrow_batch_node(const struct leat_arrow_batch *batch, uint32_t index,
                           uint64_t *ret_n_rows, uint64_t *ret_n_nulls);
/* False: there is no such buffer within the body. */
bool leat_arrow_batch_buffer(const struct leat_arrow_batch *batch, uint32_t index,
                             uint64_t body_bytes, uint64_t *ret_offset, uint64_t *ret_n_bytes);
/* The number of additional buffers of the index-th field with views. */
bool leat_arrow_batch_views(const struct leat_arrow_batch *batch, uint32_t index,
                            uint32_t *ret_n_buffers);

/* The footer of a file. */
struct leat_arrow_footer {
    struct leat_flatbuffer bytes;
    struct leat_flat_vector dictionaries, batches; /* of blocks */
};
struct leat_arrow_block {
    uint64_t offset, n_metadata, n_body; /* n_metadata: with marker and length */
};

int leat_arrow_footer_parse(const void *footer, size_t n_bytes,
                            struct leat_arrow_footer *ret_footer, struct leat_error *err);
struct leat_arrow_block leat_arrow_footer_block(const struct leat_flat_vector *blocks,
                                                uint32_t index);
