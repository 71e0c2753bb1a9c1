/* gen_titanic: rows in the shape of the well-known passenger list, as many as wanted, for tests and
 * benchmarks.
 *
 *     gen_titanic ROWS [SEED [FILE]]
 *
 * It has what makes the real file awkward: quoted names with commas and doubled quotes, empty Age
 * and Cabin in many rows, now and then an empty last field. Nothing is copied from the real list:
 * people are put together from lists of syllables and first names. A row is a function of (seed,
 * row number), so a longer file begins with the shorter one. One thread, about 100 MB/s.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/rng.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char header[] =
    "PassengerId,Survived,Pclass,Name,Sex,Age,SibSp,Parch,Ticket,Fare,Cabin,Embarked\n";

static const char *const surname_heads[] = {
    "Al",    "And", "Bar",  "Ben",  "Bow",  "Brad", "Carl", "Cole", "Dav",  "Dan",
    "Ed",    "Ek",  "Fin",  "For",  "Gold", "Gust", "Han",  "Har",  "Hirv", "Jan",
    "Joh",   "Kar", "Lar",  "Lind", "Mc",   "Mor",  "Nas",  "Nils", "O'B",  "Palss",
    "Peter", "Ric", "Sand", "San",  "Thor", "Van",  "Web",  "Wil",  "Wood", "Zim",
};
static const char *const surname_tails[] = {
    "berg",  "bury", "by",   "der Planke", "erson", "ford", "gren", "ham",     "ing",  "insky",
    "ström", "kins", "land", "ley",        "man",   "mond", "nard", "nell",    "ney",  "one",
    "quist", "rup",  "ry",   "sen",        "son",   "ston", "ter",  "ton-Fox", "vall", "well",
};
static const char *const male_names[] = {
    "William", "John",   "James", "Owen",    "Charles", "George", "Thomas", "Henry",  "Karl",
    "Johan",   "Victor", "Ernst", "Patrick", "Samuel",  "Edward", "Albert", "Joseph", "Frederick",
    "Harris",  "Oscar",  "Hans",  "Richard", "Walter",  "Nikola", "Anders", "Percy",  "Eugene",
};
static const char *const female_names[] = {
    "Mary",   "Anna",   "Elizabeth", "Florence", "Briggs", "Laina",   "Helen", "Margaret", "Maria",
    "Ellen",  "Bertha", "Catherine", "Alice",    "Edith",  "Ida",     "Elin",  "Augusta",  "Jane",
    "Sophie", "Adele",  "Nora",      "Lily",     "Emily",  "Johanna", "Kate",  "Selma",    "Rosa",
};
static const char *const nicknames[] = {"Bud", "Kate", "Jack", "Nellie", "Bert", "Minnie", "Tommy"};
static const char *const ticket_heads[] = {"A/5 ", "PC ", "STON/O2. ", "C.A. ", "SC/Paris "};

#define PICK(rng, array) ((array)[leat_rng_below(rng, COUNT(array))])

static bool chance(struct leat_rng *rng, uint64_t percent) {
    return leat_rng_below(rng, 100) < percent;
}

static char *put(char *out, const char *text) {
    size_t n = strlen(text);

    memcpy(out, text, n);
    return out + n;
}

static char *put_number(char *out, uint64_t value) {
    char digits[20];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        *out++ = digits[--n];
    return out;
}

/* "Surname, Mrs. John William ""Bud"" (Anna Surname)", with the quotes that CSV wants. */
static char *put_name(char *out, struct leat_rng *rng, bool is_female) {
    bool is_married = is_female && chance(rng, 40);

    *out++ = '"';
    out = put(out, PICK(rng, surname_heads));
    out = put(out, PICK(rng, surname_tails));
    out = put(out, is_married       ? ", Mrs. "
                   : is_female      ? ", Miss. "
                   : chance(rng, 8) ? ", Master. "
                                    : ", Mr. ");
    out = put(out, is_female && !is_married ? PICK(rng, female_names) : PICK(rng, male_names));
    if (chance(rng, 55)) {
        *out++ = ' ';
        out = put(out, is_female && !is_married ? PICK(rng, female_names) : PICK(rng, male_names));
    }
    if (chance(rng, 6)) {
        out = put(out, " \"\"");
        out = put(out, PICK(rng, nicknames));
        out = put(out, "\"\"");
    }
    if (is_married) {
        out = put(out, " (");
        out = put(out, PICK(rng, female_names));
        *out++ = ' ';
        out = put(out, PICK(rng, surname_heads));
        out = put(out, PICK(rng, surname_tails));
        *out++ = ')';
    }
    *out++ = '"';
    return out;
}

