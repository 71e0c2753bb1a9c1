/* spans.c: see spans.h. The order of blocks: stages/shuffle.c. */
#include "pipeline/run/intake/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "pipeline/run/intake/idle_lanes.h"

void leat_run_spans_init(struct leat_run_spans *spans, const struct leat_plan *plan, uint64_t seed,
                         const struct leat_run_options *options) {
    *spans =
        (struct leat_run_spans){.plan = plan,
                                .options = options,
                                .seed = seed,
                                .are_wanted = plan->blocks.block_size > 0 && !options->only_builds};
    leat_span_table_init(&spans->table, plan->blocks.block_size);
}

static void forget_order(struct leat_run_spans *spans) {
    free(spans->order);
    free(spans->lanes);
    free(spans->is_idle);
    free(spans->n_idle_rows);
    spans->order = NULL;
    spans->lanes = NULL;
    spans->is_idle = NULL;
    spans->n_idle_rows = NULL;
}

static void forget(struct leat_run_spans *spans) {
    leat_span_table_deinit(&spans->table);
    leat_span_table_init(&spans->table, spans->plan->blocks.block_size);
    spans->table_bytes = 0;
    spans->is_counted = false;
}

void leat_run_spans_deinit(struct leat_run_spans *spans) {
    leat_span_table_deinit(&spans->table);
    forget_order(spans);
}

uint64_t leat_run_spans_bytes(const struct leat_run_spans *spans) {
    size_t n_bytes =
        (spans->order ? sizeof(*spans->order) : 0) + (spans->lanes ? sizeof(*spans->lanes) : 0);

    return spans->table_bytes + spans->table.n_spans * n_bytes;
}

static struct leat_rng start_rng(const struct leat_run_spans *spans, uint64_t epoch,
                                 uint64_t pass) {
    const struct leat_block_order *blocks = &spans->plan->blocks;

    if (!blocks->reshuffles)
        epoch = pass = 0;
    return (struct leat_rng){leat_rng_key(spans->seed, blocks->seed, epoch, LEAT_RNG_BLOCKS,
                                          (pass << 32) + blocks->index)};
}

static void swap(uint32_t *a, uint32_t *b) {
    uint32_t before = *a;

    *a = *b;
    *b = before;
}

/* ---- lanes ---- */

struct hand {
    uint64_t n_records;
    size_t lane;
};

static bool is_less(const struct hand *a, const struct hand *b) {
    return a->n_records < b->n_records || (a->n_records == b->n_records && a->lane < b->lane);
}

/* Restores the heap, whose least is at 0, after that one has grown. */
static void sift_down(struct hand *hands, size_t n) {
    for (size_t i = 0, least = 0;; i = least) {
        struct hand hand = hands[i];

        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
            least = is_less(&hands[k], &hands[least]) ? k : least;
        if (least == i)
            return;
        hands[i] = hands[least];
        hands[least] = hand;
    }
}

/* The lane with the most records first. */
static int by_records(const void *a, const void *b) {
    const struct hand *x = a, *y = b;

    if (x->n_records != y->n_records)
        return (x->n_records < y->n_records) - (x->n_records > y->n_records);
    return (x->lane > y->lane) - (x->lane < y->lane);
}

/* Deals the spans of the order: each goes to the lane that has the fewest records so far. Then
 * lanes are numbered from the one with the most. */
static void deal(struct leat_run_spans *spans, struct hand *hands, size_t n_lanes) {
    uint16_t numbers[LEAT_ORDER_LANES_MAX];

    for (size_t i = 0; i < n_lanes; i++)
        hands[i] = (struct hand){.lane = i};
    for (size_t i = 0; i < spans->table.n_spans; i++) {
        spans->lanes[i] = (uint16_t)hands[0].lane;
        hands[0].n_records += spans->table.spans[spans->order[i]].place.n_records;
        sift_down(hands, n_lanes);
    }
    qsort(hands, n_lanes, sizeof(*hands), by_records);
    for (size_t i = 0; i < n_lanes; i++)
        numbers[hands[i].lane] = (uint16_t)i;
    for (size_t i = 0; i < spans->table.n_spans; i++)
        spans->lanes[i] = numbers[spans->lanes[i]];
}

