#include "pipeline/sources/parquet/encoding.h"

#include <errno.h>
#include <string.h>

#define STEP 256 /* values at a time */

static int fault(struct leat_error *err, const char *message) {
    return leat_error_set(err, -EBADMSG, "is damaged: %s", message);
}

static int too_few(struct leat_error *err) {
    return fault(err, "a page has fewer values than it says");
}

/* ---- plain ---- */

/* Takes a text with its length in front. */
static inline bool take_text(const uint8_t **at, const uint8_t *end, struct leat_arrow_view *view) {
    uint32_t n;

    if (end - *at < (ptrdiff_t)sizeof(n))
        return false;
    memcpy(&n, *at, sizeof(n));
    *at += sizeof(n);
    if (n > (size_t)(end - *at))
        return false;
    *view = (struct leat_arrow_view){.bytes = *at, .n_bytes = n};
    *at += n;
    return true;
}

static int read_plain_texts(struct leat_parquet_values *values, struct leat_arrow_view *out,
                            size_t n, struct leat_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!take_text(&values->at, values->end, &out[i]))
            return fault(err, "a text is longer than its page");
    return 0;
}

static int read_plain_booleans(struct leat_parquet_values *values, uint8_t *out, size_t n,
                               struct leat_error *err) {
    if (n > (uint64_t)(values->end - values->at) * 8 - values->n_passed)
        return too_few(err);
    for (size_t i = 0; i < n; i++, values->n_passed++)
        out[i] = values->at[values->n_passed / 8] >> values->n_passed % 8 & 1;
    return 0;
}

static int read_plain_numbers(struct leat_parquet_values *values, uint8_t *out, size_t n,
                              struct leat_error *err) {
    uint64_t n_bytes = (uint64_t)n * values->leaf->n_bytes;

    if (n_bytes > (uint64_t)(values->end - values->at))
        return too_few(err);
    if (n_bytes > 0)
        memcpy(out, values->at, (size_t)n_bytes);
    values->at += n_bytes;
    return 0;
}

static int read_plain(struct leat_parquet_values *values, uint8_t *out, size_t n,
                      struct leat_error *err) {
    if (values->leaf->type == LEAT_PARQUET_BYTES)
        return read_plain_texts(values, (struct leat_arrow_view *)(void *)out, n, err);
    if (values->leaf->type == LEAT_PARQUET_BOOLEAN)
        return read_plain_booleans(values, out, n, err);
    return read_plain_numbers(values, out, n, err);
}

/* ---- dictionaries ---- */

int leat_parquet_dictionary_init(struct leat_parquet_dictionary *dictionary,
                                 const struct leat_parquet_leaf *leaf, uint32_t n_values,
                                 struct leat_parquet_block *take_page,
                                 struct leat_parquet_memory *memory, struct leat_error *err) {
    const uint8_t *at = take_page->data, *end = at + take_page->n_bytes;
    struct leat_arrow_view *views;

    *dictionary = (struct leat_parquet_dictionary){.page = take_page, .n_values = n_values};
    if (leaf->type == LEAT_PARQUET_BOOLEAN)
        return fault(err, "a boolean column has a dictionary");
    if (n_values > take_page->n_bytes / (leaf->n_bytes ? leaf->n_bytes : sizeof(uint32_t)))
        return fault(err, "its dictionary has fewer values than it says");
    if (leaf->type != LEAT_PARQUET_BYTES)
        return 0;
    dictionary->views = leat_parquet_block_new(memory, n_values * sizeof(*views), err);
    if (!dictionary->views)
        return err->code;
    views = (struct leat_arrow_view *)(void *)dictionary->views->data;
    for (uint32_t i = 0; i < n_values; i++)
        if (!take_text(&at, end, &views[i]))
            return fault(err, "a text is longer than its dictionary");
    return 0;
}

void leat_parquet_dictionary_deinit(struct leat_parquet_dictionary *dictionary,
                                    struct leat_parquet_memory *memory) {
    (void)leat_parquet_blocks_free(memory, dictionary->page);
    (void)leat_parquet_blocks_free(memory, dictionary->views);
    *dictionary = (struct leat_parquet_dictionary){.page = NULL};
}

