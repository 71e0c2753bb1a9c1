/* test_abi.c: the layout of what programs share with libleat. A line that fails here is a program
 * that was linked before and breaks: client/README.md says what is promised. New members of options
 * and events go to the end, with a line of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/leat.h"

#define AT(tag, member, offset) assert_int_equal(offsetof(struct tag, member), offset)

static void test_options(void **state) {
    (void)state;
    AT(leat_open_options, struct_size, 0);
    AT(leat_open_options, delivery, 8);
    AT(leat_open_options, rank, 12);
    AT(leat_open_options, world_size, 16);
    AT(leat_open_options, window, 20);
    AT(leat_open_options, first_epoch, 24);
    AT(leat_open_options, first_step, 32);
    AT(leat_open_options, n_epochs, 40);
    AT(leat_open_options, n_steps, 48);
    AT(leat_open_options, seed, 56);
    AT(leat_open_options, has_seed, 64);
    AT(leat_open_options, client_name, 72);
    AT(leat_open_options, expect_digest, 80);
    AT(leat_open_options, open_timeout_ms, 88);
    AT(leat_open_options, reconnect_timeout_ms, 92);
    AT(leat_open_options, local_rank, 96);
    AT(leat_open_options, local_world_size, 100);
    AT(leat_open_options, on_reconnect, 104);
    AT(leat_open_options, on_reconnect_user, 112);
    AT(leat_open_options, position, 120);
    AT(leat_open_options, accept_changes, 128);
    AT(leat_open_options, on_unmap, 136);
    AT(leat_open_options, on_unmap_user, 144);
    AT(leat_open_options, on_interrupt, 152);
    AT(leat_open_options, on_interrupt_user, 160);
    AT(leat_open_options, private_writes, 168);
    AT(leat_open_options, split, 176);
    AT(leat_open_options, shuffle, 184);
    AT(leat_open_options, on_notice, 192);
    AT(leat_open_options, on_notice_user, 200);
    AT(leat_save_options, struct_size, 0);
    AT(leat_save_options, format, 8);
    AT(leat_save_options, compression, 12);
}

static void test_handed_out(void **state) {
    (void)state;
    AT(leat_reconnect_event, struct_size, 0);
    AT(leat_reconnect_event, kind, 8);
    AT(leat_reconnect_event, attempt, 12);
    AT(leat_reconnect_event, waited_ns, 16);
    AT(leat_reconnect_event, reason, 24);
    AT(leat_ring, number, 0);
    AT(leat_ring, shared, 8);
    AT(leat_ring, memory, 16);
    AT(leat_ring, size_bytes, 24);
    assert_int_equal(sizeof(struct leat_ring), 32);
    AT(leat_tensor_info, name, 0);
    AT(leat_tensor_info, dtype_name, 8);
    AT(leat_tensor_info, dtype, 16);
    AT(leat_tensor_info, ndim, 20);
    AT(leat_tensor_info, shape, 24);
    assert_int_equal(sizeof(struct leat_tensor_info), 56);
    AT(leat_tensor, name, 0);
    AT(leat_tensor, dtype_name, 8);
    AT(leat_tensor, dtype, 16);
    AT(leat_tensor, ndim, 20);
    AT(leat_tensor, shape, 24);
    AT(leat_tensor, strides, 56);
    AT(leat_tensor, data, 88);
    AT(leat_tensor, size_bytes, 96);
    assert_int_equal(sizeof(struct leat_tensor), 104);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_handed_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
