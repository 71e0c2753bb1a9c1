/* exec/crew.c: see exec/crew.h. One poll over all pipes; whatever is waited for has a
 * time at which the waiting ends. */
#include "pipeline/stages/exec/crew.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pipeline/stages/exec/hand.h"

#define SECOND_NS       UINT64_C(1000000000)
#define MS_NS           (SECOND_NS / 1000)
#define TURN_MS         1000
#define BACK_OFF_NS     (SECOND_NS / 100) /* doubled by each failure in a row */
#define BACK_OFF_MAX    7                 /* times: to 1.28 s */
#define UNWRITTEN_BYTES (64U << 10)       /* requests in front of a full pipe */
#define DRAIN_READS     16                /* a pipe of the largest size */
#define END_MS          500
#define FDS_A_HAND      4
#define STRIKES         2 /* helpers that fail at a record before it is bad */

struct leat_exec_crew {
    const struct leat_exec_rules *rules;
    struct leat_exec_values *values; /* [n_fields] */
    struct leat_json *json;
    uint64_t used_ns;
    uint64_t clock_ns;      /* time in which we ran: it stands while we are stopped or starved */
    uint64_t looked_ns;     /* at the clock */
    struct leat_text probe; /* the request of a record that was answered; "" while there is none */
    bool probe_is_poor;     /* the record was bad: a better one takes its place */

    /* of the block */
    struct leat_map *map;
    struct leat_error *err;
    uint32_t *rows;          /* not asked, the next one last */
    uint8_t *n_strikes;      /* [rows of the block] */
    uint32_t n_rows, n_left; /* left: without a verdict */
    size_t n_hands;
    struct leat_exec_hand hands[]; /* [n_processes] */
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
    int r = 0;

    if (!crew)
        return leat_error_oom(err);
    crew->rules = rules;
    for (uint32_t i = 0; i < rules->n_processes; i++)
        r |= leat_exec_hand_init(&crew->hands[i], rules->n_ahead);
    crew->values = calloc(rules->schema.n_fields, sizeof(*crew->values));
    if (r < 0 || !crew->values || leat_json_new(0, &crew->json) < 0) {
        leat_exec_crew_free(crew);
        return leat_error_oom(err);
    }
    *ret_crew = crew;
    return 0;
}

void leat_exec_crew_free(struct leat_exec_crew *crew) {
    for (uint32_t i = 0; i < crew->rules->n_processes; i++)
        leat_exec_hand_deinit(&crew->hands[i]);
    for (size_t i = 0; crew->values && i < crew->rules->schema.n_fields; i++)
        free(crew->values[i].data);
    free(crew->values);
    free(crew->probe.data);
    leat_json_free(crew->json);
    free(crew);
}

void leat_exec_crew_rest(struct leat_exec_crew *crew, bool for_good) {
    uint64_t end_ns = now_ns() + END_MS * MS_NS;

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
                        time_ns < end_ns ? (int)((end_ns - time_ns) / MS_NS) : 0);
        leat_exec_hand_kill(&crew->hands[i], NULL);
    }
}

/* ---- probes ---- */

/* A record that was answered is asked again when the place of an answer is to be known. */
static int keep_probe(struct leat_exec_crew *crew, uint32_t row, bool is_poor) {
    const char *input;

    if (crew->probe.n_bytes > 0 && (is_poor || !crew->probe_is_poor))
        return 0;
    crew->probe.n_bytes = 0;
    crew->probe_is_poor = is_poor;
    return leat_exec_schema_ask(&crew->rules->schema, crew->map, row, 0, &crew->probe, &input) < 0
               ? leat_error_oom(crew->err)
               : 0;
}

static void begin_to_wait(const struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    if (hand->asked.n == 0)
        hand->since_ns = crew->clock_ns;
}

static int ask_probe(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    struct leat_text *to = &hand->helper.to;
    size_t start = to->n_bytes;

    begin_to_wait(crew, hand);
    leat_text_add_bytes(to, crew->probe.data, crew->probe.n_bytes);
    if (to->failed)
        return leat_error_oom(crew->err);
    leat_exec_schema_retag(to->data + start, leat_exec_asked_add(&hand->asked, LEAT_EXEC_PROBE));
    hand->is_open = false;
    return 0;
}

/* ---- verdicts ---- */

static void give_back(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    while (hand->asked.n > 0) {
        struct leat_exec_question question = leat_exec_asked_take_back(&hand->asked);

        if (question.row != LEAT_EXEC_PROBE)
            crew->rows[crew->n_rows++] = question.row;
    }
}

