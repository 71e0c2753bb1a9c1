/* skip_records.c: see skip_records.h.
 *
 * A record's number is that of a pass, so all records in front of a line are counted: the files of
 * its source are scanned up to the one that is named (span_table.h). Then the spans that hold some
 * of the lines are index.
 */
#include "pipeline/work/skip_records.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/skips_internal.h"
#include "pipeline/work/scan.h"
#include "pipeline/work/span_table.h"

/* The lines of a file that item `index` names. */
struct wanted {
    size_t index, file;
    uint64_t first, last;
};

struct resolving {
    struct leat_plan *plan;
    const struct leat_opener *opener;
    struct wanted *wanted; /* [n_wanted] */
    size_t n_wanted;
};

static const char *item(const struct leat_plan *plan, size_t index) {
    return plan->options.skip_records.items[index];
}

static int fail_item(const struct leat_plan *plan, size_t index, const char *wrong,
                     struct leat_error *err) {
    return leat_skips_error(&plan->options.base, "skip_records", index, item(plan, index), wrong,
                            err);
}

/* True if name is the path, or the end of it from a directory on. */
static bool names(const char *path, const char *name, size_t n_name) {
    size_t n = strlen(path);

    while (n_name > 2 && name[0] == '.' && name[1] == '/') {
        name += 2;
        n_name -= 2;
    }
    if (n < n_name || memcmp(path + n - n_name, name, n_name) != 0)
        return false;
    return n == n_name || path[n - n_name - 1] == '/';
}

static int find_file(const struct leat_plan *plan, size_t index, size_t n_name, size_t *ret_file,
                     struct leat_error *err) {
    const struct leat_files *files = &plan->source->files;
    size_t n_found = 0;

    for (size_t i = 0; i < files->n_paths; i++) {
        if (!names(files->paths[i], item(plan, index), n_name))
            continue;
        if (n_found++ == 0)
            *ret_file = i;
    }
    if (n_found == 0)
        return fail_item(plan, index, "names no file of the source", err);
    if (n_found > 1)
        return fail_item(plan, index, "names several files of the source: give more of the path",
                         err);
    return 0;
}

static int add_item(struct resolving *resolving, size_t index, struct leat_error *err) {
    struct leat_plan *plan = resolving->plan;
    struct leat_skip_range range;
    size_t n_file, file = 0;
    int r = leat_skips_parse_record(item(plan, index), &n_file, &range);

    if (r < 0)
        return r;
    if (n_file == 0 && plan->mixing)
        return fail_item(
            plan, index,
            "is a record number, but mixed sources need file:line, such as data.csv:17", err);
    if (n_file == 0)
        return leat_skip_list_add(&plan->skips.records, &range) < 0 ? leat_error_oom(err) : 0;
    if (plan->is_one_pass)
        return fail_item(plan, index,
                         "is a line of a FIFO, which leat cannot count beforehand: give the number "
                         "of the record",
                         err);
    r = find_file(plan, index, n_file, &file, err);
    if (r < 0)
        return r;
    resolving->wanted[resolving->n_wanted++] =
        (struct wanted){.index = index, .file = file, .first = range.first, .last = range.last};
    return 0;
}

static int add_records(struct leat_plan *plan, uint64_t lane, uint64_t first, uint64_t n,
                       uint64_t *n_found, struct leat_error *err) {
    struct leat_skip_range range = {.group = lane, .first = first, .last = first + n - 1};

    *n_found += n;
    return leat_skip_list_add(&plan->skips.records, &range) < 0 ? leat_error_oom(err) : 0;
}

