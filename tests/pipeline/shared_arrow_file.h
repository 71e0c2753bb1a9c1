/* shared_arrow_file.h: Arrow streams made in memory, right ones and wrong ones. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The union Type of Schema.fbs. */
enum {
    ARROW_NULL = 1,
    ARROW_INT = 2,
    ARROW_UTF8 = 5,
    ARROW_BOOL = 6,
    ARROW_LIST = 12,
    ARROW_FIXED_LIST = 16,
    ARROW_UTF8_VIEW = 24,
};

struct arrow_field {
    const char *name;
    int type;
    int width; /* of an integer in bits, which is signed; of a fixed list in items */
    const struct arrow_field *children;
    uint32_t n_children;
};

struct arrow_buffer {
    const void *data;
    size_t n_bytes;
};

struct arrow_file {
    struct {
        uint8_t *data;
        size_t n_bytes, capacity;
    } bytes;
};

/* Begins with a schema. */
struct arrow_file *arrow_file_new(const struct arrow_field *fields, uint32_t n_fields);
/* nodes: rows and nulls of each. */
void arrow_file_batch(struct arrow_file *file, int64_t n_rows, const int64_t *nodes,
                      uint32_t n_nodes, const struct arrow_buffer *buffers, size_t n_buffers);
void arrow_file_end(struct arrow_file *file);
struct arrow_file *arrow_file_free(struct arrow_file *file);

/* Columns n (int32) and t (utf8, of up to 2 * n_bytes), in so many batches. */
struct arrow_file *arrow_file_of_texts(uint32_t n_rows, uint32_t n_batches, uint32_t n_bytes);
