/* draining.c: see draining.h. Failures to send are ignored: a daemon that is gone fills no slot. */
#include "client/connection/draining.h"

static void say_bye(struct leat_wire *wire) {
    struct leat_packet bye = {.kind = LEAT_PACKET_BYE};

    if (wire->fd >= 0)
        (void)leat_wire_send(wire, &bye, NULL);
    leat_wire_deinit(wire);
}

void leat_draining_begin(struct leat_draining *draining, struct leat_wire *take_wire,
                         uint64_t session, uint32_t n_held) {
    leat_draining_end(draining);
    *draining = (struct leat_draining){.wire = *take_wire, .session = session, .n_held = n_held};
    *take_wire = LEAT_WIRE_INIT;
    if (n_held == 0)
        say_bye(&draining->wire);
}

void leat_draining_release(struct leat_draining *draining, uint64_t session,
                           const struct leat_packet *packet) {
    struct leat_packet release = {.kind = LEAT_PACKET_RELEASE, .batch = packet->batch};

    if (!leat_draining_is_on(draining) || draining->session != session)
        return;
    if (--draining->n_held == 0)
        say_bye(&draining->wire);
    else
        (void)leat_wire_send(&draining->wire, &release, NULL);
}

void leat_draining_end(struct leat_draining *draining) {
    if (leat_draining_is_on(draining))
        leat_wire_deinit(&draining->wire);
    *draining = LEAT_DRAINING_INIT;
}

void leat_draining_forget(struct leat_draining *draining) {
    leat_wire_forget(&draining->wire);
}
