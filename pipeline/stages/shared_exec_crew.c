/* shared_exec_crew.c: see shared_exec_crew.h. One poll over all pipes; whatever is waited for has a
 * time at which the waiting ends. */
#include "pipeline/stages/shared_exec_crew.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS       UINT64_C(1000000000)
#define BACK_OFF_NS     (SECOND_NS / 100) /* doubled by each failure in a row */
#define BACK_OFF_MAX    7                 /* times: to 1.28 s */
#define UNWRITTEN_BYTES (64U << 10)       /* requests in front of a full pipe */
#define END_MS          500
#define FDS_A_HAND      4

struct hand {
    struct leat_helper helper;
    uint32_t *given; /* rows without an answer, a ring of n_ahead */
    uint32_t first, n_given;
    uint32_t n_failures; /* in a row without an answer */
    uint64_t since_ns;   /* its last answer, or when the oldest of its rows was given */
    uint64_t start_ns;   /* not before */
    bool has_answered;   /* since it was started */
    bool is_closing;     /* its stdout has ended, since since_ns, but it has not */
};

struct leat_exec_crew {
    const struct leat_exec_rules *rules;
    struct leat_exec_values *values; /* [n_fields] */
    struct leat_json *json;
    uint64_t used_ns;

    /* of the block */
    struct leat_map *map;
    struct leat_error *err;
    uint32_t *rows;          /* not given, the next one last */
    uint32_t n_rows, n_left; /* left: without a verdict */
    size_t n_hands;
    struct hand hands[]; /* [n_processes] */
};

