/* Streams that are replaced by those of another configuration: who stays, who comes, who goes when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/stream/stream.h"

#define N_MAX 8

/* Streams of those names, whose source is called `kind`. */
static void make(struct leat_streams *streams, const char *names, const char *kind) {
    struct leat_spec *specs[N_MAX] = {NULL};
    size_t n = strlen(names);

    for (size_t i = 0; i < n; i++) {
        char name[2] = {names[i], '\0'};

        assert_int_equal(leat_spec_new(name, "dir/leatd.yaml", &specs[i]), 0);
        specs[i]->source.kind = strdup(kind);
        assert_non_null(specs[i]->source.kind);
    }
    assert_int_equal(leat_streams_init(streams, specs, n), 0);
    for (size_t i = 0; i < n; i++)
        leat_spec_free(specs[i]);
}

static void replace(struct leat_streams *streams, const char *names, const char *kind) {
    struct leat_streams fresh;

    make(&fresh, names, kind);
    leat_streams_replace(streams, &fresh);
    leat_streams_deinit(&fresh);
}

/* The names of all that are there, and that the list's end is where it is thought to be. */
static void expect(const struct leat_streams *streams, const char *names) {
    const struct leat_daemon_stream *stream = streams->first;
    struct leat_daemon_stream *const *last = &streams->first;

    for (; stream; stream = stream->next) {
        assert_int_equal(stream->name[0], *names++);
        last = &stream->next;
    }
    assert_int_equal(*names, '\0');
    assert_true(streams->last == last);
}

static struct leat_daemon_stream *find(struct leat_streams *streams, const char *name) {
    struct leat_error err = LEAT_ERROR_INIT;

    return leat_streams_find(streams, name, &err);
}

static void test_replace(void **state) {
    struct leat_streams streams;
    struct leat_daemon_stream *a, *b;

    (void)state;
    make(&streams, "abc", "csv");
    a = find(&streams, "a");
    b = find(&streams, "b");
    a->totals.counts.figures.n_batches = 7;
    replace(&streams, "dac", "jsonl");
    expect(&streams, "abcd");
    assert_true(find(&streams, "a") == a);
    assert_int_equal(a->totals.counts.figures.n_batches, 7);
    assert_string_equal(a->spec->source.kind, "jsonl");
    assert_null(find(&streams, "b"));
    assert_true(b->is_removed);
    assert_string_equal(b->spec->source.kind, "csv");
    leat_streams_unref(&streams, b);
    expect(&streams, "acd");
    leat_streams_unref(&streams, a);
    leat_streams_unref(&streams, a);
    replace(&streams, "", "csv");
    expect(&streams, "");
    leat_streams_deinit(&streams);
}

/* One that comes back before the last has left it is what it was. */
static void test_back_again(void **state) {
    struct leat_streams streams;
    struct leat_daemon_stream *a;

    (void)state;
    make(&streams, "a", "csv");
    a = find(&streams, "a");
    replace(&streams, "b", "csv");
    assert_true(a->is_removed);
    replace(&streams, "ba", "csv");
    assert_false(a->is_removed);
    leat_streams_unref(&streams, a);
    expect(&streams, "ab");
    leat_streams_deinit(&streams);
}

/* Trainers' own have nothing to do with it, whatever they are called. */
static void test_own_stay(void **state) {
    struct leat_streams streams;
    struct leat_daemon_stream *own;
    struct leat_spec *spec;

    (void)state;
    make(&streams, "a", "csv");
    assert_int_equal(leat_spec_new("a", NULL, &spec), 0);
    own = leat_streams_add_own(&streams, 7, spec);
    assert_non_null(own);
    assert_false(leat_daemon_stream_is_declared(own));
    replace(&streams, "b", "csv");
    expect(&streams, "ab");
    assert_false(own->is_removed);
    assert_int_equal(leat_daemon_stream_set_origin(own, "b", "train", 0), 0);
    assert_true(leat_daemon_stream_is_declared(own));
    leat_streams_unref(&streams, own);
    leat_streams_deinit(&streams);
}

static struct leat_daemon_stream *add_own(struct leat_streams *streams, const char *name) {
    struct leat_daemon_stream *own;
    struct leat_spec *spec;

