/* places.c: see places.h. A run is driven until the batch is pending. What its blocks know of their
 * records is noted, then each piece of the source that has one of them is read and cut again. */
#include "pipeline/inspect/places.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/order/batch_refs.h"
#include "pipeline/run/pipeline.h"
#include "pipeline/work/scan.h"

/* A place, and the piece that its record is in. */
struct lookup {
    struct leat_place place;
    struct leat_cache_span span;
    uint32_t index; /* of the record in it */
};

struct lookups {
    struct lookup *items;
    size_t n_items;
};

static void note_row(struct lookups *lookups, const struct leat_ref *ref, uint32_t row,
                     uint32_t part) {
    const struct leat_block *block = ref->block;
    uint64_t record = leat_block_record(block, ref->row);

    lookups->items[lookups->n_items++] = (struct lookup){
        .place = {.row = row,
                  .part = part,
                  .file = block->file,
                  .record = record,
                  .start = ref->start,
                  .length = ref->length},
        .span = {.file = block->file,
                 .n_records = block->n_records,
                 .offset = block->file_offset,
                 .n_bytes = block->n_source_bytes,
                 .line = block->first_line},
        .index = (uint32_t)(record - block->first_record),
    };
}

static int note_batch(struct leat_batch_refs *batch, struct lookups *lookups,
                      struct leat_error *err) {
    size_t n = 0;
    uint32_t n_refs;

    for (uint32_t i = 0; i < batch->n_refs; i++) {
        (void)leat_ref_parts(&batch->refs[i], &n_refs);
        n += n_refs;
    }
    lookups->items = calloc(n, sizeof(*lookups->items));
    if (!lookups->items)
        return leat_error_oom(err);
    for (uint32_t i = 0; i < batch->n_refs; i++) {
        const struct leat_ref *refs = leat_ref_parts(&batch->refs[i], &n_refs);

        for (uint32_t k = 0; k < n_refs; k++)
            note_row(lookups, &refs[k], i, k);
    }
    return 0;
}

static int by_piece(const void *a, const void *b) {
    const struct lookup *x = a, *y = b;

    if (x->span.file != y->span.file)
        return (x->span.file > y->span.file) - (x->span.file < y->span.file);
    if (x->span.offset != y->span.offset)
        return (x->span.offset > y->span.offset) - (x->span.offset < y->span.offset);
    return (x->index > y->index) - (x->index < y->index);
}

static int by_row(const void *a, const void *b) {
    const struct lookup *x = a, *y = b;

    if (x->place.row != y->place.row)
        return (x->place.row > y->place.row) - (x->place.row < y->place.row);
    return (x->place.part > y->place.part) - (x->place.part < y->place.part);
}

/* Finds the items of one piece, which are sorted by record. */
static int look_up_piece(const struct leat_plan *plan, const struct leat_opener *opener,
                         struct lookup *items, size_t n, struct leat_error *err) {
    const struct leat_cache_span *span = &items->span;
    const struct leat_cutter *cutter = &leat_plan_source_of(plan, span->file)->cutter;
    struct leat_piece_index index;
    uint64_t line = span->line;
    uint32_t n_passed = 0;
    size_t at = 0;
    int r = leat_piece_index_read(&index, plan, opener, span, err);

    for (size_t i = 0; r == 0 && i < n; i++) {
        uint32_t start = index.starts[items[i].index], end = index.ends[items[i].index];
        struct leat_place *place = &items[i].place;

        line += leat_cutter_lines(cutter, index.buffer.data + at, start - at,
                                  items[i].index - n_passed);
        at = start;
        n_passed = items[i].index;
        place->line = line;
        place->n_lines = 1 + leat_cutter_lines(cutter, index.buffer.data + start, end - start, 0);
        place->offset = span->offset + start;
        place->n_bytes = end - start;
    }
    leat_piece_index_deinit(&index);
    return r;
}

static int look_up(const struct leat_plan *plan, const struct leat_opener *opener,
                   struct lookups *lookups, struct leat_error *err) {
    size_t n = 1;
    int r = 0;

    qsort(lookups->items, lookups->n_items, sizeof(*lookups->items), by_piece);
    for (size_t i = 0; r == 0 && i < lookups->n_items; i += n) {
        const struct leat_cache_span *first = &lookups->items[i].span;

        for (n = 1; i + n < lookups->n_items; n++)
            if (lookups->items[i + n].span.file != first->file ||
                lookups->items[i + n].span.offset != first->offset)
                break;
        r = look_up_piece(plan, opener, &lookups->items[i], n, err);
    }
    qsort(lookups->items, lookups->n_items, sizeof(*lookups->items), by_row);
    return r;
}

