/* map.c: what a MAP stage may do with its block. Owner: the job. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/stage/stage.h"

struct leat_arena *leat_map_arena(struct leat_map *map, uint32_t column) {
    return map->is_kept[column] ? &map->block->kept : map->scratch;
}

/* Rows that a filter behind an ORDER stage will drop stay in the block, and later stages may leave
 * their values unset. These must be 0, since caches store them. */
void *leat_map_alloc(struct leat_map *map, uint32_t column, size_t n_bytes) {
    void *memory = leat_arena_alloc(leat_map_arena(map, column), n_bytes);

    return memory && map->n_marks > 0 ? memset(memory, 0, n_bytes) : memory;
}

int leat_map_make_scalar(struct leat_map *map, uint32_t column, size_t element_bytes) {
    struct leat_column *target = leat_map_column(map, column);

    target->values = leat_map_alloc(map, column, map->block->n_rows * element_bytes);
    return target->values ? 0 : -ENOMEM;
}

int leat_map_make_views(struct leat_map *map, uint32_t column) {
    struct leat_column *target = leat_map_column(map, column);
    size_t n_bytes = map->block->n_rows * sizeof(uint32_t);

    target->starts = leat_map_alloc(map, column, n_bytes);
    target->lengths = leat_map_alloc(map, column, n_bytes);
    return target->starts && target->lengths ? 0 : -ENOMEM;
}

const uint8_t *leat_map_records(struct leat_map *map) {
    const struct leat_block *block = map->block;
    uint8_t *records;

    if (map->records)
        return map->records;
    if (!map->source || !map->source->ops->records)
        return block->source;
    records = leat_arena_alloc(map->scratch, block->n_source_bytes);
    if (records)
        map->source->ops->records(map->source, block, records);
    map->is_out_of_memory |= !records;
    return map->records = records;
}

void leat_map_drop(struct leat_map *map, uint32_t row) {
    if (map->marks) {
        map->marks[row] = false;
        return;
    }
    map->n_dropped += !map->is_dropped[row];
    map->is_dropped[row] = true;
}

/* Counts lines from the last bad record on, since records mostly come in order. */
static uint64_t line_of(struct leat_map *map, uint32_t record) {
    const struct leat_block *block = map->block;
    uint32_t at = 0, end = block->record_starts[record];

    if (map->cutter->kind == LEAT_CUTTER_FRAMES)
        return block->first_line + (map->wanted ? map->wanted[record] : record);
    if (map->line == 0 || record < map->line_record)
        map->line = block->first_line;
    else
        at = block->record_starts[map->line_record];
    map->line += leat_cutter_lines(map->cutter, block->source + at, end - at, 0);
    map->line_record = record;
    return map->line;
}

static struct leat_bad_record *add_bad(struct leat_map *map) {
    struct leat_block *block = map->block;

    if (block->n_bad == map->bad_capacity) {
        uint32_t capacity = map->bad_capacity ? map->bad_capacity * 2 : 16;
        struct leat_bad_record *larger = leat_arena_alloc(&block->kept, capacity * sizeof(*larger));

        if (!larger)
            return NULL;
        if (block->n_bad > 0)
            memcpy(larger, block->bad, block->n_bad * sizeof(*larger));
        block->bad = larger;
        map->bad_capacity = capacity;
    }
    return &block->bad[block->n_bad++];
}

static const char *copy_text(struct leat_map *map, const char *text) {
    size_t n = strlen(text) + 1;
    char *copy = leat_arena_alloc(&map->block->kept, n);

    return copy ? memcpy(copy, text, n) : NULL;
}

/* True if a filter behind an ORDER stage will drop the row: later stages cannot reject it. */
static bool is_unwanted(const struct leat_map *map, uint32_t row) {
    const struct leat_block *block = map->block;

    for (uint32_t i = block->n_columns - map->n_marks; i < block->n_columns; i++) {
        const bool *marks = block->columns[i].values;

        if (marks && !marks[row])
            return true;
    }
    return false;
}

void leat_map_reject_place(struct leat_map *map, uint32_t row, const char *field, uint32_t line,
                           uint32_t column, const char *format, ...) {
    char message[LEAT_ERROR_MESSAGE_MAX];
    struct leat_block *block = map->block;
    struct leat_bad_record *bad;
    uint32_t record = block->records[row];
    va_list ap;

    if (map->is_dropped[row] || is_unwanted(map, row))
        return;
    va_start(ap, format);
    (void)vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
    map->is_dropped[row] = true;
    map->n_dropped++;
    bad = add_bad(map);
    if (!bad) {
        map->is_out_of_memory = true;
        return;
    }
    *bad = (struct leat_bad_record){
        .record = record,
        .line = line_of(map, record) + line,
        .column = column,
        .offset = block->file_offset + block->record_starts[record],
        .n_bytes = block->record_ends[record] - block->record_starts[record],
        .stage = map->stage,
    };
    bad->field = field ? copy_text(map, field) : NULL;
    bad->message = copy_text(map, message);
    if (map->keeps_bad_bytes) {
        uint8_t *bytes = leat_arena_alloc(&block->kept, bad->n_bytes);
        const uint8_t *records = leat_map_records(map);

        if (bytes && records)
            memcpy(bytes, records + block->record_starts[record], bad->n_bytes);
        bad->bytes = bytes;
    }
    if (!bad->message || (field && !bad->field) || (map->keeps_bad_bytes && !bad->bytes))
        map->is_out_of_memory = true;
}

void leat_map_note(struct leat_map *map, const char *format, ...) {
    struct leat_notes *notes = map->notes;
    char text[LEAT_ERROR_MESSAGE_MAX], *copy;
    va_list ap;

    if (!notes)
        return;
    if (notes->n_texts == LEAT_NOTES_MAX) {
        notes->n_dropped++;
        return;
    }
    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    copy = leat_arena_alloc(map->scratch, strlen(text) + 1);
    if (copy)
        notes->texts[notes->n_texts++] = strcpy(copy, text);
}

uint64_t leat_map_row_key(const struct leat_map *map, uint32_t row, uint64_t stage_seed,
                          enum leat_rng_purpose purpose) {
    return leat_map_place_key(map, row, map->seed, stage_seed, map->epoch, purpose);
}

uint64_t leat_map_place_key(const struct leat_map *map, uint32_t row, uint64_t stream_seed,
                            uint64_t stage_seed, uint64_t epoch, enum leat_rng_purpose purpose) {
    const struct leat_block *block = map->block;
    uint64_t offset = block->file_offset + block->record_starts[block->records[row]];
    uint64_t key = leat_rng_key(stream_seed, stage_seed, epoch, purpose, block->file);

    return leat_rng_fold(key, offset);
}
