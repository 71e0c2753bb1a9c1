/* test_operators.c: what operators see of trainers, and what they change: the verbs trainers, kick,
 * log_level, caches and subscribe, and what those may take who only look. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "tests/daemon/shared_control.h"

static struct test_daemon server;
static int control;

static int set_up(void **state) {
    (void)state;
    test_daemon_start(&server, 400, "");
    control = test_control_connect(&server);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    (void)close(control);
    test_daemon_stop(&server);
    return 0;
}

/* ---- requests ---- */

static Leat__ControlReply *ask_trainers(void) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlReply *reply;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_TRAINERS;
    request.trainers = &empty;
    reply = test_control_ask(control, &request);
    assert_int_equal(reply->verb_case, LEAT__CONTROL_REPLY__VERB_TRAINERS);
    return reply;
}

static Leat__ControlReply *ask_kick(Leat__KickRequest *kick) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_KICK;
    request.kick = kick;
    return test_control_ask(control, &request);
}

static Leat__ControlReply *ask_level(const char *room, const char *level) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__LogLevelRequest log_level = LEAT__LOG_LEVEL_REQUEST__INIT;

    log_level.room = (char *)(uintptr_t)room;
    log_level.level = (char *)(uintptr_t)level;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_LOG_LEVEL;
    request.log_level = &log_level;
    return test_control_ask(control, &request);
}

static void send_subscribe(int fd, const char *stream, uint32_t interval_ms) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__SubscribeRequest subscribe = LEAT__SUBSCRIBE_REQUEST__INIT;
    uint8_t bytes[256];

    subscribe.stream = (char *)(uintptr_t)stream;
    subscribe.interval_ms = interval_ms;
    request.version = 1;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_SUBSCRIBE;
    request.subscribe = &subscribe;
    test_control_send(fd, bytes, test_control_pack(&request, bytes));
}

static void expect_says(Leat__ControlReply *reply, const char *says) {
    if (!reply->error || !strstr(reply->error->message, says))
        fail_msg("expected \"%s\", got \"%s\"", says, reply->error ? reply->error->message : "");
    leat__control_reply__free_unpacked(reply, NULL);
}

/* ---- trainers ---- */

/* One that holds all that it may, and one that has had everything. */
static void test_trainers(void **state) {
    int holder = test_open(&server, "numbers", 1, 1), looker = test_welcome(&server);
    Leat__ControlReply *reply;
    uint64_t hold_ns = 0;

    (void)state;
    (void)test_next_batch(holder);
    while (hold_ns == 0) {
        reply = ask_trainers();
        assert_int_equal(reply->trainers->n_trainers, 2);
        assert_int_equal(reply->trainers->n_left, 0);
        for (size_t i = 0; i < 2; i++) {
            const Leat__Trainer *trainer = reply->trainers->trainers[i];

            assert_int_equal(trainer->session->pid, getpid());
            assert_false(trainer->is_foreign);
            if (strcmp(trainer->stream, "numbers") == 0)
                hold_ns = trainer->hold_ns;
            else
                assert_string_equal(trainer->stream, "");
        }
        leat__control_reply__free_unpacked(reply, NULL);
    }
    (void)close(holder);
    (void)close(looker);
}

/* ---- kick ---- */

static uint64_t session_of(const char *stream) {
    Leat__ControlReply *reply = ask_trainers();
    uint64_t id = 0;

    for (size_t i = 0; i < reply->trainers->n_trainers; i++)
        if (strcmp(reply->trainers->trainers[i]->stream, stream) == 0)
            id = reply->trainers->trainers[i]->session->id;
    leat__control_reply__free_unpacked(reply, NULL);
    return id;
}

static void expect_kicked(Leat__KickRequest *kick, size_t n) {
    Leat__ControlReply *reply = ask_kick(kick);

    if (reply->error)
        fail_msg("%s", reply->error->message);
    assert_int_equal(reply->kick->n_sessions, n);
    leat__control_reply__free_unpacked(reply, NULL);
}

