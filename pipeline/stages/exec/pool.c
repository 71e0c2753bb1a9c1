/* exec/pool.c: see exec/pool.h. One poll watches all pipes; every wait has a deadline. */
#include "pipeline/stages/exec/pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/stages/exec/worker.h"
#include "proto/base/clock.h"

#define SECOND_NS       UINT64_C(1000000000)
#define MS_NS           (SECOND_NS / 1000)
#define TURN_MS         1000
#define BACK_OFF_NS     (SECOND_NS / 100) /* doubled by each failure in a row */
#define BACK_OFF_MAX    7                 /* times: to 1.28 s */
#define UNWRITTEN_BYTES (64U << 10)       /* requests in front of a full pipe */
#define DRAIN_READS     16                /* a pipe of the largest size */
#define END_MS          500
#define FDS_A_WORKER    4

struct leat_exec_pool {
    const struct leat_exec_rules *rules;
    struct leat_exec_values *values; /* [n_fields] */
    struct leat_json *json;
    uint64_t used_ns;
    uint64_t clock_ns;       /* does not count time in which we were stopped or starved */
    uint64_t read_ns;        /* when the clock was read last */
    struct leat_text canary; /* the request of a record that was answered; "": there is none yet */

    /* of the block */
    struct leat_map *map;
    struct leat_error *err;
    uint32_t *rows;          /* that are to be asked, the next one last */
    bool *has_failed;        /* [rows of the block]: a process failed at it */
    uint32_t n_rows, n_left; /* n_left: neither answered nor bad */
    size_t n_workers;
    struct leat_exec_worker workers[]; /* [n_processes] */
};

/* ---- life ---- */

int leat_exec_pool_new(const struct leat_exec_rules *rules, struct leat_exec_pool **ret_pool,
                       struct leat_error *err) {
    struct leat_exec_pool *pool =
        calloc(1, sizeof(*pool) + rules->n_processes * sizeof(pool->workers[0]));
    int r = 0;

    if (!pool)
        return leat_error_oom(err);
    pool->rules = rules;
    for (uint32_t i = 0; i < rules->n_processes; i++)
        r |= leat_exec_worker_init(&pool->workers[i], rules->n_pending);
    pool->values = calloc(rules->schema.n_fields, sizeof(*pool->values));
    if (r < 0 || !pool->values || leat_json_new(0, &pool->json) < 0) {
        leat_exec_pool_free(pool);
        return leat_error_oom(err);
    }
    *ret_pool = pool;
    return 0;
}

void leat_exec_pool_free(void *workspace) {
    struct leat_exec_pool *pool = workspace;

    for (uint32_t i = 0; i < pool->rules->n_processes; i++)
        leat_exec_worker_deinit(&pool->workers[i]);
    for (size_t i = 0; pool->values && i < pool->rules->schema.n_fields; i++)
        free(pool->values[i].data);
    free(pool->values);
    free(pool->canary.data);
    leat_json_free(pool->json);
    free(pool);
}

void leat_exec_pool_idle(void *workspace, bool is_final) {
    struct leat_exec_pool *pool = workspace;
    uint64_t end_ns = leat_now_ns() + END_MS * MS_NS;

    if (!is_final && leat_now_ns() - pool->used_ns < pool->rules->idle_ns)
        return;
    for (uint32_t i = 0; i < pool->rules->n_processes; i++)
        if (pool->workers[i].helper.in >= 0) {
            (void)close(pool->workers[i].helper.in); /* all at once, so that they end together */
            pool->workers[i].helper.in = -1;
        }
    for (uint32_t i = 0; i < pool->rules->n_processes; i++) {
        uint64_t time_ns = leat_now_ns();

        leat_helper_end(&pool->workers[i].helper,
                        time_ns < end_ns ? (int)((end_ns - time_ns) / MS_NS) : 0);
        leat_exec_worker_kill(&pool->workers[i], NULL);
    }
}

/* ---- questions ---- */

