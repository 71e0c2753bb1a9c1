#include "pipeline/sources/arrow/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/sources/arrow/index.h"

#define WHOLE_BYTES  (4U << 20) /* a body up to this size is read at once */
#define WINDOW_BYTES (4U << 20) /* of all buffers together */
#define WINDOW_MIN   4096U
#define WINDOW_MAX   (256U << 10)

struct reader {
    struct leat_input_limits limits;
    const struct leat_arrow_selection *selections;
    size_t n_selections;
    struct leat_arrow_stream stream;
    bool has_schema;
    struct leat_arrow_schema schema;
    struct leat_arrow_columns columns;
    struct leat_arrow_rows rows;
    struct leat_arrow_index index;

    /* the batch */
    bool has_batch;
    uint64_t first_row, n_rows;
    struct leat_arrow_body body;
    uint8_t *whole;
    size_t capacity;

    struct leat_arrow_groups groups;
};

static void reader_free(void *reader) {
    struct reader *self = reader;

    leat_arrow_rows_deinit(&self->rows);
    leat_arrow_columns_deinit(&self->columns);
    leat_arrow_index_deinit(&self->index);
    leat_arrow_schema_deinit(&self->schema);
    leat_arrow_stream_deinit(&self->stream);
    free(self->whole);
    free(self);
}

/* ---- the schema ---- */

static int take_schema(struct reader *self, struct leat_error *err) {
    const struct leat_arrow_message *message = &self->stream.message;
    int r;

    if (message->header != LEAT_ARROW_SCHEMA)
        return leat_error_set(err, -EBADMSG,
                              "is not an Arrow file: it does not begin with a schema");
    r = leat_arrow_schema_parse(&message->schema, message->version, &self->schema, err);
    if (r == 0)
        r = leat_arrow_columns_init(&self->columns, &self->schema, self->selections,
                                    self->n_selections, err);
    if (r == 0)
        r = leat_arrow_rows_init(&self->rows, &self->columns, self->limits.max_record_bytes, err);
    self->has_schema = r == 0;
    return r;
}

static int begin(void *reader, struct leat_error *err) {
    struct reader *self = reader;
    int r;

    if (self->has_schema)
        return 0;
    r = leat_arrow_stream_begin(&self->stream, err);
    if (r == 0)
        r = leat_arrow_stream_next(&self->stream, err);
    if (r == LEAT_ARROW_END)
        return leat_error_set(err, -EBADMSG, "is truncated: it has no schema");
    return r == 0 ? take_schema(self, err) : r;
}

/* ---- batches ---- */

/* Each buffer gets an equal part of WINDOW_BYTES. */
static size_t window_bytes(const struct reader *self) {
    size_t n = WINDOW_BYTES / (self->columns.layout.n_slots + 1);

    return n < WINDOW_MIN ? WINDOW_MIN : n > WINDOW_MAX ? WINDOW_MAX : n;
}

static int read_whole(struct reader *self, size_t n_bytes, struct leat_error *err) {
    if (n_bytes > self->capacity) {
        free(self->whole);
        self->whole = malloc(n_bytes);
        self->capacity = self->whole ? n_bytes : 0;
        if (!self->whole)
            return leat_error_oom(err);
    }
    self->body.whole = self->whole;
    return leat_input_read_at(self->stream.file, self->stream.body_at, self->whole, n_bytes, err);
}

/* Refuses rows without bytes and buffers that were compressed too well: decompression bombs. */
static int check_expansion(const struct reader *self, struct leat_error *err) {
    uint64_t n_rows = self->stream.message.batch.n_rows, n_bytes = self->body.n_memory, limit;
    uint64_t ratio = self->limits.max_expansion;

    n_bytes += n_rows * self->columns.layout.n_fixed; /* 2^31 rows of less than 2^16 bytes */
    if (ratio == 0 ||
        __builtin_mul_overflow(self->body.n_bytes + self->stream.message.metadata.n_bytes, ratio,
                               &limit) ||
        __builtin_add_overflow(limit, LEAT_INPUT_EXPANSION_FREE, &limit) || n_bytes <= limit)
        return 0;
    return leat_error_set(
        err, -EBADMSG,
        "%llu bytes expand to more than %llu bytes in %llu rows, but max_expansion is %llu: raise "
        "max_expansion if you trust the file",
        (unsigned long long)self->body.n_bytes, (unsigned long long)limit,
        (unsigned long long)n_rows, (unsigned long long)ratio);
}

