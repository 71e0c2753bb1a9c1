/* The history as the status page asks for it: in answers of bounded size, which have each sample
 * once, whatever there is of streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics/http_json.h"

#define SECOND_NS UINT64_C(1000000000)
#define HEAD_MAX  (UINT32_C(64) << 10) /* of an answer without samples, and of one sample */

static struct leat_reading *read_at(uint64_t second, size_t n_streams) {
    struct leat_reading *reading = leat_reading_new(n_streams);

    assert_non_null(reading);
    reading->at_ns = second * SECOND_NS;
    reading->unix_ns = (second + 1700000000) * SECOND_NS;
    for (size_t i = 0; i < n_streams; i++) {
        struct leat_stream_reading *stream = &reading->streams[i];

        memset(stream->name, 'a' + (int)(i % 26), 40);
        (void)snprintf(stream->verdict, sizeof(stream->verdict), "bounded by \"%zu\"", i);
        stream->counts.figures.n_batches = second * (i + 1);
        stream->n_stages = 1;
        (void)snprintf(stream->stages[0].name, sizeof(stream->stages[0].name), "tokenize");
        stream->stages[0].role = LEAT_ROLE_MAP;
        stream->stages[0].figures.busy_ns = second * 100;
    }
    return reading;
}

/* Counts the samples of an answer; *after is of its last. */
static size_t read_samples(const char *text, uint64_t *after) {
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, "{\"at\": \"")); n++) {
        uint64_t at_ns = strtoull(at += strlen("{\"at\": \""), NULL, 10);

        assert_true(at_ns > *after);
        *after = at_ns;
    }
    return n;
}

static size_t read_all(const struct leat_history *history, const struct leat_reading *reading) {
    uint64_t after = 0;
    size_t n = 0;
    bool has_more = true;

    while (has_more) {
        struct leat_text text = {.data = NULL};
        size_t n_here;

        leat_http_json(&text, history, reading, LEAT_HISTORY_SECONDS, after, reading->at_ns, false);
        assert_int_equal(text.failed, 0);
        assert_true(reading->n_streams == 0 ||
                    strstr(text.data, "\"verdict\": \"bounded by \\\"0\\\"\","));
        assert_in_range(text.n_bytes, 1, LEAT_HTTP_JSON_MAX + HEAD_MAX);
        leat_text_add_bytes(&text, "", 1);
        n_here = read_samples(text.data, &after);
        has_more = strstr(text.data, "\"has_more\": true") != NULL;
        assert_true(n_here > 0);
        n += n_here;
        free(text.data);
    }
    assert_int_equal(after, reading->at_ns);
    return n;
}

static void test_answers(void **state) {
    static const size_t n_streams[] = {0, 1, LEAT_READING_MAX_STREAMS};

    (void)state;
    for (size_t i = 0; i < sizeof(n_streams) / sizeof(n_streams[0]); i++) {
        struct leat_history history;
        struct leat_reading *reading = NULL;
        size_t n_kept = 0;

        assert_int_equal(leat_history_init(&history, LEAT_HISTORY_MAX_BYTES), 0);
        for (uint64_t second = 1; second <= 500; second++) {
            free(reading);
            reading = read_at(second, n_streams[i]);
            (void)leat_history_add(&history, reading);
        }
        while (leat_history_get(&history, LEAT_HISTORY_SECONDS, n_kept))
            n_kept++;
        assert_int_equal(read_all(&history, reading), n_kept);
        free(reading);
        leat_history_deinit(&history);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
