/* rights.h: who may ask what on the control socket.
 *
 * The socket lets everybody connect; who that is is asked of the kernel, once, when a connection is
 * accepted: its user and all its groups, as they were when it connected. So a refusal says which
 * group is wanting, where a socket's mode would just be closed, and two groups may have one socket.
 * Readers look at all and change nothing; operators do all. The daemon's own user and root are
 * operators. Each verb has its right in proto/control_verbs.def. Owner: loop.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "daemon/config/settings.h"
#include "daemon/users/peer.h"

enum leat_right {
    LEAT_RIGHT_NONE,
    LEAT_RIGHT_READ,
    LEAT_RIGHT_OPERATE,
};

struct leat_right_groups {
    gid_t gids[LEAT_SETTINGS_MAX_GROUPS];
    size_t n_gids;
    char names[256]; /* as the settings have them, for messages */
};

struct leat_rights {
    struct leat_right_groups readers, operators;
};

/* A name, or a number where there is no such name; -ENOENT if it is neither. May block. */
int leat_rights_find_group(const char *name, gid_t *ret_gid);

/* Looks up the groups of the settings; defaults that do not exist are nobody's. May block. */
void leat_rights_init(struct leat_rights *rights, const struct leat_settings *settings);

/* The right of whom leat_peer_identify() has found at the other end of that socket. */
enum leat_right leat_rights_of(const struct leat_rights *rights, const struct leat_peer *peer,
                               int socket);

/* Says who would have that right; -EACCES. what: what was asked for. */
int leat_rights_refuse(const struct leat_rights *rights, enum leat_right wanted, uid_t uid,
                       const char *what, struct leat_error *err);