static uint64_t now_ns(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* ---- life ---- */

int leat_exec_crew_new(const struct leat_exec_rules *rules, struct leat_exec_crew **ret_crew,
                       struct leat_error *err) {
    struct leat_exec_crew *crew =
        calloc(1, sizeof(*crew) + rules->n_processes * sizeof(crew->hands[0]));

    if (!crew)
        return leat_error_oom(err);
    crew->rules = rules;
    for (uint32_t i = 0; i < rules->n_processes; i++)
        leat_helper_init(&crew->hands[i].helper);
    crew->values = calloc(rules->schema.n_fields, sizeof(*crew->values));
    if (!crew->values || leat_json_new(0, &crew->json) < 0) {
        leat_exec_crew_free(crew);
        return leat_error_oom(err);
    }
    *ret_crew = crew;
    return 0;
}

void leat_exec_crew_free(struct leat_exec_crew *crew) {
    for (uint32_t i = 0; i < crew->rules->n_processes; i++) {
        leat_helper_kill(&crew->hands[i].helper, NULL);
        leat_helper_deinit(&crew->hands[i].helper);
        free(crew->hands[i].given);
    }
    for (size_t i = 0; crew->values && i < crew->rules->schema.n_fields; i++)
        free(crew->values[i].data);
    free(crew->values);
    leat_json_free(crew->json);
    free(crew);
}

void leat_exec_crew_rest(struct leat_exec_crew *crew, bool for_good) {
    uint64_t end_ns = now_ns() + END_MS * (SECOND_NS / 1000);

    if (!for_good && now_ns() - crew->used_ns < crew->rules->idle_ns)
        return;
    for (uint32_t i = 0; i < crew->rules->n_processes; i++)
        if (crew->hands[i].helper.in >= 0) {
            (void)close(crew->hands[i].helper.in); /* all at once, so that they end together */
            crew->hands[i].helper.in = -1;
        }
    for (uint32_t i = 0; i < crew->rules->n_processes; i++) {
        uint64_t time_ns = now_ns();

        leat_helper_end(&crew->hands[i].helper,
                        time_ns < end_ns ? (int)((end_ns - time_ns) / (SECOND_NS / 1000)) : 0);
    }
}

/* ---- verdicts ---- */

static void give_back(struct leat_exec_crew *crew, struct hand *hand) {
    while (hand->n_given > 0)
        crew->rows[crew->n_rows++] =
            hand->given[(hand->first + --hand->n_given) % crew->rules->n_ahead];
}

static uint32_t take_given(struct leat_exec_crew *crew, struct hand *hand) {
    uint32_t row = hand->given[hand->first];

    hand->first = (hand->first + 1) % crew->rules->n_ahead;
    hand->n_given--;
    crew->n_left--;
    return row;
}

static void listen_to(struct leat_exec_crew *crew, struct hand *hand) {
    const char *line;

    while ((line = leat_helper_listen(&hand->helper)))
        leat_map_note(crew->map, "%s", line);
}

static void describe_end(int status, char *text, size_t size) {
    if (WIFSIGNALED(status))
        (void)snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else
        (void)snprintf(text, size, "exited with status %d", WEXITSTATUS(status));
}

static int check_failures(struct leat_exec_crew *crew, const struct hand *hand, const char *why) {
    if (hand->n_failures <= crew->rules->max_restarts)
        return 0;
    return leat_error_set(crew->err, -ECHILD,
                          "the helper failed %u times in a row without a good answer (max_restarts "
                          "%u); at last it %s",
                          hand->n_failures, crew->rules->max_restarts, why);
}

/* The process is of no use any more. fault: what it did, NULL: it ended. The record that it was at
 * is bad, unless the process left in good order, or while there was nothing to do. */
static int end_hand(struct leat_exec_crew *crew, struct hand *hand, const char *fault) {
    uint32_t shift = hand->n_failures < BACK_OFF_MAX ? hand->n_failures : BACK_OFF_MAX;
    char words[LEAT_HELPER_SAID_MAX + 1], end[64], why[LEAT_ERROR_MESSAGE_MAX];
    int status = -1;

    listen_to(crew, hand);
    (void)snprintf(words, sizeof(words), "%s", leat_helper_last_words(&hand->helper));
    leat_helper_kill(&hand->helper, &status);
    hand->is_closing = false;
    if (!fault && hand->has_answered && (status == 0 || hand->n_given == 0)) {
        give_back(crew, hand);
        return 0;
    }
    if (!fault)
        describe_end(status, end, sizeof(end));
    (void)snprintf(why, sizeof(why), "%.200s%s%s", fault ? fault : end,
                   words[0] ? "; it said: " : "", words);
    leat_map_note(crew->map, "a helper %s", fault ? fault : end);
    if (hand->n_given > 0)
        leat_map_reject(crew->map, take_given(crew, hand), NULL, "the helper %s", why);
    give_back(crew, hand);
    hand->n_failures++;
    hand->start_ns = now_ns() + (BACK_OFF_NS << shift);
    return check_failures(crew, hand, why);
}

/* {"error": "reason"} is an answer too, where no field of the schema is called so. */
static bool says_error(const struct leat_exec_schema *schema, struct leat_json_node answer,
                       const char **ret_reason) {
    struct leat_json_node reason;
    size_t n;

    for (size_t i = 0; i < schema->n_fields; i++)
        if (strcmp(schema->fields[i].name, "error") == 0)
            return false;
    if (leat_json_kind(answer) != LEAT_JSON_OBJECT ||
        !leat_json_find(answer, "error", 5, &reason) || leat_json_kind(reason) != LEAT_JSON_STRING)
        return false;
    *ret_reason = leat_json_string(reason, &n);
    return true;
}

static int store(struct leat_exec_crew *crew, uint32_t row, struct leat_json_node answer) {
    struct leat_error fault = LEAT_ERROR_INIT;
    const char *reason;
    int r;

    if (says_error(&crew->rules->schema, answer, &reason)) {
        leat_map_reject(crew->map, row, NULL, "%s", reason);
        return 0;
    }
    r = leat_exec_schema_store(&crew->rules->schema, crew->map, crew->values, row, answer, &fault);
    if (r == -EINVAL) {
        leat_map_reject(crew->map, row, fault.path[0] ? fault.path : NULL, "%s", fault.message);
        return 0;
    }
    if (r == -EOVERFLOW)
        return leat_error_set(crew->err, r,
                              "the answers to one block are more than %u bytes: make block_bytes "
                              "smaller",
                              LEAT_EXEC_VALUES_MAX);
    return r < 0 ? leat_error_oom(crew->err) : 0;
}

static int too_many_answers(struct leat_exec_crew *crew) {
    return leat_error_set(crew->err, -EPROTO,
                          "the helper answers more than it was asked: each record must be answered "
                          "by just one line on stdout, and nothing else may be written there");
}

static int take_answer(struct leat_exec_crew *crew, struct hand *hand, const char *line,
                       size_t n_bytes) {
    struct leat_error fault = LEAT_ERROR_INIT;
    struct leat_json_node answer;
    char why[LEAT_ERROR_MESSAGE_MAX / 4];
    int r;

    if (hand->n_given == 0)
        return too_many_answers(crew);
    if (n_bytes > crew->rules->how.max_line_bytes)
        return end_hand(crew, hand, "answered with a line longer than max_line_bytes");
    r = leat_json_parse(crew->json, line, n_bytes, n_bytes, &answer, &fault);
    if (r == -ENOMEM)
        return leat_error_oom(crew->err);
    if (r < 0) {
        (void)snprintf(why, sizeof(why), "answered with what is not JSON: byte %u: %.70s",
                       fault.column, fault.message);
        return end_hand(crew, hand, why);
    }
    hand->n_failures = 0;
    hand->has_answered = true;
    hand->since_ns = now_ns();
    return store(crew, take_given(crew, hand), answer);
}

/* ---- pipes ---- */

static int take_answers(struct leat_exec_crew *crew, struct hand *hand) {
    const char *line;
    size_t n_bytes;
    int r = 0;

    while (r == 0 && hand->helper.pid && leat_helper_next_line(&hand->helper, &line, &n_bytes))
        r = take_answer(crew, hand, line, n_bytes);
    return r;
}

/* 1: there may be more. */
static int read_answers(struct leat_exec_crew *crew, struct hand *hand) {
    int r = leat_helper_read(&hand->helper, &crew->rules->how), taken;

    if (r == -ENOMEM)
        return leat_error_oom(crew->err);
    taken = take_answers(crew, hand);
    if (taken < 0 || hand->helper.pid == 0)
        return taken;
    if (r == -E2BIG && hand->n_given > 0)
        return end_hand(crew, hand, "answered with a line longer than max_line_bytes");
    if (r == -E2BIG)
        return too_many_answers(crew);
    if (hand->helper.has_closed && !hand->is_closing) {
        hand->is_closing = true;
        hand->since_ns = now_ns();
    }
    return r;
}

/* What it answered before it ended counts. */
static int heed_end(struct leat_exec_crew *crew, struct hand *hand) {
    int r;

    do {
        r = read_answers(crew, hand);
    } while (r > 0 && hand->helper.pid);
    return r == 0 && hand->helper.pid ? end_hand(crew, hand, NULL) : r;
}

static uint64_t deadline_of(const struct leat_exec_crew *crew, const struct hand *hand) {
    if (hand->is_closing)
        return hand->since_ns + SECOND_NS;
    return hand->n_given > 0 ? hand->since_ns + crew->rules->deadline_ns : UINT64_MAX;
}

static int heed_deadline(struct leat_exec_crew *crew, struct hand *hand) {
    char why[128];

    if (now_ns() < deadline_of(crew, hand))
        return 0;
    if (hand->is_closing)
        return end_hand(crew, hand, "closed its output and went on");
    (void)snprintf(why, sizeof(why),
                   "gave no answer within %.6g s, although an answer must be flushed at once",
                   (double)crew->rules->deadline_ns / 1e9);
    return end_hand(crew, hand, why);
}

static int heed(struct leat_exec_crew *crew, struct hand *hand, const struct pollfd *fds) {
    int r = 0;

    if (hand->helper.pid == 0)
        return 0;
    if (fds[2].revents)
        listen_to(crew, hand);
    if (fds[0].revents)
        leat_helper_write(&hand->helper);
    if (fds[3].revents)
        return heed_end(crew, hand);
    if (fds[1].revents)
        r = read_answers(crew, hand);
    return r < 0 || hand->helper.pid == 0 ? r : heed_deadline(crew, hand);
}

/* ---- records ---- */

static int start_hand(struct leat_exec_crew *crew, struct hand *hand) {
    int r;

    if (!hand->given)
        hand->given = calloc(crew->rules->n_ahead, sizeof(*hand->given));
    if (!hand->given)
        return leat_error_oom(crew->err);
    r = leat_helper_start(&hand->helper, &crew->rules->how, crew->err);
    hand->has_answered = false;
    return r;
}

static int give(struct leat_exec_crew *crew, struct hand *hand) {
    uint32_t row = crew->rows[--crew->n_rows];
    const char *input;
    int r = leat_exec_schema_ask(&crew->rules->schema, crew->map, row, &hand->helper.to, &input);

    if (r == -EINVAL) {
        leat_map_reject(crew->map, row, input, "is not valid UTF-8");
        crew->n_left--;
        return 0;
    }
    if (r < 0)
        return leat_error_oom(crew->err);
    if (hand->n_given == 0)
        hand->since_ns = now_ns();
    hand->given[(hand->first + hand->n_given++) % crew->rules->n_ahead] = row;
    return 0;
}

/* All of them get their share of a small block. */
static uint32_t share(const struct leat_exec_crew *crew) {
    uint32_t n = crew->n_left / (uint32_t)crew->n_hands + 1;

    return n < crew->rules->n_ahead ? n : crew->rules->n_ahead;
}

static int tend(struct leat_exec_crew *crew, struct hand *hand) {
    int r = 0;

    if (hand->helper.pid == 0 && (crew->n_rows == 0 || now_ns() < hand->start_ns))
        return 0;
    if (hand->helper.pid == 0)
        r = start_hand(crew, hand);
    while (r == 0 && crew->n_rows > 0 && !hand->is_closing && hand->n_given < share(crew) &&
           leat_helper_n_unwritten(&hand->helper) < UNWRITTEN_BYTES)
        r = give(crew, hand);
    if (r == 0)
        leat_helper_write(&hand->helper);
    return r;
}

static void watch(const struct leat_helper *helper, struct pollfd *fds) {
    fds[0] = (struct pollfd){.fd = leat_helper_n_unwritten(helper) > 0 ? helper->in : -1,
                             .events = POLLOUT};
    fds[1] = (struct pollfd){.fd = helper->has_closed ? -1 : helper->out, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = helper->errors, .events = POLLIN};
    fds[3] = (struct pollfd){.fd = helper->pidfd, .events = POLLIN};
}

/* When something is to be done even if nothing is heard. */
static int timeout_ms(const struct leat_exec_crew *crew) {
    uint64_t at_ns = UINT64_MAX, time_ns = now_ns();

    for (size_t i = 0; i < crew->n_hands; i++) {
        const struct hand *hand = &crew->hands[i];
        uint64_t own_ns = deadline_of(crew, hand);

        if (hand->helper.pid == 0 && crew->n_rows > 0)
            own_ns = hand->start_ns;
        at_ns = own_ns < at_ns ? own_ns : at_ns;
    }
    if (at_ns <= time_ns)
        return 0;
    at_ns = (at_ns - time_ns) / (SECOND_NS / 1000) + 1;
    return at_ns < 3600000 ? (int)at_ns : 3600000;
}

static int turn(struct leat_exec_crew *crew) {
    struct pollfd fds[LEAT_EXEC_PROCESSES_MAX * FDS_A_HAND];
    int r = 0;

    for (size_t i = 0; r == 0 && i < crew->n_hands; i++)
        r = tend(crew, &crew->hands[i]);
    if (r < 0 || crew->n_left == 0)
        return r;
    for (size_t i = 0; i < crew->n_hands; i++)
        watch(&crew->hands[i].helper, &fds[i * FDS_A_HAND]);
    if (poll(fds, (nfds_t)(crew->n_hands * FDS_A_HAND), timeout_ms(crew)) < 0 && errno != EINTR)
        return leat_error_set(crew->err, -errno, "poll: %s", strerror(errno));
    for (size_t i = 0; r >= 0 && i < crew->n_hands; i++)
        r = heed(crew, &crew->hands[i], &fds[i * FDS_A_HAND]);
    return r < 0 ? r : 0;
}

/* With nothing left to answer they must be silent. */
static int check_silence(struct leat_exec_crew *crew) {
    int r = 0;

    for (size_t i = 0; r >= 0 && i < crew->n_hands; i++) {
        struct leat_helper *helper = &crew->hands[i].helper;

        if (helper->pid == 0)
            continue;
        listen_to(crew, &crew->hands[i]);
        r = leat_helper_read(helper, &crew->rules->how);
        if (r == -ENOMEM)
            r = leat_error_oom(crew->err);
        else if (helper->from.n_bytes > helper->n_taken)
            r = too_many_answers(crew);
    }
    return r < 0 ? r : 0;
}

/* Those that ended meanwhile are given nothing. */
static int find_ended(struct leat_exec_crew *crew) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < crew->n_hands; i++) {
        struct pollfd item = {.fd = crew->hands[i].helper.pidfd, .events = POLLIN};

        if (crew->hands[i].helper.pid && poll(&item, 1, 0) == 1)
            r = heed_end(crew, &crew->hands[i]);
    }
    return r;
}