/* Whom it means is told why, with a code that is no reason to come back; the others go on. */
static void test_kick(void **state) {
    int numbers = test_open(&server, "numbers", 1, 1), lists = test_open(&server, "lists", 1, 1);
    Leat__KickRequest kick = LEAT__KICK_REQUEST__INIT;
    struct leat_packet packet;
    uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    Leat__Error *error;
    char *log;

    (void)state;
    kick.session = session_of("numbers");
    kick.reason = (char *)(uintptr_t) "the \"disk\"\nis full";
    expect_kicked(&kick, 1);
    while (test_receive(numbers, &packet, payload, NULL) != LEAT_PACKET_GOAWAY)
        assert_int_not_equal(packet.kind, 0);
    error = leat__error__unpack(NULL, packet.payload_bytes, payload);
    assert_non_null(error);
    assert_int_equal(error->code, -ECANCELED);
    assert_non_null(strstr(error->message, kick.reason));
    leat__error__free_unpacked(error, NULL);
    expect_says(ask_kick(&kick), "no session"); /* it is leaving already */
    (void)test_next_batch(lists);
    log = test_daemon_log(&server);
    assert_non_null(strstr(log, "event=kicked"));
    assert_non_null(strstr(log, "event=asked what=\"kick\""));
    assert_null(strstr(log, "\nis full"));
    free(log);
    (void)close(numbers);
    (void)close(lists);
}

/* All that is set must fit; nobody is meant by nothing. */
static void test_kick_whom(void **state) {
    int fds[3];
    Leat__KickRequest kick = LEAT__KICK_REQUEST__INIT;
    char reason[202];

    (void)state;
    for (int i = 0; i < 3; i++)
        fds[i] = test_open(&server, i == 2 ? "lists" : "numbers", 1, 1);
    expect_says(ask_kick(&kick), "the request names no session");
    kick.stream = (char *)(uintptr_t) "nosuch";
    expect_says(ask_kick(&kick), "no session");
    kick.stream = (char *)(uintptr_t) "numbers";
    kick.pid = (uint32_t)getpid() + 1;
    expect_says(ask_kick(&kick), "no session");
    kick.pid = (uint32_t)getpid();
    kick.has_uid = true;
    kick.uid = getuid() + 1;
    expect_says(ask_kick(&kick), "no session");
    kick.uid = getuid();
    memset(reason, 'x', sizeof(reason) - 1);
    reason[sizeof(reason) - 1] = '\0';
    kick.reason = reason;
    expect_says(ask_kick(&kick), "201 bytes");
    reason[200] = '\0';
    expect_kicked(&kick, 2);
    (void)test_next_batch(fds[2]);
    kick.stream = (char *)(uintptr_t) "";
    expect_kicked(&kick, 1);
    for (int i = 0; i < 3; i++)
        (void)close(fds[i]);
}

/* ---- log_level ---- */

static void expect_levels(Leat__ControlReply *reply, const char *room, const char *level,
                          const char *others) {
    assert_int_equal(reply->verb_case, LEAT__CONTROL_REPLY__VERB_LOG_LEVEL);
    assert_int_equal(reply->log_level->n_rooms, LEAT_N_LOG_ROOMS);
    for (size_t i = 0; i < LEAT_N_LOG_ROOMS; i++) {
        const Leat__RoomLevel *of = reply->log_level->rooms[i];

        assert_string_equal(of->level, strcmp(of->room, room) == 0 ? level : others);
    }
    leat__control_reply__free_unpacked(reply, NULL);
}

static void test_log_level(void **state) {
    char *log;
    int fd;

    (void)state;
    expect_levels(ask_level("", "error"), "", "", "error");
    expect_levels(ask_level("session", "info"), "session", "info", "error");
    expect_levels(ask_level("", ""), "session", "info", "error");
    fd = test_open(&server, "numbers", 1, 1);
    expect_levels(ask_level("", ""), "session", "info", "error"); /* behind its line */
    log = test_daemon_log(&server);
    assert_non_null(strstr(log, "event=opened"));
    free(log);
    (void)close(fd);
    expect_says(ask_level("cellar", ""), "no room \"cellar\"");
    expect_says(ask_level("", "loud"), "\"loud\" is not a level");
    expect_levels(ask_level("", "notice"), "", "", "notice");
}

/* ---- caches ---- */

static void test_no_caches(void **state) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlReply *reply;

    (void)state;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_CACHES;
    request.caches = &empty;
    reply = test_control_ask(control, &request);
    assert_int_equal(reply->verb_case, LEAT__CONTROL_REPLY__VERB_CACHES);
    assert_int_equal(reply->caches->n_caches, 0);
    leat__control_reply__free_unpacked(reply, NULL);
}

/* ---- subscribe ---- */

