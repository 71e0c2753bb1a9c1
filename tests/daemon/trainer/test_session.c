/* test_session.c: what a trainer may say and when; whatever else it says ends its session, and only
 * that. Packets are sent by hand to a daemon on a thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "proto/slot.h"
#include "tests/daemon/shared_daemon.h"
#include "tests/skip.h"

#define N_RECORDS 40 /* 10 batches of 4 */

static struct test_daemon server;
static atomic_int seconds_ahead;

/* In place of the C library's, for the daemon and libuv too. */
int clock_gettime(clockid_t clock, struct timespec *ret_time) {
    long r = syscall(SYS_clock_gettime, clock, ret_time);

    if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE)
        ret_time->tv_sec += atomic_load(&seconds_ahead);
    return (int)r;
}

static int set_up(void **state) {
    (void)state;
    test_daemon_start(&server, N_RECORDS, "");
    return 0;
}

/* Whatever a test did: the daemon still serves, and nothing of the test is left in it. */
static int tear_down(void **state) {
    int fd;

    (void)state;
    fd = test_open(&server, "numbers", 2, 1);
    (void)test_next_batch(fd);
    (void)close(fd);
    test_daemon_stop(&server);
    return 0;
}

static void expect_error(int fd, const char *says) {
    char text[1024] = "";

    if (!test_expect_error(fd, text, sizeof(text)) || !strstr(text, says))
        fail_msg("expected \"%s\", got \"%s\"", says, text);
    (void)close(fd);
}

/* So many clients were turned away so far. */
static void expect_refused(uint64_t n) {
    Leat__StatusReply *status;

    test_daemon_status(&server, &status);
    assert_int_equal(status->n_refused, n);
    leat__status_reply__free_unpacked(status, NULL);
}

/* Nothing comes while another trainer gets all batches of an epoch, and leaves. */
static void expect_silence(int fd) {
    struct pollfd item = {.fd = fd, .events = POLLIN};
    struct leat_packet bye = {.kind = LEAT_PACKET_BYE};
    int other = test_open(&server, "numbers", 1, 1);

    for (int i = 0; i < N_RECORDS / 4; i++) {
        struct leat_packet batch = test_next_batch(other);

        test_release(other, &batch);
    }
    test_send(other, &bye, NULL);
    assert_false(test_expect_error(other, (char[64]){""}, 64));
    (void)close(other);
    assert_int_equal(poll(&item, 1, 0), 0);
}

static int connect_trainer(void) {
    return test_connect(&server, "trainer.sock", SOCK_SEQPACKET);
}

static void send_bytes(int fd, const void *bytes, size_t n_bytes) {
    assert_int_equal(send(fd, bytes, n_bytes, MSG_NOSIGNAL), n_bytes);
}

/* ---- before OPENED ---- */

static void test_bad_hello(void **state) {
    struct leat_packet hello = test_hello();
    int fd = connect_trainer();

    (void)state;
    hello.hello.magic = 0x20544547;
    test_send(fd, &hello, NULL);
    expect_error(fd, "0x20544547");

    hello = test_hello();
    hello.hello.major = 9;
    hello.hello.minor = 4;
    fd = connect_trainer();
    test_send(fd, &hello, NULL);
    expect_error(fd, "version 9.4 of the protocol");
    expect_refused(2);

    hello = test_hello();
    hello.hello.minor = 77; /* later minors are welcome */
    hello.hello.features = UINT64_MAX;
    fd = connect_trainer();
    test_send(fd, &hello, NULL);
    assert_int_equal(test_receive(fd, &hello, NULL, NULL), LEAT_PACKET_WELCOME);
    assert_int_equal(hello.hello.minor, LEAT_PROTOCOL_MINOR);
    assert_true(hello.hello.session > 0);
    (void)close(fd);
}

