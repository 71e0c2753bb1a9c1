/* list.h: lists of structs with `next` and `link`, the address of the pointer to the struct. One is
 * added at the front and removed in constant time.
 */
#pragma once

#define LEAT_LIST_ADD(head, node)                                                                  \
    do {                                                                                           \
        (node)->next = *(head);                                                                    \
        (node)->link = (head);                                                                     \
        if ((node)->next)                                                                          \
            (node)->next->link = &(node)->next;                                                    \
        *(head) = (node);                                                                          \
    } while (0)

#define LEAT_LIST_REMOVE(node)                                                                     \
    do {                                                                                           \
        *(node)->link = (node)->next;                                                              \
        if ((node)->next)                                                                          \
            (node)->next->link = (node)->link;                                                     \
    } while (0)
