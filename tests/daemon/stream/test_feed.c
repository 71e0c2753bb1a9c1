/* test_feed.c: rings that grow with their batches, end while they do, or cannot be made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pipeline/memory/budget.h"
#include "proto/slot.h"
#include "tests/daemon/shared_daemon.h"

#define MAX_RINGS 32
#define N_OPEN    8 /* at once */

struct rings {
    size_t n;
    struct {
        uint64_t generation;
        size_t slot_bytes, size_bytes;
        const uint8_t *memory;
    } items[MAX_RINGS];
};

static void add_ring(struct rings *rings, const struct leat_packet *packet, int take_fd) {
    size_t size_bytes = packet->ring.slot_bytes * packet->ring.n_slots;
    void *memory = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED, take_fd, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_in_range(rings->n, 0, MAX_RINGS - 1);
    if (rings->n > 0) {
        assert_true(packet->ring.generation > rings->items[rings->n - 1].generation);
        assert_true(packet->ring.slot_bytes > rings->items[rings->n - 1].slot_bytes);
    }
    rings->items[rings->n].generation = packet->ring.generation;
    rings->items[rings->n].slot_bytes = packet->ring.slot_bytes;
    rings->items[rings->n].size_bytes = size_bytes;
    rings->items[rings->n++].memory = memory;
    (void)close(take_fd);
}

static void check_batch(const struct rings *rings, const struct leat_packet *batch, unsigned step) {
    size_t last = 2 * step + 1, length = TEST_LIST_LENGTH(last), i = 0;
    const struct leat_slot_header *header;
    const struct leat_slot_tensor *tensor;
    const uint8_t *slot;
    const int32_t *ids;

    while (i < rings->n && rings->items[i].generation != batch->batch.generation)
        i++;
    assert_true(i < rings->n);
    assert_in_range(batch->batch.used_bytes, 1, rings->items[i].slot_bytes);
    slot = rings->items[i].memory + batch->batch.slot * rings->items[i].slot_bytes;
    header = (const void *)slot;
    tensor = (const void *)(header + 1);
    assert_int_equal(batch->batch.step, step);
    assert_int_equal(header->step, step);
    assert_int_equal(tensor->shape[1], length);
    ids = (const void *)(slot + tensor->offset);
    assert_int_equal(ids[0], last - 1);
    assert_int_equal(ids[length], last);
    assert_int_equal(ids[2 * length - 1], last);
}

/* Releases are late, so that batches of several rings are held at once. */
static void pull_epoch(int fd, struct rings *rings, uint32_t window) {
    static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
    struct leat_packet held[16];
    unsigned step = 0;

    for (;;) {
        struct leat_packet packet;
        int ring_fd = -1;
        uint16_t kind = test_receive(fd, &packet, payload, &ring_fd);

        if (kind == LEAT_PACKET_RING) {
            add_ring(rings, &packet, ring_fd);
            continue;
        }
        if (kind == LEAT_PACKET_END)
            break;
        if (kind != LEAT_PACKET_BATCH)
            fail_msg("kind %u: %.*s", kind, (int)packet.payload_bytes, (char *)payload);
        check_batch(rings, &packet, step);
        held[step % window] = packet;
        if (++step >= window)
            test_release(fd, &held[step % window]);
    }
    assert_int_equal(step, TEST_N_LISTS / 2);
    for (unsigned i = 1; i < window; i++)
        test_release(fd, &held[(step + i) % window]);
}

static void test_growth(void **state) {
    struct test_daemon server;

    (void)state;
    test_daemon_start(&server, 4, "");
    for (uint32_t window = 1; window <= 7; window += 3) {
        int fd = test_open(&server, "lists", window, 1);
        struct rings rings = {.n = 0};

        pull_epoch(fd, &rings, window);
        assert_in_range(rings.n, 2, MAX_RINGS);
        (void)close(fd);
        test_daemon_wait_idle(&server);
        for (size_t i = 0; i < rings.n; i++)
            (void)munmap((void *)(uintptr_t)rings.items[i].memory, rings.items[i].size_bytes);
    }
    test_daemon_stop(&server);
}

/* Takes n batches, and keeps the last two. */
static void pull(int fd, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        struct leat_packet batch = test_next_batch(fd);

        if (i + 2 < n)
            test_release(fd, &batch);
    }
}

/* What was given back through leftovers, and on how many occasions the loop itself did it. */
static struct {
    pthread_t loop;
    _Atomic uint64_t n_bytes, n_on_loop;
} given_back;

void __real_leat_leftovers_free(struct leat_leftovers *leftovers);
void __wrap_leat_leftovers_free(struct leat_leftovers *leftovers);

