/* shared_order.h: a second implementation of what the ORDER stages mean, on whole arrays of record
 * numbers instead of a chain of references: the oracle for runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum order_op { ORDER_TAKE, ORDER_SKIP, ORDER_SHUFFLE, ORDER_REPEAT, ORDER_FILTER_MIN };

struct order_stage {
    enum order_op op;
    int64_t n;    /* count, buffer_size, or the least number that is kept */
    int64_t seed; /* of a shuffle */
};

#define ORDER_MAX_STAGES 8

struct order_chain {
    struct order_stage stages[ORDER_MAX_STAGES];
    size_t n_stages;
};

struct order_numbers {
    int64_t *values;
    size_t n_values, capacity;
};

void order_add(struct order_numbers *numbers, int64_t value);
void order_free(struct order_numbers *numbers);

/* The lines of YAML of the chain; the filter is on the field `id`. */
void order_yaml(const struct order_chain *chain, char *text, size_t size);

/* The numbers in the order in which they leave the chain in that epoch. is_cut: the data breaks off
 * behind them in the first pass, so nothing is flushed. A repeat without end makes max_passes. */
void order_simulate(const struct order_chain *chain, const struct order_numbers *records,
                    uint64_t stream_seed, uint64_t epoch, bool is_cut, uint64_t max_passes,
                    struct order_numbers *ret_numbers);
