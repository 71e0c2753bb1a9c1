/* fetch.h: what leatd, leatctl and leat-fetch say to each other.
 *
 * leat-fetch reads and stores objects (s3://, https://) for programs that have no network. A client
 * sends one request as one packet of a Unix socket (SOCK_SEQPACKET) and gets one reply before it
 * sends the next. Both ends are programs of one machine and one version: numbers are in its byte
 * order.
 *
 * LIST: the objects whose URLs begin with `url`. The reply has a descriptor of their URLs, each
 *   ended by a NUL byte; they are n_bytes together.
 * EXPECT: the request has such a descriptor. The objects are going to be read in that order; the
 *   reply comes when all of them are known to be there.
 * LOOK: n_bytes and identity of the object.
 * BLOCK: a descriptor of a file that begins with bytes `first` to first + n_bytes of the object. If
 *   is_kept, it may have been written by a run that was cut short: XXH3 of these bytes follows.
 *   Blocks of block_bytes, one behind the other, make leat-fetch read ahead; others do not.
 * AHEAD: such a block is going to be asked for. The reply comes at once.
 * STORE: the request has a descriptor of a file, which becomes the object in s3://. is_new: it must
 *   not be there yet (-EEXIST). Only a leat-fetch that its client has started stores anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEAT_FETCH_VERSION     2
#define LEAT_FETCH_URL_MAX     2048 /* with its NUL byte */
#define LEAT_FETCH_MESSAGE_MAX 512
#define LEAT_FETCH_IDENTITY    16
#define LEAT_FETCH_BLOCK_MAX   (UINT32_C(1) << 26)          /* bytes */
#define LEAT_FETCH_SOCKET      "/run/leat-fetch/fetch.sock" /* of the service */
#define LEAT_FETCH_SOCKET_NAME "LEAT_FETCH_SOCKET"          /* the variable that names another */
#define LEAT_FETCH_CONFIG_NAME "LEAT_FETCH_CONFIG"          /* names the file with `fetch` */
#define LEAT_FETCH_PRIVATE_FD  3 /* of a private leat-fetch: each packet brings a client's socket */

enum leat_fetch_verb {
    LEAT_FETCH_LIST = 1,
    LEAT_FETCH_EXPECT,
    LEAT_FETCH_LOOK,
    LEAT_FETCH_BLOCK,
    LEAT_FETCH_AHEAD,
    LEAT_FETCH_STORE,
};

struct leat_fetch_request {
    uint32_t version, verb;
    uint32_t is_confined; /* public hosts only: a trainer names the object */
    uint32_t is_damaged;  /* BLOCK: what is kept of it is wrong */
    uint32_t is_new;      /* STORE; LOOK: the store is asked, whatever is known */
    uint32_t zero;
    uint64_t first, n_bytes;               /* BLOCK and AHEAD */
    uint8_t identity[LEAT_FETCH_IDENTITY]; /* BLOCK and AHEAD: which version of the object */
    char url[LEAT_FETCH_URL_MAX];          /* sent up to its NUL byte */
};

struct leat_fetch_reply {
    int32_t code; /* 0 or -errno, with a message */
    uint32_t is_kept;
    uint64_t n_bytes, block_bytes;
    uint8_t identity[LEAT_FETCH_IDENTITY];
    char message[LEAT_FETCH_MESSAGE_MAX];
};
