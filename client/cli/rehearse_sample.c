/* rehearse_sample.c: see rehearse_sample.h. */
#include "client/cli/rehearse_sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/cli/control.h"
#include "pipeline/opener.h"
#include "pipeline/plan.h"

#define SAMPLE_S   4 /* what the stream reads in so many seconds, within: */
#define SAMPLE_MIN (UINT64_C(1) << 20)
#define SAMPLE_MAX (UINT64_C(256) << 20)
#define FILE_BYTES (UINT64_C(1) << 20) /* of each file, or less files */

/* ---- the spec ---- */

static int get_spec(const char *stream, struct leat_spec **ret_spec, struct leat_error *err) {
    Leat__SpecRequest spec = LEAT__SPEC_REQUEST__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    Leat__ControlReply *reply;
    int status;

    spec.stream = (char *)(uintptr_t)stream;
    request.verb_case = LEAT__CONTROL_REQUEST__VERB_SPEC;
    request.spec = &spec;
    reply = leat_cli_control_expect(&request, LEAT__CONTROL_REPLY__VERB_SPEC,
                                    LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (reply)
        (void)leat_spec_unpack(reply->spec, ret_spec, err);
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

/* As if it were not given. */
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
static int set_knobs(struct leat_value *options, const Leat__StreamStats *stats) {
    int r = set(options, "tuner", "off");

    for (size_t i = 0; r == 0 && stats->n_tuners > 0 && i < stats->tuners[0]->n_knobs; i++) {
        const Leat__KnobStats *knob = stats->tuners[0]->knobs[i];

        if (strcmp(knob->name, "prefetch_size") != 0) /* that one is a stage */
            r = set_number(options, knob->name, knob->value);
    }
    return r;
}

/* An epoch has an end. */
static int end_epochs(const struct leat_spec *spec) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < spec->n_stages; i++)
        if (strcmp(spec->stages[i].kind, "repeat") == 0) {
            leat_value_deinit(&spec->stages[i].args);
            r = set_number(&spec->stages[i].args, "count", 1);
        }
    return r;
}

/* ---- its files ---- */

/* Of the text of all files together. */
static uint64_t choose_bytes(const Leat__StreamStats *stats, double records_per_s) {
    double record_bytes = stats->n_source_records > 0
                              ? (double)stats->n_source_bytes / (double)stats->n_source_records
                              : 0;
    double n = SAMPLE_S * records_per_s * record_bytes;

    return n < (double)SAMPLE_MIN ? SAMPLE_MIN : n > (double)SAMPLE_MAX ? SAMPLE_MAX : (uint64_t)n;
}

/* The first files alone. */
static int set_paths(struct leat_spec *spec, const struct leat_plan *plan, size_t n_files) {
    struct leat_value *paths = leat_value_get(&spec->source.args, "paths");
    int r = 0;

    leat_value_deinit(paths);
    for (size_t i = 0; r == 0 && i < n_files; i++) {
        struct leat_value *item;

        r = leat_value_append(paths, &item);
        if (r == 0)
            r = leat_value_set_text(item, plan->source->files.paths[i], true);
    }
    return r;
}

/* Whether all of a file is a record, or its text is not that of the file. */
static bool has_beginnings(const struct leat_plan *plan) {
    for (size_t i = 0; i < plan->n_sources; i++)
        if (plan->sources[i].ops->look_into || plan->sources[i].cutter.kind == LEAT_CUTTER_WHOLE)
            return false;
    return true;
}

/* Of several files, a MiB at least of each that is taken. */
static int cut(struct leat_cli_sample *sample, const struct leat_plan *plan) {
    struct leat_spec *spec = sample->spec;
    size_t n_files = plan->source->files.n_paths, n_most = (size_t)(sample->n_bytes / FILE_BYTES);
    uint64_t n_bytes;
    int r = 0;

    if (n_files > n_most && plan->n_sources == 1 && leat_value_get(&spec->source.args, "paths")) {
        n_files = n_most;
        r = set_paths(spec, plan, n_files);
    }
    n_bytes = sample->n_bytes / n_files;
    if (n_bytes < FILE_BYTES)
        n_bytes = FILE_BYTES;
    if (!has_beginnings(plan))
        sample->n_bytes = UINT64_MAX;
    else if (r == 0 && (plan->options.max_file_bytes == 0 ||
                        n_bytes < (uint64_t)plan->options.max_file_bytes))
        r = set_number(&spec->options, "max_file_bytes", n_bytes);
    return r;
}

static int cut_files(struct leat_cli_sample *sample, struct leat_error *err) {
    struct leat_plan *plan = NULL;
    int r = leat_plan_new(sample->spec, &leat_opener_operator, &plan, err);

    if (r < 0)
        return r;
    if (plan->is_one_pass)
        r = leat_error_set(err, -EINVAL, "the stream's data comes through a pipe, and so but once");
    else if (cut(sample, plan) < 0)
        r = leat_error_oom(err);
    leat_plan_unref(plan);
    return r;
}

int leat_cli_sample_make(const char *stream, const Leat__StreamStats *stats, double records_per_s,
                         struct leat_cli_sample *ret_sample, struct leat_error *err) {
    struct leat_cli_sample *sample = ret_sample;
    int r;

    *sample = (struct leat_cli_sample){.n_bytes = choose_bytes(stats, records_per_s)};
    r = get_spec(stream, &sample->spec, err);
    if (r < 0)
        return r;
    if (leat_value_get(&sample->spec->options, "cache"))
        return leat_error_set(err, -EINVAL, "the stream has a cache");
    if (set_knobs(&sample->spec->options, stats) < 0 ||
        leave_files_alone(&sample->spec->options) < 0 || end_epochs(sample->spec) < 0)
        return leat_error_oom(err);
    return cut_files(sample, err);
}

int leat_cli_sample_cached(const struct leat_cli_sample *sample, const char *folder,
                           struct leat_spec **ret_spec, struct leat_error *err) {
    struct leat_value *cache;

    if (leat_spec_copy(sample->spec, ret_spec) == 0 &&
        leat_value_insert(&(*ret_spec)->options, "cache", &cache) == 0 &&
        set(cache, "path", folder) == 0)
        return 0;
    return leat_error_oom(err);
}

void leat_cli_sample_deinit(struct leat_cli_sample *sample) {
    leat_spec_free(sample->spec);
    sample->spec = NULL;
}
