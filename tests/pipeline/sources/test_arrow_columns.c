/* test_arrow_columns.c: pipeline/sources/arrow/columns.c: what becomes of the columns of a schema,
 * by their types, their dictionaries, and the paths that name them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/sources/arrow/columns.h"

/* Fields in depth-first order. */
#define OF(count, all) .n_children = (count), .n_fields = (all)
#define INT(title)                                                                                 \
    {                                                                                              \
        .name = (title), .type = "int32", .kind = LEAT_ARROW_NUMBER, .number = LEAT_ARROW_INT32,   \
        OF(0, 1)                                                                                   \
    }
#define TEXT(title)                                                                                \
    { .name = (title), .type = "utf8", .kind = LEAT_ARROW_TEXT, .offset_bytes = 4, OF(0, 1) }
#define OTHER(title)                                                                               \
    { .name = (title), .type = "duration", .kind = LEAT_ARROW_OTHER, OF(0, 1) }
#define STRUCT(title, count, all)                                                                  \
    { .name = (title), .type = "struct", .kind = LEAT_ARROW_STRUCT, OF(count, all) }
#define LIST(title, all)                                                                           \
    { .name = (title), .type = "list", .kind = LEAT_ARROW_LIST, .offset_bytes = 4, OF(1, all) }
/* With a dictionary of that number. */
#define CODED(id, ...)                                                                             \
    { .has_dictionary = true, .dictionary = (id), .index = LEAT_ARROW_INT8, __VA_ARGS__ }
#define CODED_TEXT(title, id, bytes)                                                               \
    CODED(id, .name = (title), .type = "utf8", .kind = LEAT_ARROW_TEXT, .offset_bytes = (bytes),   \
          OF(0, 1))
#define CODED_LIST(title, id, all)                                                                 \
    CODED(id, .name = (title), .type = "list", .kind = LEAT_ARROW_LIST, .offset_bytes = 4,         \
          OF(1, all))

/* The columns as "name cell:type; ...", or the error behind "!". */
static char *see(const struct leat_arrow_field *fields, uint32_t n_fields,
                 const struct leat_arrow_selection *selections, size_t n_selections) {
    static const char *const cells[] = {"none", "number", "text", "list", "json"};
    const struct leat_arrow_schema schema = {.fields = (struct leat_arrow_field *)(uintptr_t)fields,
                                             .n_fields = n_fields};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_text text = {.data = NULL};
    struct leat_arrow_columns columns;

    if (leat_arrow_columns_init(&columns, &schema, selections, n_selections, &err) < 0)
        leat_text_add(&text, "!%s", err.message);
    else
        for (uint32_t i = 0; i < columns.layout.n_slots; i++)
            leat_text_add(&text, "%s%s %s:%s", i ? "; " : "", columns.layout.slots[i].name,
                          cells[columns.layout.slots[i].cell], columns.layout.slots[i].type);
    leat_arrow_columns_deinit(&columns);
    return text.data ? text.data : strdup("");
}

#define FIELDS_MAX 8

