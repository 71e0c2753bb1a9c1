/* ring.c: the descriptor may leave the daemon only after the memory was populated, mapped and
 * sealed, in this order.
 */
#include "daemon/stream/ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/system/process.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

int leat_slot_ring_size(size_t min_slot_bytes, uint32_t n_slots, size_t *ret_slot_bytes,
                        size_t *ret_size_bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), slot_bytes, size_bytes;

    if (min_slot_bytes == 0 || n_slots == 0 || n_slots > LEAT_RING_MAX_SLOTS ||
        __builtin_add_overflow(min_slot_bytes, page - 1, &slot_bytes))
        return -EOVERFLOW;
    slot_bytes &= ~(page - 1);
    if (__builtin_mul_overflow(slot_bytes, (size_t)n_slots, &size_bytes) ||
        size_bytes > SIZE_MAX / 4)
        return -EOVERFLOW;
    *ret_slot_bytes = slot_bytes;
    *ret_size_bytes = size_bytes;
    return 0;
}

static int make_memfd(void) {
    int fd = memfd_create("leat-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("leat-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd < 0 ? -errno : fd;
}

/* fallocate() leaves pages that each first access zeroes and maps alone. Written pages are whole,
 * so an access maps their neighbours too. */
static int populate_memory(int fd, size_t size_bytes) {
    static uint8_t zeroes[256 << 10]; /* const, it would lie in the program's file */
    size_t at = 0;

    /* pwrite() does not fail where memory is short: the kernel kills processes instead. */
    if (size_bytes > leat_process_available_bytes())
        return -ENOMEM;
    while (at < size_bytes) {
        size_t n = size_bytes - at < sizeof(zeroes) ? size_bytes - at : sizeof(zeroes);
        ssize_t n_written = pwrite(fd, zeroes, n, (off_t)at);

        if (n_written < 0 && errno != EINTR)
            return -errno;
        at += n_written < 0 ? 0 : (size_t)n_written;
    }
    return 0;
}

/* MAP_POPULATE of a writable mapping would map the pages one by one. */
static void map_pages(const struct leat_slot_ring *ring) {
    const volatile uint8_t *memory = ring->memory;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t at = 0; at < ring->size_bytes; at += page)
        (void)memory[at];
}

static int map_and_seal(struct leat_slot_ring *ring) {
    void *memory = mmap(NULL, ring->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

    if (memory == MAP_FAILED)
        return -errno;
    ring->memory = memory;
    (void)madvise(memory, ring->size_bytes, MADV_DONTDUMP);
    (void)madvise(memory, ring->size_bytes, MADV_DONTFORK);
    map_pages(ring);
    return fcntl(ring->fd, F_ADD_SEALS, SEALS) < 0 ? -errno : 0;
}

static int make_slots(struct leat_slot_ring *ring) {
    ring->states = calloc(ring->n_slots, sizeof(*ring->states));
    ring->free_slots = calloc(ring->n_slots, sizeof(*ring->free_slots));
    if (!ring->states || !ring->free_slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < ring->n_slots; i++)
        ring->free_slots[i] = ring->n_slots - 1 - i;
    ring->n_in_state[LEAT_SLOT_FREE] = ring->n_slots;
    return 0;
}

static int make_memory(struct leat_slot_ring *ring) {
    int r = make_slots(ring);

    if (r == 0)
        r = ring->fd = make_memfd();
    if (r >= 0)
        r = populate_memory(ring->fd, ring->size_bytes);
    return r < 0 ? r : map_and_seal(ring);
}

int leat_slot_ring_new(uint64_t generation, size_t min_slot_bytes, uint32_t n_slots,
                       struct leat_slot_ring **ret_ring, struct leat_error *err) {
    struct leat_slot_ring *ring = calloc(1, sizeof(*ring));
    int r;

    if (!ring)
        return leat_error_oom(err);
    ring->fd = -1;
    ring->generation = generation;
    ring->n_slots = n_slots;
    r = leat_slot_ring_size(min_slot_bytes, n_slots, &ring->slot_bytes, &ring->size_bytes);
    if (r == 0)
        r = make_memory(ring);
    if (r < 0) {
        leat_slot_ring_free(ring);
        return leat_error_set(err, r,
                              "the daemon cannot get shared memory for %u slots of %zu bytes: %s",
                              n_slots, min_slot_bytes, strerror(-r));
    }
    *ret_ring = ring;
    return 0;
}

struct leat_slot_ring *leat_slot_ring_free(struct leat_slot_ring *ring) {
    if (!ring)
        return NULL;
    if (ring->memory)
        (void)munmap(ring->memory, ring->size_bytes);
    if (ring->fd >= 0)
        (void)close(ring->fd);
    free(ring->states);
    free(ring->free_slots);
    free(ring);
    return NULL;
}

/* The one setter: checks the move and keeps the counts. */
static void set_state(struct leat_slot_ring *ring, uint32_t index, enum leat_slot_state state) {
    static const uint8_t moves[LEAT_N_SLOT_STATES] = {
        [LEAT_SLOT_FREE] = 1 << LEAT_SLOT_GIVEN,
        [LEAT_SLOT_GIVEN] = 1 << LEAT_SLOT_READY | 1 << LEAT_SLOT_FREE,
        [LEAT_SLOT_READY] = 1 << LEAT_SLOT_HELD | 1 << LEAT_SLOT_FREE,
        [LEAT_SLOT_HELD] = 1 << LEAT_SLOT_FREE,
    };
    uint8_t before;

    assert(index < ring->n_slots);
    before = ring->states[index];
    assert(moves[before] & (1 << state));
    (void)moves;
    if (before == LEAT_SLOT_FREE)
        assert(ring->free_slots[ring->n_in_state[LEAT_SLOT_FREE] - 1] == index);
    ring->n_in_state[before]--;
    if (state == LEAT_SLOT_FREE)
        ring->free_slots[ring->n_in_state[LEAT_SLOT_FREE]] = index;
    ring->n_in_state[state]++;
    ring->states[index] = (uint8_t)state;
}

uint32_t leat_slot_ring_next_free(const struct leat_slot_ring *ring) {
    assert(ring->n_in_state[LEAT_SLOT_FREE] > 0);
    return ring->free_slots[ring->n_in_state[LEAT_SLOT_FREE] - 1];
}

void leat_slot_ring_give(struct leat_slot_ring *ring, uint32_t slot) {
    set_state(ring, slot, LEAT_SLOT_GIVEN);
}

void leat_slot_ring_ready(struct leat_slot_ring *ring, uint32_t slot) {
    set_state(ring, slot, LEAT_SLOT_READY);
}

void leat_slot_ring_hold(struct leat_slot_ring *ring, uint32_t slot) {
    if (ring->states[slot] != LEAT_SLOT_HELD)
        set_state(ring, slot, LEAT_SLOT_HELD);
}

void leat_slot_ring_take_back(struct leat_slot_ring *ring, uint32_t slot) {
    set_state(ring, slot, LEAT_SLOT_FREE);
}

bool leat_slot_ring_is_idle(const struct leat_slot_ring *ring) {
    return ring->n_in_state[LEAT_SLOT_FREE] == ring->n_slots;
}
