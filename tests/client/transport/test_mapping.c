/* test_mapping.c: a ring as libleat maps it: what is written privately is seen by nobody, is gone
 * when its slot is restored, and takes nothing else with it; and who is told that it goes. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/transport/mapping.h"
#include "proto/base/rng.h"
#include "proto/slot.h"
#include "tests/skip.h"

#define N_SLOTS      4
#define PAGES        8 /* of a slot */
#define ALL_SEALS    (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
#define DAEMON_WRITE 100 /* its bytes begin there, a trainer's stay below */

struct ring {
    int fd;
    size_t page, slot_bytes, size;
    uint8_t *daemon; /* its own mapping */
    struct leat_mapping *mapping;
};

static int try_begin(struct ring *ring, size_t slot_bytes,
                     const struct leat_mapping_options *options) {
    struct leat_error err = LEAT_ERROR_INIT;

    *ring = (struct ring){.page = (size_t)sysconf(_SC_PAGESIZE)};
    ring->slot_bytes = slot_bytes ? slot_bytes : PAGES * ring->page;
    ring->size = N_SLOTS * ring->slot_bytes;
    ring->fd = memfd_create("leat-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(ring->fd >= 0);
    assert_int_equal(ftruncate(ring->fd, (off_t)ring->size), 0);
    ring->daemon = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    assert_ptr_not_equal(ring->daemon, MAP_FAILED);
    memset(ring->daemon, DAEMON_WRITE, ring->size);
    assert_int_equal(fcntl(ring->fd, F_ADD_SEALS, ALL_SEALS), 0);
    return leat_mapping_new(ring->fd, 1, ring->slot_bytes, N_SLOTS, options, &ring->mapping, &err);
}

static void begin(struct ring *ring, bool private_writes) {
    struct leat_mapping_options options = {.private_writes = private_writes};

    assert_int_equal(try_begin(ring, 0, &options), 0);
}

static void end(struct ring *ring) {
    leat_mapping_unref(ring->mapping);
    (void)munmap(ring->daemon, ring->size);
    (void)close(ring->fd);
}

static uint8_t *trainers(const struct ring *ring, uint32_t slot) {
    return (uint8_t *)(uintptr_t)leat_mapping_memory(ring->mapping, slot);
}

static void assert_all(const uint8_t *bytes, uint8_t value, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != value)
            fail_msg("byte %zu is %u, not %u", i, bytes[i], value);
}

static void test_shared_only(void **state) {
    struct ring ring;

    (void)state;
    begin(&ring, false);
    assert_ptr_equal(ring.mapping->ring.memory, ring.mapping->ring.shared);
    assert_ptr_equal(trainers(&ring, 1), leat_mapping_slot(ring.mapping, 1));
    assert_false(leat_mapping_is_writable(ring.mapping));
    assert_int_equal(ring.mapping->ring.size_bytes, ring.size);
    leat_mapping_restore(ring.mapping, 0, ring.slot_bytes);
    assert_all(trainers(&ring, 0), DAEMON_WRITE, ring.size);
    end(&ring);
}

static void test_writes_are_private(void **state) {
    struct ring ring;

    (void)state;
    begin(&ring, true);
    assert_true(leat_mapping_is_writable(ring.mapping));
    memset(trainers(&ring, 1), 7, ring.slot_bytes);
    assert_all(ring.daemon, DAEMON_WRITE, ring.size);
    assert_all(leat_mapping_slot(ring.mapping, 0), DAEMON_WRITE, ring.size);
    leat_mapping_restore(ring.mapping, 1, ring.slot_bytes);
    assert_all(trainers(&ring, 0), DAEMON_WRITE, ring.size);
    end(&ring);
}

/* Any bytes written by the trainer, any slot restored: there it sees what the daemon writes, and
 * elsewhere still its own. */
static void check_random_writes(struct ring *ring, struct leat_rng *rng) {
    uint32_t restored = (uint32_t)leat_rng_below(rng, N_SLOTS);
    uint8_t *expected = malloc(ring->size), value = (uint8_t)leat_rng_below(rng, DAEMON_WRITE);

    assert_non_null(expected);
    memcpy(expected, trainers(ring, 0), ring->size);
    for (size_t n = leat_rng_below(rng, 20); n > 0; n--) {
        size_t at = leat_rng_below(rng, ring->size);

        trainers(ring, 0)[at] = expected[at] = value;
    }
    leat_mapping_restore(ring->mapping, restored, ring->slot_bytes);
    memset(ring->daemon + restored * ring->slot_bytes, DAEMON_WRITE + value, ring->slot_bytes);
    memset(expected + restored * ring->slot_bytes, DAEMON_WRITE + value, ring->slot_bytes);
    assert_memory_equal(trainers(ring, 0), expected, ring->size);
    free(expected);
}

static void test_random_writes(void **state) {
    struct leat_rng rng = {.state = 5};
    struct ring ring;

    (void)state;
    begin(&ring, true);
    for (int i = 0; i < 200; i++)
        check_random_writes(&ring, &rng);
    end(&ring);
}

