/* sessions.h: all sessions of trainers, and what they share. Owner: loop. */
#pragma once

#include "daemon/stream/feeds.h"
#include "daemon/system/env.h"
#include "pipeline/plan/data_kept.h"
#include "pipeline/plan/description.h"
#include "proto/packet.h"

struct leat_session;

struct leat_sessions {
    struct leat_env *env;
    struct leat_feeds *feeds;
    struct leat_session *first;
    uint32_t n_sessions; /* closing ones included */
    uint64_t n_made;     /* so far: the id of the latest */
    uint64_t n_batches, n_rows, n_refused;
    struct leat_descriptions descriptions; /* of what was served, for positions that do not fit */
    struct leat_data_kept kept_data;       /* of files that were read to identify them */
    uint8_t payload[LEAT_PACKET_PAYLOAD_MAX]; /* of the packet that is being handled */
};
