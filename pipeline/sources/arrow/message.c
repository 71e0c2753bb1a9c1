/* message.c: see message.h. Field numbers are those of Message.fbs and File.fbs. */
#include "pipeline/sources/arrow/message.h"

#include <errno.h>
#include <string.h>

#define VERSION_V4   3
#define NODE_BYTES   16
#define BUFFER_BYTES 16
#define BLOCK_BYTES  24
#define BODY_MAX     (UINT64_C(1) << 46)

enum { MESSAGE_VERSION = 0, MESSAGE_HEADER_TYPE = 1, MESSAGE_HEADER = 2, MESSAGE_BODY = 3 };
enum {
    BATCH_LENGTH = 0,
    BATCH_NODES = 1,
    BATCH_BUFFERS = 2,
    BATCH_COMPRESSION = 3,
    BATCH_VIEWS = 4,
};
enum { COMPRESSION_CODEC = 0, COMPRESSION_METHOD = 1 };
enum { DICTIONARY_ID = 0, DICTIONARY_DATA = 1, DICTIONARY_IS_DELTA = 2 };
enum { FOOTER_DICTIONARIES = 2, FOOTER_BATCHES = 3 };

static int fault(struct leat_error *err, const char *message) {
    return leat_error_set(err, -EBADMSG, "the metadata is damaged: %s", message);
}

static int parse_batch(const struct leat_flat_table *table, struct leat_arrow_batch *batch,
                       struct leat_error *err) {
    int64_t n_rows = leat_flat_int(table, BATCH_LENGTH, 8, 0);
    struct leat_flat_table compression;

    if (n_rows < 0)
        return fault(err, "a batch has a negative number of rows");
    if (n_rows > LEAT_ARROW_ROWS_MAX)
        return leat_error_set(err, -EBADMSG, "a batch has %lld rows; at most %d are possible",
                              (long long)n_rows, LEAT_ARROW_ROWS_MAX);
    batch->n_rows = (uint64_t)n_rows;
    (void)leat_flat_vector(table, BATCH_NODES, NODE_BYTES, &batch->nodes);
    (void)leat_flat_vector(table, BATCH_BUFFERS, BUFFER_BYTES, &batch->buffers);
    (void)leat_flat_vector(table, BATCH_VIEWS, sizeof(int64_t), &batch->view_counts);
    if (!leat_flat_child(table, BATCH_COMPRESSION, &compression))
        return 0;
    if (leat_flat_uint(&compression, COMPRESSION_METHOD, 1, 0) != 0 ||
        leat_flat_uint(&compression, COMPRESSION_CODEC, 1, 0) > 1)
        return leat_error_set(
            err, -EINVAL, "a batch has an unknown compression: write the file with LZ4 or zstd");
    batch->codec = leat_flat_uint(&compression, COMPRESSION_CODEC, 1, 0) == 0 ? LEAT_ARROW_LZ4
                                                                              : LEAT_ARROW_ZSTD;
    return 0;
}

static int parse_header(const struct leat_flat_table *root, struct leat_arrow_message *message,
                        struct leat_error *err) {
    struct leat_flat_table header, data;

    if (!leat_flat_child(root, MESSAGE_HEADER, &header))
        return fault(err, "a message has no header");
    if (message->header == LEAT_ARROW_SCHEMA)
        message->schema = header;
    if (message->header == LEAT_ARROW_RECORD_BATCH)
        return parse_batch(&header, &message->batch, err);
    if (message->header != LEAT_ARROW_DICTIONARY_BATCH)
        return 0;
    message->dictionary = leat_flat_int(&header, DICTIONARY_ID, 8, 0);
    message->is_delta = leat_flat_uint(&header, DICTIONARY_IS_DELTA, 1, 0) & 1;
    if (!leat_flat_child(&header, DICTIONARY_DATA, &data))
        return fault(err, "a dictionary has no values");
    return parse_batch(&data, &message->batch, err);
}

