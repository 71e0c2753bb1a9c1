/* test_spec.c: proto/spec.c and spec_message.c: round trips, and messages of strangers: nothing of
 * them is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/leat.pb-c.h"
#include "proto/spec.h"
#include "tests/proto/shared_random.h"

static void fill(struct leat_value *value, uint64_t *random, int depth) {
    uint64_t form = random_below(random, depth > 0 ? 4 : 2);
    struct leat_value *item;
    char text[32];

    if (form == 1)
        assert_int_equal(
            leat_value_set_text(value, "a: \"b\"\n\t\xc3\xa9", random_next(random) % 2), 0);
    value->kind = (enum leat_value_kind)form;
    for (uint64_t i = 0, n = random_below(random, 4); form >= 2 && i < n; i++) {
        (void)snprintf(text, sizeof(text), "key %llu", (unsigned long long)i);
        assert_int_equal(
            form == 2 ? leat_value_append(value, &item) : leat_value_insert(value, text, &item), 0);
        fill(item, random, depth - 1);
        if (form == 3)
            value->keys[i].line = (uint32_t)random_next(random);
    }
    value->line = (uint32_t)random_below(random, 1000);
    value->column = (uint32_t)random_below(random, 1000);
}

static struct leat_spec *make(uint64_t *random, size_t n_stages) {
    struct leat_spec *spec;

    assert_int_equal(leat_spec_new("titanic", random_next(random) % 2 ? "a/b.yaml" : NULL, &spec),
                     0);
    spec->line = 3;
    spec->column = 9;
    spec->source.kind = strdup("csv");
    spec->source.line = 4;
    fill(&spec->source.args, random, 3);
    fill(&spec->options, random, 2);
    for (size_t i = 0; i < n_stages; i++) {
        struct leat_stage_spec *stage;

        assert_int_equal(leat_spec_add_stage(spec, i % 2 ? "shuffle" : "batch", &stage), 0);
        stage->line = (uint32_t)i;
        stage->column = 7;
        fill(&stage->args, random, 4);
    }
    return spec;
}

static void assert_same_value(const struct leat_value *a, const struct leat_value *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->n_items, b->n_items);
    if (a->kind == LEAT_VALUE_SCALAR) {
        assert_string_equal(a->text, b->text);
        assert_int_equal(a->is_quoted, b->is_quoted);
    }
    for (size_t i = 0; i < a->n_items; i++) {
        assert_same_value(&a->items[i], &b->items[i]);
        if (a->kind == LEAT_VALUE_MAP) {
            assert_string_equal(a->keys[i].name, b->keys[i].name);
            assert_int_equal(a->keys[i].line, b->keys[i].line);
        }
    }
}

static void assert_same_stage(const struct leat_stage_spec *a, const struct leat_stage_spec *b) {
    assert_string_equal(a->kind, b->kind);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->column, b->column);
    assert_same_value(&a->args, &b->args);
}

static void assert_same(const struct leat_spec *a, const struct leat_spec *b) {
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->file != NULL, b->file != NULL);
    if (a->file)
        assert_string_equal(a->file, b->file);
    assert_int_equal(a->line, b->line);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->n_stages, b->n_stages);
    assert_same_stage(&a->source, &b->source);
    assert_same_value(&a->options, &b->options);
    for (size_t i = 0; i < a->n_stages; i++)
        assert_same_stage(&a->stages[i], &b->stages[i]);
}

/* By bytes, as it goes over the wire. */
static struct leat_spec *over_the_wire(const struct leat_spec *spec) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec *back = NULL;
    Leat__StreamSpec *message, *received;
    uint8_t *bytes;
    size_t n;

    assert_int_equal(leat_spec_pack(spec, &message), 0);
    n = leat__stream_spec__get_packed_size(message);
    bytes = malloc(n);
    assert_int_equal(leat__stream_spec__pack(message, bytes), n);
    leat_spec_message_free(message);
    received = leat__stream_spec__unpack(NULL, n, bytes);
    assert_non_null(received);
    free(bytes);
    assert_int_equal(leat_spec_unpack(received, &back, &err), 0);
    leat_spec_message_free(received);
    return back;
}

static void test_round_trip(void **state) {
    uint64_t random = 5;

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct leat_spec *spec = make(&random, (size_t)random_below(&random, 20));
        struct leat_spec *back = over_the_wire(spec), *copy;

        assert_same(spec, back);
        assert_int_equal(leat_spec_copy(back, &copy), 0);
        leat_spec_free(back);
        assert_same(spec, copy);
        leat_spec_free(copy);
        leat_spec_free(spec);
    }
    leat_spec_free(NULL);
    leat_spec_message_free(NULL);
}

static struct leat_spec *make_same(void) {
    uint64_t random = 9;

    return make(&random, 3);
}

/* Names and places do not count; all that makes a batch does. */
static void test_equal(void **state) {
    struct leat_spec *spec = make_same(), *other;
    struct leat_stage_spec *stage;
    struct leat_value *item;

    (void)state;
    for (int change = 0; change < 7; change++) {
        other = make_same();
        if (change == 1)
            other->line = other->source.column = other->stages[0].line = 77;
        else if (change == 2)
            strcpy(other->stages[1].kind, "SHUFFLE");
        else if (change == 3)
            strcpy(other->source.kind, "CSV");
        else if (change == 4)
            assert_int_equal(leat_spec_add_stage(other, "batch", &stage), 0);
        else if (change >= 5) {
            struct leat_value *value = change == 5 ? &other->options : &other->stages[2].args;

            leat_value_deinit(value);
            memset(value, 0, sizeof(*value));
            value->kind = LEAT_VALUE_MAP;
            assert_int_equal(leat_value_insert(value, "another key", &item), 0);
        }
        assert_int_equal(leat_spec_equal(spec, other), change < 2);
        assert_int_equal(leat_spec_equal(other, spec), change < 2);
        leat_spec_free(other);
    }
    leat_spec_free(spec);
}

