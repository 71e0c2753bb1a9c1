/* daemon.c: `leatctl cache ls` without a folder: what the running daemon sees in the folders
 * that its streams name. */
#include "client/cli/cache/daemon.h"

#include <stdlib.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/members.h"

static const struct leat_cli_member members[] = {
    MEMBER(Leat__Cache, stream, MEMBER_TEXT, "stream"),
    MEMBER(Leat__Cache, state, MEMBER_TEXT, "state"),
    MEMBER(Leat__Cache, n_bytes, MEMBER_BYTES, "size"),
    MEMBER(Leat__Cache, n_records, MEMBER_U64, "records"),
    MEMBER(Leat__Cache, idle_ns, MEMBER_NS, "last used, ago"),
    MEMBER(Leat__Cache, folder, MEMBER_TEXT, "folder"),
    MEMBER(Leat__Cache, file, MEMBER_TEXT, "file"),
    MEMBERS_END,
};

static void add_json(struct leat_text *text, const Leat__CachesReply *caches) {
    leat_text_add(text, "[");
    for (size_t i = 0; i < caches->n_caches; i++) {
        leat_text_add(text, i ? ",\n " : "");
        leat_cli_members_json(text, members, caches->caches[i]);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]\n");
}

static void add_table(struct leat_text *text, const Leat__CachesReply *caches) {
    if (caches->n_caches == 0)
        leat_text_add(text, "no stream of the daemon has a `cache`: {path: FOLDER}\n");
    else
        leat_cli_members_table(text, members, (const void *const *)caches->caches,
                               caches->n_caches);
    if (caches->n_left > 0)
        leat_text_add(text, "and %u more\n", caches->n_left);
}

int leat_cli_cache_daemon_ls(bool as_json, struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_CACHES;
    request.caches = &empty;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_CACHES,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    if (as_json)
        add_json(&text, reply->caches);
    else
        add_table(&text, reply->caches);
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return status;
}
