/* test_cutter.c: pipeline/cut/cutter.c and cut/blocks.c against the definition in cutter.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/cut/blocks.h"
#include "proto/base/rng.h"
#include "tests/pipeline/shared_cut.h"
#include "tests/proto/shared_simd.h"

static const struct leat_cutter csv = {
    .kind = LEAT_CUTTER_CSV, .delimiter = ',', .quote = '"', .max_record_bytes = 1 << 20};

static void check_text(const struct leat_cutter *cutter, const uint8_t *data, size_t n_bytes,
                       const size_t *pieces, size_t n_pieces) {
    struct cut_list want, got;

    cut_list_init(&want, n_bytes);
    cut_list_init(&got, n_bytes);
    cut_by_definition(cutter, data, n_bytes, &want);
    cut_in_pieces(cutter, data, n_bytes, pieces, n_pieces, &got);
    if (!cut_lists_equal(&want, &got))
        fail_msg("max %u, %zu bytes, piece %zu: %zu records, wanted %zu, %zu lines, wanted %zu: "
                 "%.*s",
                 cutter->max_record_bytes, n_bytes, n_pieces ? pieces[0] : 0, got.n_records,
                 want.n_records, (size_t)got.n_lines, (size_t)want.n_lines, (int)n_bytes, data);
    cut_list_deinit(&want);
    cut_list_deinit(&got);
}

static size_t fill(struct leat_rng *rng, uint8_t *data, size_t capacity, const char *alphabet) {
    size_t n = leat_rng_below(rng, capacity + 1), n_letters = strlen(alphabet);

    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)alphabet[leat_rng_below(rng, n_letters)];
    return n;
}

static void agrees_with_definition(void **state) {
    static const char *const alphabets[] = {
        "\",\r\na",      "\",\na",          "\"\"\",,\n\naaaaaaaaaaaaaaaaaaaaaaaa",
        "a,\nbbbbbbbbb", "\"\"\"\"\",,,\n", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,,,,\n\n"};
    static const uint32_t limits[] = {2, 3, 7, 40, 127, 128, 150, 300, 1 << 20};
    struct leat_rng rng = {.state = 1};
    uint8_t data[700];

    (void)state;
    for (int i = 0; i < 120000; i++) {
        struct leat_cutter cutter = csv;
        size_t n = fill(&rng, data, i % 4 ? 60 : sizeof(data), alphabets[leat_rng_below(&rng, 6)]);
        size_t pieces[3];
        for (size_t k = 0; k < 3; k++)
            pieces[k] = 1 + leat_rng_below(&rng, i % 3 ? 200 : 10);
        cutter.max_record_bytes = limits[leat_rng_below(&rng, 9)];
        if (i % 10 == 0)
            cutter.quote = 0;
        if (i % 10 == 1)
            cutter.kind = LEAT_CUTTER_LINES;
        check_text(&cutter, data, n, pieces, leat_rng_below(&rng, 4));
    }
}

/* Well-formed records, so that the fast path goes far. */
static size_t fill_records(struct leat_rng *rng, uint8_t *data, size_t capacity) {
    static const char *const fields[] = {"",     "12",         "\"a, \"\"b\"\"\"", "\"x\ny\"",
                                         "\"\"", "plain text", "\"\r\n\"",         "7.25"};
    size_t n = 0;

    while (n + 200 < capacity) {
        for (uint64_t i = leat_rng_below(rng, 12); i > 0; i--)
            n += (size_t)sprintf((char *)data + n, "%s,", fields[leat_rng_below(rng, 8)]);
        n += (size_t)sprintf((char *)data + n, "%s", leat_rng_below(rng, 3) ? "\n" : "\r\n");
        if (leat_rng_below(rng, 300) == 0)
            data[n - 1] = '"';
    }
    return n;
}

static void agrees_on_records(void **state) {
    static uint8_t data[20000];
    struct leat_rng rng = {.state = 2};

    (void)state;
    for (int i = 0; i < 300; i++) {
        struct leat_cutter cutter = csv;
        size_t n = fill_records(&rng, data, i % 2 ? sizeof(data) : 2000);
        size_t piece = 1 + leat_rng_below(&rng, 5000);
        cutter.max_record_bytes = i % 5 ? 1 << 20 : 128;
        check_text(&cutter, data, n, &piece, 1);
        check_text(&cutter, data, n, NULL, 0);
    }
}

static void every_split_gives_the_same(void **state) {
    static const char text[] = "a,\"b\r\n\"\"c\"\r\n\r\n\n\"x\"y,z\"\n,\n\"never closed\nq,\"r\"\r";
    size_t n = sizeof(text) - 1;

    (void)state;
    for (uint32_t max = 2; max < 70; max += 3)
        for (size_t first = 1; first <= n; first++)
            for (size_t second = 1; second <= n; second++) {
                struct leat_cutter cutter = csv;
                size_t pieces[2] = {first, second};
                cutter.max_record_bytes = max;
                check_text(&cutter, (const uint8_t *)text, n, pieces, 2);
            }
}

