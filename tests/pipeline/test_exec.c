/* test_exec.c: pipeline/stages/exec.c with its crews and helpers. */
#include "tests/pipeline/shared_stream.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Answers as fast as it is asked; what a record says it does. */
static const char helper[] =
    "import json, os, sys, time\n"
    "for line in sys.stdin:\n"
    "    record = json.loads(line)\n"
    "    do = record.get('do', '')\n"
    "    n = record['n']\n"
    "    if do == 'crash': os.abort()\n"
    "    if do == 'exit': sys.exit('no more of this')\n"
    "    if do == 'hang': time.sleep(60)\n"
    "    if do == 'garbage': print('hello'); continue\n"
    "    if do == 'list': print([1]); continue\n"
    "    if do == 'missing': print('{}'); continue\n"
    "    if do == 'type': print(json.dumps({'twice': 'x', 'ids': []})); continue\n"
    "    if do == 'item': print(json.dumps({'twice': 1, 'ids': [1, None]})); continue\n"
    "    if do == 'range': print(json.dumps({'twice': 1, 'ids': [1 << 40]})); continue\n"
    "    if do == 'long': print(json.dumps({'twice': 1, 'ids': [1] * 7})); continue\n"
    "    if do == 'huge': print('[' + '1,' * 2000000 + '1]'); continue\n"
    "    if do == 'error': print(json.dumps({'error': 'not today'})); continue\n"
    "    if do == 'leave': print(json.dumps({'twice': 2 * n, 'ids': [n]})); sys.exit(0)\n"
    "    if do == 'close': os.close(1); time.sleep(60)\n"
    "    if do == 'twice': print(json.dumps({'twice': 2 * n, 'ids': []}))\n"
    "    if do == 'shout': print('x' * 10, '\\x1b[2J', 'y' * 1000, file=sys.stderr)\n"
    "    print(json.dumps({'twice': 2 * n, 'ids': [n] * (n % 4), 'more': None}))\n";

#define EXEC(more)                                                                                 \
    "- exec: {command: [python3, -S, helper.py], schema: {twice: int64, ids: 'int32[<=6]'}, "      \
    "max_restarts: 100" more "}\n"
#define ENDING "- pad: {input: ids, length: 6, value: -1}\n- select: {fields: [n, twice, ids]}\n"

static void write_records(int n, int every, const char *what) {
    struct leat_text text = {.data = NULL};

    for (int i = 0; i < n; i++)
        leat_text_add(&text, "{\"n\": %d, \"do\": \"%s\"}\n", i,
                      every > 0 && i % every == every - 1 ? what : "");
    folder_write("n.jsonl", text.data, text.n_bytes);
    folder_print("helper.py", "%s", helper);
    free(text.data);
}

#define SOURCE "jsonl: {paths: [n.jsonl]}"

/* Rows of the field `twice`, checked to be those of the good records in order. */
static struct driven run_all(const char *options, const char *stages, const struct drive *how) {
    struct drive again = *how;
    struct collected twice = {.name = "twice"};
    struct driven driven;
    char all[2048];

    (void)snprintf(all, sizeof(all), "%s" ENDING "- batch: {batch_size: 10}", stages);
    again.options.n_epochs = 1;
    again.on_batch = collect;
    again.user = &twice;
    driven = drive_stream(SOURCE, options, all, &again);
    for (size_t i = 1; i < twice.n_values; i++)
        assert_true(twice.values[i] > twice.values[i - 1] && twice.values[i] % 2 == 0);
    assert_int_equal(twice.n_values, driven.n_rows);
    collected_free(&twice);
    return driven;
}

static const char *error_text(const struct driven *driven) {
    static char text[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(&driven->error, text, sizeof(text));
    return text;
}

static void check_error(const char *what, const char *more, const char *expected) {
    char stages[1024];
    struct driven driven;

    write_records(20, 10, what);
    (void)snprintf(stages, sizeof(stages),
                   "- exec: {command: [python3, -S, helper.py], schema: {twice: int64, ids: "
                   "'int32[<=6]'}, max_restarts: 100%s}\n",
                   more);
    driven = run_all("on_error: fail", stages, &(struct drive){.n_jobs = 1});
    assert_int_equal(driven.n_rows, driven.error.code ? 0 : 20);
    if (!strstr(error_text(&driven), expected))
        fail_msg("%s: %s\nexpected %s", what, error_text(&driven), expected);
}

static void test_order(void **state) {
    static const char *const ways[] = {EXEC(""), EXEC(", processes: 3"),
                                       EXEC(", processes: 7, ahead: 1"),
                                       EXEC(", processes: 4, ahead: 500")};
    char digest[LEAT_DIGEST_HEX_SIZE] = "";

    (void)state;
    write_records(3000, 0, "");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct drive how = {.n_jobs = 4, .random = i + 1};
        struct driven driven = run_all("block_bytes: 4096", ways[i], &how);

        assert_string_equal(error_text(&driven), "");
        assert_int_equal(driven.n_rows, 3000);
        if (i > 0)
            assert_string_equal(driven.digest, digest);
        memcpy(digest, driven.digest, sizeof(digest));
    }
}

