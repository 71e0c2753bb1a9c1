/* test_replace.c: pipeline/stages/replace.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

#define ONLY "\n- select: {fields: [a]}"

static void test_texts(void **state) {
    (void)state;
    check_rows("a,b\naXaXXa,1\nXXX,2\nab,3\n,4\n",
               "- replace: {input: a, old: XX, new: '-yz-'}" ONLY,
               "{\"a\": \"aXa-yz-a\"}\n{\"a\": \"-yz-X\"}\n{\"a\": \"ab\"}\n{\"a\": \"\"}\n");
    check_rows("a,b\naba,1\n", "- replace: {input: a, old: a}" ONLY, "{\"a\": \"b\"}\n");
    check_rows("a,b\naba,1\n", "- replace: {input: a, output: b, old: aba, new: é}",
               "{\"a\": \"aba\", \"b\": \"é\"}\n");
    check_rows("{\"a\": \"x\\u0000x\"}\n", "- replace: {input: a, old: x, new: yy}",
               "{\"a\": \"yy\\u0000yy\"}\n");
    check_refused("a\n1\n", "- replace: {input: a, old: ''}",
                  "x.yaml:5:34: streams.x.stages[0].replace.old: an empty text would match "
                  "everywhere: give a text");
}

/* What one block would need is refused before it is taken. */
static void test_too_much(void **state) {
    struct leat_text stages = {.data = NULL};
    char data[] = "a,b\n", *as = malloc(20001);
    struct driven driven;

    (void)state;
    assert_non_null(as);
    memset(as, 'a', 20000);
    as[20000] = '\0';
    folder_print("in.csv", "%s%s,1\n", data, as);
    leat_text_add(&stages,
                  "- replace: {input: a, old: a, new: %s}\n"
                  "- hash_bucket: {input: a, buckets: 7}\n- select: {fields: [a]}\n"
                  "- batch: {batch_size: 1}",
                  as);
    driven = drive_stream("csv: {paths: [in.csv]}", "", stages.data,
                          &(struct drive){.options = {.n_epochs = 1}});
    assert_int_equal(driven.error.code, -EOVERFLOW);
    assert_non_null(strstr(driven.error.message, "would have 400000000 bytes"));
    free(stages.data);
    free(as);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_too_much),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
