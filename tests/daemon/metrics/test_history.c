/* The history: what samples say, how long they stay, and that no number of streams makes it large.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics/history.h"

#define SECOND_NS UINT64_C(1000000000)
#define FRAME_MAX (UINT32_C(1) << 20)

/* n streams "s0".., each with a stage; counters grow by their number (from 1) each second. */
static struct leat_reading *read_at(uint64_t second, size_t n_streams) {
    struct leat_reading *reading = leat_reading_new(n_streams);

    assert_non_null(reading);
    reading->at_ns = (second + 1000) * SECOND_NS;
    reading->unix_ns = (second + 1700000000) * SECOND_NS;
    reading->figures.rss_bytes = 7;
    reading->figures.cpu_ns = second * 5;
    for (size_t i = 0; i < n_streams; i++) {
        struct leat_stream_reading *stream = &reading->streams[i];

        (void)snprintf(stream->name, sizeof(stream->name), "s%zu", i);
        stream->counts.figures.n_batches = second * (i + 1);
        stream->counts.figures.n_sessions = i;
        stream->n_stages = 1;
        (void)snprintf(stream->stages[0].name, sizeof(stream->stages[0].name), "tokenize");
        stream->stages[0].role = LEAT_ROLE_MAP;
        stream->stages[0].figures.busy_ns = second * 100;
    }
    return reading;
}

static unsigned add(struct leat_history *history, uint64_t second, size_t n_streams) {
    struct leat_reading *reading = read_at(second, n_streams);
    unsigned tiers = leat_history_add(history, reading);

    free(reading);
    return tiers;
}

/* What the history has after that second, as a client gets it. */
static Leat__HistoryReply *collect(const struct leat_history *history, const char *stream,
                                   uint64_t after_second, size_t max_bytes) {
    Leat__HistoryReply reply = LEAT__HISTORY_REPLY__INIT, *unpacked;
    uint64_t after_ns = after_second ? (after_second + 1000) * SECOND_NS : 0;
    struct leat_arena arena;
    uint8_t *bytes;
    size_t n;

    leat_arena_init(&arena);
    assert_int_equal(leat_history_collect(history, stream, after_ns, max_bytes, &arena, &reply), 0);
    n = leat__history_reply__get_packed_size(&reply);
    assert_in_range(n, 0, max_bytes);
    bytes = malloc(n + 1);
    assert_non_null(bytes);
    assert_int_equal(leat__history_reply__pack(&reply, bytes), n);
    unpacked = leat__history_reply__unpack(NULL, n, bytes);
    assert_non_null(unpacked);
    free(bytes);
    leat_arena_deinit(&arena);
    return unpacked;
}

static void test_samples(void **state) {
    struct leat_history history;
    Leat__HistoryReply *reply;

    (void)state;
    assert_int_equal(leat_history_init(&history, LEAT_HISTORY_MAX_BYTES), 0);
    assert_int_equal(add(&history, 0, 3), 0);
    assert_int_equal(add(&history, 1, 3), 1U << LEAT_HISTORY_SECONDS);
    for (uint64_t second = 2; second <= 9; second++)
        (void)add(&history, second, 3);
    assert_int_equal(add(&history, 10, 3), 1U << LEAT_HISTORY_SECONDS | 1U << LEAT_HISTORY_TENS);
    reply = collect(&history, NULL, 0, FRAME_MAX);
    assert_int_equal(reply->n_samples, 10);
    for (size_t i = 0; i < 10; i++) {
        const Leat__Sample *sample = reply->samples[i];

        assert_int_equal(sample->at_ns, (i + 1 + 1000) * SECOND_NS);
        assert_int_equal(sample->duration_ns, SECOND_NS);
        assert_int_equal(sample->rss_bytes, 7);
        assert_int_equal(sample->cpu_ns, 5);
        assert_int_equal(sample->n_streams, 3);
        assert_string_equal(sample->streams[2]->name, "s2");
        assert_int_equal(sample->streams[2]->n_batches, 3);
        assert_int_equal(sample->streams[2]->n_sessions, 2);
        assert_string_equal(sample->streams[2]->stages[0]->name, "tokenize");
        assert_string_equal(sample->streams[2]->stages[0]->role, "map");
        assert_int_equal(sample->streams[2]->stages[0]->busy_ns, 100);
    }
    leat__history_reply__free_unpacked(reply, NULL);
    leat_history_deinit(&history);
}

