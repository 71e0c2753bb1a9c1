/* shared_cut.c: see shared_cut.h. */
#include "tests/pipeline/shared_cut.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void cut_list_init(struct cut_list *list, size_t n_bytes) {
    *list = (struct cut_list){
        .starts = calloc(n_bytes + 1, sizeof(uint32_t)),
        .ends = calloc(n_bytes + 1, sizeof(uint32_t)),
    };
    assert(list->starts && list->ends);
}

void cut_list_deinit(struct cut_list *list) {
    free(list->starts);
    free(list->ends);
}

static size_t line_end(const uint8_t *data, size_t at, size_t limit) {
    while (at < limit && data[at] != '\n')
        at++;
    return at < limit ? at + 1 : 0;
}

/* Behind the LF that ends the record at `at`, or 0; *ret_open: a quote is open at the limit. */
static size_t csv_end(const struct leat_cutter *cutter, const uint8_t *data, size_t at,
                      size_t limit, bool *ret_open) {
    bool is_quoted = false, at_field = true;

    for (; at < limit; at++) {
        bool is_quote = cutter->quote && data[at] == cutter->quote;
        if (is_quoted && is_quote && at + 1 < limit && data[at + 1] == cutter->quote) {
            at++;
        } else if (is_quoted && is_quote) {
            is_quoted = false;
        } else if (!is_quoted && is_quote && at_field) {
            is_quoted = true;
        } else if (!is_quoted && data[at] == '\n') {
            return at + 1;
        }
        at_field = !is_quoted && data[at] == cutter->delimiter;
    }
    *ret_open = is_quoted;
    return 0;
}

/* Adds data[start .. end) without its line end. */
static void add(struct cut_list *list, const uint8_t *data, size_t start, size_t end,
                bool is_cut_off) {
    if (!is_cut_off && end > start && data[end - 1] == '\n')
        end--;
    if (!is_cut_off && end > start && data[end - 1] == '\r')
        end--;
    if (end == start)
        return;
    list->starts[list->n_records] = (uint32_t)start;
    list->ends[list->n_records++] = (uint32_t)end;
}

/* Where the separator is, or `limit`. */
static size_t separator_at(const struct leat_cutter *cutter, const uint8_t *data, size_t at,
                           size_t limit) {
    for (; cutter->kind == LEAT_CUTTER_SEPARATOR && at + cutter->n_separator <= limit; at++)
        if (memcmp(data + at, cutter->separator, cutter->n_separator) == 0)
            return at;
    return limit;
}

static void documents_by_definition(const struct leat_cutter *cutter, const uint8_t *data,
                                    size_t n_bytes, struct cut_list *ret_list) {
    size_t start = 0;

    while (start < n_bytes) {
        bool is_short = n_bytes - start < cutter->max_record_bytes, is_blank = true;
        size_t limit = is_short ? n_bytes : start + cutter->max_record_bytes;
        size_t end = separator_at(cutter, data, start, limit), next;
        for (size_t i = start; i < end; i++)
            is_blank &= data[i] == '\n' || data[i] == '\r';
        if (!is_blank) {
            ret_list->starts[ret_list->n_records] = (uint32_t)start;
            ret_list->ends[ret_list->n_records++] = (uint32_t)end;
        }
        next = end;
        if (end == limit && !is_short)
            next = separator_at(cutter, data, end, n_bytes);
        start = next < n_bytes && (end < limit || !is_short) ? next + cutter->n_separator : n_bytes;
    }
}

void cut_by_definition(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                       struct cut_list *ret_list) {
    size_t max = cutter->max_record_bytes, start = 0;

    if (cutter->kind >= LEAT_CUTTER_SEPARATOR) {
        documents_by_definition(cutter, data, n_bytes, ret_list);
        start = n_bytes;
    }
    while (start < n_bytes) {
        bool is_short = n_bytes - start < max, is_open = false;
        size_t limit = is_short ? n_bytes : start + max;
        size_t first_line = line_end(data, start, limit);
        size_t end = cutter->kind == LEAT_CUTTER_CSV ? csv_end(cutter, data, start, limit, &is_open)
                                                     : first_line;
        if (!end && is_short && !is_open)
            end = n_bytes;
        if (!end)
            end = first_line;
        if (!end)
            end = limit;
        add(ret_list, data, start, end, end - start == max && data[end - 1] != '\n');
        if (data[end - 1] != '\n' && end < n_bytes) {
            end = line_end(data, end, n_bytes);
            end = end ? end : n_bytes;
        }
        start = end;
    }
    for (size_t i = 0; i < n_bytes; i++)
        ret_list->n_lines += data[i] == '\n';
}

static void add_cut(const struct leat_cutter *cutter, const uint8_t *data, size_t start,
                    const struct leat_cut *cut, struct cut_list *list) {
    uint8_t *copy = malloc(cut->n_bytes + 1); /* of just that size, for the sanitizers */
    size_t n;

    assert(copy);
    memcpy(copy, data + start, cut->n_bytes);
    n = leat_cutter_index(cutter, copy, cut->n_bytes, list->starts + list->n_records,
                          list->ends + list->n_records, cut->n_records);
    assert(n == cut->n_records);
    for (size_t i = list->n_records; i < list->n_records + n; i++) {
        list->starts[i] += (uint32_t)start;
        list->ends[i] += (uint32_t)start;
    }
    list->n_records += n;
    list->n_lines += cut->n_lines;
    free(copy);
}

void cut_in_pieces(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                   const size_t *piece_bytes, size_t n_pieces, struct cut_list *ret_list) {
    size_t start = 0, end = 0, i = 0;
    bool is_midline = false;

    do {
        size_t n = n_pieces ? piece_bytes[i++ % n_pieces] : n_bytes;
        struct leat_cut cut;
        if (end < n_bytes)
            end = n < n_bytes - end ? end + n : n_bytes;
        if (is_midline) {
            uint64_t n_lines;
            bool is_done;
            start += leat_cutter_skip(cutter, data + start, end - start, end == n_bytes, &n_lines,
                                      &is_done);
            ret_list->n_lines += n_lines;
            is_midline = !is_done;
            if (is_midline)
                continue;
        }
        leat_cutter_cut(cutter, data + start, end - start, end == n_bytes, &cut);
        assert(cut.n_bytes > 0 || end - start < cutter->max_record_bytes);
        add_cut(cutter, data, start, &cut, ret_list);
        start += cut.n_bytes;
        if (cut.ends_midline)
            is_midline = true;
    } while (end < n_bytes || start < end);
}

bool cut_lists_equal(const struct cut_list *a, const struct cut_list *b) {
    size_t n = a->n_records * sizeof(*a->starts);

    return a->n_records == b->n_records && a->n_lines == b->n_lines &&
           memcmp(a->starts, b->starts, n) == 0 && memcmp(a->ends, b->ends, n) == 0;
}