/* Only the pages that its bytes lie in. */
static void test_part_of_a_slot(void **state) {
    struct ring ring;

    (void)state;
    begin(&ring, true);
    memset(trainers(&ring, 2), 7, ring.slot_bytes);
    leat_mapping_restore(ring.mapping, 2, ring.page + 1);
    assert_all(trainers(&ring, 2), DAEMON_WRITE, 2 * ring.page);
    assert_all(trainers(&ring, 2) + 2 * ring.page, 7, (PAGES - 2) * ring.page);
    end(&ring);
}

/* Where nobody tells which pages were written, all of them are dropped. */
static void test_no_pagemap(void **state) {
    struct ring ring;

    (void)state;
    begin(&ring, true);
    ring.mapping->pages.pagemap_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    trainers(&ring, 3)[5 * ring.page] = 7;
    leat_mapping_restore(ring.mapping, 3, ring.slot_bytes);
    assert_all(trainers(&ring, 3), DAEMON_WRITE, ring.slot_bytes);
    end(&ring);
}

/* Of a trainer that locks all its memory: dropped, or nothing is written there any more. */
static void test_locked(void **state) {
    struct ring ring;

    (void)state;
    SKIP_CASE_IF_EMULATED("qemu takes MADV_DONTNEED_LOCKED and drops nothing");
    begin(&ring, true);
    if (mlock(trainers(&ring, 0), ring.size) < 0)
        SKIP_CASE("RLIMIT_MEMLOCK is too small for a ring");
    memset(trainers(&ring, 0), 7, ring.slot_bytes);
    leat_mapping_restore(ring.mapping, 0, ring.slot_bytes);
    memset(ring.daemon, DAEMON_WRITE + 1, ring.slot_bytes);
    assert_all(trainers(&ring, 0), DAEMON_WRITE + 1, ring.slot_bytes);
    end(&ring);
}

static void test_stained(void **state) {
    struct ring ring;

    (void)state;
    begin(&ring, true);
    ring.mapping->pages.has_failed = true;
    assert_false(leat_mapping_is_writable(ring.mapping));
    assert_ptr_equal(trainers(&ring, 1), leat_mapping_slot(ring.mapping, 1));
    end(&ring);
}

static void test_slots_of_parts_of_pages(void **state) {
    struct leat_mapping_options options = {.private_writes = true};
    struct ring ring;

    (void)state;
    assert_int_equal(try_begin(&ring, 4096 + LEAT_SLOT_ALIGN, &options), -EPROTO);
    assert_null(ring.mapping);
    end(&ring);
    options.private_writes = false;
    assert_int_equal(try_begin(&ring, 4096 + LEAT_SLOT_ALIGN, &options), 0);
    end(&ring);
}

static void test_fork(void **state) {
    struct ring ring;
    int status = 1;
    pid_t child;

    (void)state;
    begin(&ring, true);
    child = fork();
    if (child == 0) {
        leat_mapping_restore(ring.mapping, 0, ring.slot_bytes);
        leat_mapping_unref(ring.mapping);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_all(trainers(&ring, 0), DAEMON_WRITE, ring.size);
    end(&ring);
}

struct told {
    int n;
    uint64_t number;
    uint8_t last; /* that can still be read then */
};

static void on_unmap(void *user, const struct leat_ring *ring) {
    struct told *told = user;

    told->n++;
    told->number = ring->number;
    told->last = ((const uint8_t *)ring->shared)[ring->size_bytes - 1];
    assert_int_equal(((const uint8_t *)ring->memory)[ring->size_bytes - 1], told->last);
}

static void test_on_unmap(void **state) {
    struct told told = {.n = 0};
    struct leat_mapping_options options = {
        .private_writes = true, .on_unmap = on_unmap, .on_unmap_user = &told};
    struct ring first, second;
    uint64_t number;

    (void)state;
    assert_int_equal(try_begin(&first, 0, &options), 0);
    assert_int_equal(try_begin(&second, 0, &options), 0);
    number = first.mapping->ring.number;
    assert_int_not_equal(number, second.mapping->ring.number);
    first.mapping->n_refs++;
    leat_mapping_unref(first.mapping);
    assert_int_equal(told.n, 0);
    end(&first);
    assert_int_equal(told.n, 1);
    assert_int_equal(told.number, number);
    assert_int_equal(told.last, DAEMON_WRITE);
    end(&second);
    assert_int_equal(told.n, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_only),   cmocka_unit_test(test_writes_are_private),
        cmocka_unit_test(test_random_writes), cmocka_unit_test(test_part_of_a_slot),
        cmocka_unit_test(test_no_pagemap),    cmocka_unit_test(test_locked),
        cmocka_unit_test(test_stained),       cmocka_unit_test(test_slots_of_parts_of_pages),
        cmocka_unit_test(test_fork),          cmocka_unit_test(test_on_unmap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
