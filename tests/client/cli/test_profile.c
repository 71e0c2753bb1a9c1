/* test_profile.c: client/cli/profile.c: the verdict names who is slow, the table has what did
 * something, the JSON has all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/profile.h"

static Leat__StageStats stages[3];
static Leat__StageStats *const list[3] = {&stages[0], &stages[1], &stages[2]};

static Leat__StreamStats make(uint64_t lifetime_ns, uint64_t no_slot_ns, uint64_t wait_ns) {
    static const char *const names[] = {"csv", "tokenize", "decode"};
    Leat__StreamStats stats = LEAT__STREAM_STATS__INIT;

    for (size_t i = 0; i < 3; i++) {
        leat__stage_stats__init(&stages[i]);
        stages[i].name = (char *)(uintptr_t)names[i];
        stages[i].role = (char *)(uintptr_t) "map";
    }
    stages[0].busy_ns = 290000000;
    stages[1].busy_ns = 710000000;
    stages[0].n_jobs = stages[1].n_jobs = 10;
    stages[0].n_records = stages[1].n_records = 1000;
    stages[1].p99_ns = 90000000;
    stats.lifetime_ns = lifetime_ns;
    stats.no_slot_ns = no_slot_ns;
    stats.wait_ns = wait_ns;
    stats.n_waits = wait_ns > 0;
    stats.n_stages = 3;
    stats.stages = (Leat__StageStats **)(uintptr_t)list;
    return stats;
}

static void check_text(const Leat__StreamStats *stats, const char *says) {
    struct leat_text text = {.data = NULL};

    leat_cli_profile_text(&text, stats);
    if (!strstr(text.data, says))
        fail_msg("no \"%s\" in: %s", says, text.data);
    free(text.data);
}

static void check_json(const Leat__StreamStats *stats, const char *says) {
    struct leat_text text = {.data = NULL};

    leat_cli_profile_json(&text, stats);
    if (!strstr(text.data, says))
        fail_msg("no \"%s\" in: %s", says, text.data);
    free(text.data);
}

static void test_verdicts(void **state) {
    static const struct {
        uint64_t lifetime_ns, no_slot_ns, wait_ns;
        const char *bound, *says;
    } cases[] = {
        {1000000000, 920000000, 10000000, "\"trainers\"",
         "  trainers are slower than the pipeline: a batch waited for a free slot 92 % of the "
         "time; the stage tokenize takes 71 % of the busy time (1.0 threads were busy on "
         "average)\n"},
        {500000000, 0, 450000000, "\"pipeline\"",
         "  the pipeline is slower than its trainers: a trainer waited for a batch 90 % of the "
         "time; the stage tokenize takes 71 % of the busy time (2.0 threads were busy on "
         "average)\n"},
        {1000000000, 40000000, 30000000, "\"neither\"",
         "  trainers waited 3 % of the time, and the pipeline 4 %, so neither is much slower than "
         "the other; the "
         "stage "
         "tokenize takes 71 %"},
        {1000000000, 600000000, 700000000, "\"pipeline\"", "waited for a batch 70 %"},
        {1000000000, 300000000, 100000000, "\"trainers\"", "waited for a free slot 30 %"},
        {1000000000, 0, 0, "null", "  the stage tokenize takes 71 % of the busy time (1.0 threads"},
        {0, 0, 0, "null", "  the stage tokenize takes 71 % of the busy time\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Leat__StreamStats stats = make(cases[i].lifetime_ns, cases[i].no_slot_ns, cases[i].wait_ns);
        char bound[64] = "\"bound_by\": ";

        check_text(&stats, cases[i].says);
        strcat(bound, cases[i].bound);
        check_json(&stats, bound);
    }
}

/* Eight trainers that wait a fifth of their time have not waited for longer than there was. */
static void test_many_trainers(void **state) {
    Leat__StreamStats stats = make(1000000000, 500000000, 1600000000);

    (void)state;
    stats.trainer_ns = 8000000000;
    check_json(&stats, "\"bound_by\": \"trainers\"");
    stats.no_slot_ns = 0;
    check_text(&stats, "a trainer waited for a batch 20 % of the time");
}

static void test_stages(void **state) {
    Leat__StreamStats stats = make(1000000000, 0, 500000000);
    struct leat_text text = {.data = NULL};

    (void)state;
    check_text(&stats, "    tokenize   71.0 %  710.0 ms      10  71.0 ms");
    check_json(&stats, "{\"name\": \"tokenize\", \"n_records\": 1000, ");
    check_json(&stats, "\"role\": \"map\", \"n_jobs\": 10, ");
    check_json(&stats, "\"p99_ns\": 90000000, \"share\": 0.71, \"mean_ns\": 71000000, "
                       "\"ns_per_record\": 710000}");
    check_json(&stats, "{\"name\": \"decode\"");
    leat_cli_profile_text(&text, &stats);
    assert_null(strstr(text.data, "decode")); /* it did nothing */
    free(text.data);
}

static void test_nothing(void **state) {
    Leat__StreamStats stats = LEAT__STREAM_STATS__INIT;
    struct leat_text text = {.data = NULL};

    (void)state;
    leat_cli_profile_text(&text, &stats);
    assert_int_equal(text.n_bytes, 0);
    leat_cli_profile_json(&text, &stats);
    assert_string_equal(text.data, "\"bound_by\": null, \"verdict\": \"\", \"stages\": []");
    free(text.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_many_trainers),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
