/* skips.c: see skips.h. Lines to records: work/skip_records.c. */
#include "pipeline/plan/skips.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/skips_internal.h"
#include "pipeline/spec/stream_options.h"
#include "proto/base/array.h"

/* ---- as written ---- */

/* Reads digits alone, up to the limit. NULL: there is no such number. */
static const char *parse_number(const char *text, uint64_t *ret_number) {
    uint64_t number = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint64_t)(*at - '0');
        if (number > LEAT_SKIPS_NUMBER_MAX)
            return NULL;
    }
    *ret_number = number;
    return at > text ? at : NULL;
}

static int parse_range(const char *text, struct leat_skip_range *ret_range) {
    const char *at = parse_number(text, &ret_range->first);

    if (!at)
        return -EINVAL;
    ret_range->last = ret_range->first;
    if (*at == '-')
        at = parse_number(at + 1, &ret_range->last);
    return at && *at == '\0' && ret_range->first <= ret_range->last ? 0 : -EINVAL;
}

int leat_skips_parse_step(const char *text, struct leat_skip_range *ret_range) {
    const char *colon = strchr(text, ':');

    ret_range->group = LEAT_SKIPS_EVERY;
    if (!colon)
        return parse_range(text, ret_range);
    if (parse_number(text, &ret_range->group) != colon)
        return -EINVAL;
    return parse_range(colon + 1, ret_range);
}

int leat_skips_parse_record(const char *text, size_t *ret_n_file,
                            struct leat_skip_range *ret_range) {
    const char *colon = strrchr(text, ':');

    ret_range->group = 0;
    *ret_n_file = colon ? (size_t)(colon - text) : 0;
    if (colon && colon == text)
        return -EINVAL;
    if (parse_range(colon ? colon + 1 : text, ret_range) < 0)
        return -EINVAL;
    return colon && ret_range->first == 0 ? -EINVAL : 0;
}

/* ---- ranges ---- */

static int by_place(const void *a, const void *b) {
    const struct leat_skip_range *x = a, *y = b;

    if (x->group != y->group)
        return (x->group > y->group) - (x->group < y->group);
    return (x->first > y->first) - (x->first < y->first);
}

int leat_skip_list_add(struct leat_skip_list *list, const struct leat_skip_range *range) {
    if (!leat_array_reserve(&list->ranges, list->n_ranges + 1, &list->capacity))
        return -ENOMEM;
    list->ranges[list->n_ranges++] = *range;
    return 0;
}

void leat_skip_list_sort(struct leat_skip_list *list) {
    size_t n = 0;

    if (list->n_ranges > 0)
        qsort(list->ranges, list->n_ranges, sizeof(*list->ranges), by_place);
    for (size_t i = 0; i < list->n_ranges; i++) {
        struct leat_skip_range range = list->ranges[i];
        struct leat_skip_range *last = n > 0 ? &list->ranges[n - 1] : NULL;

        if (!last || last->group != range.group || range.first > last->last + 1)
            list->ranges[n++] = range;
        else if (range.last > last->last)
            last->last = range.last;
    }
    list->n_ranges = n;
}

static bool has_number(const struct leat_skip_list *list, uint64_t group, uint64_t number) {
    size_t low = 0, high = list->n_ranges;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct leat_skip_range *range = &list->ranges[middle];

        if (range->group < group || (range->group == group && range->last < number))
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->n_ranges && list->ranges[low].group == group &&
           list->ranges[low].first <= number;
}

bool leat_skips_has_step(const struct leat_skips *skips, uint64_t epoch, uint64_t step) {
    return has_number(&skips->steps, epoch, step) ||
           has_number(&skips->steps, LEAT_SKIPS_EVERY, step);
}

bool leat_skips_has_record(const struct leat_skips *skips, uint64_t lane, uint64_t record) {
    return has_number(&skips->records, lane, record);
}

void leat_skips_deinit(struct leat_skips *skips) {
    free(skips->steps.ranges);
    free(skips->records.ranges);
    *skips = (struct leat_skips){.steps.ranges = NULL};
}

static void digest_list(struct leat_blake2b *state, const struct leat_skip_list *list) {
    leat_blake2b_u64(state, list->n_ranges);
    for (size_t i = 0; i < list->n_ranges; i++) {
        leat_blake2b_u64(state, list->ranges[i].group);
        leat_blake2b_u64(state, list->ranges[i].first);
        leat_blake2b_u64(state, list->ranges[i].last);
    }
}

void leat_skips_digest(const struct leat_skips *skips, uint8_t ret_digest[LEAT_DIGEST_BYTES]) {
    struct leat_blake2b state;

    memset(ret_digest, 0, LEAT_DIGEST_BYTES);
    if (skips->steps.n_ranges == 0 && skips->records.n_ranges == 0)
        return;
    leat_blake2b_init(&state);
    leat_blake2b_text(&state, "leat skips 1");
    digest_list(&state, &skips->steps);
    digest_list(&state, &skips->records);
    leat_blake2b_final(&state, ret_digest);
}

/* ---- from the spec ---- */

