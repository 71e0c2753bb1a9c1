/* test_lies.c: libleat against daemons that lie or vanish: each lie is an error with a text, which
 * stays, and nothing is read that is not there. */
#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/leat.h"
#include "proto/frame.h"
#include "tests/client/shared_fake_daemon.h"

static void begin(struct fake_session *session, int is_stream, void (*serve)(int, void *),
                  void *argument) {
    struct leat_open_options options;

    leat_open_options_init(&options);
    options.reconnect_timeout_ms = LEAT_NO_RECONNECT;
    fake_session_begin(session, is_stream, serve, argument, &options);
}

struct lie {
    const char *name;
    void (*serve)(int fd, void *argument);
    int code;
};

static void lie_no_seals(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(2, 0, 0, 0), 1, 2);
    fake_wait_for_end(fd);
}

static void lie_half_sealed(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(2, 0, 0, F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 1, 2);
    fake_wait_for_end(fd);
}

static void lie_short_memfd(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(2, 0, 0, FAKE_ALL_SEALS), 1, 3);
    fake_wait_for_end(fd);
}

static void lie_no_memfd(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_ring(fd, -1, 1, 2);
    fake_wait_for_end(fd);
}

static void lie_no_slots(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(2, 0, 0, FAKE_ALL_SEALS), 1, 0);
    fake_wait_for_end(fd);
}

static void lie_ring_twice(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(2, 0, 0, FAKE_ALL_SEALS), 1, 2);
    fake_ring(fd, fake_memfd(2, 0, 0, FAKE_ALL_SEALS), 1, 2);
    fake_wait_for_end(fd);
}

static void lie_many_rings(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    for (uint64_t i = 0; i < 40; i++)
        fake_ring(fd, fake_memfd(1, 0, 0, FAKE_ALL_SEALS), i, 1);
    fake_wait_for_end(fd);
}

/* A ring with batches (0, 0) and (0, 1), and an announcement that does not fit. */
static void lie_batch(int fd, struct leat_packet packet) {
    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(2, 0, 0, FAKE_ALL_SEALS), 1, 2);
    packet.kind = LEAT_PACKET_BATCH;
    fake_send(fd, &packet, NULL, -1);
    fake_wait_for_end(fd);
}

static void lie_unknown_ring(int fd, void *argument) {
    (void)argument;
    lie_batch(fd, (struct leat_packet){.batch = {.generation = 2, .used_bytes = 256}});
}

static void lie_slot_outside(int fd, void *argument) {
    (void)argument;
    lie_batch(fd, (struct leat_packet){.batch = {.generation = 1, .used_bytes = 256, .slot = 2}});
}

static void lie_too_many_bytes(int fd, void *argument) {
    (void)argument;
    lie_batch(fd, (struct leat_packet){.batch = {.generation = 1, .used_bytes = UINT64_MAX}});
}

static void lie_too_few_bytes(int fd, void *argument) {
    (void)argument;
    lie_batch(fd, (struct leat_packet){.batch = {.generation = 1, .used_bytes = 200}});
}

static void lie_wrong_slot(int fd, void *argument) {
    (void)argument;
    lie_batch(fd, (struct leat_packet){.batch = {.generation = 1, .used_bytes = 216, .slot = 1}});
}

/* Steps may be left out, but none comes behind a later one. */
static void lie_wrong_step(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_ring(fd, fake_memfd(2, 0, 0, FAKE_ALL_SEALS), 1, 2);
    fake_batch(fd, 1, 1, 0, 1); /* steps may be left out, */
    fake_batch(fd, 1, 0, 0, 0); /* but do not come again */
    fake_wait_for_end(fd);
}

static void lie_wrong_epoch(int fd, void *argument) {
    (void)argument;
    lie_batch(fd, (struct leat_packet){.batch = {.generation = 1, .used_bytes = 216, .epoch = 1}});
}

static void lie_held_slot(int fd, void *argument) {
    int memfd = fake_memfd(1, 0, 0, 0);
    char *slot = mmap(NULL, FAKE_SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);

    (void)argument;
    assert_int_equal(fcntl(memfd, F_ADD_SEALS, FAKE_ALL_SEALS), 0);
    fake_open(fd, 2);
    fake_ring(fd, memfd, 1, 1);
    fake_batch(fd, 1, 0, 0, 0);
    (void)fake_fill_slot(slot, 0, 1);
    fake_batch(fd, 1, 0, 0, 1);
    fake_wait_for_end(fd);
    (void)munmap(slot, FAKE_SLOT_BYTES);
}

