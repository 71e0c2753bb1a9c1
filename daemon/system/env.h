/* env.h: what all rooms of the daemon need, so that none of them has to know the daemon itself.
 *
 * Core makes and writes it. The other rooms read it, and report with leat_env_ended() what core may
 * wait for. Owner: loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* The time of one turn of the loop, in which no other event is handled. */
struct leat_turns {
    uint64_t at_ns, idle_ns;    /* at the beginning of the present one */
    uint64_t cpu_ns, cpu_at_ns; /* processor time, and when it was read last */
    uint64_t longest_ns;        /* by the clock on the wall */
    uint64_t longest_cpu_ns;    /* of processor time: without that of other processes */
};

struct leat_env {
    uv_loop_t *loop;
    struct leat_log *log;
    struct leat_client_log *client_log;
    struct leat_users *users;
    struct leat_scheduler *scheduler;
    struct leat_budget *budget; /* of all memory */
    struct leat_socket_closer *closer;
    struct leat_settings *settings; /* those in force, which a reload replaces */
    struct leat_roots *roots;       /* likewise */
    uint32_t n_workers;
    const char *sandbox; /* what the process has given up: "calls, writes"; "" in tests */
    bool is_unfused; /* each per-record stage is a job of its own */
    uint64_t start_ns, start_unix_ns;
    struct leat_turns turns;
    uint64_t n_reloads;
    bool is_reload_good; /* the last one was; true before the first */
    bool is_draining, is_stopping;
    uint64_t drain_deadline_ns;
    bool has_ended; /* leat_env_ended() was called since core last looked */
};

/* A session, feed, request or reload has ended. A stop or drain may have waited for it, and
 * descriptors may be free again. */
static inline void leat_env_ended(struct leat_env *env) {
    env->has_ended = true;
}
