/* test_exec.c: pipeline/stages/exec/exec.c with its worker pool and helpers. */
#include "pipeline/stages/exec/worker.h"
#include "tests/pipeline/shared_stream.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/skip.h"

/* Answers as fast as it is asked; what a record says it does. */
static const char helper[] =
    "import json, os, sys, time\n"
    "def say(**answer): print(json.dumps({'_leat': record['_leat'], **answer}))\n"
    "for line in sys.stdin:\n"
    "    record = json.loads(line)\n"
    "    do = record.get('do', '')\n"
    "    n = record['n']\n"
    "    if do == 'crash': os.abort()\n"
    "    if do == 'exit': sys.exit('no more of this')\n"
    "    if do == 'quit': sys.exit(0)\n"
    "    if do == 'hang': time.sleep(100000)\n"
    "    if do == 'stop': os.kill(os.getpid(), 19)\n"
    "    if do == 'garbage': print('hello'); continue\n"
    "    if do == 'list': print([1]); continue\n"
    "    if do == 'nan': say(twice=2 * n, ids=[float('nan')]); continue\n"
    "    if do == 'swallow': continue\n"
    "    if do == 'cut': print(end='50%|###'); say(twice=1, ids=[]); continue\n"
    "    if do == 'missing': say(); continue\n"
    "    if do == 'type': say(twice='x', ids=[]); continue\n"
    "    if do == 'item': say(twice=1, ids=[1, None]); continue\n"
    "    if do == 'range': say(twice=1, ids=[1 << 40]); continue\n"
    "    if do == 'long': say(twice=1, ids=[1] * 7); continue\n"
    "    if do == 'huge': print('[' + '1,' * 2000000 + '1]'); continue\n"
    "    if do == 'drop': say(_drop=True); continue\n"
    "    if do == 'error': say(error='not today'); continue\n"
    "    if do == 'leave': say(twice=2 * n, ids=[n]); sys.exit(0)\n"
    "    if do == 'fall': say(twice=2 * n, ids=[n]); os.abort()\n"
    "    if do == 'close': os.close(1); time.sleep(100000)\n"
    "    if do == 'again': say(twice=2 * n + 1, ids=[])\n"
    "    if do == 'before': print('x'); print(); print('{}'); print('[' * 5000); print('0' * "
    "70000)\n"
    "    if do == 'untagged': print(json.dumps({'twice': 2 * n, 'ids': []})); continue\n"
    "    if do == 'mistagged': record['_leat'] = 7\n"
    "    if do == 'shout': print('x' * 10, '\\x1b[2J', 'y' * 1000, file=sys.stderr)\n"
    "    if do == 'once' and not os.path.exists(str(n)): open(str(n), 'w'); os.abort()\n"
    "    say(twice=2 * n, ids=[n] * (n % 4), more=None)\n"
    "    if do == 'after': print('[1, 2]'); sys.stdout.buffer.write(b'\\0\\xff\\n{\"a\": 1\\n')\n";

#define EXEC(more)                                                                                 \
    "- exec: {command: [python3, -S, helper.py], schema: {twice: int64, ids: 'int32[<=6]'}, "      \
    "max_restarts: 100" more "}\n"
#define ENDING "- pad: {input: ids, length: 6, value: -1}\n- select: {fields: [n, twice, ids]}\n"

/* 100 of them are more than two blocks of the smallest size. */
#define RECORD "{\"n\": %d, \"do\": \"%s\", \"long\": \"" SPACES SPACES "\"}\n"
#define SPACES "                                        "