/* hands: of the lanes, from the one with the most records. */
static int find_idle(struct leat_run_spans *spans, const struct hand *hands, size_t n_lanes) {
    if (!spans->are_rows || !leat_idle_lanes_are_known(spans->plan, spans->options))
        return 0;
    spans->is_idle = calloc(n_lanes, sizeof(*spans->is_idle));
    spans->n_idle_rows = calloc(n_lanes, sizeof(*spans->n_idle_rows));
    if (!spans->is_idle || !spans->n_idle_rows)
        return -ENOMEM;
    for (size_t i = 0; i < n_lanes; i++)
        spans->n_idle_rows[i] = hands[i].n_records;
    leat_idle_lanes_find(spans->plan, spans->options, spans->n_idle_rows, spans->is_idle);
    for (size_t i = 0; i < n_lanes; i++)
        spans->n_idle_rows[i] = spans->is_idle[i] ? hands[i].n_records : 0;
    return 0;
}

static int draw_lanes(struct leat_run_spans *spans) {
    size_t n_lanes = spans->plan->blocks.n_lanes;
    struct hand *hands;
    int r = -ENOMEM;

    if (n_lanes == 0)
        return 0;
    hands = calloc(n_lanes, sizeof(*hands));
    spans->lanes = calloc(spans->table.n_spans, sizeof(*spans->lanes));
    if (hands && spans->lanes) {
        deal(spans, hands, n_lanes);
        r = find_idle(spans, hands, n_lanes);
    }
    free(hands);
    return r;
}

static int draw(struct leat_run_spans *spans, uint64_t epoch, uint64_t pass) {
    size_t n = spans->table.n_spans;
    uint32_t *order = reallocarray(NULL, n ? n : 1, sizeof(*order));
    struct leat_rng rng = start_rng(spans, epoch, pass);

    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    /* Each drawn span goes behind those that are left; at the end the order is reversed. */
    for (size_t i = n; i > 0; i--)
        swap(&order[leat_rng_below(&rng, i)], &order[i - 1]);
    for (size_t i = 0; i < n / 2; i++)
        swap(&order[i], &order[n - 1 - i]);
    spans->order = order;
    return draw_lanes(spans);
}

void leat_run_spans_next_pass(struct leat_run_spans *spans) {
    forget_order(spans);
    spans->at = 0;
    spans->n_done = 0;
    spans->is_building = false;
    if (!spans->is_counted)
        forget(spans);
}

int leat_run_spans_start_scan(struct leat_run_spans *spans, struct leat_scan *scan, uint64_t epoch,
                              uint64_t pass) {
    if (!spans->are_wanted || spans->is_building)
        return 0;
    if (spans->is_of_cache)
        forget(spans);
    spans->is_of_cache = false;
    if (!spans->is_counted) {
        leat_scan_count(scan, &spans->table);
        return 0;
    }
    if (!spans->order && draw(spans, epoch, pass) < 0)
        return -ENOMEM;
    leat_scan_follow_route(scan, &spans->table, spans->order);
    return 0;
}

enum leat_span_scan leat_run_spans_end_scan(struct leat_run_spans *spans,
                                            const struct leat_scan_job *job) {
    if (job->is_outdated) {
        spans->is_counted = false;
        leat_run_spans_next_pass(spans);
        return LEAT_SPAN_SCAN_AGAIN;
    }
    if (!job->scan->counts)
        return LEAT_SPAN_SCAN_READ;
    spans->table_bytes = leat_span_table_bytes(&spans->table);
    if (!job->has_ended)
        return LEAT_SPAN_SCAN_COUNT;
    spans->is_counted = true;
    return LEAT_SPAN_SCAN_AGAIN;
}

