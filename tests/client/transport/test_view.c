/* test_view.c: a batch is read as it was written, and no damage to its head leads a reader outside
 * it: every byte of the head, changed in several ways, gives an error or tensors inside. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/transport/view.h"
#include "tests/client/shared_fake_daemon.h"

/* Two pages of memory, the second of which cannot be used. Returns where it begins. */
static uint8_t *map_two_pages(size_t page) {
    uint8_t *memory =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    return memory + page;
}

static void unmap_two_pages(uint8_t *second, size_t page) {
    assert_int_equal(munmap(second - page, 2 * page), 0);
}

static void check_inside(const struct leat_view *view, const uint8_t *slot, size_t n_bytes) {
    for (size_t i = 0; i < view->header.n_tensors; i++) {
        const struct leat_tensor *tensor = &view->tensors[i];
        const uint8_t *data = tensor->data;

        assert_true(data >= slot && data <= slot + n_bytes);
        assert_true(tensor->size_bytes <= (size_t)(slot + n_bytes - data));
        assert_true(strlen(tensor->name) < sizeof(view->descriptors[i].name));
    }
}

static void test_damage(void **state) {
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    uint8_t *slot = aligned_alloc(64, FAKE_SLOT_BYTES), *copy = aligned_alloc(64, FAKE_SLOT_BYTES);
    struct leat_view view = {.capacity = 0};
    size_t n_bytes = fake_fill_slot(slot, 3, 4);

    (void)state;
    for (size_t at = 0; at < n_bytes; at++)
        for (size_t i = 0; i < sizeof(values); i++) {
            struct leat_error err = LEAT_ERROR_INIT;
            int r;

            memcpy(copy, slot, n_bytes);
            copy[at] = values[i];
            r = leat_view_read(&view, copy, n_bytes, &err);
            assert_true(r == 0 || r == -EPROTO);
            if (r == 0)
                check_inside(&view, copy, n_bytes);
        }
    leat_view_deinit(&view);
    free(slot);
    free(copy);
}

static void test_truncation(void **state) {
    uint8_t *slot = aligned_alloc(64, FAKE_SLOT_BYTES);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *end = map_two_pages(page); /* a step outside the bytes before it is a crash */
    struct leat_view view = {.capacity = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_bytes = fake_fill_slot(slot, 3, 4);

    (void)state;
    for (size_t n = 0; n < n_bytes; n++) {
        err = LEAT_ERROR_INIT;
        memcpy(end - n, slot, n);
        assert_int_equal(leat_view_read(&view, end - n, n, &err), -EPROTO);
    }
    unmap_two_pages(end, page);
    err = LEAT_ERROR_INIT;
    assert_int_equal(leat_view_read(&view, slot, n_bytes, &err), 0);
    assert_non_null(leat_view_find(&view, "x"));
    leat_view_deinit(&view);
    free(slot);
}

/* A slot that changes while it is read. Its descriptors begin at a page that cannot be used at
 * first. Whoever reads them has read the header, and only then the header changes. */
static struct leat_slot_header *changing;
static size_t changing_page;

static void change(int number, siginfo_t *info, void *context) {
    (void)context;
    if (!changing || info->si_addr < (void *)(changing + 1) ||
        mprotect(changing + 1, changing_page, PROT_READ | PROT_WRITE) < 0) {
        (void)signal(number, SIG_DFL); /* this is a crash */
        return;
    }
    changing->n_tensors = 0;
    changing = NULL;
}

/* leat uses the header that it has checked. A header that changes afterwards hides no wrong tensor.
 */
static void test_changed_while_read(void **state) {
    struct sigaction action = {.sa_sigaction = change, .sa_flags = SA_SIGINFO}, old;
    uint8_t *slot = aligned_alloc(64, FAKE_SLOT_BYTES);
    struct leat_slot_tensor *tensor =
        (struct leat_slot_tensor *)(void *)(slot + sizeof(struct leat_slot_header));
    struct leat_view view = {.capacity = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n_bytes = fake_fill_slot(slot, 3, 4);
    uint8_t *second = map_two_pages(page), *split = second - sizeof(struct leat_slot_header);

    (void)state;
    tensor->offset = UINT64_C(1) << 40;
    assert_int_equal(mprotect(second, page, PROT_READ | PROT_WRITE), 0);
    memcpy(split, slot, n_bytes);
    assert_int_equal(mprotect(second, page, PROT_NONE), 0);
    changing = (struct leat_slot_header *)(void *)split;
    changing_page = page;
    assert_int_equal(sigaction(SIGSEGV, &action, &old), 0);
    assert_int_equal(leat_view_read(&view, split, n_bytes, &err), -EPROTO);
    assert_int_equal(sigaction(SIGSEGV, &old, NULL), 0);
    assert_null(changing);
    leat_view_deinit(&view);
    unmap_two_pages(second, page);
    free(slot);
}

/* The tensors of a view that moves lie in the other memory, as far from its beginning. */
static void test_moved(void **state) {
    uint8_t *slot = aligned_alloc(64, FAKE_SLOT_BYTES), *other = aligned_alloc(64, FAKE_SLOT_BYTES);
    struct leat_view view = {.capacity = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_bytes = fake_fill_slot(slot, 3, 4);

    (void)state;
    assert_int_equal(leat_view_read(&view, slot, n_bytes, &err), 0);
    assert_ptr_equal(view.tensors[0].data, slot + leat_slot_head_bytes(1));
    leat_view_move(&view, slot, other);
    assert_ptr_equal(view.tensors[0].data, other + leat_slot_head_bytes(1));
    leat_view_deinit(&view);
    free(slot);
    free(other);
}

static void test_scalars_and_empty(void **state) {
    uint8_t *slot = aligned_alloc(64, FAKE_SLOT_BYTES);
    struct leat_slot_tensor *tensor =
        (struct leat_slot_tensor *)(void *)(slot + sizeof(struct leat_slot_header));
    struct leat_view view = {.capacity = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_bytes = fake_fill_slot(slot, 0, 0);

    (void)state;
    tensor->ndim = 0;
    tensor->size_bytes = 4;
    assert_int_equal(leat_view_read(&view, slot, n_bytes, &err), 0);
    assert_int_equal(view.tensors[0].ndim, 0);
    tensor->ndim = 2;
    tensor->shape[1] = 0;
    tensor->size_bytes = 0;
    assert_int_equal(leat_view_read(&view, slot, n_bytes, &err), 0);
    assert_int_equal(view.tensors[0].strides[0], 0);
    leat_view_deinit(&view);
    free(slot);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_changed_while_read),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_scalars_and_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
