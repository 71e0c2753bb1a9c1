/* private_daemon.h: a leatd of our own for one file, with sockets that nobody else can reach.
 *
 * It ends at the latest when this process dies (PR_SET_PDEATHSIG). Its log is a file beside its
 * sockets, which is printed if the daemon fails, and removed in the end. Warnings are printed when
 * the daemon is stopped. Owner: the one thread.
 */
#pragma once

#include <sys/types.h>

#include "client/cli/base/arguments.h"

struct leat_cli_daemon {
    pid_t pid;          /* 0: none */
    int pidfd;          /* -1: none */
    char directory[96]; /* of its sockets, an address for libleat; "": none */
};

/* Starts leatd for the operand, with --workers and --no-fuse, and waits until it is ready. leatd is
 * the one beside this program, else $LEAT_LEATD, else the one on the PATH. 0, or -errno with what
 * the daemon said; then there is nothing to stop. */
int leat_cli_daemon_start(struct leat_cli_daemon *daemon,
                          const struct leat_cli_arguments *arguments, struct leat_error *err);
/* The same for a file, with values in place of those in it: `--set` for each. */
int leat_cli_daemon_start_with(struct leat_cli_daemon *daemon, const char *file,
                               const char *const *overrides, size_t n_overrides, bool is_unfused,
                               struct leat_error *err);
/* Runs `leatd --config file --check-config`; ret_text is its output, cut to size. Its exit status;
 * 127: there is no leatd. */
int leat_cli_daemon_check(const char *file, const char *const *overrides, size_t n_overrides,
                          char *ret_text, size_t size);
/* Stops the daemon, prints its warnings, and removes its directory. Accepts one that was never
 * started. */
void leat_cli_daemon_stop(struct leat_cli_daemon *daemon);
