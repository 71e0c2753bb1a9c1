/* test_delivery_copy.c: batches as frames: their bytes, their order, and what their memory may be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <lz4.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/trainer/session.h"
#include "proto/frame.h"
#include "proto/slot.h"
#include "tests/daemon/shared_daemon.h"
#include "tests/daemon/shared_stepped.h"

#define MAX_BYTES (1U << 20)

struct frame {
    struct leat_packet packet;
    uint8_t payload[MAX_BYTES];
};

static void send_frame(int fd, const struct leat_packet *packet, const void *payload) {
    uint8_t bytes[LEAT_FRAME_HEAD_BYTES + sizeof(*packet) + 256];
    size_t n = LEAT_FRAME_HEAD_BYTES + sizeof(*packet) + packet->payload_bytes;

    assert_true(n <= sizeof(bytes));
    leat_frame_head(bytes, (uint32_t)(n - LEAT_FRAME_HEAD_BYTES));
    memcpy(bytes + LEAT_FRAME_HEAD_BYTES, packet, sizeof(*packet));
    if (payload)
        memcpy(bytes + LEAT_FRAME_HEAD_BYTES + sizeof(*packet), payload, packet->payload_bytes);
    (void)send(fd, bytes, n, MSG_NOSIGNAL);
}

static bool receive_all(int fd, void *bytes, size_t n_bytes) {
    for (size_t n = 0; n < n_bytes;) {
        ssize_t r = recv(fd, (uint8_t *)bytes + n, n_bytes - n, 0);

        if (r <= 0)
            return false;
        n += (size_t)r;
    }
    return true;
}

/* Its kind, or 0 at the end of the connection. */
static uint16_t receive_frame(int fd, struct frame *frame) {
    uint32_t n_bytes;

    if (!receive_all(fd, &n_bytes, sizeof(n_bytes)))
        return 0;
    assert_in_range(n_bytes, sizeof(frame->packet), sizeof(*frame));
    assert_true(receive_all(fd, &frame->packet, sizeof(frame->packet)));
    assert_int_equal(frame->packet.payload_bytes, n_bytes - sizeof(frame->packet));
    assert_true(receive_all(fd, frame->payload, frame->packet.payload_bytes));
    return frame->packet.kind;
}

static void send_hello(int fd) {
    struct leat_packet packet = test_hello();

    send_frame(fd, &packet, NULL);
}

static void send_open(int fd, uint32_t window) {
    Leat__OpenRequest request = LEAT__OPEN_REQUEST__INIT;
    struct leat_packet packet = {.kind = LEAT_PACKET_OPEN};
    uint8_t payload[128];

    request.stream = (char *)(uintptr_t) "lists";
    request.window = window;
    request.n_epochs = 1;
    packet.payload_bytes = (uint32_t)leat__open_request__pack(&request, payload);
    send_frame(fd, &packet, payload);
}

static int open_copies(const struct test_daemon *server, uint32_t window, struct frame *frame) {
    int fd = test_connect(server, "copy.sock", SOCK_STREAM);

    send_hello(fd);
    assert_int_equal(receive_frame(fd, frame), LEAT_PACKET_WELCOME);
    send_open(fd, window);
    assert_int_equal(receive_frame(fd, frame), LEAT_PACKET_OPENED);
    return fd;
}

static void check_batch(const struct frame *frame, unsigned step) {
    static uint64_t slot[MAX_BYTES / sizeof(uint64_t)];
    size_t last = 2 * step + 1, length = TEST_LIST_LENGTH(last);
    const struct leat_slot_header *header = (const void *)slot;
    const struct leat_slot_tensor *tensor = (const void *)(header + 1);
    const int32_t *ids;

    assert_int_equal(frame->packet.batch.step, step);
    assert_int_equal(LZ4_decompress_safe((const char *)frame->payload, (char *)slot,
                                         (int)frame->packet.payload_bytes, sizeof(slot)),
                     frame->packet.batch.used_bytes);
    assert_int_equal(header->step, step);
    assert_int_equal(tensor->shape[1], length);
    ids = (const void *)((const uint8_t *)slot + tensor->offset);
    assert_int_equal(ids[0], last - 1);
    assert_int_equal(ids[2 * length - 1], last);
}

static void test_epoch(void **state) {
    static struct frame frame;
    struct test_daemon server;

    (void)state;
    test_daemon_start(&server, 4, "");
    for (uint32_t window = 1; window <= 16; window *= 4) {
        int fd = open_copies(&server, window, &frame);

        for (unsigned step = 0; step < TEST_N_LISTS / 2; step++) {
            assert_int_equal(receive_frame(fd, &frame), LEAT_PACKET_BATCH);
            check_batch(&frame, step);
            frame.packet.kind = LEAT_PACKET_RELEASE;
            frame.packet.payload_bytes = 0;
            send_frame(fd, &frame.packet, NULL);
        }
        assert_int_equal(receive_frame(fd, &frame), LEAT_PACKET_END);
        (void)close(fd);
    }
    test_daemon_wait_idle(&server); /* copies keep no slot: nothing is quarantined */
    test_daemon_stop(&server);
}

