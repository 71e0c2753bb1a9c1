/* source.h: where `leatctl top` has its figures from: a subscription. What an update does not
 * tell, how long single trainers waited, is asked for on another connection. Owner: the one thread.
 */
#pragma once

#include "client/cli/base/daemon/control.h"

struct leat_top_source {
    struct leat_cli_subscription subscription; /* fd -1: none; to be polled for an update */
    int questions;                             /* the connection for trainers; -1: none */
    uint32_t interval_ms;
    int answer_ms; /* A daemon that takes longer is taken as gone. */
};

/* After the first update both are set. */
struct leat_top_sample {
    Leat__ControlReply *update, *trainers;
};

/* An exit status; to be closed in any case. */
int leat_top_source_open(struct leat_top_source *source, uint32_t interval_ms, int answer_ms,
                         struct leat_error *err);
void leat_top_source_close(struct leat_top_source *source);
/* Waits for the next one. An exit status. */
int leat_top_source_take(struct leat_top_source *source, struct leat_top_sample *ret_sample,
                         struct leat_error *err);
void leat_top_sample_deinit(struct leat_top_sample *sample);
