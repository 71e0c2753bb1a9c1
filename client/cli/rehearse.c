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
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/builder.h"
#include "client/cli/clock.h"
#include "client/cli/consumer.h"
#include "client/cli/control.h"
#include "client/cli/interrupt.h"
#include "client/cli/private_daemon.h"
#include "client/cli/rehearse_sample.h"
#include "client/leat.h"

#define TRAINERS_MAX   64
#define WAIT_MS        60000 /* for a cache, or a first batch */
#define SETTLE_MS      700
#define MEASURE_MS     1500
#define MEASURE_MAX_MS 7000 /* until there are so many batches: */
#define BATCHES_MIN    20
#define PAUSE_MS       (SETTLE_MS + MEASURE_MAX_MS + 1000)
#define LOOK_MS        10
#define REST_MIN_S     20e-6  /* below, it is what it takes to take a batch, which ours take too */
#define SPIN_NS        100000 /* that a sleep may be late by */
#define NAP_NS         50000000

struct rehearsal;

struct trainer {
    struct leat_cli_consumer consumer;
    struct rehearsal *rehearsal;
    struct leat_open_options options;
    char address[sizeof(((struct leat_cli_daemon *)0)->directory)];
    pthread_t thread;
    atomic_ullong n_taken;
    atomic_bool has_cached; /* it is beyond the epoch that wrote a cache; */
    atomic_bool has_ended;  /* nothing comes of it any more: */
    struct leat_error error;
};

struct rehearsal {
    const char *name; /* of the stream */
    const Leat__WhyReply *why;
    struct leat_cli_sample sample;
    struct leat_spec *cached;     /* the sample with a cache */
    char folder[256], place[272]; /* of what is written; "": none; of the cache */
    bool is_trusted;              /* the daemon: programs that it names may be started */
    double batches_per_s;         /* that the stream's trainers get */
    uint64_t rest_ns;             /* between two of a trainer's */
    struct trainer *trainers;
    size_t n_trainers;

    /* of the run that there is */
    const struct leat_spec *running;
    struct leat_cli_daemon daemon;
    atomic_bool is_over;
    size_t n_started;
};

/* ---- questions ---- */

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

/* Whether the daemon is root's or ours. */
static bool is_trusted(void) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof(peer);
    int fd = -1, r;

    if (leat_cli_control_open(NULL, &fd, &err) < 0)
        return false;
    r = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    (void)close(fd);
    return r == 0 && (peer.uid == 0 || peer.uid == geteuid());
}

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

static Leat__ControlReply *ask_stats(const char *address, const char *stream,
                                     struct leat_error *err) {
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;

    stats.stream = (char *)(uintptr_t)stream;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_STATS;
    request.stats = &stats;
    return ask(address, &request, LEAT__CONTROL_REPLY__VERB_STATS, err);
}

static Leat__ControlReply *ask_trainers(struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_TRAINERS;
    request.trainers = &empty;
    return ask(NULL, &request, LEAT__CONTROL_REPLY__VERB_TRAINERS, err);
}

/* ---- what is rehearsed ---- */

static int make_folder(struct rehearsal *rehearsal, struct leat_error *err) {
    const char *place = getenv("TMPDIR");

    (void)snprintf(rehearsal->folder, sizeof(rehearsal->folder), "%s/leatctl-why-XXXXXX",
                   place && place[0] == '/' && strlen(place) < 200 ? place : "/tmp");
    if (!mkdtemp(rehearsal->folder)) {
        leat_error_set(err, -errno, "%s: %s", rehearsal->folder, strerror(errno));
        rehearsal->folder[0] = '\0';
        return err->code;
    }
    (void)snprintf(rehearsal->place, sizeof(rehearsal->place), "%s/cache", rehearsal->folder);
    return 0;
}

/* Of several of that name (trainers' own may have any) the one that made most. */
static int make_sample(struct rehearsal *rehearsal, struct leat_error *err) {
    Leat__ControlReply *reply = ask_stats(NULL, rehearsal->name, err);
    const Leat__StreamStats *stats = NULL;
    int r;

    for (size_t i = 0; reply && i < reply->stats->n_streams; i++)
        if (!stats || reply->stats->streams[i]->n_batches > stats->n_batches)
            stats = reply->stats->streams[i];
    if (stats)
        r = leat_cli_sample_make(rehearsal->name, stats, rehearsal->why->records_per_s,
                                 &rehearsal->sample, err);
    else if (reply)
        r = leat_error_set(err, -ENOENT, "the stream has gone");
    else
        r = err->code;
    leat__control_reply__free_unpacked(reply, NULL);
    return r;
}

static bool is_ours(const struct rehearsal *rehearsal, const Leat__Trainer *trainer) {
    return strcmp(trainer->stream, rehearsal->name) == 0 &&
           strcmp(trainer->session->state, "serving") == 0;
}

