/* retry.h: a start that failed is tried again with growing pauses.
 *
 * systemd restarts a service at one pace (its RestartSteps= is of version 254), so the daemon
 * itself waits before it ends, once it has failed before. The first failure ends at once, as an
 * operator waits for it. Then it waits for as long as it has been failing, LEAT_RETRY_MOST_S at
 * most. A configuration that was refused for LEAT_RETRY_S is given up: the exit status tells the
 * unit, which then has failed. A signal during a pause is an operator's, whose start is the first
 * one again. Since when it fails stands in a file of $RUNTIME_DIRECTORY, which goes with the
 * service; without a service manager there are no pauses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LEAT_RETRY_S      120
#define LEAT_RETRY_MOST_S 30

struct leat_retry {
    bool is_managed; /* somebody starts it again */
    bool is_given_up;
    uint32_t pause_s;
};

/* Another start has failed. may_heal: not by its configuration, so it is never given up. */
void leat_retry_begin(struct leat_retry *ret_retry, bool may_heal);
/* false: a signal asked it to end. */
bool leat_retry_wait(const struct leat_retry *retry);
/* A start went well. */
void leat_retry_forget(void);