static int no_step(const struct leat_places_options *options, uint64_t n_steps,
                   struct leat_error *err) {
    return leat_error_set(err, -ERANGE,
                          "step %llu does not exist: epoch %llu has %llu steps, numbered from 0",
                          (unsigned long long)options->step, (unsigned long long)options->epoch,
                          (unsigned long long)n_steps);
}

/* Notes the rows of the first pending batch. 1: there is none yet. */
static int take_first(struct leat_run *run, const struct leat_places_options *options,
                      struct lookups *lookups, uint32_t *ret_n_rows, struct leat_error *err) {
    struct leat_batch_refs *first = leat_run_first_waiting(run);
    struct leat_output output;

    if (leat_run_take_output(run, &output))
        return no_step(options, output.step, err);
    if (!first)
        return 1;
    if (first->kind == LEAT_OUTPUT_EPOCH_END)
        return no_step(options, first->step, err);
    if (first->epoch != options->epoch || first->step != options->step)
        return leat_error_set(err, -ENODATA,
                              "epoch %llu, step %llu has no batch: `skip_steps` leaves out this "
                              "step, or `skip_records` leaves out all its rows",
                              (unsigned long long)options->epoch,
                              (unsigned long long)options->step);
    *ret_n_rows = first->n_refs;
    return note_batch(first, lookups, err);
}

static int drive(struct leat_run *run, const struct leat_places_options *options,
                 struct lookups *lookups, uint32_t *ret_n_rows, struct leat_error *err) {
    int r = 1;

    while (r == 1) {
        int next = leat_pipeline_step(run);

        (void)leat_run_first_waiting(run);
        if (leat_run_error(run)) {
            *err = *leat_run_error(run);
            return err->code;
        }
        r = take_first(run, options, lookups, ret_n_rows, err);
        assert(r != 1 || next == LEAT_RUN_JOB);
    }
    return r;
}

static int find_lookups(struct leat_plan *plan, const struct leat_opener *opener,
                        const struct leat_places_options *options, struct lookups *lookups,
                        uint32_t *ret_n_rows, struct leat_error *err) {
    uint64_t world_size = options->world_size ? options->world_size : 1;
    struct leat_run_options how = {
        .first_epoch = options->epoch,
        .first_step = options->step,
        .n_epochs = 1,
        .n_steps = 1,
        .first_rank = options->step % world_size,
        .world_size = world_size,
        .has_seed = options->has_seed,
        .seed = options->seed,
        .max_map_jobs = 1,
        .only_places = true,
        .opener = opener,
    };
    struct leat_run *run = NULL;
    int r = leat_run_new(plan, &how, &run, err);

    if (r < 0)
        return r;
    r = drive(run, options, lookups, ret_n_rows, err);
    leat_pipeline_stop(run);
    leat_run_free(run);
    return r < 0 ? r : look_up(plan, opener, lookups, err);
}

int leat_places_find(struct leat_plan *plan, const struct leat_opener *opener,
                     const struct leat_places_options *options, struct leat_places *ret_places,
                     struct leat_error *err) {
    struct lookups lookups = {.items = NULL};
    int r;

    *ret_places = (struct leat_places){.places = NULL};
    if (plan->is_one_pass)
        return leat_error_set(
            err, -ESPIPE,
            "%s: this is a FIFO, which can be read only once: write its data to a file first",
            plan->source->files.paths[0]);
    r = find_lookups(plan, opener, options, &lookups, &ret_places->n_rows, err);
    if (r == 0)
        ret_places->places = calloc(lookups.n_items, sizeof(*ret_places->places));
    if (r == 0 && !ret_places->places)
        r = leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < lookups.n_items; i++)
        ret_places->places[ret_places->n_places++] = lookups.items[i].place;
    free(lookups.items);
    return r;
}

void leat_places_deinit(struct leat_places *places) {
    free(places->places);
    *places = (struct leat_places){.places = NULL};
}