static void test_wrong_order(void **state) {
    static const uint16_t kinds[] = {LEAT_PACKET_OPEN,
                                     LEAT_PACKET_RELEASE,
                                     LEAT_PACKET_WELCOME,
                                     LEAT_PACKET_OPENED,
                                     LEAT_PACKET_RING,
                                     LEAT_PACKET_BATCH,
                                     LEAT_PACKET_END,
                                     LEAT_PACKET_GOAWAY,
                                     LEAT_PACKET_REFUSE,
                                     0,
                                     12,
                                     0x7fff};
    struct leat_packet packet = {.kind = 0};
    int fd;

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        packet.kind = kinds[i];
        fd = connect_trainer();
        test_send(fd, &packet, NULL);
        expect_error(fd, "not expected in state hello");
        fd = test_open(&server, "numbers", 2, 1);
        if (kinds[i] == LEAT_PACKET_RELEASE)
            continue;
        test_send(fd, &packet, NULL);
        expect_error(fd, "not expected in state serving");
    }
    packet = test_hello();
    fd = test_welcome(&server);
    test_send(fd, &packet, NULL);
    expect_error(fd, "not expected in state welcomed");
}

/* Kinds with bit 15 may be ignored by who does not know them. */
static void test_optional_kind(void **state) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    struct leat_packet optional = {.kind = 0x8123}, packet = test_hello();
    int fd = connect_trainer();

    (void)state;
    test_send(fd, &optional, NULL);
    test_send(fd, &packet, NULL);
    assert_int_equal(test_receive(fd, &packet, NULL, NULL), LEAT_PACKET_WELCOME);
    optional.payload_bytes = 100;
    test_send(fd, &optional, payload);
    test_send_open(fd, "numbers", 2, 1);
    optional.payload_bytes = 0;
    test_send(fd, &optional, NULL);
    assert_int_equal(test_receive(fd, &packet, payload, NULL), LEAT_PACKET_OPENED);
    test_send(fd, &optional, NULL);
    assert_int_equal(test_next_batch(fd).batch.step, 0);
    (void)close(fd);
}

static void test_sizes(void **state) {
    static uint8_t bytes[LEAT_PACKET_PAYLOAD_MAX + 4096];
    struct leat_packet packet = test_hello();
    int fd;

    (void)state;
    for (size_t n = 1; n < sizeof(packet) + 8; n += 8) { /* short, and longer than it says */
        memcpy(bytes, &packet, sizeof(packet));
        fd = connect_trainer();
        send_bytes(fd, bytes, n);
        expect_error(fd, "size");
    }
    packet.payload_bytes = 1000; /* says more than there is */
    fd = connect_trainer();
    send_bytes(fd, &packet, sizeof(packet));
    expect_error(fd, "size");

    packet = (struct leat_packet){.kind = LEAT_PACKET_OPEN,
                                  .payload_bytes = sizeof(bytes) - sizeof(packet)};
    memcpy(bytes, &packet, sizeof(packet));
    fd = test_welcome(&server);
    send_bytes(fd, bytes, sizeof(bytes));
    expect_error(fd, "size");

    fd = test_open(&server, "numbers", 2, 1);
    send_bytes(fd, bytes, 65);
    expect_error(fd, "size");

    packet = (struct leat_packet){.kind = LEAT_PACKET_BYE, .payload_bytes = 1};
    fd = test_welcome(&server); /* which may send an OPEN of any size, but only that */
    test_send(fd, &packet, bytes);
    expect_error(fd, "with 1 bytes is not expected in state welcomed");
}

static void expect_refusal(Leat__OpenRequest *request, const char *says) {
    struct leat_packet packet = {.kind = LEAT_PACKET_OPEN};
    uint8_t payload[1024];
    int fd = test_welcome(&server);

    packet.payload_bytes = (uint32_t)leat__open_request__pack(request, payload);
    test_send(fd, &packet, payload);
    expect_error(fd, says);
}