static void test_subscribe(void **state) {
    Leat__ControlReply *reply;
    uint64_t at_ns = 0;

    (void)state;
    send_subscribe(control, "", 99);
    test_control_expect_error(control, "is 99 ms, but it must be in 100..60000");
    send_subscribe(control, "", 60001);
    test_control_expect_error(control, "but it must be in");
    send_subscribe(control, "numbres", 100);
    test_control_expect_error(control, "numbers");
    send_subscribe(control, "", 100);
    for (int i = 0; i < 3; i++) {
        reply = test_control_receive(control);
        assert_non_null(reply);
        assert_int_equal(reply->verb_case, LEAT__CONTROL_REPLY__VERB_UPDATE);
        assert_int_equal(reply->update->status->pid, getpid());
        assert_int_equal(reply->update->streams->n_streams, 2);
        assert_int_equal(reply->update->stats->n_streams, 2);
        assert_true(reply->update->at_ns > at_ns);
        at_ns = reply->update->at_ns;
        leat__control_reply__free_unpacked(reply, NULL);
    }
    send_subscribe(control, "lists", 100); /* in place of the first */
    do {
        reply = test_control_receive(control);
        assert_non_null(reply);
        assert_int_equal(reply->verb_case, LEAT__CONTROL_REPLY__VERB_UPDATE);
        at_ns = reply->update->stats->n_streams;
        if (at_ns == 1)
            assert_string_equal(reply->update->stats->streams[0]->name, "lists");
        leat__control_reply__free_unpacked(reply, NULL);
    } while (at_ns != 1);
}

/* Many with the same wish and with others, some that go away in between. */
static void test_subscribers(void **state) {
    static const char *const streams[] = {"", "numbers", "lists"};
    int fds[24];

    (void)state;
    for (size_t i = 0; i < 24; i++) {
        fds[i] = test_control_connect(&server);
        /* So rarely that what waits to be read fits into the sockets of a slow machine. */
        send_subscribe(fds[i], streams[i % 3], 1000);
    }
    for (size_t i = 0; i < 24; i++) {
        test_control_expect(fds[i], LEAT__CONTROL_REPLY__VERB_UPDATE);
        if (i % 2)
            (void)close(fds[i]);
    }
    for (size_t i = 0; i < 24; i += 2) {
        test_control_expect(fds[i], LEAT__CONTROL_REPLY__VERB_UPDATE);
        (void)close(fds[i]);
    }
}

/* One that does not read is dropped, and costs no more than what fits into its socket. */
static void test_deaf_subscriber(void **state) {
    int fd = test_control_connect(&server), size = 4096;
    uint8_t bytes[4096];
    ssize_t n;

    (void)state;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), 0);
    send_subscribe(fd, "", 100);
    for (;;) { /* what it asks besides is not answered any more when it is gone */
        Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
        Leat__Empty empty = LEAT__EMPTY__INIT;
        size_t n_bytes;

        request.version = 1;
        request.verb_case = LEAT__CONTROL_REQUEST__VERB_STREAMS;
        request.streams = &empty;
        n_bytes = test_control_pack(&request, bytes);
        if (send(fd, bytes, n_bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EPIPE)
            break;
        (void)usleep(1000);
    }
    do {
        n = recv(fd, bytes, sizeof(bytes), 0);
    } while (n > 0);
    assert_true(n == 0 || errno == ECONNRESET);
    (void)close(fd);
}

/* ---- what those may take who only look ---- */

static uint64_t loop_ns(void) {
    struct timespec time;
    clockid_t clock;

    assert_int_equal(pthread_getcpuclockid(server.thread, &clock), 0);
    assert_int_equal(clock_gettime(clock, &time), 0);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* More than a user saves up, so that the rest is earned at the pace. */
#define FLOOD_LOOP_NS UINT64_C(10000000)

/* A flood of requests is answered, all of it, at a pace: the loop works for less than a tenth of
 * the time, however long that is. Who operates is not held up by it. */
static void test_flood(void **state) {
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    uint64_t start_ns, start_loop_ns;
    uint8_t bytes[64];
    size_t n;
    int fd = test_control_connect(&server);

    (void)state;
    start_ns = leat_now_ns();
    start_loop_ns = loop_ns();
    request.version = 1;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATS;
    request.stats = &stats;
    n = test_control_pack(&request, bytes);
    do {
        for (int i = 0; i < 500; i++)
            test_control_send(fd, bytes, n);
        for (int i = 0; i < 20; i++)
            expect_levels(ask_level("", "notice"), "", "", "notice");
        for (int i = 0; i < 500; i++)
            test_control_expect(fd, LEAT__CONTROL_REPLY__VERB_STATS);
    } while (loop_ns() - start_loop_ns < FLOOD_LOOP_NS);
    assert_in_range(10 * (loop_ns() - start_loop_ns), 0, leat_now_ns() - start_ns);
    (void)close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_trainers),    TEST(test_kick),
        TEST(test_kick_whom),   TEST(test_log_level),
        TEST(test_no_caches),   TEST(test_subscribe),
        TEST(test_subscribers), TEST(test_deaf_subscriber),
        TEST(test_flood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
