/* span_table.c: see span_table.h. A piece that crosses the end of a span is indexed again, to find
 * where its records begin. A span ends where the next record begins, and so has the blank lines in
 * front of that. */
#include "pipeline/work/span_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

void leat_span_table_init(struct leat_span_table *table, uint64_t block_size) {
    *table = (struct leat_span_table){.block_size = block_size};
}

void leat_span_table_deinit(struct leat_span_table *table) {
    free(table->spans);
    free(table->files);
    *table = (struct leat_span_table){.block_size = table->block_size};
}

uint64_t leat_span_table_bytes(const struct leat_span_table *table) {
    return table->capacity * sizeof(*table->spans) + table->n_files * sizeof(*table->files);
}

static int reserve(struct leat_span_table *table, struct leat_error *err) {
    if (table->n_spans == LEAT_SPANS_MAX && table->block_size > 0)
        return leat_error_set(
            err, -E2BIG,
            "the data has more than %u blocks of block_size (%llu) records: raise block_size",
            LEAT_SPANS_MAX, (unsigned long long)table->block_size);
    if (table->n_spans == LEAT_SPANS_MAX)
        return leat_error_set(err, -E2BIG, "the data has more than %u blocks: raise block_bytes",
                              LEAT_SPANS_MAX);
    return leat_array_reserve(&table->spans, table->n_spans + 1, &table->capacity)
               ? 0
               : leat_error_oom(err);
}

static int add_span(struct leat_span_table *table, const struct leat_cache_span *place,
                    struct leat_error *err) {
    int r = reserve(table, err);

    if (r < 0)
        return r;
    table->spans[table->n_spans++] =
        (struct leat_span){.place = *place, .record = table->n_records};
    table->n_records += place->n_records;
    return 0;
}

/* The rest of a line too long, which lies between the two, belongs to the span. */
static void extend(struct leat_span_table *table, const struct leat_cache_span *more) {
    struct leat_cache_span *last = &table->spans[table->n_spans - 1].place;

    last->n_bytes = more->offset + more->n_bytes - last->offset;
    last->n_lines = more->line + more->n_lines - last->line;
    last->n_records += more->n_records;
    last->ends_midline = more->ends_midline;
    last->is_damaged |= more->is_damaged;
    table->n_records += more->n_records;
}

/* Number of records of that file that the last span may still take. */
static uint64_t room_in_last(const struct leat_span_table *table, uint32_t file) {
    const struct leat_cache_span *last;

    if (table->n_spans == 0)
        return 0;
    last = &table->spans[table->n_spans - 1].place;
    return last->file == file && last->n_records < table->block_size
               ? table->block_size - last->n_records
               : 0;
}

static int add_part(struct leat_span_table *table, const struct leat_cache_span *part,
                    struct leat_error *err) {
    if (room_in_last(table, part->file) == 0)
        return add_span(table, part, err);
    extend(table, part);
    return 0;
}

/* Takes the first n_records, in n_bytes, off the piece. */
static struct leat_cache_span take_off(struct leat_cache_span *piece, uint64_t n_records,
                                       uint64_t n_bytes, const struct leat_cutter *cutter,
                                       const uint8_t *data) {
    struct leat_cache_span part = *piece;

    part.n_records = (uint32_t)n_records;
    part.n_bytes = n_bytes;
    part.n_lines = leat_cutter_lines(cutter, data, n_bytes, n_records);
    part.ends_midline = part.is_damaged = false;
    piece->offset += n_bytes;
    piece->n_bytes -= n_bytes;
    piece->line += part.n_lines;
    piece->n_lines -= part.n_lines;
    piece->n_records -= part.n_records;
    return part;
}

static int split(struct leat_span_table *table, const struct leat_cutter *cutter,
                 const struct leat_cache_span *piece, const uint8_t *data, const uint32_t *starts,
                 struct leat_error *err) {
    struct leat_cache_span rest = *piece;
    uint64_t at = 0, n_done = 0;
    int r = 0;

    while (r == 0 && rest.n_records > 0) {
        uint64_t room = room_in_last(table, piece->file);
        struct leat_cache_span part = rest;

        room = room > 0 ? room : table->block_size;
        if (rest.n_records > room) {
            n_done += room;
            part = take_off(&rest, room, starts[n_done] - at, cutter, data + at);
            at = starts[n_done];
        } else {
            rest.n_records = 0;
        }
        r = add_part(table, &part, err);
    }
    return r;
}

int leat_span_table_add(struct leat_span_table *table, const struct leat_cutter *cutter,
                        const struct leat_cache_span *piece, const uint8_t *data,
                        struct leat_error *err) {
    uint64_t room = room_in_last(table, piece->file);
    uint32_t *starts;
    int r;

    room = room > 0 ? room : table->block_size;
    if (table->block_size == 0 || piece->n_records <= room)
        return add_part(table, piece, err);
    starts = reallocarray(NULL, piece->n_records, 2 * sizeof(*starts));
    if (!starts)
        return leat_error_oom(err);
    (void)leat_cutter_index(cutter, data, (size_t)piece->n_bytes, starts, starts + piece->n_records,
                            piece->n_records);
    r = split(table, cutter, piece, data, starts, err);
    free(starts);
    return r;
}

int leat_span_table_add_records(struct leat_span_table *table, uint32_t file, uint64_t n_records,
                                struct leat_error *err) {
    int r = 0;

    while (r == 0 && n_records > 0) {
        uint64_t room = room_in_last(table, file), n;
        struct leat_cache_span part = {.file = file};

        room = room > 0 ? room : table->block_size;
        n = n_records < room ? n_records : room;
        part.n_records = (uint32_t)n;
        r = add_part(table, &part, err);
        n_records -= n;
    }
    return r;
}

int leat_span_table_set_file(struct leat_span_table *table, size_t file,
                             const struct leat_file_state *state, struct leat_error *err) {
    if (file >= table->n_files) {
        struct leat_file_state *files = reallocarray(table->files, file + 1, sizeof(*files));

        if (!files)
            return leat_error_oom(err);
        memset(files + table->n_files, 0, (file + 1 - table->n_files) * sizeof(*files));
        table->files = files;
        table->n_files = file + 1;
    }
    table->files[file] = *state;
    return 0;
}

bool leat_span_table_is_same(const struct leat_span_table *table, size_t file,
                             const struct leat_file_state *state) {
    return file < table->n_files && memcmp(&table->files[file], state, sizeof(*state)) == 0;
}
