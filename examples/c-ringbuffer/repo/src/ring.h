#ifndef RING_H
#define RING_H

#include <stdbool.h>
#include <stddef.h>

struct ring {
    unsigned char *bytes;
    size_t capacity;
    size_t head;  /* where the oldest byte is */
    size_t count; /* how many bytes are in the ring */
};

bool ring_init(struct ring *ring, size_t capacity);
void ring_free(struct ring *ring);

/* Both say how many bytes were really moved. */
size_t ring_write(struct ring *ring, const unsigned char *from, size_t length);
size_t ring_read(struct ring *ring, unsigned char *to, size_t length);

/* The byte that the (at + 1)th read would give, or -1. */
int ring_peek(const struct ring *ring, size_t at);

#endif