/* Copies values of one size, which the compiler knows. */
static inline __attribute__((always_inline)) void
look_up_size(const uint8_t *from, const uint32_t *indices, size_t n, uint8_t *out, size_t size) {
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * size, from + indices[i] * size, size);
}

static void look_up(const uint8_t *from, const uint32_t *indices, size_t n, uint8_t *out,
                    size_t size) {
    if (size == 4)
        look_up_size(from, indices, n, out, 4);
    else if (size == 8)
        look_up_size(from, indices, n, out, 8);
    else if (size == sizeof(struct leat_arrow_view))
        look_up_size(from, indices, n, out, sizeof(struct leat_arrow_view));
    else
        look_up_size(from, indices, n, out, size);
}

static int read_indices(struct leat_parquet_values *values, uint8_t *out, size_t n,
                        struct leat_error *err) {
    const struct leat_parquet_dictionary *dictionary = values->dictionary;
    const uint8_t *from = dictionary->views ? dictionary->views->data : dictionary->page->data;
    size_t size = leat_parquet_value_size(values->leaf);
    uint32_t indices[STEP], largest;

    for (; n > 0; n -= n < STEP ? n : STEP, out += STEP * size) {
        size_t n_here = n < STEP ? n : STEP;

        if (!leat_parquet_runs_read(&values->runs, indices, n_here))
            return too_few(err);
        largest = 0;
        for (size_t i = 0; i < n_here; i++)
            largest = indices[i] > largest ? indices[i] : largest;
        if (largest >= dictionary->n_values)
            return leat_error_set(
                err, -EBADMSG,
                "is damaged: a value has the index %u, but the dictionary has %u values", largest,
                dictionary->n_values);
        look_up(from, indices, n_here, out, size);
    }
    return 0;
}

static int read_runs_of_booleans(struct leat_parquet_values *values, uint8_t *out, size_t n,
                                 struct leat_error *err) {
    uint32_t bits[STEP];

    while (n > 0) {
        size_t n_here = n < STEP ? n : STEP;

        if (!leat_parquet_runs_read(&values->runs, bits, n_here))
            return too_few(err);
        for (size_t i = 0; i < n_here; i++)
            *out++ = bits[i] & 1;
        n -= n_here;
    }
    return 0;
}

/* ---- deltas ---- */

static int read_deltas(struct leat_parquet_values *values, uint8_t *out, size_t n,
                       struct leat_error *err) {
    size_t size = values->leaf->n_bytes;
    uint64_t numbers[STEP];

    while (n > 0) {
        size_t n_here = n < STEP ? n : STEP;

        if (!leat_parquet_delta_read(&values->delta, numbers, n_here))
            return too_few(err);
        for (size_t i = 0; i < n_here; i++, out += size)
            memcpy(out, &numbers[i], size); /* the low bytes */
        n -= n_here;
    }
    return 0;
}

static int read_lengths(struct leat_parquet_values *values, struct leat_arrow_view *out, size_t n,
                        struct leat_error *err) {
    uint64_t lengths[STEP];

    while (n > 0) {
        size_t n_here = n < STEP ? n : STEP;

        if (!leat_parquet_delta_read(&values->delta, lengths, n_here))
            return too_few(err);
        for (size_t i = 0; i < n_here; i++) {
            if (lengths[i] > (uint64_t)(values->end - values->at))
                return fault(err, "a text is longer than its page");
            *out++ = (struct leat_arrow_view){.bytes = values->at, .n_bytes = lengths[i]};
            values->at += lengths[i];
        }
        n -= n_here;
    }
    return 0;
}

static int keep_last(struct leat_parquet_values *values, const uint8_t *bytes, uint64_t n,
                     struct leat_parquet_memory *memory, struct leat_error *err) {
    int r = leat_parquet_block_reserve(memory, &values->last, n, err);

    if (r == 0 && n > 0)
        memcpy(values->last->data, bytes, (size_t)n);
    values->n_last = n;
    return r;
}

