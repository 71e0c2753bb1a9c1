/* options.h: the command line of leatd. */
#pragma once

#include <stdbool.h>

#include "daemon/core/daemon.h"
#include "daemon/core/reference.h"

struct leat_options {
    struct leat_daemon_options daemon;
    bool checks_config, asks_reload, wants_help, wants_version, wants_events, wants_reference;
    enum leat_reference_form form; /* of events */
};

int leat_options_parse(struct leat_options *options, int argc, char **argv, struct leat_error *err);
const char *leat_options_help(void);
