/* mapping.c: see mapping.h. Without the seals a daemon could shrink the file and the reader would
 * die of SIGBUS; with them the size that fstat() tells is the size for ever. MADV_DONTFORK keeps
 * the pages out of forked children, whose hold the daemon would know nothing of. */
#include "client/mapping.h"

#include <errno.h>
#include <fcntl.h>
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
                              "the daemon's ring has %lld bytes where its slots need %zu",
                              (long long)status.st_size, size_bytes);
    return 0;
}

int leat_mapping_new(int fd, uint64_t generation, uint64_t slot_bytes, uint32_t n_slots,
                     struct leat_mapping **ret_mapping, struct leat_error *err) {
    struct leat_mapping *mapping;
    size_t size_bytes = 0;
    void *memory;
    int r;

    r = check_sizes(slot_bytes, n_slots, &size_bytes, err);
    if (r == 0)
        r = check_file(fd, size_bytes, err);
    if (r < 0)
        return r;
    mapping = calloc(1, sizeof(*mapping) + n_slots * sizeof(mapping->is_held[0]));
    if (!mapping)
        return leat_error_oom(err);
    memory = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (memory == MAP_FAILED) {
        r = leat_error_set(err, -errno, "cannot map the daemon's ring of %zu bytes: %s", size_bytes,
                           strerror(errno));
        free(mapping);
        return r;
    }
    (void)madvise(memory, size_bytes, MADV_DONTFORK);
    *mapping = (struct leat_mapping){
        .n_refs = 1,
        .generation = generation,
        .slot_bytes = slot_bytes,
        .n_slots = n_slots,
        .pid = getpid(),
        .memory = memory,
        .size_bytes = size_bytes,
    };
    *ret_mapping = mapping;
    return 0;
}

struct leat_mapping *leat_mapping_unref(struct leat_mapping *mapping) {
    if (!mapping || --mapping->n_refs > 0)
        return NULL;
    /* In a forked child these addresses belong to nobody, or by now to somebody else. */
    if (mapping->pid == getpid())
        (void)munmap(mapping->memory, mapping->size_bytes);
    free(mapping);
    return NULL;
}