/* Up to STEP values, each the beginning of the one before and what follows. */
static int read_prefixed(struct leat_parquet_values *values, uint8_t *out, size_t n, size_t size,
                         struct leat_parquet_memory *memory, struct leat_parquet_block **blocks,
                         struct leat_error *err) {
    uint64_t prefixes[STEP], suffixes[STEP], n_bytes = 0, n_before = values->n_last;
    const uint8_t *before = values->last ? values->last->data : NULL;
    struct leat_parquet_block *block;
    uint8_t *to;

    if (!leat_parquet_delta_read(&values->prefixes, prefixes, n) ||
        !leat_parquet_delta_read(&values->delta, suffixes, n))
        return too_few(err);
    for (size_t i = 0; i < n; i++)
        n_bytes += prefixes[i] + suffixes[i];
    block = leat_parquet_block_new(memory, n_bytes, err);
    if (!block)
        return err->code;
    block->next = *blocks;
    *blocks = block;
    to = block->data;
    for (size_t i = 0; i < n; i++) {
        struct leat_arrow_view view = {.bytes = to, .n_bytes = prefixes[i] + suffixes[i]};

        if (prefixes[i] > n_before || suffixes[i] > (uint64_t)(values->end - values->at))
            return fault(
                err,
                "a text is longer than its page, or its prefix is longer than the previous text");
        if (values->leaf->n_bytes > 0 && view.n_bytes != values->leaf->n_bytes)
            return fault(err, "a value has a wrong length");
        if (prefixes[i] > 0)
            memcpy(to, before, (size_t)prefixes[i]);
        memcpy(to + prefixes[i], values->at, (size_t)suffixes[i]);
        values->at += suffixes[i];
        before = to;
        n_before = view.n_bytes;
        if (values->leaf->type == LEAT_PARQUET_BYTES)
            memcpy(out + i * size, &view, sizeof(view));
        else
            memcpy(out + i * size, to, size);
        to += view.n_bytes;
    }
    return keep_last(values, before, n_before, memory, err);
}

/* ---- split ---- */

static int read_split(struct leat_parquet_values *values, uint8_t *out, size_t n,
                      struct leat_error *err) {
    size_t size = values->leaf->n_bytes;
    uint64_t n_all = (uint64_t)(values->end - values->at) / size;

    if (n > n_all - values->n_passed)
        return too_few(err);
    for (size_t k = 0; k < size; k++) {
        const uint8_t *from = values->at + k * n_all + values->n_passed;

        for (size_t i = 0; i < n; i++)
            out[i * size + k] = from[i];
    }
    values->n_passed += n;
    return 0;
}

/* ---- */

static int begin_indices(struct leat_parquet_values *values, struct leat_error *err) {
    if (!values->dictionary->page)
        return fault(err, "it has indices but no dictionary");
    if (values->at == values->end) { /* of nulls alone */
        leat_parquet_runs_init(&values->runs, values->at, values->end, 0);
        return 0;
    }
    if (*values->at > 32)
        return fault(err, "indices have more than 32 bits");
    leat_parquet_runs_init(&values->runs, values->at + 1, values->end, *values->at);
    return 0;
}

static int begin_booleans(struct leat_parquet_values *values, struct leat_error *err) {
    uint32_t n;

    if (values->end - values->at < (ptrdiff_t)sizeof(n))
        return too_few(err);
    memcpy(&n, values->at, sizeof(n));
    values->at += sizeof(n);
    if (n > (size_t)(values->end - values->at))
        return fault(err, "the booleans are longer than their page");
    leat_parquet_runs_init(&values->runs, values->at, values->at + n, 1);
    return 0;
}

/* Finds the lengths of texts, and where the texts begin behind them. */
static int begin_lengths(struct leat_parquet_values *values, uint64_t n_max, bool has_prefixes,
                         struct leat_error *err) {
    uint64_t n_prefix = 0, n_suffix = 0;

    if (has_prefixes) {
        if (!leat_parquet_delta_init(&values->prefixes, values->at, values->end, n_max))
            return fault(err, "the lengths of texts are invalid");
        values->at = leat_parquet_delta_end(values->prefixes, &n_prefix);
    }
    if (!values->at || !leat_parquet_delta_init(&values->delta, values->at, values->end, n_max))
        return fault(err, "the lengths of texts are invalid");
    values->at = leat_parquet_delta_end(values->delta, &n_suffix);
    if (!values->at || n_suffix > (uint64_t)(values->end - values->at))
        return fault(err, "the texts are longer than their page");
    if (has_prefixes && values->prefixes.n_left != values->delta.n_left)
        return fault(err, "texts have different numbers of prefixes and suffixes");
    values->n_bytes_each = (n_prefix + n_suffix) / (values->delta.n_left + 1);
    return 0;
}

