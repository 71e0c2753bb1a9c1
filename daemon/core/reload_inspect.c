/* reload_inspect.c: compares each stream in use with its new spec, and decides what that means
 * for its trainers. See reload.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/core/reload.h"
#include "daemon/stream/share.h"
#include "daemon/stream/variant.h"
#include "daemon/trainer/session.h"
#include "daemon/trainer/sessions.h"
#include "pipeline/io/opener.h"
#include "pipeline/run/pipeline.h"
#include "proto/base/blake2b.h"

/* ---- which ---- */

static const struct leat_spec *find_spec(const struct leat_settings *settings, const char *name) {
    for (size_t i = 0; i < settings->n_streams; i++)
        if (strcmp(settings->streams[i]->name, name) == 0)
            return settings->streams[i];
    return NULL;
}

/* Finds the spec as an opening does: the stream NAME.SPLIT if it is declared, else a part of NAME.
 * A stream without that part counts as not declared. */
static int find_variant(const struct leat_reload *reload, struct leat_reload_inspection *look) {
    const struct leat_stream_origin *origin = &look->stream->origin;
    struct leat_variant variant = {.split = origin->split, .shuffle = origin->shuffle};
    struct leat_error none = LEAT_ERROR_INIT;
    const struct leat_spec *spec = NULL;
    char name[2 * LEAT_NAME_MAX + 2];

    (void)snprintf(name, sizeof(name), "%s.%s", origin->name, origin->split);
    if (origin->split[0])
        spec = find_spec(reload->settings, name);
    if (spec)
        variant.split = "";
    else
        spec = find_spec(reload->settings, origin->name);
    if (spec && leat_variant_is_any(&variant)) {
        if (leat_variant_make(spec, &variant, &look->variant, &none) == -ENOMEM)
            return -ENOMEM;
        spec = look->variant;
    } else if (spec && leat_spec_copy(spec, &look->variant) < 0) {
        return -ENOMEM;
    }
    look->spec = look->variant;
    return 0;
}

/* True if relative paths mean the same in both. */
static bool is_in_same_folder(const struct leat_spec *a, const struct leat_spec *b) {
    const char *slash_a = a->file ? strrchr(a->file, '/') : NULL;
    const char *slash_b = b->file ? strrchr(b->file, '/') : NULL;
    size_t n_a = slash_a ? (size_t)(slash_a - a->file) : 0;
    size_t n_b = slash_b ? (size_t)(slash_b - b->file) : 0;

    return n_a == n_b && (n_a == 0 || memcmp(a->file, b->file, n_a) == 0);
}

static int add_look(struct leat_reload *reload, struct leat_daemon_stream *stream) {
    struct leat_reload_inspection *looks = reallocarray(reload->looks, reload->n_looks + 1,
                                                        sizeof(*looks)),
                                  *look;
    int r = 0;

    if (!looks)
        return -ENOMEM;
    reload->looks = looks;
    look = &looks[reload->n_looks++];
    stream->look = reload->n_looks;
    *look = (struct leat_reload_inspection){.stream = leat_daemon_stream_ref(stream)};
    if (stream->origin.name)
        r = find_variant(reload, look);
    else
        look->spec = find_spec(reload->settings, stream->name);
    look->is_written_same = look->spec && leat_spec_equal(stream->spec, look->spec) &&
                            is_in_same_folder(stream->spec, look->spec);
    return r;
}

int leat_reload_find_streams(struct leat_reload *reload) {
    int r = 0;

    for (struct leat_daemon_stream *stream = reload->reloads->sessions->feeds->streams.first;
         r == 0 && stream; stream = stream->next)
        if (stream->n_refs > 0 && leat_daemon_stream_is_declared(stream) && stream->look == 0)
            r = add_look(reload, stream);
    return r;
}

/* ---- what it gives ---- */

static void hash_files(const struct leat_plan *plan, uint8_t ret_digest[LEAT_DIGEST_BYTES]) {
    const struct leat_files *files = &plan->source->files;
    struct leat_blake2b state;

    leat_blake2b_init(&state);
    for (size_t i = 0; i < files->n_paths; i++)
        leat_blake2b_text(&state, files->paths[i]);
    leat_blake2b_final(&state, ret_digest);
}

