#include "pipeline/sources/parquet/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/sources/arrow/groups.h"
#include "pipeline/sources/parquet/assembly.h"

#define WINDOW_BYTES (4U << 20) /* of all columns together */
#define WINDOW_MIN   4096U
#define WINDOW_MAX   (256U << 10)

struct reader {
    const struct leat_arrow_selection *selections;
    size_t n_selections;
    struct leat_parquet_source source;
    bool has_schema;
    struct leat_parquet_footer footer;
    struct leat_arrow_columns columns;
    struct leat_parquet_column *read; /* [columns.layout.n_slots]; n_nodes 0: it is not read */
    struct leat_arrow_rows rows;
    struct leat_arrow_groups groups;

    /* the row group */
    struct leat_parquet_chunk *chunks; /* [footer.schema.n_leaves] */
    bool has_group;
    uint32_t group;
    uint64_t group_end; /* row behind the last */
    uint64_t told_row;  /* of the last boundary that was told; 0: none */
};

static void forget(struct reader *self) {
    for (uint32_t i = 0; self->read && i < self->columns.layout.n_slots; i++)
        leat_parquet_column_deinit(&self->read[i], &self->source);
    free(self->read);
    self->read = NULL;
    leat_arrow_rows_deinit(&self->rows);
    leat_arrow_columns_deinit(&self->columns);
    leat_parquet_footer_deinit(&self->footer);
    free(self->chunks);
    self->chunks = NULL;
    self->has_schema = self->has_group = false;
}

static void reader_free(void *reader) {
    struct reader *self = reader;

    forget(self);
    self->source.stored = leat_parquet_blocks_free(&self->source.scratch, self->source.stored);
    leat_parquet_memory_deinit(&self->source.memory);
    leat_parquet_memory_deinit(&self->source.scratch);
    leat_parquet_memory_deinit(&self->source.ahead);
    free(self);
}

/* ---- the columns ---- */

static int find_footer(struct reader *self, struct leat_error *err) {
    uint64_t nowhere = 0;
    int r = leat_input_seek(self->source.file, &nowhere, err); /* detects pipes and compression */

    if (r != 0)
        return r;
    if (leat_input_is_one_pass(self->source.file))
        return leat_error_set(err, -ESPIPE,
                              "comes through a FIFO, but leat must read the end of a Parquet file "
                              "first: write the data to a regular file");
    if (leat_input_format(self->source.file))
        return leat_error_set(
            err, -EINVAL,
            "is compressed as a whole (%s): decompress the file (Parquet compresses its own pages)",
            leat_input_format(self->source.file));
    return leat_parquet_footer_read(&self->footer, self->source.file, self->source.memory.max_bytes,
                                    err);
}

static int make_columns(struct reader *self, struct leat_error *err) {
    uint32_t n;
    int r;

    leat_parquet_schema_adapt(&self->footer.schema, self->selections, self->n_selections);
    r = leat_arrow_columns_init(&self->columns, &self->footer.schema.arrow, self->selections,
                                self->n_selections, err);
    if (r == 0)
        r = leat_arrow_rows_init(&self->rows, &self->columns, self->source.limits.max_record_bytes,
                                 err);
    if (r < 0)
        return r;
    n = self->columns.layout.n_slots;
    self->read = calloc(n + 1, sizeof(*self->read));
    self->chunks = calloc(self->footer.schema.n_leaves, sizeof(*self->chunks));
    if (!self->read || !self->chunks)
        return leat_error_oom(err);
    for (uint32_t i = 0; i < n; i++)
        if (self->columns.columns[i].n_chain > 0 &&
            leat_parquet_column_init(&self->read[i], &self->columns.columns[i],
                                     &self->footer.schema) < 0)
            return leat_error_oom(err);
    self->source.window_bytes = WINDOW_BYTES / (n + 1);
    if (self->source.window_bytes < WINDOW_MIN)
        self->source.window_bytes = WINDOW_MIN;
    if (self->source.window_bytes > WINDOW_MAX)
        self->source.window_bytes = WINDOW_MAX;
    return 0;
}

static int begin(void *reader, struct leat_error *err) {
    struct reader *self = reader;
    int r;

    if (self->has_schema)
        return 0;
    r = find_footer(self, err);
    if (r == 0)
        r = make_columns(self, err);
    self->has_schema = r == 0;
    if (r < 0)
        forget(self);
    return r;
}

/* ---- row groups ---- */