static int ask(struct leat_exec_pool *pool, struct leat_exec_worker *worker, uint32_t row) {
    struct leat_text *to = &worker->helper.to;
    size_t start = to->n_bytes;
    const char *input;
    int r = 0;

    if (row == LEAT_EXEC_CANARY)
        leat_text_add_bytes(to, pool->canary.data, pool->canary.n_bytes);
    else
        r = leat_exec_schema_ask(&pool->rules->schema, pool->map, row, to, &input);
    if (r == -EINVAL) {
        leat_map_reject(pool->map, row, input, "is not valid UTF-8");
        pool->n_left--;
        return 0;
    }
    if (r < 0 || to->failed)
        return leat_error_oom(pool->err);
    if (worker->pending.n == 0)
        worker->since_ns = pool->clock_ns;
    leat_exec_schema_tag(to->data + start, leat_exec_pending_add(&worker->pending, row));
    worker->is_open = row != LEAT_EXEC_CANARY;
    return 0;
}

/* Each worker gets its share of a small block. */
static uint32_t share(const struct leat_exec_pool *pool) {
    uint32_t n = (pool->n_left + (uint32_t)pool->n_workers - 1) / (uint32_t)pool->n_workers;

    return n < pool->rules->n_pending ? n : pool->rules->n_pending;
}

/* Asks half a share at least, so that a system call is for many. Behind the last record of a block
 * comes the canary. */
static int ask_share(struct leat_exec_pool *pool, struct leat_exec_worker *worker) {
    uint32_t n = worker->pending.n > share(pool) / 2 ? 0 : share(pool);
    int r = 0;

    while (r == 0 && pool->n_rows > 0 && worker->pending.n < n &&
           leat_helper_n_unwritten(&worker->helper) < UNWRITTEN_BYTES)
        r = ask(pool, worker, pool->rows[--pool->n_rows]);
    if (r == 0 && pool->n_rows == 0 && pool->canary.n_bytes > 0 && worker->is_open)
        r = ask(pool, worker, LEAT_EXEC_CANARY);
    return r;
}

/* ---- verdicts ---- */

static void listen_to(struct leat_exec_pool *pool, struct leat_exec_worker *worker) {
    const char *line;

    while ((line = leat_helper_listen(&worker->helper)))
        leat_map_note(pool->map, "%s", line);
}

static void ask_again(struct leat_exec_pool *pool, uint32_t row) {
    if (row != LEAT_EXEC_CANARY)
        pool->rows[pool->n_rows++] = row;
}

/* Has the record asked again after the first failure; the second one makes it bad. */
static void fail_row(struct leat_exec_pool *pool, uint32_t row, const char *why) {
    if (row != LEAT_EXEC_CANARY && pool->has_failed[row]) {
        leat_map_reject(pool->map, row, NULL, "the program %s", why);
        pool->n_left--;
    } else if (row != LEAT_EXEC_CANARY) {
        pool->has_failed[row] = true;
        ask_again(pool, row);
    }
}

static void describe_end(int status, char *text, size_t size) {
    if (status == -1)
        (void)snprintf(text, size, "ended");
    else if (WIFSIGNALED(status))
        (void)snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(text, size, "exited with status %d", WEXITSTATUS(status));
}

static int count_failure(struct leat_exec_pool *pool, struct leat_exec_worker *worker,
                         const char *why) {
    uint32_t shift = worker->n_failures < BACK_OFF_MAX ? worker->n_failures : BACK_OFF_MAX;

    worker->n_failures++;
    worker->start_ns = pool->clock_ns + (BACK_OFF_NS << shift);
    if (worker->n_failures <= pool->rules->max_restarts)
        return 0;
    return leat_error_set(pool->err, -ECHILD,
                          "the program failed %u times in a row without an answer (max_restarts "
                          "%u); the last time, it %s",
                          worker->n_failures, pool->rules->max_restarts, why);
}

/* Kills a process that is of no use any more. fault: what it did; NULL: it ended. The oldest
 * pending record is to blame, unless the process left in good order or had nothing to do; the
 * others are asked again. */