/* ---- blocks ---- */

/* A helper that ended must not end us; what others do with the signal is left as it is. */
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

static int begin(struct leat_exec_crew *crew, struct leat_map *map, struct leat_error *err) {
    uint32_t n_rows = map->block->n_rows;

    crew->map = map;
    crew->err = err;
    crew->n_hands = crew->rules->n_processes / (map->n_at_once ? map->n_at_once : 1);
    if (crew->n_hands < 1)
        crew->n_hands = 1;
    crew->rows = leat_arena_alloc(map->scratch, n_rows * sizeof(*crew->rows));
    if (!crew->rows || leat_exec_schema_begin(&crew->rules->schema, map, crew->values) < 0)
        return leat_error_oom(err);
    for (uint32_t i = 0; i < n_rows; i++)
        crew->rows[i] = n_rows - 1 - i;
    crew->n_rows = crew->n_left = n_rows;
    return 0;
}

/* What stands in their pipes belongs to a block that has failed. */
static void kill_all(struct leat_exec_crew *crew) {
    for (uint32_t i = 0; i < crew->rules->n_processes; i++) {
        leat_helper_kill(&crew->hands[i].helper, NULL);
        crew->hands[i].n_given = 0;
        crew->hands[i].is_closing = false;
    }
}

int leat_exec_crew_map(struct leat_exec_crew *crew, struct leat_map *map, struct leat_error *err) {
    sigset_t before;
    int r = begin(crew, map, err);

    block_sigpipe(&before);
    if (r == 0)
        r = find_ended(crew);
    while (r == 0 && crew->n_left > 0)
        r = turn(crew);
    if (r == 0)
        r = check_silence(crew);
    restore_sigpipe(&before);
    if (r < 0)
        kill_all(crew);
    else if (leat_exec_schema_end(&crew->rules->schema, map, crew->values) < 0)
        r = leat_error_oom(err);
    crew->used_ns = now_ns();
    return r;
}
