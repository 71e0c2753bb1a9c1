/* source.c: what all sources have in common: a list of files, a byte order mark, and what becomes
 * of bytes that are no UTF-8.
 *
 * Those are replaced as everybody replaces them (Unicode 15, section 3.9, "U+FFFD substitution of
 * maximal subparts"): what begins like a character and does not end like one is one U+FFFD.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stage/stage.h"
#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/utf8.h"

#define REPLACEMENT       "\xef\xbf\xbd"
#define REPLACEMENT_BYTES 3

const char *const leat_invalid_utf8_choices[] = {"replace", "fail", NULL};

void leat_composite_unload(struct leat_config *config) {
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

/* ---- UTF-8 ---- */

/* Bytes at text[0], which begins no character, that one U+FFFD stands for: as many as could be the
 * beginning of one. */
static size_t bad_bytes(const uint8_t *text, size_t n) {
    size_t n_good = 1, n_whole = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;

    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 1;
    for (; n_good < n && n_good < n_whole; n_good++) {
        uint8_t whole[4] = {0x80, 0x80, 0x80, 0x80};

        memcpy(whole, text, n_good + 1);
        if (leat_utf8_length(whole, n_whole) != n_whole)
            break;
    }
    return n_good;
}

/* Where the first bytes stand that are no UTF-8. */
static size_t first_bad(const uint8_t *text, size_t n) {
    size_t i = 0;

    while (i < n && (text[i] < 0x80 || leat_utf8_length(text + i, n - i) > 1))
        i += leat_utf8_length(text + i, n - i);
    return i;
}

/* Into `out`, of REPLACEMENT_BYTES * n at least: the number of bytes. */
static size_t mend(const uint8_t *text, size_t n, uint8_t *out) {
    size_t n_out = 0, i = 0;

    while (i < n) {
        size_t n_one = leat_utf8_length(text + i, n - i);

        if (n_one > 1 || text[i] < 0x80) {
            memcpy(out + n_out, text + i, n_one);
            n_out += n_one;
        } else {
            n_one = bad_bytes(text + i, n - i);
            memcpy(out + n_out, REPLACEMENT, REPLACEMENT_BYTES);
            n_out += REPLACEMENT_BYTES;
        }
        i += n_one;
    }
    return n_out;
}

bool leat_source_is_utf8(const struct leat_map *map) {
    return leat_json_is_utf8(map->block->source, map->block->n_source_bytes);
}

static void reject_utf8(struct leat_map *map, uint32_t row, const uint8_t *record, size_t n) {
    size_t at = first_bad(record, n), line_start = at;
    uint32_t line = 0;

    while (line_start > 0 && record[line_start - 1] != '\n')
        line_start--;
    for (size_t i = 0; i < line_start; i++)
        line += record[i] == '\n';
    leat_map_reject_at(map, row, line, (uint32_t)(at - line_start) + 1,
                       "the record is not UTF-8: it has the byte 0x%02x here", record[at]);
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