static int end_worker(struct leat_exec_pool *pool, struct leat_exec_worker *worker,
                      const char *fault) {
    bool has_answered = worker->has_answered, was_asked = worker->pending.n > 0;
    char words[LEAT_ERROR_MESSAGE_MAX / 2], end[128], why[LEAT_ERROR_MESSAGE_MAX];
    uint32_t row = was_asked ? leat_exec_pending_take(&worker->pending) : LEAT_EXEC_CANARY;
    int status = -1;

    listen_to(pool, worker);
    leat_exec_worker_explain(worker, words, sizeof(words));
    while (worker->pending.n > 0)
        ask_again(pool, leat_exec_pending_take_back(&worker->pending));
    leat_exec_worker_kill(worker, &status);
    if (!fault && (!was_asked || (has_answered && status == 0))) {
        ask_again(pool, row);
        return 0;
    }
    describe_end(status, end, sizeof(end));
    (void)snprintf(why, sizeof(why), "%.128s%s", fault ? fault : end, words);
    leat_map_note(pool->map, "the program %.128s", fault ? fault : end);
    fail_row(pool, row, why);
    return count_failure(pool, worker, why);
}

/* ---- answers ---- */

/* The first record that was answered becomes the canary. */
static int keep_canary(struct leat_exec_pool *pool, uint32_t row) {
    const char *input;

    if (pool->canary.n_bytes > 0)
        return 0;
    return leat_exec_schema_ask(&pool->rules->schema, pool->map, row, &pool->canary, &input) < 0
               ? leat_error_oom(pool->err)
               : 0;
}

static int store(struct leat_exec_pool *pool, uint32_t row, struct leat_json_node answer) {
    struct leat_error fault = LEAT_ERROR_INIT;
    const char *reason;
    int r = 0;

    if (leat_exec_schema_says_error(&pool->rules->schema, answer, &reason))
        leat_map_reject(pool->map, row, NULL, "%s", reason);
    else if (leat_exec_schema_says_drop(answer) && pool->rules->drops)
        leat_map_drop(pool->map, row);
    else if (leat_exec_schema_says_drop(answer))
        leat_map_reject(pool->map, row, NULL,
                        "the program may not drop the record: to allow this, set `drops: true`");
    else
        r = leat_exec_schema_store(&pool->rules->schema, pool->map, pool->values, row, answer,
                                   &fault);
    if (r == -EINVAL)
        leat_map_reject(pool->map, row, fault.path[0] ? fault.path : NULL, "%s", fault.message);
    if (r == -EOVERFLOW)
        return leat_error_set(pool->err, r,
                              "the answers to one block have more than %u bytes: lower block_bytes",
                              LEAT_EXEC_VALUES_MAX);
    return r == 0 || r == -EINVAL ? keep_canary(pool, row) : leat_error_oom(pool->err);
}

/* Takes the answer to the question at that place; those before it were passed over. */
static int take_answer(struct leat_exec_pool *pool, struct leat_exec_worker *worker, uint32_t place,
                       struct leat_json_node answer) {
    char why[LEAT_ERROR_MESSAGE_MAX];
    uint32_t row;

    (void)snprintf(why, sizeof(why), "did not answer this record, but answered a later one%s%s",
                   worker->stray[0] ? "; it wrote to stdout: " : "", worker->stray);
    for (; place > 0; place--)
        fail_row(pool, leat_exec_pending_take(&worker->pending), why);
    row = leat_exec_pending_take(&worker->pending);
    worker->n_failures = 0;
    worker->has_answered = true;
    worker->since_ns = pool->clock_ns;
    worker->stray[0] = '\0';
    if (row == LEAT_EXEC_CANARY)
        return 0;
    pool->n_left--;
    return store(pool, row, answer);
}

static int take_stray(struct leat_exec_pool *pool, struct leat_exec_worker *worker,
                      struct leat_json_node line) {
    enum leat_json_kind kind = leat_json_kind(line);

    if (kind == LEAT_JSON_OBJECT && leat_exec_schema_is_answer(&pool->rules->schema, line))
        return leat_error_set(
            pool->err, -EPROTO,
            "the program's answer has no \"" LEAT_EXEC_TAG
            "\": each answer must repeat this key of its record, as in {\"" LEAT_EXEC_TAG
            "\": record[\"" LEAT_EXEC_TAG "\"], ...}");
    (void)snprintf(worker->stray, sizeof(worker->stray), "%s%s", leat_json_kind_name(kind),
                   kind == LEAT_JSON_OBJECT ? " without \"" LEAT_EXEC_TAG "\"" : "");
    leat_map_note(pool->map, "the program wrote to stdout: %s", worker->stray);
    return 0;
}

