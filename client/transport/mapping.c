/* mapping.c: see mapping.h. Without the seals a daemon could shrink the file and the reader would
 * die of SIGBUS; with them the size that fstat() returns never changes. MADV_DONTFORK keeps the
 * pages out of forked children, since the daemon does not know what a child holds. */
#include "client/transport/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/slot.h"

static int check_sizes(uint64_t slot_bytes, uint32_t n_slots, size_t *ret_size,
                       struct leat_error *err) {
    if (n_slots == 0 || n_slots > LEAT_MAPPING_MAX_SLOTS)
        return leat_error_set(err, -EPROTO, "the daemon's ring has %u slots, outside 1..%d",
                              n_slots, LEAT_MAPPING_MAX_SLOTS);
    if (slot_bytes < sizeof(struct leat_slot_header) || slot_bytes % LEAT_SLOT_ALIGN ||
        __builtin_mul_overflow(slot_bytes, n_slots, ret_size) || *ret_size > PTRDIFF_MAX)
        return leat_error_set(err, -EPROTO, "the daemon's ring has slots of %llu bytes",
                              (unsigned long long)slot_bytes);
    return 0;
}

static int check_file(int fd, size_t size_bytes, struct leat_error *err) {
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & needed) != needed || !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)))
        return leat_error_set(err, -EPROTO,
                              "the daemon's ring is not sealed against resizing and writing "
                              "(seals 0x%x)",
                              seals < 0 ? 0 : (unsigned)seals);
    if (fstat(fd, &status) < 0)
        return leat_error_set(err, -errno, "fstat of the daemon's ring: %s", strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_size < (off_t)size_bytes)
        return leat_error_set(err, -EPROTO,
                              "the daemon's ring has %lld bytes, but its slots need %zu",
                              (long long)status.st_size, size_bytes);
    return 0;
}

/* Dropping the pages of a slot must not touch its neighbours. */
static int check_pages(uint64_t slot_bytes, struct leat_error *err) {
    long page_bytes = sysconf(_SC_PAGESIZE);

    if (slot_bytes % (uint64_t)page_bytes == 0)
        return 0;
    return leat_error_set(err, -EPROTO,
                          "the slots of the daemon's ring have %llu bytes, which is not a multiple "
                          "of the page size (%ld bytes): open the stream without private_writes",
                          (unsigned long long)slot_bytes, page_bytes);
}

static int map_memory(int fd, size_t size_bytes, int flags, const void **ret_memory,
                      struct leat_error *err) {
    void *memory = mmap(NULL, size_bytes, PROT_READ, flags, fd, 0);

    if (memory == MAP_FAILED)
        return leat_error_set(err, -errno, "cannot map the daemon's ring of %zu bytes: %s",
                              size_bytes, strerror(errno));
    (void)madvise(memory, size_bytes, MADV_DONTFORK);
    *ret_memory = memory;
    return 0;
}

/* Populates the pages while the mapping is read-only: populating a writable one would copy every
 * page. */
static int map_privately(int fd, size_t size_bytes, const void **ret_memory,
                         struct leat_error *err) {
    const void *memory = NULL;
    int r = map_memory(fd, size_bytes, MAP_PRIVATE | MAP_NORESERVE | MAP_POPULATE, &memory, err);

    if (r < 0)
        return r;
    if (mprotect((void *)(uintptr_t)memory, size_bytes, PROT_READ | PROT_WRITE) < 0) {
        r = leat_error_set(err, -errno, "cannot make a ring of %zu bytes writable: %s", size_bytes,
                           strerror(errno));
        (void)munmap((void *)(uintptr_t)memory, size_bytes);
        return r;
    }
    *ret_memory = memory;
    return 0;
}

/* Only the mapping that tensors lie in is populated: with private_writes the shared one serves only
 * for reading the headers of slots. */
static int map_ring(int fd, struct leat_ring *ring, bool private_writes, struct leat_error *err) {
    static atomic_uint_fast64_t n_rings;
    size_t size_bytes = (size_t)ring->size_bytes;
    int r;

    ring->number = atomic_fetch_add(&n_rings, 1) + 1;
    if (!private_writes) {
        r = map_memory(fd, size_bytes, MAP_SHARED | MAP_POPULATE, &ring->shared, err);
        ring->memory = ring->shared;
        return r;
    }
    r = map_memory(fd, size_bytes, MAP_SHARED, &ring->shared, err);
    if (r < 0)
        return r;
    r = map_privately(fd, size_bytes, &ring->memory, err);
    if (r < 0)
        (void)munmap((void *)(uintptr_t)ring->shared, size_bytes);
    return r;
}

int leat_mapping_new(int fd, uint64_t generation, uint64_t slot_bytes, uint32_t n_slots,
                     const struct leat_mapping_options *options, struct leat_mapping **ret_mapping,
                     struct leat_error *err) {
    struct leat_mapping *mapping;
    size_t size_bytes = 0;
    int r;

    r = check_sizes(slot_bytes, n_slots, &size_bytes, err);
    if (r == 0)
        r = check_file(fd, size_bytes, err);
    if (r == 0 && options->private_writes)
        r = check_pages(slot_bytes, err);
    if (r < 0)
        return r;
    mapping = calloc(1, sizeof(*mapping) + n_slots * sizeof(mapping->is_held[0]));
    if (!mapping)
        return leat_error_oom(err);
    *mapping = (struct leat_mapping){
        .n_refs = 1,
        .generation = generation,
        .slot_bytes = slot_bytes,
        .n_slots = n_slots,
        .pid = getpid(),
        .ring = {.size_bytes = size_bytes},
        .options = *options,
        .pages = LEAT_PRIVATE_PAGES_INIT,
    };
    r = map_ring(fd, &mapping->ring, options->private_writes, err);
    if (r < 0) {
        free(mapping);
        return r;
    }
    *ret_mapping = mapping;
    return 0;
}

static void unmap_ring(const struct leat_mapping *mapping) {
    const struct leat_ring *ring = &mapping->ring;

    if (mapping->options.on_unmap)
        mapping->options.on_unmap(mapping->options.on_unmap_user, ring);
    if (ring->memory != ring->shared)
        (void)munmap((void *)(uintptr_t)ring->memory, (size_t)ring->size_bytes);
    (void)munmap((void *)(uintptr_t)ring->shared, (size_t)ring->size_bytes);
}

struct leat_mapping *leat_mapping_unref(struct leat_mapping *mapping) {
    if (!mapping || --mapping->n_refs > 0)
        return NULL;
    /* In a forked child the addresses are not mapped, or belong to something else by now. */
    if (mapping->pid == getpid())
        unmap_ring(mapping);
    leat_private_pages_deinit(&mapping->pages);
    free(mapping);
    return NULL;
}

void leat_mapping_prepend(struct leat_mapping *take_mapping, struct leat_mapping **list) {
    take_mapping->older = *list;
    *list = take_mapping;
}

void leat_mapping_drop_list(struct leat_mapping **list) {
    while (*list) {
        struct leat_mapping *mapping = *list;

        *list = mapping->older;
        mapping->older = NULL;
        leat_mapping_unref(mapping);
    }
}

void leat_mapping_unhold(struct leat_mapping *mapping, uint32_t slot) {
    mapping->is_held[slot] = false;
    leat_mapping_unref(mapping);
}

void leat_mapping_restore(struct leat_mapping *mapping, uint32_t slot, size_t n_bytes) {
    if (mapping->pid == getpid() && leat_mapping_is_writable(mapping))
        leat_private_pages_restore(&mapping->pages, leat_mapping_memory(mapping, slot), n_bytes);
}