/* Binds the columns to the batch of the current message. */
static int bind_batch(struct reader *self, uint64_t first_row, struct leat_error *err) {
    const struct leat_arrow_message *message = &self->stream.message;
    struct leat_arrow_binding binding = {.batch = &message->batch, .body = &self->body};
    int r = 0;

    self->body = (struct leat_arrow_body){.file = self->stream.file,
                                          .at = self->stream.body_at,
                                          .n_bytes = message->body_bytes,
                                          .whole = self->stream.body,
                                          .window_bytes = window_bytes(self),
                                          .codec = message->batch.codec,
                                          .max_memory = self->limits.max_window_bytes};
    if (!self->body.whole && message->body_bytes > 0 && message->body_bytes <= WHOLE_BYTES)
        r = read_whole(self, (size_t)message->body_bytes, err);
    if (r == 0)
        r = leat_arrow_columns_bind(&self->columns, &binding, err);
    if (r == 0)
        r = check_expansion(self, err);
    self->rows.end_loaded = 0;
    self->first_row = first_row;
    self->n_rows = message->batch.n_rows;
    self->has_batch = r == 0;
    return r;
}

/* Enters the batch of the next row. 0, LEAT_INPUT_WAITING or LEAT_ARROW_END. */
static int enter_batch(struct reader *self, struct leat_error *err) {
    uint64_t first_row = 0;
    int r;

    if (self->has_batch && self->groups.row >= self->first_row &&
        self->groups.row - self->first_row < self->n_rows)
        return 0;
    self->has_batch = false;
    r = leat_arrow_index_find(&self->index, &self->stream, &self->columns.dictionaries,
                              self->groups.row, &first_row, err);
    if (r != 0)
        return r;
    if (self->groups.row < first_row ||
        self->groups.row - first_row >= self->stream.message.batch.n_rows)
        return leat_error_set(err, -EBADMSG,
                              "its batch now has rows %llu to %llu: the file was changed",
                              (unsigned long long)first_row + 1,
                              (unsigned long long)(first_row + self->stream.message.batch.n_rows));
    return bind_batch(self, first_row, err);
}

static int make(void *reader, const struct leat_arrow_room *room, uint64_t *ret_n_rows,
                struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    struct reader *self = reader;
    int r = enter_batch(self, &fault);
    uint64_t at;

    if (r == 0) {
        at = self->groups.row - self->first_row;
        r = leat_arrow_rows_make(&self->rows, &self->body, at, self->n_rows - at, room, ret_n_rows,
                                 &fault);
    }
    if (r < 0)
        leat_error_set(err, fault.code, "the record batch with row %llu is unusable: %s",
                       (unsigned long long)self->groups.row + 1, fault.message);
    return r;
}

static int reader_read(void *reader, void *data, size_t size, size_t *ret_n,
                       struct leat_error *err) {
    static const struct leat_arrow_maker maker = {.begin = begin, .make = make};
    struct reader *self = reader;

    return leat_arrow_groups_read(&self->groups, &maker, self, data, size, ret_n, err);
}

static void reader_go(void *reader, uint64_t place) {
    leat_arrow_groups_go(&((struct reader *)reader)->groups, place);
}

static uint64_t reader_cross(void *reader) {
    return leat_arrow_groups_cross(&((struct reader *)reader)->groups);
}

static void reader_stop(void *reader, uint64_t record) {
    ((struct reader *)reader)->groups.stop = record;
}

/* ---- */

static uint64_t reader_offset(const void *reader) {
    const struct reader *self = reader;
    uint64_t n_body = self->body.n_bytes;

    if (!self->stream.can_seek)
        return leat_input_offset(self->stream.file);
    if (!self->has_batch)
        return self->stream.at;
    return self->body.at +
           (uint64_t)((double)n_body * (double)(self->groups.row - self->first_row) /
                      (double)(self->n_rows + 1));
}

static size_t reader_memory(const void *reader) {
    const struct reader *self = reader;

    return sizeof(*self) + self->stream.capacity + self->capacity +
           leat_arrow_rows_memory(&self->rows) + (size_t)self->body.n_memory +
           leat_arrow_index_memory(&self->index) + (self->body.whole ? 0 : WINDOW_BYTES / 4);
}

static const struct leat_record_reader_ops ops = {
    .read = reader_read,
    .go = reader_go,
    .cross = reader_cross,
    .stop = reader_stop,
    .offset = reader_offset,
    .memory = reader_memory,
    .free = reader_free,
};

int leat_arrow_open(struct leat_input *take_file, const struct leat_input_limits *limits,
                    const struct leat_arrow_selection *selections, size_t n_selections,
                    struct leat_input **ret_input, struct leat_error *err) {
    struct reader *self = calloc(1, sizeof(*self));

    if (!self) {
        leat_input_close(take_file);
        return leat_error_oom(err);
    }
    self->limits = *limits;
    self->selections = selections;
    self->n_selections = n_selections;
    self->groups.rows = &self->rows;
    self->stream.file = take_file;
    self->stream.max_memory = limits->max_window_bytes;
    return leat_input_new_of_records(take_file, &ops, self, ret_input, err);
}
