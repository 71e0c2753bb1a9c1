/* test_spec_text.c: pipeline/plan/spec_text.c, spec_text_compare.c: two specs that
 * differ in anything but speed have different digests, and then something is told of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/spec_text.h"
#include "proto/base/utf8.h"
#include "tests/pipeline/shared_stream.h"

#define CSV   "csv: {paths: [in.csv]}"
#define CASTS "- cast: {input: id, dtype: int64}\n- select: {fields: [id]}\n"
#define BATCH "- batch: {batch_size: 2}"

struct stream {
    const char *source, *options, *stages;
};

static const struct stream plain = {CSV, "", CASTS "- shuffle: {buffer_size: 1000}\n" BATCH};

static struct leat_plan *plan_of(const struct stream *stream) {
    folder_print("in.csv", "id,age,text\n1,2,a b\n2,3,b c\n");
    return stream_plan(stream->source, stream->options, stream->stages);
}

/* What is told of the difference; *ret_is_same: the digests are the same. Valid until the next
 * call. */
static const char *difference(const struct stream *old, const struct stream *new,
                              bool *ret_is_same) {
    static char *told;
    struct leat_plan *a = plan_of(old), *b = plan_of(new);
    struct leat_text text = {.data = NULL};

    free(told);
    leat_spec_text_compare(a->spec_text, b->spec_text, &text);
    *ret_is_same = memcmp(a->spec_digest, b->spec_digest, LEAT_DIGEST_BYTES) == 0;
    assert_false(text.failed);
    told = text.data ? text.data : strdup("");
    leat_plan_unref(a);
    leat_plan_unref(b);
    return told;
}

static void expect(struct stream old, struct stream new, const char *expected) {
    bool is_same;
    const char *told = difference(&old, &new, &is_same);

    assert_string_equal(told, expected);
    assert_int_equal(is_same, !expected[0]);
}

static struct stream with_stages(const char *stages) {
    return (struct stream){CSV, "", stages};
}

static struct stream with_options(const char *options) {
    return (struct stream){CSV, options, plain.stages};
}

static void test_arguments(void **state) {
    (void)state;
    expect(plain, with_stages(CASTS "- shuffle: {buffer_size: 2000}\n" BATCH),
           "stages[2].shuffle.buffer_size was 1000, is 2000");
    expect(plain, with_stages(CASTS "- shuffle: {buffer_size: 1000, seed: 3}\n" BATCH),
           "stages[2].shuffle.seed was 0, is 3");
    expect(with_stages(CASTS "- shuffle: {buffer_size: 1000, seed: 3}\n" BATCH), plain,
           "stages[2].shuffle.seed was 3, is 0");
    expect(plain, with_options("seed: 7\n    on_error: skip"),
           "on_error was fail, is skip; seed was 0, is 7");
    expect(plain, with_options("uneven: pad"), "uneven was drop, is pad");
    expect(plain,
           with_stages("- cast: {input: id, dtype: int64, default: 5}\n"
                       "- select: {fields: [id]}\n- shuffle: {buffer_size: 1000}\n" BATCH),
           "stages[0].cast.default was not given, is \"5\"");
    expect(plain, (struct stream){"csv: {paths: in.csv, invalid_utf8: fail}", "", plain.stages},
           "source.csv.invalid_utf8 was replace, is fail");
    expect(with_stages(CASTS "- filter: {input: id, min: 1, max: 2}\n" BATCH),
           with_stages(CASTS "- filter: {input: id, min: 3}\n" BATCH),
           "stages[2].filter.min was 1, is 3; stages[2].filter.max was 2, is not given");
}

/* Of long values that part is told in which they differ. */
static void test_long_values(void **state) {
    static const char *const begin = "- cast: {input: id, dtype: int64}\n"
                                     "- template: {output: t, parts: [\"{text} {text} {text} \", "
                                     "\"{text}  {text}  {text}  {text}  \", \"\u00e4\u00e4";
    char old[512], new[512];

    (void)state;
    (void)snprintf(old, sizeof(old), "%s{age}x\"]}\n- select: {fields: [id]}\n" BATCH, begin);
    (void)snprintf(new, sizeof(new), "%s{age}y\"]}\n- select: {fields: [id]}\n" BATCH, begin);
    expect(with_stages(old), with_stages(new),
           "stages[1].template.parts was ..}  \", \"\u00e4\u00e4{age}x\"], is ..}  \", "
           "\"\u00e4\u00e4{age}y\"]");
}

static void test_stages(void **state) {
    (void)state;
    expect(plain, with_stages(CASTS "- take: {count: 5}\n- shuffle: {buffer_size: 1000}\n" BATCH),
           "stages[2].take was added");
    expect(with_stages(CASTS "- take: {count: 5}\n- shuffle: {buffer_size: 9}\n" BATCH),
           with_stages(CASTS "- shuffle: {buffer_size: 9}\n" BATCH), "stages[2].take was removed");
    expect(plain, with_stages(CASTS "- take: {count: 5}\n" BATCH),
           "stages[2] was shuffle, is take");
    expect(plain, with_stages(CASTS BATCH), "stages[2].shuffle was removed");
    expect(with_stages(CASTS "- take: {count: 2}\n- skip: {count: 3}\n" BATCH),
           with_stages(CASTS "- skip: {count: 3}\n- take: {count: 2}\n" BATCH),
           "stages[2] was take, is skip; stages[3] was skip, is take");
}