static void write_records(int n, int every, const char *what) {
    struct leat_text text = {.data = NULL};

    for (int i = 0; i < n; i++)
        leat_text_add(&text, RECORD, i, every > 0 && i % every == every - 1 ? what : "");
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
    bool is_right = true;
    size_t n_values;
    char all[2048];

    (void)snprintf(all, sizeof(all), "%s" ENDING "- batch: {batch_size: 10}", stages);
    again.options.n_epochs = 1;
    again.on_batch = collect;
    again.user = &twice;
    driven = drive_stream(SOURCE, options, all, &again);
    n_values = twice.n_values;
    for (size_t i = 0; i < n_values && is_right; i++)
        is_right = twice.values[i] % 2 == 0 && (i == 0 || twice.values[i] > twice.values[i - 1]);
    collected_free(&twice);
    assert_true(is_right);
    assert_int_equal(n_values, driven.n_rows);
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

/* Faults in 100 records, each with other neighbours than the last time: the number of bad ones. */
static unsigned write_faults(const char *const *kinds, int n_kinds, int every) {
    struct leat_text text = {.data = NULL};
    unsigned n_bad = 0;

    for (int i = 0; i < 100; i++) {
        const char *kind = i % every == every - 1 ? kinds[i / every * 7 % n_kinds] : "";

        leat_text_add(&text, RECORD, i, kind);
        n_bad += kind[0] && !strstr("before after fall leave once shout", kind);
    }
    folder_write("n.jsonl", text.data, text.n_bytes);
    free(text.data);
    return n_bad;
}

static int count_fds(void) {
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(folder);
    while (readdir(folder))
        n++;
    (void)closedir(folder);
    return n;
}

/* Whatever a helper does at a record, it is that record which is bad, and all others are good,
 * however many processes there are, however far ahead they are asked, and wherever blocks end. */
static void check_ways(const char *command, const char *more, unsigned n_bad, size_t n_ways) {
    static const struct {
        unsigned n_processes, n_ahead, block_bytes;
    } ways[] = {{3, 27, 65536}, {1, 1, 4096}, {2, 8, 4096}, {1, 32, 65536}};
    char digest[LEAT_DIGEST_HEX_SIZE] = "";
    int n_fds = count_fds();

    for (size_t i = 0; i < n_ways; i++) {
        char stages[512], options[64];
        struct driven driven;

        (void)snprintf(options, sizeof(options), "on_error: skip\n    block_bytes: %u",
                       ways[i].block_bytes);
        (void)snprintf(stages, sizeof(stages),
                       "- exec: {command: [%s], schema: {twice: int64, ids: 'int32[<=6]'}, "
                       "max_line_bytes: 1MB, processes: %u, ahead: %u%s}\n",
                       command, ways[i].n_processes, ways[i].n_ahead, more);
        driven = run_all(options, stages, &(struct drive){.n_jobs = (unsigned)i % 2 + 1});
        assert_string_equal(error_text(&driven), "");
        assert_int_equal(driven.stats.counts.figures.n_bad_records, n_bad);
        assert_int_equal(driven.n_rows, 100 - n_bad);
        if (i > 0)
            assert_string_equal(driven.digest, digest);
        memcpy(digest, driven.digest, sizeof(digest));
    }
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    assert_int_equal(count_fds(), n_fds);
}

static void test_faults(void **state) {
    static const char *const kinds[] = {"again", "before", "swallow", "crash",   "after", "error",
                                        "fall",  "cut",    "quit",    "type",    "leave", "nan",
                                        "exit",  "once",   "shout",   "garbage", "huge",  "list"};

    (void)state;
    write_records(1, 0, "");
    check_ways("python3, -S, helper.py", "",
               write_faults(kinds, sizeof(kinds) / sizeof(kinds[0]), 5), 4);
}

/* Two of three processes hang at the same time. What is answered at all comes long before the
 * deadline. */
static void test_hangs(void **state) {
    static const char *const kinds[] = {"hang", "stop"};

    (void)state;
    write_records(1, 0, "");
    check_ways("python3, -S, helper.py", ", deadline: 1", write_faults(kinds, 2, 50), 1);
}

/* A process for each record, or one that ends in good order now and then. */
static void test_leaves(void **state) {
    static const char *const helpers[] = {
        "IFS= read -r a && echo \"$a\"",
        "for i in 1 2 3 4 5 6 7; do IFS= read -r a && echo \"$a\"; done; exit 0"};
    struct leat_text text = {.data = NULL};

    (void)state;
    for (int i = 0; i < 100; i++)
        leat_text_add(&text, "{\"n\": %d, \"twice\": %d, \"ids\": [], \"long\": \"%s\"}\n", i,
                      2 * i, SPACES SPACES);
    folder_write("n.jsonl", text.data, text.n_bytes);
    free(text.data);
    for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++) {
        folder_print("helper.sh", "%s\n", helpers[i]);
        check_ways("sh, helper.sh", "", 0, 4);
    }
}

