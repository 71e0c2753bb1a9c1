/* test_variant.c: daemon/stream/variant.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "daemon/config/settings.h"
#include "daemon/stream/variant.h"

static const char text[] = "streams:\n"
                           "  s:\n"
                           "    source: { csv: { paths: [a.csv] } }\n"
                           "    stages:\n"
                           "      - split: { train: 0.9, validation: 0.1, part: train }\n"
                           "      - shuffle: { buffer_size: 10 }\n"
                           "      - batch: { batch_size: 2 }\n"
                           "  skipping:\n"
                           "    source: { csv: { paths: [a.csv] } }\n"
                           "    skip_steps: [3]\n"
                           "    stages: [ { split: { train: 0.9, test: 0.1, part: train } } ]\n"
                           "  plain:\n"
                           "    source: { csv: { paths: [a.csv] } }\n"
                           "  a_name_so_long_that_no_part_of_the_stream_has_room_behind_it:\n"
                           "    source: { csv: { paths: [a.csv] } }\n"
                           "    stages: [ { split: { train: 0.9, test: 0.1, part: train } } ]\n";

enum { WHOLE, SKIPPING, PLAIN, LONG };
static struct leat_settings *settings;

static int load(void **state) {
    struct leat_error err = LEAT_ERROR_INIT;

    (void)state;
    return leat_settings_parse(text, sizeof(text) - 1, "x.yaml", NULL, &settings, &err);
}

static int unload(void **state) {
    (void)state;
    settings = leat_settings_free(settings);
    return 0;
}

static struct leat_spec *make(int stream, const char *split, int shuffle) {
    struct leat_variant variant = {.split = split, .shuffle = shuffle};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec *spec = NULL;

    assert_true(leat_variant_is_any(&variant));
    if (leat_variant_make(settings->streams[stream], &variant, &spec, &err) < 0)
        fail_msg("%s", err.message);
    return spec;
}

static void expect_refused(int stream, const char *split, int shuffle, const char *says) {
    struct leat_variant variant = {.split = split, .shuffle = shuffle};
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec *spec = NULL;

    assert_int_equal(leat_variant_make(settings->streams[stream], &variant, &spec, &err), -EINVAL);
    assert_null(spec);
    if (!strstr(err.message, says))
        fail_msg("expected \"%s\", got \"%s\"", says, err.message);
}

static void test_part(void **state) {
    struct leat_spec *spec = make(WHOLE, "validation", LEAT_VARIANT_SHUFFLE_ON);

    (void)state;
    assert_string_equal(spec->name, "s.validation");
    assert_int_equal(spec->n_stages, 3);
    assert_string_equal(leat_value_get(&spec->stages[0].args, "part")->text, "validation");
    leat_spec_free(spec);
    /* the declared one is what it was */
    spec = settings->streams[WHOLE];
    assert_string_equal(leat_value_get(&spec->stages[0].args, "part")->text, "train");
}

static void test_unshuffled(void **state) {
    struct leat_spec *spec = make(WHOLE, "", LEAT_VARIANT_SHUFFLE_OFF);

    (void)state;
    assert_string_equal(spec->name, "s.unshuffled");
    assert_int_equal(spec->n_stages, 2);
    assert_string_equal(spec->stages[1].kind, "batch");
    leat_spec_free(spec);
    spec = make(WHOLE, "test", LEAT_VARIANT_SHUFFLE_OFF);
    assert_string_equal(spec->name, "s.test.unshuffled");
    leat_spec_free(spec);
    spec = make(PLAIN, "", LEAT_VARIANT_SHUFFLE_OFF); /* it is not shuffled to begin with */
    leat_spec_free(spec);
    spec = make(SKIPPING, "train", LEAT_VARIANT_SHUFFLE_AS_DECLARED);
    leat_spec_free(spec);
}

static void test_refused(void **state) {
    (void)state;
    expect_refused(PLAIN, "train", 0, "the stream plain has no stage `split` for the part");
    expect_refused(PLAIN, "", LEAT_VARIANT_SHUFFLE_ON, "the stream plain has no stage `shuffle`");
    expect_refused(SKIPPING, "test", 0, "counts steps of the part \"train\"");
    expect_refused(LONG, "test", 0, "is longer than 63 bytes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_part, load, unload),
        cmocka_unit_test_setup_teardown(test_unshuffled, load, unload),
        cmocka_unit_test_setup_teardown(test_refused, load, unload),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
