/* session_members.h: what `streams` tells of a session, with and without --trainers. */
#pragma once

#include "client/cli/base/members.h"

extern const struct leat_cli_member leat_cli_session_members[]; /* of Leat__Session */
