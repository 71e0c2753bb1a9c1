/* test_value.c: proto/value.c: trees of values, their copies, and that large maps stay quick. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/value.h"

static void assert_same(const struct leat_value *a, const struct leat_value *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->n_items, b->n_items);
    if (a->kind == LEAT_VALUE_SCALAR) {
        assert_string_equal(a->text, b->text);
        assert_ptr_not_equal(a->text, b->text);
        assert_int_equal(a->is_quoted, b->is_quoted);
    }
    for (size_t i = 0; i < a->n_items; i++) {
        assert_same(&a->items[i], &b->items[i]);
        if (a->kind == LEAT_VALUE_MAP) {
            assert_string_equal(a->keys[i].name, b->keys[i].name);
            assert_int_equal(a->keys[i].line, b->keys[i].line);
            assert_int_equal(a->keys[i].column, b->keys[i].column);
        }
    }
}

static void make_tree(struct leat_value *value, int depth, uint32_t *number) {
    char text[32];

    (void)snprintf(text, sizeof(text), "v%u", *number);
    if (depth == 0) {
        assert_int_equal(leat_value_set_text(value, text, *number % 2), 0);
    } else {
        for (int i = 0; i < 5; i++) {
            struct leat_value *item;

            if (depth % 2) {
                assert_int_equal(leat_value_append(value, &item), 0);
            } else {
                (void)snprintf(text, sizeof(text), "k%d", i);
                assert_int_equal(leat_value_insert(value, text, &item), 0);
                value->keys[value->n_items - 1].line = *number;
                value->keys[value->n_items - 1].column = *number + 1;
            }
            make_tree(item, depth - 1, number);
        }
    }
    value->line = ++*number;
    value->column = *number * 3;
}

/* Two trees that say the same are equal, wherever it stands; each change of one of them shows. */
static void test_equal(void **state) {
    struct leat_value a = {.kind = LEAT_VALUE_NULL}, b = {.kind = LEAT_VALUE_NULL}, *item;
    uint32_t n_a = 0, n_b = 0;

    (void)state;
    make_tree(&a, 3, &n_a);
    make_tree(&b, 3, &n_b);
    b.line += 7;
    b.items[0].column++;
    assert_true(leat_value_equal(&a, &b));
    b.items[4].items[0].items[0].is_quoted ^= true;
    assert_false(leat_value_equal(&a, &b));
    b.items[4].items[0].items[0].is_quoted ^= true;
    assert_true(leat_value_equal(&a, &b));
    assert_int_equal(leat_value_append(&b.items[4].items[1], &item), 0);
    assert_false(leat_value_equal(&a, &b));
    assert_false(leat_value_equal(&b, &a));
    leat_value_deinit(&a);
    leat_value_deinit(&b);
}

/* The order of keys says nothing, that of a list's items does. */
static void test_equal_in_order(void **state) {
    struct leat_value maps[2] = {{.kind = LEAT_VALUE_NULL}, {.kind = LEAT_VALUE_NULL}};
    struct leat_value lists[2] = {{.kind = LEAT_VALUE_NULL}, {.kind = LEAT_VALUE_NULL}};
    static const char *const words[] = {"x", "y"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        const char *word = words[i / 2 == 0 ? i % 2 : 1 - i % 2];
        struct leat_value *item;

        assert_int_equal(leat_value_insert(&maps[i / 2], word, &item), 0);
        assert_int_equal(leat_value_set_text(item, word, false), 0);
        assert_int_equal(leat_value_append(&lists[i / 2], &item), 0);
        assert_int_equal(leat_value_set_text(item, word, false), 0);
    }
    assert_true(leat_value_equal(&maps[0], &maps[1]));
    assert_false(leat_value_equal(&lists[0], &lists[1]));
    assert_false(leat_value_equal(&maps[0], &lists[0]));
    for (int i = 0; i < 2; i++) {
        leat_value_deinit(&maps[i]);
        leat_value_deinit(&lists[i]);
    }
}

static void test_copy(void **state) {
    struct leat_value value = {.kind = LEAT_VALUE_NULL}, copy;
    uint32_t number = 0;

    (void)state;
    make_tree(&value, 4, &number);
    assert_int_equal(leat_value_copy(&copy, &value), 0);
    assert_same(&value, &copy);
    leat_value_deinit(&copy);
    assert_int_equal(copy.kind, LEAT_VALUE_NULL);
    leat_value_deinit(&value);
    leat_value_deinit(&value);    /* twice is once */
    value.kind = LEAT_VALUE_LIST; /* an empty list stays one */
    assert_int_equal(leat_value_copy(&copy, &value), 0);
    assert_int_equal(copy.kind, LEAT_VALUE_LIST);
    leat_value_deinit(&copy);
}

static void test_keys(void **state) {
    struct leat_value map = {.kind = LEAT_VALUE_NULL}, scalar = {.kind = LEAT_VALUE_SCALAR};
    struct leat_value *item;

    (void)state;
    assert_null(leat_value_get(&map, "a"));
    assert_int_equal(leat_value_insert(&map, "a", &item), 0);
    assert_int_equal(leat_value_insert(&map, "", &item), 0);
    assert_int_equal(leat_value_insert(&map, "a", &item), -EEXIST);
    assert_int_equal(leat_value_insert(&map, "", &item), -EEXIST);
    assert_int_equal(map.n_items, 2);
    assert_ptr_equal(leat_value_get(&map, "a"), &map.items[0]);
    assert_ptr_equal(leat_value_get(&map, ""), &map.items[1]);
    assert_null(leat_value_get(&map, "b"));
    assert_null(leat_value_get(&scalar, "a"));
    leat_value_deinit(&map);
}

/* The largest map that a stranger can send. */
static void test_large_map(void **state) {
    struct leat_value map = {.kind = LEAT_VALUE_NULL}, copy, *item;
    char name[32];

    (void)state;
    for (int i = 0; i < LEAT_VALUE_MAX_NODES; i++) {
        (void)snprintf(name, sizeof(name), "key-%d", i);
        assert_int_equal(leat_value_insert(&map, name, &item), 0);
    }
    assert_int_equal(leat_value_copy(&copy, &map), 0);
    for (int i = 0; i < LEAT_VALUE_MAX_NODES; i += 7) {
        (void)snprintf(name, sizeof(name), "key-%d", i);
        assert_ptr_equal(leat_value_get(&copy, name), &copy.items[i]);
        assert_int_equal(leat_value_insert(&copy, name, &item), -EEXIST);
        (void)snprintf(name, sizeof(name), "KEY-%d", i);
        assert_null(leat_value_get(&copy, name));
    }
    leat_value_deinit(&map);
    leat_value_deinit(&copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),     cmocka_unit_test(test_equal_in_order),
        cmocka_unit_test(test_copy),      cmocka_unit_test(test_keys),
        cmocka_unit_test(test_large_map),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
