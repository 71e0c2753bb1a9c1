/* source.c: what all sources have in common: a list of files, a byte order mark, and the mending of
 * bytes that are not UTF-8 (Unicode 15, section 3.9, "U+FFFD substitution of maximal subparts"). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stage/stage.h"
#include "pipeline/tokenizer/json.h"
#include "proto/base/utf8.h"

#define REPLACEMENT       "\xef\xbf\xbd"
#define REPLACEMENT_BYTES 3

const char *const leat_invalid_utf8_choices[] = {"replace", "fail", NULL};

void leat_source_unload(struct leat_config *config) {
    leat_files_deinit(&((struct leat_source_config *)config)->files);
}

int leat_source_load(struct leat_config *config, const struct leat_opener *opener,
                     struct leat_error *err) {
    struct leat_source_config *self = (struct leat_source_config *)config;
    char *directory = config->file ? leat_files_directory(config->file) : NULL;
    int r;

    if (config->file && !directory)
        return leat_error_oom(err);
    r = leat_files_expand(&self->files, (const char *const *)self->paths.items, self->paths.n_items,
                          directory, &self->suffixes, opener, err);
    free(directory);
    if (r == 0 && self->files.n_paths == 0)
        r = leat_config_error(config, "paths", err, "no file matches");
    return r;
}

int leat_source_begin_file(const struct leat_config *config, const uint8_t *head, size_t n_bytes,
                           bool is_whole, const char *file, size_t *ret_skip, uint64_t *ret_lines,
                           struct leat_error *err) {
    (void)config;
    (void)file;
    (void)err;
    *ret_skip = leat_source_bom(head, n_bytes);
    *ret_lines = 0;
    return n_bytes < LEAT_SOURCE_BOM_BYTES && !is_whole ? -EAGAIN : 0;
}

size_t leat_source_bom(const uint8_t *head, size_t n_bytes) {
    bool has_bom = n_bytes >= LEAT_SOURCE_BOM_BYTES &&
                   memcmp(head, "\xef\xbb\xbf", LEAT_SOURCE_BOM_BYTES) == 0;

    return has_bom ? LEAT_SOURCE_BOM_BYTES : 0;
}

bool leat_source_reject_malformed(struct leat_map *map, uint32_t row,
                                  const struct leat_source_record *record) {
    uint32_t line = 0, column = 0;
    const char *wrong =
        leat_cutter_check(map->cutter, record->bytes, record->n_bytes, &line, &column);

    if (wrong)
        leat_map_reject_at(map, row, line, column, "the record %s", wrong);
    return wrong != NULL;
}

/* ---- UTF-8 ---- */

/* Writes to `out`, of REPLACEMENT_BYTES * n at least; returns the number of bytes. */
static size_t mend(const uint8_t *text, size_t n, uint8_t *out) {
    size_t n_out = 0, i = 0;

    while (i < n) {
        size_t n_valid = leat_utf8_span(text + i, n - i);

        memcpy(out + n_out, text + i, n_valid);
        n_out += n_valid;
        i += n_valid;
        if (i == n)
            break;
        memcpy(out + n_out, REPLACEMENT, REPLACEMENT_BYTES);
        n_out += REPLACEMENT_BYTES;
        i += leat_utf8_broken(text + i, n - i);
    }
    return n_out;
}

bool leat_source_is_utf8(const struct leat_map *map) {
    return leat_json_is_utf8(map->block->source, map->block->n_source_bytes);
}

static void reject_utf8(struct leat_map *map, uint32_t row, const uint8_t *record, size_t n) {
    size_t at = leat_utf8_span(record, n), line_start = at;
    uint32_t line = 0;

    while (line_start > 0 && record[line_start - 1] != '\n')
        line_start--;
    for (size_t i = 0; i < line_start; i++)
        line += record[i] == '\n';
    leat_map_reject_at(map, row, line, (uint32_t)(at - line_start) + 1,
                       "the record is not valid UTF-8: it has byte 0x%02x here", record[at]);
}

int leat_source_mend(const struct leat_source_config *source, struct leat_map *map, uint32_t row,
                     struct leat_source_record *record) {
    uint8_t *out;

    if (leat_json_is_utf8(record->bytes, record->n_bytes))
        return 0;
    if (source->invalid_utf8 == LEAT_INVALID_UTF8_FAIL) {
        reject_utf8(map, row, record->bytes, record->n_bytes);
        return -EILSEQ;
    }
    out = leat_arena_alloc(map->scratch, record->n_bytes * REPLACEMENT_BYTES + LEAT_SOURCE_SLACK);
    if (!out)
        return -ENOMEM;
    record->n_bytes = mend(record->bytes, record->n_bytes, out);
    record->n_readable = record->n_bytes + LEAT_SOURCE_SLACK;
    record->bytes = out;
    return 0;
}
