/* doctor/tunnels.h: what `leatctl doctor` examines in a stunnel.conf. */
#pragma once

#include <stdio.h>

#define LEAT_STUNNEL_VALUE_SIZE 1024

/* Options of its first service and of what stands before it. An absent one is "". */
struct leat_stunnel_conf {
    char client[LEAT_STUNNEL_VALUE_SIZE], accept[LEAT_STUNNEL_VALUE_SIZE];
    char connect[LEAT_STUNNEL_VALUE_SIZE], cert[LEAT_STUNNEL_VALUE_SIZE];
    char ca_file[LEAT_STUNNEL_VALUE_SIZE], ca_path[LEAT_STUNNEL_VALUE_SIZE];
    char verify_chain[LEAT_STUNNEL_VALUE_SIZE], verify_peer[LEAT_STUNNEL_VALUE_SIZE];
    char require_cert[LEAT_STUNNEL_VALUE_SIZE];
    char check_host[LEAT_STUNNEL_VALUE_SIZE], check_ip[LEAT_STUNNEL_VALUE_SIZE];
};

/* Reads the file to the second service. Returns 0, -EFBIG for too many lines, a line or a value
 * that is too long, or -errno. */
int leat_stunnel_conf_read(FILE *file, struct leat_stunnel_conf *ret_conf);