static void test_bad_open(void **state) {
    Leat__OpenRequest request = LEAT__OPEN_REQUEST__INIT;
    Leat__Position start = LEAT__POSITION__INIT;
    Leat__StreamSpec spec = LEAT__STREAM_SPEC__INIT;
    uint8_t digest[32] = {1};
    struct leat_packet packet = {.kind = LEAT_PACKET_OPEN, .payload_bytes = 3};
    int fd = test_welcome(&server);

    (void)state;
    test_send(fd, &packet, "\x0a\x50x"); /* a text that is cut */
    expect_error(fd, "protobuf");
    fd = test_welcome(&server);
    packet.payload_bytes = 4;
    test_send(fd, &packet, "\x12\x00\x12"); /* a spec, and another one */
    expect_error(fd, "OpenRequest.spec occurs twice");
    request.stream = (char *)(uintptr_t) "nombers";
    expect_refusal(&request, "did you mean \"numbers\"");
    request.stream = (char *)(uintptr_t) "numbers";
    request.rank = 2;
    request.world_size = 2;
    expect_refusal(&request, "rank 2 of 2");
    request.rank = 0;
    request.world_size = UINT32_MAX;
    expect_refusal(&request, "world");
    request.world_size = 1;
    request.window = 100000;
    expect_refusal(&request, "max_window");
    request.window = 0;
    request.has_n_steps = true;
    expect_refusal(&request, "n_steps is 0");
    request.has_n_steps = false;
    request.start = &start;
    start.spec_digest = (ProtobufCBinaryData){.len = 5, .data = digest};
    expect_refusal(&request, "a digest has 5 bytes");
    start.spec_digest.len = sizeof(digest);
    expect_refusal(&request, "has changed since the position was saved");
    request.start = NULL;
    request.spec = &spec;
    expect_refusal(&request, "OPEN has the name of a stream and also a description of one");
    request.stream = (char *)(uintptr_t) "";
    expect_refusal(&request, "a stream needs a source");
}

static int set_up_roots(void **state) {
    (void)state;
    test_daemon_start(&server, N_RECORDS, "roots: [/]\n");
    return 0;
}

/* What a trainer that is confined to roots describes must not make the daemon write files. */
static void expect_no_writing(const char *says) {
    static const char *const options[][2] = {{"quarantine", "/tmp/x"},
                                             {"on_error", "quarantine"},
                                             {"index", "/tmp"},
                                             {"cache", "{path: /tmp}"}};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        Leat__OpenRequest request = LEAT__OPEN_REQUEST__INIT;
        struct leat_spec *spec = NULL;
        struct leat_value *value;

        assert_int_equal(leat_spec_new("mine", NULL, &spec), 0);
        spec->source.kind = strdup("csv");
        assert_int_equal(leat_value_insert(&spec->options, options[i][0], &value), 0);
        assert_int_equal(leat_value_set_text(value, options[i][1], false), 0);
        assert_int_equal(leat_spec_pack(spec, &request.spec), 0);
        expect_refusal(&request, says);
        leat_spec_message_free(request.spec);
        leat_spec_free(spec);
    }
}

static void test_own_spec_that_writes(void **state) {
    (void)state;
    expect_no_writing("a stream that a trainer describes must not");
}

/* Without roots it is the daemon's own user, who could write the same files. */
static void test_own_spec_of_own_user(void **state) {
    (void)state;
    expect_no_writing("paths is missing");
}

/* What may be changed of a declared stream is what it has; and never of one's own. */
static void test_variants(void **state) {
    Leat__OpenRequest request = LEAT__OPEN_REQUEST__INIT;
    Leat__StreamSpec spec = LEAT__STREAM_SPEC__INIT;

    (void)state;
    request.stream = (char *)(uintptr_t) "numbers";
    request.split = (char *)(uintptr_t) "validation";
    expect_refusal(&request, "no stage `split` for the part \"validation\", and there is no stream "
                             "\"numbers.validation\"");
    request.split = (char *)(uintptr_t) "";
    request.shuffle = 1;
    expect_refusal(&request, "has no stage `shuffle`");
    request.shuffle = 3;
    expect_refusal(&request, "OPEN has the shuffle 3");
    request.shuffle = 2;
    request.stream = (char *)(uintptr_t) "";
    request.spec = &spec;
    expect_refusal(&request,
                   "`split` and `shuffle` apply only to streams of the daemon's settings");
    expect_refused(4);
}

/* ---- while it is served ---- */

