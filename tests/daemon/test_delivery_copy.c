/* test_delivery_copy.c: batches as frames: their bytes, their order, and what their memory may be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/frame.h"
#include "proto/slot.h"
#include "tests/daemon/shared_daemon.h"

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

static int open_copies(const struct test_daemon *server, uint32_t window, struct frame *frame) {
    Leat__OpenRequest request = LEAT__OPEN_REQUEST__INIT;
    struct leat_packet packet = test_hello();
    int fd = test_connect(server, "copy.sock", SOCK_STREAM);
    uint8_t payload[128];

    send_frame(fd, &packet, NULL);
    assert_int_equal(receive_frame(fd, frame), LEAT_PACKET_WELCOME);
    request.stream = (char *)(uintptr_t) "lists";
    request.window = window;
    request.n_epochs = 1;
    packet = (struct leat_packet){.kind = LEAT_PACKET_OPEN};
    packet.payload_bytes = (uint32_t)leat__open_request__pack(&request, payload);
    send_frame(fd, &packet, payload);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epoch),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_charge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