void __wrap_leat_leftovers_free(struct leat_leftovers *leftovers) {
    for (size_t i = 0; i < LEAT_N_MEMORIES; i++)
        given_back.n_bytes += leftovers->n_bytes[i];
    given_back.n_on_loop += pthread_equal(pthread_self(), given_back.loop) != 0;
    __real_leat_leftovers_free(leftovers);
}

/* The memory of a run that has ended is given back by a worker, as that may take a while. */
static void test_memory_given_back(void **state) {
    struct test_daemon server;
    int fd;

    (void)state;
    test_daemon_start(&server, 4, "");
    given_back.loop = server.thread;
    given_back.n_bytes = given_back.n_on_loop = 0;
    fd = test_open(&server, "lists", 3, 0);
    for (unsigned i = 0; i < 8; i++) {
        struct leat_packet batch = test_next_batch(fd);

        test_release(fd, &batch);
    }
    (void)close(fd);
    test_daemon_stop(&server);
    assert_true(given_back.n_bytes > 0);
    assert_int_equal(given_back.n_on_loop, 0);
}

/* The connection ends after n batches, held or given back: in the middle of whatever goes on. */
static void test_end_while_growing(void **state) {
    struct leat_packet bye = {.kind = LEAT_PACKET_BYE};
    struct test_daemon server;
    int fds[N_OPEN];

    (void)state;
    test_daemon_start(&server, 4, "");
    for (unsigned n = 0; n < TEST_N_LISTS / 2; n += 4) {
        int fd = test_open(&server, "lists", 3, 0);

        pull(fd, n);
        test_send(fd, &bye, NULL);
        (void)close(fd);
    }
    test_daemon_wait_idle(&server);
    for (unsigned i = 0; i < N_OPEN; i++) { /* and now by the end of the daemon */
        fds[i] = test_open(&server, "lists", 3, 0);
        pull(fds[i], 7 * i);
    }
    test_daemon_stop(&server);
    for (unsigned i = 0; i < N_OPEN; i++)
        (void)close(fds[i]);
}

/* A ring that may not grow fails its stream, by name, and what was announced is still good. */
static void test_quota(void **state) {
    struct test_daemon server;
    uint64_t n = 0;
    int fd;

    (void)state;
    test_daemon_start(&server, 4, "max_user_ring_bytes: 4194304\n");
    fd = test_open(&server, "lists", 2, 1);
    for (;;) {
        static uint8_t payload[LEAT_PACKET_PAYLOAD_MAX];
        struct leat_packet packet;
        uint16_t kind = test_receive(fd, &packet, payload, NULL);

        if (kind == LEAT_PACKET_BATCH) {
            n++;
            test_release(fd, &packet);
        } else if (kind == LEAT_PACKET_GOAWAY) {
            Leat__Error *error = leat__error__unpack(NULL, packet.payload_bytes, payload);

            assert_non_null(strstr(error->message, "max_user_ring_bytes"));
            assert_string_equal(error->path, "streams.lists");
            leat__error__free_unpacked(error, NULL);
            break;
        } else {
            assert_int_equal(kind, LEAT_PACKET_RING);
        }
    }
    assert_in_range(n, 1, TEST_N_LISTS / 2 - 1);
    (void)close(fd);
    test_daemon_wait_idle(&server);
    test_daemon_stop(&server);
}

/* No memory for the first ring of a run, which several have asked for: each is told, and later ones
 * are served. */
static void test_no_first_ring(void **state) {
    struct rlimit limit, least;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    struct test_daemon server;
    int fds[N_OPEN];

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    least = (struct rlimit){.rlim_cur = 8192, .rlim_max = limit.rlim_max};
    test_daemon_start(&server, 4, "");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
    for (unsigned i = 0; i < N_OPEN; i++)
        fds[i] = test_welcome(&server);
    for (unsigned i = 0; i < N_OPEN; i++)
        test_send_open(fds[i], "lists", 8, 1);
    for (unsigned i = 0; i < N_OPEN; i++) {
        char text[1024] = "";

        assert_true(test_expect_error(fds[i], text, sizeof(text)));
        assert_non_null(strstr(text, strerror(EFBIG)));
        (void)close(fds[i]);
    }
    test_daemon_wait_idle(&server);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, before);
    fds[0] = test_open(&server, "lists", 8, 1);
    pull(fds[0], 8);
    (void)close(fds[0]);
    test_daemon_stop(&server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_memory_given_back),
        cmocka_unit_test(test_end_while_growing),
        cmocka_unit_test(test_quota),
        cmocka_unit_test(test_no_first_ring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
