#include "daemon/trainer/opening.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config/roots.h"
#include "daemon/config/settings.h"
#include "daemon/stream/variant.h"
#include "daemon/trainer/sessions.h"
#include "daemon/users/client_log.h"
#include "pipeline/plan/data_text.h"
#include "pipeline/run/pipeline.h"
#include "proto/leat.pb-c.h"
#include "proto/message.h"

#define MAX_WORLD_SIZE  (1U << 20)
#define FILES_MAX_BYTES (32U << 10) /* of the names that ranks compare */

void leat_opening_count(struct leat_opening *opening, uint64_t loaded_bytes) {
    struct leat_account *account = &opening->loading.account;

    if (loaded_bytes == opening->loaded_bytes)
        return;
    if (!account->budget)
        (void)leat_account_open_of(account, &opening->user->memory, 0);
    leat_account_change(account, LEAT_MEMORY_LOADED, opening->loaded_bytes, loaded_bytes);
    opening->loaded_bytes = loaded_bytes;
    if (loaded_bytes == 0)
        leat_account_close(account);
}

struct leat_opening *leat_opening_free(struct leat_opening *opening) {
    if (!opening)
        return NULL;
    leat_plan_unref(opening->plan);
    leat_spec_free(opening->spec);
    leat_roots_unref(opening->roots);
    leat_data_unref(opening->known);
    leat_opening_count(opening, 0);
    leat_streams_unref(&opening->sessions->feeds->streams, opening->stream);
    if (opening->has_own_stream)
        leat_user_discharge(opening->user, LEAT_CHARGE_STREAMS, 1);
    leat_user_unref(opening->user);
    free(opening);
    return NULL;
}

/* ---- the stream ---- */

static int check_name(const struct leat_spec *spec, struct leat_error *err) {
    size_t n = strlen(spec->name);

    if (n < 1 || n > LEAT_NAME_MAX)
        return leat_error_set(err, -EINVAL,
                              "the name of the stream has %zu bytes, but it may have 1 to %d", n,
                              LEAT_NAME_MAX);
    return 0;
}

/* The spec of a trainer that is confined to roots must not make the daemon write. */
static int check_writes(const struct leat_spec *spec, struct leat_error *err) {
    const struct leat_value *on_error = leat_value_get(&spec->options, "on_error");
    const struct leat_value *index = leat_value_get(&spec->options, "index");

    if (leat_value_get(&spec->options, "cache"))
        return leat_error_set(err, -EACCES,
                              "a stream that a trainer describes must not have `cache`: declare "
                              "the stream in the daemon's settings");
    if (index && (index->kind != LEAT_VALUE_SCALAR ||
                  (strcmp(index->text, "auto") != 0 && strcmp(index->text, "off") != 0)))
        return leat_error_set(err, -EACCES,
                              "a stream that a trainer describes must not name a folder for its "
                              "`index`: use `index: auto` or `index: off`");
    if (leat_value_get(&spec->options, "quarantine") ||
        (on_error && on_error->kind == LEAT_VALUE_SCALAR &&
         strcmp(on_error->text, "quarantine") == 0))
        return leat_error_set(err, -EACCES,
                              "a stream that a trainer describes must not have `quarantine`: use "
                              "`on_error: fail` or `on_error: skip`");
    return 0;
}

static int choose_opener(struct leat_opening *opening, uid_t uid, struct leat_error *err) {
    const struct leat_sessions *sessions = opening->sessions;

    if (sessions->env->settings->roots.n_items > 0)
        opening->opener = &(opening->roots = leat_roots_ref(sessions->env->roots))->opener;
    else if (uid == geteuid()) /* it could read and run the same itself */
        opening->opener = sessions->env->settings->exec == LEAT_SETTINGS_EXEC_TRAINERS
                              ? &leat_opener_operator
                              : &leat_opener_any;
    else
        return leat_error_set(err, -EACCES,
                              "trainers of uid %u may not describe streams, because the daemon's "
                              "settings have no `roots`: ask the operator to set `roots`",
                              (unsigned)uid);
    return 0;
}

static int take_own_spec(struct leat_opening *opening, const Leat__StreamSpec *message,
                         struct leat_error *err) {
    struct leat_spec *spec;
    int r = choose_opener(opening, opening->user->uid, err);

    if (r == 0)
        r = leat_spec_unpack(message, &spec, err);
    if (r < 0)
        return r;
    r = check_name(spec, err);
    if (r == 0 && opening->sessions->env->settings->roots.n_items > 0)
        r = check_writes(spec, err);
    if (r == 0)
        r = leat_user_charge(opening->user, LEAT_CHARGE_STREAMS, 1, err);
    if (r < 0) {
        leat_spec_free(spec);
        return r;
    }
    opening->has_own_stream = true;
    opening->stream =
        leat_streams_add_own(&opening->sessions->feeds->streams, opening->user->uid, spec);
    return opening->stream ? 0 : leat_error_oom(err);
}