/* Adds the records of the span that have one of the lines. */
static int add_some(const struct resolving *resolving, const struct leat_span *span, uint64_t lane,
                    const struct wanted *wanted, uint64_t *n_found, struct leat_error *err) {
    const struct leat_cutter *cutter =
        &leat_plan_source_of(resolving->plan, span->place.file)->cutter;
    struct leat_piece_index index;
    uint64_t line = span->place.line;
    size_t at = 0;
    int r = leat_piece_index_read(&index, resolving->plan, resolving->opener, &span->place, err);

    for (uint32_t i = 0; r == 0 && i < span->place.n_records && line <= wanted->last; i++) {
        const uint8_t *data = index.buffer.data;
        uint64_t end;

        line += leat_cutter_lines(cutter, data + at, index.starts[i] - at, i > 0);
        at = index.starts[i];
        end = line + leat_cutter_lines(cutter, data + at, index.ends[i] - at, 0);
        if (line <= wanted->last && end >= wanted->first)
            r = add_records(resolving->plan, lane, span->record + i, 1, n_found, err);
    }
    leat_piece_index_deinit(&index);
    return r;
}

static int add_span(const struct resolving *resolving, const struct leat_span *span, uint64_t lane,
                    const struct wanted *wanted, uint64_t *n_found, struct leat_error *err) {
    const struct leat_cache_span *place = &span->place;
    uint64_t end = place->line + place->n_lines;

    if (place->file != wanted->file || place->line > wanted->last || end < wanted->first ||
        place->n_records == 0)
        return 0;
    if (place->is_damaged || (place->line >= wanted->first && end <= wanted->last))
        return add_records(resolving->plan, lane, span->record, place->n_records, n_found, err);
    return add_some(resolving, span, lane, wanted, n_found, err);
}

static int resolve_lane(const struct resolving *resolving, uint32_t lane, struct leat_error *err) {
    struct leat_plan *plan = resolving->plan;
    size_t first = 0, end = plan->source->files.n_paths, wanted_end = 0;
    struct leat_span_table table;
    uint64_t n_bytes;
    int r = 0;

    if (plan->mixing)
        leat_plan_lane_files(plan, lane, &first, &end);
    for (size_t i = 0; i < resolving->n_wanted; i++) {
        size_t file = resolving->wanted[i].file;

        if (file >= first && file < end && file >= wanted_end)
            wanted_end = file + 1;
    }
    if (wanted_end == 0)
        return 0;
    leat_span_table_init(&table, 0);
    r = leat_scan_count_files(plan, resolving->opener, first, wanted_end, &table, &n_bytes, err);
    for (size_t i = 0; r == 0 && i < resolving->n_wanted; i++) {
        const struct wanted *wanted = &resolving->wanted[i];
        uint64_t n_found = 0;

        if (wanted->file < first || wanted->file >= end)
            continue;
        for (size_t k = 0; r == 0 && k < table.n_spans; k++)
            r = add_span(resolving, &table.spans[k], lane, wanted, &n_found, err);
        if (r == 0 && n_found == 0)
            r = fail_item(plan, wanted->index, "is a line without a record", err);
    }
    leat_span_table_deinit(&table);
    return r;
}

int leat_skip_records_load(struct leat_plan *plan, const struct leat_opener *opener,
                           struct leat_error *err) {
    size_t n_items = plan->options.skip_records.n_items;
    uint32_t n_lanes = plan->mixing ? (uint32_t)plan->mixing->n_lanes : 1;
    struct resolving resolving = {.plan = plan, .opener = opener};
    int r = 0;

    if (n_items > 0) {
        resolving.wanted = calloc(n_items, sizeof(*resolving.wanted));
        if (!resolving.wanted)
            return leat_error_oom(err);
    }
    for (size_t i = 0; r == 0 && i < n_items; i++)
        r = add_item(&resolving, i, err);
    for (uint32_t lane = 0; r == 0 && lane < n_lanes; lane++)
        r = resolve_lane(&resolving, lane, err);
    free(resolving.wanted);
    leat_skip_list_sort(&plan->skips.records);
    leat_skips_digest(&plan->skips, plan->skips_digest);
    plan->skips.has_records = r == 0;
    return r;
}
