/* rights.c: see rights.h, and SO_PEERGROUPS in unix(7). */
#include "daemon/config/rights.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pipeline/spec/bind.h"

int leat_rights_find_group(const char *name, gid_t *ret_gid) {
    struct group *entry = getgrnam(name);
    int64_t number;

    if (entry) {
        *ret_gid = entry->gr_gid;
        return 0;
    }
    if (leat_parse_int(name, strlen(name), &number) < 0 || number < 0 || number >= UINT32_MAX)
        return -ENOENT;
    *ret_gid = (gid_t)number;
    return 0;
}

static void add_name(struct leat_right_groups *groups, const char *name) {
    size_t n = strlen(groups->names);

    (void)snprintf(groups->names + n, sizeof(groups->names) - n, "%s%s", n > 0 ? ", " : "", name);
}

static void init_groups(struct leat_right_groups *groups, const struct leat_texts *names) {
    *groups = (struct leat_right_groups){.n_gids = 0};
    for (size_t i = 0; i < names->n_items && i < LEAT_RIGHTS_MAX_GROUPS; i++) {
        groups->n_gids +=
            leat_rights_find_group(names->items[i], &groups->gids[groups->n_gids]) == 0;
        add_name(groups, names->items[i]);
    }
}

void leat_rights_init(struct leat_rights *rights, const struct leat_texts *readers,
                      const struct leat_texts *operators) {
    init_groups(&rights->readers, readers);
    init_groups(&rights->operators, operators);
}

static bool has_group(const struct leat_right_groups *groups, gid_t gid) {
    for (size_t i = 0; i < groups->n_gids; i++)
        if (groups->gids[i] == gid)
            return true;
    return false;
}

static enum leat_right right_of_group(const struct leat_rights *rights, gid_t gid) {
    return has_group(&rights->operators, gid) ? LEAT_RIGHT_OPERATE
           : has_group(&rights->readers, gid) ? LEAT_RIGHT_READ
                                              : LEAT_RIGHT_NONE;
}

/* The peer's supplementary groups, to be freed; NULL: none, or not available. */
static gid_t *read_groups(int socket, size_t *ret_n) {
    socklen_t size = 64 * sizeof(gid_t);
    gid_t *gids = malloc(size);

    *ret_n = 0;
    while (gids && getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, gids, &size) < 0) {
        gid_t *larger = errno == ERANGE && size <= NGROUPS_MAX * sizeof(gid_t)
                            ? realloc(gids, size) /* size is now what is needed */
                            : NULL;

        if (!larger)
            free(gids);
        gids = larger;
    }
    *ret_n = gids ? size / sizeof(gid_t) : 0;
    return gids;
}

enum leat_right leat_rights_of(const struct leat_rights *rights, const struct leat_peer *peer,
                               int socket) {
    enum leat_right best = right_of_group(rights, peer->gid);
    gid_t *gids;
    size_t n;

    if (peer->uid == 0 || peer->uid == geteuid())
        return LEAT_RIGHT_OPERATE;
    gids = read_groups(socket, &n);
    for (size_t i = 0; i < n; i++) {
        enum leat_right right = right_of_group(rights, gids[i]);

        best = right > best ? right : best;
    }
    free(gids);
    return best;
}

int leat_rights_refuse(const struct leat_rights *rights, enum leat_right wanted, uid_t uid,
                       const char *what, struct leat_error *err) {
    const char *operators = rights->operators.names, *readers = rights->readers.names;
    const char *names = wanted == LEAT_RIGHT_READ && readers[0] ? readers : operators;

    if (!names[0])
        return leat_error_set(
            err, -EACCES, "%s: only root and the daemon's own user may do this, and your uid is %u",
            what, (unsigned)uid);
    return leat_error_set(err, -EACCES,
                          "%s: your user (uid %u) must be in the group %s%s%s: run usermod -aG "
                          "%.*s USER, then log in again",
                          what, (unsigned)uid, names,
                          wanted == LEAT_RIGHT_READ && names != operators && operators[0]
                              ? ", or, for requests that change something, "
                              : "",
                          wanted == LEAT_RIGHT_READ && names != operators ? operators : "",
                          (int)strcspn(names, ","), names);
}
