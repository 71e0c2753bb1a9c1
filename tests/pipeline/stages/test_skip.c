/* test_skip.c: pipeline/stages/skip.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/pipeline/shared_stream.h"

static struct collected run(int count, uint64_t n_epochs, int *ret_code) {
    struct collected ids = {.name = "id"};
    struct drive how = {.options = {.n_epochs = n_epochs}, .on_batch = collect, .user = &ids};
    char stages[128];

    folder_print("ids.csv", "id\n0\n1\n2\n3\n4\n");
    (void)snprintf(stages, sizeof(stages), "- cast: {input: id, dtype: int64}\n- skip: {count: %d}",
                   count);
    *ret_code = drive_stream("csv: {paths: [ids.csv]}", "", stages, &how).error.code;
    return ids;
}

static void test_counts(void **state) {
    (void)state;
    for (int count = 0; count <= 5; count++) {
        int code;
        struct collected ids = run(count, 2, &code);

        assert_int_equal(code, count == 5 ? -ENODATA : 0);
        assert_int_equal(ids.n_values, 2 * (5 - count));
        for (size_t i = 0; i < ids.n_values; i++) /* anew each epoch */
            assert_int_equal(ids.values[i], count + (int)i % (5 - count));
        collected_free(&ids);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts)};

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
