#include "client/python/src/cuda/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "client/python/src/raise.h"

#define LIBRARY "libcuda.so.1"

struct symbol {
    const char *name;
    size_t offset; /* of its pointer in the driver */
};

static const struct symbol symbols[] = {
#define LEAT_CUDA_FUNCTION(member, symbol, args)                                                   \
    {symbol, offsetof(struct leat_cuda_driver, member)},
#include "client/python/src/cuda/functions.h"
#undef LEAT_CUDA_FUNCTION
};

static struct leat_cuda_driver driver;
static bool is_tried;
static char reason[256]; /* why it cannot be used; "": it can */

static int resolve(void *library) {
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *function = dlsym(library, symbols[i].name);

        if (!function) {
            PyOS_snprintf(reason, sizeof(reason), LIBRARY " has no %s: its driver is too old",
                          symbols[i].name);
            return -1;
        }
        memcpy((char *)&driver + symbols[i].offset, &function, sizeof(function));
    }
    return 0;
}

static void load(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *name = "";
    leat_cuda_result result;

    if (!library) {
        PyOS_snprintf(reason, sizeof(reason), "%.250s", dlerror());
        return;
    }
    if (resolve(library) < 0)
        return;
    result = driver.init(0);
    if (result == 0)
        return;
    (void)driver.error_name(result, &name);
    PyOS_snprintf(reason, sizeof(reason), "cuInit: %s (%d)", name ? name : "", result);
}

const struct leat_cuda_driver *leat_cuda_driver_find(const char **ret_reason) {
    if (!is_tried)
        load();
    is_tried = true;
    *ret_reason = reason;
    return reason[0] ? NULL : &driver;
}

int leat_cuda_check(leat_cuda_result result, const char *what) {
    const char *name = "", *text = "";

    if (result == 0)
        return 0;
    (void)driver.error_name(result, &name);
    (void)driver.error_text(result, &text);
    leat_py_raise_text(-EIO, "%s: %s (%d): %s", what, name ? name : "unknown error", result,
                       text ? text : "");
    return -1;
}
