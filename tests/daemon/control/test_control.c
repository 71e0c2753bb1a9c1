/* test_control.c: the control socket: every verb, in any split, many at a time, and what is wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pipeline/run/pipeline.h"
#include "tests/daemon/shared_control.h"

#define N_MANY 1500 /* requests, whose answers no queue holds */

static struct test_daemon server;
static atomic_size_t
    most_at_once; /* bytes that a socket of streams takes; 0: as many as it likes */

/* This replaces the C library's sendmsg(), for the daemon too. It takes less of a message, as a
 * kernel may. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    struct msghdr less = *message;
    size_t most = atomic_load(&most_at_once);
    struct iovec part;
    int type = 0;

    if (most > 0 && message->msg_iovlen > 0 &&
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof(type)}) == 0 &&
        type == SOCK_STREAM) {
        part = message->msg_iov[0];
        part.iov_len = part.iov_len < most ? part.iov_len : most;
        less.msg_iov = &part;
        less.msg_iovlen = 1;
    }
    return syscall(SYS_sendmsg, fd, &less, flags);
}

static int set_up(void **state) {
    (void)state;
    test_daemon_start(&server, 40, "");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    atomic_store(&most_at_once, 0);
    test_daemon_stop(&server);
    return 0;
}

static int connect_control(void) {
    return test_control_connect(&server);
}

static struct {
    Leat__ControlRequest__VerbCase verb;
    Leat__ControlReply__VerbCase answer;
} verbs[] = {
    {LEAT__CONTROL_REQUEST__VERB_STATUS, LEAT__CONTROL_REPLY__VERB_STATUS},
    {LEAT__CONTROL_REQUEST__VERB_EXPLAIN, LEAT__CONTROL_REPLY__VERB_EXPLAIN},
    {LEAT__CONTROL_REQUEST__VERB_STREAMS, LEAT__CONTROL_REPLY__VERB_STREAMS},
    {LEAT__CONTROL_REQUEST__VERB_CHECK, LEAT__CONTROL_REPLY__VERB_DONE},
    {LEAT__CONTROL_REQUEST__VERB_STATS, LEAT__CONTROL_REPLY__VERB_STATS},
    {LEAT__CONTROL_REQUEST__VERB_SPEC, LEAT__CONTROL_REPLY__VERB_SPEC},
    {LEAT__CONTROL_REQUEST__VERB_WHY, LEAT__CONTROL_REPLY__VERB_WHY},
    {LEAT__CONTROL_REQUEST__VERB_QUOTA, LEAT__CONTROL_REPLY__VERB_QUOTA},
    {LEAT__CONTROL_REQUEST__VERB_HISTORY, LEAT__CONTROL_REPLY__VERB_HISTORY},
    {LEAT__CONTROL_REQUEST__VERB_METRICS, LEAT__CONTROL_REPLY__VERB_METRICS},
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* All verbs one behind the other; those that plan take a while, and their answers keep the order.
 */
static size_t pack_all(uint8_t *bytes) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    Leat__ExplainRequest explain = LEAT__EXPLAIN_REQUEST__INIT;
    Leat__CheckRequest check = LEAT__CHECK_REQUEST__INIT;
    Leat__SpecRequest spec = LEAT__SPEC_REQUEST__INIT;
    Leat__WhyRequest why = LEAT__WHY_REQUEST__INIT;
    Leat__HistoryRequest history = LEAT__HISTORY_REQUEST__INIT;
    Leat__MetricsRequest metrics = LEAT__METRICS_REQUEST__INIT;
    size_t n = 0;

    explain.stream = check.stream = spec.stream = why.stream = (char *)(uintptr_t) "numbers";
    for (size_t i = 0; i < N_VERBS; i++) {
        Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;

        request.version = 1;
        request.verb_case = verbs[i].verb;
        switch (verbs[i].verb) {
        case LEAT__CONTROL_REQUEST__VERB_STATS:
            request.stats = &stats;
            break;
        case LEAT__CONTROL_REQUEST__VERB_EXPLAIN:
            request.explain = &explain;
            break;
        case LEAT__CONTROL_REQUEST__VERB_CHECK:
            request.check = &check;
            break;
        case LEAT__CONTROL_REQUEST__VERB_SPEC:
            request.spec = &spec;
            break;
        case LEAT__CONTROL_REQUEST__VERB_WHY:
            request.why = &why;
            break;
        case LEAT__CONTROL_REQUEST__VERB_HISTORY:
            request.history = &history;
            break;
        case LEAT__CONTROL_REQUEST__VERB_METRICS:
            request.metrics = &metrics;
            break;
        default:
            request.status = &empty;
            break;
        }
        n += test_control_pack(&request, bytes + n);
    }
    return n;
}