static void test_too_many_stages(void **state) {
    struct leat_stage_spec *stage;
    struct leat_spec *spec;

    (void)state;
    assert_int_equal(leat_spec_new("x", NULL, &spec), 0);
    for (int i = 0; i < LEAT_SPEC_MAX_STAGES; i++)
        assert_int_equal(leat_spec_add_stage(spec, "take", &stage), 0);
    assert_int_equal(leat_spec_add_stage(spec, "take", &stage), -E2BIG);
    leat_spec_free(spec);
}

/* ---- messages of strangers ---- */

static char csv[] = "csv", name_a[] = "a";

struct hostile {
    Leat__StreamSpec spec;
    Leat__StageSpec source;
    Leat__Value args;
};

static void hostile_init(struct hostile *hostile) {
    leat__stream_spec__init(&hostile->spec);
    leat__stage_spec__init(&hostile->source);
    leat__value__init(&hostile->args);
    hostile->source.kind = csv;
    hostile->source.args = &hostile->args;
    hostile->spec.source = &hostile->source;
}

static void assert_refused(const struct hostile *hostile, const char *message) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec *spec = NULL;

    assert_true(leat_spec_unpack(&hostile->spec, &spec, &err) < 0);
    assert_null(spec);
    assert_non_null(strstr(err.message, message));
}

static void test_without_source(void **state) {
    struct hostile hostile;

    (void)state;
    hostile_init(&hostile);
    hostile.spec.source = NULL;
    assert_refused(&hostile, "needs a source");
}

static void test_without_args(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct hostile hostile;
    struct leat_spec *spec;

    (void)state;
    hostile_init(&hostile);
    hostile.source.args = NULL;
    assert_int_equal(leat_spec_unpack(&hostile.spec, &spec, &err), 0);
    assert_int_equal(spec->source.args.kind, LEAT_VALUE_NULL);
    assert_null(spec->file);
    leat_spec_free(spec);
}

static void test_unknown_kind_of_value(void **state) {
    struct hostile hostile;

    (void)state;
    hostile_init(&hostile);
    hostile.args.kind = 4;
    assert_refused(&hostile, "unknown kind 4");
    hostile.args.kind = UINT32_MAX;
    assert_refused(&hostile, "unknown kind 4294967295");
}

static void test_keys_without_values(void **state) {
    Leat__Key key, *keys[] = {&key, &key};
    Leat__Value item, *items[] = {&item, &item};
    struct hostile hostile;

    (void)state;
    leat__key__init(&key);
    leat__value__init(&item);
    key.name = name_a;
    hostile_init(&hostile);
    hostile.args.kind = LEAT_VALUE_MAP;
    hostile.args.keys = keys;
    hostile.args.items = items;
    hostile.args.n_keys = 2;
    hostile.args.n_items = 1;
    assert_refused(&hostile, "2 keys but 1 values");
    hostile.args.n_keys = 0;
    assert_refused(&hostile, "0 keys but 1 values");
    hostile.args.n_keys = hostile.args.n_items = 2;
    assert_refused(&hostile, "the key a occurs twice");
}

static void test_too_deep(void **state) {
    enum { N = LEAT_VALUE_MAX_DEPTH + 8 };
    Leat__Value values[N], *pointers[N];
    struct hostile hostile;

    (void)state;
    hostile_init(&hostile);
    for (int i = 0; i < N; i++) {
        leat__value__init(&values[i]);
        values[i].kind = LEAT_VALUE_LIST;
        pointers[i] = &values[i];
        if (i > 0) {
            values[i - 1].items = &pointers[i];
            values[i - 1].n_items = 1;
        }
    }
    hostile.source.args = &values[0];
    assert_refused(&hostile, "deeper than");
}

static void test_too_many_values(void **state) {
    Leat__Value item, **items = malloc((LEAT_VALUE_MAX_NODES + 1) * sizeof(*items));
    struct hostile hostile;

    (void)state;
    leat__value__init(&item);
    for (size_t i = 0; i <= LEAT_VALUE_MAX_NODES; i++)
        items[i] = &item;
    hostile_init(&hostile);
    hostile.args.kind = LEAT_VALUE_LIST;
    hostile.args.items = items;
    hostile.args.n_items = LEAT_VALUE_MAX_NODES + 1;
    assert_refused(&hostile, "more than 65536 values");
    free(items);
}

static void test_too_many_stages_on_the_wire(void **state) {
    Leat__StageSpec stage, *stages[LEAT_SPEC_MAX_STAGES + 1];
    struct hostile hostile;

    (void)state;
    leat__stage_spec__init(&stage);
    for (size_t i = 0; i <= LEAT_SPEC_MAX_STAGES; i++)
        stages[i] = &stage;
    hostile_init(&hostile);
    hostile.spec.stages = stages;
    hostile.spec.n_stages = LEAT_SPEC_MAX_STAGES + 1;
    assert_refused(&hostile, "257 stages, but at most 256 are allowed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_too_many_stages),
        cmocka_unit_test(test_without_source),
        cmocka_unit_test(test_without_args),
        cmocka_unit_test(test_unknown_kind_of_value),
        cmocka_unit_test(test_keys_without_values),
        cmocka_unit_test(test_too_deep),
        cmocka_unit_test(test_too_many_values),
        cmocka_unit_test(test_too_many_stages_on_the_wire),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
