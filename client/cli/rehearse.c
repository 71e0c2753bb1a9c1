/* rehearse.c: see rehearse.h. */
#include "client/cli/rehearse.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "client/builder.h"
#include "client/cli/clock.h"
#include "client/cli/consumer.h"
#include "client/cli/control.h"
#include "client/cli/interrupt.h"
#include "client/cli/private_daemon.h"
#include "client/leat.h"
#include "pipeline/opener.h"
#include "pipeline/plan.h"
#include "proto/spec.h"

#define TRAINERS_MAX 64
#define SAMPLE_S     4 /* what the stream reads in so many seconds, */
#define SAMPLE_MIN   (UINT64_C(1) << 20)
#define SAMPLE_MAX   (UINT64_C(256) << 20)
#define FILE_MIN     4096 /* bytes, of each file */
#define WAIT_MS      60000
#define SETTLE_MS    700
#define MEASURE_MS   1500
#define PAUSE_MS     (SETTLE_MS + MEASURE_MS + 1000)
#define LOOK_MS      10
#define REST_MIN_S   20e-6  /* below, it is what it takes to take a batch, which ours take too */
#define SPIN_NS      100000 /* that a sleep may be late by */

struct rehearsal;

struct trainer {
    struct leat_cli_consumer consumer;
    struct rehearsal *rehearsal;
    struct leat_open_options options;
    pthread_t thread;
    atomic_bool has_begun;  /* it has batches; */
    atomic_bool has_cached; /* it is beyond the epoch that wrote a cache; */
    atomic_bool has_ended;  /* nothing comes of it any more: */
    struct leat_error error;
};

struct rehearsal {
    const char *name; /* of the stream */
    const Leat__WhyReply *why;
    struct leat_spec *spec, *cached; /* of the sample; the same with a cache */
    uint64_t sample_bytes, rest_ns;
    char folder[256]; /* of the cache; "": none */
    struct trainer *trainers;
    size_t n_trainers;

    /* of the run that there is */
    const struct leat_spec *running;
    struct leat_cli_daemon daemon;
    atomic_bool is_over;
    size_t n_started;
};

/* ---- questions ---- */

static Leat__ControlReply *ask(const char *address, Leat__ControlRequest *request,
                               Leat__ControlReply__VerbCase expected, struct leat_error *err) {
    Leat__ControlReply *reply = NULL;
    bool is_unreachable;

    if (leat_cli_control(address, request, LEAT_CLI_CONTROL_TIMEOUT_MS, &reply, &is_unreachable,
                         err) < 0)
        return NULL;
    if (reply->verb_case == expected)
        return reply;
    leat_error_set(err, -EPROTO, "the daemon answered something else");
    leat__control_reply__free_unpacked(reply, NULL);
    return NULL;
}

/* The connection holds the stream for as long as it is open, and no longer than that. */
static int hold_stream(const struct rehearsal *rehearsal, uint32_t ms, int *ret_fd,
                       struct leat_error *err) {
    Leat__PauseRequest pause = LEAT__PAUSE_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply = NULL;
    int r = leat_cli_control_open(NULL, ret_fd, err);

    pause.stream = (char *)(uintptr_t)rehearsal->name;
    pause.timeout_ms = ms;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_PAUSE;
    request.pause = &pause;
    if (r == 0)
        r = leat_cli_control_ask(*ret_fd, &request, LEAT_CLI_CONTROL_TIMEOUT_MS, &reply, err);
    leat__control_reply__free_unpacked(reply, NULL);
    return r;
}

/* Who may not is told before there is work, and by the daemon, which knows what it would take. */
static int check_right(const struct rehearsal *rehearsal, struct leat_error *err) {
    int fd = -1, r = 0;

    if (!rehearsal->why->may_operate)
        r = hold_stream(rehearsal, 1, &fd, err);
    if (fd >= 0)
        (void)close(fd);
    return r;
}

static Leat__ControlReply *ask_stats(const char *address, const char *stream,
                                     struct leat_error *err) {
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;

    stats.stream = (char *)(uintptr_t)stream;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATS;
    request.stats = &stats;
    reply = ask(address, &request, LEAT__CONTROL_REPLY__VERB_STATS, err);
    if (!reply || reply->stats->n_streams == 1)
        return reply;
    leat_error_set(err, -ENOENT, "there are %zu streams \"%.64s\"", reply->stats->n_streams,
                   stream);
    leat__control_reply__free_unpacked(reply, NULL);
    return NULL;
}

/* ---- what is rehearsed ---- */