static bool fits(const struct leat_parquet_leaf *leaf, int64_t encoding) {
    switch (encoding) {
    case LEAT_PARQUET_ENCODING_RLE:
        return leaf->type == LEAT_PARQUET_BOOLEAN;
    case LEAT_PARQUET_ENCODING_DELTA:
        return leaf->type == LEAT_PARQUET_INT32 || leaf->type == LEAT_PARQUET_INT64;
    case LEAT_PARQUET_ENCODING_DELTA_LENGTH:
        return leaf->type == LEAT_PARQUET_BYTES;
    case LEAT_PARQUET_ENCODING_DELTA_BYTES:
        return leaf->type == LEAT_PARQUET_BYTES || leaf->type == LEAT_PARQUET_FIXED;
    case LEAT_PARQUET_ENCODING_SPLIT:
        return leaf->n_bytes > 0 && leaf->type != LEAT_PARQUET_INT96;
    case LEAT_PARQUET_ENCODING_DICTIONARY:
    case LEAT_PARQUET_ENCODING_PLAIN_DICTIONARY:
        return leaf->type != LEAT_PARQUET_BOOLEAN;
    default:
        return encoding == LEAT_PARQUET_ENCODING_PLAIN;
    }
}

int leat_parquet_values_begin(struct leat_parquet_values *values, int64_t encoding,
                              const uint8_t *at, const uint8_t *end, uint64_t n_max,
                              struct leat_error *err) {
    if (!fits(values->leaf, encoding))
        return leat_error_set(err, -EBADMSG,
                              "has encoding %lld, which leat does not read for this type",
                              (long long)encoding);
    values->encoding = encoding == LEAT_PARQUET_ENCODING_PLAIN_DICTIONARY
                           ? LEAT_PARQUET_ENCODING_DICTIONARY
                           : encoding;
    values->at = at;
    values->end = end;
    values->n_passed = values->n_last = 0;
    values->n_bytes_each = values->leaf->n_bytes;
    switch (values->encoding) {
    case LEAT_PARQUET_ENCODING_DICTIONARY:
        return begin_indices(values, err);
    case LEAT_PARQUET_ENCODING_RLE:
        return begin_booleans(values, err);
    case LEAT_PARQUET_ENCODING_DELTA:
        return leat_parquet_delta_init(&values->delta, at, end, n_max)
                   ? 0
                   : fault(err, "delta-encoded numbers are invalid");
    case LEAT_PARQUET_ENCODING_DELTA_LENGTH:
    case LEAT_PARQUET_ENCODING_DELTA_BYTES:
        return begin_lengths(values, n_max, values->encoding == LEAT_PARQUET_ENCODING_DELTA_BYTES,
                             err);
    default:
        return 0;
    }
}

void leat_parquet_values_deinit(struct leat_parquet_values *values,
                                struct leat_parquet_memory *memory) {
    values->last = leat_parquet_blocks_free(memory, values->last);
}

int leat_parquet_values_read(struct leat_parquet_values *values, uint8_t *out, size_t n,
                             struct leat_parquet_memory *memory, struct leat_parquet_block **blocks,
                             struct leat_error *err) {
    size_t size = leat_parquet_value_size(values->leaf);
    int r = 0;

    switch (values->encoding) {
    case LEAT_PARQUET_ENCODING_DICTIONARY:
        return read_indices(values, out, n, err);
    case LEAT_PARQUET_ENCODING_RLE:
        return read_runs_of_booleans(values, out, n, err);
    case LEAT_PARQUET_ENCODING_DELTA:
        return read_deltas(values, out, n, err);
    case LEAT_PARQUET_ENCODING_DELTA_LENGTH:
        return read_lengths(values, (struct leat_arrow_view *)(void *)out, n, err);
    case LEAT_PARQUET_ENCODING_SPLIT:
        return read_split(values, out, n, err);
    case LEAT_PARQUET_ENCODING_DELTA_BYTES:
        for (; r == 0 && n > 0; n -= n < STEP ? n : STEP, out += STEP * size)
            r = read_prefixed(values, out, n < STEP ? n : STEP, size, memory, blocks, err);
        return r;
    default:
        return read_plain(values, out, n, err);
    }
}