static void lie_wrong_epoch_end(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_end(fd, 4, 0);
    fake_wait_for_end(fd);
}

static void lie_unknown_kind(int fd, void *argument) {
    struct leat_packet unimportant = {.kind = 0x8123}, important = {.kind = 0x123};

    (void)argument;
    fake_open(fd, 2);
    fake_send(fd, &unimportant, NULL, -1);
    fake_send(fd, &important, NULL, -1);
    fake_wait_for_end(fd);
}

static void lie_wrong_size(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    (void)!write(fd, "short", 5);
    fake_wait_for_end(fd);
}

static void lie_bad_error(int fd, void *argument) {
    struct leat_packet packet = {.kind = LEAT_PACKET_GOAWAY, .payload_bytes = 3};

    (void)argument;
    fake_open(fd, 2);
    fake_send(fd, &packet, "\xff\xff\xff", -1);
    fake_wait_for_end(fd);
}

static void end_in_the_middle(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
}

static void end_by_goaway(int fd, void *argument) {
    (void)argument;
    fake_open(fd, 2);
    fake_refuse(fd, LEAT_PACKET_GOAWAY, -EBADMSG, "a stray quote");
}

static const struct lie lies[] = {
    {"no seals", lie_no_seals, -EPROTO},
    {"may shrink", lie_half_sealed, -EPROTO},
    {"short memfd", lie_short_memfd, -EPROTO},
    {"no memfd", lie_no_memfd, -EPROTO},
    {"no slots", lie_no_slots, -EPROTO},
    {"ring twice", lie_ring_twice, -EPROTO},
    {"many rings", lie_many_rings, -EPROTO},
    {"unknown ring", lie_unknown_ring, -EPROTO},
    {"slot outside", lie_slot_outside, -EPROTO},
    {"too many bytes", lie_too_many_bytes, -EPROTO},
    {"too few bytes", lie_too_few_bytes, -EPROTO},
    {"another batch's slot", lie_wrong_slot, -EPROTO},
    {"wrong step", lie_wrong_step, -EPROTO},
    {"wrong epoch", lie_wrong_epoch, -EPROTO},
    {"held slot", lie_held_slot, -EPROTO},
    {"end of another epoch", lie_wrong_epoch_end, -EPROTO},
    {"unknown kind", lie_unknown_kind, -EPROTO},
    {"wrong size", lie_wrong_size, -EPROTO},
    {"unreadable error", lie_bad_error, -EPROTO},
    {"end of file", end_in_the_middle, -ECONNRESET},
    {"goaway", end_by_goaway, -EBADMSG},
};

static void test_lies(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct leat_batch *batch, *held = NULL;
        struct fake_session session;
        int r;

        begin(&session, 0, lies[i].serve, NULL);
        while ((r = leat_stream_next(session.stream, FAKE_HANG_MS, &batch)) == 0)
            held = batch;
        if (r != lies[i].code)
            fail_msg("%s: %d: %s", lies[i].name, r,
                     leat_error_text(leat_stream_error(session.stream)));
        assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), r);
        assert_int_equal(leat_error_code(leat_stream_error(session.stream)), r);
        leat_batch_release(held);
        fake_session_end(&session);
    }
}

/* ---- Codes that must not end a stream ---- */

static void fail_by(int fd, void *argument) {
    fake_open(fd, 2);
    fake_refuse(fd, LEAT_PACKET_GOAWAY, *(const int *)argument, "the disk does not answer");
    fake_wait_for_end(fd);
}

/* A stream that has failed does not return a code that tells the trainer to call again. */
static void test_codes_to_go_on_after(void **state) {
    static int codes[] = {-ETIMEDOUT, -EINTR, -ENOBUFS, -EAGAIN};

    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct leat_batch *batch;
        struct fake_session session;

        begin(&session, 0, fail_by, &codes[i]);
        for (int call = 0; call < 2; call++) {
            assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), -ECONNRESET);
            assert_int_equal(leat_error_code(leat_stream_error(session.stream)), -ECONNRESET);
            assert_non_null(strstr(leat_error_text(leat_stream_error(session.stream)),
                                   "the disk does not answer"));
        }
        fake_session_end(&session);
    }
}

/* ---- Copies that lie ---- */