static int take_parsed(struct leat_exec_pool *pool, struct leat_exec_worker *worker,
                       struct leat_json_node line) {
    const struct leat_exec_question *last = &worker->pending.last;
    uint32_t place;

    switch (leat_exec_pending_match(&worker->pending, line, &place)) {
    case LEAT_EXEC_ANSWER:
        return take_answer(pool, worker, place, line);
    case LEAT_EXEC_AGAIN:
        if (last->row != LEAT_EXEC_CANARY)
            leat_map_reject(pool->map, last->row, NULL,
                            "the program answered this record more than once");
        return 0;
    case LEAT_EXEC_STRAY:
        return take_stray(pool, worker, line);
    default:
        return leat_error_set(
            pool->err, -EPROTO,
            "the program answered a record that leat did not send: answer each record once, in "
            "order, with its own \"" LEAT_EXEC_TAG "\"");
    }
}

static void note_long(struct leat_exec_worker *worker) {
    (void)snprintf(worker->stray, sizeof(worker->stray),
                   "a line that is longer than max_line_bytes");
}

/* A line that is no answer is passed over: its record is answered besides, or will be missed. */
static int take_line(struct leat_exec_pool *pool, struct leat_exec_worker *worker, const char *line,
                     size_t n_bytes) {
    struct leat_error fault = LEAT_ERROR_INIT;
    struct leat_json_node root;
    int r;

    if (n_bytes > pool->rules->how.max_line_bytes) {
        note_long(worker);
        return 0;
    }
    r = leat_json_parse_record(pool->json, line, n_bytes, n_bytes, &root, &fault);
    if (r == 0 && leat_json_may_have_minus_zero(line, n_bytes))
        r = leat_json_mark_zeros(pool->json, line, n_bytes);
    if (r == -ENOMEM)
        return leat_error_oom(pool->err);
    if (r == 0)
        return take_parsed(pool, worker, root);
    leat_exec_worker_note_broken(worker, line, n_bytes, &fault);
    leat_map_note(pool->map, "the program wrote to stdout: %s", worker->stray);
    return 0;
}

/* ---- pipes ---- */

/* Returns 1 if there may be more. */
static int read_lines(struct leat_exec_pool *pool, struct leat_exec_worker *worker) {
    int r = leat_helper_read(&worker->helper, &pool->rules->how), taken = 0;
    const char *line;
    size_t n_bytes;

    if (r == -ENOMEM)
        return leat_error_oom(pool->err);
    while (taken == 0 && leat_helper_next_line(&worker->helper, &line, &n_bytes))
        taken = take_line(pool, worker, line, n_bytes);
    if (taken < 0)
        return taken;
    if (r == -E2BIG)
        note_long(worker);
    if (worker->helper.has_closed && !worker->is_closing) {
        worker->is_closing = true;
        worker->since_ns = pool->clock_ns;
    }
    return r != 0;
}

/* Answers that have come count before the process is judged. */
static int drain(struct leat_exec_pool *pool, struct leat_exec_worker *worker) {
    int r = 1;

    for (int i = 0; r > 0 && i < DRAIN_READS; i++)
        r = read_lines(pool, worker);
    return r < 0 ? r : 0;
}

static int take_end(struct leat_exec_pool *pool, struct leat_exec_worker *worker) {
    int r = drain(pool, worker);

    return r == 0 ? end_worker(pool, worker, NULL) : r;
}

static uint64_t deadline_of(const struct leat_exec_pool *pool,
                            const struct leat_exec_worker *worker) {
    if (worker->is_closing)
        return worker->since_ns + SECOND_NS;
    if (worker->pending.n == 0)
        return UINT64_MAX;
    return worker->since_ns + pool->rules->deadline_ns +
           (worker->has_answered ? 0 : pool->rules->warm_up_ns);
}

