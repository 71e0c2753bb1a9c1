/* test_tensors.c: pipeline/stages/tensors.c. */
#include "tests/pipeline/shared_stream.h"

static void test_texts_are_dropped(void **state) {
    (void)state;
    check_rows("a,b,c\n1,2,3\n", "- cast: {input: b, dtype: int64}\n- tensors:", "{\"b\": 2}\n");
    check_rows("a,b,c\n1,2,3\n",
               "- cast: {input: c, dtype: int64}\n- cast: {input: a, output: d, dtype: float32}\n"
               "- tensors: {text: drop}",
               "{\"c\": 3, \"d\": 1.0}\n");
}

static void test_texts_become_bytes(void **state) {
    (void)state;
    check_rows("a,b\nx,5\n,6\nyz,7\n", "- cast: {input: b, dtype: int64}\n- tensors: {text: bytes}",
               "{\"a.utf8\": [120], \"b\": 5}\n{\"a.utf8\": [], \"b\": 6}\n"
               "{\"a.utf8\": [121, 122], \"b\": 7}\n");
    check_rows("a\n\xc3\xa9\n", "- tensors: {text: bytes}", "{\"a.utf8\": [195, 169]}\n");
    /* one that nobody needs is not made */
    check_rows("a,b\nx,y\n", "- tensors: {text: bytes}\n- select: {fields: [b.utf8]}",
               "{\"b.utf8\": [121]}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("a,b\n1,2\n", "- tensors:",
                  "x.yaml:5:9: streams.x.stages[0].tensors: all fields are texts, which a batch "
                  "cannot hold: `tokenize` or `cast` one of them");
    check_refused("a,a.utf8\n1,2\n", "- tensors: {text: bytes}",
                  "x.yaml:5:25: streams.x.stages[0].tensors.text: the field \"a.utf8\" already "
                  "exists: `rename` it first");
    check_refused("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefgh\n1\n",
                  "- tensors: {text: bytes}",
                  "x.yaml:5:25: streams.x.stages[0].tensors.text: the name "
                  "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefgh.utf8\" would be "
                  "longer than 63 bytes: `rename` the field first");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_dropped),
        cmocka_unit_test(test_texts_become_bytes),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
