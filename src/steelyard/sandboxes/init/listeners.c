/* Connections inside the sandbox <-> frames. Part of init.c, which includes it. */

static void forget_stream(struct stream *stream) {
    shut(&stream->fd);
    free(stream->pending);
    *stream = (struct stream){.fd = -1};
}

/* A reset and no orderly end: the host cannot be reached, and must not seem to be there. */
static void shut_with_reset(int *fd) {
    const struct linger at_once = {1, 0};
    if (*fd >= 0) setsockopt(*fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    shut(fd);
}

static void reset_stream(struct stream *stream) {
    shut_with_reset(&stream->fd);
    forget_stream(stream);
}

/* The client is gone; the slot is free once the controller says so too. */
static void lose_client(struct stream *stream) {
    shut(&stream->fd);
    stream->waiting = 0;
    if (stream->over) forget_stream(stream);
    else tell('r', stream->id, NULL, 0);
}

static int bound_to(const char *address, uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int yes = 1, buffer = STREAM_BUFFER;
    memcpy(&to.sin_addr, address, 4);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes); /* of a step before may be left TIME_WAITs */
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer); /* accepted connections inherit both */
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    if (bind(fd, (struct sockaddr *)&to, sizeof to) == 0 && listen(fd, BACKLOG) == 0) return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* "4 bytes of address, u16 port": listeners are numbered in the order in which they are opened. */
static void open_listener(uint32_t id, const char *payload, uint32_t length) {
    int32_t error = 0;
    uint16_t port;
    if (length != 6) {
        error = EINVAL;
    } else if (listener_count == MAX_LISTENERS) {
        error = EMFILE;
    } else {
        memcpy(&port, payload + 4, 2);
        int fd = bound_to(payload, port);
        if (fd < 0) error = errno;
        else listeners[listener_count++] = (struct listener){fd, 0};
    }
    tell('l', id, &error, 4);
}

static void shut_listeners(uint32_t id) {
    uint32_t refused[MAX_LISTENERS];
    const uint32_t count = (uint32_t)listener_count;
    for (int i = 0; i < MAX_STREAMS; i++)
        if (streams[i].id) reset_stream(&streams[i]);
    for (int i = 0; i < listener_count; i++) {
        refused[i] = listeners[i].refused;
        close(listeners[i].fd);
    }
    listener_count = 0;
    tell('u', id, refused, 4 * count);
}

static struct stream *free_stream(void) {
    for (int i = 0; i < MAX_STREAMS; i++)
        if (!streams[i].id) return &streams[i];
    return NULL;
}

/* One a round for each listener, so that a flood of connections holds up nothing else. */
static void let_in(int listener) {
    int fd = accept4(listeners[listener].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    struct stream *stream = free_stream();
    char *pending = stream ? malloc(STREAM_WINDOW) : NULL;
    if (!pending) {
        listeners[listener].refused += listeners[listener].refused < UINT32_MAX;
        shut_with_reset(&fd);
        return;
    }
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* what came in pieces goes on in them */
    if (++last_stream == 0) last_stream = 1;
    *stream = (struct stream){.id = last_stream, .fd = fd, .pending = pending};
    const uint32_t number = (uint32_t)listener;
    tell('c', stream->id, &number, 4);
}

static void pass_on_from_client(struct stream *stream) {
    uint32_t room = STREAM_WINDOW - stream->unanswered;
    ssize_t got = read(stream->fd, chunk, room < CHUNK ? room : CHUNK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) {
        lose_client(stream);
        return;
    }
    stream->heard_all = got == 0;
    stream->unanswered += (uint32_t)got;
    tell('b', stream->id, chunk, (uint32_t)got);
}

static void pass_on_to_client(struct stream *stream) {
    if (stream->waiting > 0) {
        ssize_t put = write(stream->fd, stream->pending, stream->waiting);
        if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (put < 0) {
            lose_client(stream);
            return;
        }
        uint32_t taken = (uint32_t)put;
        stream->waiting -= taken;
        memmove(stream->pending, stream->pending + put, stream->waiting);
        if (!stream->over) tell('a', stream->id, &taken, 4);
    }
    if (stream->waiting > 0) return;
    if (stream->over) forget_stream(stream);
    else if (stream->ended_all) shutdown(stream->fd, SHUT_WR);
}

static void take_for_client(struct stream *stream, const char *data, uint32_t length) {
    if (stream->fd < 0 || stream->ended_all) return; /* they crossed with our news that it is gone */
    if (stream->waiting + length > STREAM_WINDOW) {
        shut_with_reset(&stream->fd);
        lose_client(stream);
        return;
    }
    if (length == 0) stream->ended_all = true;
    memcpy(stream->pending + stream->waiting, data, length);
    stream->waiting += length;
    pass_on_to_client(stream);
}

static void take_answer(struct stream *stream, const char *payload, uint32_t length) {
    uint32_t taken;
    if (length != 4) return;
    memcpy(&taken, payload, 4);
    stream->unanswered -= taken < stream->unanswered ? taken : stream->unanswered;
}

static void end_stream(struct stream *stream) {
    stream->ended_all = stream->over = true;
    if (stream->fd < 0) forget_stream(stream);
    else pass_on_to_client(stream);
}

static void obey_about_stream(char type, uint32_t id, const char *payload, uint32_t length) {
    struct stream *stream = NULL;
    for (int i = 0; id && i < MAX_STREAMS; i++)
        if (streams[i].id == id) stream = &streams[i];
    if (!stream || (stream->over && type != 'r')) return; /* it has just ended */
    switch (type) {
        case 'b': take_for_client(stream, payload, length); break;
        case 'a': take_answer(stream, payload, length); break;
        case 'e': end_stream(stream); break;
        case 'r': reset_stream(stream); break;
    }
}

/* Nothing is asked of a client that nothing could be done about now: its end would be reported
 * again and again. */
static struct pollfd wanted_of(const struct stream *stream) {
    short events = 0;
    if (!stream->id) return (struct pollfd){-1, 0, 0};
    if (!stream->heard_all && stream->unanswered < STREAM_WINDOW) events |= POLLIN;
    if (stream->waiting > 0) events |= POLLOUT;
    return (struct pollfd){events ? stream->fd : -1, events, 0};
}

static int poll_listeners(struct pollfd *polled) {
    int count = 0;
    if (listener_count == 0) return 0;
    for (int i = 0; i < listener_count; i++) polled[count++] = (struct pollfd){listeners[i].fd, POLLIN, 0};
    for (int i = 0; i < MAX_STREAMS; i++) polled[count++] = wanted_of(&streams[i]);
    return count;
}

/* Before anything else can open or shut a listener: the places in `polled` are those of now. */
static void serve_listeners(const struct pollfd *polled, int count) {
    if (count == 0) return;
    for (int i = 0; i < MAX_STREAMS; i++) {
        const struct pollfd *of_stream = &polled[listener_count + i];
        if (!of_stream->revents) continue;
        if (of_stream->revents & ~POLLOUT && of_stream->events & POLLIN) pass_on_from_client(&streams[i]);
        if (of_stream->revents & ~POLLIN && of_stream->events & POLLOUT && streams[i].fd >= 0)
            pass_on_to_client(&streams[i]);
    }
    for (int i = 0; i < listener_count; i++)
        if (polled[i].revents) let_in(i);
}