/* Finds the declared stream NAME.SPLIT, of which only the shuffle is then left to vary. */
static struct leat_daemon_stream *find_split(struct leat_opening *opening,
                                             const Leat__OpenRequest *request,
                                             struct leat_variant *variant) {
    struct leat_error none = LEAT_ERROR_INIT;
    struct leat_daemon_stream *stream;
    char name[2 * LEAT_NAME_MAX + 2];
    int n = snprintf(name, sizeof(name), "%s.%s", request->stream, variant->split);

    if (!variant->split[0] || n < 0 || (size_t)n >= sizeof(name))
        return NULL;
    stream = leat_streams_find(&opening->sessions->feeds->streams, name, &none);
    if (stream)
        variant->split = "";
    return stream;
}

/* Replaces the declared stream by the variation that the trainer asks for. */
static int vary_stream(struct leat_opening *opening, const struct leat_variant *variant,
                       struct leat_error *err) {
    struct leat_streams *streams = &opening->sessions->feeds->streams;
    struct leat_daemon_stream *declared = opening->stream;
    struct leat_spec *spec;
    int r = leat_variant_make(declared->spec, variant, &spec, err);

    if (r < 0)
        return r;
    r = leat_user_charge(opening->user, LEAT_CHARGE_STREAMS, 1, err);
    if (r < 0) {
        leat_spec_free(spec);
        return r;
    }
    opening->has_own_stream = true;
    opening->stream = leat_streams_add_own(streams, opening->user->uid, spec);
    if (opening->stream)
        r = leat_daemon_stream_set_origin(opening->stream, declared->name, variant->split,
                                          variant->shuffle);
    leat_streams_unref(streams, declared);
    return opening->stream && r == 0 ? 0 : leat_error_oom(err);
}

static int take_declared(struct leat_opening *opening, const Leat__OpenRequest *request,
                         struct leat_error *err) {
    struct leat_variant variant = {.split = request->split, .shuffle = (int)request->shuffle};

    if (request->shuffle >= LEAT_N_VARIANT_SHUFFLES)
        return leat_error_set(err, -EPROTO, "OPEN has the shuffle %u, but it must be 0, 1 or 2",
                              request->shuffle);
    opening->opener = opening->sessions->env->settings->exec == LEAT_SETTINGS_EXEC_NEVER
                          ? &leat_opener_any
                          : &leat_opener_operator;
    opening->stream = find_split(opening, request, &variant);
    if (!opening->stream)
        opening->stream =
            leat_streams_find(&opening->sessions->feeds->streams, request->stream, err);
    if (!opening->stream)
        return -ENOENT;
    return leat_variant_is_any(&variant) ? vary_stream(opening, &variant, err) : 0;
}

static int take_stream(struct leat_opening *opening, const Leat__OpenRequest *request,
                       struct leat_error *err) {
    if (request->spec && request->stream[0])
        return leat_error_set(
            err, -EPROTO,
            "OPEN has the name of a stream and also a description of one: send only one");
    if (request->spec && (request->split[0] || request->shuffle))
        return leat_error_set(err, -EINVAL,
                              "`split` and `shuffle` apply only to streams of the daemon's "
                              "settings: give your own stream the stages `split` and `shuffle`");
    return request->spec ? take_own_spec(opening, request->spec, err)
                         : take_declared(opening, request, err);
}

/* ---- position and numbers ---- */

static int take_digest(const ProtobufCBinaryData *given,
                       uint8_t ret_digest[LEAT_POSITION_DIGEST_BYTES], bool *ret_is_given,
                       struct leat_error *err) {
    *ret_is_given = given->len > 0;
    if (given->len == 0)
        return 0;
    if (given->len != LEAT_DIGEST_BYTES && given->len != LEAT_POSITION_DIGEST_BYTES)
        return leat_error_set(err, -EPROTO, "a digest has %zu bytes, but it must have %d or %d",
                              given->len, LEAT_POSITION_DIGEST_BYTES, LEAT_DIGEST_BYTES);
    memcpy(ret_digest, given->data, LEAT_POSITION_DIGEST_BYTES);
    return 0;
}

