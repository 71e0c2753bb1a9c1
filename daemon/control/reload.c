/* control/reload.c: the verb that has the configuration read anew, or only checked. Owner: loop. */
#include "daemon/core/reload.h"
#include "daemon/control/control.h"

void leat_control_reload(struct leat_control *control, const Leat__ControlRequest *request,
                         struct leat_arena *arena) {
    (void)arena;
    leat_reload_start(control, request->reload->only_checks);
}