static int check_deadline(struct leat_exec_pool *pool, struct leat_exec_worker *worker) {
    char why[128];
    int r;

    if (pool->clock_ns < deadline_of(pool, worker))
        return 0;
    r = drain(pool, worker);
    if (r < 0 || pool->clock_ns < deadline_of(pool, worker))
        return r;
    if (worker->is_closing)
        return end_worker(pool, worker, "closed its output but did not end");
    (void)snprintf(why, sizeof(why),
                   "did not answer within %.6g s%s: flush stdout after each answer, or "
                   "raise `deadline`",
                   (double)pool->rules->deadline_ns / 1e9,
                   worker->has_answered ? "" : " plus `warm_up`");
    return end_worker(pool, worker, why);
}

static int take_events(struct leat_exec_pool *pool, struct leat_exec_worker *worker,
                       const struct pollfd *fds) {
    int r = 0;

    if (worker->helper.pid == 0)
        return 0;
    if (fds[2].revents)
        listen_to(pool, worker);
    if (fds[0].revents)
        leat_helper_write(&worker->helper);
    if (fds[3].revents)
        return take_end(pool, worker);
    if (fds[1].revents)
        r = read_lines(pool, worker);
    return r < 0 ? r : check_deadline(pool, worker);
}

/* ---- turns ---- */

/* A program that cannot be started now failed like any other; one that never can ends the stream.
 */
static int start_worker(struct leat_exec_pool *pool, struct leat_exec_worker *worker) {
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_helper_start(&worker->helper, &pool->rules->how, &err);

    if (r == -EAGAIN || r == -ENOMEM || r == -EMFILE || r == -ENFILE)
        return count_failure(pool, worker, err.message);
    if (r < 0) {
        *pool->err = err;
        return r;
    }
    if (worker->n_failures == 0 || pool->canary.n_bytes == 0)
        return 0;
    return ask(pool, worker, LEAT_EXEC_CANARY);
}

static int tend(struct leat_exec_pool *pool, struct leat_exec_worker *worker) {
    int r = 0;

    if (worker->helper.pid == 0 && (pool->n_rows == 0 || pool->clock_ns < worker->start_ns))
        return 0;
    if (worker->helper.pid == 0)
        r = start_worker(pool, worker);
    if (r < 0 || worker->helper.pid == 0 || worker->is_closing)
        return r;
    r = ask_share(pool, worker);
    if (r == 0)
        leat_helper_write(&worker->helper);
    return r;
}

static void watch(const struct leat_helper *helper, struct pollfd *fds) {
    fds[0] = (struct pollfd){.fd = leat_helper_n_unwritten(helper) > 0 ? helper->in : -1,
                             .events = POLLOUT};
    fds[1] = (struct pollfd){.fd = helper->has_closed ? -1 : helper->out, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = helper->errors, .events = POLLIN};
    fds[3] = (struct pollfd){.fd = helper->pidfd, .events = POLLIN};
}

/* The time that poll may wait until a deadline or a start is due. */
static int timeout_ms(const struct leat_exec_pool *pool) {
    uint64_t at_ns = pool->clock_ns + TURN_MS * MS_NS;

    for (size_t i = 0; i < pool->n_workers; i++) {
        const struct leat_exec_worker *worker = &pool->workers[i];
        uint64_t own_ns = deadline_of(pool, worker);

        if (worker->helper.pid == 0 && pool->n_rows > 0)
            own_ns = worker->start_ns;
        at_ns = own_ns < at_ns ? own_ns : at_ns;
    }
    return at_ns <= pool->clock_ns ? 0 : (int)((at_ns - pool->clock_ns) / MS_NS) + 1;
}

/* A turn takes TURN_MS at most. If it took longer, we were stopped or starved, as the helpers may
 * have been: then the rest of that time does not count. */
static void read_clock(struct leat_exec_pool *pool) {
    uint64_t time_ns = leat_now_ns(), passed_ns = time_ns - pool->read_ns;

    pool->clock_ns += passed_ns < TURN_MS * MS_NS ? passed_ns : TURN_MS * MS_NS;
    pool->read_ns = time_ns;
}