static int get_spec(struct rehearsal *rehearsal, struct leat_error *err) {
    Leat__SpecRequest spec = LEAT__SPEC_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;

    spec.stream = (char *)(uintptr_t)rehearsal->name;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_SPEC;
    request.spec = &spec;
    reply = ask(NULL, &request, LEAT__CONTROL_REPLY__VERB_SPEC, err);
    if (reply)
        (void)leat_spec_unpack(reply->spec, &rehearsal->spec, err);
    leat__control_reply__free_unpacked(reply, NULL);
    return err->code;
}

/* The argument of that name, in place of what it was. */
static int set(struct leat_value *map, const char *name, const char *text) {
    struct leat_value *item = leat_value_get(map, name);

    if (item)
        leat_value_deinit(item);
    else if (leat_value_insert(map, name, &item) < 0)
        return -ENOMEM;
    return leat_value_set_text(item, text, false);
}

static int set_number(struct leat_value *map, const char *name, uint64_t number) {
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    return set(map, name, text);
}

static void unset(const struct leat_value *map, const char *name) {
    struct leat_value *item = leat_value_get(map, name);

    if (item)
        leat_value_deinit(item);
}

/* Nothing is written where the stream itself writes. */
static int leave_files_alone(struct leat_value *options) {
    const struct leat_value *on_error = leat_value_get(options, "on_error");

    if (on_error && on_error->kind == LEAT_VALUE_SCALAR &&
        strcmp(on_error->text, "quarantine") == 0) {
        unset(options, "quarantine");
        if (set(options, "on_error", "skip") < 0)
            return -ENOMEM;
    }
    return set(options, "index", "off");
}

/* What the daemon has found out by now is not found out again. */
static int set_knobs(struct rehearsal *rehearsal, const Leat__StreamStats *stats) {
    struct leat_value *options = &rehearsal->spec->options;
    int r = set(options, "tuner", "off");

    for (size_t i = 0; r == 0 && stats->n_tuners > 0 && i < stats->tuners[0]->n_knobs; i++) {
        const Leat__KnobStats *knob = stats->tuners[0]->knobs[i];

        if (strcmp(knob->name, "prefetch_size") != 0) /* that one is a stage */
            r = set_number(options, knob->name, knob->value);
    }
    return r;
}

/* Of the text of all files together. */
static uint64_t choose_sample(const Leat__WhyReply *why, const Leat__StreamStats *stats) {
    double record_bytes = stats->n_source_records > 0
                              ? (double)stats->n_source_bytes / (double)stats->n_source_records
                              : 0;
    double n = SAMPLE_S * why->records_per_s * record_bytes;

    return n < (double)SAMPLE_MIN ? SAMPLE_MIN : n > (double)SAMPLE_MAX ? SAMPLE_MAX : (uint64_t)n;
}

/* The beginnings of all files, each in the same measure. Whether they can be read is seen here. */
static int cut_files(struct rehearsal *rehearsal, struct leat_error *err) {
    struct leat_plan *plan = NULL;
    uint64_t n_bytes;
    int r = leat_plan_new(rehearsal->spec, &leat_opener_operator, &plan, err);

    if (r < 0)
        return r;
    if (plan->is_one_pass) {
        leat_plan_unref(plan);
        return leat_error_set(err, -EINVAL, "its data comes through a pipe, and so but once");
    }
    n_bytes = rehearsal->sample_bytes / plan->source->files.n_paths;
    if (n_bytes < FILE_MIN)
        n_bytes = FILE_MIN;
    if (plan->options.max_file_bytes == 0 || n_bytes < (uint64_t)plan->options.max_file_bytes)
        r = set_number(&rehearsal->spec->options, "max_file_bytes", n_bytes);
    leat_plan_unref(plan);
    return r < 0 ? leat_error_oom(err) : 0;
}

static int make_folder(struct rehearsal *rehearsal, struct leat_error *err) {
    const char *place = getenv("TMPDIR");

    (void)snprintf(rehearsal->folder, sizeof(rehearsal->folder), "%s/leatctl-cache-XXXXXX",
                   place && place[0] == '/' && strlen(place) < 200 ? place : "/tmp");
    if (mkdtemp(rehearsal->folder))
        return 0;
    leat_error_set(err, -errno, "%s: %s", rehearsal->folder, strerror(errno));
    rehearsal->folder[0] = '\0';
    return err->code;
}