static void all_columns(void **state) {
    static const struct {
        struct leat_arrow_field fields[FIELDS_MAX];
        const char *expected;
    } rows[] = {
        {{INT("a"), TEXT("b"), OTHER("c")}, "a number:int32; b text:utf8; c none:duration"},
        {{STRUCT("s", 2, 4), INT("a"), STRUCT("t", 1, 2), TEXT("b"), INT("z")},
         "s.a number:int32; s.t.b text:utf8; z number:int32"},
        {{STRUCT("", 1, 2), INT("a")}, "a number:int32"},
        {{STRUCT("s", 1, 2), INT("")}, "s. number:int32"},
        {{STRUCT("s", 0, 1)}, "s json:struct"},
        {{LIST("l", 2), INT("item")}, "l list:list<int32>"},
        {{LIST("l", 2), TEXT("item")}, "l json:list<utf8>"},
        {{LIST("l", 3), LIST("m", 2), INT("item")}, "l json:list<list<int32>>"},
        {{LIST("l", 4), STRUCT("m", 2, 3), INT("x"), TEXT("y")},
         "l json:list<struct<x: int32, y: utf8>>"},
        {{LIST("l", 3), STRUCT("m", 1, 2), OTHER("x")}, "l none:list<struct<x: duration>>"},
        /* dictionaries */
        {{CODED_TEXT("a", 1, 4), CODED_TEXT("b", 2, 8)},
         "a text:dictionary of utf8; b text:dictionary of utf8"},
        {{CODED_LIST("l", 1, 2), INT("item")}, "l json:dictionary of list<int32>"},
        {{LIST("l", 2), CODED(1, .name = "item", .type = "int32", .kind = LEAT_ARROW_NUMBER,
                              .number = LEAT_ARROW_INT32, OF(0, 1))},
         "l json:list<dictionary of int32>"},
        {{LIST("l", 3), CODED_LIST("m", 1, 2), INT("x")}, "l json:list<dictionary of list<int32>>"},
        {{CODED(1, .name = "s", .type = "struct", .kind = LEAT_ARROW_STRUCT, OF(1, 2)), INT("x")},
         "s json:dictionary of struct<x: int32>"},
        {{CODED_LIST("l", 1, 2), CODED_TEXT("item", 2, 4)},
         "l none:dictionary of list<dictionary of utf8>"},
        {{LIST("l", 3), CODED_LIST("m", 1, 2), CODED_TEXT("item", 2, 4)},
         "l none:list<dictionary of list<dictionary of utf8>>"},
        /* a dictionary of two columns, whose types must be the same */
        {{CODED_TEXT("a", 1, 4), CODED_TEXT("b", 1, 4)},
         "a text:dictionary of utf8; b text:dictionary of utf8"},
        {{CODED_LIST("a", 1, 2), INT("x"), CODED_LIST("b", 1, 2), INT("y")},
         "a json:dictionary of list<int32>; b json:dictionary of list<int32>"},
#define DIFFER "!column \"b\" and another column use the same dictionary, but their types differ"
        {{CODED_TEXT("a", 1, 4), CODED_TEXT("b", 1, 8)}, DIFFER},
        {{CODED_TEXT("a", 1, 4), CODED_LIST("b", 1, 2), INT("x")}, DIFFER},
        {{CODED_LIST("a", 1, 2), INT("x"), CODED_TEXT("b", 1, 4)}, DIFFER},
        {{CODED_LIST("a", 1, 2), INT("x"), CODED_LIST("b", 1, 2), TEXT("x")}, DIFFER},
        {{CODED_TEXT("a", 1, 4), CODED(1, .name = "b", .type = "bool", .kind = LEAT_ARROW_BOOL,
                                       .offset_bytes = 4, OF(0, 1))},
         DIFFER},
        {{CODED(1, .name = "a", .type = "x", .kind = LEAT_ARROW_NUMBER, .number = LEAT_ARROW_INT8,
                OF(0, 1)),
          CODED(1, .name = "b", .type = "x", .kind = LEAT_ARROW_NUMBER, .number = LEAT_ARROW_UINT8,
                OF(0, 1))},
         DIFFER},
        {{CODED(1, .name = "a", .type = "x", .kind = LEAT_ARROW_FIXED_LIST, .n_items = 2, OF(1, 2)),
          INT("x"),
          CODED(1, .name = "b", .type = "x", .kind = LEAT_ARROW_FIXED_LIST, .n_items = 3, OF(1, 2)),
          INT("x")},
         DIFFER},
        {{CODED(1, .name = "a", .type = "x", .kind = LEAT_ARROW_STRUCT, OF(2, 3)), INT("x"),
          INT("y"), CODED(1, .name = "b", .type = "x", .kind = LEAT_ARROW_STRUCT, OF(1, 3)),
          LIST("x", 2), INT("y")},
         DIFFER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint32_t n = 0;
        char *text;

        while (n < FIELDS_MAX && rows[i].fields[n].name)
            n++;
        text = see(rows[i].fields, n, NULL, 0);
        if (strcmp(text, rows[i].expected) != 0)
            fail_msg("%zu: %s, not %s", i, text, rows[i].expected);
        free(text);
    }
}

/* \. and \\ stand for a dot and a backslash in a name; other dots go into structs. */
static void paths(void **state) {
    static const struct leat_arrow_field fields[] = {
        INT("a"),
        TEXT("a.b"),
        STRUCT("a", 1, 2),
        OTHER("b"),
        INT("c\\d"),
        STRUCT("x.y", 1, 2),
        TEXT("z\\.w"),
        LIST("l", 3),
        STRUCT("item", 1, 2),
        INT("v"),
        CODED(1, .name = "s", .type = "struct", .kind = LEAT_ARROW_STRUCT, OF(1, 2)),
        INT("x"),
        INT("ab"),
        TEXT(""),
        STRUCT("u", 1, 2),
        INT(""),
    };
    static const struct {
        const char *path;
        bool is_json;
        const char *expected;
    } rows[] = {
        {"a", false, "q number:int32"},
        {"a", true, "q json:int32"},
        {"a\\.b", true, "q text:utf8"},
        {"a.b", false, "q none:duration"}, /* of the struct */
        {"c\\d", false, "q number:int32"},
        {"c\\\\d", false, "q number:int32"},
        {"x\\.y.z\\\\\\.w", false, "q text:utf8"},
        {"x\\.y", false, "q json:struct<z\\.w: utf8>"},
        {"l", true, "q json:list<struct<v: int32>>"},
        {"s", false, "q json:dictionary of struct<x: int32>"},
        {"ab", false, "q number:int32"},
        {"u.", false, "q number:int32"},
        {"u", false, "q json:struct<: int32>"},
        {"", false, "q text:utf8"},
#define NO(path)                                                                                   \
    "!has no column \"" path "\": it has \"a\", \"a.b\", \"a\", \"c\\d\", \"x.y\", \"l\", \"s\", " \
    "\"ab\", \"\", \"u\""
        {"x.y", false, NO("x.y")},
        {"x\\.y.z.w", false, NO("x\\.y.z.w")},
        {"l.v", false, NO("l.v")},
        {"l.item", false, NO("l.item")},
        {"s.x", false, NO("s.x")}, /* in a dictionary */
        {"a\\", false, NO("a\\")},
        {"a.", false, NO("a.")},
        {"b.", false, NO("b.")},
        {"A", false, NO("A")},
        {"abc", false, NO("abc")},
        {"a.c", false, NO("a.c")},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct leat_arrow_selection selection = {
            .name = "q", .path = rows[i].path, .is_json = rows[i].is_json};
        char *text = see(fields, sizeof(fields) / sizeof(*fields), &selection, 1);

        if (strcmp(text, rows[i].expected) != 0)
            fail_msg("%s: %s, not %s", rows[i].path, text, rows[i].expected);
        free(text);
    }
}

/* 4096 columns are read at once, and the names in a message are no more than can be read. */
static void many_columns(void **state) {
    const struct leat_arrow_selection none = {.name = "q", .path = "q"};
    struct leat_arrow_field *fields = calloc(LEAT_ARROW_COLUMNS_MAX + 1, sizeof(*fields));
    char *text;

    (void)state;
    assert_non_null(fields);
    for (size_t i = 0; i <= LEAT_ARROW_COLUMNS_MAX; i++)
        fields[i] = (struct leat_arrow_field)INT("name");
    text = see(fields, LEAT_ARROW_COLUMNS_MAX, NULL, 0);
    assert_int_equal(strncmp(text, "name number:int32; name", 23), 0);
    free(text);
    text = see(fields, LEAT_ARROW_COLUMNS_MAX + 1, NULL, 0);
    assert_string_equal(text,
                        "!has more than 4096 columns: in `fields`, list the columns that you want");
    free(text);
    text = see(fields, LEAT_ARROW_COLUMNS_MAX, &none, 1);
    assert_in_range(strlen(text), 200, 300);
    free(text);
    free(fields);
    text = see(NULL, 0, &none, 1);
    assert_string_equal(text, "!has no column \"q\": it has none");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_columns),
        cmocka_unit_test(paths),
        cmocka_unit_test(many_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
