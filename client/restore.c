/* restore.c: drops the pages of a slot that were written. See mapping.h.
 *
 * Which ones they are stands in /proc/self/pagemap, a 64-bit word a page: a page that is there (bit
 * 63) or swapped out (bit 62) and belongs to no file (bit 61 clear) is a copy that a write has
 * made. Pages that nobody wrote stay mapped: to drop all would cost a page fault each at the next
 * batch. Where it cannot be read (no /proc) all are dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/mapping.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

#define PRESENT    (UINT64_C(1) << 63)
#define SWAPPED    (UINT64_C(1) << 62)
#define OF_A_FILE  (UINT64_C(1) << 61)
#define WORDS_READ 512

struct pages {
    struct leat_mapping *mapping;
    uintptr_t start;
    size_t page_bytes;
    size_t n;
};

static bool is_written(uint64_t word) {
    return (word & (PRESENT | SWAPPED)) && !(word & OF_A_FILE);
}

/* What cannot be dropped would show old writes in later batches: then tensors come to lie in the
 * read-only mapping. */
static void drop(const struct pages *pages, size_t first, size_t n) {
    void *start = (void *)(pages->start + first * pages->page_bytes);
    size_t n_bytes = n * pages->page_bytes;

    if (n > 0 && madvise(start, n_bytes, MADV_DONTNEED) < 0 &&
        madvise(start, n_bytes, MADV_DONTNEED_LOCKED) < 0)
        pages->mapping->is_stained = true;
}

/* The number of words read, from that page on; 0: none can be. */
static size_t read_words(const struct pages *pages, size_t first, uint64_t words[WORDS_READ]) {
    struct leat_mapping *mapping = pages->mapping;
    size_t n = pages->n - first < WORDS_READ ? pages->n - first : WORDS_READ;
    off_t place = (off_t)((pages->start / pages->page_bytes + first) * sizeof(words[0]));
    ssize_t n_read;

    if (mapping->pagemap_fd < 0)
        mapping->pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (mapping->pagemap_fd < 0)
        return 0;
    n_read = pread(mapping->pagemap_fd, words, n * sizeof(words[0]), place);
    return n_read < 0 ? 0 : (size_t)n_read / sizeof(words[0]);
}

/* In runs: one call for neighbours. */
static void drop_written(const struct pages *pages, size_t first, const uint64_t *words, size_t n) {
    size_t begin = 0;

    for (size_t i = 0; i <= n; i++) {
        if (i < n && is_written(words[i]))
            continue;
        drop(pages, first + begin, i - begin);
        begin = i + 1;
    }
}

void leat_mapping_restore(struct leat_mapping *mapping, uint32_t slot, size_t n_bytes) {
    uint64_t words[WORDS_READ];
    struct pages pages = {
        .mapping = mapping,
        .start = (uintptr_t)leat_mapping_memory(mapping, slot),
        .page_bytes = (size_t)sysconf(_SC_PAGESIZE),
    };

    if (mapping->pid != getpid() || !leat_mapping_is_writable(mapping))
        return;
    pages.n = (n_bytes + pages.page_bytes - 1) / pages.page_bytes;
    for (size_t i = 0; i < pages.n;) {
        size_t n = read_words(&pages, i, words);

        if (n == 0) {
            drop(&pages, i, pages.n - i);
            return;
        }
        drop_written(&pages, i, words, n);
        i += n;
    }
}
