/* scan_route.c: the SCAN job on a route: it reads the spans of a table (span_table.h) in any order.
 * It jumps from span to span, and reads a span as if the file ended with it. It finds the records
 * that were counted, since records begin and end with a span, or the file has changed. See scan.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "pipeline/work/scan.h"
#include "pipeline/work/span_table.h"

void leat_scan_follow_route(struct leat_scan *scan, const struct leat_span_table *table,
                            const uint32_t *order) {
    scan->route.table = table;
    scan->route.order = order;
}

int leat_route_check(struct leat_scan_job *job, struct leat_error *err) {
    const struct leat_scan *scan = job->scan;
    int r = 0;

    for (size_t i = 0; r == 0 && i < scan->route.table->n_files && !job->is_outdated; i++) {
        struct leat_input *input = NULL;
        struct leat_file_state state;

        r = leat_input_open(scan->opener, scan->plan->source->files.paths[i], &scan->plan->limits,
                            &input, err);
        if (r < 0)
            return r;
        r = leat_input_state(input, &state, err);
        job->is_outdated = r == 0 && !leat_span_table_is_same(scan->route.table, i, &state);
        leat_input_close(input);
    }
    return r;
}

static void end_route(struct leat_scan *scan) {
    scan->input = leat_input_close(scan->input);
    scan->file = scan->end_file;
}

int leat_route_meet_file(const struct leat_scan *scan, struct leat_error *err) {
    struct leat_file_state state;
    int r = leat_input_state(scan->input, &state, err);

    if (r < 0 || leat_span_table_is_same(scan->route.table, scan->file, &state))
        return r;
    return leat_error_set(
        err, -ESTALE,
        "%s: the file changed while leat read its blocks; in the next epoch, leat uses the blocks "
        "of the changed file",
        scan->plan->source->files.paths[scan->file]);
}

int leat_route_enter(struct leat_scan *scan, struct leat_error *err) {
    struct leat_route *route = &scan->route;
    const struct leat_span *span;

    if (route->at == route->table->n_spans) {
        end_route(scan);
        return 0;
    }
    span = route->span = &route->table->spans[route->order[route->at++]];
    if (scan->input &&
        (scan->file != span->place.file || !leat_input_jump(scan->input, span->place.offset)))
        scan->input = leat_input_close(scan->input);
    scan->is_midway = !scan->input;
    scan->file = span->place.file;
    scan->piece_offset = span->place.offset;
    scan->line = span->place.line;
    scan->record = span->record;
    scan->is_skipping = false;
    scan->n_carry = 0;
    route->n_left = span->place.n_bytes;
    route->n_records = 0;
    return scan->input ? leat_route_meet_file(scan, err) : 0;
}

/* The table has exact places of whole records, unless a record is too long or what is read is not
 * the bytes of the file. */
int leat_route_take_place(struct leat_scan_job *job, size_t index, struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    const struct leat_span *span = scan->route.span;
    int r;

    if (!job->only_places || !span || span->place.is_damaged || span->place.ends_midline ||
        span->place.n_bytes > (uint64_t)scan->plan->options.block_bytes ||
        leat_input_has_records(scan->input))
        return 0;
    r = leat_input_seek(scan->input, &scan->n_to_pass, err);
    if (r != 0 || leat_input_format(scan->input))
        return r < 0 ? r : 0;
    job->pieces[index] = (struct leat_piece){.span = span->place, .record = span->record};
    scan->route.span = NULL;
    if (scan->route.at == scan->route.table->n_spans)
        end_route(scan);
    return 1;
}

int leat_route_leave(struct leat_scan_job *job, size_t index, bool at_end,
                     const struct leat_cut *piece, struct leat_error *err) {
    struct leat_scan *scan = job->scan;
    struct leat_route *route = &scan->route;
    const struct leat_span *span = route->span;

    route->n_records += piece->n_records;
    if (!at_end || (piece->ends_midline && scan->n_carry > 0))
        return 0;
    if (route->n_records != span->place.n_records)
        return leat_error_set(
            err, -ESTALE,
            "%s: the file has %llu records from line %llu on, but had %u before: it was changed",
            scan->plan->source->files.paths[scan->file], (unsigned long long)route->n_records,
            (unsigned long long)span->place.line, span->place.n_records);
    job->pieces[index].span.ends_midline |= span->place.ends_midline;
    route->span = NULL;
    if (route->at == route->table->n_spans)
        end_route(scan);
    return 0;
}

/* ---- counting ---- */

void leat_scan_count(struct leat_scan *scan, struct leat_span_table *table) {
    scan->counts = table;
}

static int count_all(struct leat_scan_job *job, uint64_t *n_bytes, struct leat_error *err) {
    int r = 0;

    while (r == 0 && !job->has_ended) {
        job->is_waiting = false;
        r = leat_scan_execute(job, n_bytes, err);
    }
    return r;
}

int leat_scan_count_files(const struct leat_plan *plan, const struct leat_opener *opener,
                          size_t first_file, size_t end_file, struct leat_span_table *table,
                          uint64_t *ret_n_bytes, struct leat_error *err) {
    struct leat_buffer buffer = {.data = NULL};
    struct leat_scan scan = {.plan = plan,
                             .opener = opener,
                             .line = 1,
                             .file = first_file,
                             .end_file = end_file,
                             .counts = table};
    struct leat_scan_job job = {
        .scan = &scan, .max_bytes = SIZE_MAX, .n_pieces = 1, .buffers = {&buffer}};
    int r;

    *ret_n_bytes = 0;
    r = count_all(&job, ret_n_bytes, err);
    leat_scan_stop(&scan);
    free(buffer.data);
    return r;
}