static int make_sample(struct rehearsal *rehearsal, struct leat_error *err) {
    Leat__ControlReply *reply;
    int r;

    if (leat_value_get(&rehearsal->spec->options, "cache"))
        return leat_error_set(err, -EINVAL, "the stream has a cache");
    reply = ask_stats(NULL, rehearsal->name, err);
    if (!reply)
        return err->code;
    rehearsal->sample_bytes = choose_sample(rehearsal->why, reply->stats->streams[0]);
    r = set_knobs(rehearsal, reply->stats->streams[0]);
    leat__control_reply__free_unpacked(reply, NULL);
    if (r == 0)
        r = leave_files_alone(&rehearsal->spec->options);
    return r < 0 ? leat_error_oom(err) : cut_files(rehearsal, err);
}

static int add_cache(struct rehearsal *rehearsal, struct leat_error *err) {
    struct leat_value *cache;
    int r = make_folder(rehearsal, err);

    if (r < 0)
        return r;
    if (leat_spec_copy(rehearsal->spec, &rehearsal->cached) < 0 ||
        leat_value_insert(&rehearsal->cached->options, "cache", &cache) < 0 ||
        set(cache, "path", rehearsal->folder) < 0)
        return leat_error_oom(err);
    return 0;
}

/* ---- trainers ---- */

/* As long as those of the stream are busy with a batch. Sleeps come back late. */
static void rest(uint64_t rest_ns) {
    uint64_t end_ns = leat_cli_now_ns() + rest_ns;

    if (rest_ns > SPIN_NS) {
        uint64_t wake_ns = end_ns - SPIN_NS;
        struct timespec wake = {.tv_sec = (time_t)(wake_ns / 1000000000U),
                                .tv_nsec = (long)(wake_ns % 1000000000U)};

        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    }
    while (leat_cli_now_ns() < end_ns)
        ;
}

static bool on_batch(struct leat_cli_consumer *consumer, struct leat_batch *batch) {
    struct trainer *trainer = (struct trainer *)consumer;
    struct rehearsal *rehearsal = trainer->rehearsal;

    atomic_store_explicit(&trainer->has_begun, true, memory_order_relaxed);
    if (leat_batch_epoch(batch) > 0)
        atomic_store_explicit(&trainer->has_cached, true, memory_order_relaxed);
    if (rehearsal->rest_ns > 0)
        rest(rehearsal->rest_ns);
    return !atomic_load_explicit(&rehearsal->is_over, memory_order_relaxed);
}

static void pull(struct trainer *trainer) {
    struct rehearsal *rehearsal = trainer->rehearsal;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;

    if (leat_client_new(rehearsal->daemon.directory, &client) < 0) {
        leat_error_oom(&trainer->error);
        return;
    }
    if (leat_client_open_spec(client, rehearsal->running, &trainer->options, &stream) < 0)
        trainer->error = *leat_client_error(client);
    else
        (void)leat_cli_consume(&trainer->consumer, stream, &trainer->error);
    leat_stream_close(stream);
    leat_client_free(client);
}

static void *run_trainer(void *argument) {
    struct trainer *trainer = argument;

    (void)prctl(PR_SET_TIMERSLACK, 1);
    pull(trainer);
    atomic_store(&trainer->has_ended, true);
    return NULL;
}

static int add_trainer(struct rehearsal *rehearsal, const Leat__Session *session,
                       struct leat_error *err) {
    struct trainer *trainer = &rehearsal->trainers[rehearsal->n_trainers];

    if (rehearsal->n_trainers == TRAINERS_MAX)
        return leat_error_set(err, -E2BIG, "the stream has more than %d trainers", TRAINERS_MAX);
    rehearsal->n_trainers++;
    trainer->rehearsal = rehearsal;
    trainer->consumer.on_batch = on_batch;
    leat_open_options_init(&trainer->options);
    trainer->options.delivery =
        strcmp(session->delivery, "copy") == 0 ? LEAT_DELIVERY_COPY : LEAT_DELIVERY_SHARED;
    trainer->options.rank = session->rank;
    trainer->options.world_size = session->world_size ? session->world_size : 1;
    trainer->options.window = session->window;
    trainer->options.reconnect_timeout_ms = LEAT_NO_RECONNECT;
    trainer->options.client_name = "leatctl why";
    return 0;
}

/* One for each that the stream has. */
static int find_trainers(struct rehearsal *rehearsal, struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    int r = 0;

    rehearsal->trainers = calloc(TRAINERS_MAX, sizeof(*rehearsal->trainers));
    if (!rehearsal->trainers)
        return leat_error_oom(err);
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_TRAINERS;
    request.trainers = &empty;
    reply = ask(NULL, &request, LEAT__CONTROL_REPLY__VERB_TRAINERS, err);
    if (!reply)
        return err->code;
    for (size_t i = 0; r == 0 && i < reply->trainers->n_trainers; i++)
        if (strcmp(reply->trainers->trainers[i]->stream, rehearsal->name) == 0)
            r = add_trainer(rehearsal, reply->trainers->trainers[i]->session, err);
    leat__control_reply__free_unpacked(reply, NULL);
    if (r == 0 && rehearsal->n_trainers == 0)
        r = leat_error_set(err, -ENODATA, "nobody reads the stream");
    return r;
}

