/* shared_source.c: see shared_source.h. */
#include "tests/pipeline/shared_source.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/spec/yaml.h"
#include "proto/base/scalar.h"

/* What the SCAN and MAP jobs hold. */
struct reader {
    struct source *source;
    const uint8_t *data;
    bool is_needed[LEAT_FIELDS_MAX], is_kept[LEAT_FIELDS_MAX];
    struct leat_arena scratch;
    uint64_t line;
    struct leat_text *text;
};

int source_init(struct source *source, const char *kind, const char *args, struct leat_error *err) {
    int r;

    *source = (struct source){.ops = leat_source_find(kind)};
    assert(source->ops);
    r = leat_yaml_parse(args, strlen(args), "test", &source->values, err);
    if (r < 0)
        return r;
    source->config = calloc(1, source->ops->config_size);
    assert(source->config);
    source->config->ops = source->ops;
    r = leat_config_bind(source->config, source->ops->args, &source->values, "test", 1, 1, err);
    if (r == 0 && source->ops->check)
        r = source->ops->check(source->config, err);
    return r;
}

void source_deinit(struct source *source) {
    if (source->config) {
        source->ops->unload(source->config);
        leat_config_deinit(source->config);
        free(source->config);
    }
    if (source->has_planner)
        leat_planner_deinit(&source->planner);
    leat_value_deinit(&source->values);
}

/* A copy of just that size, so that the sanitizers see a read beyond it. */
static uint8_t *copy_of(const void *data, size_t n_bytes) {
    uint8_t *copy = malloc(n_bytes + 1);

    assert(copy);
    if (n_bytes)
        memcpy(copy, data, n_bytes);
    return realloc(copy, n_bytes ? n_bytes : 1);
}

int source_probe(struct source *source, const void *data, size_t n_bytes, bool is_whole,
                 struct leat_error *err) {
    uint8_t *copy = copy_of(data, n_bytes);
    int r;

    if (source->has_planner)
        leat_planner_deinit(&source->planner);
    r = leat_planner_init(&source->planner);
    assert(r == 0);
    source->has_planner = true;
    r = source->ops->probe(source->config, copy, n_bytes, is_whole, "in", &source->planner, err);
    free(copy);
    source->ops->cutter(source->config, &source->cutter);
    source->cutter.max_record_bytes = 1 << 20;
    return r;
}

void source_schema(const struct source *source, struct leat_text *text) {
    for (uint32_t i = 0; i < source->planner.n_columns; i++) {
        const struct leat_field *field = &source->planner.fields[i];
        bool is_list = field->is_list && field->dtype != LEAT_DTYPE_TEXT;
        leat_text_add(text, is_list ? "%s%s:list<%s>" : "%s%s:%s", i ? " " : "", field->name,
                      leat_dtype_name(field->dtype));
    }
}

uint8_t *source_shorten(const struct source *source, const char *kind, const char *args,
                        const void *data, size_t *n_bytes, bool is_whole) {
    struct leat_text schema = {.data = NULL}, again = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT;
    uint8_t *head = copy_of(data, *n_bytes);
    size_t n_before = *n_bytes;
    struct source other;

    if (source->ops->shorten_head(source->config, head, n_bytes, is_whole, &err) < 0 ||
        *n_bytes > n_before || source_init(&other, kind, args, &err) < 0 ||
        source_probe(&other, head, *n_bytes, true, &err) < 0)
        abort();
    source_schema(source, &schema);
    source_schema(&other, &again);
    if (strcmp(schema.data ? schema.data : "", again.data ? again.data : "") != 0)
        abort();
    free(schema.data);
    free(again.data);
    source_deinit(&other);
    return head;
}