int leat_skips_error(const struct leat_config *options, const char *arg, size_t index,
                     const char *text, const char *wrong, struct leat_error *err) {
    const struct leat_value *value = leat_value_get(options->values, arg);
    bool is_list = value && value->kind == LEAT_VALUE_LIST && index < value->n_items;
    const struct leat_value *item = is_list ? &value->items[index] : value;

    leat_error_set(err, -EINVAL, "\"%.200s\" %s", text, wrong);
    leat_error_locate(err, options->file, item ? item->line : options->line,
                      item ? item->column : options->column);
    if (is_list)
        leat_error_prefix(err, "%s[%zu]", arg, index);
    else
        leat_error_prefix(err, "%s", arg);
    return -EINVAL;
}

static int bind_steps(struct leat_skips *skips, const struct leat_stream_options *options,
                      struct leat_error *err) {
    for (size_t i = 0; i < options->skip_steps.n_items; i++) {
        const char *text = options->skip_steps.items[i];
        struct leat_skip_range range;

        if (leat_skips_parse_step(text, &range) < 0)
            return leat_skips_error(&options->base, "skip_steps", i, text,
                                    "is not a step: write a number such as 17, a range such as "
                                    "100-120, or epoch:step such as 0:17; numbers go up to 1e15",
                                    err);
        if (leat_skip_list_add(&skips->steps, &range) < 0)
            return leat_error_oom(err);
    }
    leat_skip_list_sort(&skips->steps);
    return 0;
}

int leat_skips_bind(struct leat_skips *skips, const struct leat_config *base,
                    struct leat_error *err) {
    const struct leat_stream_options *options = (const struct leat_stream_options *)base;
    int r = bind_steps(skips, options, err);

    for (size_t i = 0; r == 0 && i < options->skip_records.n_items; i++) {
        const char *text = options->skip_records.items[i];
        struct leat_skip_range range;
        size_t n_file;

        if (leat_skips_parse_record(text, &n_file, &range) < 0)
            r = leat_skips_error(base, "skip_records", i, text,
                                 "is not a record: write file:line such as data.csv:17 (lines "
                                 "count from 1), a range such as data.csv:100-120, or the record's "
                                 "number such as 17; numbers go up to 1e15",
                                 err);
    }
    return r;
}

/* ---- rounds ---- */

/* The start of the round of that step; *ret_n_steps: its number of steps. */
static uint64_t round_start(uint64_t step, uint64_t world_size, uint64_t phase,
                            uint64_t *ret_n_steps) {
    if (step < phase) {
        *ret_n_steps = phase;
        return 0;
    }
    *ret_n_steps = world_size;
    return step - (step - phase) % world_size;
}

/* Widens the range to whole rounds. */
static struct leat_skip_range widen_to_rounds(struct leat_skip_range range, uint64_t world_size,
                                              uint64_t epoch, uint64_t phase) {
    uint64_t of = range.group == epoch ? phase % world_size : 0, n;

    range.first = round_start(range.first, world_size, of, &n);
    range.last = round_start(range.last, world_size, of, &n);
    range.last += n - 1;
    return range;
}

#define LISTED_BYTES 320

/* Prints the list as it would be written, as far as it fits. */
static void print_list(const struct leat_skip_list *list, char text[LISTED_BYTES]) {
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < list->n_ranges; i++) {
        const struct leat_skip_range *range = &list->ranges[i];
        char epoch[32] = "";

        if (range->group != LEAT_SKIPS_EVERY)
            (void)snprintf(epoch, sizeof(epoch), "%llu:", (unsigned long long)range->group);
        if (n + 80 > LISTED_BYTES) {
            (void)snprintf(text + n, LISTED_BYTES - n, ", and so on");
            return;
        }
        n += (size_t)snprintf(text + n, LISTED_BYTES - n, "%s\"%s%llu-%llu\"", i ? ", " : "", epoch,
                              (unsigned long long)range->first, (unsigned long long)range->last);
    }
}

static int fail_partial_rounds(const struct leat_skips *skips, uint64_t world_size, uint64_t epoch,
                               uint64_t phase, struct leat_error *err) {
    struct leat_skip_list right = {.ranges = NULL};
    char text[LISTED_BYTES];
    int r = 0;

    for (size_t i = 0; r == 0 && i < skips->steps.n_ranges; i++) {
        struct leat_skip_range range =
            widen_to_rounds(skips->steps.ranges[i], world_size, epoch, phase);

        r = leat_skip_list_add(&right, &range);
    }
    leat_skip_list_sort(&right);
    print_list(&right, text);
    free(right.ranges);
    if (r < 0)
        return leat_error_oom(err);
    return leat_error_set(
        err, -EINVAL,
        "skip_steps leaves out parts of rounds, so %llu ranks would have different numbers of "
        "steps (a round has one step for each rank): skip whole rounds with skip_steps: [%s]",
        (unsigned long long)world_size, text);
}

int leat_skips_check_rounds(const struct leat_skips *skips, uint64_t world_size, uint64_t epoch,
                            uint64_t phase, struct leat_error *err) {
    for (size_t i = 0; world_size > 1 && i < skips->steps.n_ranges; i++) {
        const struct leat_skip_range *range = &skips->steps.ranges[i];
        struct leat_skip_range whole = widen_to_rounds(*range, world_size, epoch, phase);

        if (whole.first != range->first || whole.last != range->last)
            return fail_partial_rounds(skips, world_size, epoch, phase, err);
    }
    return 0;
}
