/* test_wire.c: client/transport/wire.c: frames that arrive in parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/sockios.h>
#include <lz4.h>

#include "client/leat.h"
#include "proto/frame.h"
#include "proto/packet.h"
#include "tests/client/shared_fake_trainer.h"

#define FRAME_BYTES (LEAT_FRAME_HEAD_BYTES + sizeof(struct leat_packet) + 2 * FAKE_SLOT_BYTES)

static size_t make_frame(char frame[FRAME_BYTES]) {
    _Alignas(64) char slot[FAKE_SLOT_BYTES];
    char *payload = frame + LEAT_FRAME_HEAD_BYTES + sizeof(struct leat_packet);
    int n_used = (int)fake_fill_slot(slot, 0, 0);
    uint32_t n = (uint32_t)LZ4_compress_default(slot, payload, n_used, 2 * FAKE_SLOT_BYTES);
    struct leat_packet packet = {.kind = LEAT_PACKET_BATCH,
                                 .payload_bytes = n,
                                 .batch = {.generation = 1, .used_bytes = (uint64_t)n_used}};

    leat_frame_head((uint8_t *)frame, (uint32_t)sizeof(packet) + n);
    memcpy(frame + LEAT_FRAME_HEAD_BYTES, &packet, sizeof(packet));
    return LEAT_FRAME_HEAD_BYTES + sizeof(packet) + n;
}

/* True once the client has read all that was sent, and false if it has gone. */
static bool wait_until_read(int fd) {
    int n = 1;

    while (n > 0) {
        char byte;

        if (ioctl(fd, SIOCOUTQ, &n) < 0 || recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
            return false;
        if (n > 0)
            (void)usleep(100);
    }
    return true;
}

static void serve_bytes(int fd, void *argument) {
    char frame[FRAME_BYTES];
    size_t n = make_frame(frame), n_part = *(size_t *)argument;

    fake_open(fd, 2);
    for (size_t at = 0, some; at < n && wait_until_read(fd); at += some) {
        some = n - at < n_part ? n - at : n_part;
        (void)!send(fd, frame + at, some, MSG_NOSIGNAL);
    }
    fake_end(fd, 0, 1);
    fake_wait_for_end(fd);
}

static void test_frames_in_parts(void **state) {
    static size_t parts[] = {1, 7, LEAT_FRAME_HEAD_BYTES + sizeof(struct leat_packet) + 1};

    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct fake_session session;
        struct leat_batch *batch;

        fake_session_begin(&session, 1, serve_bytes, &parts[i], NULL);
        assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), 0);
        fake_check_batch(batch, 0, 0);
        leat_batch_release(batch);
        assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), LEAT_END);
        fake_session_end(&session);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frames_in_parts)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
