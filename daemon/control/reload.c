/* control/reload.c: the verb that has the configuration read anew, or only checked. Owner: loop. */
#include "daemon/control/control.h"

void leat_control_reload(struct leat_control *control, const Leat__ControlRequest *request,
                         struct leat_arena *arena) {
    (void)arena;
    control->controls->ops->reload(control, request->reload->only_checks);
}