static void test_reasons(void **state) {
    (void)state;
    check_error("crash", "",
                "n.jsonl:10: streams.x.exec: the program was killed by signal 6 (Aborted)");
    check_error("exit", "",
                "the program exited with status 1; it wrote to stderr: no more of this");
    check_error("quit", "", "the program exited with status 0");
    check_error("hang", ", deadline: 1",
                "n.jsonl:10: streams.x.exec: the program did not answer within 1 s:");
    check_error("garbage", "",
                "n.jsonl:10: streams.x.exec: the program did not answer this record, but answered "
                "a later one; it wrote to stdout: \"hello\"");
    check_error("list", "", "this record, but answered a later one; it wrote to stdout: an array");
    check_error("nan", "", "a later one; it wrote to stdout: invalid JSON: byte ");
    check_error("cut", "", "a later one; it wrote to stdout: \"50%|###{...\"");
    check_error("swallow", "", "the program did not answer this record, but answered a later one");
    check_error("again", "",
                "n.jsonl:10: streams.x.exec: the program answered this record more than once");
    check_error("missing", "", "exec.twice: the answer lacks this field");
    check_error("type", "", "exec.twice: the answer's value is a string, not int64");
    check_error(
        "item", "",
        "exec.ids: item 1 of the list in the program's answer is null, but the field is int32[]");
    check_error("range", "", "exec.ids: 1099511627776 does not fit in int32");
    check_error("long", "", "exec.ids: the answer's list has 7 items; at most 6 are possible");
    check_error("huge", ", max_line_bytes: 1MB",
                "it wrote to stdout: a line that is longer than max_line_bytes");
    check_error("error", "", "n.jsonl:10: streams.x.exec: not today");
    check_error("close", "", "the program closed its output but did not end");
    check_error("leave", "", "");
    check_error("shout", "", "");
    check_error("untagged", "",
                "streams.x: the program's answer has no \"_leat\": each answer must repeat this "
                "key of its record, as in {\"_leat\": record[\"_leat\"], ...}");
    check_error("mistagged", "", "streams.x: the program answered a record that leat did not send");
}

/* Answers of threads in any order: it is told what is wrong, and no row is wrong. */
/* Records that it leaves out are gone as those of a filter: where it stands, for any number of
 * processes. */
static void test_drops(void **state) {
    static const struct {
        const char *exec, *behind;
        uint64_t n_rows;
    } ways[] = {
        {EXEC(", drops: true"), "", 400},
        {EXEC(", drops: true, processes: 3"), "", 400},
        {"- take: {count: 90}\n" EXEC(", drops: true"), "", 60},
        {EXEC(", drops: true"), "- take: {count: 90}\n", 90},
    };
    char digest[LEAT_DIGEST_HEX_SIZE] = "";

    (void)state;
    write_records(600, 3, "drop");
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct drive how = {.n_jobs = 4, .random = i + 1};
        char stages[1024];
        struct driven driven;

        (void)snprintf(stages, sizeof(stages), "%s%s", ways[i].exec, ways[i].behind);
        driven = run_all("block_bytes: 4096", stages, &how);
        assert_string_equal(error_text(&driven), "");
        assert_int_equal(driven.n_rows, ways[i].n_rows);
        if (i == 1)
            assert_string_equal(driven.digest, digest);
        memcpy(digest, driven.digest, sizeof(digest));
    }
    check_error("drop", "",
                "n.jsonl:10: streams.x.exec: the program may not drop the record: to allow "
                "this, set `drops: true`");
}

static void test_answers_out_of_order(void **state) {
    struct driven driven;

    (void)state;
    write_records(100, 0, "");
    folder_print("helper.py", "import json, sys\n"
                              "held = None\n"
                              "for line in sys.stdin:\n"
                              "    record = json.loads(line)\n"
                              "    record.update(twice=2 * record['n'], ids=[])\n"
                              "    if record['n'] == 40: held = record; continue\n"
                              "    print(json.dumps(record))\n"
                              "    if held: print(json.dumps(held)); held = None\n");
    driven = run_all("on_error: skip", EXEC(""), &(struct drive){.n_jobs = 1});
    assert_non_null(strstr(error_text(&driven),
                           "the program answered a record that leat did not send: answer each "
                           "record once, in order"));
}