static int take_start(struct leat_opening *opening, const Leat__Position *start,
                      struct leat_error *err) {
    if (!start)
        return 0;
    opening->has_position = start->epoch > 0 || start->step > 0 || start->data_digest.len > 0;
    opening->run_options.first_epoch = start->epoch;
    opening->run_options.first_step = opening->run_options.round_phase = start->step;
    opening->has_claimed_seed = start->has_seed;
    opening->claimed_seed = start->seed;
    if (take_digest(&start->spec_digest, opening->claim.spec, &opening->claim.has_spec, err) < 0)
        return err->code;
    return take_digest(&start->data_digest, opening->claim.data, &opening->claim.has_data, err);
}

/* A seed of the trainer must be that of its position. Without one, the position's is taken. */
static int take_seed(struct leat_opening *opening, const Leat__OpenRequest *request,
                     struct leat_error *err) {
    if (request->has_seed && opening->has_claimed_seed && request->seed != opening->claimed_seed &&
        !opening->accepts_changes)
        return leat_error_set(err, -ESTALE,
                              "the position has the seed %llu, but you gave the seed %llu: leave "
                              "the seed out, or set accept_changes",
                              (unsigned long long)opening->claimed_seed,
                              (unsigned long long)request->seed);
    opening->run_options.has_seed = request->has_seed || opening->has_claimed_seed;
    opening->run_options.seed = request->has_seed ? request->seed : opening->claimed_seed;
    return 0;
}

static int take_window(struct leat_opening *opening, uint32_t window, struct leat_error *err) {
    const struct leat_settings *settings = opening->sessions->env->settings;

    if (window > (uint64_t)settings->max_window)
        return leat_error_set(err, -EINVAL,
                              "the window is %u batches, but it must be in 1..%lld (max_window)",
                              window, (long long)settings->max_window);
    opening->window = window ? window : (uint32_t)settings->window;
    opening->has_window = window > 0;
    return 0;
}

/* Small batches come in greater numbers, and waking a trainer for a few of them would cost more
 * than making them. So more of them may be under way, unless the trainer named a window. */
static void fit_window(struct leat_opening *opening) {
    uint32_t window = opening->plan->window;

    if (window > (uint64_t)opening->sessions->env->settings->max_window)
        window = (uint32_t)opening->sessions->env->settings->max_window;
    if (!opening->has_window && window > opening->window)
        opening->window = window;
}

static int take_numbers(struct leat_opening *opening, const Leat__OpenRequest *request,
                        struct leat_error *err) {
    uint32_t world_size = request->world_size ? request->world_size : 1;

    if (world_size > MAX_WORLD_SIZE || request->rank >= world_size)
        return leat_error_set(err, -EINVAL,
                              "rank %u of %u: the world size must be in 1..%u, and the rank must "
                              "be lower than the world size",
                              request->rank, world_size, MAX_WORLD_SIZE);
    if (request->local_world_size > world_size ||
        (request->local_world_size > 0 && request->local_rank >= request->local_world_size))
        return leat_error_set(err, -EINVAL,
                              "local rank %u of %u: the local world size must be in 1..%u, and the "
                              "local rank must be lower than the local world size",
                              request->local_rank, request->local_world_size, world_size);
    if (request->has_n_steps && request->n_steps == 0)
        return leat_error_set(err, -EINVAL, "n_steps is 0, but it must be at least 1");
    opening->run_options.n_epochs = request->n_epochs;
    opening->run_options.n_steps = request->has_n_steps ? request->n_steps : 0;
    opening->run_options.first_rank = request->rank;
    opening->run_options.world_size = world_size;
    opening->rank = request->rank;
    opening->world_size = world_size;
    opening->local_rank = request->local_world_size ? request->local_rank : 0;
    opening->local_world_size = request->local_world_size;
    opening->accepts_changes = request->accept_changes;
    return 0;
}

static int take_request(struct leat_opening *opening, const Leat__OpenRequest *request,
                        struct leat_error *err) {
    int r = take_numbers(opening, request, err);

    if (r == 0)
        r = take_start(opening, request->start, err);
    if (r == 0)
        r = take_seed(opening, request, err);
    if (r == 0)
        r = take_window(opening, request->window, err);
    if (r == 0)
        r = take_stream(opening, request, err);
    if (r < 0)
        return r;
    opening->run_options.opener = opening->opener;
    memcpy(opening->client_name, request->client_name,
           strnlen(request->client_name, LEAT_OPENING_CLIENT_NAME));
    memcpy(opening->rank_source, request->rank_source,
           strnlen(request->rank_source, LEAT_OPENING_RANK_SOURCE));
    return 0;
}

/* ---- the plan ---- */