/* ---- a run ---- */

static int start_trainer(struct trainer *trainer, struct leat_error *err) {
    int r;

    atomic_store(&trainer->has_begun, false);
    atomic_store(&trainer->has_cached, false);
    atomic_store(&trainer->has_ended, false);
    trainer->error = LEAT_ERROR_INIT;
    r = pthread_create(&trainer->thread, NULL, run_trainer, trainer);
    return r == 0 ? 0 : leat_error_set(err, -r, "a thread for a trainer: %s", strerror(r));
}

static int start(struct rehearsal *rehearsal, const struct leat_spec *spec, uint32_t n_workers,
                 struct leat_error *err) {
    char workers[32];
    const char *const overrides[] = {workers, "tuner=off", "exec=trainers"};
    int r;

    (void)snprintf(workers, sizeof(workers), "workers=%u", n_workers);
    rehearsal->running = spec;
    rehearsal->n_started = 0;
    atomic_store(&rehearsal->is_over, false);
    r = leat_cli_daemon_start_with(&rehearsal->daemon, NULL, overrides,
                                   sizeof(overrides) / sizeof(overrides[0]), false, err);
    while (r == 0 && rehearsal->n_started < rehearsal->n_trainers) {
        r = start_trainer(&rehearsal->trainers[rehearsal->n_started], err);
        rehearsal->n_started += r == 0;
    }
    return r;
}

/* Trainers that wait for a batch are woken by the end of their daemon. */
static void stop(struct rehearsal *rehearsal) {
    atomic_store(&rehearsal->is_over, true);
    leat_cli_daemon_stop(&rehearsal->daemon);
    for (size_t i = 0; i < rehearsal->n_started; i++)
        (void)pthread_join(rehearsal->trainers[i].thread, NULL);
    rehearsal->n_started = 0;
}

/* ---- measuring ---- */

static void sleep_ms(uint64_t ms) {
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&time, NULL);
}

/* None of them has ended. */
static int check_trainers(const struct rehearsal *rehearsal, struct leat_error *err) {
    if (leat_cli_interrupt_seen())
        return leat_error_set(err, -EINTR, "interrupted");
    for (size_t i = 0; i < rehearsal->n_trainers; i++) {
        const struct trainer *trainer = &rehearsal->trainers[i];

        if (!atomic_load(&trainer->has_ended))
            continue;
        *err = trainer->error;
        if (!err->code)
            leat_error_set(err, -ENODATA, "the stream has ended");
        return err->code;
    }
    return 0;
}

static bool is_each(const struct rehearsal *rehearsal, size_t flag) {
    for (size_t i = 0; i < rehearsal->n_trainers; i++)
        if (!atomic_load((const atomic_bool *)((const char *)&rehearsal->trainers[i] + flag)))
            return false;
    return true;
}

/* Until that flag of each trainer is set. */
static int wait_for(const struct rehearsal *rehearsal, size_t flag, struct leat_error *err) {
    uint64_t end_ns = leat_cli_now_ns() + WAIT_MS * UINT64_C(1000000);
    int r;

    while ((r = check_trainers(rehearsal, err)) == 0 && !is_each(rehearsal, flag)) {
        if (leat_cli_now_ns() > end_ns)
            return leat_error_set(err, -ETIMEDOUT,
                                  "%" PRIu64 " MiB of its files took more than %d s",
                                  rehearsal->sample_bytes >> 20, WAIT_MS / 1000);
        sleep_ms(LOOK_MS);
    }
    return r;
}

/* Waits so long, and looks at what happens meanwhile. */
static int watch(const struct rehearsal *rehearsal, uint64_t ms, struct leat_error *err) {
    uint64_t end_ns = leat_cli_now_ns() + ms * UINT64_C(1000000);
    int r;

    while ((r = check_trainers(rehearsal, err)) == 0 && leat_cli_now_ns() < end_ns)
        sleep_ms(LOOK_MS);
    return r;
}

static int count_batches(const struct rehearsal *rehearsal, uint64_t *ret_n, uint64_t *ret_at_ns,
                         struct leat_error *err) {
    Leat__ControlReply *reply = ask_stats(rehearsal->daemon.directory, rehearsal->name, err);

    if (!reply)
        return err->code;
    *ret_at_ns = leat_cli_now_ns();
    *ret_n = reply->stats->streams[0]->n_batches;
    leat__control_reply__free_unpacked(reply, NULL);
    return 0;
}

