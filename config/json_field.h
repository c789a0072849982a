// SPDX-License-Identifier: Apache-2.0
/*
 * json_field.h - JSON objects read by table: every field is known by name, or refused.
 *
 * Owns: nothing; strings that are kept are copied to the reader's arena.
 * Called by: manifest*.c and machine.c, whose tables are the list of what podinit knows.
 * Never stops at the first error: a field that is refused leaves its place untouched.
 */
#ifndef CONFIG_JSON_FIELD_H
#define CONFIG_JSON_FIELD_H

#include "base/arena.h"
#include "config/diag.h"

struct json_object;

/* A value and the way to it. The chain lives on the stack of the readers. */
struct json_at {
	const struct json_at *parent; /* NULL: the document */
	const char *key;              /* NULL: element index of a list */
	size_t index;
	struct json_object *value; /* NULL = JSON null */
};

struct json_reader {
	struct diag *diag;
	struct arena *arena;
	bool empty_is_absent; /* "" of a text that is not required: as Go reads JSON */
	bool out_of_memory;   /* an allocation failed: what was read is incomplete */
};

enum field_status {
	FIELD_READ,
	FIELD_IGNORED,    /* accepted without effect; its type is checked */
	FIELD_UNSUPPORTED /* refused, but for its harmless values */
};

enum field_type {
	FIELD_STRING,  /* const char *; checked by check */
	FIELD_BOOL,    /* bool */
	FIELD_INT,     /* int64_t in min..max */
	FIELD_WORD,    /* int: the index in words */
	FIELD_STRINGS, /* const char **, NULL-terminated; elements checked by check */
	FIELD_OBJECT,
	FIELD_LIST,
	FIELD_ANY
};

struct field {
	const char *name;
	enum field_status status;
	enum field_type type;
	bool required;
	size_t offset;
	int64_t min, max;         /* both 0: any */
	const char *const *words; /* NULL-terminated */
	const char *harmless;     /* values that change nothing, by blanks: "false {}" */
	const char *note;         /* ignored: a warning unless the value is harmless */

	/* What is wrong with the text, or NULL. The answer continues "must be ". */
	const char *(*check)(const char *text);
	/* Instead of storing by type: at has a value of the type, out is the struct. */
	void (*read)(struct json_reader *r, const struct json_at *at, void *out);
};

/* Rows of a table; what follows the named arguments are more initialisers. */
#define FIELD_AT(key, kind, owner, member, ...)                               \
	{                                                                     \
		.name = key, .type = kind, .offset = offsetof(owner, member), \
		__VA_ARGS__                                                   \
	}
#define FIELD_CALL(key, kind, reads, ...)                             \
	{                                                             \
		.name = key, .type = kind, .read = reads, __VA_ARGS__ \
	}
#define FIELD_IGNORE(key, kind, ...)                                            \
	{                                                                       \
		.name = key, .type = kind, .status = FIELD_IGNORED, __VA_ARGS__ \
	}
#define FIELD_REFUSE(key, kind, values, ...)                            \
	{                                                               \
		.name = key, .type = kind, .status = FIELD_UNSUPPORTED, \
		.harmless = values, __VA_ARGS__                         \
	}
#define FIELD_TABLE_END      \
	{                    \
		.name = NULL \
	}

/* Reads the object at into out, by a table ended by FIELD_TABLE_END. Fields are read in
 * the table's order. null counts as absent. */
void json_fields_read(struct json_reader *r, const struct json_at *at,
		      const struct field *table, void *out);

/* Calls read for each element that is an object (the others are type errors). */
void json_list_read(struct json_reader *r, const struct json_at *at,
		    void (*read)(struct json_reader *r, const struct json_at *at,
				 void *out),
		    void *out);

/* at's member, with a NULL value when absent or null. */
struct json_at json_member(const struct json_at *at, const char *key);
struct json_at json_element(const struct json_at *at, size_t index);

size_t json_length(const struct json_at *at);    /* of a list or an object */
const char *json_text(const struct json_at *at); /* "" when it is no string */

/* For a value that must be a string: its text, or NULL after an error was added. */
const char *json_expect_string(struct json_reader *r, const struct json_at *at);
bool json_expect_object(struct json_reader *r, const struct json_at *at);

/* A list of strings into *place, NULL-terminated; each is checked by f->check. */
void json_store_strings(struct json_reader *r, const struct json_at *at,
			const struct field *f, const char ***place);

char *json_keep(struct json_reader *r, const char *text); /* NULL: out of memory */
void *json_keep_array(struct json_reader *r, size_t n, size_t size);

void json_at_pointer(const struct json_at *at, char *buf, size_t size);
void json_fault(struct json_reader *r, const struct json_at *at, enum diag_kind kind,
		const char *fmt, ...) PRINTF_LIKE(4, 5);
void json_warn(struct json_reader *r, const struct json_at *at, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* "not supported by podinit yet", for the Kubernetes field that at is. */
void json_refuse(struct json_reader *r, const struct json_at *at);

/* Of a number field outside of min..max: adds the error and returns false. */
bool json_check_range(struct json_reader *r, const struct json_at *at, int64_t value,
		      int64_t min, int64_t max);

/* "a, b or c" for messages. */
void json_join_words(const char *const *words, char *buf, size_t size);

#endif