static void identify(const struct leat_plan *plan, struct leat_reload_identity *ret_identity) {
    memcpy(ret_identity->spec_digest, plan->spec_digest, LEAT_DIGEST_BYTES);
    memcpy(ret_identity->skips_digest, plan->skips_digest, LEAT_DIGEST_BYTES);
    hash_files(plan, ret_identity->files_digest);
}

/* Opens no FIFO, because the run reads it and opening it once more would end its writer. */
struct looking_opener {
    struct leat_opener opener;
    bool has_pipe;
};

static int open_regular(const struct leat_opener *opener, const char *path,
                        struct leat_error *err) {
    struct looking_opener *looking = (struct looking_opener *)(uintptr_t)opener;
    struct stat status;

    if (strcmp(path, "-") != 0 && (stat(path, &status) < 0 || !S_ISFIFO(status.st_mode)))
        return leat_opener_any.open_file(&leat_opener_any, path, err);
    looking->has_pipe = true;
    return leat_error_set(err, -EINVAL, "%s is a FIFO, so the daemon cannot check it", path);
}

static int open_directory(const struct leat_opener *opener, const char *path,
                          struct leat_error *err) {
    (void)opener;
    return leat_opener_any.open_directory(&leat_opener_any, path, err);
}

void leat_reload_inspect(struct leat_reload *reload) {
    struct leat_reload_inspection *look = &reload->looks[reload->next_look];
    struct looking_opener looking = {
        .opener = {.open_file = open_regular,
                   .open_directory = open_directory,
                   .open_stream = open_regular,
                   .may_execute = reload->settings->exec != LEAT_SETTINGS_EXEC_NEVER}};
    struct leat_plan *plan = NULL;

    if (!look->spec)
        return;
    if (leat_loading_check(&reload->loading, look->spec, &reload->error) == 0 &&
        leat_pipeline_open(look->spec, &looking.opener, &plan, &reload->error) == 0) {
        look->is_known = true;
        identify(plan, &look->found);
        leat_plan_unref(plan);
    }
    look->may_fail = look->is_written_same || looking.has_pipe;
}

/* ---- what that means ---- */

static bool is_same(const struct leat_reload_inspection *look, const struct leat_plan *plan) {
    struct leat_reload_identity now;

    if (!look->is_known)
        return look->is_written_same;
    identify(plan, &now);
    return memcmp(now.spec_digest, look->found.spec_digest, LEAT_DIGEST_BYTES) == 0 &&
           memcmp(now.skips_digest, look->found.skips_digest, LEAT_DIGEST_BYTES) == 0 &&
           (look->is_written_same ||
            memcmp(now.files_digest, look->found.files_digest, LEAT_DIGEST_BYTES) == 0);
}

static bool is_to_be_told(const struct leat_spec *spec) {
    const struct leat_value *on_reload = leat_value_get(&spec->options, "on_reload");

    return on_reload && on_reload->kind == LEAT_VALUE_SCALAR &&
           strcmp(on_reload->text, "tell") == 0;
}

static enum leat_reload_fate fate_of(const struct leat_reload_inspection *look,
                                     const struct leat_session *session) {
    if (!session->consumer.share)
        return LEAT_RELOAD_AFRESH;
    if (look->spec && is_same(look, session->consumer.share->plan))
        return LEAT_RELOAD_STAYS;
    if (session->state == LEAT_SESSION_SERVING &&
        is_to_be_told(look->spec ? look->spec : session->stream->spec))
        return LEAT_RELOAD_TOLD;
    return look->spec ? LEAT_RELOAD_FINISHES : LEAT_RELOAD_ENDS;
}

void leat_reload_judge(struct leat_reload *reload) {
    struct leat_session *session = reload->reloads->sessions->first;

    for (; session; session = session->next) {
        struct leat_reload_inspection *look;

        session->reload_fate = LEAT_RELOAD_STAYS;
        if (session->state >= LEAT_SESSION_LEAVING || !session->stream || !session->stream->look)
            continue;
        look = &reload->looks[session->stream->look - 1];
        session->reload_fate = (int)fate_of(look, session);
        look->n_sessions++;
        look->n_of[session->reload_fate]++;
    }
}
