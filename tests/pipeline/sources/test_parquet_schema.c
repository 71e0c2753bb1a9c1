/* test_parquet_schema.c: pipeline/sources/parquet/schema.c: what each kind of column becomes, also
 * those that pyarrow does not write: the older ConvertedType, the older forms of lists, meanings
 * that do not fit their type, and schemas that contradict themselves. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pipeline/sources/parquet/schema.h"
#include "proto/base/error.h"
#include "proto/base/text.h"
#include "tests/pipeline/shared_compress.h"

/* ---- schemas in Thrift ---- */

static void add_byte(struct blob *blob, int byte) {
    uint8_t bytes[1] = {(uint8_t)byte};

    blob_add(blob, bytes, 1);
}

/* An i32 of a struct; *last is the field before it. */
static void add_int(struct blob *blob, int *last, int id, long value) {
    unsigned long zigzag = value < 0 ? ~((unsigned long)value << 1) : (unsigned long)value << 1;

    add_byte(blob, (id - *last) << 4 | LEAT_THRIFT_I32);
    for (*last = id; zigzag > 127; zigzag >>= 7)
        add_byte(blob, (int)(zigzag & 127) | 128);
    add_byte(blob, (int)zigzag);
}

static void add_bool(struct blob *blob, int *last, int id, bool is) {
    add_byte(blob, (id - *last) << 4 | (is ? LEAT_THRIFT_TRUE : LEAT_THRIFT_FALSE));
    *last = id;
}

/* LogicalType `kind`, whose struct has the fields a and b of that kind. */
static void add_logical(struct blob *blob, int last, int kind, int a, int b) {
    int inner = 0;

    add_byte(blob, (10 - last) << 4 | LEAT_THRIFT_STRUCT);
    add_byte(blob, LEAT_THRIFT_STRUCT); /* a long field number */
    add_byte(blob, 2 * kind);
    if (kind == 5) {
        add_int(blob, &inner, 1, a);
        add_int(blob, &inner, 2, b);
    } else if (kind == 7 || kind == 8) {
        add_bool(blob, &inner, 1, a);
        add_byte(blob, 1 << 4 | LEAT_THRIFT_STRUCT);
        if (b > 0) {
            add_byte(blob, b << 4 | LEAT_THRIFT_STRUCT);
            add_byte(blob, 0);
        }
        add_byte(blob, 0);
    } else if (kind == 10) {
        add_int(blob, &inner, 1, a);
        add_bool(blob, &inner, 2, b);
        add_int(blob, &inner, 9, 1); /* a later version may have more */
    }
    add_byte(blob, 0);
    add_byte(blob, 0);
}

/* One element: its name with ? (optional) or * (repeated), and words of a letter and numbers: t a
 * type, n its bytes, g children, c a ConvertedType, s a scale, p a precision, L a LogicalType. */
static void add_element(struct blob *blob, const char *text) {
    static const struct {
        char letter;
        int id;
    } words[] = {{'t', 1}, {'n', 2}, {'r', 3}, {'N', 4}, {'g', 5}, {'c', 6}, {'s', 7}, {'p', 8}};
    size_t n_name = strcspn(text, "?* ;");
    int last = 0;

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        char word[3] = {' ', words[i].letter, '\0'};
        char element[128];
        const char *at;

        (void)snprintf(element, sizeof(element), "%.*s", (int)strcspn(text, ";"), text);
        at = strstr(element, word);
        if (words[i].letter == 'r' && strchr("?*", text[n_name]) && text[n_name]) {
            add_int(blob, &last, 3, text[n_name] == '?' ? 1 : 2);
        } else if (words[i].letter == 'N') {
            add_byte(blob, (4 - last) << 4 | LEAT_THRIFT_BINARY);
            add_byte(blob, (int)n_name);
            blob_add(blob, text, n_name);
            last = 4;
        } else if (at) {
            add_int(blob, &last, words[i].id, strtol(at + 2, NULL, 10));
        }
        at = strstr(element, " L");
        if (i + 1 == sizeof(words) / sizeof(*words) && at) {
            int kind = 0, a = 0, b = 0;

            (void)sscanf(at, " L%d,%d,%d", &kind, &a, &b);
            add_logical(blob, last, kind, a, b);
        }
    }
    add_byte(blob, 0);
}

/* The list of a root and the elements, which are separated by semicolons. */
static struct blob make_schema(const char *text) {
    struct blob list = {.data = NULL}, items = {.data = NULL};
    int n = 1;

