/* test_hash_bucket.c: pipeline/stages/hash_bucket.c. */
#include "tests/pipeline/shared_numpy.h"
#include "tests/pipeline/shared_stream.h"

static void test_numpy(void **state) {
    (void)state;
    check_numpy("hash_bucket");
}

static void test_shapes(void **state) {
    (void)state;
    check_rows("{\"a\": [17, 18, 17], \"b\": \"17\"}\n",
               "- hash_bucket: {input: a, buckets: 1000}\n- hash_bucket: {input: b, buckets: 1000}",
               "{\"a\": [983, 672, 983], \"b\": 983}\n");
}

static void test_refused(void **state) {
    (void)state;
    check_refused("{\"a\": 1}\n", "- hash_bucket: {input: a}",
                  "x.yaml:5:9: streams.x.stages[0].hash_bucket: buckets is missing: number of "
                  "buckets; the result is a number from 0 to `buckets` - 1");
    check_refused(
        "{\"a\": 1}\n", "- hash_bucket: {input: a, buckets: 0}",
        "x.yaml:5:42: streams.x.stages[0].hash_bucket.buckets: 0 is outside 1..2147483647");
    check_refused("{\"a\": 0.5}\n", "- hash_bucket: {input: a, buckets: 2}",
                  "x.yaml:5:30: streams.x.stages[0].hash_bucket.input: \"a\" is float64, but whole "
                  "numbers or text are needed: `bin` it, or `cast` it to whole numbers");
    check_refused("{\"x\": [1]}\n",
                  "- pad: {input: x, length: 2, value: 0}\n- hash_bucket: {input: x, buckets: 5}",
                  "x.yaml:6:30: streams.x.stages[1].hash_bucket.input: \"x\" is already padded: "
                  "put `hash_bucket` before `pad` or `pack`");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
