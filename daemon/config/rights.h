/* rights.h: which users may make which requests on the control socket.
 *
 * Every user can connect. When a connection is accepted, the kernel tells its user and groups as
 * they were when it connected. So a refusal can name the group that is missing, and two groups can
 * share the socket. Readers may see everything; operators may also change things. Root and the
 * daemon's own user are operators. Each verb has its right in proto/control_verbs.def. Owner: loop.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "daemon/users/peer.h"
#include "proto/base/error.h"
#include "proto/base/texts.h"

#define LEAT_RIGHTS_MAX_GROUPS 16

enum leat_right {
    LEAT_RIGHT_NONE,
    LEAT_RIGHT_READ,
    LEAT_RIGHT_OPERATE,
};

struct leat_right_groups {
    gid_t gids[LEAT_RIGHTS_MAX_GROUPS];
    size_t n_gids;
    char names[256]; /* as in the settings, for messages */
};

struct leat_rights {
    struct leat_right_groups readers, operators;
};

/* The group of that name, or else of that number; -ENOENT if it is neither. May block. */
int leat_rights_find_group(const char *name, gid_t *ret_gid);

/* Looks up the groups by name or number; one that does not exist has no members. May block. */
void leat_rights_init(struct leat_rights *rights, const struct leat_texts *readers,
                      const struct leat_texts *operators);

/* The right of the peer that leat_peer_identify() found at the other end of that socket. */
enum leat_right leat_rights_of(const struct leat_rights *rights, const struct leat_peer *peer,
                               int socket);

/* -EACCES, with an error that names the groups that have the right. what: the request. */
int leat_rights_refuse(const struct leat_rights *rights, enum leat_right wanted, uid_t uid,
                       const char *what, struct leat_error *err);