static void test_an_epoch(void **state) {
    struct leat_packet packet, batch[16];
    int fd = test_open(&server, "numbers", 4, 2), ring_fd = -1;
    uint8_t *memory;
    size_t size;

    (void)state;
    assert_int_equal(test_receive(fd, &packet, NULL, &ring_fd), LEAT_PACKET_RING);
    assert_true(ring_fd >= 0);
    size = packet.ring.slot_bytes * packet.ring.n_slots;
    assert_ptr_equal(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0), MAP_FAILED);
    memory = mmap(NULL, size, PROT_READ, MAP_SHARED, ring_fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    for (unsigned epoch = 0; epoch < 2; epoch++) {
        for (unsigned step = 0; step < N_RECORDS / 4; step++) {
            const struct leat_slot_header *header;

            assert_int_equal(test_receive(fd, &batch[step], NULL, NULL), LEAT_PACKET_BATCH);
            assert_int_equal(batch[step].batch.step, step);
            assert_int_equal(batch[step].batch.epoch, epoch);
            header = (const void *)(memory + batch[step].batch.slot * packet.ring.slot_bytes);
            assert_int_equal(header->step, step);
            test_release(fd, &batch[step]);
        }
        assert_int_equal(test_receive(fd, &batch[0], NULL, NULL), LEAT_PACKET_END);
        assert_int_equal(batch[0].end.epoch, epoch);
        assert_int_equal(batch[0].end.n_steps, N_RECORDS / 4);
        assert_int_equal(batch[0].end.is_last, epoch == 1);
    }
    expect_silence(fd);
    (void)munmap(memory, size);
    (void)close(ring_fd);
    (void)close(fd);
    test_daemon_wait_idle(&server);
}

static void test_window(void **state) {
    struct leat_packet batch[3];
    int fd = test_open(&server, "numbers", 3, 1);

    (void)state;
    for (int i = 0; i < 3; i++)
        batch[i] = test_next_batch(fd);
    expect_silence(fd);
    test_release(fd, &batch[1]); /* in any order, one for one */
    assert_int_equal(test_next_batch(fd).batch.step, 3);
    expect_silence(fd);
    test_release(fd, &batch[2]);
    test_release(fd, &batch[0]);
    assert_int_equal(test_next_batch(fd).batch.step, 4);
    assert_int_equal(test_next_batch(fd).batch.step, 5);
    expect_silence(fd);
    (void)close(fd);
}

/* What is not held exactly so cannot be released. */
static void test_bad_release(void **state) {
    for (int i = 0; i < 6; i++) {
        int fd = test_open(&server, "numbers", 2, 1);
        struct leat_packet batch = test_next_batch(fd), wrong = batch;

        (void)state;
        switch (i) {
        case 0:
            wrong.batch.slot++;
            break;
        case 1:
            wrong.batch.slot = UINT32_MAX;
            break;
        case 2:
            wrong.batch.step += 7;
            break;
        case 3:
            wrong.batch.epoch++;
            break;
        case 4:
            wrong.batch.generation--;
            break;
        default: /* twice */
            test_release(fd, &batch);
        }
        test_release(fd, &wrong);
        expect_error(fd, "which is not held");
    }
}

/* A client that lives may still read what it was given: its slots stay until BYE or its death. */
static void test_bye(void **state) {
    struct leat_packet bye = {.kind = LEAT_PACKET_BYE};
    int fd = test_open(&server, "numbers", 3, 1);

    (void)state;
    (void)test_next_batch(fd);
    (void)test_next_batch(fd);
    test_send(fd, &bye, NULL);
    assert_false(test_expect_error(fd, (char[64]){""}, 64));
    test_daemon_wait_idle(&server);
    (void)close(fd);
    fd = connect_trainer();
    test_send(fd, &bye, NULL); /* in any state */
    assert_false(test_expect_error(fd, (char[64]){""}, 64));
    (void)close(fd);
}

