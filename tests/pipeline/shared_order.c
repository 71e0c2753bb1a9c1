/* shared_order.c: see shared_order.h. */
#include "tests/pipeline/shared_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stage/stage.h"

void order_add(struct order_numbers *numbers, int64_t value) {
    if (numbers->n_values == numbers->capacity) {
        numbers->capacity = numbers->capacity ? numbers->capacity * 2 : 64;
        numbers->values = realloc(numbers->values, numbers->capacity * sizeof(*numbers->values));
        if (!numbers->values)
            abort();
    }
    numbers->values[numbers->n_values++] = value;
}

void order_free(struct order_numbers *numbers) {
    free(numbers->values);
    *numbers = (struct order_numbers){.values = NULL};
}

void order_yaml(const struct order_chain *chain, char *text, size_t size) {
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < chain->n_stages; i++) {
        const struct order_stage *stage = &chain->stages[i];
        static const char *const forms[] = {
            [ORDER_TAKE] = "take: {count",
            [ORDER_SKIP] = "skip: {count",
            [ORDER_REPEAT] = "repeat: {count",
            [ORDER_FILTER_MIN] = "filter: {input: id, min",
            [ORDER_SHUFFLE] = "shuffle: {buffer_size",
        };
        char seed[48] = "";

        if (stage->op == ORDER_SHUFFLE)
            (void)snprintf(seed, sizeof(seed), ", seed: %lld", (long long)stage->seed);
        at += (size_t)snprintf(text + at, size - at, "- %s: %lld%s}\n", forms[stage->op],
                               (long long)stage->n, seed);
    }
}

static void copy(const struct order_numbers *from, struct order_numbers *to) {
    for (size_t i = 0; i < from->n_values; i++)
        order_add(to, from->values[i]);
}

static void shuffle(const struct order_stage *stage, const struct order_numbers *in, uint64_t key,
                    bool is_cut, struct order_numbers *out) {
    struct order_numbers reservoir = {.values = NULL};
    struct leat_rng rng = {.state = key};

    for (size_t i = 0; i < in->n_values; i++) {
        uint64_t drawn;

        if (reservoir.n_values < (uint64_t)stage->n) {
            order_add(&reservoir, in->values[i]);
            continue;
        }
        drawn = leat_rng_below(&rng, (uint64_t)stage->n);
        order_add(out, reservoir.values[drawn]);
        reservoir.values[drawn] = in->values[i];
    }
    for (size_t n = reservoir.n_values; n > 0 && !is_cut; n--) {
        uint64_t drawn = leat_rng_below(&rng, n);

        order_add(out, reservoir.values[drawn]);
        reservoir.values[drawn] = reservoir.values[n - 1];
    }
    order_free(&reservoir);
}

static void apply(const struct order_chain *chain, size_t index, uint64_t stream_seed,
                  uint64_t epoch, uint64_t pass, bool is_cut, struct order_numbers *numbers) {
    const struct order_stage *stage = &chain->stages[index];
    struct order_numbers out = {.values = NULL};
    uint64_t shuffle_index = 0, n = (uint64_t)stage->n;

    for (size_t i = 0; i < index; i++)
        shuffle_index += chain->stages[i].op == ORDER_SHUFFLE;
    for (size_t i = 0; stage->op != ORDER_SHUFFLE && i < numbers->n_values; i++) {
        bool is_kept = stage->op == ORDER_TAKE   ? i < n
                       : stage->op == ORDER_SKIP ? i >= n
                                                 : numbers->values[i] >= stage->n;

        if (is_kept)
            order_add(&out, numbers->values[i]);
    }
    if (stage->op == ORDER_SHUFFLE)
        shuffle(stage, numbers,
                leat_rng_key(stream_seed, (uint64_t)stage->seed, epoch, LEAT_RNG_SHUFFLE,
                             (pass << 32) + shuffle_index),
                is_cut, &out);
    order_free(numbers);
    *numbers = out;
}

void order_simulate(const struct order_chain *chain, const struct order_numbers *records,
                    uint64_t stream_seed, uint64_t epoch, bool is_cut, uint64_t max_passes,
                    struct order_numbers *ret_numbers) {
    size_t repeat_at = chain->n_stages;
    uint64_t n_passes = 1;

    for (size_t i = 0; i < chain->n_stages; i++)
        if (chain->stages[i].op == ORDER_REPEAT)
            repeat_at = i;
    if (repeat_at < chain->n_stages && !is_cut)
        n_passes =
            chain->stages[repeat_at].n > 0 ? (uint64_t)chain->stages[repeat_at].n : max_passes;
    *ret_numbers = (struct order_numbers){.values = NULL};
    for (uint64_t pass = 0; pass < n_passes; pass++) {
        struct order_numbers numbers = {.values = NULL};

        copy(records, &numbers);
        for (size_t i = 0; i < repeat_at; i++)
            apply(chain, i, stream_seed, epoch, pass, is_cut, &numbers);
        copy(&numbers, ret_numbers);
        order_free(&numbers);
    }
    for (size_t i = repeat_at + 1; i < chain->n_stages; i++)
        apply(chain, i, stream_seed, epoch, 0, is_cut, ret_numbers);
}