/* The record that a process was at is bad, all others are good, however many processes there are
 * and however far ahead they are given records. */
static void test_crashes(void **state) {
    static const char *const kinds[] = {"crash", "exit", "garbage", "huge"};

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char digest[LEAT_DIGEST_HEX_SIZE] = "";

        write_records(100, 20, kinds[i]);
        for (unsigned n = 1; n <= 3; n++) {
            char stages[512];
            struct driven driven;

            (void)snprintf(stages, sizeof(stages),
                           "- exec: {command: [python3, -S, helper.py], schema: {twice: int64, "
                           "ids: 'int32[<=6]'}, max_line_bytes: 1MB, processes: %u, ahead: %u}\n",
                           n, n * n * n);
            driven = run_all("on_error: skip", stages, &(struct drive){.n_jobs = n});
            assert_string_equal(error_text(&driven), "");
            assert_int_equal(driven.n_rows, 95);
            assert_int_equal(driven.stats.n_bad_records, 5);
            if (n > 1)
                assert_string_equal(driven.digest, digest);
            memcpy(digest, driven.digest, sizeof(digest));
        }
    }
}

static void test_reasons(void **state) {
    (void)state;
    check_error("crash", "",
                "n.jsonl:10: streams.x.exec: the helper was killed by signal 6 (Aborted)");
    check_error("exit", "", "the helper exited with status 1; it said: no more of this");
    check_error("hang", ", deadline: 0.3",
                "n.jsonl:10: streams.x.exec: the helper gave no answer within 0.3 s");
    check_error("garbage", "", "the helper answered with what is not JSON: byte 1: ");
    check_error("list", "", "the answer is an array; an object was expected");
    check_error("missing", "", "exec.twice: the answer has no such field");
    check_error("type", "", "exec.twice: the answer's value is a string; int64 was expected");
    check_error("item", "", "exec.ids: item 1 of the answer's list is null; list<int32> was");
    check_error("range", "", "exec.ids: 1099511627776 does not fit in int32");
    check_error("long", "", "exec.ids: the answer's list has 7 items; at most 6 were expected");
    check_error("huge", ", max_line_bytes: 1MB", "answered with a line longer than max_line_bytes");
    check_error("error", "", "n.jsonl:10: streams.x.exec: not today");
    check_error("close", "", "the helper closed its output and went on");
    check_error("leave", "", "");
    check_error("shout", "", "");
    check_error("twice", "", "the helper answers more than it was asked");
}

static void test_gives_up(void **state) {
    struct driven driven;

    (void)state;
    write_records(100, 1, "exit");
    driven = run_all("on_error: skip",
                     "- exec: {command: [python3, -S, helper.py], schema: {twice: int64, ids: "
                     "'int32[<=6]'}, max_restarts: 2}\n",
                     &(struct drive){.n_jobs = 1});
    assert_string_equal(error_text(&driven),
                        "streams.x: the helper failed 3 times in a row without a good answer "
                        "(max_restarts 2); at last it exited with status 1; it said: no more of "
                        "this");
}

static void test_limits(void **state) {
    struct driven driven;

    (void)state;
    write_records(3, 0, "");
    folder_print("helper.py", "import json, sys\n"
                              "for line in sys.stdin:\n"
                              "    x = b'1' * (1 << 30)\n"
                              "    print(json.dumps({'twice': 0, 'ids': []}))\n");
    driven = run_all("", EXEC(", max_memory: 300MB"), &(struct drive){.n_jobs = 1});
    assert_non_null(strstr(error_text(&driven), "it said: MemoryError"));
    folder_print(
        "helper.py",
        "import json, os, sys, resource\n"
        "for line in sys.stdin:\n"
        "    ok = (sorted(os.listdir('/proc/self/fd'))[:3] == ['0', '1', '2']\n"
        "          and len(os.listdir('/proc/self/fd')) == 4 and os.getsid(0) == os.getpid()\n"
        "          and resource.getrlimit(resource.RLIMIT_NPROC)[0] == 77\n"
        "          and os.environ['A'] == 'b=c' and 'LEAT_SECRET' not in os.environ\n"
        "          and os.environ['PYTHONUNBUFFERED'] == '1' and os.path.exists('n.jsonl'))\n"
        "    print(json.dumps({'twice': json.loads(line)['n'] * 2 if ok else -1, 'ids': []}))\n");
    (void)setenv("LEAT_SECRET", "1", 1);
    driven =
        run_all("", EXEC(", max_tasks: 77, environment: {A: b=c}"), &(struct drive){.n_jobs = 1});
    assert_string_equal(error_text(&driven), "");
    assert_int_equal(driven.n_rows, 3);
}

