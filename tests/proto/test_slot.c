/* test_slot.c: proto/slot.c: what a reader must refuse before it believes a slot. Every lie about
 * one member of a good slot, and slots of noise: accepted is only what lies within its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/dtype.h"
#include "proto/slot.h"
#include "tests/proto/shared_random.h"

#define SLOT_BYTES 1024

union slot {
    struct {
        struct leat_slot_header header;
        struct leat_slot_tensor tensors[2];
    };
    uint8_t bytes[SLOT_BYTES];
    uint64_t align;
};

/* input_ids int32 [2, 16], labels int64 [2] */
static void make(union slot *slot) {
    memset(slot, 0, sizeof(*slot));
    slot->header = (struct leat_slot_header){
        .magic = LEAT_SLOT_MAGIC, .version = 1, .n_tensors = 2, .used_bytes = 512, .n_rows = 2};
    slot->tensors[0] = (struct leat_slot_tensor){.name = "input_ids",
                                                 .dtype = LEAT_DTYPE_INT32,
                                                 .ndim = 2,
                                                 .shape = {2, 16},
                                                 .offset = 320,
                                                 .size_bytes = 128};
    slot->tensors[1] = (struct leat_slot_tensor){.name = "labels",
                                                 .dtype = LEAT_DTYPE_INT64,
                                                 .ndim = 1,
                                                 .shape = {2},
                                                 .offset = 448,
                                                 .size_bytes = 16};
}

static int check(const union slot *slot, size_t n_bytes) {
    struct leat_error err = LEAT_ERROR_INIT;
    uint8_t *copy =
        malloc(n_bytes ? n_bytes : 1); /* exactly as long, so that asan sees overreads */
    int r;

    memcpy(copy, slot, n_bytes);
    r = leat_slot_check(copy, n_bytes, &err);
    free(copy);
    assert_int_equal(err.code, r);
    assert_true(r == 0 || r == -EPROTO);
    return r;
}

static void test_good_slots(void **state) {
    union slot slot;

    (void)state;
    make(&slot);
    assert_int_equal(check(&slot, SLOT_BYTES), 0);
    assert_int_equal(check(&slot, 512), 0);
    slot.header.n_tensors = 0;
    slot.header.used_bytes = 64;
    assert_int_equal(check(&slot, 64), 0);
    make(&slot);
    slot.tensors[1].shape[0] = 0; /* no rows, at the very end */
    slot.tensors[1].size_bytes = 0;
    slot.tensors[1].offset = 512;
    assert_int_equal(check(&slot, 512), 0);
    slot.tensors[1].ndim = 0; /* a scalar has one element */
    slot.tensors[1].offset = 448;
    slot.tensors[1].size_bytes = 8;
    assert_int_equal(check(&slot, 512), 0);
}

static void test_too_short(void **state) {
    union slot slot;

    (void)state;
    make(&slot);
    for (size_t n = 0; n < 512; n++)
        assert_int_equal(check(&slot, n), -EPROTO);
}

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        union slot lie;                                                                            \
        make(&lie);                                                                                \
        change;                                                                                    \
        assert_int_equal(check(&lie, SLOT_BYTES), -EPROTO);                                        \
    } while (0)

static void test_lies(void **state) {
    (void)state;
    REFUSED(lie.header.magic ^= 1);
    REFUSED(lie.header.version = 2);
    REFUSED(lie.header.n_tensors = LEAT_SLOT_MAX_TENSORS + 1);
    REFUSED(lie.header.n_tensors = UINT16_MAX);
    REFUSED(lie.header.used_bytes = SLOT_BYTES + 1);
    REFUSED(lie.header.used_bytes = UINT64_MAX);
    REFUSED(lie.header.used_bytes = 64);
    REFUSED(lie.header.used_bytes = 463);
    REFUSED(lie.tensors[0].name[0] = '\0');
    REFUSED(memset(lie.tensors[0].name, 'x', sizeof(lie.tensors[0].name)));
    REFUSED(lie.tensors[0].dtype = LEAT_DTYPE_NONE);
    REFUSED(lie.tensors[0].dtype = LEAT_DTYPE_TEXT);
    REFUSED((lie.tensors[0].dtype = LEAT_DTYPE_TEXT, lie.tensors[0].size_bytes = 32));
    REFUSED(lie.tensors[0].dtype = UINT32_MAX);
    REFUSED(lie.tensors[0].ndim = 5);
    REFUSED(lie.tensors[0].ndim = UINT32_MAX);
    for (uint64_t n = 1; n <= 320; n += 319) /* with or without what follows the shape, it fits */
        REFUSED((lie.header.used_bytes = SLOT_BYTES,
                 lie.tensors[0] = (struct leat_slot_tensor){.name = "five",
                                                            .dtype = LEAT_DTYPE_INT8,
                                                            .ndim = 5,
                                                            .shape = {1, 1, 1, 1},
                                                            .offset = 320,
                                                            .size_bytes = n}));
    REFUSED(lie.tensors[0].ndim = 1);
    REFUSED(lie.tensors[0].shape[0] = 3);
    REFUSED(lie.tensors[0].shape[0] = UINT64_MAX);
    REFUSED(lie.tensors[0].shape[1] = UINT64_C(1) << 62);
    REFUSED((lie.tensors[0].shape[0] = UINT64_C(1) << 63, lie.tensors[0].shape[1] = 2,
             lie.tensors[0].size_bytes = 0));
    REFUSED(lie.tensors[0].size_bytes = 127);
    REFUSED(lie.tensors[0].offset = 321);
    REFUSED(lie.tensors[0].offset = 256);
    REFUSED(lie.tensors[0].offset = 0);
    REFUSED(lie.tensors[0].offset = 448);
    REFUSED(lie.tensors[0].offset = UINT64_MAX - 63);
    REFUSED(lie.tensors[1].offset = 1024);
}

/* Noise in a good slot: whatever is accepted lies within the slot. */
static void test_noise(void **state) {
    uint64_t random = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        union slot slot;

        make(&slot);
        for (uint64_t i = random_below(&random, 4) + 1; i > 0; i--)
            slot.bytes[random_below(&random, 320)] = (uint8_t)random_next(&random);
        if (check(&slot, SLOT_BYTES) < 0)
            continue;
        assert_true(slot.header.used_bytes <= SLOT_BYTES);
        for (size_t i = 0; i < slot.header.n_tensors; i++)
            assert_true(slot.tensors[i].offset + slot.tensors[i].size_bytes <=
                        slot.header.used_bytes);
    }
}

static void test_alignment(void **state) {
    (void)state;
    assert_int_equal(leat_slot_align(0), 0);
    assert_int_equal(leat_slot_align(1), 64);
    assert_int_equal(leat_slot_align(64), 64);
    assert_int_equal(leat_slot_head_bytes(0), 64);
    assert_int_equal(leat_slot_head_bytes(3) % LEAT_SLOT_ALIGN, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_slots), cmocka_unit_test(test_too_short),
        cmocka_unit_test(test_lies),       cmocka_unit_test(test_noise),
        cmocka_unit_test(test_alignment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