/* Refuses rows without bytes: a file may say that it has any number of them. */
static int check_rows(const struct reader *self, struct leat_error *err) {
    const struct leat_parquet_group *group = &self->footer.groups[self->group];
    uint64_t n_bytes = (uint64_t)group->n_rows * self->columns.layout.n_fixed, limit;
    uint64_t ratio = self->source.limits.max_expansion;

    if (ratio == 0 || __builtin_mul_overflow(self->footer.file_bytes, ratio, &limit) ||
        n_bytes <= limit || n_bytes - limit <= LEAT_INPUT_EXPANSION_FREE)
        return 0;
    return leat_error_set(err, -EBADMSG,
                          "a file of %llu bytes has %u rows, more than max_expansion (%llu) "
                          "allows: raise max_expansion if you trust the file",
                          (unsigned long long)self->footer.file_bytes, group->n_rows,
                          (unsigned long long)ratio);
}

static const char *check_chunk(const struct leat_parquet_chunk *chunk,
                               const struct leat_parquet_leaf *leaf) {
    if (chunk->is_encrypted)
        return "is encrypted, which leat does not read";
    if (chunk->is_elsewhere)
        return "is stored in another file, which leat does not read";
    if (!chunk->is_there)
        return "is damaged: it lies outside the file, or its type or codec is unknown";
    if (chunk->type != leaf->type)
        return "is damaged: its type differs from the type in the schema";
    return NULL;
}

static int enter_column(struct reader *self, struct leat_parquet_column *column,
                        struct leat_error *err) {
    uint64_t n_before = self->groups.row - self->footer.groups[self->group].first_row;

    leat_parquet_column_leave(column, &self->source);
    for (uint32_t i = 0; i < column->n_leaves; i++) {
        struct leat_parquet_leaf_reader *reader = &column->leaves[i];
        const struct leat_parquet_chunk *chunk = &self->chunks[reader->leaf->column];
        const char *wrong = check_chunk(chunk, reader->leaf);
        int r;

        if (wrong)
            return leat_error_set(err, chunk->is_there ? -EINVAL : -EBADMSG, "%s", wrong);
        leat_parquet_leaf_enter(reader, &self->source, chunk);
        r = leat_parquet_leaf_skip(reader, &self->source, n_before, err);
        if (r < 0)
            return r;
    }
    column->first_row = self->groups.row;
    return 0;
}

/* Loads rows of the column from the next row on, if they are not loaded. They are cut at the same
 * rows wherever reading began, so what comes in front of damage is the same. */
static int load_column(struct reader *self, struct leat_parquet_column *column,
                       struct leat_error *err) {
    uint64_t row = self->groups.row, n_left = self->group_end - row, n = self->rows.max_rows;

    if (column->n_rows > 0 && row < column->first_row + column->n_rows)
        return 0;
    n -= (row - self->footer.groups[self->group].first_row) % n;
    return leat_parquet_column_load(column, &self->source, row, (uint32_t)(n < n_left ? n : n_left),
                                    err);
}

/* True if the rows can be read on from where the columns are. */
static bool is_ahead(const struct reader *self) {
    uint64_t row = self->groups.row;

    if (!self->has_group || row >= self->group_end)
        return false;
    for (uint32_t i = 0; i < self->columns.layout.n_slots; i++) {
        const struct leat_parquet_column *column = &self->read[i];

        if (column->n_nodes > 0 &&
            (row < column->first_row || row > column->first_row + column->n_rows))
            return false;
    }
    return true;
}

static int locate(const struct reader *self, const char *name, const struct leat_error *fault,
                  struct leat_error *err) {
    return leat_error_set(err, fault->code, "row group %u: column \"%.64s\" %s", self->group + 1,
                          name, fault->message);
}

static int enter_group(struct reader *self, struct leat_error *err) {
    const struct leat_parquet_group *group;
    struct leat_error fault = LEAT_ERROR_INIT;
    int r;

    self->group = leat_parquet_footer_find(&self->footer, self->groups.row);
    group = &self->footer.groups[self->group];
    self->group_end = (uint64_t)group->first_row + group->n_rows;
    r = leat_parquet_footer_chunks(&self->footer, self->group, self->chunks, &fault);
    if (r == 0)
        r = check_rows(self, &fault);
    if (r < 0)
        return leat_error_set(err, fault.code, "row group %u: %s", self->group + 1, fault.message);
    for (uint32_t i = 0; r == 0 && i < self->columns.layout.n_slots; i++) {
        r = enter_column(self, &self->read[i], &fault);
        if (r < 0)
            return locate(self, self->columns.columns[i].name, &fault, err);
    }
    self->has_group = true;
    return 0;
}

/* Loads all columns at the next row; *ret_n: rows that all of them have. */
static int load(struct reader *self, uint64_t *ret_n, struct leat_error *err) {
    struct leat_error fault = LEAT_ERROR_INIT;
    uint64_t row = self->groups.row, n;
    int r = is_ahead(self) ? 0 : enter_group(self, err);

    *ret_n = self->group_end - row;
    for (uint32_t i = 0; r == 0 && i < self->columns.layout.n_slots; i++) {
        struct leat_parquet_column *column = &self->read[i];

        if (column->n_nodes == 0)
            continue;
        r = load_column(self, column, &fault);
        if (r < 0)
            return locate(self, self->columns.columns[i].name, &fault, err);
        n = column->first_row + column->n_rows - row;
        *ret_n = n < *ret_n ? n : *ret_n;
    }
    return r;
}