static void send_why(int fd, const char *stream, uint32_t interval_ms) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__WhyRequest why = LEAT__WHY_REQUEST__INIT;
    uint8_t bytes[256];

    why.stream = (char *)(uintptr_t)stream;
    why.interval_ms = interval_ms;
    request.version = 1;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_WHY;
    request.why = &why;
    test_control_send(fd, bytes, test_control_pack(&request, bytes));
}

/* A trainer of rank 1 of 2, whose stream was opened. */
static int open_rank(void) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    Leat__OpenRequest request = LEAT__OPEN_REQUEST__INIT;
    struct leat_packet packet = {.kind = LEAT_PACKET_OPEN};
    int fd = test_welcome(&server);

    request.stream = (char *)(uintptr_t) "numbers";
    request.rank = 1;
    request.world_size = 2;
    packet.payload_bytes = (uint32_t)leat__open_request__pack(&request, payload);
    test_send(fd, &packet, payload);
    assert_int_equal(test_receive(fd, &packet, payload, NULL), LEAT_PACKET_OPENED);
    return fd;
}

/* What is told of a trainer and of its run. */
static void test_streams(void **state) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__Empty empty = LEAT__EMPTY__INIT;
    int fd = connect_control(), trainer = open_rank();
    const Leat__Stream *stream;
    Leat__ControlReply *reply;

    (void)state;
    assert_int_equal(test_next_batch(trainer).batch.step, 1); /* whose slot it holds from now on */
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STREAMS;
    request.streams = &empty;
    reply = test_control_ask(fd, &request);
    assert_int_equal(reply->verb_case, LEAT__CONTROL_REPLY__VERB_STREAMS);
    assert_int_equal(reply->streams->n_streams, 2);
    stream = reply->streams->streams[0];
    assert_string_equal(stream->name, "numbers");
    assert_int_equal(stream->n_sessions, 1);
    assert_int_equal(stream->sessions[0]->rank, 1);
    assert_int_equal(stream->sessions[0]->world_size, 2);
    assert_in_range(stream->sessions[0]->n_held, 1, stream->sessions[0]->window);
    assert_in_range(stream->sessions[0]->n_batches, 1, stream->sessions[0]->n_held);
    assert_int_equal(stream->n_runs, 1);
    assert_int_equal(stream->runs[0]->world_size, 2);
    assert_in_range(stream->runs[0]->n_slots_free, 0, stream->runs[0]->n_slots - 1);
    leat__control_reply__free_unpacked(reply, NULL);
    (void)close(trainer);
    (void)close(fd);
}

/* What is wrong is said; who goes while a cache is being tried for it leaves nothing behind. */
static void test_why(void **state) {
    int fd = connect_control(), trainer = test_open(&server, "numbers", 2, 0);

    (void)state;
    (void)test_next_batch(trainer);
    send_why(fd, "numbers", 30001);
    test_control_expect_error(fd, "is 30001 ms, but it may be at most 30000");
    send_why(fd, "number", 0);
    test_control_expect_error(fd, "there is no stream \"number\"");
    for (int i = 0; i < 20; i++) {
        int other = connect_control();

        send_why(other, "numbers", 1);
        send_why(other, "numbers", 30000);
        (void)close(other);
        send_why(fd, "numbers", 0);
        test_control_expect(fd, LEAT__CONTROL_REPLY__VERB_WHY);
    }
    (void)close(trainer);
    (void)close(fd);
}

static void test_verbs(void **state) {
    uint8_t bytes[1024];
    size_t n = pack_all(bytes);
    int fd = connect_control(), trainer = test_open(&server, "numbers", 2, 1);

    (void)state;
    for (int turn = 0; turn < 20; turn++)
        test_control_send(fd, bytes, n);
    for (size_t i = 0; i < 20 * N_VERBS; i++)
        test_control_expect(fd, verbs[i % N_VERBS].answer);
    (void)close(trainer);
    (void)close(fd);
}

static void test_split(void **state) {
    uint8_t bytes[1024];
    size_t n = pack_all(bytes);
    int fd = connect_control();

    (void)state;
    for (size_t size = 1; size < n; size += 7) {
        for (size_t i = 0; i < n; i += size)
            test_control_send(fd, bytes + i, size < n - i ? size : n - i);
        for (size_t i = 0; i < N_VERBS; i++)
            test_control_expect(fd, verbs[i].answer);
    }
    (void)close(fd);
}

/* However little of an answer is sent at once, all of it comes, and nothing twice. */
static void test_small_parts(void **state) {
    static const uint8_t status[] = {4, 0, 0, 0, 0x08, 1, 0x12, 0};
    int fd = connect_control();

    (void)state;
    for (size_t size = 1; size < 8; size += 2) {
        atomic_store(&most_at_once, size);
        test_control_send(fd, status, sizeof(status));
        test_control_send(fd, status, sizeof(status));
        test_control_expect(fd, LEAT__CONTROL_REPLY__VERB_STATUS);
        test_control_expect(fd, LEAT__CONTROL_REPLY__VERB_STATUS);
    }
    (void)close(fd);
}