static int take_numbers(struct leat_run_spans *spans, const struct leat_cache_file *file,
                        uint64_t generation, struct leat_error *err) {
    int r = 0;

    if (spans->is_counted && spans->is_of_cache && spans->generation == generation)
        return 0;
    forget(spans);
    spans->are_rows = file->n_rows == file->n_records;
    for (size_t i = 0; r == 0 && i < file->n_frames; i++)
        r = leat_span_table_add_records(&spans->table, file->frames[i].span.file,
                                        file->frames[i].span.n_records, err);
    if (r < 0)
        return r;
    spans->table_bytes = leat_span_table_bytes(&spans->table);
    spans->is_counted = spans->is_of_cache = true;
    spans->generation = generation;
    return 0;
}

int leat_run_spans_start_pass(struct leat_run_spans *spans, const struct leat_cache_file *file,
                              uint64_t generation, uint64_t epoch, uint64_t pass,
                              struct leat_error *err) {
    size_t n_lanes = leat_plan_n_lanes(spans->plan);
    int r = take_numbers(spans, file, generation, err);

    if (r == 0 && spans->plan->blocks.n_lanes > spans->table.n_spans)
        return leat_error_set(err, -EINVAL,
                              "shuffle.lanes (%zu) is more than the %zu blocks of the data "
                              "(block_size is %llu records): use fewer lanes or smaller blocks",
                              n_lanes, spans->table.n_spans,
                              (unsigned long long)spans->plan->blocks.block_size);
    if (r == 0 && !spans->order && draw(spans, epoch, pass) < 0)
        r = leat_error_oom(err);
    return r;
}

bool leat_run_spans_have_frames(const struct leat_run_spans *spans,
                                const struct leat_cache_file *file) {
    uint64_t size = spans->plan->blocks.block_size, n_file_records = 0;

    /* Once the order is drawn, the pass has begun with this file. */
    for (size_t i = 0; !spans->order && i < file->n_frames; i++) {
        const struct leat_cache_span *span = &file->frames[i].span;

        if (i > 0 && span->file != file->frames[i - 1].span.file)
            n_file_records = 0;
        if (n_file_records % size + span->n_records > size)
            return false;
        n_file_records += span->n_records;
    }
    return true;
}

uint64_t *leat_run_spans_take_idle_rows(struct leat_run_spans *spans) {
    uint64_t *n_idle_rows = spans->n_idle_rows;

    spans->n_idle_rows = NULL;
    return n_idle_rows;
}

bool leat_run_spans_next_part(struct leat_run_spans *spans, const struct leat_cache_file *file,
                              struct leat_span_part *ret_part) {
    const struct leat_span *span;
    const struct leat_cache_frame *frame;
    uint64_t from, end, frame_end;

    while (spans->is_idle && spans->at < spans->table.n_spans &&
           spans->is_idle[spans->lanes[spans->at]])
        spans->at++;
    if (spans->at == spans->table.n_spans)
        return false;
    span = &spans->table.spans[spans->order[spans->at]];
    from = span->record + spans->n_done;
    end = span->record + span->place.n_records;
    frame = leat_cache_file_find(file, from);
    if (!frame)
        return false;
    frame_end = frame->record + frame->span.n_records;
    *ret_part = (struct leat_span_part){
        .frame = frame,
        .from = (uint32_t)(from - frame->record),
        .lane = spans->lanes ? spans->lanes[spans->at] : 0,
        .to = end < frame_end ? (uint32_t)(end - frame->record) : UINT32_MAX,
        .is_whole = from == frame->record && end >= frame_end,
    };
    return true;
}

void leat_run_spans_end_part(struct leat_run_spans *spans, const struct leat_span_part *part) {
    const struct leat_span *span = &spans->table.spans[spans->order[spans->at]];
    uint32_t to = part->to == UINT32_MAX ? part->frame->span.n_records : part->to;

    spans->n_done += to - part->from;
    if (spans->n_done < span->place.n_records)
        return;
    spans->at++;
    spans->n_done = 0;
}