static void render_value(struct leat_text *text, const struct leat_field *field,
                         const struct leat_column *column, uint32_t row) {
    char buffer[LEAT_SCALAR_TEXT_MAX];
    uint32_t start = field->is_list ? column->starts[row] : row;
    uint32_t n = field->is_list ? column->lengths[row] : 1;

    if (field->dtype == LEAT_DTYPE_TEXT) {
        leat_text_add_bytes(text, (const uint8_t *)column->values + start, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t n_text = leat_scalar_print(column->values, field->dtype, start + i, buffer);
        leat_text_add(text, "%s%.*s", i ? " " : "", (int)n_text, buffer);
    }
}

static void render_rows(struct reader *reader, const struct leat_map *map) {
    const struct leat_planner *planner = &reader->source->planner;
    const struct leat_block *block = map->block;
    uint32_t n_bad = 0;

    for (uint32_t row = 0; row < block->n_rows; row++) {
        const char *separator = "";
        if (map->is_dropped[row]) {
            const struct leat_bad_record *bad = &block->bad[n_bad++];
            leat_text_add(reader->text, "! %llu:%u %s: %s\n", (unsigned long long)bad->line,
                          bad->column, bad->field ? bad->field : "", bad->message);
            continue;
        }
        for (uint32_t i = 0; i < planner->n_columns; i++) {
            if (!reader->is_needed[i])
                continue;
            leat_text_add(reader->text, "%s%s=", separator, planner->fields[i].name);
            render_value(reader->text, &planner->fields[i], &block->columns[i], row);
            separator = "|";
        }
        leat_text_add(reader->text, "\n");
    }
    assert(n_bad == block->n_bad);
}

static int by_record(const void *a, const void *b) {
    const struct leat_bad_record *x = a, *y = b;

    return (x->record > y->record) - (x->record < y->record);
}

static int parse_block(struct reader *reader, struct leat_block *block, const uint32_t *wanted,
                       struct leat_error *err) {
    const struct source *source = reader->source;
    struct leat_map map = {
        .block = block,
        .cutter = &source->cutter,
        .source = source->config,
        .wanted = wanted,
        .fields = source->planner.fields,
        .is_needed = reader->is_needed,
        .is_kept = reader->is_kept,
        .scratch = &reader->scratch,
        .file = "in",
        .is_dropped = calloc(block->n_rows + 1, sizeof(bool)),
    };
    int r = source->ops->parse(source->config, &map, err);

    assert(map.is_dropped && !map.is_out_of_memory);
    if (block->n_bad > 0)
        qsort(block->bad, block->n_bad, sizeof(*block->bad), by_record);
    if (r == 0)
        render_rows(reader, &map);
    free(map.is_dropped);
    return r;
}

/* Like index_records() of the MAP job. */
static int parse_cut(struct reader *reader, size_t start, const struct leat_cut *cut,
                     struct leat_error *err) {
    const struct source *source = reader->source;
    uint32_t n = (uint32_t)cut->n_records;
    uint32_t *starts = calloc(4 * (size_t)n + 1, sizeof(uint32_t)), *ends = starts + n;
    uint32_t *wanted = ends + 2 * (size_t)n;
    uint8_t *copy = copy_of(reader->data + start, cut->n_bytes);
    struct leat_column *columns = calloc(source->planner.n_columns + 1, sizeof(*columns));
    struct leat_block block = {
        .n_rows = n,
        .n_records = n,
        .n_columns = source->planner.n_columns,
        .columns = columns,
        .records = ends + n,
        .file_offset = start,
        .first_line = reader->line,
        .source = copy,
        .n_source_bytes = cut->n_bytes,
        .record_starts = starts,
        .record_ends = ends,
    };
    int r;

    assert(starts && columns);
    leat_arena_init(&block.kept);
    leat_arena_reset(&reader->scratch);
    for (uint32_t i = 0; i < n; i++)
        block.records[i] = i;
    r = leat_cutter_index(&source->cutter, copy, cut->n_bytes, starts, ends, n) == n ? 0 : -EIO;
    for (uint32_t i = 0, k = source->every / 2; source->every > 0 && i <= n;
         i++, k += source->every) {
        block.n_rows = block.n_records = i;
        if (k >= n)
            break;
        wanted[i] = k;
        starts[i] = starts[k];
        ends[i] = ends[k];
    }
    if (r == 0)
        r = parse_block(reader, &block, source->every > 0 ? wanted : NULL, err);
    leat_arena_deinit(&block.kept);
    free(columns);
    free(copy);
    free(starts);
    return r;
}

static int parse_from(struct reader *reader, size_t at, size_t n_bytes, size_t piece_bytes,
                      struct leat_error *err) {
    struct leat_cut cut;
    size_t n = piece_bytes;
    int r = 0;

    while (r == 0 && at < n_bytes) {
        bool is_last = n >= n_bytes - at;
        leat_cutter_cut(&reader->source->cutter, reader->data + at, is_last ? n_bytes - at : n,
                        is_last, &cut);
        assert(!cut.ends_midline);
        if (cut.n_bytes == 0) {
            n += piece_bytes;
            continue;
        }
        r = parse_cut(reader, at, &cut, err);
        reader->line += cut.n_lines;
        at += cut.n_bytes;
        n = piece_bytes;
    }
    return r;
}

int source_parse(struct source *source, const void *data, size_t n_bytes, size_t piece_bytes,
                 bool skips_odd, struct leat_text *text, struct leat_error *err) {
    struct reader *reader = calloc(1, sizeof(*reader));
    uint64_t n_lines;
    size_t n_skipped;
    int r;

    assert(reader);
    reader->source = source;
    reader->data = data;
    reader->text = text;
    for (uint32_t i = 0; i < source->planner.n_columns; i++) {
        reader->is_needed[i] = !skips_odd || i % 2 == 0;
        reader->is_kept[i] = i % 3 == 0;
    }
    r = source->ops->begin_file(source->config, data, n_bytes, true, "in", &n_skipped, &n_lines,
                                err);
    reader->line = 1 + n_lines;
    if (r == 0)
        r = parse_from(reader, n_skipped, n_bytes, piece_bytes ? piece_bytes : n_bytes + 1, err);
    leat_arena_deinit(&reader->scratch);
    free(reader);
    return r;
}

static void parse_twice(struct source *source, const uint8_t *data, size_t size,
                        size_t piece_bytes) {
    struct leat_text whole = {.data = NULL}, pieces = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT, again = LEAT_ERROR_INIT;
    int r = source_parse(source, data, size, 0, false, &whole, &err);

    if (source_parse(source, data, size, piece_bytes, false, &pieces, &again) != r ||
        whole.n_bytes != pieces.n_bytes ||
        (whole.n_bytes && memcmp(whole.data, pieces.data, whole.n_bytes) != 0))
        abort();
    free(whole.data);
    free(pieces.data);
}

int source_fuzz(const char *kind, const char *const *args, size_t n_args, const uint8_t *data,
                size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    const char *chosen;
    struct source source;
    size_t n_head;

    if (size < 2 || size > 65536)
        return 0;
    chosen = args[data[0] % n_args];
    if (source_init(&source, kind, chosen, &err) < 0)
        abort();
    if (source_probe(&source, data + 2, size - 2, true, &err) == 0) {
        parse_twice(&source, data + 2, size - 2, 1 + data[1]);
        n_head = size - 2;
        free(source_shorten(&source, kind, chosen, data + 2, &n_head, true));
    }
    source_deinit(&source);
    return 0;
}