/* A stream that does nothing takes no room; one that is new begins at nothing. */
static void test_streams_come_and_rest(void **state) {
    struct leat_history history;
    struct leat_reading *reading = read_at(2, 2);
    Leat__HistoryReply *reply;

    (void)state;
    assert_int_equal(leat_history_init(&history, LEAT_HISTORY_MAX_BYTES), 0);
    (void)add(&history, 1, 1);
    (void)leat_history_add(&history, reading);
    reading->at_ns += SECOND_NS; /* and nothing else has changed */
    (void)leat_history_add(&history, reading);
    free(reading);
    reply = collect(&history, NULL, 0, FRAME_MAX);
    assert_int_equal(reply->n_samples, 2);
    assert_int_equal(reply->samples[0]->n_streams, 2);
    assert_int_equal(reply->samples[0]->streams[0]->n_batches, 1);
    assert_int_equal(reply->samples[0]->streams[1]->n_batches, 4);
    assert_int_equal(reply->samples[1]->n_streams, 1); /* s1 has a trainer */
    assert_int_equal(reply->samples[1]->streams[0]->n_batches, 0);
    assert_int_equal(reply->samples[1]->streams[0]->n_stages, 0);
    leat__history_reply__free_unpacked(reply, NULL);
    leat_history_deinit(&history);
}

/* One that was forgotten between two looks, and came again, has less than it had. */
static void test_begun_anew(void **state) {
    struct leat_reading *reading = read_at(9, 1);
    struct leat_history history;
    Leat__HistoryReply *reply;

    (void)state;
    assert_int_equal(leat_history_init(&history, LEAT_HISTORY_MAX_BYTES), 0);
    (void)leat_history_add(&history, reading);
    reading->at_ns += SECOND_NS;
    reading->streams[0].counts.figures.n_batches = 4;
    reading->streams[0].stages[0].figures.busy_ns = 30;
    (void)leat_history_add(&history, reading);
    free(reading);
    reply = collect(&history, NULL, 0, FRAME_MAX);
    assert_int_equal(reply->n_samples, 1);
    assert_int_equal(reply->samples[0]->streams[0]->n_batches, 4);
    assert_int_equal(reply->samples[0]->streams[0]->stages[0]->busy_ns, 30);
    leat__history_reply__free_unpacked(reply, NULL);
    leat_history_deinit(&history);
}

static void test_one_stream(void **state) {
    struct leat_history history;
    Leat__HistoryReply *reply;

    (void)state;
    assert_int_equal(leat_history_init(&history, LEAT_HISTORY_MAX_BYTES), 0);
    for (uint64_t second = 0; second < 20; second++)
        (void)add(&history, second, 12);
    for (int i = 0; i < 14; i++) { /* "s1" is not "s11"; of one that is not there, nothing */
        char name[16];

        (void)snprintf(name, sizeof(name), "s%d", i);
        reply = collect(&history, name, 15, FRAME_MAX);
        assert_int_equal(reply->n_samples, 4);
        assert_int_equal(reply->samples[0]->n_streams, i < 12);
        if (i < 12)
            assert_string_equal(reply->samples[0]->streams[0]->name, name);
        leat__history_reply__free_unpacked(reply, NULL);
    }
    leat_history_deinit(&history);
}

/* Seven hours: ten minutes of seconds, the rest of six hours in tens, without a gap or an overlap;
 * a client that asks for what follows gets all of it, whatever the size of a reply. */
