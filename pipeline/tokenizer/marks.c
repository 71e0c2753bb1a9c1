#include "pipeline/tokenizer/marks.h"

void leat_marks_begin(struct leat_marks *marks, const struct leat_range *ranges, size_t n) {
    *marks = (struct leat_marks){.ranges = ranges, .n = n};
}

uint32_t leat_marks_of(struct leat_marks *marks, struct leat_range token) {
    if (token.start >= token.end)
        return marks->current;
    while (marks->at < marks->n && marks->ranges[marks->at].end <= token.start)
        marks->at++;
    marks->current = marks->at < marks->n && marks->ranges[marks->at].start < token.end
                         ? (uint32_t)marks->at + 1
                         : 0;
    return marks->current;
}

bool leat_marks_enter(struct leat_marks *marks, struct leat_range part) {
    const struct leat_range *range;

    if (leat_marks_of(marks, part) == 0 || part.start >= part.end)
        return true;
    range = &marks->ranges[marks->at];
    return range->start <= part.start && part.end <= range->end;
}