    add_element(&items, "root g1");
    for (const char *at = text; *at; n++) {
        add_element(&items, at);
        at += strcspn(at, ";");
        at += strspn(at, "; ");
    }
    add_byte(&list, 15 << 4 | LEAT_THRIFT_STRUCT);
    add_byte(&list, n);
    blob_add(&list, items.data, items.n_bytes);
    blob_free(&items);
    return list;
}

static int parse(const struct blob *list, struct leat_parquet_schema *ret_schema,
                 struct leat_error *err) {
    struct leat_thrift thrift = {.at = list->data, .end = list->data + list->n_bytes};
    struct leat_thrift_field field = {.id = 2, .type = LEAT_THRIFT_LIST};

    return leat_parquet_schema_parse(&thrift, &field, ret_schema, err);
}

/* A field as "name type", then what its values are: their number if it has another name, digits,
 * Z, "?" if leat does not read it; levels in brackets; children in parentheses. */
static void print(const struct leat_parquet_schema *schema, uint32_t index,
                  struct leat_text *text) {
    const struct leat_arrow_field *field = &schema->arrow.fields[index];
    const struct leat_parquet_field *place = &schema->fields[index];
    const char *number = leat_arrow_number_name(field->number);
    uint32_t child = index + 1;

    leat_text_add(text, "%s %s", field->name, field->type);
    if (field->n_children == 0) {
        if (field->kind == LEAT_ARROW_NUMBER && strcmp(number, field->type) != 0)
            leat_text_add(text, " %s", number);
        if (place->leaf.digits)
            leat_text_add(text, " %u", place->leaf.digits);
        leat_text_add(text, "%s%s", place->leaf.is_utc ? " Z" : "",
                      field->kind == LEAT_ARROW_OTHER ? " ?" : "");
        assert_int_equal(place->leaf.max_definition, place->definition);
    }
    if (place->definition || place->repetition)
        leat_text_add(text, " [%u %u]", place->definition, place->repetition);
    for (uint32_t i = 0; i < field->n_children; i++) {
        leat_text_add(text, "%s", i ? ", " : " (");
        print(schema, child, text);
        child += schema->arrow.fields[child].n_fields;
    }
    leat_text_add(text, "%s", field->n_children ? ")" : "");
    assert_int_equal(child - index, field->n_fields);
}

static char *text_of(const struct leat_parquet_schema *schema) {
    struct leat_text text = {.data = NULL};

    for (uint32_t i = 0; i < schema->arrow.n_fields; i += schema->arrow.fields[i].n_fields) {
        leat_text_add(&text, "%s", i ? "; " : "");
        print(schema, i, &text);
    }
    return text.data;
}

