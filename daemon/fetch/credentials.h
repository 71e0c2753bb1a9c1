/* credentials.h: with what requests to S3 are signed, as AWS' own tools find it: the environment,
 * ~/.aws/credentials and ~/.aws/config with a profile, its credential_process, the metadata of the
 * instance (IMDSv2). None of these: requests are not signed, which public buckets take.
 *
 * Owner: the loop. Finding them may block for some seconds. Secrets are overwritten when they are
 * not needed any more, and are in no message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/config/fetch_settings.h"
#include "proto/base/error.h"

#define LEAT_SECRET_MAX 4096 /* session tokens are long */

struct leat_credentials {
    bool is_known, is_there;
    int64_t expires_at; /* in seconds of the epoch; 0: never */
    char key[256], secret[256], token[LEAT_SECRET_MAX];
    const char *source;
};

/* Finds them, if they are not known or expire soon. 0; -errno with the reason if a source is there
 * and fails. */
int leat_credentials_get(struct leat_credentials *credentials,
                         const struct leat_fetch_settings *settings, struct leat_error *err);
void leat_credentials_forget(struct leat_credentials *credentials);

/* Region and endpoint as settings, environment and profile say, malloc'ed; *ret_endpoint NULL:
 * AWS. */
int leat_store_find(const struct leat_fetch_settings *settings, char **ret_endpoint,
                    char **ret_region, struct leat_error *err);

/* Reads what credential_process and the metadata say: JSON with AccessKeyId, SecretAccessKey,
 * SessionToken or Token, Expiration. -EBADMSG: it is none. */
int leat_credentials_parse(const char *json, size_t n_bytes, struct leat_credentials *credentials,
                           struct leat_error *err);
