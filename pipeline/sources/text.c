/* text.c: plain text: a document a line, a file, or between separators.
 *
 * A document is the bytes of its record. The column is a view of the source unless bytes are mended
 * or the column is kept.
 */
#include <errno.h>
#include <string.h>

#include "pipeline/stage/stage.h"

enum { DOCUMENT_LINE, DOCUMENT_FILE, DOCUMENT_SEPARATOR };

struct text {
    struct leat_source_config source;
    int document;
    const char *separator;
    const char *field;
    const char *file_field;

    uint32_t text_column, file_column;
};

static const char *const documents[] = {"line", "file", "separator", NULL};

static const struct leat_arg args[] = {
    LEAT_SOURCE_ARGS("replace"),
    LEAT_ARG(text, document, CHOICE,
             "what a document is; each document becomes a record; `line`: each line; `file`: each "
             "whole file; `separator`: the text between two separators; leat skips a document that "
             "contains only line ends",
             .fallback = "line", .choices = documents),
    LEAT_ARG(text, separator, TEXT,
             "the bytes between two documents, such as \"\\n\\n\"; leat leaves them out "
             "of the documents"),
    LEAT_ARG(text, field, FIELD, "name of the field for the document", .fallback = "text"),
    LEAT_ARG(text, file_field, FIELD,
             "name of a field for the path of the document's file, in the form that `paths` uses"),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct text *self = (const struct text *)config;
    size_t n = self->separator ? strlen(self->separator) : 0;

    if (self->document == DOCUMENT_SEPARATOR && n == 0)
        return leat_config_error(config, "separator", err,
                                 "`document: separator` needs a `separator`, such as \"\\n\\n\"");
    if (self->document != DOCUMENT_SEPARATOR && self->separator)
        return leat_config_error(config, "separator", err, "works only with `document: separator`");
    if (n > LEAT_CUTTER_SEPARATOR_MAX)
        return leat_config_error(config, "separator", err, "has %zu bytes; at most %d are possible",
                                 n, LEAT_CUTTER_SEPARATOR_MAX);
    if (self->file_field && strcmp(self->file_field, self->field) == 0)
        return leat_config_error(config, "file_field", err,
                                 "has the same name as `field`, \"%s\": choose another",
                                 self->field);
    return 0;
}

static void cutter(const struct leat_config *config, struct leat_cutter *ret_cutter) {
    static const enum leat_cutter_kind kinds[] = {
        [DOCUMENT_LINE] = LEAT_CUTTER_LINES,
        [DOCUMENT_FILE] = LEAT_CUTTER_WHOLE,
        [DOCUMENT_SEPARATOR] = LEAT_CUTTER_SEPARATOR,
    };
    const struct text *self = (const struct text *)config;

    *ret_cutter = (struct leat_cutter){.kind = kinds[self->document], .separator = self->separator};
    if (self->separator)
        ret_cutter->n_separator = (uint32_t)strlen(self->separator);
}

static int probe(struct leat_config *config, const uint8_t *head, size_t n_bytes, bool is_whole,
                 const char *file, struct leat_planner *planner, struct leat_error *err) {
    struct text *self = (struct text *)config;
    int r = leat_planner_add(planner, config, "field", self->field, LEAT_DTYPE_TEXT, true,
                             &self->text_column, NULL, err);

    (void)head;
    (void)n_bytes;
    (void)is_whole;
    (void)file;
    if (r == 0 && self->file_field)
        r = leat_planner_add(planner, config, "file_field", self->file_field, LEAT_DTYPE_TEXT, true,
                             &self->file_column, NULL, err);
    return r;
}

static int shorten_head(const struct leat_config *config, uint8_t *head, size_t *n_bytes,
                        bool is_whole, struct leat_error *err) {
    (void)config;
    (void)head;
    (void)is_whole;
    (void)err;
    *n_bytes = 0;
    return 0;
}

/* File names are not part of the data's digest. */
static void digest(const struct leat_config *config, struct leat_blake2b *state) {
    const struct text *self = (const struct text *)config;
    const struct leat_files *files = &self->source.files;

    for (size_t i = 0; self->file_field && i < files->n_paths; i++)
        leat_blake2b_text(state, files->names[i]);
}