    assert_int_equal(leat_spec_new(name, NULL, &spec), 0);
    own = leat_streams_add_own(streams, 7, spec);
    assert_non_null(own);
    return own;
}

static size_t count(const struct leat_streams *streams) {
    size_t n = 0;

    for (const struct leat_daemon_stream *stream = streams->first; stream; stream = stream->next)
        n++;
    return n;
}

/* Some that have ended are remembered, those who only looked at one do not count it again, and one
 * of the same name goes on with it. */
static void test_own_that_ended(void **state) {
    struct leat_streams streams;
    struct leat_daemon_stream *first, *looked_at;
    char name[16];

    (void)state;
    make(&streams, "", "csv");
    looked_at = first = add_own(&streams, "s0");
    leat_streams_unref(&streams, first);
    assert_int_equal(streams.n_ended_own, 1);
    for (int i = 0; i < 3; i++)
        leat_streams_unref(&streams, leat_daemon_stream_ref(looked_at));
    assert_int_equal(streams.n_ended_own, 1);
    assert_ptr_equal(add_own(&streams, "s0"), first);
    assert_int_equal(streams.n_ended_own, 0);
    leat_streams_unref(&streams, first);
    for (int i = 1; i < 2 * LEAT_STREAMS_MAX_ENDED; i++) {
        (void)snprintf(name, sizeof(name), "s%d", i);
        leat_streams_unref(&streams, add_own(&streams, name));
        assert_int_equal(streams.n_ended_own, count(&streams));
        assert_in_range(count(&streams), 1, LEAT_STREAMS_MAX_ENDED);
    }
    (void)leat_daemon_stream_ref(looked_at = streams.first); /* while it is, another of that name */
    first = add_own(&streams, looked_at->name);
    assert_ptr_not_equal(first, looked_at);
    leat_streams_unref(&streams, looked_at);
    assert_int_equal(streams.n_ended_own + 1, count(&streams));
    leat_streams_unref(&streams, first);
    assert_int_equal(streams.n_ended_own, count(&streams));
    leat_streams_deinit(&streams);
}

/* What is wrong, by the error and by when it came. */
static void test_failure_reasons(void **state) {
    static const struct {
        int code;
        bool was_opening;
        const char *name;
    } cases[] = {
        {-EBADMSG, false, "data"},   {-EINVAL, false, "data"},   {-EINVAL, true, "spec"},
        {-ENOENT, true, "file"},     {-EIO, false, "file"},      {-ESTALE, false, "changed"},
        {-ENOMEM, true, "memory"},   {-EDQUOT, false, "memory"}, {-ECHILD, false, "program"},
        {-EALREADY, false, "other"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct leat_error err = {.code = cases[i].code};

        assert_string_equal(leat_failure_name(leat_failure_reason_of(&err, cases[i].was_opening)),
                            cases[i].name);
    }
}

/* A failed run is over when a later one makes batches; a failed opening when one succeeds. */
static void test_failure_is_over(void **state) {
    struct leat_error err = {.code = -EBADMSG, .message = "what is wrong"};
    struct leat_daemon_stream stream = {.name = NULL};

    (void)state;
    leat_daemon_stream_made(&stream, 1);
    assert_false(leat_failure_is_on(&stream.failure));
    leat_daemon_stream_fail(&stream, &err, false, 3);
    assert_true(leat_failure_is_on(&stream.failure));
    assert_string_equal(stream.failure.text, "what is wrong");
    leat_daemon_stream_opened(&stream);
    leat_daemon_stream_made(&stream, 3);
    assert_true(leat_failure_is_on(&stream.failure));
    leat_daemon_stream_made(&stream, 4);
    assert_false(leat_failure_is_on(&stream.failure));
    leat_daemon_stream_fail(&stream, &err, true, 4);
    leat_daemon_stream_made(&stream, 2); /* another, which has been there all along */
    assert_true(leat_failure_is_on(&stream.failure));
    leat_daemon_stream_opened(&stream);
    assert_false(leat_failure_is_on(&stream.failure));
    assert_int_equal(stream.totals.counts.figures.n_failed_data, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace),         cmocka_unit_test(test_back_again),
        cmocka_unit_test(test_own_stay),        cmocka_unit_test(test_own_that_ended),
        cmocka_unit_test(test_failure_reasons), cmocka_unit_test(test_failure_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
