/* interrupt.c: see interrupt.h. A second signal ends the process at once. */
#include "client/cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t was_seen;

static void on_signal(int signal_number) {
    struct sigaction standard = {.sa_handler = SIG_DFL};

    was_seen = 1;
    (void)sigaction(signal_number, &standard, NULL);
}

void leat_cli_interrupt_watch(void) {
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART */

    was_seen = 0;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool leat_cli_interrupt_seen(void) {
    return was_seen != 0;
}