/* What was not released bounds what is sent; what never leaves is freed. */
static void test_window(void **state) {
    static struct frame frame;
    struct test_daemon server;

    (void)state;
    test_daemon_start(&server, 4, "");
    for (int i = 0; i < 8; i++) {
        int fd = open_copies(&server, 50, &frame);

        for (int j = 0; j < i; j++)
            assert_int_equal(receive_frame(fd, &frame), LEAT_PACKET_BATCH);
        if (i % 2)
            (void)usleep(20000);
        (void)close(fd);
    }
    test_daemon_wait_idle(&server);
    test_daemon_stop(&server);
}

/* The copies' memory is charged: a ring that just fits leaves no room for them. */
static void test_charge(void **state) {
    static struct frame frame;
    Leat__StatusReply *status;
    struct test_daemon server;
    char settings[64];
    uint16_t kind;
    int fd;

    (void)state;
    test_daemon_start(&server, 4, "");
    fd = test_open(&server, "lists", 2, 1);
    test_daemon_status(&server, &status);
    assert_in_range(status->ring_bytes, 1 << 20, 64 << 20);
    (void)snprintf(settings, sizeof(settings), "max_user_ring_bytes: %llu\n",
                   (unsigned long long)status->ring_bytes);
    leat__status_reply__free_unpacked(status, NULL);
    (void)close(fd);
    test_daemon_stop(&server);

    test_daemon_start(&server, 4, settings);
    fd = open_copies(&server, 2, &frame);
    kind = receive_frame(fd, &frame);
    assert_int_equal(kind, LEAT_PACKET_GOAWAY);
    assert_non_null(memmem(frame.payload, frame.packet.payload_bytes, "max_user_ring_bytes", 19));
    assert_int_equal(receive_frame(fd, &frame), 0);
    (void)close(fd);
    test_daemon_wait_idle(&server);
    test_daemon_stop(&server);
}

/* ---- trainers to whom nothing can be sent ---- */

/* A trainer that shut down its end for reading says HELLO, then OPEN: each answer fails. */
static void test_shut_down(void **state) {
    static struct frame frame;
    struct test_daemon server;

    (void)state;
    test_daemon_start(&server, 4, "");
    for (int has_welcome = 0; has_welcome < 2; has_welcome++) {
        int fd = test_connect(&server, "copy.sock", SOCK_STREAM);

        if (has_welcome) {
            send_hello(fd);
            assert_int_equal(receive_frame(fd, &frame), LEAT_PACKET_WELCOME);
        }
        assert_int_equal(shutdown(fd, SHUT_RD), 0);
        if (!has_welcome)
            send_hello(fd);
        send_open(fd, 4); /* the daemon hangs up */
        assert_int_equal(poll(&(struct pollfd){.fd = fd}, 1, 1000 * TEST_HANG_S), 1);
        (void)close(fd);
    }
    test_daemon_stop(&server);
}

/* A daemon whose loop the test turns, and a trainer of it that is in this state. */
static struct leat_daemon *step_to(enum leat_session_state state, int ends[2]) {
    struct leat_daemon *daemon = test_stepped_daemon();

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(leat_session_accept(&daemon->sessions, ends[0], &leat_delivery_copy), 0);
    if (state >= LEAT_SESSION_WELCOMED)
        send_hello(ends[1]);
    if (state >= LEAT_SESSION_OPENING)
        send_open(ends[1], 4);
    while (daemon->sessions.first->state < state)
        (void)uv_run(&daemon->loop, UV_RUN_NOWAIT);
    assert_int_equal(daemon->sessions.first->state, state);
    return daemon;
}

static const enum leat_session_state states[] = {LEAT_SESSION_HELLO, LEAT_SESSION_WELCOMED,
                                                 LEAT_SESSION_OPENING, LEAT_SESSION_SERVING};
#define N_STATES (sizeof(states) / sizeof(states[0]))

/* The daemon drains, and does not know yet that the trainer was killed. */
static void test_drain_of_killed(void **state) {
    (void)state;
    for (size_t i = 0; i < N_STATES; i++) {
        int ends[2];
        struct leat_daemon *daemon = step_to(states[i], ends);

        (void)close(ends[1]);
        leat_daemon_begin_drain(daemon, 1000 * TEST_HANG_S);
        while (daemon->sessions.first)
            test_stepped_run(daemon);
        test_stepped_end(daemon);
    }
}

/* An operator ends its session at that moment, the settings change its stream, or its run fails. */
static void test_ends_of_killed(void **state) {
    struct leat_error why = LEAT_ERROR_INIT;

    (void)state;
    leat_error_set(&why, -EIO, "a test");
    for (size_t i = 0; i < 3 * N_STATES; i++) {
        int ends[2];
        struct leat_daemon *daemon = step_to(states[i % N_STATES], ends);

        (void)close(ends[1]);
        if (i / N_STATES == 0)
            leat_session_leave(daemon->sessions.first, &why);
        else if (i / N_STATES == 1)
            leat_session_refuse(daemon->sessions.first, &why);
        else
            leat_session_abandon(daemon->sessions.first, &why);
        while (daemon->sessions.first)
            test_stepped_run(daemon);
        test_stepped_end(daemon);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epoch),           cmocka_unit_test(test_window),
        cmocka_unit_test(test_charge),          cmocka_unit_test(test_shut_down),
        cmocka_unit_test(test_drain_of_killed), cmocka_unit_test(test_ends_of_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
