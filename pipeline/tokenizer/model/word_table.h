/* word_table.h: what the tables of words have in common: their hash, and their memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define LEAT_HUGE_PAGE (UINT64_C(2) << 20)

/* A folded 64 x 64 bit product (as in wyhash): as fast as CRC32C, on any machine. */
static inline uint64_t leat_word_hash(uint64_t low, uint64_t high) {
    unsigned __int128 product = (unsigned __int128)(low ^ UINT64_C(0xa0761d6478bd642f)) *
                                (high ^ UINT64_C(0xe7037ed1a0b428db));

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Returns zeroed memory on a border of huge pages, or NULL. A table of 2 MB then costs one entry of
 * the TLB instead of 512, and pages that no word has touched cost nothing. */
static inline void *leat_table_new(size_t n_bytes) {
    size_t n_mapped = n_bytes + LEAT_HUGE_PAGE, n_head;
    uint8_t *memory =
        mmap(NULL, n_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    n_head = (size_t)(-(uintptr_t)memory & (LEAT_HUGE_PAGE - 1));
    if (n_head)
        (void)munmap(memory, n_head);
    memory += n_head;
    (void)munmap(memory + n_bytes, LEAT_HUGE_PAGE - n_head);
    (void)madvise(memory, n_bytes, MADV_HUGEPAGE);
    return memory;
}

static inline void leat_table_free(void *table, size_t n_bytes) {
    if (table)
        (void)munmap(table, n_bytes);
}
