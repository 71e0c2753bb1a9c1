/* private_daemon.h: a leatd of our own for one file, with sockets that nobody else can reach.
 *
 * It ends with us: at the latest when this process dies (PR_SET_PDEATHSIG). Its log goes to a file
 * beside its sockets, which is shown if it fails and removed with the rest; its warnings are shown
 * at the end. Owner: the one thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "proto/base/error.h"

struct leat_cli_daemon {
    pid_t pid;          /* 0: none */
    int pidfd;          /* -1: none */
    char directory[96]; /* of its sockets: the address for libleat; "": none */
};

/* leatd beside this program, else $LEAT_LEATD, else "leatd" for the PATH. */
void leat_cli_daemon_program(char *ret_path, size_t size);

/* Starts `leatd --config file [--workers n] [--no-fuse]` and waits until it is ready. n_workers 0:
 * as the file says. 0, or -errno with what the daemon said; then there is nothing to stop. */
int leat_cli_daemon_start(struct leat_cli_daemon *daemon, const char *file, uint32_t n_workers,
                          bool is_unfused, struct leat_error *err);
/* The same with values in place of those in the file: `--set` for each. */
int leat_cli_daemon_start_with(struct leat_cli_daemon *daemon, const char *file,
                               const char *const *overrides, size_t n_overrides, bool is_unfused,
                               struct leat_error *err);
/* What `leatd --config file --check-config` prints, cut to size, and its exit status; 127: there is
 * no leatd. */
int leat_cli_daemon_check(const char *file, const char *const *overrides, size_t n_overrides,
                          char *ret_text, size_t size);
/* Stops it, prints what it warned of, and removes its directory. Accepts one that was never
 * started. */
void leat_cli_daemon_stop(struct leat_cli_daemon *daemon);