/* Other batches of the same words than an earlier version made: positions of those do not fit. */
static void test_revision(void **state) {
    struct stream packed = {"jsonl: {paths: [ids.jsonl]}", "",
                            "- pack: {fields: [x], length: 4, value: 0, labels: y}\n" BATCH};
    struct leat_plan *plan;

    (void)state;
    folder_print("ids.jsonl", "{\"x\": [1]}\n");
    plan = plan_of(&packed);
    assert_non_null(strstr(plan->spec_text, "=stages[0].pack revision\t1\n"));
    leat_plan_unref(plan);
    packed.stages = "- pack: {fields: [x], length: 4, value: 0}\n" BATCH;
    plan = plan_of(&packed);
    assert_null(strstr(plan->spec_text, "revision"));
    leat_plan_unref(plan);
}

/* Written otherwise, faster, elsewhere: the same. */
static void test_same(void **state) {
    (void)state;
    expect(plain, plain, "");
    expect(plain,
           with_options("block_bytes: 8192\n    jobs_in_flight: 2\n    verify: full\n"
                        "    tuner: off\n    decode_ahead: 0\n    seed: 0"),
           "");
    expect(plain,
           with_stages(CASTS "- shuffle: {seed: 0, buffer_size: 1000}\n"
                             "- batch: {batch_size: 2, drop_last: false}\n"
                             "- prefetch: {prefetch_size: 3}"),
           "");
    expect(with_options("on_error: skip"), with_options("on_error: skip\n    max_errors: 4"), "");
    expect(with_options("on_error: skip"),
           with_options("on_error: quarantine\n    quarantine: bad.jsonl"), "");
    folder_print("other.csv", "id,age,text\n5,6,q\n");
    expect(plain, (struct stream){"csv: {paths: [other.csv, in.csv]}", "", plain.stages}, "");
}

static void test_files(void **state) {
    struct stream stream = with_stages("- tokenize: {input: text, output: ids, vocab: v.txt}\n"
                                       "- select: {fields: [ids]}\n- pad: {input: ids, length: 4, "
                                       "value: 0}\n" BATCH);
    struct stream moved = with_stages("- tokenize: {input: text, output: ids, vocab: w.txt}\n"
                                      "- select: {fields: [ids]}\n- pad: {input: ids, length: 4, "
                                      "value: 0}\n" BATCH);
    struct leat_text text = {.data = NULL};
    struct leat_plan *before, *after;

    (void)state;
    folder_print("v.txt", "a\nb\nc\n \n");
    folder_print("w.txt", "a\nb\nc\n \n");
    expect(stream, moved, "");
    before = plan_of(&stream);
    folder_print("v.txt", "a\nb\nd\n \n");
    after = plan_of(&stream);
    leat_spec_text_compare(before->spec_text, after->spec_text, &text);
    assert_string_equal(text.data,
                        "the contents of the files of stages[0].tokenize changed (\"v.txt\")");
    assert_memory_not_equal(before->spec_digest, after->spec_digest, LEAT_DIGEST_BYTES);
    leat_plan_unref(before);
    leat_plan_unref(after);
    free(text.data);
}

static void test_sources(void **state) {
    struct stream both = {"concat: {sources: [{csv: {paths: in.csv}}, {csv: {paths: in.csv}}]}", "",
                          plain.stages};
    struct stream other = {
        "concat: {sources: [{csv: {paths: in.csv}}, {csv: {paths: in.csv, delimiter: \",\", "
        "invalid_utf8: fail}}]}",
        "", plain.stages};

    (void)state;
    expect(plain, both, "source was csv, is concat");
    expect(both, other, "source.concat.sources[1].csv.invalid_utf8 was replace, is fail");
}

/* Of many differences some are told; long values are cut, at a character. */
static void test_limits(void **state) {
    struct leat_text old = {.data = NULL}, new = {.data = NULL}, text = {.data = NULL};

    (void)state;
    for (int i = 0; i < 9; i++) {
        leat_text_add(&old, "=stages[%d]\tcast\n=stages[%d].cast.x\t1%050d\n", i, i, i);
        leat_text_add(&new, "=stages[%d]\tcast\n=stages[%d].cast.x\t2%058d\xc3\xa9\n", i, i, i);
    }
    leat_spec_text_compare(old.data, new.data, &text);
    assert_non_null(strstr(text.data, "; and 5 more"));
    assert_non_null(strstr(text.data, "0.."));
    assert_true(leat_utf8_is_valid(text.data, text.n_bytes));
    free(old.data);
    free(new.data);
    free(text.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_stages),    cmocka_unit_test(test_revision),
        cmocka_unit_test(test_same),      cmocka_unit_test(test_files),
        cmocka_unit_test(test_sources),   cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