static void columns(void **state) {
    static const char *const rows[][2] = {
        /* types alone: BOOLEAN INT32 INT64 INT96 FLOAT DOUBLE BYTE_ARRAY FIXED_LEN_BYTE_ARRAY */
        {"b t0; i t1; l t2; t t3; f t4; d t5", "b bool; i int32; l int64; t timestamp 9; "
                                               "f float32; d float64"},
        {"s t6; x t7 n5; y? t6", "s binary ?; x binary ?; y binary ? [1 0]"},
        /* ConvertedType */
        {"u t6 c0; e t6 c4; j t6 c19; f t7 n4 c0", "u utf8; e utf8; j utf8; f utf8"},
        {"u t1 c0; j t0 c19; e t2 c4", "u int32; j bool; e int64"},
        {"a t1 c11; b t1 c12; c t1 c13; d t2 c14", "a uint8; b uint16; c uint32; d uint64"},
        {"a t1 c15; b t1 c16; c t1 c17; d t2 c18", "a int8; b int16; c int32; d int64"},
        {"a t2 c11; b t2 c17; c t1 c14; d t5 c18", "a int64; b int64; c int32; d float64"},
        {"d t1 c6; e t2 c6; f t4 c6", "d date; e int64; f float32"},
        {"a t1 c7; b t2 c8; c t2 c9; d t2 c10", "a time 3; b time 6; c timestamp 3 Z; "
                                                "d timestamp 6 Z"},
        {"a t2 c7; b t1 c8; c t1 c9; d t5 c10", "a int64; b int32; c int32; d float64"},
        {"d t1 c5 s2 p9; e t2 c5 p18; f t2 c5 p19; g t6 c5 s1 p5; h t7 n16 c5 s3 p38",
         "d decimal float64 2; e decimal int64; f decimal float64; g decimal float64 1; "
         "h decimal float64 3"},
        {"d t1 c5 s-1 p9; e t1 c5 s3 p2; f t1 c5; g t2 c5 p77; h t5 c5 p3; i t7 n33 c5 p3",
         "d int32; e int32; f int32; g int64; h float64; i binary ?"},
        {"b t6 c20; i t7 n12 c21; z t1 c22; y t6 c99", "b of unknown kind ?; i of unknown kind ?; "
                                                       "z of unknown kind ?; y of unknown kind ?"},
        /* LogicalType; it goes before ConvertedType */
        {"s t6 L1; e t6 L4; j t6 L12; n t1 L11", "s utf8; e utf8; j utf8; n null"},
        {"s t6 L1 c5; i t1 c6 L10,16,1", "s utf8; i int16"},
        {"u t7 n16 L14; v t7 n15 L14; w t1 L14", "u uuid; v binary ?; w int32"},
        {"h t7 n2 L15; i t7 n4 L15; f t4 L15; b t0 L15; n t1 L15; s t6 L15",
         "h float16; i binary ?; f float32; b bool; n int32; s binary ?"},
        {"d t1 L6; e t7 n4 L6; f t1 L5,2,4; g t1 L5,5,4", "d date; e binary ?; "
                                                          "f decimal float64 2; g int32"},
        {"a t1 L10,8,1; b t1 L10,8,0; c t1 L10,64,1; d t2 L10,64,0; e t1 L10,7,1",
         "a int8; b uint8; c int32; d uint64; e int32"},
        {"a t1 L7,1,1; b t2 L7,0,2; c t2 L7,0,3; d t2 L7,0,1; e t1 L7,0,2",
         "a time 3; b time 6; c time 9; d int64; e int32"},
        {"a t2 L8,1,1; b t2 L8,0,2; c t2 L8,1,3; d t2 L8,1,0; e t2 L8,1,4; f t1 L8,0,1",
         "a timestamp 3 Z; b timestamp 6; c timestamp 9 Z; d int64; e int64; f int32"},
        {"v t6 L13; w t6 L16; x t1 L60", "v binary ?; w binary ?; x int32"},
        /* groups */
        {"s? g2; a t1; b? t6 c0; z t5", "s struct [1 0] (a int32 [1 0], b utf8 [2 0]); z float64"},
        {"s* g2; a t1; b? t1", "s list (s struct [1 1] (a int32 [1 1], b int32 [2 1]))"},
        {"a* t1", "a list (a int32 [1 1])"},
        /* lists: three levels; a leaf; a group of two; "array"; NAME_tuple; not NAME_tuple */
        {"l? g1 c3; list* g1; element? t1", "l list [1 0] (element int32 [3 1])"},
        {"l? g1 L3; list* g1; element t1", "l list [1 0] (element int32 [2 1])"},
        {"l? g1 c3; element* t1", "l list [1 0] (element int32 [2 1])"},
        {"l g1 c3; element* g2; a t1; b t1",
         "l list (element struct [1 1] (a int32 [1 1], b int32 [1 1]))"},
        {"l g1 c3; array* g1; a t1", "l list (array struct [1 1] (a int32 [1 1]))"},
        {"l g1 c3; l_tuple* g1; a t1", "l list (l_tuple struct [1 1] (a int32 [1 1]))"},
        {"l g1 c3; m_tuple* g1; a t1", "l list (a int32 [1 1])"},
        {"l g1 c3; l_tupel* g1; a t1", "l list (a int32 [1 1])"},
        {"l g1 c3; arrax* g1; a t1", "l list (a int32 [1 1])"},
        {"l g1 c3; list* g1; e? g1 c3; list* g1; e? t1", "l list (e list [2 1] (e int32 [4 2]))"},
        {"l g1 c3; list* g1; x* t1", "l list (list struct [1 1] (x list [1 1] (x int32 [2 2])))"},
        {"l g1 c3; list* g1 c3; x* t1", "l list (list list [1 1] (x int32 [2 2]))"},
        {"l g1 c3; x_tuple* g1; a t1", "l list (a int32 [1 1])"},
        {"l g1 c3; l_table* g1; a t1", "l list (a int32 [1 1])"},
        {"l g1 c3; a? t1", "l struct (a int32 [1 0])"}, /* nothing in it is repeated */
        {"l g2 c3; a* t1; b t1", "l struct (a list (a int32 [1 1]), b int32)"},
        /* maps; a map without entries is a struct */
        {"m? g1 c1; key_value* g2; key t6 c0; value? t1",
         "m map [1 0] (key_value struct [2 1] (key utf8 [2 1], value int32 [3 1]))"},
        {"m? g1 L2; map* g2; k t6 c0; v t1",
         "m map [1 0] (map struct [2 1] (k utf8 [2 1], v int32 [2 1]))"},
        {"m? g1 c2; map* g1; k t6 c0", "m map [1 0] (map struct [2 1] (k utf8 [2 1]))"},
        {"m g1 c1; e* t1", "m struct (e list (e int32 [1 1]))"},
        {"m g1 c1; e? g1; k t1", "m struct (e struct [1 0] (k int32 [1 0]))"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct blob list = make_schema(rows[i][0]);
        struct leat_parquet_schema schema;
        char *text;

        if (parse(&list, &schema, &err) < 0)
            fail_msg("%s: %s", rows[i][0], err.message);
        text = text_of(&schema);
        assert_string_equal(text, rows[i][1]);
        free(text);
        leat_parquet_schema_deinit(&schema);
        blob_free(&list);
    }
}

static void check_fault(const struct blob *list, int code, const char *expected) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_parquet_schema schema;

    assert_int_equal(parse(list, &schema, &err), code);
    assert_string_equal(err.message, expected);
    assert_null(schema.fields);
}

