/* test_repeat.c: pipeline/stages/repeat.c: passes within an epoch; what stands before it begins
 * anew, what stands behind it goes on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_stream.h"

static void check_ids(const char *stages, uint64_t n_epochs, const char *expected) {
    struct collected ids = {.name = "id"};
    struct drive how = {.options = {.n_epochs = n_epochs}, .on_batch = collect, .user = &ids};
    struct leat_text text = {.data = NULL}, all = {.data = NULL};

    folder_print("ids.csv", "id\n0\n1\n2\n3\n");
    leat_text_add(&all, "- cast: {input: id, dtype: int64}\n%s", stages);
    assert_string_equal(drive_stream("csv: {paths: [ids.csv]}", "", all.data, &how).error.message,
                        "");
    for (size_t i = 0; i < ids.n_values; i++)
        leat_text_add(&text, "%d", (int)ids.values[i]);
    assert_string_equal(text.data, expected);
    free(text.data);
    free(all.data);
    collected_free(&ids);
}

static void test_before_and_behind(void **state) {
    (void)state;
    check_ids("- repeat: {count: 1}", 1, "0123");
    check_ids("- repeat: {count: 3}", 1, "012301230123");
    check_ids("- repeat: {count: 2}", 2, "0123012301230123");
    check_ids("- take: {count: 2}\n- repeat: {count: 3}", 1, "010101");
    check_ids("- repeat: {count: 3}\n- take: {count: 6}", 1, "012301");
    check_ids("- skip: {count: 3}\n- repeat: {count: 3}", 1, "333");
    check_ids("- repeat: {count: 3}\n- skip: {count: 7}", 1, "30123");
    check_ids("- repeat: {count: 0}\n- take: {count: 10}", 2, "01230123010123012301");
    check_ids("- take: {count: 3}\n- repeat: {count: 0}\n- skip: {count: 2}\n- take: {count: 5}", 1,
              "20120");
    check_ids("- repeat: {count: 2}\n- filter: {input: id, min: 2}", 1, "2323");
    check_ids("- repeat: {count: 0}\n- filter: {input: id, min: 2}\n- take: {count: 3}", 1, "232");
}

/* A shuffle before it has another order each pass; each pass is whole. */
static void test_shuffle_before(void **state) {
    struct collected ids = {.name = "id"};
    struct drive how = {.options = {.n_epochs = 1}, .on_batch = collect, .user = &ids};
    size_t n_different = 0;

    (void)state;
    folder_print("ids.csv", "id\n0\n1\n2\n3\n4\n5\n6\n7\n");
    assert_string_equal(drive_stream("csv: {paths: [ids.csv]}", "",
                                     "- cast: {input: id, dtype: int64}\n- shuffle: {buffer_size: "
                                     "8}\n- repeat: {count: 20}",
                                     &how)
                            .error.message,
                        "");
    assert_int_equal(ids.n_values, 160);
    for (size_t pass = 0; pass < 20; pass++) {
        unsigned seen = 0;

        for (size_t i = 0; i < 8; i++)
            seen |= 1U << ids.values[pass * 8 + i];
        assert_int_equal(seen, 255);
        n_different += memcmp(ids.values, ids.values + pass * 8, 64) != 0;
    }
    assert_int_equal(n_different, 19);
    collected_free(&ids);
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- repeat: {count: 2}\n- repeat: {count: 2}",
                  "x.yaml:6:9: streams.x.stages[1].repeat: a stream can have only one `repeat`");
    check_refused("{\"a\": 1}\n", "- repeat: {count: -1}",
                  "x.yaml:5:25: streams.x.stages[0].repeat.count: -1 is outside 0..1000000000000");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_behind),
                                       cmocka_unit_test(test_shuffle_before),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