/* With and without a vector unit, where there are no quotes: else libcsv takes all. */
static void fast_paths_agree(void **state) {
    static uint8_t data[5000];
    struct leat_rng rng = {.state = 3};

    (void)state;
    for (int i = 0; i < 2000; i++) {
        size_t n = i % 2 ? fill_records(&rng, data, sizeof(data))
                         : fill(&rng, data, 300, "\",\r\naaaaaaaaaaaaaa");
        struct leat_cutter cutter = {.kind = i % 7 ? LEAT_CUTTER_CSV : LEAT_CUTTER_LINES,
                                     .delimiter = ',',
                                     .max_record_bytes = i % 3 ? 1 << 20 : 128};
        static uint32_t starts[2][5000], ends[2][5000];
        struct leat_cutter_scan scans[2];
        size_t stops[2];
        for (int k = 0; k < 2; k++)
            scans[k] = (struct leat_cutter_scan){.cutter = &cutter,
                                                 .data = data,
                                                 .n_bytes = n,
                                                 .starts = i % 5 ? starts[k] : NULL,
                                                 .ends = ends[k],
                                                 .capacity = 5000};
        stops[0] = leat_cutter_blocks(&scans[0]);
        stops[1] = leat_cutter_blocks_portable(&scans[1]);
        assert_int_equal(stops[0], stops[1]);
        assert_int_equal(scans[0].start, scans[1].start);
        assert_int_equal(scans[0].n_records, scans[1].n_records);
        assert_int_equal(scans[0].n_lines, scans[1].n_lines);
        if (i % 5) {
            assert_memory_equal(starts[0], starts[1], scans[0].n_records * sizeof(uint32_t));
            assert_memory_equal(ends[0], ends[1], scans[0].n_records * sizeof(uint32_t));
        }
    }
}

/* Each line opens a quote that the next one would only open again: linear, not a scan a line. */
static void hostile_quotes_cost_one_pass(void **state) {
    static uint8_t data[4 << 20];
    struct leat_cutter cutter = csv;
    struct leat_cut cut;

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t) "x\",\"y\n"[i % 6];
    cutter.max_record_bytes = 1 << 30;
    leat_cutter_cut(&cutter, data, sizeof(data), true, &cut);
    assert_int_equal(cut.n_bytes, sizeof(data));
    assert_int_equal(cut.n_records, (sizeof(data) + 5) / 6);
}

static void check_tells(void **state) {
    static const struct {
        const char *record, *message;
        uint32_t line, column;
    } cases[] = {
        {"a,\"b\"\"\n\",c", NULL, 0, 0},
        {"\"\",", NULL, 0, 0},
        {"a,5\" pipe", "has a quote within an unquoted field", 0, 4},
        {"a,\"b\nc\" d", "has text after a closing quote", 1, 3},
        {"x,\"abc", "opens a quote here", 0, 3},
        {"x\ry", "has a carriage return outside quotes", 0, 2},
        {"\"x\"\ry", "has a carriage return outside quotes", 0, 4},
        {"\"x\ry\"", NULL, 0, 0},
        {"0123456789012345678901234567890123456789", "is longer than max_record_bytes", 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct leat_cutter cutter = csv;
        uint32_t line = 99, column = 99;
        const char *message;
        cutter.max_record_bytes = 40;
        message = leat_cutter_check(&cutter, (const uint8_t *)cases[i].record,
                                    strlen(cases[i].record), &line, &column);
        if (!cases[i].message) {
            assert_null(message);
            continue;
        }
        assert_non_null(message);
        assert_memory_equal(message, cases[i].message, strlen(cases[i].message));
        assert_int_equal(line, cases[i].line);
        assert_int_equal(column, cases[i].column);
    }
}

/* A stripe is cut as a whole; its frames are as long as their heads say. */
static void stripes_are_cut(void **state) {
    static const uint32_t sizes[] = {0, 7, 2, 1},
                          heads[] = {LEAT_FRAME_HAS_NEXT, LEAT_FRAME_HAS_NEXT | 7, 2, 1};
    static const uint32_t wanted_starts[] = {0, 5, 17, 24}, wanted_ends[] = {4, 16, 23, 29};
    static const struct leat_cutter cutter = {.kind = LEAT_CUTTER_FRAMES, .max_record_bytes = 100};
    uint32_t starts[5], ends[5], n_frames = 0;
    uint8_t data[30] = {0};
    struct leat_cut cut;

    (void)state;
    memcpy(data, heads, 3 * sizeof(*heads)); /* a stripe of three, and one of one */
    memcpy(data + 24, &heads[3], sizeof(*heads));
    assert_int_equal(leat_cutter_stripe(data, sizeof(data), &n_frames), 24);
    assert_int_equal(n_frames, 3);
    for (size_t n = 0; n <= sizeof(data); n++) {
        size_t n_whole = n < 24 ? 0 : n < 30 ? 24 : 30, n_cut = n < 24 ? 0 : n < 30 ? 3 : 4;

        leat_cutter_cut(&cutter, data, n, false, &cut);
        assert_int_equal(cut.n_bytes, n_whole);
        assert_int_equal(cut.n_records, n_cut);
        assert_int_equal(cut.n_lines, n_cut);
        leat_cutter_cut(&cutter, data, n, true, &cut);
        assert_int_equal(cut.n_bytes, n);
        assert_int_equal(cut.n_records, n_cut + (n > n_whole));
    }
    assert_int_equal(leat_cutter_index(&cutter, data, sizeof(data), starts, ends, 5), 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(leat_frame_size(i < 3 ? data : data + 24, i % 3), sizes[i]);
        assert_int_equal(starts[i], wanted_starts[i]);
        assert_int_equal(ends[i], wanted_ends[i]);
    }
    assert_int_equal(leat_cutter_lines(&cutter, data, 17, 2), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_definition),
        cmocka_unit_test(agrees_on_records),
        cmocka_unit_test(every_split_gives_the_same),
        cmocka_unit_test(fast_paths_agree),
        cmocka_unit_test(hostile_quotes_cost_one_pass),
        cmocka_unit_test(check_tells),
        cmocka_unit_test(stripes_are_cut),
    };
    return shared_simd_run_twice(tests, NULL, NULL);
}
