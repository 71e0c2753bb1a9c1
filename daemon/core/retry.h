/* retry.h: growing pauses between starts that fail.
 *
 * systemd restarts a service at a constant pace (RestartSteps= needs version 254), so the daemon
 * itself waits before it ends. The first failure ends at once, because an operator waits for it.
 * Later ones wait for as long as starts have been failing, LEAT_RETRY_MOST_S at most. A
 * configuration that is refused for LEAT_RETRY_S is given up, with an exit status that makes the
 * unit fail. A signal during a pause comes from an operator, whose next start counts as the first.
 * The time of the first failure is kept in a file of $RUNTIME_DIRECTORY, which the service manager
 * removes with the service. Without a service manager there are no pauses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LEAT_RETRY_S      120
#define LEAT_RETRY_MOST_S 30

struct leat_retry {
    bool is_managed; /* a service manager starts the daemon again */
    bool is_given_up;
    uint32_t pause_s;
};

/* A start has failed. may_heal: not because of the configuration; it is never given up. */
void leat_retry_begin(struct leat_retry *ret_retry, bool may_heal);
/* Waits for the pause; false: a signal asked the daemon to end. */
bool leat_retry_wait(const struct leat_retry *retry);
/* A start succeeded. */
void leat_retry_forget(void);
