/* Figures by name: counters never go back, whatever streams are forgotten, and there is room for a
 * bounded number of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log/log.h"
#include "daemon/metrics/series.h"
#include "daemon/schedule/heartbeat.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/trainer/sessions.h"
#include "daemon/users/user.h"
#include "proto/base/clock.h"

static uv_loop_t loop;
static struct leat_log log_;
static struct leat_users users;
static struct leat_heartbeat heartbeat;
static struct leat_scheduler scheduler = {.heartbeat = &heartbeat};
static struct leat_budget budget;
static struct leat_env env = {
    .loop = &loop, .log = &log_, .users = &users, .scheduler = &scheduler, .budget = &budget};
static struct leat_feeds feeds = {.env = &env};
static struct leat_sessions sessions = {.env = &env, .feeds = &feeds};
static struct leat_series series;

static int set_up(void **state) {
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    (void)uv_loop_configure(&loop, UV_METRICS_IDLE_TIME);
    env.start_ns = leat_now_ns();
    assert_int_equal(leat_streams_init(&feeds.streams, NULL, 0), 0);
    series = (struct leat_series){.first = NULL};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    leat_series_deinit(&series);
    leat_streams_deinit(&feeds.streams);
    assert_int_equal(uv_loop_close(&loop), 0);
    return 0;
}

/* A trainer's stream that has made so many batches in one stage of each name; in use until it is
 * given back. */
static struct leat_daemon_stream *add_stream(const char *name, uint64_t n_batches,
                                             const char *const *stages, size_t n_stages) {
    struct leat_run_stage_stats stats[LEAT_STREAM_MAX_STAGES] = {{.name = NULL}};
    struct leat_run_stats run = {.counts.figures = {.n_batches = n_batches, .n_jobs = 9},
                                 .n_stages = n_stages,
                                 .stages = stats};
    struct leat_spec *spec = calloc(1, sizeof(*spec));
    struct leat_daemon_stream *stream;

    assert_non_null(spec);
    spec->name = strdup(name);
    for (size_t i = 0; i < n_stages; i++)
        stats[i] = (struct leat_run_stage_stats){
            .name = stages[i], .role = LEAT_ROLE_MAP, .figures.busy_ns = n_batches * (i + 1)};
    stream = leat_streams_add_own(&feeds.streams, 0, spec);
    assert_non_null(stream);
    leat_stream_totals_add(&stream->totals, &run);
    return stream;
}

static void give_back(struct leat_daemon_stream *stream) {
    leat_streams_unref(&feeds.streams, stream);
}

/* Of the stream of that name: batches, or 0; *ret_stream if it is not NULL. */
static uint64_t batches_of(const char *name, struct leat_stream_reading *ret_stream) {
    struct leat_reading *reading = leat_series_read(&series, &sessions);
    struct leat_stream_reading wanted = {.owner = LEAT_OWNER_TRAINER};
    const struct leat_stream_reading *stream;
    uint64_t n;

    assert_non_null(reading);
    (void)snprintf(wanted.name, sizeof(wanted.name), "%s", name);
    stream = leat_reading_find(reading, &wanted);
    n = stream ? stream->counts.figures.n_batches : 0;
    if (ret_stream && stream)
        *ret_stream = *stream;
    free(reading);
    return n;
}

/* Streams of one name come, go and are forgotten; what they made is told together and stays. */
static void test_never_back(void **state) {
    static const char *const stages[] = {"tokenize"};
    uint64_t made = 0;

    (void)state;
    for (uint64_t i = 1; i <= 3 * LEAT_STREAMS_MAX_ENDED; i++) {
        struct leat_daemon_stream *one = add_stream("x", i, stages, 1);
        struct leat_daemon_stream *two = add_stream("x", 1000, stages, 1);
        struct leat_stream_reading stream;

        made += i + 1000;
        assert_ptr_not_equal(one, two);
        assert_int_equal(batches_of("x", &stream), made);
        assert_int_equal(stream.stages[0].figures.busy_ns, made);
        give_back(one);
        give_back(two);
        assert_int_equal(batches_of("x", NULL), made);
    }
}