static void lie_not_lz4(int fd, void *argument) {
    struct leat_packet packet = {.kind = LEAT_PACKET_BATCH, .payload_bytes = 8};

    (void)argument;
    fake_open(fd, 2);
    packet.batch.used_bytes = 216;
    fake_send(fd, &packet, "nonsense", -1);
    fake_wait_for_end(fd);
}

static void send_bomb(int fd, uint64_t used_bytes) {
    struct leat_packet packet = {.kind = LEAT_PACKET_BATCH, .payload_bytes = 8};

    fake_open(fd, 2);
    packet.batch.used_bytes = used_bytes;
    fake_send(fd, &packet, "nonsense", -1);
    fake_wait_for_end(fd);
}

static void lie_bomb(int fd, void *argument) {
    (void)argument;
    send_bomb(fd, UINT64_C(1) << 40);
}

/* An LZ4 block can have this size, but not one of 8 bytes. */
static void lie_small_bomb(int fd, void *argument) {
    (void)argument;
    send_bomb(fd, 8 * 255 + 1);
}

/* The copy lacks the last value of the tensor. */
static void lie_short_copy(int fd, void *argument) {
    _Alignas(64) char slot[FAKE_SLOT_BYTES];
    char compressed[FAKE_SLOT_BYTES * 2];
    int n_used = (int)fake_fill_slot(slot, 0, 0);
    int n = LZ4_compress_default(slot, compressed, n_used - 4, sizeof(compressed));
    struct leat_packet packet = {.kind = LEAT_PACKET_BATCH,
                                 .payload_bytes = (uint32_t)n,
                                 .batch = {.generation = 1, .used_bytes = (uint64_t)n_used}};

    (void)argument;
    fake_open(fd, 2);
    fake_send(fd, &packet, compressed, -1);
    fake_wait_for_end(fd);
}

/* The client may ignore the packet in the frame, and would then take the end that follows. */
static void lie_frame_size(int fd, void *argument) {
    const struct leat_packet packet = {.kind = 0x8123};
    uint8_t frame[LEAT_FRAME_HEAD_BYTES + sizeof(packet)];

    (void)argument;
    leat_frame_head(frame, sizeof(packet) + 8);
    memcpy(frame + LEAT_FRAME_HEAD_BYTES, &packet, sizeof(packet));
    fake_open(fd, 2);
    (void)!write(fd, frame, sizeof(frame));
    fake_end(fd, 0, 1);
    fake_wait_for_end(fd);
}

/* The daemon announces a payload that is too large, and closes. */
static void announce_payload(int fd, uint16_t kind, uint32_t n_bytes) {
    const struct leat_packet packet = {.kind = kind, .payload_bytes = n_bytes};
    uint8_t frame[LEAT_FRAME_HEAD_BYTES + sizeof(packet)];

    leat_frame_head(frame, (uint32_t)sizeof(packet) + n_bytes);
    memcpy(frame + LEAT_FRAME_HEAD_BYTES, &packet, sizeof(packet));
    fake_open(fd, 2);
    (void)!write(fd, frame, sizeof(frame));
}

static void lie_large_frame(int fd, void *argument) {
    (void)argument;
    announce_payload(fd, 0x8123, LEAT_PACKET_PAYLOAD_MAX + 1);
}

static void lie_large_batch(int fd, void *argument) {
    (void)argument;
    announce_payload(fd, LEAT_PACKET_BATCH, LEAT_COPY_PAYLOAD_MAX + 1);
}

static void test_lying_copies(void **state) {
    static const struct {
        void (*serve)(int fd, void *argument);
        const char *text;
    } copies[] = {
        {lie_not_lz4, "not valid LZ4"},
        {lie_bomb, "cannot hold a batch"},
        {lie_small_bomb, "8 bytes of LZ4, which cannot hold a batch of 2041 bytes"},
        {lie_short_copy, "not valid LZ4"},
        {lie_frame_size, "a packet of the wrong size"},
        {lie_large_frame, "of the wrong size"},
        {lie_large_batch, "of the wrong size"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
        struct leat_batch *batch;
        struct fake_session session;

        begin(&session, 1, copies[i].serve, NULL);
        assert_int_equal(leat_stream_next(session.stream, FAKE_HANG_MS, &batch), -EPROTO);
        assert_non_null(strstr(leat_error_text(leat_stream_error(session.stream)), copies[i].text));
        fake_session_end(&session);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lies),
                                       cmocka_unit_test(test_codes_to_go_on_after),
                                       cmocka_unit_test(test_lying_copies)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
