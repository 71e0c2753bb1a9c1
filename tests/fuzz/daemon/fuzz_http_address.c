/* fuzz_http_address.c: the setting http_listen, and the Host of a request. What is taken for this
 * machine has an address that only this machine has. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/net/http_address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_http_address address;
    char *text = malloc(n_bytes + 1);

    if (!text)
        return 0;
    memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    (void)leat_http_host_is_local(text);
    if (leat_http_address_parse(text, &address, &err) == 0 && !address.path) {
        if (address.ip.any.sa_family == AF_INET &&
            ntohl(address.ip.v4.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
            abort();
        if (address.ip.any.sa_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&address.ip.v6.sin6_addr))
            abort();
    }
    free(text);
    return 0;
}