static void test_long(void **state) {
    const uint64_t seconds = UINT64_C(7) * 3600;
    struct leat_history history;
    uint64_t after = 0, end_ns = 0;
    size_t n = 0;

    (void)state;
    assert_int_equal(leat_history_init(&history, LEAT_HISTORY_MAX_BYTES), 0);
    for (uint64_t second = 0; second <= seconds; second++)
        (void)add(&history, second, 1);
    assert_int_equal(history.parts[LEAT_HISTORY_SECONDS].n_samples, 600);
    assert_int_equal(history.parts[LEAT_HISTORY_TENS].n_samples, 2160);
    for (;;) {
        Leat__HistoryReply *reply = collect(&history, NULL, after, 5000);

        for (size_t i = 0; i < reply->n_samples; i++) {
            const Leat__Sample *sample = reply->samples[i];

            if (end_ns)
                assert_int_equal(sample->at_ns - sample->duration_ns, end_ns);
            end_ns = sample->at_ns;
            after = end_ns / SECOND_NS - 1000;
            assert_int_equal(sample->streams[0]->n_batches, sample->duration_ns / SECOND_NS);
        }
        n += reply->n_samples;
        if (reply->n_samples == 0) {
            leat__history_reply__free_unpacked(reply, NULL);
            break;
        }
        leat__history_reply__free_unpacked(reply, NULL);
    }
    assert_int_equal(after, seconds);
    assert_int_equal(n, 2160 - 60 + 600);
    leat_history_deinit(&history);
}

/* With as many streams as there may be, all busy, it keeps within its bytes, and the latest. */
static void test_bounded(void **state) {
    struct leat_history history;

    (void)state;
    assert_int_equal(leat_history_init(&history, LEAT_HISTORY_MIN_BYTES), 0);
    for (uint64_t second = 0; second < 1000; second++) {
        uint64_t n_bytes = 0;

        (void)add(&history, second, LEAT_READING_MAX_STREAMS);
        for (int i = 0; i < LEAT_N_HISTORY_TIERS; i++)
            n_bytes += history.parts[i].n_bytes;
        assert_in_range(n_bytes, 0, LEAT_HISTORY_MIN_BYTES + 8192);
    }
    assert_in_range(history.parts[LEAT_HISTORY_SECONDS].n_samples, 10, 599);
    assert_int_equal(leat_history_get(&history, LEAT_HISTORY_SECONDS,
                                      history.parts[LEAT_HISTORY_SECONDS].n_samples - 1)
                         ->at_ns,
                     1999 * SECOND_NS);
    leat_history_deinit(&history);
}

/* A loop that hung, a tick that came early: a sample says how long it was. */
static void test_uneven(void **state) {
    struct leat_history history;
    struct leat_reading *reading = read_at(0, 1);

    (void)state;
    assert_int_equal(leat_history_init(&history, LEAT_HISTORY_MAX_BYTES), 0);
    assert_int_equal(leat_history_add(&history, reading), 0);
    reading->at_ns += SECOND_NS / 2;
    assert_int_equal(leat_history_add(&history, reading), 0);
    reading->at_ns += SECOND_NS / 2 - SECOND_NS / 50;
    assert_int_equal(leat_history_add(&history, reading), 1);
    reading->at_ns += 30 * SECOND_NS;
    assert_int_equal(leat_history_add(&history, reading), 3);
    assert_int_equal(leat_history_get(&history, LEAT_HISTORY_SECONDS, 1)->duration_ns,
                     30 * SECOND_NS);
    assert_null(leat_history_get(&history, LEAT_HISTORY_SECONDS, 2));
    free(reading);
    leat_history_deinit(&history);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),    cmocka_unit_test(test_streams_come_and_rest),
        cmocka_unit_test(test_begun_anew), cmocka_unit_test(test_one_stream),
        cmocka_unit_test(test_long),       cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_uneven),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