static void test_wrong(void **state) {
    static const struct {
        uint8_t bytes[16];
        size_t n;
        const char *says;
        bool ends;
    } cases[] = {
        {{0, 0, 0, 0}, 4, "a frame has 0 bytes", true},
        {{0xff, 0xff, 0xff, 0xff}, 4, "must be in 1..1048576", true},
        {{1, 0, 0, 0, 0x0a}, 5, "protobuf", false},
        {{4, 0, 0, 0, 0x08, 2, 0x12, 0}, 8, "version 1", false},
        {{2, 0, 0, 0, 0x08, 1}, 6, "does not know", false},
        {{6, 0, 0, 0, 0x08, 1, 0x12, 0, 0x12, 0}, 10, "status occurs twice", false},
        {{6, 0, 0, 0, 0x08, 1, 0x12, 0, 0x1a, 0}, 10, "streams occurs twice", false},
        {{5, 0, 0, 0, 0x08, 1, 0xa2, 0x06, 0}, 9, "does not know", false},
        {{9, 0, 0, 0, 0x08, 1, 0x22, 5, 0x0a, 3, 'a', 'b', 'c'}, 13, "no stream \"abc\"", false},
        {{9, 0, 0, 0, 0x08, 1, 0x2a, 5, 0x0a, 3, 'a', 'b', 'c'}, 13, "no stream \"abc\"", false},
        {{6, 0, 0, 0, 0x08, 1, 0x32, 2, 0x12, 0}, 10, "needs a source", false},
        {{7, 0, 0, 0, 0x08, 1, 0x7a, 3, 0x0a, 1, 'x'},
         11,
         "\"x\" is not a format of metrics",
         false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd = connect_control();

        test_control_send(fd, cases[i].bytes, cases[i].n);
        test_control_expect_error(fd, cases[i].says);
        if (cases[i].ends) {
            assert_null(test_control_receive(fd));
        } else {
            uint8_t bytes[1024];

            (void)pack_all(bytes);
            test_control_send(fd, bytes, LEAT_FRAME_HEAD_BYTES + bytes[0]);
            test_control_expect(fd, LEAT__CONTROL_REPLY__VERB_STATUS);
        }
        (void)close(fd);
    }
}

/* Gone before the answer; half a frame; nothing at all. */
static void test_hang_up(void **state) {
    uint8_t bytes[1024];
    size_t n = pack_all(bytes);

    (void)state;
    for (size_t i = 0; i <= n; i++) {
        int fd = connect_control();

        if (i > 0)
            test_control_send(fd, bytes, i);
        (void)close(fd);
        if (i % 16 == 0) { /* it has seen the ends of those before: there may be 32 at once */
            Leat__StatusReply *status;

            test_daemon_status(&server, &status);
            leat__status_reply__free_unpacked(status, NULL);
        }
    }
}

static size_t pack_metrics(uint8_t bytes[256]) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__MetricsRequest metrics = LEAT__METRICS_REQUEST__INIT;

    request.version = 1;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_METRICS;
    request.metrics = &metrics;
    return test_control_pack(&request, bytes);
}

/* More often than a user may have connections, one after the other: who is gone counts no more,
 * though its connection has to rest. */
static void test_ask_and_go(void **state) {
    uint8_t bytes[256];
    size_t n_bytes = pack_metrics(bytes);

    (void)state;
    for (int i = 0; i < 90; i++) {
        int fd = connect_control();

        test_control_send(fd, bytes, n_bytes);
        test_control_expect(fd, LEAT__CONTROL_REPLY__VERB_METRICS);
        (void)close(fd);
    }
}

/* A client that asks and never reads is dropped before it costs much; others are answered. */
static void test_never_reads(void **state) {
    uint8_t bytes[256];
    size_t n = pack_metrics(bytes);
    int fd = connect_control(), n_sent = 0;
    Leat__StatusReply *status;

    (void)state;
    while (n_sent < N_MANY && send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n)
        n_sent++;
    assert_in_range(n_sent, 2, N_MANY - 1);
    test_daemon_status(&server, &status);
    assert_in_range(status->rss_bytes, 1, UINT64_C(1) << 30);
    leat__status_reply__free_unpacked(status, NULL);
    (void)close(fd);
}

