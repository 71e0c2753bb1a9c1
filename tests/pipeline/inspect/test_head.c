/* test_head.c: pipeline/inspect/head.c: records as they are after a stage, and where it stops. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

#define DATA "csv: {paths: [in.csv]}"
#define STAGES                                                                                     \
    "- cast: {input: id, dtype: int32}\n- shuffle: {buffer_size: 10}\n"                            \
    "- filter: {input: id, min: 2}\n- template: {output: t, parts: ['id {id}']}\n"                 \
    "- select: {fields: [id]}\n- batch: {batch_size: 2}"

static void check_head(const char *options, const char *stages, int after_stage, uint64_t n,
                       const char *expected) {
    char *text = stream_head(DATA, options, stages, after_stage, n);

    assert_string_equal(text, expected);
    free(text);
}

static void test_after_each_stage(void **state) {
    (void)state;
    folder_print("in.csv", "id,x\n1,a\n2,b\n3,c\n");
    check_head("", STAGES, -1, 2, "{\"id\": \"1\", \"x\": \"a\"}\n{\"id\": \"2\", \"x\": \"b\"}\n");
    check_head("", STAGES, 0, 1, "{\"id\": 1, \"x\": \"a\"}\n");
    check_head("", STAGES, 1, 1, "{\"id\": 1, \"x\": \"a\"}\n");                  /* not shuffled */
    check_head("", STAGES, 2, 1, "{\"id\": 2, \"x\": \"b\"}\n");                  /* but filtered */
    check_head("", STAGES, 3, 1, "{\"id\": 2, \"x\": \"b\", \"t\": \"id 2\"}\n"); /* alive here */
    check_head("", STAGES, 4, 5, "{\"id\": 2}\n{\"id\": 3}\n");
    check_head("", STAGES, 5, 1, "{\"id\": 2}\n");
    check_head("", STAGES, 0, 0, "");
    check_head("", STAGES, 6, 1,
               "stage 6 does not exist: the stream has 6 stages, numbered from 0\n");
}

/* The first bad record in the order of the data ends it, whichever stage found it. */
static void test_bad_records(void **state) {
    (void)state;
    folder_print("in.csv", "id,x\n1,a\nbad,b\n3,c\n4,d,more\n5,e\n");
    check_head(
        "", STAGES, 0, 5,
        "{\"id\": 1, \"x\": \"a\"}\nin.csv:3: cast.id: \"bad\" is not a value of type int32\n");
    check_head("", STAGES, 0, 1, "{\"id\": 1, \"x\": \"a\"}\n");
    check_head("on_error: skip", STAGES, 0, 5,
               "{\"id\": 1, \"x\": \"a\"}\n{\"id\": 3, \"x\": \"c\"}\n{\"id\": 5, \"x\": \"e\"}\n");
}

static void test_many_blocks(void **state) {
    struct leat_text data = {.data = NULL}, expected = {.data = NULL};

    (void)state;
    leat_text_add(&data, "id,x\n");
    for (int id = 0; id < 5000; id++) {
        leat_text_add(&data, "%d,%d\n", id, id * 2);
        if (id >= 2 && id < 3002)
            leat_text_add(&expected, "{\"id\": %d}\n", id);
    }
    folder_write("in.csv", data.data, data.n_bytes);
    check_head("block_bytes: 4096", STAGES, 4, 3000, expected.data);
    free(data.data);
    free(expected.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_after_each_stage),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_many_blocks),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