/* While the stream is held. */
static int measure(const struct rehearsal *rehearsal, double *ret_batches_per_s,
                   struct leat_error *err) {
    uint64_t n_before = 0, n_after = 0, start_ns = 0, end_ns = 0;
    int fd = -1;
    int r = hold_stream(rehearsal, PAUSE_MS, &fd, err);

    if (r == 0)
        r = watch(rehearsal, SETTLE_MS, err);
    if (r == 0)
        r = count_batches(rehearsal, &n_before, &start_ns, err);
    if (r == 0)
        r = watch(rehearsal, MEASURE_MS, err);
    if (r == 0)
        r = count_batches(rehearsal, &n_after, &end_ns, err);
    if (fd >= 0)
        (void)close(fd);
    if (r == 0)
        *ret_batches_per_s = (double)(n_after - n_before) * 1e9 / (double)(end_ns - start_ns);
    return r;
}

/* ---- all of it ---- */

/* An epoch, and a little of the next, which is read from what the first one wrote. */
static int build_cache(struct rehearsal *rehearsal, struct leat_error *err) {
    uint64_t rest_ns = rehearsal->rest_ns;
    int r;

    rehearsal->rest_ns = 0;
    r = start(rehearsal, rehearsal->cached, rehearsal->why->n_workers, err);
    if (r == 0)
        r = wait_for(rehearsal, offsetof(struct trainer, has_cached), err);
    stop(rehearsal);
    rehearsal->rest_ns = rest_ns;
    return r;
}

static int try_one(struct rehearsal *rehearsal, const struct leat_spec *spec, uint32_t n_workers,
                   struct leat_cli_rehearsed *ret_rehearsed, struct leat_error *err) {
    int r = start(rehearsal, spec, n_workers, err);

    if (r == 0)
        r = wait_for(rehearsal, offsetof(struct trainer, has_begun), err);
    if (r == 0)
        r = measure(rehearsal, &ret_rehearsed->batches_per_s, err);
    stop(rehearsal);
    if (r == 0)
        ret_rehearsed->ratio = ret_rehearsed->batches_per_s / rehearsal->why->batches_per_s;
    return r;
}

static int try_all(struct rehearsal *rehearsal, struct leat_cli_rehearsal *ret_rehearsal,
                   struct leat_error *err) {
    uint32_t n_workers = rehearsal->why->n_workers;
    int r = try_one(rehearsal, rehearsal->spec, n_workers + 1, &ret_rehearsal->worker, err);

    if (r < 0 || !rehearsal->why->may_cache)
        return r;
    r = add_cache(rehearsal, err);
    if (r == 0)
        r = build_cache(rehearsal, err);
    return r < 0 ? r : try_one(rehearsal, rehearsal->cached, n_workers, &ret_rehearsal->cache, err);
}

static int check(const Leat__WhyReply *why, struct leat_error *err) {
    if (why->batches_per_s <= 0 || why->n_workers == 0)
        return leat_error_set(err, -ENODATA, "no batch of the stream was made lately");
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

static void deinit(struct rehearsal *rehearsal) {
    if (rehearsal->folder[0])
        (void)nftw(rehearsal->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    leat_spec_free(rehearsal->spec);
    leat_spec_free(rehearsal->cached);
    free(rehearsal->trainers);
}

int leat_cli_rehearse(const char *stream, const Leat__WhyReply *why,
                      struct leat_cli_rehearsal *ret_rehearsal, struct leat_error *err) {
    struct rehearsal rehearsal = {
        .name = stream,
        .why = why,
        .rest_ns = why->trainer_s > REST_MIN_S ? (uint64_t)(why->trainer_s * 1e9) : 0,
        .daemon = {.pidfd = -1}};
    int r = check_right(&rehearsal, err);

    *ret_rehearsal = (struct leat_cli_rehearsal){.sample_bytes = 0};
    leat_cli_interrupt_watch();
    if (r == 0)
        r = find_trainers(&rehearsal, err);
    if (r == 0)
        r = check(why, err);
    if (r == 0)
        r = get_spec(&rehearsal, err);
    if (r == 0)
        r = make_sample(&rehearsal, err);
    if (r == 0)
        r = try_all(&rehearsal, ret_rehearsal, err);
    ret_rehearsal->sample_bytes = rehearsal.sample_bytes;
    ret_rehearsal->n_trainers = (uint32_t)rehearsal.n_trainers;
    deinit(&rehearsal);
    return r;
}
