/* source.h: where `leatctl top` has its figures from: a subscription, which costs the daemon
 * least, or, from a daemon that refuses it, questions. Owner: the one thread.
 */
#pragma once

#include <stdbool.h>

#include "client/cli/base/daemon/control.h"

struct leat_top_source {
    struct leat_cli_subscription subscription; /* fd -1: none */
    int questions;                             /* a connection for them; -1: none */
    uint32_t interval_ms;
    int answer_ms; /* A daemon that takes longer is taken as gone. */
    bool asks;     /* there is no subscription: ask each interval */
};

/* An update has come: update->update is set; trainers may be NULL. */
struct leat_top_sample {
    Leat__ControlReply *update, *trainers;
};

/* An exit status; to be closed in any case. */
int leat_top_source_open(struct leat_top_source *source, uint32_t interval_ms, int answer_ms,
                         struct leat_error *err);
void leat_top_source_close(struct leat_top_source *source);
/* To be polled for the next update; -1: after an interval take one all the same. */
int leat_top_source_fd(const struct leat_top_source *source);
/* Waits for the next one. An exit status. */
int leat_top_source_take(struct leat_top_source *source, struct leat_top_sample *ret_sample,
                         struct leat_error *err);
void leat_top_sample_deinit(struct leat_top_sample *sample);
