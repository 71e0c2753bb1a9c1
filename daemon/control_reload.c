/* control_reload.c: the verb that has the configuration read anew, or only checked. Owner: loop. */
#include "daemon/control.h"
#include "daemon/reload.h"

void leat_control_reload(struct leat_control *control, const Leat__ControlRequest *request,
                         struct leat_arena *arena) {
    (void)arena;
    leat_reload_start(control, request->reload->only_checks);
}