static bool is_done(const struct leat_exec_pool *pool) {
    bool is_waiting = pool->n_left > 0;

    for (size_t i = 0; i < pool->n_workers; i++)
        is_waiting |= pool->workers[i].is_open || pool->workers[i].pending.n > 0;
    return !is_waiting;
}

static int turn(struct leat_exec_pool *pool) {
    struct pollfd fds[LEAT_EXEC_PROCESSES_MAX * FDS_A_WORKER];
    int r = 0;

    for (size_t i = 0; r == 0 && i < pool->n_workers; i++)
        r = tend(pool, &pool->workers[i]);
    if (r < 0)
        return r;
    for (size_t i = 0; i < pool->n_workers; i++)
        watch(&pool->workers[i].helper, &fds[i * FDS_A_WORKER]);
    if (poll(fds, (nfds_t)(pool->n_workers * FDS_A_WORKER), timeout_ms(pool)) < 0 && errno != EINTR)
        return leat_error_set(pool->err, -errno, "poll: %s", strerror(errno));
    read_clock(pool);
    for (size_t i = 0; r >= 0 && i < pool->n_workers; i++)
        r = take_events(pool, &pool->workers[i], &fds[i * FDS_A_WORKER]);
    return r < 0 ? r : 0;
}

/* Processes that ended since the last block are not asked. */
static int find_ended(struct leat_exec_pool *pool) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < pool->n_workers; i++) {
        struct pollfd item = {.fd = pool->workers[i].helper.pidfd, .events = POLLIN};

        if (pool->workers[i].helper.pid && poll(&item, 1, 0) == 1)
            r = take_end(pool, &pool->workers[i]);
    }
    return r;
}

/* ---- blocks ---- */

/* Writing to a helper that ended must not end us; the disposition of SIGPIPE is not ours. */
static void block_sigpipe(sigset_t *ret_before) {
    sigset_t sigpipe;

    (void)sigemptyset(&sigpipe);
    (void)sigaddset(&sigpipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &sigpipe, ret_before);
}

static void restore_sigpipe(const sigset_t *before) {
    static const struct timespec at_once = {.tv_sec = 0};
    sigset_t sigpipe;

    (void)sigemptyset(&sigpipe);
    (void)sigaddset(&sigpipe, SIGPIPE);
    if (!sigismember(before, SIGPIPE))
        while (sigtimedwait(&sigpipe, NULL, &at_once) < 0 && errno == EINTR)
            ;
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int begin(struct leat_exec_pool *pool, struct leat_map *map, struct leat_error *err) {
    uint32_t n_rows = map->block->n_rows;

    pool->map = map;
    pool->err = err;
    pool->read_ns = leat_now_ns();
    pool->n_workers = pool->rules->n_processes / (map->n_at_once ? map->n_at_once : 1);
    if (pool->n_workers < 1)
        pool->n_workers = 1;
    pool->rows = leat_arena_alloc(map->scratch, n_rows * sizeof(*pool->rows));
    pool->has_failed = leat_arena_alloc(map->scratch, n_rows * sizeof(*pool->has_failed));
    if (!pool->rows || !pool->has_failed ||
        leat_exec_schema_begin(&pool->rules->schema, map, pool->values) < 0)
        return leat_error_oom(err);
    memset(pool->has_failed, 0, n_rows * sizeof(*pool->has_failed));
    for (uint32_t i = 0; i < n_rows; i++)
        pool->rows[i] = n_rows - 1 - i;
    pool->n_rows = pool->n_left = n_rows;
    return 0;
}

int leat_exec_pool_map(struct leat_exec_pool *pool, struct leat_map *map, struct leat_error *err) {
    sigset_t before;
    int r = begin(pool, map, err);

    block_sigpipe(&before);
    if (r == 0)
        r = find_ended(pool);
    while (r == 0 && !is_done(pool))
        r = turn(pool);
    restore_sigpipe(&before);
    for (uint32_t i = 0; r < 0 && i < pool->rules->n_processes; i++)
        leat_exec_worker_kill(&pool->workers[i], NULL); /* its pipes may hold old answers */
    if (r == 0 && leat_exec_schema_end(&pool->rules->schema, map, pool->values) < 0)
        r = leat_error_oom(err);
    pool->used_ns = leat_now_ns();
    return r;
}
