/* test_trace_json.c: client/cli/trace_json.c: each kind of event as it should be, and whatever a
 * reply says does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/trace/json.h"
#include "pipeline/run/pipeline.h"

static char *names[] = {(char *)(uintptr_t) "map", (char *)(uintptr_t) "tokenize"};
static char *files[] = {(char *)(uintptr_t) "a \"b\".csv"};

static Leat__TraceEvent make(uint32_t kind, uint64_t start_ns, uint64_t duration_ns) {
    Leat__TraceEvent event = LEAT__TRACE_EVENT__INIT;

    event.kind = kind;
    event.start_ns = start_ns;
    event.duration_ns = duration_ns;
    return event;
}

static void check(Leat__TraceEvent *first, const Leat__TraceEvent *event, const char *says) {
    Leat__TraceReply reply = LEAT__TRACE_REPLY__INIT;
    struct leat_cli_trace_json json;
    Leat__TraceEvent copy = *event;
    Leat__TraceEvent *list[2] = {first, &copy};

    reply.n_names = 2;
    reply.names = names;
    reply.n_files = 1;
    reply.files = files;
    reply.n_events = 2;
    reply.events = list;
    leat_cli_trace_json_begin(&json, "s\"");
    leat_cli_trace_json_add(&json, &reply);
    leat_cli_trace_json_end(&json);
    if (!strstr(json.text.data, says))
        fail_msg("no %s in: %s", says, json.text.data);
    free(json.text.data);
}

static void test_events(void **state) {
    Leat__TraceEvent first = make(LEAT_TRACE_COUNTS, 5000000, 0);
    Leat__TraceEvent job = make(LEAT_TRACE_JOB, 5001234, 2001);
    Leat__TraceEvent stage = make(LEAT_TRACE_STAGE, 5001300, 1000);
    Leat__TraceEvent batch = make(LEAT_TRACE_BATCH, 5002000, 7000);

    (void)state;
    job.thread = 3;
    job.n_rows = 10;
    job.file = 1;
    job.place = 77;
    check(&first, &job,
          "\n{\"ph\": \"X\", \"pid\": 1, \"tid\": 13, \"cat\": \"job\", \"name\": \"map\", \"ts\": "
          "1.234, \"dur\": 2.001, \"args\": {\"run\": 0, \"rows\": 10, \"block\": 77, \"file\": "
          "\"a \\\"b\\\".csv\"}}");
    check(&first, &job, "\"name\": \"thread_name\", \"args\": {\"name\": \"worker 3\"}}");
    stage.name = 1;
    check(&first, &stage,
          "\"cat\": \"stage\", \"name\": \"tokenize\", \"ts\": 1.300, \"dur\": 1.000");
    batch.epoch = 2;
    batch.place = 31;
    check(&first, &batch, "\"id\": \"0.2.31\", \"ts\": 2.000}");
    check(&first, &batch, "\"name\": \"batch 2.31\", \"ts\": 9.000, ");
    check(&first, &first, "\"name\": \"slots free\", \"ts\": 0.000, \"args\": {\"run 0\": 0}}");
    check(&first, &first, "\"args\": {\"name\": \"s\\\"\"}}");
}

/* What began before the first is cut there. */
static void test_cut(void **state) {
    struct leat_cli_trace_json json;
    Leat__TraceEvent first = make(LEAT_TRACE_COUNTS, 5000, 0);
    Leat__TraceEvent early = make(LEAT_TRACE_JOB, 1000, 6000);
    Leat__TraceReply reply = LEAT__TRACE_REPLY__INIT;
    Leat__TraceEvent *event = &first;

    (void)state;
    reply.n_events = 1;
    reply.events = &event;
    leat_cli_trace_json_begin(&json, "s");
    leat_cli_trace_json_add(&json, &reply);
    event = &early;
    leat_cli_trace_json_add(&json, &reply);
    assert_non_null(strstr(json.text.data, "\"name\": \"?\", \"ts\": 0.000, \"dur\": 2.000, "));
    free(json.text.data);
}

static void test_lies(void **state) {
    Leat__TraceEvent first = make(LEAT_TRACE_JOB, UINT64_MAX, UINT64_MAX);
    Leat__TraceEvent event = make(LEAT_TRACE_JOB, 1, UINT64_MAX);

    (void)state;
    event.name = event.thread = event.file = UINT32_MAX;
    check(&first, &event, "\"name\": \"?\"");
    check(&first, &event, "\"name\": \"worker 4095\"");
    event.kind = UINT32_MAX;
    check(&first, &event, "\"events\": 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_lies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
