/* private_pages.c: see private_pages.h.
 *
 * /proc/self/pagemap has a 64-bit word for each page. A page that is present (bit 63) or swapped
 * out (bit 62) and does not belong to a file (bit 61 clear) is a copy that a write has made. Pages
 * without a copy stay mapped, since dropping them would cost a page fault each at the next batch.
 * If the words cannot be read (no /proc) all pages are dropped.
 */
#include "client/transport/private_pages.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/base/file.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

#define PRESENT    (UINT64_C(1) << 63)
#define SWAPPED    (UINT64_C(1) << 62)
#define OF_A_FILE  (UINT64_C(1) << 61)
#define WORDS_READ 512

struct range {
    struct leat_private_pages *pages;
    uintptr_t start;
    size_t page_bytes;
    size_t n;
};

static bool is_copy(uint64_t word) {
    return (word & (PRESENT | SWAPPED)) && !(word & OF_A_FILE);
}

static void drop_pages(const struct range *range, size_t first, size_t n) {
    void *start = (void *)(range->start + first * range->page_bytes);
    size_t n_bytes = n * range->page_bytes;

    if (n > 0 && madvise(start, n_bytes, MADV_DONTNEED) < 0 &&
        madvise(start, n_bytes, MADV_DONTNEED_LOCKED) < 0)
        range->pages->has_failed = true;
}

/* Reads the words of the pages from `first` on. Returns their number; 0: none can be read. */
static size_t read_words(const struct range *range, size_t first, uint64_t words[WORDS_READ]) {
    struct leat_private_pages *pages = range->pages;
    size_t n = range->n - first < WORDS_READ ? range->n - first : WORDS_READ;
    off_t offset = (off_t)((range->start / range->page_bytes + first) * sizeof(words[0]));
    ssize_t n_read;

    if (pages->pagemap_fd < 0)
        pages->pagemap_fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (pages->pagemap_fd < 0)
        return 0;
    n_read = pread(pages->pagemap_fd, words, n * sizeof(words[0]), offset);
    return n_read < 0 ? 0 : (size_t)n_read / sizeof(words[0]);
}

/* Drops neighbouring copies by one call. */
static void drop_copies(const struct range *range, size_t first, const uint64_t *words, size_t n) {
    size_t begin = 0;

    for (size_t i = 0; i <= n; i++) {
        if (i < n && is_copy(words[i]))
            continue;
        drop_pages(range, first + begin, i - begin);
        begin = i + 1;
    }
}

void leat_private_pages_restore(struct leat_private_pages *pages, const void *memory,
                                size_t n_bytes) {
    uint64_t words[WORDS_READ];
    struct range range = {
        .pages = pages,
        .start = (uintptr_t)memory,
        .page_bytes = (size_t)sysconf(_SC_PAGESIZE),
    };

    range.n = (n_bytes + range.page_bytes - 1) / range.page_bytes;
    for (size_t i = 0; i < range.n;) {
        size_t n = read_words(&range, i, words);

        if (n == 0) {
            drop_pages(&range, i, range.n - i);
            return;
        }
        drop_copies(&range, i, words, n);
        i += n;
    }
}

void leat_private_pages_deinit(struct leat_private_pages *pages) {
    leat_file_close(&pages->pagemap_fd);
    *pages = LEAT_PRIVATE_PAGES_INIT;
}