static void test_stages(void **state) {
    static const char *const stages[] = {"pad", "cast", "pad", "pad"};
    static const char *const names[] = {"pad", "cast", "pad[2]", "pad[3]"};
    const char *many[LEAT_STREAM_MAX_STAGES];
    struct leat_stream_reading stream;
    struct leat_daemon_stream *few = add_stream("few", 1, stages, 4), *lot;
    char text[LEAT_STREAM_MAX_STAGES][8];
    uint64_t others = 0;

    (void)state;
    assert_int_equal(batches_of("few", &stream), 1);
    assert_int_equal(stream.n_stages, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(stream.stages[i].name, names[i]);
        assert_int_equal(stream.stages[i].figures.busy_ns, i + 1);
    }
    for (size_t i = 0; i < LEAT_STREAM_MAX_STAGES; i++) {
        (void)snprintf(text[i], sizeof(text[i]), "s%zu", i);
        many[i] = text[i];
        others += i + 1 >= LEAT_READING_MAX_STAGES ? i + 1 : 0;
    }
    lot = add_stream("lot", 1, many, LEAT_STREAM_MAX_STAGES);
    assert_int_equal(batches_of("lot", &stream), 1);
    assert_int_equal(stream.n_stages, LEAT_READING_MAX_STAGES);
    assert_string_equal(stream.stages[LEAT_READING_MAX_STAGES - 1].name, "others");
    assert_int_equal(stream.stages[LEAT_READING_MAX_STAGES - 1].figures.busy_ns, others);
    give_back(few);
    give_back(lot);
}

/* What is told of all others: batches, and busy times of their stages. */
static uint64_t batches_of_others(uint64_t *ret_busy_ns) {
    struct leat_reading *reading = leat_series_read(&series, &sessions);
    struct leat_stream_reading wanted = {.name = LEAT_READING_OTHER, .owner = LEAT_OWNER_OTHER};
    const struct leat_stream_reading *stream;
    uint64_t n;

    assert_non_null(reading);
    stream = leat_reading_find(reading, &wanted);
    n = stream ? stream->counts.figures.n_batches : 0;
    *ret_busy_ns = 0;
    for (size_t i = 0; stream && i < stream->n_stages; i++)
        *ret_busy_ns += stream->stages[i].figures.busy_ns;
    free(reading);
    return n;
}

/* More names than there is room for: those in use stay, the others are summed up; once one has
 * ended the next takes its place, and begins at nothing, as what it did was told already. */
static void test_room(void **state) {
    static const char *const stages[] = {"tokenize"};
    struct leat_daemon_stream *streams[LEAT_READING_MAX_STREAMS + 2], *again, *more;
    struct leat_reading *reading;
    uint64_t busy_ns;
    char name[16];

    (void)state;
    for (size_t i = 0; i < LEAT_READING_MAX_STREAMS + 2; i++) {
        (void)snprintf(name, sizeof(name), "s%zu", i);
        streams[i] = add_stream(name, 5, stages, 1);
    }
    reading = leat_series_read(&series, &sessions);
    assert_non_null(reading);
    assert_int_equal(reading->n_streams, LEAT_READING_MAX_STREAMS + 1);
    assert_int_equal(reading->figures.n_streams_other, 2);
    assert_int_equal(reading->figures.n_streams, LEAT_READING_MAX_STREAMS + 2);
    free(reading);
    assert_int_equal(batches_of_others(&busy_ns), 10);
    assert_int_equal(busy_ns, 10);
    give_back(streams[3]);
    (void)snprintf(name, sizeof(name), "s%d", LEAT_READING_MAX_STREAMS);
    assert_int_equal(batches_of(name, NULL), 0); /* in the place of s3, from now on */
    assert_int_equal(batches_of("s3", NULL), 0);
    assert_int_equal(batches_of_others(&busy_ns), 10); /* as before: s3 was told already */
    again = add_stream(name, 7, stages, 1);
    assert_int_equal(batches_of(name, NULL), 7);
    more = add_stream("s3", 100, stages, 1);
    assert_int_equal(batches_of_others(&busy_ns), 110);
    assert_int_equal(busy_ns, 110);
    give_back(again);
    give_back(more);
    for (size_t i = 0; i < LEAT_READING_MAX_STREAMS + 2; i++)
        if (i != 3)
            give_back(streams[i]);
}

/* The daemon forgets a stream, and one of that name comes again: all that it makes is told. */
static void test_comes_again(void **state) {
    (void)state;
    give_back(add_stream("x", 1000, NULL, 0));
    assert_int_equal(batches_of("x", NULL), 1000);
    for (int i = 0; i <= LEAT_STREAMS_MAX_ENDED; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "y%d", i);
        give_back(add_stream(name, 1, NULL, 0));
    }
    assert_int_equal(batches_of("x", NULL), 1000);
    give_back(add_stream("x", 7, NULL, 0));
    assert_int_equal(batches_of("x", NULL), 1007);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_never_back), TEST(test_stages), TEST(test_room),
                                       TEST(test_comes_again)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