static void listen_to(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    const char *line;

    while ((line = leat_helper_listen(&hand->helper)))
        leat_map_note(crew->map, "%s", line);
}

/* It failed at the record: another one is asked, or it is bad. */
static void strike(struct leat_exec_crew *crew, struct leat_exec_question question,
                   const char *why) {
    if (question.row == LEAT_EXEC_PROBE)
        return;
    if (++crew->n_strikes[question.row] < STRIKES) {
        crew->rows[crew->n_rows++] = question.row;
        return;
    }
    leat_map_reject(crew->map, question.row, NULL, "the helper %s", why);
    crew->n_left--;
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

static int count_failure(struct leat_exec_crew *crew, struct leat_exec_hand *hand,
                         const char *why) {
    uint32_t shift = hand->n_failures < BACK_OFF_MAX ? hand->n_failures : BACK_OFF_MAX;

    hand->n_failures++;
    hand->start_ns = crew->clock_ns + (BACK_OFF_NS << shift);
    hand->starts_with_probe = true;
    if (hand->n_failures <= crew->rules->max_restarts)
        return 0;
    return leat_error_set(crew->err, -ECHILD,
                          "the helper failed %u times in a row without an answer (max_restarts "
                          "%u); at last it %s",
                          hand->n_failures, crew->rules->max_restarts, why);
}

/* The process is of no use any more. fault: what it did, NULL: it ended. It failed at the oldest of
 * its questions, unless it left in good order, or while there was nothing to do. */
static int end_hand(struct leat_exec_crew *crew, struct leat_exec_hand *hand, const char *fault) {
    struct leat_exec_question question = {.row = LEAT_EXEC_PROBE};
    bool has_answered = hand->has_answered, was_asked = hand->asked.n > 0;
    char words[LEAT_ERROR_MESSAGE_MAX / 2] = "", end[128], why[LEAT_ERROR_MESSAGE_MAX];
    int status = -1;

    listen_to(crew, hand);
    leat_exec_hand_explain(hand, words, sizeof(words));
    if (was_asked)
        question = leat_exec_asked_take(&hand->asked, false);
    give_back(crew, hand);
    leat_exec_hand_kill(hand, &status);
    if (!fault && (!was_asked || (has_answered && status == 0))) {
        if (question.row != LEAT_EXEC_PROBE)
            crew->rows[crew->n_rows++] = question.row;
        return 0;
    }
    describe_end(status, end, sizeof(end));
    (void)snprintf(why, sizeof(why), "%.128s%s", fault ? fault : end, words);
    leat_map_note(crew->map, "a helper %.128s", fault ? fault : end);
    strike(crew, question, why);
    return count_failure(crew, hand, why);
}

/* ---- answers ---- */

static int store(struct leat_exec_crew *crew, uint32_t row, struct leat_json_node answer) {
    struct leat_error fault = LEAT_ERROR_INIT;
    const char *reason;
    int r;

    if (leat_exec_schema_says_error(&crew->rules->schema, answer, &reason)) {
        leat_map_reject(crew->map, row, NULL, "%s", reason);
        return keep_probe(crew, row, true);
    }
    if (leat_exec_schema_says_drop(answer)) {
        if (crew->rules->drops)
            leat_map_drop(crew->map, row);
        else
            leat_map_reject(crew->map, row, NULL,
                            "the program leaves it out, which `drops: true` would let it do");
        return keep_probe(crew, row, false);
    }
    r = leat_exec_schema_store(&crew->rules->schema, crew->map, crew->values, row, answer, &fault);
    if (r == -EINVAL)
        leat_map_reject(crew->map, row, fault.path[0] ? fault.path : NULL, "%s", fault.message);
    if (r == -EOVERFLOW)
        return leat_error_set(crew->err, r,
                              "the answers to one block are more than %u bytes: make block_bytes "
                              "smaller",
                              LEAT_EXEC_VALUES_MAX);
    return r == 0 || r == -EINVAL ? keep_probe(crew, row, r < 0) : leat_error_oom(crew->err);
}

/* Those before it were passed over. */
static int take_answer(struct leat_exec_crew *crew, struct leat_exec_hand *hand, uint32_t place,
                       struct leat_json_node answer) {
    struct leat_exec_question question;

    for (; place > 0; place--) {
        char why[LEAT_ERROR_MESSAGE_MAX];

        (void)snprintf(why, sizeof(why), "gave no answer to it, but to a later one%s%s",
                       hand->stray[0] ? "; it wrote " : "", hand->stray);
        strike(crew, leat_exec_asked_take(&hand->asked, false), why);
    }
    question = leat_exec_asked_take(&hand->asked, true);
    hand->n_failures = 0;
    hand->has_answered = true;
    hand->starts_with_probe = false;
    hand->since_ns = crew->clock_ns;
    hand->stray[0] = '\0';
    if (question.row == LEAT_EXEC_PROBE)
        return 0;
    crew->n_left--;
    return store(crew, question.row, answer);
}

static int refuse_untagged(struct leat_exec_crew *crew) {
    return leat_error_set(crew->err, -EPROTO,
                          "the helper answers without \"" LEAT_EXEC_TAG "\": an answer must repeat "
                          "that of its record, as in {\"" LEAT_EXEC_TAG
                          "\": record[\"" LEAT_EXEC_TAG
                          "\"], ...}, or it could be taken for another record's");
}

static int refuse_mistagged(struct leat_exec_crew *crew) {
    return leat_error_set(crew->err, -EPROTO,
                          "the helper answers what it was not asked, or late: records must be "
                          "answered one after the other, in their order, once, each with its own "
                          "\"" LEAT_EXEC_TAG "\"");
}

static int take_stray(struct leat_exec_crew *crew, struct leat_exec_hand *hand,
                      struct leat_json_node line) {
    enum leat_json_kind kind = leat_json_kind(line);

    if (kind == LEAT_JSON_OBJECT && leat_exec_schema_is_answer(&crew->rules->schema, line))
        return refuse_untagged(crew);
    leat_exec_hand_note_kind(hand, kind);
    leat_map_note(crew->map, "a helper wrote to stdout: %s", hand->stray);
    return 0;
}

static int take_parsed(struct leat_exec_crew *crew, struct leat_exec_hand *hand,
                       struct leat_json_node line) {
    uint32_t place;

    switch (leat_exec_asked_match(&hand->asked, line, &place)) {
    case LEAT_EXEC_ANSWER:
        return take_answer(crew, hand, place, line);
    case LEAT_EXEC_AGAIN:
        if (hand->asked.last.row != LEAT_EXEC_PROBE)
            leat_map_reject(crew->map, hand->asked.last.row, NULL,
                            "the helper answered it more than once");
        return 0;
    case LEAT_EXEC_STRAY:
        return take_stray(crew, hand, line);
    default:
        return refuse_mistagged(crew);
    }
}

/* What is no answer is passed over: it is of a record that has one besides, or will be missed. */
static int take_line(struct leat_exec_crew *crew, struct leat_exec_hand *hand, const char *line,
                     size_t n_bytes) {
    struct leat_error fault = LEAT_ERROR_INIT;
    struct leat_json_node root;
    int r;

    if (n_bytes > crew->rules->how.max_line_bytes) {
        leat_exec_hand_note_long(hand);
        return 0;
    }
    r = leat_json_parse_record(crew->json, line, n_bytes, n_bytes, &root, &fault);
    if (r == 0 && leat_json_may_have_minus_zero(line, n_bytes))
        r = leat_json_mark_zeros(crew->json, line, n_bytes);
    if (r == -ENOMEM)
        return leat_error_oom(crew->err);
    if (r == 0)
        return take_parsed(crew, hand, root);
    leat_exec_hand_note_broken(hand, line, n_bytes, &fault);
    leat_map_note(crew->map, "a helper wrote to stdout: %s", hand->stray);
    return 0;
}

/* ---- pipes ---- */

/* 1: there may be more. */
static int read_lines(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    int r = leat_helper_read(&hand->helper, &crew->rules->how), taken = 0;
    const char *line;
    size_t n_bytes;

    if (r == -ENOMEM)
        return leat_error_oom(crew->err);
    while (taken == 0 && leat_helper_next_line(&hand->helper, &line, &n_bytes))
        taken = take_line(crew, hand, line, n_bytes);
    if (taken < 0)
        return taken;
    if (r == -E2BIG)
        leat_exec_hand_note_long(hand);
    if (hand->helper.has_closed && !hand->is_closing) {
        hand->is_closing = true;
        hand->since_ns = crew->clock_ns;
    }
    return r != 0;
}

/* What is there counts, before a process is judged. */
static int drain(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    int r = 1;

    for (int i = 0; r > 0 && i < DRAIN_READS; i++)
        r = read_lines(crew, hand);
    return r < 0 ? r : 0;
}

static int heed_end(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    int r = drain(crew, hand);

    return r == 0 ? end_hand(crew, hand, NULL) : r;
}

static uint64_t deadline_of(const struct leat_exec_crew *crew, const struct leat_exec_hand *hand) {
    if (hand->is_closing)
        return hand->since_ns + SECOND_NS;
    if (hand->asked.n == 0)
        return UINT64_MAX;
    return hand->since_ns + crew->rules->deadline_ns +
           (hand->has_answered ? 0 : crew->rules->warm_up_ns);
}

static int heed_deadline(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    char why[128];
    int r;

    if (crew->clock_ns < deadline_of(crew, hand))
        return 0;
    r = drain(crew, hand);
    if (r < 0 || crew->clock_ns < deadline_of(crew, hand))
        return r;
    if (hand->is_closing)
        return end_hand(crew, hand, "closed its output and went on");
    (void)snprintf(why, sizeof(why),
                   "gave no answer within %.6g s%s, although an answer must be flushed at once",
                   (double)crew->rules->deadline_ns / 1e9,
                   hand->has_answered ? "" : " and its warm_up");
    return end_hand(crew, hand, why);
}

static int heed(struct leat_exec_crew *crew, struct leat_exec_hand *hand,
                const struct pollfd *fds) {
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
        r = read_lines(crew, hand);
    return r < 0 ? r : heed_deadline(crew, hand);
}

/* ---- questions ---- */

/* That it cannot be started now is a failure like others; that it never can, ends the stream. */
static int start_hand(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    struct leat_error err = LEAT_ERROR_INIT;
    int r = leat_helper_start(&hand->helper, &crew->rules->how, &err);

    if (r == -EAGAIN || r == -ENOMEM || r == -EMFILE || r == -ENFILE)
        return count_failure(crew, hand, err.message);
    if (r < 0) {
        *crew->err = err;
        return r;
    }
    return hand->starts_with_probe && crew->probe.n_bytes > 0 ? ask_probe(crew, hand) : 0;
}

static int ask(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    uint32_t row = crew->rows[--crew->n_rows];
    struct leat_text *to = &hand->helper.to;
    size_t start = to->n_bytes;
    const char *input;
    int r = leat_exec_schema_ask(&crew->rules->schema, crew->map, row, 0, to, &input);

    if (r == -EINVAL) {
        leat_map_reject(crew->map, row, input, "is not valid UTF-8");
        crew->n_left--;
        return 0;
    }
    if (r < 0)
        return leat_error_oom(crew->err);
    begin_to_wait(crew, hand);
    leat_exec_schema_retag(to->data + start, leat_exec_asked_add(&hand->asked, row));
    hand->is_open = true;
    return 0;
}

/* All of them get their share of a small block. */
static uint32_t share(const struct leat_exec_crew *crew) {
    uint32_t n = (crew->n_left + (uint32_t)crew->n_hands - 1) / (uint32_t)crew->n_hands;

    return n < crew->rules->n_ahead ? n : crew->rules->n_ahead;
}

/* Half a share at least, so that a system call is for many. */
static int ask_share(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    uint32_t n = share(crew);
    int r = 0;

    if (hand->asked.n > n / 2)
        return 0;
    while (r == 0 && crew->n_rows > 0 && hand->asked.n < n &&
           leat_helper_n_unwritten(&hand->helper) < UNWRITTEN_BYTES)
        r = ask(crew, hand);
    return r;
}

static bool wants_probe(const struct leat_exec_crew *crew, const struct leat_exec_hand *hand) {
    return hand->is_open && crew->n_rows == 0 && crew->probe.n_bytes > 0;
}

static int tend(struct leat_exec_crew *crew, struct leat_exec_hand *hand) {
    int r = 0;

    if (hand->helper.pid == 0 && (crew->n_rows == 0 || crew->clock_ns < hand->start_ns))
        return 0;
    if (hand->helper.pid == 0)
        r = start_hand(crew, hand);
    if (r < 0 || hand->helper.pid == 0 || hand->is_closing)
        return r;
    r = ask_share(crew, hand);
    if (r == 0 && wants_probe(crew, hand))
        r = ask_probe(crew, hand);
    if (r == 0)
        leat_helper_write(&hand->helper);
    return r;
}

/* ---- turns ---- */

static void watch(const struct leat_helper *helper, struct pollfd *fds) {
    fds[0] = (struct pollfd){.fd = leat_helper_n_unwritten(helper) > 0 ? helper->in : -1,
                             .events = POLLOUT};
    fds[1] = (struct pollfd){.fd = helper->has_closed ? -1 : helper->out, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = helper->errors, .events = POLLIN};
    fds[3] = (struct pollfd){.fd = helper->pidfd, .events = POLLIN};
}

/* When something is to be done even if nothing is heard. */
static int timeout_ms(const struct leat_exec_crew *crew) {
    uint64_t at_ns = crew->clock_ns + TURN_MS * MS_NS;

    for (size_t i = 0; i < crew->n_hands; i++) {
        const struct leat_exec_hand *hand = &crew->hands[i];
        uint64_t own_ns = deadline_of(crew, hand);

        if (hand->helper.pid == 0 && crew->n_rows > 0)
            own_ns = hand->start_ns;
        at_ns = own_ns < at_ns ? own_ns : at_ns;
    }
    return at_ns <= crew->clock_ns ? 0 : (int)((at_ns - crew->clock_ns) / MS_NS) + 1;
}

/* A turn takes TURN_MS at most. If it took longer, we were stopped, as the helpers may have been,
 * or the machine gives us no time: then it does not count. */
static void look_at_clock(struct leat_exec_crew *crew) {
    uint64_t time_ns = now_ns(), passed_ns = time_ns - crew->looked_ns;

    crew->clock_ns += passed_ns < TURN_MS * MS_NS ? passed_ns : TURN_MS * MS_NS;
    crew->looked_ns = time_ns;
}

static bool is_done(const struct leat_exec_crew *crew) {
    if (crew->n_left > 0)
        return false;
    for (size_t i = 0; i < crew->n_hands; i++)
        if (crew->hands[i].is_open || crew->hands[i].asked.n > 0)
            return false;
    return true;
}

static int turn(struct leat_exec_crew *crew) {
    struct pollfd fds[LEAT_EXEC_PROCESSES_MAX * FDS_A_HAND];
    int r = 0;

    for (size_t i = 0; r == 0 && i < crew->n_hands; i++)
        r = tend(crew, &crew->hands[i]);
    if (r < 0)
        return r;
    for (size_t i = 0; i < crew->n_hands; i++)
        watch(&crew->hands[i].helper, &fds[i * FDS_A_HAND]);
    if (poll(fds, (nfds_t)(crew->n_hands * FDS_A_HAND), timeout_ms(crew)) < 0 && errno != EINTR)
        return leat_error_set(crew->err, -errno, "poll: %s", strerror(errno));
    look_at_clock(crew);
    for (size_t i = 0; r >= 0 && i < crew->n_hands; i++)
        r = heed(crew, &crew->hands[i], &fds[i * FDS_A_HAND]);
    return r < 0 ? r : 0;
}

/* Those that ended meanwhile are asked nothing. */
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
    crew->looked_ns = now_ns();
    crew->n_hands = crew->rules->n_processes / (map->n_at_once ? map->n_at_once : 1);
    if (crew->n_hands < 1)
        crew->n_hands = 1;
    crew->rows = leat_arena_alloc(map->scratch, n_rows * sizeof(*crew->rows));
    crew->n_strikes = leat_arena_alloc(map->scratch, n_rows);
    if (!crew->rows || !crew->n_strikes ||
        leat_exec_schema_begin(&crew->rules->schema, map, crew->values) < 0)
        return leat_error_oom(err);
    memset(crew->n_strikes, 0, n_rows);
    for (uint32_t i = 0; i < n_rows; i++)
        crew->rows[i] = n_rows - 1 - i;
    crew->n_rows = crew->n_left = n_rows;
    return 0;
}

/* What is answered later has nothing to do with rows of this block. What stands in pipes of a block
 * that has failed belongs to nobody. */
static void end(struct leat_exec_crew *crew, bool has_failed) {
    for (uint32_t i = 0; i < crew->rules->n_processes; i++) {
        if (has_failed)
            leat_exec_hand_kill(&crew->hands[i], NULL);
        if (crew->hands[i].asked.has_last)
            crew->hands[i].asked.last.row = LEAT_EXEC_PROBE;
    }
}

int leat_exec_crew_map(struct leat_exec_crew *crew, struct leat_map *map, struct leat_error *err) {
    sigset_t before;
    int r = begin(crew, map, err);

    block_sigpipe(&before);
    if (r == 0)
        r = find_ended(crew);
    while (r == 0 && !is_done(crew))
        r = turn(crew);
    restore_sigpipe(&before);
    end(crew, r < 0);
    if (r == 0 && leat_exec_schema_end(&crew->rules->schema, map, crew->values) < 0)
        r = leat_error_oom(err);
    crew->used_ns = now_ns();
    return r;
}