#define DAMAGED "the schema is damaged: "

static void faults(void **state) {
    static const char *const rows[][2] = {
        {"", DAMAGED "it has no columns"},
        {"s g3; a t1", DAMAGED "it has fewer fields than it says"},
        {"l g1 c3", DAMAGED "it has fewer fields than it says"},
        {"m g1 c1; k* g1", DAMAGED "it has fewer fields than it says"},
        {"a", DAMAGED "a field has neither a type nor inner fields"},
        {"a g0", DAMAGED "a field has neither a type nor inner fields"},
        {"a g-1", DAMAGED "a field has neither a type nor inner fields"},
        {"a t8", DAMAGED "a column has an unknown type"},
        {"a t-1", DAMAGED "a column has an unknown type"},
        {"a t7", DAMAGED "the values of a column have an impossible length"},
        {"a t7 n-1", DAMAGED "the values of a column have an impossible length"},
        {"a t7 n1048577", DAMAGED "the values of a column have an impossible length"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct blob list = make_schema(rows[i][0]);

        check_fault(&list, -EBADMSG, rows[i][1]);
        blob_free(&list);
    }
}

/* Each byte that a schema lacks is missed; a name has no NUL byte; a unit is a struct. */
static void broken_bytes(void **state) {
    struct blob list = make_schema("s? g1; a t2 L8,1,2"), all = list;

    (void)state;
    for (all.n_bytes--; all.n_bytes > 2; all.n_bytes--)
        check_fault(&all, -EBADMSG, DAMAGED "it ends too early, or is not valid Thrift");
    list.data[list.n_bytes - 7] = 1 << 4 | LEAT_THRIFT_I32; /* id 2 of the timestamp */
    check_fault(&list, -EBADMSG, DAMAGED "it ends too early, or is not valid Thrift");
    blob_free(&list);
    list = make_schema("a_b t1");
    *(uint8_t *)memchr(list.data, '_', list.n_bytes) = '\0';
    check_fault(&list, -EBADMSG, DAMAGED "the name of a field has a NUL byte");
    blob_free(&list);
}

/* More fields than leat reads, in a list as long; and groups in groups. */
static void too_many(void **state) {
    struct blob list = {.data = NULL};
    char text[512] = "";

    (void)state;
    blob_add(&list, (uint8_t[]){15 << 4 | LEAT_THRIFT_STRUCT, 0x81, 0x80, 0x04}, 4); /* 65537 */
    for (int i = 0; i <= LEAT_ARROW_FIELDS_MAX; i++)
        add_byte(&list, 0);
    check_fault(&list, -EINVAL, "the schema has more than 65536 fields");
    blob_free(&list);
    for (int i = 0; i < LEAT_ARROW_DEPTH_MAX; i++)
        strcat(text, "s g1; ");
    strcat(text, "a t1");
    list = make_schema(text);
    check_fault(&list, -EINVAL,
                "the schema has more than 65536 fields, or nests them more than 32 deep");
    blob_free(&list);
    list = make_schema(text + strlen("s g1; "));
    {
        struct leat_parquet_schema schema;

        assert_int_equal(parse(&list, &schema, LEAT_ERROR_IGNORED), 0);
        assert_int_equal(schema.arrow.n_fields, LEAT_ARROW_DEPTH_MAX);
        leat_parquet_schema_deinit(&schema);
    }
    blob_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns),
        cmocka_unit_test(faults),
        cmocka_unit_test(broken_bytes),
        cmocka_unit_test(too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
