// SPDX-License-Identifier: Apache-2.0
/*
 * list.h - an intrusive doubly linked list; the node is embedded in its owner.
 *
 * A list is a node that points at itself when empty. No allocation, O(1) removal,
 * removal of a node that is in no list is legal (its pointers are itself).
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/util.h"

struct list {
	struct list *prev, *next;
};

#define LIST_INIT(name)          \
	{                        \
		&(name), &(name) \
	}

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_insert(struct list *node, struct list *prev, struct list *next)
{
	node->prev = prev;
	node->next = next;
	prev->next = node;
	next->prev = node;
}

static inline void list_append(struct list *head, struct list *node)
{
	list_insert(node, head->prev, head);
}

/* Takes the node out and leaves it pointing at itself: calling it twice is harmless. */
static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

#define list_entry(node, type, member) container_of(node, type, member)

#define list_for_each(it, head) \
	for (struct list *it = (head)->next; it != (head); it = it->next)

/* Tolerates removal of `it` itself in the body, not of its successor. */
#define list_for_each_safe(it, head)                                              \
	for (struct list *it = (head)->next, *it##_next = it->next; it != (head); \
	     it = it##_next, it##_next = it->next)

#endif
