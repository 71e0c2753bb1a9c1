/* aws_profile.h: the files of ~/.aws: sections with keys and values. Pure. */
#pragma once

#include <stddef.h>

/* The value of a key in the section of a profile, which is called [NAME] or [profile NAME], into a
 * buffer. 1; 0: there is none; -E2BIG: it does not fit. Of equal keys the last one counts. Indented
 * lines belong to a nested value and are passed over. */
int leat_aws_profile_get(const char *text, const char *profile, const char *key, char *buffer,
                         size_t size);
