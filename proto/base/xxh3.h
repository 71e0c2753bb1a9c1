/* XXH3 of libxxhash, by the widest vectors that the processor has where the library can choose:
 * three times as fast with AVX2. */
#pragma once

#include <xxhash.h>
#ifdef LEAT_HAS_XXH3_DISPATCH
#include <xxh_x86dispatch.h>
#endif