/* Identifies the data, and checks that it and the spec are those of the position. */
static int identify_data(struct leat_opening *opening) {
    const struct leat_descriptions *descriptions = &opening->sessions->descriptions;
    int r = leat_data_kept_identify(&opening->sessions->kept_data, opening->plan, opening->opener,
                                    opening->known, &opening->keep_failure, &opening->error);

    if (r == 0)
        r = leat_descriptions_check(descriptions, opening->plan, &opening->claim,
                                    opening->accepts_changes ? &opening->change : &opening->error);
    if (r < 0 && (r != -ESTALE || !opening->accepts_changes))
        return r;
    return leat_descriptions_keep(descriptions, opening->plan, &opening->keep_failure);
}

static void plan_work(struct leat_task *task) {
    struct leat_opening *opening = (struct leat_opening *)task;

    if (leat_loading_check(&opening->loading, opening->spec, &opening->error) == 0)
        (void)leat_pipeline_open(opening->spec, opening->opener, &opening->plan, &opening->error);
    if (!opening->plan)
        return;
    (void)identify_data(opening);
    leat_steps_find_rows(opening->plan, opening->opener,
                         leat_feeds_index_folder(opening->sessions->feeds));
    leat_steps_count_rows(opening->plan, opening->opener);
    leat_feed_tuner_recall(&opening->sessions->feeds->tuners, opening->plan, &opening->kept);
}

static void log_failure(const struct leat_opening *opening, enum leat_event event,
                        const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];

    if (!err->code)
        return;
    (void)leat_error_print(err, text, sizeof(text));
    leat_client_log_event(opening->sessions->env, opening->user->uid, event,
                          (struct leat_log_field[]){
                              LEAT_LOG_N("session", opening->session_id),
                              LEAT_LOG_F("stream", opening->stream->name),
                              LEAT_LOG_T("error", text),
                              LEAT_LOG_FIELDS_END,
                          });
}

/* A change of the data is an error for a trainer that opens at a position or is one of several
 * ranks, unless the stream sets on_change. */
static int choose_on_change(const struct leat_opening *opening) {
    const struct leat_run_options *options = &opening->run_options;
    int on_change = opening->plan->options.on_change;

    if (on_change != LEAT_ON_CHANGE_AUTO)
        return on_change;
    return opening->has_position || options->world_size > 1 ? LEAT_ON_CHANGE_FAIL
                                                            : LEAT_ON_CHANGE_WARN;
}

/* On the loop again: keeps what was found out for the next opening. */
static void take_plan(struct leat_opening *opening) {
    const struct leat_plan *plan = opening->plan;
    struct leat_daemon_stream *stream = opening->stream;

    if (plan->data) {
        leat_data_unref(stream->data);
        stream->data = leat_data_ref(plan->data);
    }
    opening->run_options.on_change = choose_on_change(opening);
    opening->seed =
        opening->run_options.has_seed ? opening->run_options.seed : (uint64_t)plan->options.seed;
    fit_window(opening);
    log_failure(opening, LEAT_EVENT_CHANGED, &opening->change);
    log_failure(opening, LEAT_EVENT_DESCRIPTION, &opening->keep_failure);
}

/* Takes the stream's present spec, and hands the task over. */
static int start_plan(struct leat_opening *opening, struct leat_error *err) {
    struct leat_sessions *sessions = opening->sessions;

    if (opening->stream->is_removed)
        return leat_error_set(err, -ENOENT,
                              "the stream \"%.64s\" is no longer in the daemon's settings",
                              opening->stream->name);
    opening->plan = leat_plan_unref(opening->plan);
    opening->spec = leat_spec_free(opening->spec);
    if (leat_spec_copy(opening->stream->spec, &opening->spec) < 0)
        return leat_error_oom(err);
    leat_data_unref(opening->known);
    opening->known = leat_data_ref(opening->stream->data);
    opening->n_reloads = sessions->env->n_reloads;
    leat_loading_start(sessions->feeds, &opening->loading, opening->user, &opening->task);
    return 0;
}

/* Data that was taken from a FIFO does not come again. */
static bool may_plan_again(const struct leat_opening *opening) {
    bool has_pipe = opening->plan && opening->plan->is_one_pass;

    return leat_daemon_stream_is_declared(opening->stream) &&
           !(has_pipe && leat_spec_equal(opening->spec, opening->stream->spec));
}

/* Plans once more if the configuration was reloaded meanwhile. False: it need not, or cannot. */
static bool plan_again(struct leat_opening *opening) {
    struct leat_error err = LEAT_ERROR_INIT;

    if (opening->n_reloads == opening->sessions->env->n_reloads || !may_plan_again(opening))
        return false;
    opening->error = opening->change = opening->keep_failure = LEAT_ERROR_INIT;
    if (start_plan(opening, &err) == 0)
        return true;
    opening->error = err;
    return false;
}