static int add_trainer(struct rehearsal *rehearsal, const Leat__Session *session,
                       struct leat_error *err) {
    struct trainer *trainer = &rehearsal->trainers[rehearsal->n_trainers];

    if (rehearsal->n_trainers == TRAINERS_MAX)
        return leat_error_set(err, -E2BIG, "the stream has more than %d trainers", TRAINERS_MAX);
    rehearsal->n_trainers++;
    trainer->rehearsal = rehearsal;
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

/* One for each that the stream has; *ret_n: batches that these have had. */
static int find_trainers(struct rehearsal *rehearsal, uint64_t *ret_n, struct leat_error *err) {
    Leat__ControlReply *reply = ask_trainers(err);
    int r = reply ? 0 : err->code;

    *ret_n = 0;
    rehearsal->n_trainers = 0;
    for (size_t i = 0; r == 0 && i < reply->trainers->n_trainers; i++) {
        const Leat__Trainer *trainer = reply->trainers->trainers[i];

        if (!is_ours(rehearsal, trainer))
            continue;
        *ret_n += trainer->session->n_batches;
        r = add_trainer(rehearsal, trainer->session, err);
    }
    leat__control_reply__free_unpacked(reply, NULL);
    if (r == 0 && rehearsal->n_trainers == 0)
        r = leat_error_set(err, -ENODATA, "nobody reads the stream");
    return r;
}

/* ---- trainers ---- */

/* As long as those of the stream are busy with a batch. Sleeps come back late. */
static void rest(const struct rehearsal *rehearsal) {
    uint64_t end_ns = leat_cli_now_ns() + rehearsal->rest_ns, now_ns;

    while ((now_ns = leat_cli_now_ns()) < end_ns && !atomic_load(&rehearsal->is_over)) {
        uint64_t left_ns = end_ns - now_ns;
        struct timespec nap = {.tv_nsec = 0};

        if (left_ns <= SPIN_NS)
            continue;
        left_ns -= SPIN_NS;
        nap.tv_nsec = (long)(left_ns < NAP_NS ? left_ns : NAP_NS);
        (void)nanosleep(&nap, NULL);
    }
}

static bool on_batch(struct leat_cli_consumer *consumer, struct leat_batch *batch) {
    struct trainer *trainer = (struct trainer *)consumer;
    const struct rehearsal *rehearsal = trainer->rehearsal;

    (void)atomic_fetch_add_explicit(&trainer->n_taken, 1, memory_order_relaxed);
    if (leat_batch_epoch(batch) > 0)
        atomic_store_explicit(&trainer->has_cached, true, memory_order_relaxed);
    if (rehearsal->rest_ns > 0)
        rest(rehearsal);
    return !atomic_load_explicit(&rehearsal->is_over, memory_order_relaxed);
}

static void pull(struct trainer *trainer) {
    const struct rehearsal *rehearsal = trainer->rehearsal;
    struct leat_client *client = NULL;
    struct leat_stream *stream = NULL;

    if (leat_client_new(trainer->address, &client) < 0) {
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

static int start_trainer(struct trainer *trainer, struct leat_error *err) {
    int r;

    trainer->consumer = (struct leat_cli_consumer){.on_batch = on_batch};
    trainer->error = LEAT_ERROR_INIT;
    (void)snprintf(trainer->address, sizeof(trainer->address), "%s",
                   trainer->rehearsal->daemon.directory);
    atomic_store(&trainer->n_taken, 0);
    atomic_store(&trainer->has_cached, false);
    atomic_store(&trainer->has_ended, false);
    r = pthread_create(&trainer->thread, NULL, run_trainer, trainer);
    return r == 0 ? 0 : leat_error_set(err, -r, "a thread for a trainer: %s", strerror(r));
}

/* ---- a run ---- */

static int start(struct rehearsal *rehearsal, const struct leat_spec *spec, uint32_t n_workers,
                 struct leat_error *err) {
    char workers[32], state[300];
    const char *const overrides[] = {workers, state, "tuner=off", "exec=trainers"};
    int r;

    (void)snprintf(workers, sizeof(workers), "workers=%u", n_workers);
    (void)snprintf(state, sizeof(state), "state_directory=%s/state", rehearsal->folder);
    rehearsal->running = spec;
    rehearsal->n_started = 0;
    atomic_store(&rehearsal->is_over, false);
    r = leat_cli_daemon_start_with(&rehearsal->daemon, NULL, overrides,
                                   rehearsal->is_trusted ? 4 : 3, false, err);
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

static void sleep_ms(uint64_t ms) {
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&time, NULL);
}

/* No signal came, and none of the trainers has ended. */
static int check_run(const struct rehearsal *rehearsal, struct leat_error *err) {
    if (leat_cli_interrupt_seen())
        return leat_error_set(err, -EINTR, "interrupted");
    for (size_t i = 0; i < rehearsal->n_started; i++) {
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

static bool have_begun(const struct rehearsal *rehearsal) {
    for (size_t i = 0; i < rehearsal->n_trainers; i++)
        if (atomic_load(&rehearsal->trainers[i].n_taken) == 0)
            return false;
    return true;
}

static bool have_cached(const struct rehearsal *rehearsal) {
    for (size_t i = 0; i < rehearsal->n_trainers; i++)
        if (!atomic_load(&rehearsal->trainers[i].has_cached))
            return false;
    return true;
}

static int wait_until(const struct rehearsal *rehearsal,
                      bool (*holds)(const struct rehearsal *rehearsal), struct leat_error *err) {
    uint64_t end_ns = leat_cli_now_ns() + WAIT_MS * UINT64_C(1000000);
    int r;

    while ((r = check_run(rehearsal, err)) == 0 && !holds(rehearsal)) {
        if (leat_cli_now_ns() > end_ns)
            return leat_error_set(
                err, -ETIMEDOUT, "the beginnings of the files took more than %d s", WAIT_MS / 1000);
        sleep_ms(LOOK_MS);
    }
    return r;
}

/* ---- measuring ---- */

/* Waits so long, and looks at what happens meanwhile. */
static int watch(const struct rehearsal *rehearsal, uint64_t ms, struct leat_error *err) {
    uint64_t end_ns = leat_cli_now_ns() + ms * UINT64_C(1000000);
    int r;

    while ((r = check_run(rehearsal, err)) == 0 && leat_cli_now_ns() < end_ns)
        sleep_ms(LOOK_MS);
    return r;
}

static uint64_t n_taken(const struct rehearsal *rehearsal) {
    uint64_t n = 0;

    for (size_t i = 0; i < rehearsal->n_trainers; i++)
        n += atomic_load(&rehearsal->trainers[i].n_taken);
    return n;
}

/* Of batches that are taken: those that are made may but fill the ring. */
static int count_taken(const struct rehearsal *rehearsal, double *ret_batches_per_s,
                       struct leat_error *err) {
    uint64_t n_before = n_taken(rehearsal), start_ns = leat_cli_now_ns(), n, ns;
    int r;

    do {
        r = watch(rehearsal, MEASURE_MS, err);
        n = n_taken(rehearsal) - n_before;
        ns = leat_cli_now_ns() - start_ns;
    } while (r == 0 && n < BATCHES_MIN && ns < (MEASURE_MAX_MS - MEASURE_MS) * UINT64_C(1000000));
    if (r == 0 && n < BATCHES_MIN)
        r = leat_error_set(err, -ENODATA, "%" PRIu64 " batches in %.1f s are too few to tell", n,
                           (double)ns / 1e9);
    *ret_batches_per_s = (double)n * 1e9 / (double)ns;
    return r;
}

/* While the stream is held. */
static int measure(const struct rehearsal *rehearsal, double *ret_batches_per_s,
                   struct leat_error *err) {
    int fd = -1;
    int r = hold_stream(rehearsal, PAUSE_MS, &fd, err);

    if (r == 0)
        r = watch(rehearsal, SETTLE_MS, err);
    if (r == 0)
        r = count_taken(rehearsal, ret_batches_per_s, err);
    if (fd >= 0)
        (void)close(fd);
    return r;
}

/* The stream as it is. Of several trainers each may have all batches, or some of them: what they
 * get in all is seen from what they have had. */
static int measure_stream(struct rehearsal *rehearsal, struct leat_error *err) {
    const Leat__WhyReply *why = rehearsal->why;
    uint64_t n_before, n_after, start_ns;
    double trainer_s = why->trainer_s;
    int r = find_trainers(rehearsal, &n_before, err);

    if (r < 0)
        return r;
    if (why->batches_per_s <= 0 || why->n_workers == 0)
        return leat_error_set(err, -ENODATA, "no batch of the stream was made lately");
    rehearsal->batches_per_s = why->batches_per_s;
    if (rehearsal->n_trainers > 1) {
        start_ns = leat_cli_now_ns();
        r = watch(rehearsal, MEASURE_MS, err);
        if (r == 0)
            r = find_trainers(rehearsal, &n_after, err);
        if (r < 0)
            return r;
        if (n_after <= n_before)
            return leat_error_set(err, -EAGAIN, "its trainers change: try it again");
        rehearsal->batches_per_s =
            (double)(n_after - n_before) * 1e9 / (double)(leat_cli_now_ns() - start_ns);
        trainer_s *= why->batches_per_s * (double)rehearsal->n_trainers / rehearsal->batches_per_s;
    }
    rehearsal->rest_ns = trainer_s > REST_MIN_S ? (uint64_t)(trainer_s * 1e9) : 0;
    return 0;
}

/* ---- all of it ---- */

/* An epoch, and a little of the next, which is read from what the first one wrote. */
static int build_cache(struct rehearsal *rehearsal, struct leat_error *err) {
    uint64_t rest_ns = rehearsal->rest_ns;
    int r = leat_cli_sample_cached(&rehearsal->sample, rehearsal->place, &rehearsal->cached, err);

    if (r < 0)
        return r;
    rehearsal->rest_ns = 0;
    r = start(rehearsal, rehearsal->cached, rehearsal->why->n_workers, err);
    if (r == 0)
        r = wait_until(rehearsal, have_cached, err);
    stop(rehearsal);
    rehearsal->rest_ns = rest_ns;
    return r;
}

/* A stream whose cache cannot be written goes on without. */
static int check_cached(const struct rehearsal *rehearsal, struct leat_error *err) {
    Leat__ControlReply *reply = ask_stats(rehearsal->daemon.directory, rehearsal->name, err);
    uint64_t n_mapped = 0;

    if (!reply)
        return err->code;
    for (size_t i = 0; i < reply->stats->n_streams; i++)
        for (size_t k = 0; k < reply->stats->streams[i]->n_stages; k++)
            if (strcmp(reply->stats->streams[i]->stages[k]->role, "source") == 0)
                n_mapped += reply->stats->streams[i]->stages[k]->n_records;
    leat__control_reply__free_unpacked(reply, NULL);
    return n_mapped == 0 ? 0
                         : leat_error_set(err, -ENOSPC,
                                          "%s: the cache could not be written: is "
                                          "there room?",
                                          rehearsal->folder);
}

static int try_one(struct rehearsal *rehearsal, const struct leat_spec *spec, uint32_t n_workers,
                   struct leat_cli_rehearsed *ret_rehearsed, struct leat_error *err) {
    double batches_per_s = 0;
    int r = start(rehearsal, spec, n_workers, err);

    if (r == 0)
        r = wait_until(rehearsal, have_begun, err);
    if (r == 0)
        r = measure(rehearsal, &batches_per_s, err);
    if (r == 0 && spec == rehearsal->cached)
        r = check_cached(rehearsal, err);
    stop(rehearsal);
    if (r == 0)
        *ret_rehearsed =
            (struct leat_cli_rehearsed){.was_tried = true,
                                        .batches_per_s = batches_per_s,
                                        .ratio = batches_per_s / rehearsal->batches_per_s};
    return r;
}

static int try_all(struct rehearsal *rehearsal, struct leat_cli_rehearsal *ret_rehearsal,
                   struct leat_error *err) {
    uint32_t n_workers = rehearsal->why->n_workers;
    int r = try_one(rehearsal, rehearsal->sample.spec, n_workers + 1, &ret_rehearsal->worker, err);

    if (r < 0 || !rehearsal->why->may_cache)
        return r;
    r = build_cache(rehearsal, err);
    return r < 0 ? r : try_one(rehearsal, rehearsal->cached, n_workers, &ret_rehearsal->cache, err);
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
    leat_cli_sample_deinit(&rehearsal->sample);
    leat_spec_free(rehearsal->cached);
    free(rehearsal->trainers);
}

int leat_cli_rehearse(const char *stream, const Leat__WhyReply *why,
                      struct leat_cli_rehearsal *ret_rehearsal, struct leat_error *err) {
    struct rehearsal rehearsal = {.name = stream, .why = why, .daemon = {.pidfd = -1}};
    int r = check_right(&rehearsal, err);

    *ret_rehearsal = (struct leat_cli_rehearsal){.sample_bytes = 0};
    leat_cli_interrupt_watch();
    if (r == 0 && why->is_own)
        r = leat_error_set(err, -EINVAL,
                           "the stream is one that its trainers describe; those of "
                           "the settings can be rehearsed");
    rehearsal.trainers = calloc(TRAINERS_MAX, sizeof(*rehearsal.trainers));
    if (r == 0 && !rehearsal.trainers)
        r = leat_error_oom(err);
    if (r == 0)
        r = measure_stream(&rehearsal, err);
    if (r == 0)
        r = make_sample(&rehearsal, err);
    if (r == 0)
        r = make_folder(&rehearsal, err);
    rehearsal.is_trusted = is_trusted();
    if (r == 0)
        r = try_all(&rehearsal, ret_rehearsal, err);
    ret_rehearsal->sample_bytes = rehearsal.sample.n_bytes;
    ret_rehearsal->n_trainers = (uint32_t)rehearsal.n_trainers;
    deinit(&rehearsal);
    return r;
}
