#include "pipeline/sources/parquet/bits.h"

#include <string.h>

#define STEP 256 /* values at a time */

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret_value) {
    *ret_value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = *(*at)++;

        *ret_value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* ---- runs ---- */

void leat_parquet_runs_init(struct leat_parquet_runs *runs, const uint8_t *at, const uint8_t *end,
                            uint32_t width) {
    *runs = (struct leat_parquet_runs){.at = at, .end = end, .width = width};
}

/* Enters the next run that is not empty. */
static bool enter_run(struct leat_parquet_runs *runs) {
    uint32_t n_value = (runs->width + 7) / 8;
    uint64_t head, n_there;

    while (runs->n_left == 0) {
        if (!take_varint(&runs->at, runs->end, &head))
            return false;
        n_there = (uint64_t)(runs->end - runs->at);
        runs->is_packed = head & 1;
        runs->n_left = head >> 1;
        if (!runs->is_packed) {
            if (n_value > n_there)
                return false;
            runs->value = 0;
            memcpy(&runs->value, runs->at, n_value);
            runs->at += n_value;
            continue;
        }
        runs->bits = runs->at;
        runs->n_passed = 0;
        if (runs->width > 0 && runs->n_left > n_there / runs->width) {
            runs->n_left = n_there * 8 / runs->width; /* some writers cut off the last one */
            runs->at = runs->end;
        } else if (runs->n_left > UINT64_MAX / 8) {
            return false;
        } else {
            runs->at += runs->n_left * runs->width;
            runs->n_left *= 8;
        }
    }
    return true;
}

/* The compiler unrolls it for widths that it knows. */
static inline __attribute__((always_inline)) void
unpack(const uint8_t *bits, uint64_t first, uint32_t width, uint32_t *values, size_t n) {
    uint64_t mask = (UINT64_C(1) << width) - 1, at = first * width;

    for (size_t i = 0; i < n; i++, at += width) {
        uint64_t word;

        memcpy(&word, bits + at / 8, sizeof(word));
        values[i] = (uint32_t)(word >> at % 8 & mask);
    }
}

static void read_packed(struct leat_parquet_runs *runs, uint32_t *values, size_t n) {
    if (runs->width == 1)
        unpack(runs->bits, runs->n_passed, 1, values, n);
    else
        unpack(runs->bits, runs->n_passed, runs->width, values, n);
    runs->n_passed += n;
}

bool leat_parquet_runs_read(struct leat_parquet_runs *runs, uint32_t *values, size_t n) {
    while (n > 0) {
        size_t n_here;

        if (runs->n_left == 0 && !enter_run(runs))
            return false;
        n_here = n < runs->n_left ? n : (size_t)runs->n_left;
        if (runs->is_packed)
            read_packed(runs, values, n_here);
        else
            for (size_t i = 0; i < n_here; i++)
                values[i] = runs->value;
        runs->n_left -= n_here;
        values += n_here;
        n -= n_here;
    }
    return true;
}

bool leat_parquet_runs_pass(struct leat_parquet_runs *runs, uint32_t value, size_t n) {
    if (runs->n_left == 0 && !enter_run(runs))
        return false;
    if (runs->is_packed || runs->value != value || runs->n_left < n)
        return false;
    runs->n_left -= n;
    return true;
}

/* ---- deltas ---- */

static bool take_zigzag(struct leat_parquet_delta *delta, uint64_t *ret_value) {
    uint64_t value;

    if (!take_varint(&delta->at, delta->end, &value))
        return false;
    *ret_value = (value >> 1) ^ -(value & 1);
    return true;
}

bool leat_parquet_delta_init(struct leat_parquet_delta *delta, const uint8_t *at,
                             const uint8_t *end, uint64_t max_values) {
    uint64_t n_block;

    *delta = (struct leat_parquet_delta){.at = at, .end = end, .is_first = true};
    if (!take_varint(&delta->at, end, &n_block) || !take_varint(&delta->at, end, &delta->n_minis) ||
        !take_varint(&delta->at, end, &delta->n_left) || !take_zigzag(delta, &delta->value))
        return false;
    if (delta->n_minis == 0 || n_block % delta->n_minis != 0 || n_block > INT32_MAX ||
        delta->n_left > max_values)
        return false;
    delta->n_mini = n_block / delta->n_minis;
    delta->mini = delta->n_minis;
    return delta->n_mini > 0 && delta->n_mini % 8 == 0;
}

static bool enter_mini(struct leat_parquet_delta *delta) {
    uint64_t n_wanted, n_there;

    if (delta->mini == delta->n_minis) {
        if (!take_zigzag(delta, &delta->min_delta) ||
            delta->n_minis > (uint64_t)(delta->end - delta->at))
            return false;
        delta->widths = delta->at;
        delta->at += delta->n_minis;
        delta->mini = 0;
    }
    delta->width = delta->widths[delta->mini++];
    delta->bits = delta->at;
    delta->n_in_mini = delta->n_mini;
    delta->n_passed = 0;
    n_there = (uint64_t)(delta->end - delta->at);
    n_wanted = delta->n_left < delta->n_mini ? delta->n_left : delta->n_mini;
    if (delta->width > 64 || (n_wanted * delta->width + 7) / 8 > n_there)
        return false;
    n_wanted = delta->n_mini / 8 * delta->width;
    delta->at += n_wanted < n_there ? n_wanted : n_there; /* the last one may be cut off */
    return true;
}

static uint64_t bits_at(const uint8_t *bits, uint64_t at, uint32_t width) {
    uint64_t low, high;
    unsigned shift = at % 8;

    memcpy(&low, bits + at / 8, sizeof(low));
    low >>= shift;
    if (shift + width > 64) {
        memcpy(&high, bits + at / 8 + sizeof(low), sizeof(high));
        low |= high << (64 - shift);
    }
    return width == 64 ? low : low & ((UINT64_C(1) << width) - 1);
}

bool leat_parquet_delta_read(struct leat_parquet_delta *delta, uint64_t *values, size_t n) {
    if (n > delta->n_left)
        return false;
    if (n > 0 && delta->is_first) {
        *values++ = delta->value;
        delta->is_first = false;
        delta->n_left--;
        n--;
    }
    while (n > 0) {
        size_t n_here;

        if (delta->n_in_mini == 0 && !enter_mini(delta))
            return false;
        n_here = n < delta->n_in_mini ? n : (size_t)delta->n_in_mini;
        for (size_t i = 0; i < n_here; i++, delta->n_passed++)
            *values++ = delta->value +=
                delta->min_delta +
                bits_at(delta->bits, delta->n_passed * delta->width, delta->width);
        delta->n_in_mini -= n_here;
        delta->n_left -= n_here;
        n -= n_here;
    }
    return true;
}

const uint8_t *leat_parquet_delta_end(struct leat_parquet_delta delta, uint64_t *ret_sum) {
    uint64_t values[STEP];

    *ret_sum = 0;
    while (delta.n_left > 0) {
        size_t n = delta.n_left < STEP ? (size_t)delta.n_left : STEP;

        if (!leat_parquet_delta_read(&delta, values, n))
            return NULL;
        for (size_t i = 0; i < n; i++) {
            if (values[i] > INT32_MAX)
                return NULL;
            *ret_sum += values[i];
        }
    }
    return delta.at;
}
