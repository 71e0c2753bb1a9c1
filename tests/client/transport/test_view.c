/* test_view.c: a batch is read as it was written, and no damage to its head leads a reader outside
 * it: every byte of the head, changed in several ways, gives an error or tensors inside. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/transport/view.h"
#include "tests/client/shared_fake_daemon.h"

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
    struct leat_view view = {.capacity = 0};
    struct leat_error err = LEAT_ERROR_INIT;
    size_t n_bytes = fake_fill_slot(slot, 3, 4);

    (void)state;
    for (size_t n = 0; n < n_bytes; n++) {
        uint8_t *exact = malloc(n ? n : 1); /* so that a sanitizer sees any step outside */

        err = LEAT_ERROR_INIT;
        memcpy(exact, slot, n);
        assert_int_equal(leat_view_read(&view, exact, n, &err), -EPROTO);
        free(exact);
    }
    err = LEAT_ERROR_INIT;
    assert_int_equal(leat_view_read(&view, slot, n_bytes, &err), 0);
    assert_non_null(leat_view_find(&view, "x"));
    leat_view_deinit(&view);
    free(slot);
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
        cmocka_unit_test(test_scalars_and_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