static void test_gives_up(void **state) {
    struct driven driven;

    (void)state;
    write_records(100, 1, "exit");
    driven = run_all("on_error: skip",
                     "- exec: {command: [python3, -S, helper.py], schema: {twice: int64, ids: "
                     "'int32[<=6]'}, max_restarts: 2}\n",
                     &(struct drive){.n_jobs = 1});
    assert_string_equal(
        error_text(&driven),
        "streams.x: the program failed 3 times in a row without an answer (max_restarts 2); the "
        "last time, it exited with status 1; it wrote to stderr: no more of this");
}

static void test_limits(void **state) {
    struct driven driven;

    (void)state;
    SKIP_CASE_IF_EMULATED("qemu sets no RLIMIT_AS");
    write_records(3, 0, "");
    folder_print("helper.py", "import json, sys\n"
                              "for line in sys.stdin:\n"
                              "    x = b'1' * (1 << 30)\n"
                              "    print(line)\n");
    driven = run_all("", EXEC(", max_memory: 300MB"), &(struct drive){.n_jobs = 1});
    assert_non_null(strstr(error_text(&driven), "it wrote to stderr: MemoryError"));
    folder_print(
        "helper.py",
        "import json, os, sys, resource\n"
        "for line in sys.stdin:\n"
        "    ok = (sorted(os.listdir('/proc/self/fd'))[:3] == ['0', '1', '2']\n"
        "          and len(os.listdir('/proc/self/fd')) == 4 and os.getsid(0) == os.getpid()\n"
        "          and resource.getrlimit(resource.RLIMIT_NPROC)[0] == 77\n"
        "          and os.environ['A'] == 'b=c' and 'LEAT_SECRET' not in os.environ\n"
        "          and os.environ['PYTHONUNBUFFERED'] == '1' and os.path.exists('n.jsonl'))\n"
        "    record = json.loads(line)\n"
        "    record.update(twice=record['n'] * 2 if ok else -1, ids=[])\n"
        "    print(json.dumps(record))\n");
    (void)setenv("LEAT_SECRET", "1", 1);
    driven =
        run_all("", EXEC(", max_tasks: 77, environment: {A: b=c}"), &(struct drive){.n_jobs = 1});
    assert_string_equal(error_text(&driven), "");
    assert_int_equal(driven.n_rows, 3);
}

/* Gone; or dead, and whoever is its parent now has not collected it. */
static bool is_dead(pid_t pid) {
    char path[64], status[256] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (!file)
        return true;
    if (!fgets(status, sizeof(status), file))
        status[0] = '\0'; /* it ended meanwhile */
    (void)fclose(file);
    return !status[0] || strstr(status, ") Z");
}

