/* control.h: the control socket: one request, one reply, in frames of protobuf (leatctl).
 *
 * Who may ask what stands in proto/control_verbs.def; see rights.h. Requests that read files are
 * answered from the pool; while one is under way no further one is read from that connection. A
 * client that does not read its replies is dropped. Owner: loop.
 */
#pragma once

#include "daemon/config/rights.h"
#include "daemon/control/pace.h"
#include "daemon/net/channel.h"
#include "daemon/users/peer.h"
#include "daemon/users/user.h"
#include "pipeline/memory/arena.h"
#include "proto/leat.pb-c.h"

#define LEAT_CONTROL_QUEUE_MAX (2U << 20) /* bytes of replies that wait */

struct leat_daemon;
struct leat_control_plan;
struct leat_control_caches;
struct leat_subscription;
struct leat_reload;
struct leat_control_why;
struct leat_tracing;

struct leat_control {
    struct leat_control *next, **link; /* of the daemon's */
    struct leat_daemon *daemon;
    struct leat_peer peer; /* only who, not watched */
    enum leat_right right;
    struct leat_user *user;
    struct leat_channel channel;
    struct leat_control_plan *plan;         /* on the pool */
    struct leat_control_caches *caches;     /* likewise */
    struct leat_reload *reload;             /* that it waits for */
    struct leat_control_why *why;           /* likewise */
    struct leat_subscription *subscription; /* NULL: none */
    struct leat_control_rest rest;
    const uint8_t *request; /* that is being answered, if its answer is the same for all */
    size_t n_request;
    struct leat_tracing *tracing; /* of this connection; NULL: none */
    bool waits_for_drain, closes_when_sent, is_closed;
};

/* As leat_session_accept. */
int leat_control_accept(struct leat_daemon *daemon, int take_fd);
/* Ends a fresh connection that gets no answers, and tells it why if it takes that at once. err
 * NULL: it is told nothing. */
void leat_control_turn_away(struct leat_daemon *daemon, int take_fd, const struct leat_error *err);
/* The daemon stops: answers who waits for that, then closes. */
void leat_control_leave(struct leat_control *control);
void leat_control_close(struct leat_control *control);

/* Answers; the reply is packed at once. */
void leat_control_reply(struct leat_control *control, const Leat__ControlReply *reply);
void leat_control_fail(struct leat_control *control, const struct leat_error *err);
void leat_control_fail_memory(struct leat_control *control);
/* One line for what changes the daemon: who asked for what. */
void leat_control_log(const struct leat_control *control, const char *what);

/* The verbs; each answers now or later. Messages are made in `arena`, which lives until the call
 * returns. */
typedef void leat_control_verb(struct leat_control *control, const Leat__ControlRequest *request,
                               struct leat_arena *arena);
#define LEAT_CONTROL_VERB(upper, name, right) leat_control_verb leat_control_##name;
#include "proto/control_verbs.def"
#undef LEAT_CONTROL_VERB

struct leat_subscription *leat_subscription_free(struct leat_subscription *subscription);

/* The reply to a request that was on the pool is not wanted any more. */
void leat_control_plan_abandon(struct leat_control_plan *plan);
void leat_control_caches_abandon(struct leat_control_caches *caches);
void leat_control_why_abandon(struct leat_control_why *why);