static void plan_done(struct leat_task *task) {
    struct leat_opening *opening = (struct leat_opening *)task;
    struct leat_sessions *sessions = opening->sessions;

    if (opening->session && leat_loading_again(sessions->feeds, &opening->loading)) {
        opening->error = LEAT_ERROR_INIT;
        return;
    }
    leat_loading_release(&opening->loading);
    if (opening->session && plan_again(opening))
        return;
    if (opening->session) {
        if (opening->plan)
            take_plan(opening);
        opening->on_planned(opening->session, opening);
    } else {
        leat_opening_free(opening);
    }
}

struct leat_opening *leat_opening_new(struct leat_sessions *sessions, struct leat_user *user,
                                      const uint8_t *payload, size_t n_bytes,
                                      struct leat_error *err) {
    struct leat_opening *opening = NULL;
    Leat__OpenRequest *request;
    int r = leat_message_check(&leat__open_request__descriptor, payload, n_bytes, err);

    if (r < 0)
        return NULL;
    request = leat_message_unpack(&leat__open_request__descriptor, payload, n_bytes,
                                  "the payload of OPEN is not a valid protobuf message", err);
    if (!request)
        return NULL;
    opening = calloc(1, sizeof(*opening));
    if (opening) {
        opening->sessions = sessions;
        opening->user = leat_user_ref(user);
        r = take_request(opening, request, err);
    } else {
        leat_error_oom(err);
    }
    leat__open_request__free_unpacked(request, NULL);
    return r < 0 ? leat_opening_free(opening) : opening;
}

int leat_opening_start(struct leat_opening *opening, struct leat_error *err) {
    opening->task.class = LEAT_TASK_SLOW;
    opening->task.stream = opening->stream;
    opening->task.work = plan_work;
    opening->task.done = plan_done;
    return start_plan(opening, err);
}

/* ---- the reply ---- */

int leat_opening_reply(const struct leat_plan *plan, uint64_t seed, uint32_t window,
                       uint64_t world_size, uint8_t *buffer, size_t size, size_t *ret_n_bytes) {
    Leat__Opened opened = LEAT__OPENED__INIT;
    struct leat_steps steps;
    Leat__Tensor tensors[LEAT_SLOT_MAX_TENSORS], *pointers[LEAT_SLOT_MAX_TENSORS];
    char *files = NULL;
    int r = 0;

    if (plan->n_tensors > LEAT_SLOT_MAX_TENSORS)
        return -EMSGSIZE;
    for (size_t i = 0; i < plan->n_tensors; i++) {
        struct leat_plan_tensor *tensor = &plan->tensors[i];

        leat__tensor__init(&tensors[i]);
        tensors[i].name = tensor->name;
        tensors[i].dtype = (char *)(uintptr_t)leat_dtype_name(tensor->dtype);
        tensors[i].n_shape = tensor->ndim;
        tensors[i].shape = tensor->shape;
        pointers[i] = &tensors[i];
    }
    opened.stream = plan->spec->name;
    opened.n_tensors = plan->n_tensors;
    opened.tensors = pointers;
    opened.window = window;
    opened.spec_digest = (ProtobufCBinaryData){.len = LEAT_DIGEST_BYTES,
                                               .data = (uint8_t *)(uintptr_t)plan->spec_digest};
    opened.batch_size = plan->batch_size;
    opened.slot_bytes = plan->slot_bytes;
    opened.seed = seed;
    leat_steps_of(plan, world_size, &steps);
    opened.has_n_steps = steps.is_known;
    opened.n_steps = steps.n;
    opened.steps_reason = steps.reason;
    opened.left_out = plan->left_out;
    opened.has_constant_steps = steps.are_constant;
    if (plan->data)
        opened.data_digest = (ProtobufCBinaryData){.len = LEAT_DIGEST_BYTES,
                                                   .data = (uint8_t *)(uintptr_t)plan->data_digest};
    opened.order_version = LEAT_ORDER_VERSION;
    if (plan->data && world_size > 1)
        files = leat_data_text_brief(&plan->source->files, plan->data, FILES_MAX_BYTES);
    if (files)
        opened.files = files;
    if (leat__opened__get_packed_size(&opened) > size)
        opened.files = (char *)(uintptr_t) "";
    if (leat__opened__get_packed_size(&opened) > size)
        r = -EMSGSIZE;
    else
        *ret_n_bytes = leat__opened__pack(&opened, buffer);
    free(files);
    return r;
}
