/* session_members.c: see session_members.h. */
#include "client/cli/streams/session_members.h"

#include "proto/leat.pb-c.h"

const struct leat_cli_member leat_cli_session_members[] = {
    MEMBER(Leat__Session, id, MEMBER_U64, "session"),
    MEMBER(Leat__Session, client_name, MEMBER_TEXT, "client"),
    MEMBER(Leat__Session, pid, MEMBER_U32, "pid"),
    MEMBER(Leat__Session, uid, MEMBER_U32, "uid"),
    MEMBER(Leat__Session, state, MEMBER_TEXT, "state"),
    MEMBER(Leat__Session, delivery, MEMBER_TEXT, "delivery"),
    MEMBER(Leat__Session, rank, MEMBER_U32, "rank"),
    MEMBER(Leat__Session, world_size, MEMBER_U32, "world"),
    MEMBER(Leat__Session, epoch, MEMBER_U64, "epoch"),
    MEMBER(Leat__Session, step, MEMBER_U64, "step"),
    MEMBER(Leat__Session, n_held, MEMBER_U32, "held"),
    MEMBER(Leat__Session, window, MEMBER_U32, "window"),
    MEMBER(Leat__Session, n_batches, MEMBER_U64, "batches"),
    MEMBER(Leat__Session, age_ns, MEMBER_NS, "age"),
    MEMBER(Leat__Session, run, MEMBER_U64, "run"),
    MEMBERS_END,
};
