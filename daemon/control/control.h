/* control.h: connections to the control socket (leatctl). Requests and replies are frames of
 * protobuf.
 *
 * proto/control_verbs.def has the right that each verb needs (rights.h). Requests that read files
 * are answered from a worker thread; meanwhile no further request of that connection is read. A
 * client that does not read its replies is dropped. Owner: loop.
 */
#pragma once

#include "daemon/config/rights.h"
#include "daemon/control/pace.h"
#include "daemon/control/packed.h"
#include "daemon/metrics/monitor.h"
#include "daemon/net/channel.h"
#include "daemon/schedule/scheduler.h"
#include "daemon/stream/feeds.h"
#include "daemon/system/env.h"
#include "daemon/trainer/sessions.h"
#include "daemon/users/peer.h"
#include "daemon/users/user.h"
#include "pipeline/memory/arena.h"
#include "proto/leat.pb-c.h"

#define LEAT_CONTROL_QUEUE_MAX (2U << 20) /* bytes of queued replies */

struct leat_control;
struct leat_controls;
struct leat_control_job;
struct leat_subscription;
struct leat_reload;
struct leat_tracing;

/* Operations that only core can do. */
struct leat_control_ops {
    void (*drain)(struct leat_controls *controls, uint32_t timeout_ms);
    /* Answers when the reload is over; the connection is paused until then. */
    void (*reload)(struct leat_control *control, bool only_checks);
    /* The connection is closed, and does not wait for its reload any more. */
    void (*abandon_reload)(struct leat_control *control);
};

struct leat_controls {
    struct leat_env *env;
    struct leat_feeds *feeds;
    struct leat_sessions *sessions;
    struct leat_monitor *monitor;
    const struct leat_control_ops *ops;
    struct leat_rights rights; /* on the control socket */
    struct leat_control *first;
    struct leat_control_pace pace;
    struct leat_packed_answer answer;
    uv_timer_t updates; /* fires when the next update of a subscription is due */
};

struct leat_control {
    struct leat_control *next, **link;
    struct leat_controls *controls;
    struct leat_peer peer; /* identified, but not watched */
    enum leat_right right;
    struct leat_user *user;
    struct leat_channel channel;
    struct leat_control_job *job;           /* that it waits for; NULL: none */
    struct leat_reload *reload;             /* likewise */
    struct leat_subscription *subscription; /* NULL: none */
    struct leat_control_rest rest;
    const uint8_t *request; /* during its answer, if that is the same for all clients */
    size_t n_request;
    struct leat_tracing *tracing; /* of this connection; NULL: none */
    bool waits_for_drain, closes_when_sent, is_closed;
};

/* Inits the timers, once the loop and the number of workers are known. */
void leat_controls_init(struct leat_controls *controls);
void leat_controls_close(struct leat_controls *controls);
/* As leat_session_accept. */
int leat_control_accept(struct leat_controls *controls, int take_fd);
/* Ends a fresh connection without answers, and sends the reason, unless err is NULL. */
void leat_control_turn_away(struct leat_controls *controls, int take_fd,
                            const struct leat_error *err);
/* The daemon stops: answers a drain that waits for that, then closes. */
void leat_control_leave(struct leat_control *control);
void leat_control_close(struct leat_control *control);

/* Sends the answer to that verb, such as Leat__StatusReply; message NULL: memory is out. */
void leat_control_answer(struct leat_control *control, Leat__ControlReply__VerbCase verb,
                         void *message);
void leat_control_answer_done(struct leat_control *control); /* an empty answer */
/* Packs the reply and sends it. */
void leat_control_reply(struct leat_control *control, const Leat__ControlReply *reply);
void leat_control_fail(struct leat_control *control, const struct leat_error *err);
void leat_control_fail_memory(struct leat_control *control);
/* Users without the right to operate pay for the work of worker threads, too. */
void leat_control_charge_work(struct leat_control *control, uint64_t taken_ns);
/* Logs a request that changes the daemon. */
void leat_control_log(const struct leat_control *control, const char *what);

/* A request that is answered from a worker thread. A connection has one at a time, and no further
 * request is read before the answer. If it is closed meanwhile, there is no answer. */
struct leat_control_job {
    struct leat_task task;        /* first */
    struct leat_control *control; /* NULL: it was closed */
    struct leat_user *user;       /* a reference, for what outlives the connection */
    void (*answer)(struct leat_control_job *job);
    void (*free)(struct leat_control_job *job);
};

/* Pauses the connection; the verb then adds the task. */
void leat_control_job_begin(struct leat_control_job *job, struct leat_control *control);
/* The task's `done`, or called by that: answers, and frees the job. */
void leat_control_job_done(struct leat_task *task);

/* The verbs; each answers now or later. `arena`, for messages, lives until the call returns. */
typedef void leat_control_verb(struct leat_control *control, const Leat__ControlRequest *request,
                               struct leat_arena *arena);
#define LEAT_CONTROL_VERB(upper, name, right) leat_control_verb leat_control_##name;
#include "proto/control_verbs.def"
#undef LEAT_CONTROL_VERB

struct leat_subscription *leat_subscription_free(struct leat_subscription *subscription);
