/* scan_classes.c: the classes of ASCII. See scan_classes.h. */
#include "pipeline/tokenizer/split/scan_classes.h"

#define UP (LEAT_SCAN_LETTER | LEAT_SCAN_UPPER)
#define LO (LEAT_SCAN_LETTER | LEAT_SCAN_LOWER)
#define NU LEAT_SCAN_NUMBER
#define SP LEAT_SCAN_SPACE
#define SI LEAT_SCAN_SIGN

const uint8_t leat_scan_ascii[256] = {
    0,  0,  0,  0,  0,  0,  0,  0,  0,  SP, SP, SP, SP, SP, 0,  0,  /* 0x00 */
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  /* 0x10 */
    SP, SI, SI, SI, SI, SI, SI, SI, SI, SI, SI, SI, SI, SI, SI, SI, /* 0x20 */
    NU, NU, NU, NU, NU, NU, NU, NU, NU, NU, SI, SI, SI, SI, SI, SI, /* 0x30 */
    SI, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, /* 0x40 */
    UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, UP, SI, SI, SI, SI, SI, /* 0x50 */
    SI, LO, LO, LO, LO, LO, LO, LO, LO, LO, LO, LO, LO, LO, LO, LO, /* 0x60 */
    LO, LO, LO, LO, LO, LO, LO, LO, LO, LO, LO, SI, SI, SI, SI, 0,  /* 0x70 */
};