/* The group of a process dies with it, so that a fork bomb ends at its deadline. */
static void test_bombs(void **state) {
    struct driven driven;
    char *pid;

    (void)state;
    write_records(2, 0, "");
    folder_print("helper.py", "import json, os, sys, time\n"
                              "for line in sys.stdin:\n"
                              "    for i in range(20):\n"
                              "        if os.fork() == 0:\n"
                              "            open('child', 'w').write(str(os.getpid()))\n"
                              "            time.sleep(60)\n"
                              "            os._exit(0)\n"
                              "    time.sleep(60)\n");
    driven = run_all("", EXEC(", deadline: 0.7"), &(struct drive){.n_jobs = 1});
    assert_non_null(strstr(error_text(&driven), "gave no answer within 0.7 s"));
    pid = folder_read("child");
    assert_non_null(pid);
    for (int i = 0; i < 100 && kill(atoi(pid), 0) == 0; i++) {
        char path[64], *status;
        FILE *file;

        (void)snprintf(path, sizeof(path), "/proc/%d/stat", atoi(pid));
        file = fopen(path, "r");
        status = calloc(1, 256);
        if (file && fread(status, 1, 255, file) > 0 && strstr(status, ") Z"))
            i = 100; /* whoever is its parent now has not collected it */
        if (file)
            (void)fclose(file);
        free(status);
        assert_true(i != 99);
        (void)usleep(20000);
    }
    free(pid);
}

static void test_head_and_types(void **state) {
    char *rows;

    (void)state;
    folder_print("a.jsonl", "{\"t\": \"\\u00e9\\n\\\"\", \"x\": 1.5, \"l\": [1, 2]}\n"
                            "{\"t\": \"\", \"x\": -0.0, \"l\": []}\n");
    rows =
        stream_head("jsonl: {paths: [a.jsonl]}", "",
                    "- exec: {command: [/bin/cat], schema: {t: text, x: float16, l: 'int64[]'}}\n"
                    "- exec: {command: [cat], inputs: [x], schema: {x: 'float64'}}\n"
                    "- select: {fields: [t, x, l]}\n"
                    "- template: {output: e, parts: ['1']}\n- cast: {input: e, dtype: int32}\n"
                    "- select: {fields: [e]}",
                    2, 10);
    assert_string_equal(rows, "{\"t\": \"é\\n\\\"\", \"x\": 1.5, \"l\": [1, 2]}\n"
                              "{\"t\": \"\", \"x\": -0.0, \"l\": []}\n");
    free(rows);
}

static void test_refused(void **state) {
    (void)state;
    check_refused(
        "a\n1\n", "- exec: {command: [/no/such], schema: {a: text}}",
        "x.yaml:5:25: streams.x.stages[0].exec.command: there is no program \"/no/such\"");
    check_refused("a\n1\n", "- exec: {command: [no-such-program], schema: {a: text}}",
                  "x.yaml:5:25: streams.x.stages[0].exec.command: there is no program "
                  "\"no-such-program\" on the PATH");
    check_refused("a\n1\n", "- exec: {command: [cat], directory: no, schema: {a: text}}",
                  "x.yaml:5:43: streams.x.stages[0].exec.directory: \"no\" is no directory");
    check_refused("a\n1\n", "- exec: {command: [cat], inputs: [b], schema: {a: text}}",
                  "x.yaml:5:40: streams.x.stages[0].exec.inputs: there is no field \"b\" here; did "
                  "you mean \"a\"?");
    check_refused(
        "a\n1\n", "- exec: {command: [cat], schema: {a: 'text[3]'}}",
        "x.yaml:5:40: streams.x.stages[0].exec.schema: field \"a\": \"text[3]\" is no type; "
        "write text, bool, int64, float32 or the like, float32[8] for lists of just 8, "
        "int32[<=512] for lists of at most 512, int32[] for any");
    check_refused(
        "a\n1\n", "- exec: {command: [cat], environment: {a=b: c}, schema: {a: text}}",
        "x.yaml:5:45: streams.x.stages[0].exec.environment: \"a=b\" is no variable's name");
}

/* Only for whom the opener allows it. */
static void test_permission(void **state) {
    struct leat_spec *spec;
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_plan *plan = NULL;

    (void)state;
    folder_print("in.csv", "a\n1\n");
    spec =
        stream_spec("csv: {paths: [in.csv]}", "", "- exec: {command: [cat], schema: {b: int64}}");
    assert_int_equal(leat_plan_new(spec, &leat_opener_any, &plan, &err), -EACCES);
    assert_non_null(strstr(err.message, "`exec` of the daemon's settings"));
    leat_spec_free(spec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),          cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_reasons),        cmocka_unit_test(test_gives_up),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_head_and_types), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_permission),
    };

    return cmocka_run_group_tests(tests, folder_open, folder_close);
}