/* ---- records ---- */

static int name_file(const struct text *self, struct leat_map *map) {
    struct leat_column *column = leat_map_column(map, self->file_column);
    size_t n = strlen(map->file);

    if (leat_map_make_views(map, self->file_column) < 0)
        return -ENOMEM;
    column->values = leat_map_alloc(map, self->file_column, n + LEAT_SOURCE_SLACK);
    if (!column->values)
        return -ENOMEM;
    memcpy(column->values, map->file, n);
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        column->starts[row] = 0;
        column->lengths[row] = (uint32_t)n;
    }
    return 0;
}

static bool is_too_long(struct leat_map *map, uint32_t row) {
    const struct leat_source_record record = leat_source_record(map, row);

    return record.n_bytes >= map->cutter->max_record_bytes &&
           leat_source_reject_malformed(map, row, &record);
}

static void view_records(const struct text *self, struct leat_map *map) {
    struct leat_column *column = leat_map_column(map, self->text_column);
    const struct leat_block *block = map->block;

    column->values = (void *)(uintptr_t)block->source;
    for (uint32_t row = 0; row < block->n_rows; row++) {
        bool is_bad = is_too_long(map, row);
        column->starts[row] = is_bad ? 0 : block->record_starts[row];
        column->lengths[row] = is_bad ? 0 : block->record_ends[row] - block->record_starts[row];
    }
}

static int copy_records(const struct text *self, struct leat_map *map, bool is_utf8) {
    struct leat_column *column = leat_map_column(map, self->text_column);
    size_t longest = is_utf8 ? 1 : LEAT_SOURCE_MENDED_MAX;
    uint8_t *out = leat_map_alloc(map, self->text_column,
                                  map->block->n_source_bytes * longest + LEAT_SOURCE_SLACK);
    uint32_t n_out = 0;

    column->values = out;
    if (!out)
        return -ENOMEM;
    for (uint32_t row = 0; row < map->block->n_rows; row++) {
        struct leat_source_record record = leat_source_record(map, row);
        int r = is_too_long(map, row) ? -EILSEQ : 0;

        if (r == 0 && !is_utf8)
            r = leat_source_mend(&self->source, map, row, &record);
        if (r == -ENOMEM)
            return r;
        column->starts[row] = n_out;
        column->lengths[row] = r == 0 ? (uint32_t)record.n_bytes : 0;
        if (r == 0)
            memcpy(out + n_out, record.bytes, record.n_bytes);
        n_out += column->lengths[row];
    }
    return 0;
}

static int parse(const struct leat_config *config, struct leat_map *map, struct leat_error *err) {
    const struct text *self = (const struct text *)config;
    bool is_utf8 = leat_source_is_utf8(map);
    int r = 0;

    if (map->is_needed[self->text_column] && leat_map_make_views(map, self->text_column) < 0)
        r = -ENOMEM;
    else if (map->is_needed[self->text_column] && is_utf8 && !map->is_kept[self->text_column])
        view_records(self, map);
    else if (map->is_needed[self->text_column])
        r = copy_records(self, map, is_utf8);
    if (r == 0 && self->file_field && map->is_needed[self->file_column])
        r = name_file(self, map);
    return r < 0 ? leat_error_oom(err) : 0;
}

const struct leat_stage_ops leat_source_text = {
    LEAT_STAGE_BASE("text", text, SOURCE),
    .summary =
        "reads plain text: each line, each file, or each part between separators is a record",
    .example = "{ paths: [books/], suffix: .txt, document: file, file_field: book }",
    .suffixes =
        (const struct leat_source_suffix[]){{.text = ".txt"}, {.text = ".md"}, {.text = NULL}},
    .check = check,
    .load = leat_source_load,
    .unload = leat_source_unload,
    .digest = digest,
    .probe = probe,
    .shorten_head = shorten_head,
    .cutter = cutter,
    .begin_file = leat_source_begin_file,
    .parse = parse,
};
