/* Metrics: both formats, names that trainers chose, and the largest text there can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics/metrics.h"
#include "proto/frame.h"

static char *render(const struct leat_reading *reading, enum leat_metrics_format format) {
    struct leat_text text = {.data = NULL};

    leat_metrics_render(&text, reading, format);
    assert_false(text.failed);
    return text.data;
}

static struct leat_reading *read_one(const char *name) {
    struct leat_reading *reading = leat_reading_new(1);
    struct leat_stream_reading *stream;

    assert_non_null(reading);
    stream = &reading->streams[0];
    (void)snprintf(stream->name, sizeof(stream->name), "%s", name);
    stream->counts.figures.n_batches = UINT64_MAX;
    stream->counts.figures.wait_ns = 1500000000;
    stream->n_stages = 2;
    (void)snprintf(stream->stages[0].name, sizeof(stream->stages[0].name), "pad");
    (void)snprintf(stream->stages[1].name, sizeof(stream->stages[1].name), "pad[2]");
    stream->stages[0].role = stream->stages[1].role = LEAT_ROLE_MAP;
    stream->stages[1].figures.busy_ns = 7;
    return reading;
}

static void test_formats(void **state) {
    static const char *const both[] = {
        "\nleat_stream_batches_total{stream=\"a b\",owner=\"settings\"} 18446744073709551615\n",
        "\nleat_stream_trainer_wait_seconds_total{stream=\"a b\",owner=\"settings\"} 1.500000000\n",
        ("\nleat_stage_busy_seconds_total{stream=\"a b\",owner=\"settings\",stage=\"pad[2]\","
         "role=\"map\"} 0.000000007\n"),
        "\nleat_workers 0\n",
    };
    struct leat_reading *reading = read_one("a b");
    char *open = render(reading, LEAT_METRICS_OPENMETRICS);
    char *text = render(reading, LEAT_METRICS_PROMETHEUS);

    (void)state;
    for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++) {
        assert_non_null(strstr(open, both[i]));
        assert_non_null(strstr(text, both[i]));
    }
    assert_non_null(strstr(open, "\n# TYPE leat_stream_batches counter\n"));
    assert_non_null(strstr(open, "\n# UNIT leat_stream_trainer_wait_seconds seconds\n"));
    assert_string_equal(open + strlen(open) - 6, "# EOF\n");
    assert_non_null(strstr(text, "\n# TYPE leat_stream_batches_total counter\n"));
    assert_null(strstr(text, "# UNIT"));
    assert_null(strstr(text, "# EOF"));
    free(open);
    free(text);
    free(reading);
}

/* Whatever the name is, it ends neither its label nor its line. */
static void test_names(void **state) {
    static const struct {
        const char *name, *label;
    } cases[] = {
        {"say \"x\"\\", "say \\\"x\\\"\\\\"},
        {"two\nlines\r", "two\\\\x0alines\\\\x0d"},
        {"M\xc3\xbcller", "M\xc3\xbcller"},
        {"\xff\xc3", "\\\\xff\\\\xc3"},
        {"\x1b[31m\x7f", "\\\\x1b[31m\\\\x7f"},
        {"\"} 1\nleat_draining 1", "\\\"} 1\\\\x0aleat_draining 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_reading *reading = read_one(cases[i].name);
        char *text = render(reading, LEAT_METRICS_PROMETHEUS);
        char line[256];

        (void)snprintf(line, sizeof(line),
                       "\nleat_stream_rows_total{stream=\"%s\",owner=\"settings\"} 0\n",
                       cases[i].label);
        if (!strstr(text, line))
            fail_msg("no %s", line);
        free(text);
        free(reading);
    }
}

/* It fits into a reply of the control socket. */
static void test_largest(void **state) {
    struct leat_reading *reading = leat_reading_new(LEAT_READING_MAX_STREAMS);
    char *text;

    (void)state;
    assert_non_null(reading);
    memset(&reading->figures, 0xff, sizeof(reading->figures));
    for (size_t i = 0; i < reading->n_streams; i++) {
        struct leat_stream_reading *stream = &reading->streams[i];

        memset(stream->name, '"', sizeof(stream->name) - 1);
        memset(&stream->counts.figures, 0xff, sizeof(stream->counts.figures));
        stream->n_stages = LEAT_READING_MAX_STAGES;
        for (size_t j = 0; j < stream->n_stages; j++) {
            (void)snprintf(stream->stages[j].name, sizeof(stream->stages[j].name),
                           "the_longest_stage_there_is[%zu]", j);
            stream->stages[j].role = LEAT_ROLE_QUARANTINE;
            memset(&stream->stages[j].figures, 0xff, sizeof(stream->stages[j].figures));
        }
    }
    text = render(reading, LEAT_METRICS_OPENMETRICS);
    assert_in_range(strlen(text), 500000, LEAT_CONTROL_FRAME_MAX - 4096);
    free(text);
    free(reading);
}

static void check_table(const struct leat_figure *table) {
    for (const struct leat_figure *figure = table; figure->member; figure++) {
        size_t n = strlen(figure->help);

        assert_true(n > 5 && figure->help[n - 1] == '.');
        assert_null(strpbrk(figure->help, "\\\n\""));
        if (!figure->metric)
            continue;
        assert_true(strncmp(figure->metric, "leat_", 5) == 0 ||
                    strncmp(figure->metric, "process_", 8) == 0);
        assert_null(strstr(figure->metric, "_total"));
        assert_null(strstr(figure->metric, "_seconds"));
        for (const struct leat_figure *other = table; other < figure; other++)
            assert_false(
                other->metric && strcmp(other->metric, figure->metric) == 0 &&
                other->unit == figure->unit &&
                (!figure->metric_label || strcmp(other->metric_label, figure->metric_label) == 0));
    }
}

/* Prometheus' conventions, of the tables. */
static void test_table(void **state) {
    (void)state;
    check_table(leat_daemon_figure_table);
    check_table(leat_stream_figure_table);
    check_table(leat_stage_figure_table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