/* The daemon sees the end of the connection before it sees the question. */
static void test_quarantine(void **state) {
    Leat__StatusReply *status;

    (void)state;
    for (uint32_t n = 1; n <= 5; n++) { /* the end may come between two announcements */
        int fd = test_open(&server, "numbers", 5, 1);

        for (uint32_t i = 0; i < n; i++)
            (void)test_next_batch(fd);
        (void)close(fd);
        test_daemon_status(&server, &status);
        assert_int_equal(status->n_sessions, n);
        assert_in_range(status->n_slots - status->n_slots_free, n * (n + 1) / 2, 5 * n);
        leat__status_reply__free_unpacked(status, NULL);
    }
}

/* The end of the connection in every state, at once and after a while. */
static void test_hang_up(void **state) {
    (void)state;
    for (int i = 0; i < 40; i++) {
        int fd = i % 5 == 0 ? connect_trainer() : test_welcome(&server);
        struct leat_packet packet;

        if (i % 5 >= 2)
            test_send_open(fd, "numbers", 2, 0);
        if (i % 5 >= 3) {
            static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];

            assert_int_equal(test_receive(fd, &packet, payload, NULL), LEAT_PACKET_OPENED);
        }
        if (i >= 20)
            (void)usleep((unsigned)i * 100);
        if (i % 2)
            (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
}

static bool has_fds(const Leat__StatusReply *status, uint64_t n_most) {
    return status->n_fds <= n_most;
}

static void test_no_descriptors(void **state) {
    struct leat_packet hello = test_hello(), batch;
    Leat__StatusReply *before;
    int fd;

    (void)state;
    SKIP_CASE_IF_EMULATED("qemu receives descriptors for which there is no room");
    test_daemon_status(&server, &before);
    for (int i = 0; i < 10; i++) {
        fd = connect_trainer();
        (void)leat_packet_send(fd, &hello, NULL, fd, 1); /* of itself: would keep itself open */
        (void)close(fd);
        fd = test_open(&server, "numbers", 2, 1);
        batch = test_next_batch(fd);
        batch.kind = LEAT_PACKET_RELEASE;
        (void)leat_packet_send(fd, &batch, NULL, fd, 1);
        batch.kind = LEAT_PACKET_BYE;
        (void)leat_packet_send(fd, &batch, NULL, -1, 1);
        (void)close(fd);
    }
    test_daemon_wait(&server, has_fds, before->n_fds + 2 * 10, /* a pidfd and a ring each */
                     "no more descriptors are open than where something is quarantined");
    leat__status_reply__free_unpacked(before, NULL);
}

/* It is told as soon as that is known, and may leave when it likes. */
static void test_rank_without_batches(void **state) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    Leat__OpenRequest request = LEAT__OPEN_REQUEST__INIT;
    struct leat_packet packet = {.kind = LEAT_PACKET_OPEN};
    int fd = test_welcome(&server);
    uint16_t kind;

    (void)state;
    request.stream = (char *)(uintptr_t) "numbers";
    request.rank = 11;
    request.world_size = 12;
    packet.payload_bytes = (uint32_t)leat__open_request__pack(&request, payload);
    test_send(fd, &packet, payload);
    do {
        kind = test_receive(fd, &packet, payload, NULL);
        assert_int_not_equal(kind, 0);
    } while (kind != LEAT_PACKET_GOAWAY);
    assert_non_null(memmem(payload, packet.payload_bytes, "12 ranks are too many", 21));
    (void)close(fd);
}

static bool has_sessions(const Leat__StatusReply *status, uint64_t n) {
    return status->n_sessions == n;
}

/* A client that says nothing, or nothing more, is turned away; a trainer may be silent for ever. */
static void test_silent(void **state) {
    int mute = connect_trainer(), undecided = test_welcome(&server),
        trainer = test_open(&server, "numbers", 1, 1);
    struct leat_packet batch = test_next_batch(trainer);

    (void)state;
    test_daemon_wait(&server, has_sessions, 3, "the daemon knows all three");
    atomic_fetch_add(&seconds_ahead, 11);
    expect_error(mute, "the client sent nothing for 10 seconds in state hello");
    expect_error(undecided, "the client sent nothing for 10 seconds in state welcomed");
    expect_refused(2);
    test_daemon_wait(&server, has_sessions, 1, "one is left");
    test_release(trainer, &batch);
    (void)test_next_batch(trainer);
    (void)close(trainer);
}

