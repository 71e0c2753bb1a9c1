/* retired.c: see retired.h. That the daemon is gone meanwhile is nothing to it: then there is
 * nobody who would fill a slot. */
#include "client/retired.h"

static void say_bye(struct leat_wire *wire) {
    struct leat_packet bye = {.kind = LEAT_PACKET_BYE};

    if (wire->fd >= 0)
        (void)leat_wire_send(wire, &bye, NULL);
    leat_wire_deinit(wire);
}

void leat_retired_begin(struct leat_retired *retired, struct leat_wire *take_wire, uint64_t number,
                        uint32_t n_held) {
    leat_retired_end(retired);
    *retired = (struct leat_retired){.wire = *take_wire, .number = number, .n_held = n_held};
    *take_wire = (struct leat_wire){.fd = -1, .passed_fd = -1};
    if (n_held == 0)
        say_bye(&retired->wire);
}

bool leat_retired_release(struct leat_retired *retired, uint64_t number,
                          const struct leat_packet *packet) {
    struct leat_packet release = {.kind = LEAT_PACKET_RELEASE, .batch = packet->batch};

    if (retired->wire.fd < 0 || retired->number != number)
        return false;
    if (--retired->n_held == 0)
        say_bye(&retired->wire);
    else
        (void)leat_wire_send(&retired->wire, &release, NULL);
    return true;
}

void leat_retired_end(struct leat_retired *retired) {
    if (retired->wire.fd >= 0)
        leat_wire_deinit(&retired->wire);
    *retired = (struct leat_retired)LEAT_RETIRED_INIT;
}
