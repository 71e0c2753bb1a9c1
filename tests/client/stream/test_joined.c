/* test_joined.c: batches that come joined in one message, to a trainer that waits and to one with
 * an event loop; and its releases, which go back joined. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "client/leat.h"
#include "tests/client/shared_fake_daemon.h"

/* Three batches and the end of the epoch in one message; takes back what is released in one. */
static void serve_joined(int fd, void *argument) {
    struct leat_packet welcome = {.kind = LEAT_PACKET_WELCOME,
                                  .hello = {.magic = LEAT_PACKET_MAGIC,
                                            .major = LEAT_PROTOCOL_MAJOR,
                                            .features = LEAT_FEATURE_JOINED}};
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    struct leat_packet packets[4], packet;
    Leat__OpenRequest *request;
    size_t *n_joined = argument, n_more;

    memset(packets, 0, sizeof(packets));
    assert_int_equal(fake_receive(fd, &packet), 1);
    assert_true(packet.hello.features & LEAT_FEATURE_JOINED);
    fake_send(fd, &welcome, NULL, -1);
    request = fake_take_open(fd);
    leat__open_request__free_unpacked(request, NULL);
    fake_opened(fd, 12);
    fake_ring(fd, fake_memfd(3, 0, 0, FAKE_ALL_SEALS), 1, 3);
    for (uint32_t i = 0; i < 3; i++) {
        uint8_t slot[FAKE_SLOT_BYTES];

        packets[i].kind = LEAT_PACKET_BATCH;
        packets[i].batch.generation = 1;
        packets[i].batch.slot = i;
        packets[i].batch.step = i;
        packets[i].batch.used_bytes = fake_fill_slot(slot, 0, i);
    }
    packets[3].kind = LEAT_PACKET_END;
    packets[3].end.n_steps = 3;
    packets[3].end.is_last = 1;
    assert_int_equal(leat_packet_send_joined(fd, packets, 4, 1), 0);
    while (leat_packet_receive_joined(fd, &packet, payload, &n_more, NULL, 1) > 0)
        if (packet.kind == LEAT_PACKET_RELEASE && n_more + 1 > *n_joined)
            *n_joined = n_more + 1;
}

/* Waits as an event loop does. Readable may also mean a ring, behind which no batch came yet. */
static int next_of_loop(struct fake_session *session, struct pollfd *item,
                        struct leat_batch **ret_batch) {
    int r;

    do {
        assert_int_equal(poll(item, 1, FAKE_HANG_MS), 1);
        r = leat_stream_next(session->stream, 0, ret_batch);
    } while (r == -EAGAIN);
    return r;
}

/* Batches of one message come one after the other; until the last one a loop is told of more. */
static void test_joined(void **state) {
    (void)state;
    for (int has_loop = 0; has_loop < 2; has_loop++) {
        struct leat_batch *batches[3], *none;
        struct pollfd item = {.events = POLLIN};
        struct fake_session session;
        size_t n_joined = 0;

        fake_session_begin(&session, 0, serve_joined, &n_joined, NULL);
        if (has_loop)
            item.fd = leat_stream_fd(session.stream);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(has_loop ? next_of_loop(&session, &item, &batches[i])
                                      : leat_stream_next(session.stream, -1, &batches[i]),
                             0);
            fake_check_batch(batches[i], 0, i);
        }
        for (uint32_t i = 0; i < 3; i++)
            leat_batch_release(batches[i]);
        assert_int_equal(has_loop ? next_of_loop(&session, &item, &none)
                                  : leat_stream_next(session.stream, -1, &none),
                         LEAT_END);
        if (has_loop)
            assert_int_equal(poll(&item, 1, 0), 0);
        fake_session_end(&session);
        assert_int_equal(n_joined, has_loop ? 1 : 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_joined)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
