#include "daemon/metrics/http_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

struct leat_http_library leat_mhd;

#ifdef LEAT_HTTP_LINKED
int leat_http_library_load(struct leat_error *err) {
    (void)err;
#define SET(name) leat_mhd.name = MHD_##name;
    LEAT_HTTP_FUNCTIONS(SET)
#undef SET
    return 0;
}
#else
static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define ROW(name) {"MHD_" #name, offsetof(struct leat_http_library, name)},
    LEAT_HTTP_FUNCTIONS(ROW)
#undef ROW
};

int leat_http_library_load(struct leat_error *err) {
    void *library = dlopen(LEAT_HTTP_LIBRARY, RTLD_NOW | RTLD_LOCAL); /* stays for good */

    for (size_t i = 0; library && i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = dlsym(library, functions[i].name);

        if (!function)
            library = NULL;
        memcpy((char *)&leat_mhd + functions[i].offset, &function, sizeof(function));
    }
    return library ? 0
                   : leat_error_set(err, -EOPNOTSUPP,
                                    "http_listen: %.200s: install libmicrohttpd (Debian: "
                                    "libmicrohttpd12), or remove http_listen",
                                    dlerror());
}
#endif