/* ---- joined packets ---- */

static int open_joined(uint32_t window) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    struct leat_packet packet = test_hello();
    int fd = connect_trainer();

    packet.hello.features = LEAT_FEATURE_JOINED;
    test_send(fd, &packet, NULL);
    assert_int_equal(test_receive(fd, &packet, NULL, NULL), LEAT_PACKET_WELCOME);
    assert_true(packet.hello.features & LEAT_FEATURE_JOINED);
    test_send_open(fd, "numbers", window, 1);
    assert_int_equal(test_receive(fd, &packet, payload, NULL), LEAT_PACKET_OPENED);
    return fd;
}

/* Takes n batches, in messages of any size. */
static void take_joined(int fd, struct leat_packet *batches, size_t n) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    size_t n_taken = 0;

    while (n_taken < n) {
        struct leat_packet packet;
        size_t n_more;
        int passed;

        assert_int_equal(leat_packet_receive_joined(fd, &packet, payload, &n_more, &passed, 1), 1);
        if (passed >= 0)
            (void)close(passed);
        for (size_t i = 0; i <= n_more; i++) {
            if (packet.kind == LEAT_PACKET_BATCH)
                batches[n_taken++] = packet;
            memcpy(&packet, payload + i * sizeof(packet), sizeof(packet));
        }
    }
    assert_int_equal(n_taken, n);
}

static void test_joined(void **state) {
    struct leat_packet batches[N_RECORDS / 4], many[LEAT_PACKET_JOINED_MAX + 1] = {{.kind = 0}};
    int fd = open_joined(3);

    (void)state;
    for (size_t at = 0; at < N_RECORDS / 4;) {
        size_t n = N_RECORDS / 4 - at < 3 ? N_RECORDS / 4 - at : 3;

        take_joined(fd, batches + at, n);
        for (size_t i = at; i < at + n; i++) {
            assert_int_equal(batches[i].batch.step, i);
            batches[i].kind = LEAT_PACKET_RELEASE;
        }
        assert_int_equal(leat_packet_send_joined(fd, batches + at, n, 1), 0);
        at += n;
    }
    (void)close(fd);

    fd = open_joined(3);
    take_joined(fd, batches, 3);
    batches[0].kind = batches[1].kind = LEAT_PACKET_RELEASE;
    batches[1].batch.step = 9; /* the second of two is wrong */
    assert_int_equal(leat_packet_send_joined(fd, batches, 2, 1), 0);
    expect_error(fd, "slot 1, epoch 0, step 9, which is not held");

    fd = open_joined(3);
    take_joined(fd, batches, 3);
    send_bytes(fd, many, sizeof(many));
    expect_error(fd, "wrong size");
    fd = open_joined(3);
    take_joined(fd, batches, 3);
    send_bytes(fd, many, sizeof(many[0]) + 8);
    expect_error(fd, "wrong size");

    fd = test_open(&server, "numbers", 3, 1); /* without LEAT_FEATURE_JOINED */
    batches[0] = test_next_batch(fd);
    batches[1] = test_next_batch(fd);
    batches[0].kind = batches[1].kind = LEAT_PACKET_RELEASE;
    assert_int_equal(leat_packet_send_joined(fd, batches, 2, 1), 0);
    expect_error(fd, "wrong size");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_joined),
        TEST(test_bad_hello),
        TEST(test_wrong_order),
        TEST(test_optional_kind),
        TEST(test_sizes),
        TEST(test_bad_open),
        cmocka_unit_test_setup_teardown(test_own_spec_that_writes, set_up_roots, tear_down),
        TEST(test_own_spec_of_own_user),
        TEST(test_variants),
        TEST(test_an_epoch),
        TEST(test_window),
        TEST(test_bad_release),
        TEST(test_bye),
        TEST(test_quarantine),
        TEST(test_hang_up),
        TEST(test_no_descriptors),
        TEST(test_rank_without_batches),
        TEST(test_silent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