/* ---- rows ---- */

/* True once, when the next row is the first of a row group. */
static bool tells_boundary(struct reader *self) {
    uint64_t row = self->groups.row;

    if (row == 0 || row == self->told_row || (self->has_group && row < self->group_end) ||
        self->footer.groups[leat_parquet_footer_find(&self->footer, row)].first_row != row)
        return false;
    self->told_row = row;
    return true;
}

static int make(void *reader, const struct leat_arrow_room *room, uint64_t *ret_n_rows,
                struct leat_error *err) {
    struct reader *self = reader;
    uint64_t n;
    int r;

    if (self->groups.row >= self->footer.n_rows)
        return LEAT_ARROW_END;
    if (tells_boundary(self))
        return LEAT_INPUT_BOUNDARY;
    r = load(self, &n, err);
    if (r == 0)
        r = leat_arrow_rows_put(&self->rows, self->groups.row, n, room, ret_n_rows, err);
    if (r < 0)
        self->has_group = false;
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

/* The rows are taken to have the same number of bytes each. */
static uint64_t reader_offset(const void *reader) {
    const struct reader *self = reader;

    return self->footer.n_rows ? (uint64_t)((double)self->footer.file_bytes *
                                            (double)self->groups.row / (double)self->footer.n_rows)
                               : 0;
}

static size_t reader_memory(const void *reader) {
    const struct reader *self = reader;

    return sizeof(*self) + leat_arrow_rows_memory(&self->rows) + self->footer.n_bytes +
           self->footer.n_groups * sizeof(*self->footer.groups) +
           (size_t)(leat_parquet_memory_held(&self->source.memory) +
                    leat_parquet_memory_held(&self->source.scratch) +
                    leat_parquet_memory_held(&self->source.ahead));
}

/* ---- ahead ---- */

static uint64_t reader_range(const void *reader, uint64_t *ret_n_ranges) {
    const struct reader *self = reader;

    *ret_n_ranges = self->footer.n_groups;
    return self->footer.n_groups ? leat_parquet_footer_find(&self->footer, self->groups.row) : 0;
}

static void reader_tell_again(void *reader) {
    ((struct reader *)reader)->told_row = 0;
}

static bool reader_prepare(void *reader, uint64_t range, size_t max_bytes) {
    struct leat_error ignored = LEAT_ERROR_INIT;
    struct reader *self = reader;
    uint32_t n_leaves = 0;

    if (begin(self, &ignored) != 0 || range >= self->footer.n_groups)
        return false;
    self->source.ahead.max_bytes = max_bytes;
    self->groups.row = self->told_row = self->footer.groups[range].first_row;
    if (enter_group(self, &ignored) < 0)
        return false;
    for (uint32_t i = 0; i < self->columns.layout.n_slots; i++)
        n_leaves += self->read[i].n_leaves;
    for (uint32_t i = 0; i < self->columns.layout.n_slots; i++)
        for (uint32_t k = 0; k < self->read[i].n_leaves; k++)
            leat_parquet_leaf_prepare(&self->read[i].leaves[k], &self->source,
                                      max_bytes / n_leaves);
    return self->source.ahead.n_bytes > 0;
}

static bool reader_adopt(void *reader, const void *other) {
    const struct reader *from = other;
    struct reader *self = reader;
    struct leat_arrow_rows *rows = self->groups.rows;

    if (self->groups.row != from->groups.row || self->footer.n_rows != from->footer.n_rows)
        return false;
    self->groups = from->groups;
    self->groups.rows = rows;
    self->groups.out_at = rows->n_out = 0;
    return true;
}

static const struct leat_record_reader_ops ops = {
    .read = reader_read,
    .go = reader_go,
    .cross = reader_cross,
    .stop = reader_stop,
    .offset = reader_offset,
    .memory = reader_memory,
    .free = reader_free,
    .range = reader_range,
    .tell_again = reader_tell_again,
    .prepare = reader_prepare,
    .adopt = reader_adopt,
};

int leat_parquet_open(struct leat_input *take_file, const struct leat_input_limits *limits,
                      const struct leat_arrow_selection *selections, size_t n_selections,
                      struct leat_input **ret_input, struct leat_error *err) {
    struct reader *self = calloc(1, sizeof(*self));

    if (!self) {
        leat_input_close(take_file);
        return leat_error_oom(err);
    }
    self->source.file = take_file;
    self->source.limits = *limits;
    self->source.memory.max_bytes = self->source.scratch.max_bytes = limits->max_window_bytes;
    self->selections = selections;
    self->n_selections = n_selections;
    self->groups.rows = &self->rows;
    return leat_input_new_of_records(take_file, &ops, self, ret_input, err);
}