static char *put_age(char *out, struct leat_rng *rng) {
    if (chance(rng, 20))
        return out;
    out = put_number(out, 1 + (leat_rng_below(rng, 38) + leat_rng_below(rng, 38)));
    return chance(rng, 3) ? put(out, ".5") : out;
}

static char *put_fare(char *out, struct leat_rng *rng, uint64_t class) {
    static const char *const cents[] = {"", ".05", ".25", ".8958", ".925", ".75", ".8625", ".2292"};
    static const uint64_t most[] = {240, 60, 20};

    out = put_number(out, 7 + leat_rng_below(rng, most[class - 1]));
    return put(out, PICK(rng, cents));
}

static char *put_row(char *out, uint64_t seed, uint64_t row) {
    struct leat_rng rng = {leat_rng_fold(seed, row)};
    bool is_female = chance(&rng, 35);
    uint64_t third = leat_rng_below(&rng, 20);
    uint64_t class = third < 11 ? 3 : third < 15 ? 2 : 1;

    out = put_number(out, row + 1);
    out = put(out, chance(&rng, is_female ? 74 : 19) ? ",1," : ",0,");
    out = put_number(out, class);
    *out++ = ',';
    out = put_name(out, &rng, is_female);
    out = put(out, is_female ? ",female," : ",male,");
    out = put_age(out, &rng);
    *out++ = ',';
    out = put_number(out, chance(&rng, 68) ? 0 : 1 + leat_rng_below(&rng, 4));
    *out++ = ',';
    out = put_number(out, chance(&rng, 76) ? 0 : 1 + leat_rng_below(&rng, 3));
    *out++ = ',';
    if (chance(&rng, 25))
        out = put(out, PICK(&rng, ticket_heads));
    out = put_number(out, 1000 + leat_rng_below(&rng, 399000));
    *out++ = ',';
    out = put_fare(out, &rng, class);
    *out++ = ',';
    if (chance(&rng, class == 1 ? 80 : 6)) {
        *out++ = (char)('A' + leat_rng_below(&rng, 6));
        out = put_number(out, 1 + leat_rng_below(&rng, 130));
    }
    *out++ = ',';
    if (!chance(&rng, 1))
        *out++ = "SSSSSSSCCQ"[leat_rng_below(&rng, 10)];
    *out++ = '\n';
    return out;
}

static int write_rows(FILE *file, uint64_t n_rows, uint64_t seed) {
    static char buffer[1 << 20];
    char *out = put(buffer, header);

    for (uint64_t row = 0; row < n_rows; row++) {
        out = put_row(out, seed, row);
        if ((size_t)(out - buffer) > sizeof buffer - 1024) {
            if (fwrite(buffer, 1, (size_t)(out - buffer), file) != (size_t)(out - buffer))
                return -errno;
            out = buffer;
        }
    }
    if (fwrite(buffer, 1, (size_t)(out - buffer), file) != (size_t)(out - buffer))
        return -errno;
    return 0;
}

static bool parse_number(const char *text, uint64_t *ret_value) {
    char *end;

    errno = 0;
    *ret_value = strtoull(text, &end, 10);
    return !errno && end != text && !*end && *text != '-';
}

int main(int argc, char **argv) {
    uint64_t n_rows, seed = 1;
    FILE *file = stdout;
    int r;

    if (argc < 2 || argc > 4 || !parse_number(argv[1], &n_rows) ||
        (argc > 2 && !parse_number(argv[2], &seed))) {
        fprintf(stderr, "usage: gen_titanic ROWS [SEED [FILE]]\n");
        return 2;
    }
    if (argc > 3 && !(file = fopen(argv[3], "w"))) {
        fprintf(stderr, "gen_titanic: %s: %s\n", argv[3], strerror(errno));
        return 1;
    }
    r = write_rows(file, n_rows, seed);
    if (fclose(file) && !r)
        r = -errno;
    if (r)
        fprintf(stderr, "gen_titanic: cannot write: %s\n", strerror(-r));
    return r ? 1 : 0;
}
