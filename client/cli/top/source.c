/* source.c: see source.h. What an update does not tell, how long single trainers waited, is
 * asked for on a connection of its own. */
#include "client/cli/top/source.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "proto/base/clock.h"

int leat_top_source_open(struct leat_top_source *source, uint32_t interval_ms, int answer_ms,
                         struct leat_error *err) {
    int status;

    *source = (struct leat_top_source){
        .subscription.fd = -1, .questions = -1, .interval_ms = interval_ms, .answer_ms = answer_ms};
    status = leat_cli_control_open(NULL, &source->questions, err);
    if (status != LEAT_CLI_OK)
        return status;
    return leat_cli_subscription_begin(&source->subscription, NULL, interval_ms, err);
}

void leat_top_source_close(struct leat_top_source *source) {
    if (source->subscription.fd >= 0)
        leat_cli_subscription_end(&source->subscription);
    if (source->questions >= 0)
        (void)close(source->questions);
    *source = (struct leat_top_source){.subscription.fd = -1, .questions = -1};
}

int leat_top_source_fd(const struct leat_top_source *source) {
    return source->subscription.fd;
}

void leat_top_sample_deinit(struct leat_top_sample *sample) {
    if (sample->update)
        leat__control_reply__free_unpacked(sample->update, NULL);
    if (sample->trainers)
        leat__control_reply__free_unpacked(sample->trainers, NULL);
    *sample = (struct leat_top_sample){.update = NULL};
}

/* ---- questions ---- */

static Leat__ControlReply *ask(struct leat_top_source *source, Leat__ControlRequest__VerbCase verb,
                               struct leat_error *err) {
    Leat__StatsRequest stats = LEAT__STATS_REQUEST__INIT;
    Leat__ControlReply *reply = NULL;

    (void)leat_exchange_ask(source->questions, verb,
                            verb == LEAT__CONTROL_REQUEST__VERB_STATS ? &stats : NULL,
                            source->answer_ms, &reply, err);
    return reply;
}

/* An empty update, allocated as one that was unpacked. */
static Leat__ControlReply *new_update(void) {
    Leat__ControlReply *reply = malloc(sizeof(*reply));
    Leat__Update *update = malloc(sizeof(*update));

    if (!reply || !update) {
        free(reply);
        free(update);
        return NULL;
    }
    leat__control_reply__init(reply);
    leat__update__init(update);
    reply->verb_case = LEAT__CONTROL_REPLY__VERB_UPDATE;
    reply->update = update;
    return reply;
}

/* Without what it told, which another has now. */
static void free_emptied(Leat__ControlReply *reply) {
    reply->verb_case = LEAT__CONTROL_REPLY__VERB__NOT_SET;
    leat__control_reply__free_unpacked(reply, NULL);
}

static Leat__ControlReply *ask_for_all(struct leat_top_source *source, struct leat_error *err) {
    Leat__ControlReply *reply = new_update(), *part;

    if (!reply) {
        leat_error_oom(err);
        return NULL;
    }
    reply->update->at_ns = leat_now_ns();
    part = ask(source, LEAT__CONTROL_REQUEST__VERB_STATUS, err);
    if (part) {
        reply->update->status = part->status;
        free_emptied(part);
        part = ask(source, LEAT__CONTROL_REQUEST__VERB_STREAMS, err);
    }
    if (part) {
        reply->update->streams = part->streams;
        free_emptied(part);
        part = ask(source, LEAT__CONTROL_REQUEST__VERB_STATS, err);
    }
    if (part) {
        reply->update->stats = part->stats;
        free_emptied(part);
        return reply;
    }
    leat__control_reply__free_unpacked(reply, NULL);
    return NULL;
}

/* ---- updates ---- */

static bool is_readable(int fd) {
    struct pollfd item = {.fd = fd, .events = POLLIN};

    return poll(&item, 1, 0) > 0;
}

/* The last of those that are there: who was stopped for a while is not to lag behind. */
static int take_update(struct leat_top_source *source, Leat__ControlReply **ret_reply,
                       struct leat_error *err) {
    Leat__ControlReply *reply;
    int status;

    source->subscription.timeout_ms = (int)source->interval_ms + source->answer_ms;
    do {
        reply = leat_cli_subscription_next(&source->subscription, &status, err);
        if (reply && *ret_reply)
            leat__control_reply__free_unpacked(*ret_reply, NULL);
        if (reply)
            *ret_reply = reply;
    } while (reply && is_readable(source->subscription.fd));
    return status;
}

/* Without a code it was interrupted. */
static bool is_refused(const struct leat_error *err) {
    return err->code != 0 && err->code != -ECONNRESET && err->code != -ETIMEDOUT &&
           err->code != -EACCES && err->code != -EPIPE;
}

int leat_top_source_take(struct leat_top_source *source, struct leat_top_sample *ret_sample,
                         struct leat_error *err) {
    struct leat_error own = LEAT_ERROR_INIT;
    int status = LEAT_CLI_OK;

    *ret_sample = (struct leat_top_sample){.update = NULL};
    if (!source->asks)
        status = take_update(source, &ret_sample->update, &own);
    if (status != LEAT_CLI_OK && is_refused(&own) && source->subscription.fd >= 0) {
        leat_cli_subscription_end(&source->subscription);
        leat_top_sample_deinit(ret_sample); /* an update may have come before */
        source->asks = true;
        own = LEAT_ERROR_INIT;
    }
    if (source->asks) {
        ret_sample->update = ask_for_all(source, &own);
        status = ret_sample->update ? LEAT_CLI_OK : LEAT_CLI_FAILURE;
    }
    if (status == LEAT_CLI_OK)
        ret_sample->trainers = ask(source, LEAT__CONTROL_REQUEST__VERB_TRAINERS, &own);
    if (status == LEAT_CLI_OK && !own.code)
        return LEAT_CLI_OK;
    leat_top_sample_deinit(ret_sample);
    *err = own;
    return status == LEAT_CLI_OK ? LEAT_CLI_FAILURE : status;
}
