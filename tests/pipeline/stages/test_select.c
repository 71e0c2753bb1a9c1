/* test_select.c: pipeline/stages/select.c. */
#include "tests/pipeline/shared_stream.h"

static void test_order_is_as_asked(void **state) {
    (void)state;
    check_rows("a,b,c\n1,2,3\n", "- select: {fields: [c, a]}", "{\"c\": \"3\", \"a\": \"1\"}\n");
    check_rows("a,b,c\n1,2,3\n", "- select: {fields: b}", "{\"b\": \"2\"}\n");
    check_rows("a,b,c\n1,2,3\n", "- select: {fields: [c, a]}\n- select: {fields: [a]}",
               "{\"a\": \"1\"}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("abc,b\n1,2\n", "- select: {fields: [b, acb]}",
                  "x.yaml:5:26: streams.x.stages[0].select.fields: there is no field \"acb\" here; "
                  "did you mean \"abc\"?");
    check_refused("a,b\n1,2\n", "- select: {fields: [b, b]}",
                  "x.yaml:5:26: streams.x.stages[0].select.fields: \"b\" occurs twice");
    check_refused("a,b\n1,2\n", "- select: {fields: []}",
                  "x.yaml:5:26: streams.x.stages[0].select.fields: the list has 0 items, which is "
                  "outside 1..256");
    check_refused("a,b\n1,2\n", "- select: {fields: [a]}\n- select: {fields: [something]}",
                  "x.yaml:6:26: streams.x.stages[1].select.fields: there is no field \"something\" "
                  "here: the fields are a");
    check_refused("a,b\n1,2\n", "- select: {fields: [\"\"]}",
                  "x.yaml:5:27: streams.x.stages[0].select.fields[0]: the name has 0 bytes; a name "
                  "may have 1 to 63 bytes");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_is_as_asked),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