/* A client that reads is never dropped, however much it has asked for. */
static void test_reads_much(void **state) {
    uint8_t bytes[256];
    size_t n = pack_metrics(bytes), n_received = 0;
    int fd = connect_control();

    (void)state;
    while (n_received < 2 * LEAT_CONTROL_QUEUE_MAX) {
        Leat__ControlReply *reply;

        test_control_send(fd, bytes, n);
        reply = test_control_receive(fd);
        assert_non_null(reply);
        assert_int_equal(reply->verb_case, LEAT__CONTROL_REPLY__VERB_METRICS);
        n_received += leat__control_reply__get_packed_size(reply);
        leat__control_reply__free_unpacked(reply, NULL);
    }
    (void)close(fd);
}

static void test_limit(void **state) {
    int fds[81];

    (void)state;
    for (size_t i = 0; i < 81; i++)
        fds[i] = connect_control();
    test_control_expect_error(fds[80], "control connections");
    assert_null(test_control_receive(fds[80]));
    for (size_t i = 0; i < 81; i++)
        (void)close(fds[i]);
}

static size_t pack_trace(const char *stream, bool ends, uint8_t *bytes) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__TraceRequest trace = LEAT__TRACE_REQUEST__INIT;

    trace.stream = (char *)(uintptr_t)stream;
    trace.ends = ends;
    request.version = 1;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_TRACE;
    request.trace = &trace;
    return test_control_pack(&request, bytes);
}

static void ask_trace(int fd, const char *stream, bool ends) {
    uint8_t bytes[256];

    test_control_send(fd, bytes, pack_trace(stream, ends, bytes));
}

/* How many batches it tells of; all of them are asked for. */
static size_t take_trace(int fd) {
    size_t n_batches = 0;
    uint32_t n_left = 1;

    while (n_left > 0) {
        Leat__ControlReply *reply;

        ask_trace(fd, "", true);
        reply = test_control_receive(fd);
        assert_non_null(reply);
        assert_null(reply->error);
        assert_int_equal(reply->verb_case, LEAT__CONTROL_REPLY__VERB_TRACE);
        for (size_t i = 0; i < reply->trace->n_events; i++)
            n_batches += reply->trace->events[i]->kind == LEAT_TRACE_BATCH;
        n_left = reply->trace->n_left;
        leat__control_reply__free_unpacked(reply, NULL);
    }
    return n_batches;
}

/* False: it is traced by another. */
static bool try_trace(int fd, const char *stream) {
    Leat__ControlReply *reply;
    bool is_traced;

    ask_trace(fd, stream, false);
    reply = test_control_receive(fd);
    assert_non_null(reply);
    is_traced = !reply->error;
    leat__control_reply__free_unpacked(reply, NULL);
    return is_traced;
}

/* One a stream and one a connection; it ends with the connection. */
static void test_trace(void **state) {
    int fd = connect_control(), other = connect_control(), trainer;

    (void)state;
    ask_trace(fd, "", false);
    test_control_expect_error(fd, "does not trace a stream yet");
    ask_trace(fd, "nosuch", false);
    test_control_expect_error(fd, "no stream \"nosuch\"");
    ask_trace(fd, "numbers", false);
    test_control_expect(fd, LEAT__CONTROL_REPLY__VERB_TRACE);
    ask_trace(fd, "numbers", false);
    test_control_expect_error(fd, "this connection already traces the stream \"numbers\"");
    ask_trace(other, "numbers", false);
    test_control_expect_error(other, "another client already traces");
    trainer = test_open(&server, "numbers", 2, 1);
    (void)test_next_batch(trainer);
    assert_true(take_trace(fd) >= 1);
    ask_trace(other, "numbers", false);
    test_control_expect(other, LEAT__CONTROL_REPLY__VERB_TRACE);
    (void)close(trainer);
    (void)close(other);
    assert_int_equal(take_trace(fd), 0);
    (void)close(fd);
    for (int i = 0; i < 20; i++) { /* each is begun anew once the end of the one before was seen */
        fd = connect_control();
        while (!try_trace(fd, "numbers"))
            ;
        (void)close(fd);
    }
}

/* An answer that holds for one request only is not given to the next, though they come together. */
static void test_same_twice(void **state) {
    int fd = connect_control();
    uint8_t bytes[512];
    size_t n = pack_trace("numbers", false, bytes);

    (void)state;
    memcpy(bytes + n, bytes, n);
    test_control_send(fd, bytes, 2 * n);
    test_control_expect(fd, LEAT__CONTROL_REPLY__VERB_TRACE);
    test_control_expect_error(fd, "this connection already traces the stream \"numbers\"");
    (void)close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_verbs),       TEST(test_why),         TEST(test_split),      TEST(test_wrong),
        TEST(test_hang_up),     TEST(test_never_reads), TEST(test_limit),      TEST(test_trace),
        TEST(test_ask_and_go),  TEST(test_reads_much),  TEST(test_same_twice), TEST(test_streams),
        TEST(test_small_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
