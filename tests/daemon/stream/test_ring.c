/* Whoever has the ring's descriptor can read it and nothing else, and slots only move as they may.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/stream/ring.h"

static struct leat_slot_ring *make(uint32_t n_slots) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_slot_ring *ring = NULL;

    assert_int_equal(leat_slot_ring_new(7, 5000, n_slots, &ring, &err), 0);
    return ring;
}

static void test_is_sealed(void **state) {
    struct leat_slot_ring *ring = make(4);
    int seals = fcntl(ring->fd, F_GET_SEALS);
    char path[64];
    void *map;
    int fd;

    (void)state;
    assert_int_equal(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL),
                     F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
    assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0), MAP_FAILED);
    assert_int_equal(pwrite(ring->fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(ring->fd, 0), -1);
    assert_int_equal(ftruncate(ring->fd, 1 << 20), -1);
    assert_int_equal(fallocate(ring->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
    assert_int_equal(fcntl(ring->fd, F_ADD_SEALS, F_SEAL_WRITE), -1);

    map = mmap(NULL, ring->size_bytes, PROT_READ, MAP_SHARED, ring->fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mprotect(map, ring->size_bytes, PROT_READ | PROT_WRITE), -1);
    memcpy(leat_slot_ring_memory(ring, 3), "batch", 6);
    assert_string_equal((char *)map + 3 * ring->slot_bytes, "batch");
    (void)munmap(map, ring->size_bytes);

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ring->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) { /* root may open it again: to no avail */
        assert_int_equal(pwrite(fd, "x", 1, 0), -1);
        assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
        (void)close(fd);
    }
    leat_slot_ring_free(ring);
}

static void test_is_populated(void **state) {
    struct leat_slot_ring *ring = make(16);
    struct stat status;

    (void)state;
    assert_int_equal(ring->slot_bytes, 8192);
    assert_int_equal(ring->size_bytes, 16 * 8192);
    assert_int_equal(fstat(ring->fd, &status), 0);
    assert_int_equal(status.st_size, ring->size_bytes);
    assert_true((size_t)status.st_blocks * 512 >= ring->size_bytes);
    assert_true(fcntl(ring->fd, F_GETFD) & FD_CLOEXEC);
    leat_slot_ring_free(ring);
}

static void test_sizes(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_slot_ring *ring = NULL;
    size_t slot_bytes, size_bytes;

    (void)state;
    assert_int_equal(leat_slot_ring_size(1, 1, &slot_bytes, &size_bytes), 0);
    assert_int_equal(slot_bytes, 4096);
    assert_int_equal(leat_slot_ring_size(0, 1, &slot_bytes, &size_bytes), -EOVERFLOW);
    assert_int_equal(leat_slot_ring_size(1, 0, &slot_bytes, &size_bytes), -EOVERFLOW);
    assert_int_equal(leat_slot_ring_size(1, LEAT_RING_MAX_SLOTS + 1, &slot_bytes, &size_bytes),
                     -EOVERFLOW);
    assert_int_equal(leat_slot_ring_size(SIZE_MAX, 1, &slot_bytes, &size_bytes), -EOVERFLOW);
    assert_int_equal(leat_slot_ring_size(SIZE_MAX / 2, 4, &slot_bytes, &size_bytes), -EOVERFLOW);
    assert_true(leat_slot_ring_new(1, SIZE_MAX / 8, 1, &ring, &err) < 0);
    assert_null(ring);
    assert_true(err.message[0]);
}

/* Random legal moves against a plain model: the counts hold, and a slot is never given twice. */
static void test_states(void **state) {
    enum { N = 8 };
    struct leat_slot_ring *ring = make(N);
    unsigned seed = 1;
    int model[N] = {0};

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint32_t slot;
        unsigned n_free = 0;

        seed = seed * 1664525 + 1013904223;
        slot = (seed >> 16) % N;
        switch (model[slot]) {
        case LEAT_SLOT_FREE:
            slot = leat_slot_ring_next_free(ring);
            assert_int_equal(model[slot], LEAT_SLOT_FREE);
            leat_slot_ring_give(ring, slot);
            model[slot] = LEAT_SLOT_GIVEN;
            break;
        case LEAT_SLOT_GIVEN:
            leat_slot_ring_ready(ring, slot);
            model[slot] = LEAT_SLOT_READY;
            break;
        case LEAT_SLOT_READY:
            if (seed & 1) {
                leat_slot_ring_take_back(ring, slot);
                model[slot] = LEAT_SLOT_FREE;
                break;
            }
            leat_slot_ring_hold(ring, slot);
            leat_slot_ring_hold(ring, slot); /* by another trainer */
            model[slot] = LEAT_SLOT_HELD;
            break;
        default:
            leat_slot_ring_take_back(ring, slot);
            model[slot] = LEAT_SLOT_FREE;
        }
        for (int j = 0; j < N; j++) {
            assert_int_equal(ring->states[j], model[j]);
            n_free += model[j] == LEAT_SLOT_FREE;
        }
        assert_int_equal(ring->n_in_state[LEAT_SLOT_FREE], n_free);
        assert_int_equal(leat_slot_ring_is_idle(ring), n_free == N);
    }
    leat_slot_ring_free(ring);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_sealed),
        cmocka_unit_test(test_is_populated),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