/* The group of a process dies with it, so that a fork bomb ends at its deadline. */
static void test_bombs(void **state) {
    struct driven driven;
    char *pid;

    (void)state;
    write_records(2, 0, "");
    folder_print("helper.py", "import json, os, sys, time\n"
                              "for line in sys.stdin:\n"
                              "    record = json.loads(line)\n"
                              "    if record['n'] == 1: time.sleep(100000)\n"
                              "    for i in range(20):\n"
                              "        pid = os.fork()\n"
                              "        if pid == 0: time.sleep(100000)\n"
                              "    with open('child', 'w') as file: file.write(str(pid))\n"
                              "    print(json.dumps({**record, 'twice': 0, 'ids': []}))\n");
    driven = run_all("", EXEC(", deadline: 1"), &(struct drive){.n_jobs = 1});
    assert_non_null(strstr(error_text(&driven), "did not answer within 1 s"));
    pid = folder_read("child");
    assert_non_null(pid);
    for (int i = 0; !is_dead(atoi(pid)); i++) {
        assert_in_range(i, 0, 6000);
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
    /* an integer zero with a sign, and values that are not of the schema */
    rows = stream_head(
        "jsonl: {paths: [a.jsonl]}", "",
        "- exec: {command: [sed, -u, 's/^.*\\(\"_leat\": *\"[^\"]*\"\\).*$/{\\1, \"x\": "
        "-0, \"l\": [0, -0], \"n\": 1e999, \"s\": \"\\\\udc00\"}/'], "
        "schema: {x: float32, l: 'float64[]'}}\n- select: {fields: [x, l]}",
        0, 1);
    assert_non_null(strstr(rows, "\"x\": -0.0, \"l\": [0.0, -0.0]}\n"));
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
                  "x.yaml:5:43: streams.x.stages[0].exec.directory: \"no\" is not a directory");
    check_refused("a\n1\n", "- exec: {command: [cat], inputs: [b], schema: {a: text}}",
                  "x.yaml:5:40: streams.x.stages[0].exec.inputs: there is no field \"b\" here; did "
                  "you mean \"a\"?");
    check_refused("a\n1\n", "- exec: {command: [cat], schema: {a: 'text[3]'}}",
                  "x.yaml:5:40: streams.x.stages[0].exec.schema: field \"a\": \"text[3]\" is not a "
                  "type: write a type such as text, bool or float32, or a list such as float32[8] "
                  "(8 items), int32[<=512] (at most 512) or int32[] (any number)");
    check_refused("a\n1\n", "- exec: {command: [cat], schema: {_leat: text}}",
                  "x.yaml:5:40: streams.x.stages[0].exec.schema: \"_leat\" cannot be a field: in "
                  "an answer, it names the record");
    check_refused("_leat\n1\n", "- exec: {command: [cat], schema: {a: text}}",
                  "x.yaml:5:9: streams.x.stages[0].exec.inputs: leat adds its own \"_leat\" to "
                  "each record: rename the field");
    check_refused(
        "a\n1\n", "- exec: {command: [cat], environment: {a=b: c}, schema: {a: text}}",
        "x.yaml:5:45: streams.x.stages[0].exec.environment: \"a=b\" is not a valid name for an "
        "environment variable");
}

static void test_tags(void **state) {
    struct leat_exec_pending pending;
    uint32_t tags[5], place;
    struct leat_json *json;

    (void)state;
    assert_int_equal(leat_exec_pending_init(&pending, 3), 0);
    assert_int_equal(leat_json_new(0, &json), 0);
    for (uint32_t i = 0; i < 5; i++) {
        struct leat_error err = LEAT_ERROR_INIT;
        struct leat_json_node root;
        char line[64] = "{\"a\": 1, \"_leat\": \"00000000\"}";

        tags[i] = leat_exec_pending_add(&pending, i);
        for (uint32_t k = 0; k < i; k++)
            assert_true(tags[k] != tags[i]);
        leat_exec_tag_write(strstr(line, "00000000"), tags[i]);
        assert_int_equal(leat_json_parse(json, line, strlen(line), strlen(line), &root, &err), 0);
        assert_int_equal(leat_exec_pending_match(&pending, root, &place), LEAT_EXEC_ANSWER);
        assert_int_equal(place, pending.n - 1);
        if (i == 1)
            continue;
        while (pending.n > 0)
            (void)leat_exec_pending_take(&pending);
        assert_int_equal(pending.last.row, i);
        assert_int_equal(leat_exec_pending_match(&pending, root, &place), LEAT_EXEC_AGAIN);
        leat_exec_pending_clear(&pending);
        assert_int_equal(leat_exec_pending_match(&pending, root, &place), LEAT_EXEC_MISTAGGED);
    }
    leat_json_free(json);
    leat_exec_pending_deinit(&pending);
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
    assert_int_equal(leat_pipeline_open(spec, &leat_opener_any, &plan, &err), -EACCES);
    assert_non_null(strstr(err.message, "the daemon's setting `exec`"));
    leat_spec_free(spec);
}

/* The system's Python first: shims in front of it take many times as long to start. */
static int open_all(void **state) {
    const char *path = getenv("PATH");
    char all[4096];

    (void)snprintf(all, sizeof(all), "/usr/bin:/bin:%s", path ? path : "");
    (void)setenv("PATH", all, 1);
    return folder_open(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),          cmocka_unit_test(test_faults),
        cmocka_unit_test(test_hangs),          cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_reasons),        cmocka_unit_test(test_answers_out_of_order),
        cmocka_unit_test(test_drops),          cmocka_unit_test(test_gives_up),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_head_and_types), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_tags),           cmocka_unit_test(test_permission),
    };

    return cmocka_run_group_tests(tests, open_all, folder_close);
}