int leat_arrow_message_parse(const void *metadata, size_t n_bytes,
                             struct leat_arrow_message *ret_message, struct leat_error *err) {
    struct leat_flat_table root;
    int64_t body;
    int r;

    *ret_message = (struct leat_arrow_message){.header = 0};
    if (!leat_flat_root(&ret_message->metadata, metadata, n_bytes, &root))
        return fault(err, "it is not a flatbuffer");
    ret_message->version = (int)leat_flat_uint(&root, MESSAGE_VERSION, 2, 0);
    ret_message->header = leat_flat_uint(&root, MESSAGE_HEADER_TYPE, 1, 0);
    body = leat_flat_int(&root, MESSAGE_BODY, 8, 0);
    if (ret_message->version < VERSION_V4)
        return leat_error_set(err, -EINVAL,
                              "its metadata has version V%d, older than V4: write the file again "
                              "with Arrow 0.8 or later",
                              ret_message->version + 1);
    if (body < 0 || (uint64_t)body > BODY_MAX)
        return fault(err, "a message has an impossible length");
    ret_message->body_bytes = (uint64_t)body;
    r = parse_header(&root, ret_message, err);
    if (r == 0 && ret_message->metadata.is_bad)
        r = fault(err, "it refers to bytes beyond its end");
    return r;
}

static int64_t i64(const uint8_t *bytes) {
    int64_t value;

    memcpy(&value, bytes, sizeof(value));
    return value;
}

bool leat_arrow_batch_node(const struct leat_arrow_batch *batch, uint32_t index,
                           uint64_t *ret_n_rows, uint64_t *ret_n_nulls) {
    const uint8_t *node;

    if (index >= batch->nodes.n_items)
        return false;
    node = leat_flat_struct(&batch->nodes, index, NODE_BYTES);
    *ret_n_rows = (uint64_t)i64(node);
    *ret_n_nulls = (uint64_t)i64(node + 8);
    return *ret_n_rows <= BODY_MAX && *ret_n_nulls <= *ret_n_rows;
}

bool leat_arrow_batch_buffer(const struct leat_arrow_batch *batch, uint32_t index,
                             uint64_t body_bytes, uint64_t *ret_offset, uint64_t *ret_n_bytes) {
    const uint8_t *buffer;

    if (index >= batch->buffers.n_items)
        return false;
    buffer = leat_flat_struct(&batch->buffers, index, BUFFER_BYTES);
    *ret_offset = (uint64_t)i64(buffer);
    *ret_n_bytes = (uint64_t)i64(buffer + 8);
    return *ret_offset <= body_bytes && *ret_n_bytes <= body_bytes - *ret_offset;
}

bool leat_arrow_batch_views(const struct leat_arrow_batch *batch, uint32_t index,
                            uint32_t *ret_n_buffers) {
    int64_t n;

    if (index >= batch->view_counts.n_items)
        return false;
    n = i64(leat_flat_struct(&batch->view_counts, index, sizeof(int64_t)));
    *ret_n_buffers = (uint32_t)n;
    return n >= 0 && n <= batch->buffers.n_items;
}

int leat_arrow_footer_parse(const void *footer, size_t n_bytes,
                            struct leat_arrow_footer *ret_footer, struct leat_error *err) {
    struct leat_flat_table root;

    *ret_footer = (struct leat_arrow_footer){.bytes = {.data = footer}};
    if (!leat_flat_root(&ret_footer->bytes, footer, n_bytes, &root))
        return fault(err, "the footer is not a flatbuffer");
    (void)leat_flat_vector(&root, FOOTER_DICTIONARIES, BLOCK_BYTES, &ret_footer->dictionaries);
    (void)leat_flat_vector(&root, FOOTER_BATCHES, BLOCK_BYTES, &ret_footer->batches);
    return ret_footer->bytes.is_bad ? fault(err, "the footer refers to bytes beyond its end") : 0;
}

struct leat_arrow_block leat_arrow_footer_block(const struct leat_flat_vector *blocks,
                                                uint32_t index) {
    const uint8_t *block = leat_flat_struct(blocks, index, BLOCK_BYTES);
    uint32_t n_metadata;

    memcpy(&n_metadata, block + 8, sizeof(n_metadata));
    return (struct leat_arrow_block){.offset = (uint64_t)i64(block),
                                     .n_metadata = n_metadata,
                                     .n_body = (uint64_t)i64(block + 16)};
}
