/* fuzz_hosts.c: mlx.launch's host file, of which libleat counts the items. */
#include <stdint.h>
#include <stdlib.h>

#include "client/launcher_hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    uint32_t n_hosts;

    if (leat_launcher_count_hosts((const char *)data, n_bytes, &n_hosts) == 0 &&
        (n_hosts == 0 || n_hosts > n_bytes))
        abort();
    return 0;
}
