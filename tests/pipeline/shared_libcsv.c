/* shared_libcsv.c: see shared_libcsv.h. */
#include "tests/pipeline/shared_libcsv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/cut/csv.h"

typedef bool split_fn(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                      size_t n_readable, struct leat_cutter_field *fields, uint32_t capacity,
                      uint32_t *ret_n_fields);

/* The fields by libcsv, each with its length in front. */
struct judged {
    uint8_t *bytes;
    size_t n_bytes;
    uint32_t n_fields;
    bool is_good;
};

static int never(unsigned char byte) {
    (void)byte;
    return 0;
}

static void add_field(struct judged *judged, const void *text, size_t n) {
    memcpy(judged->bytes + judged->n_bytes, &n, sizeof(n));
    if (n > 0)
        memcpy(judged->bytes + judged->n_bytes + sizeof(n), text, n);
    judged->n_bytes += sizeof(n) + n;
    judged->n_fields++;
}

static void on_field(void *text, size_t n, void *user) {
    add_field(user, text, n);
}

static void judged_init(struct judged *judged, size_t n_bytes) {
    *judged = (struct judged){.bytes = malloc((n_bytes + 1) * (sizeof(size_t) + 1))};
    assert(judged->bytes);
}

/* Without quoting a record is its fields with delimiters between them. */
static void judge_plain(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                        struct judged *judged) {
    size_t start = 0;

    for (size_t i = 0; i <= n_bytes; i++) {
        if (i < n_bytes && record[i] != cutter->delimiter)
            continue;
        add_field(judged, record + start, i - start);
        start = i + 1;
    }
    judged->is_good = true;
}

static void judge(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                  struct judged *judged) {
    struct csv_parser parser;
    int r = csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI);

    assert(r == 0);
    (void)r;
    csv_set_delim(&parser, cutter->delimiter);
    csv_set_quote(&parser, cutter->quote);
    csv_set_space_func(&parser, never);
    csv_set_term_func(&parser, never);
    judged->is_good = csv_parse(&parser, record, n_bytes, on_field, NULL, judged) == n_bytes &&
                      csv_fini(&parser, on_field, NULL, judged) == 0;
    csv_free(&parser);
}

static bool is_same(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                    size_t n_readable, split_fn *split, const struct judged *judged) {
    struct leat_cutter_field *fields = calloc(n_bytes + 1, sizeof(*fields));
    uint32_t n_fields, n_fewer, capacity = (uint32_t)n_bytes + 1;
    struct judged got;
    bool is_good, is_equal;

    assert(fields);
    judged_init(&got, n_bytes);
    is_good = split(cutter, record, n_bytes, n_readable, fields, capacity, &n_fields);
    for (uint32_t i = 0; is_good && i < n_fields; i++) {
        const uint8_t *bytes = record + fields[i].start;
        size_t n = fields[i].end - fields[i].start;
        uint8_t *copy = malloc(n + 1);

        assert(copy);
        if (fields[i].has_doubled)
            add_field(&got, copy, leat_cutter_unquote(cutter, bytes, n, copy));
        else
            add_field(&got, bytes, n);
        free(copy);
    }
    is_equal = is_good == judged->is_good &&
               (!is_good || (n_fields == judged->n_fields && got.n_bytes == judged->n_bytes &&
                             memcmp(got.bytes, judged->bytes, got.n_bytes) == 0));
    /* fields that there is no room for are counted */
    is_equal &= split(cutter, record, n_bytes, n_readable, fields, 1, &n_fewer) == is_good &&
                (!is_good || n_fewer == n_fields);
    free(got.bytes);
    free(fields);
    return is_equal;
}

static bool split_by_libcsv(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                            size_t n_readable, struct leat_cutter_field *fields, uint32_t capacity,
                            uint32_t *ret_n_fields) {
    (void)n_readable;
    return leat_cutter_csv_split(cutter, record, n_bytes, fields, capacity, ret_n_fields);
}

bool libcsv_agrees(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                   size_t n_readable) {
    bool has_returns = memchr(record, '\r', n_bytes) != NULL, is_equal;
    struct judged judged;
    uint32_t line, column;

    judged_init(&judged, n_bytes);
    if (cutter->quote)
        judge(cutter, record, n_bytes, &judged);
    else
        judge_plain(cutter, record, n_bytes, &judged);
    is_equal = is_same(cutter, record, n_bytes, n_readable, leat_cutter_split, &judged) &&
               is_same(cutter, record, n_bytes, n_readable, split_by_libcsv, &judged);
    if (!has_returns)
        is_equal &=
            (leat_cutter_check(cutter, record, n_bytes, &line, &column) == NULL) == judged.is_good;
    free(judged.bytes);
    return is_equal;
}
