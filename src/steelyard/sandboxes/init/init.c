/* Frames on stdin -> commands run -> frames on stdout. Process 1 of every sandbox.
 *
 *     u32 length | u8 type | u32 id | payload        little endian, payload at most 1 MiB
 *
 *     to init      E exec   I stdin data   S signal   T end a job's tree   K kill everything   P ping
 *                  M memory that is no process's   W watch system calls   n count them   h hold deadlines
 *                  g guard files   w who wrote them
 *     from init    H hello  O stdout  R stderr  A stdin taken  X exit  F not started  D all dead
 *                  P pong   M memory   Z the time of a job is over   ! refused
 *                  W watching   N a system call was tried   n how often each   g guarding   w who wrote them
 *     listeners    l listen  u close all        c connection (from init)   e end (to init)
 *                  b bytes  a taken  r reset    both ways
 *
 * docs/init-protocol.md says what each payload holds. Five rules carry the safety of it:
 * - an exit is reported when the process ends (SIGCHLD), never when its pipes do: a daemon may hold those;
 * - nothing that a command does (not reading stdin, flooding stdout, leaving a daemon) blocks init;
 * - a job whose time is over is killed here too, whether the controller says so, sleeps or does not read;
 * - init cannot be read by what it runs (PR_SET_DUMPABLE 0) and, as process 1, not be killed by it;
 * - a watched system call is answered by its number alone: what the caller's memory holds is evidence, never a reason.
 *
 * In the `local` sandbox it is not process 1: there it is a child subreaper and kills only its own
 * descendants, never kill(-1).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PROTOCOL = 6,
    HEADER = 9,
    MAX_FRAME = 1 << 20,
    MAX_JOBS = 64,
    MAX_SINKS = 512,
    MAX_PROCESSES = 1 << 16,
    CHUNK = 1 << 16,
    STDIN_WINDOW = 1 << 16, /* the controller keeps at most this much unacknowledged */
    MAX_LISTENERS = 64,
    MAX_STREAMS = 64,
    STREAM_WINDOW = 1 << 16, /* likewise of a stream, and each way */
    STREAM_BUFFER = 1 << 17, /* of a socket: otherwise the kernel would keep megabytes of unread data */
    BACKLOG = 64,
    STRIKE_MS = 5,
    MAX_TIME_MS = 1 << 30,
    MAX_WATCHED = 128,
    MAX_GUARDED = 8,
    MAX_GUARDED_BYTES = 1 << 16, /* of a guarded file that is compared */
    MAX_OWN = 64,                /* programs of the command that guards */
    MAX_PID = 1 << 22,
    MAX_ARGUMENTS = 64,
    KNOWN_FILES = 1 << 16,
    KNOWN_PIPES = 256,
    KNOWN_EPOCHS = 1 << 12,
    KNOWN_HELD = 256,
    KNOWN_FOLDERS = 1 << 13,
    MAX_FOLDERS = 1 << 12, /* in a table of twice the size */
    MAX_DEPTH = 4,
    MAX_ATTEMPTS = 256, /* that are reported one by one; all are counted */
    ATTEMPT_DETAIL = 256,
    WATCHER_STACK = 1 << 16,
};

struct job {
    uint32_t id;
    pid_t pid;
    int output[2]; /* stdout, stderr; -1 once at its end */
    int input;     /* -1: none, or closed */
    int failure;   /* says why the process did not become the command; empty if it did */
    bool input_ends;
    uint32_t waiting; /* bytes in `pending` */
    char *pending;
    int64_t deadline_ms; /* on the monotonic clock; 0: none */
    bool expired;
    bool ends_all; /* nothing outlives it: not even for as long as it takes to tell of its end */
};

/* A listening socket: connections to it are passed on to the controller. */
struct listener {
    int fd;
    uint32_t refused; /* connections that came while every stream was taken */
};

/* A connection to a listener. It is forgotten when the controller has said its last word about it, so
 * however many come and go, the controller hears of no more than it has room for. */
struct stream {
    uint32_t id;         /* 0: free; never used again */
    int fd;              /* -1: the client is gone, the last word is not said yet */
    uint32_t unanswered; /* bytes that were sent to the controller and not yet acknowledged */
    bool heard_all;      /* the client will send no more, and the controller knows */
    bool ended_all;       /* nor will the other side */
    bool over;           /* the last word is said: what is in `pending`, then the end */
    uint32_t waiting;    /* bytes in `pending` */
    char *pending;
};

struct process {
    pid_t pid, parent, session;
    bool zombie;
    uint64_t start; /* in ticks since the machine started */
};

/* What went wrong between fork and exec. */
struct start_failure {
    int32_t error;
    char step;
};

struct request {
    bool wants_input;
    bool ends_all;
    int64_t time_ms; /* 0: as long as it likes */
    char *cwd;
    char **argv, **env;
};

static struct job jobs[MAX_JOBS];
static int job_count;
static int sinks[MAX_SINKS]; /* pipes of finished jobs that a daemon still holds: read to nowhere */
static int sink_count;
static struct listener listeners[MAX_LISTENERS];
static int listener_count;
static struct stream streams[MAX_STREAMS];
static uint32_t last_stream;
static int control_in, control_out, child_signals;
static bool is_process_1;
static int64_t held_since_ms; /* 0: deadlines count */
static struct timespec began; /* on the clock of files */
static int64_t first_word_by_ms; /* 0: no matter when; a controller that died before it spoke is not waited for */
static char frame_in[MAX_FRAME + 1];
static char chunk[CHUNK];
static struct process process_lists[2][MAX_PROCESSES]; /* the watcher has one of its own */
static _Thread_local struct process *processes = process_lists[0];
static _Thread_local int processes_missed; /* listed, and gone when they were looked at */

/* The command that guards files: shared with the child that becomes it, so that it is known before it can end. */
static struct guarding {
    volatile pid_t pid;
    volatile bool is_leaving; /* it asked for its end, and everything is killed: what it asked for is its status */
    volatile int32_t status;
} *guarding; /* NULL: no files are guarded */
static char work_folder[4096]; /* where that command begins */

static void kill_descendants(void);
static int kill_round(const struct job *ending);

static _Noreturn void leave(void) {
    if (!is_process_1) kill_descendants(); /* process 1 takes everything with it by ending */
    _exit(0);
}

/* ---- deadlines ---- */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How long poll may sleep. A tree that must die is struck again until it is gone: it may have forked. */
static int until_deadline_ms(void) {
    int64_t left = first_word_by_ms ? first_word_by_ms - now_ms() : INT32_MAX;
    if (left < 0) left = 0;
    for (int i = 0; i < job_count; i++)
        if (jobs[i].deadline_ms && !held_since_ms) {
            int64_t own = jobs[i].expired ? STRIKE_MS : jobs[i].deadline_ms - now_ms();
            if (own < left) left = own < 0 ? 0 : own;
        }
    return left == INT32_MAX ? -1 : (int)left;
}

/* Kills, and tells nothing: it may be called in the middle of a frame. Who is dead is reaped by the loop. */
static void strike_expired(void) {
    int64_t now = now_ms();
    for (int i = 0; i < job_count && !held_since_ms; i++) {
        if (!jobs[i].deadline_ms || now < jobs[i].deadline_ms) continue;
        jobs[i].expired = true;
        if (is_process_1 && job_count == 1) kill(-1, SIGKILL);
        else kill_round(&jobs[i]);
    }
}

/* A paused sandbox: its jobs get the time of the pause in addition. */
static void hold_deadlines(bool hold) {
    int64_t held_ms = held_since_ms ? now_ms() - held_since_ms : 0;
    for (int i = 0; i < job_count; i++)
        if (jobs[i].deadline_ms) jobs[i].deadline_ms += held_ms;
    held_since_ms = hold ? now_ms() : 0;
}

static void wait_for(int fd, short events) {
    struct pollfd polled = {fd, events, 0};
    poll(&polled, 1, until_deadline_ms());
    strike_expired();
}

/* ---- frames ---- */

static void read_fully(void *into, size_t count) {
    char *at = into;
    while (count > 0) {
        ssize_t got = read(control_in, at, count);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) {
            wait_for(control_in, POLLIN);
            continue;
        }
        if (got <= 0) leave();
        at += got;
        count -= (size_t)got;
    }
}

static void write_fully(const void *from, size_t count) {
    const char *at = from;
    while (count > 0) {
        ssize_t put = write(control_out, at, count);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) {
            wait_for(control_out, POLLOUT);
            continue;
        }
        if (put <= 0) leave();
        at += put;
        count -= (size_t)put;
    }
}

static void tell(char type, uint32_t id, const void *payload, uint32_t length) {
    char small[HEADER + 64];
    memcpy(small, &length, 4);
    small[4] = type;
    memcpy(small + 5, &id, 4);
    if (length <= 64) { /* most frames: one write */
        if (length > 0) memcpy(small + HEADER, payload, length);
        write_fully(small, HEADER + length);
    } else {
        write_fully(small, HEADER);
        write_fully(payload, length);
    }
}

static void refuse(char type, uint32_t id, const char *why) {
    char text[64] = {type, ' '};
    strncpy(text + 2, why, sizeof text - 3);
    tell('!', id, text, (uint32_t)strlen(text));
}

static void tell_not_started(uint32_t id, char step, int32_t error) {
    char payload[5];
    memcpy(payload, &error, 4);
    payload[4] = step;
    tell('F', id, payload, sizeof payload);
}

/* ---- output ---- */

static void shut(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static void pass_on_output(struct job *job, int stream) {
    ssize_t got = read(job->output[stream], chunk, CHUNK);
    if (got > 0) tell("OR"[stream], job->id, chunk, (uint32_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR)) shut(&job->output[stream]);
}

/* What the job itself wrote is in the pipe when it ends: exactly that much is passed on, so that a
 * grandchild that keeps writing cannot hold up the exit. */
static void pass_on_rest(struct job *job, int stream) {
    int left = 0;
    if (job->output[stream] < 0 || ioctl(job->output[stream], FIONREAD, &left) != 0) return;
    while (left > 0) {
        ssize_t got = read(job->output[stream], chunk, left < CHUNK ? (size_t)left : CHUNK);
        if (got <= 0) return;
        tell("OR"[stream], job->id, chunk, (uint32_t)got);
        left -= (int)got;
    }
}

static void keep_draining(int fd) {
    if (fd < 0) return;
    if (sink_count == MAX_SINKS) { /* the oldest daemon gets SIGPIPE */
        close(sinks[0]);
        memmove(sinks, sinks + 1, (MAX_SINKS - 1) * sizeof *sinks);
        sink_count--;
    }
    sinks[sink_count++] = fd;
}

/* ---- stdin ---- */

static void tell_taken(uint32_t id, uint32_t count) {
    if (count > 0) tell('A', id, &count, 4);
}

static void end_input(struct job *job) {
    tell_taken(job->id, job->waiting); /* thrown away, but the controller must not wait for it */
    job->waiting = 0;
    shut(&job->input);
}

static void pass_on_input(struct job *job) {
    if (job->waiting > 0) {
        ssize_t put = write(job->input, job->pending, job->waiting);
        if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (put < 0) {
            end_input(job);
            return;
        }
        job->waiting -= (uint32_t)put;
        memmove(job->pending, job->pending + put, job->waiting);
        tell_taken(job->id, (uint32_t)put);
    }
    if (job->waiting == 0 && job->input_ends) shut(&job->input);
}

static void take_input(struct job *job, const char *data, uint32_t length) {
    if (length == 0) {
        job->input_ends = true;
    } else if (job->input < 0 || job->input_ends) {
        tell_taken(job->id, length);
        return;
    } else if (job->waiting + length > STDIN_WINDOW) {
        refuse('I', job->id, "more than the window");
        return;
    } else {
        memcpy(job->pending + job->waiting, data, length);
        job->waiting += length;
    }
    if (job->input >= 0) pass_on_input(job);
}

/* ---- listeners ---- */

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

/* ---- starting ---- */

/* "flags\0cwd\0argc\0argv...\0envc\0env...\0": the next string, or NULL at the end. */
static char *next_field(char **at, char *end) {
    if (*at >= end) return NULL;
    char *field = *at;
    *at += strlen(field) + 1;
    return field;
}

static char **next_list(char **at, char *end) {
    char *count_text = next_field(at, end);
    long count = count_text ? strtol(count_text, NULL, 10) : -1;
    if (count < 0 || count > MAX_FRAME) return NULL;
    char **list = calloc((size_t)count + 1, sizeof *list);
    for (long i = 0; list && i < count; i++) {
        list[i] = next_field(at, end);
        if (!list[i]) {
            free(list);
            return NULL;
        }
    }
    return list;
}

static bool parse_request(struct request *request, char *at, char *end) {
    char *flags = next_field(&at, end);
    request->cwd = next_field(&at, end);
    if (!flags || !request->cwd) return false;
    request->wants_input = strchr(flags, 'i') != NULL;
    request->ends_all = strchr(flags, 'k') != NULL;
    char *time = strchr(flags, 't');
    request->time_ms = time ? strtoll(time + 1, NULL, 10) : 0;
    if (request->time_ms < 0 || request->time_ms > MAX_TIME_MS) request->time_ms = MAX_TIME_MS;
    request->argv = next_list(&at, end);
    request->env = next_list(&at, end);
    return request->argv && request->argv[0] && request->env;
}

static void exec_by_path(struct request *request) {
    static char candidate[4096];
    const char *name = request->argv[0], *path = "";
    for (char **entry = request->env; *entry; entry++)
        if (strncmp(*entry, "PATH=", 5) == 0) path = *entry + 5;
    int best = ENOENT; /* a found but forbidden file is better news than none */
    while (*path) {
        size_t length = strcspn(path, ":");
        if (length > 0 && length + strlen(name) + 2 <= sizeof candidate) {
            memcpy(candidate, path, length);
            candidate[length] = '/';
            strcpy(candidate + length + 1, name);
            execve(candidate, request->argv, request->env);
            if (errno != ENOENT && errno != ENOTDIR) best = errno;
        }
        path += length + (path[length] == ':');
    }
    errno = best;
}

/* `failure`: a pipe that the command does not have. */
static _Noreturn void become(struct request *request, const int stdio[3], int failure) {
    struct start_failure why = {.step = 'c'};
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL); /* ignored signals survive exec */
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    for (int fd = 0; fd < 3; fd++)
        if (stdio[fd] >= 0) dup2(stdio[fd], fd); /* our own stdin is /dev/null and will do */
    if (request->ends_all && guarding) *guarding = (struct guarding){.pid = getpid()};
    if (chdir(request->cwd) == 0) {
        why.step = 'e';
        if (strchr(request->argv[0], '/')) execve(request->argv[0], request->argv, request->env);
        else exec_by_path(request);
    }
    why.error = errno;
    _exit(write(failure, &why, sizeof why) == (ssize_t)sizeof why ? 127 : 126);
}

struct pipes {
    int in[2], out[2], err[2], failure[2];
};

static bool open_pipes(struct pipes *pipes, bool wants_input) {
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (wants_input && pipe2(pipes->in, O_CLOEXEC) != 0) return false;
    if (pipe2(pipes->failure, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    return pipe2(pipes->out, O_CLOEXEC) == 0 && pipe2(pipes->err, O_CLOEXEC) == 0;
}

static void shut_pair(int pair[2]) {
    shut(&pair[0]);
    shut(&pair[1]);
}

/* Whether nothing else runs: every process of the sandbox is a descendant of init. */
static bool is_alone(void) {
    siginfo_t ignored;
    return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
}

/* vfork is faster, but another process of the sandbox can stop the child before it executes, and init would wait for it. */
static void start_job(uint32_t id, struct request *request) {
    struct pipes pipes;
    struct job *job = &jobs[job_count];
    *job = (struct job){.id = id, .input = -1};
    if (request->wants_input) job->pending = malloc(STDIN_WINDOW);
    pid_t pid = -1;
    if (request->ends_all && guarding) snprintf(work_folder, sizeof work_folder, "%s", request->cwd);
    volatile char step = 'p'; /* vfork may lose it */
    if (open_pipes(&pipes, request->wants_input) && (!request->wants_input || job->pending)) {
        const int stdio[3] = {pipes.in[0], pipes.out[1], pipes.err[1]};
        step = 'f';
        pid = is_alone() ? vfork() : fork();
        if (pid == 0) become(request, stdio, pipes.failure[1]);
    }
    int32_t error = errno;
    shut(&pipes.in[0]);
    shut(&pipes.out[1]);
    shut(&pipes.err[1]);
    shut(&pipes.failure[1]);
    if (pid < 0) {
        shut_pair(pipes.in);
        shut_pair(pipes.out);
        shut_pair(pipes.err);
        shut_pair(pipes.failure);
        free(job->pending);
        tell_not_started(id, step, error);
        return;
    }
    job->pid = pid;
    job->ends_all = request->ends_all;
    if (request->time_ms > 0) job->deadline_ms = now_ms() + request->time_ms;
    job->input = pipes.in[1];
    job->output[0] = pipes.out[0];
    job->output[1] = pipes.err[0];
    job->failure = pipes.failure[0];
    /* Only stdin: outputs are read when poll says that there is something, and by no other code. */
    if (job->input >= 0) fcntl(job->input, F_SETFL, O_NONBLOCK);
    job_count++;
}

static void start(uint32_t id, char *payload, uint32_t length) {
    struct request request = {0};
    if (job_count == MAX_JOBS) tell_not_started(id, 'j', EAGAIN);
    else if (!parse_request(&request, payload, payload + length)) refuse('E', id, "malformed");
    else start_job(id, &request);
    free(request.argv);
    free(request.env);
}

/* ---- ending ---- */

static void finish(struct job *job, int32_t status, const struct rusage *usage) {
    for (int stream = 0; stream < 2; stream++) {
        pass_on_rest(job, stream);
        keep_draining(job->output[stream]);
    }
    if (job->input >= 0) end_input(job);
    free(job->pending);
    struct start_failure why;
    bool not_started = read(job->failure, &why, sizeof why) == (ssize_t)sizeof why;
    shut(&job->failure);
    uint64_t spent[3] = {
        (uint64_t)usage->ru_utime.tv_sec * 1000000 + (uint64_t)usage->ru_utime.tv_usec,
        (uint64_t)usage->ru_stime.tv_sec * 1000000 + (uint64_t)usage->ru_stime.tv_usec,
        (uint64_t)usage->ru_maxrss * 1024,
    };
    char payload[4 + sizeof spent];
    memcpy(payload, &status, 4);
    memcpy(payload + 4, spent, sizeof spent);
    uint32_t id = job->id;
    bool expired = job->expired;
    *job = jobs[--job_count];
    if (expired) tell('Z', id, NULL, 0);
    if (not_started) tell_not_started(id, why.step, why.error);
    else tell('X', id, payload, sizeof payload);
}

static struct job *find_job(uint32_t id) {
    for (int i = 0; i < job_count; i++)
        if (jobs[i].id == id) return &jobs[i];
    return NULL;
}

static bool reap(int flags);

/* Nothing outlives this job: its end is told when all others are dead, and no write of theirs is under way any more. */
static void finish_last(struct job *job, int32_t status, const struct rusage *usage) {
    const uint32_t id = job->id;
    if (guarding && guarding->pid == job->pid && guarding->is_leaving && WIFSIGNALED(status)) status = (guarding->status & 0xff) << 8;
    if (guarding) guarding->pid = 0;
    job->pid = -1;
    kill(-1, SIGKILL);
    reap(0);
    finish(find_job(id), status, usage);
}

/* Takes in every dead child; false when there is no child left at all. */
static bool reap(int flags) {
    for (;;) {
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, flags, &usage);
        if (pid < 0 && errno == EINTR) continue;
        if (pid <= 0) return pid == 0;
        for (int i = 0; i < job_count; i++)
            if (jobs[i].pid == pid) {
                if (jobs[i].ends_all && is_process_1) finish_last(&jobs[i], status, &usage);
                else finish(&jobs[i], status, &usage);
                break;
            }
    }
}

/* /proc/PID/stat: "pid (any name, even with ')') state parent group session ..." */
static bool read_process(const char *pid, struct process *process) {
    char path[32] = "/proc/", text[512];
    strncat(path, pid, 12);
    strcat(path, "/stat");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    if (got <= 0) return false;
    text[got] = 0;
    char *at = strrchr(text, ')');
    if (!at || !at[1]) return false;
    process->pid = atoi(pid);
    bool ended = at[2] == 'Z' || at[2] == 'X';
    process->parent = (pid_t)strtol(at + 3, &at, 10);
    strtol(at, &at, 10);
    process->session = (pid_t)strtol(at, &at, 10);
    long threads = 0;
    for (int field = 7; field <= 20; field++) threads = strtol(at, &at, 10);
    strtol(at, &at, 10);
    process->start = strtoull(at, &at, 10);
    process->zombie = ended && threads <= 1; /* the first thread may have ended while others go on */
    return true;
}

static int list_processes(void) {
    DIR *proc = opendir("/proc");
    int count = 0;
    processes_missed = 0;
    for (struct dirent *entry; proc && count < MAX_PROCESSES && (entry = readdir(proc));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (read_process(entry->d_name, &processes[count])) count++;
        else processes_missed++;
    }
    if (proc) closedir(proc);
    return count;
}

static const struct process *find_process(int count, pid_t pid) {
    int low = 0, high = count; /* /proc lists in ascending order */
    while (low < high) {
        int middle = (low + high) / 2;
        if (processes[middle].pid < pid) low = middle + 1;
        else high = middle;
    }
    return low < count && processes[low].pid == pid ? &processes[low] : NULL;
}

static bool is_job_other_than(pid_t pid, const struct job *ending) {
    for (int i = 0; ending && i < job_count; i++)
        if (jobs[i].pid == pid && jobs[i].id != ending->id) return true;
    return false;
}

/* Ours, and not part of a job that goes on. */
static bool must_die(int count, const struct process *process, const struct job *ending) {
    if (is_job_other_than(process->session, ending)) return false;
    for (int depth = 0; process && depth < 4096; depth++) {
        if (is_job_other_than(process->pid, ending)) return false;
        if (process->parent == getpid()) return true;
        process = find_process(count, process->parent);
    }
    return false;
}

static int kill_round(const struct job *ending) {
    int count = list_processes(), killed = 0;
    pid_t self = getpid();
    for (int i = 0; i < count; i++)
        if (!processes[i].zombie && processes[i].pid != self && must_die(count, &processes[i], ending)) {
            kill(processes[i].pid, SIGKILL);
            killed++;
        }
    return killed;
}

static void kill_descendants(void) {
    const struct timespec pause = {0, 500000};
    do {
        kill_round(NULL);
        nanosleep(&pause, NULL);
    } while (reap(WNOHANG));
}

/* ---- System V shared memory: it outlives its maker, and is charged to no process ---- */

/* One byte of a file that must be read in large pieces; `chunk` is free while frames are obeyed. */
static bool read_buffered(int fd, char *byte) {
    static ssize_t filled, used;
    if (used >= filled) {
        used = 0;
        filled = read(fd, chunk, CHUNK);
        if (filled <= 0) {
            filled = 0;
            return false;
        }
    }
    *byte = chunk[used++];
    return true;
}

static uint64_t each_segment(bool remove) {
    char line[512];
    uint64_t total = 0;
    int fd = open("/proc/sysvipc/shm", O_RDONLY | O_CLOEXEC), length = 0;
    for (char byte; fd >= 0 && read_buffered(fd, &byte);) {
        if (byte != '\n') {
            if (length < (int)sizeof line - 1) line[length++] = byte;
            continue;
        }
        line[length] = 0;
        length = 0;
        /* key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap */
        char *at = line;
        long long column[16] = {0};
        for (int i = 0; i < 16; i++) column[i] = strtoll(at, &at, i == 2 ? 8 : 10);
        total += (uint64_t)column[14] + (uint64_t)column[15];
        if (remove && column[3] > 0) shmctl((int)column[1], IPC_RMID, NULL);
    }
    if (fd >= 0) close(fd);
    return total;
}

static void tell_memory(uint32_t id) {
    uint64_t bytes = is_process_1 ? each_segment(false) : 0; /* elsewhere they are the host's */
    tell('M', id, &bytes, sizeof bytes);
}

static void kill_everything(uint32_t id) {
    if (is_process_1) {
        kill(-1, SIGKILL); /* atomic against forks, unlike any walk */
        reap(0);
        each_segment(true);
    } else {
        kill_descendants();
    }
    while (sink_count > 0) close(sinks[--sink_count]);
    tell('D', id, NULL, 0);
}

/* A timeout: a grandchild may have left the session and lost its parent, so everything goes that does
 * not belong to another running job. Alone, that is everything. */
static void kill_tree(const struct job *ending) {
    if (is_process_1 && job_count == 1) {
        kill(-1, SIGKILL);
        reap(0);
        return;
    }
    const struct job copy = *ending; /* reaping moves the jobs about */
    const struct timespec pause = {0, 500000};
    for (int round = 0; round < 2000 && kill_round(&copy) > 0; round++) {
        nanosleep(&pause, NULL);
        reap(WNOHANG);
    }
    reap(WNOHANG);
}

/* Told once all of it is dead. */
static void end_tree(uint32_t id, const struct job *ending) {
    if (ending) kill_tree(ending);
    tell('D', id, NULL, 0);
}

static bool end_expired(void) {
    strike_expired();
    for (int i = 0; i < job_count; i++)
        if (jobs[i].expired) {
            kill_tree(&jobs[i]);
            return true;
        }
    return false;
}

/* ---- watched system calls ---- */

/* How a call is shown, beside its number. */
enum { PLAIN, ADDRESS_1, ADDRESS_4, EXEC_0, EXEC_1, OPEN_0, OPEN_1, CREATE_0, OPEN2_1, MESSAGE_1, MAKE_0, MAKE_1, REMOVE_0, REMOVE_1, MOVE_0, MOVE_1, EXIT,
       LINK_1, LINK_2, LINK_3, TRUNCATE_0, MODE_0, MODE_1 };

/* What an open asks for; a change of a folder writes. */
enum { READS = 1, WRITES = 2, FOLDER = 4 };

/* One row of the controller's table. A call without a row is refused with EPERM. */
struct watched {
    uint32_t number;
    uint32_t answer; /* the error of a call that is refused; 0: the kernel decides */
    uint32_t shown;
};

/* What is reported of a call: the payload of N. Written to the pipe in one piece (less than PIPE_BUF). */
struct attempt {
    uint32_t number;
    uint32_t error; /* that it was answered with, or that it will fail with; 0: not known */
    uint32_t pid;
    uint32_t wanted; /* of an open or a change: READS, WRITES, FOLDER */
    uint32_t length; /* of the detail; UINT32_MAX: the caller's memory could not be read */
    char name[16];
    char detail[ATTEMPT_DETAIL];
};

static struct watched watched[MAX_WATCHED];
static int watched_count;
static uint64_t watched_seen[MAX_WATCHED]; /* written by the watcher alone */
static int listener_fd = -1;               /* of the filter; close-on-exec */
static sem_t listener_is_known;            /* posted once, when the filter is loaded or could not be */
static int attempts_in = -1, attempts_out = -1;
static uint64_t attempts_known[MAX_ATTEMPTS]; /* digests of those that were reported */
static int attempts_sent;

/* Whether this machine lets init read the memory of what it runs: a security module may forbid it. */
static bool memory_is_readable;

/* The memory of the last caller. A program is started in memory of its own, and an exec is a watched call: then it is opened again. */
static pid_t memory_pid;
static int memory_fd = -1;

static void forget_memory(void) {
    shut(&memory_fd);
    memory_pid = 0;
}

static bool open_memory(pid_t pid) {
    char path[32];
    forget_memory();
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    memory_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (memory_fd >= 0) memory_pid = pid;
    return memory_fd >= 0;
}

/* Not process_vm_readv: the filter of the sandbox refuses it. */
static ssize_t read_caller(pid_t pid, uint64_t address, void *into, size_t size) {
    ssize_t got = memory_pid == pid ? pread(memory_fd, into, size, (off_t)address) : 0;
    if (got > 0) return got;
    if (!open_memory(pid)) return -1;
    got = pread(memory_fd, into, size, (off_t)address);
    memory_is_readable |= got > 0;
    if (got == 0) errno = ESRCH;
    return got > 0 ? got : -1;
}

/* Whether it is the caller that keeps its memory to itself, and not this machine. The files of such a process in /proc are not its own. */
static bool hides_memory(pid_t pid) {
    char path[32];
    struct stat found;
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    return memory_is_readable || (stat(path, &found) == 0 && found.st_uid != geteuid());
}

/* After a failure to look at a caller. What it keeps to itself is reported, too; an address that leads nowhere is not. */
static bool is_hidden(pid_t pid, struct attempt *attempt) {
    attempt->error = 0;
    attempt->length = UINT32_MAX;
    return (errno == EACCES || errno == EPERM) && hides_memory(pid);
}

/* A path may end just before a page that is not there: no read crosses a page. */
static bool read_path(pid_t pid, uint64_t address, char *into, size_t size) {
    size_t have = 0;
    while (have < size - 1) {
        size_t part = 4096 - (address + have) % 4096;
        if (part > size - 1 - have) part = size - 1 - have;
        ssize_t got = read_caller(pid, address + have, into + have, part);
        if (got <= 0) return false;
        if (memchr(into + have, 0, (size_t)got)) return true;
        have += (size_t)got;
    }
    into[have] = 0;
    return true;
}

static void read_name(pid_t pid, char name[16]) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, name, 15);
    if (fd >= 0) close(fd);
    if (got > 0 && name[got - 1] == '\n') name[got - 1] = 0;
}

/* What of a path comes after a prefix; NULL: it does not begin with it. */
static const char *after(const char *path, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(path, prefix, length) == 0 ? path + length : NULL;
}

/* The link of /proc to the folder that a path begins at. */
static void name_folder(pid_t pid, int folder, char *into, size_t size) {
    if (folder == AT_FDCWD) snprintf(into, size, "/proc/%d/cwd", pid);
    else snprintf(into, size, "/proc/%d/fd/%d", pid, folder);
}

/* Of a path that begins in /proc, what comes after the caller's own folder there; NULL: it is no such path. */
static const char *below_self(pid_t pid, int folder, const char *path) {
    char link[64], target[8];
    const char *name = path[0] == '/' ? after(path, "/proc/") : path;
    const char *own = name ? after(name, "self/") : NULL;
    if (name && !own) own = after(name, "thread-self/");
    if (!own || path[0] == '/') return own;
    name_folder(pid, folder, link, sizeof link);
    return readlink(link, target, sizeof target) == 5 && memcmp(target, "/proc", 5) == 0 ? own : NULL;
}

/* Where the caller's path leads, as init can name it: both have the same mounts, and each its own /proc/self. */
static void resolve(pid_t pid, int folder, const char *path, char *into, size_t size) {
    char link[64];
    const char *own = below_self(pid, folder, path);
    name_folder(pid, folder, link, sizeof link);
    if (own) snprintf(into, size, "/proc/%d/%s", pid, own);
    else if (path[0] == '/') snprintf(into, size, "%s", path);
    else snprintf(into, size, "%s/%s", link, path);
}

/* Whether the caller keeps the folder that a path begins at from init: then a refusal is init's own. */
static bool hides_folder(pid_t pid, int folder, const char *path) {
    char link[64], target[1];
    if (path[0] == '/') return false;
    name_folder(pid, folder, link, sizeof link);
    return readlink(link, target, sizeof target) < 0;
}

static uint32_t wanted_by(uint64_t flags) {
    bool reads = (flags & O_ACCMODE) != O_WRONLY, writes = flags & (O_ACCMODE | O_TRUNC);
    return (reads ? READS : 0) | (writes ? WRITES : 0) | (flags & O_DIRECTORY ? FOLDER : 0);
}

/* Of process 1 the kernel shows others less than their modes say, and init itself everything. */
static bool is_kept_by_init(const char *path) {
    static const char *const names[] = {"maps", "smaps", "smaps_rollup", "numa_maps", "fd", "map_files"};
    const char *name = strrchr(path, '/');
    for (size_t i = 0; after(path, "/proc/1/") && i < sizeof names / sizeof *names; i++)
        if (strcmp(name + 1, names[i]) == 0) return true;
    return false;
}

/* What the kernel is about to say to an open. Init is the same user; only refusals count. */
static uint32_t open_error(const char *path, uint64_t flags, uint32_t wanted) {
    static char parent[4096 + 64];
    int modes = (wanted & READS ? R_OK : 0) | (wanted & WRITES ? W_OK : 0);
    int how = AT_EACCESS | (flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);
    if (faccessat(AT_FDCWD, path, modes, how) == 0) return is_kept_by_init(path) ? EACCES : 0;
    if (errno == ENOENT && flags & O_CREAT) {
        snprintf(parent, sizeof parent, "%s", path);
        char *slash = strrchr(parent, '/');
        if (!slash) return 0;
        slash[1] = 0;
        if (faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) == 0) return 0;
    }
    return errno == EACCES || errno == EROFS || errno == EPERM ? (uint32_t)errno : 0;
}

/* A set-user-id program starts, but without the rights that it is started for. A missing program is not refused: callers
 * search the folders of PATH. */
static uint32_t exec_error(const char *path) {
    struct stat found;
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0) return errno == EACCES || errno == EPERM ? (uint32_t)errno : 0;
    if (stat(path, &found) != 0 || !S_ISREG(found.st_mode)) return 0;
    return found.st_mode & S_ISUID && found.st_uid != geteuid() ? EPERM : 0;
}

static bool is_nearby(const struct attempt *attempt) {
    const struct sockaddr_in *four = (const void *)attempt->detail;
    const struct sockaddr_in6 *six = (const void *)attempt->detail;
    if (four->sin_family == AF_UNIX || four->sin_family == AF_UNSPEC || four->sin_family == AF_NETLINK) return true;
    if (four->sin_family == AF_INET) return ntohl(four->sin_addr.s_addr) >> 24 == 127 || four->sin_addr.s_addr == 0;
    return four->sin_family == AF_INET6 && (IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr));
}

/* A connection or a message to another machine. */
static bool look_at_address(const struct seccomp_notif *call, uint64_t address, uint64_t size, struct attempt *attempt) {
    if (size < sizeof(sa_family_t)) return false;
    if (size > sizeof(struct sockaddr_in6)) size = sizeof(struct sockaddr_in6);
    ssize_t got = read_caller((pid_t)call->pid, address, attempt->detail, size);
    if (got < 0) return is_hidden((pid_t)call->pid, attempt);
    attempt->length = (uint32_t)got;
    return !is_nearby(attempt);
}

/* Of several messages the first. */
static bool look_at_message(const struct seccomp_notif *call, struct attempt *attempt) {
    struct { uint64_t name; uint32_t size; } head; /* the beginning of struct msghdr, and of struct mmsghdr */
    if (read_caller((pid_t)call->pid, call->data.args[1], &head, sizeof head) == (ssize_t)sizeof head)
        return head.name && look_at_address(call, head.name, head.size, attempt);
    return is_hidden((pid_t)call->pid, attempt);
}

/* A path that begins at a folder of the caller is shown from the root on. */
static void show_path(pid_t pid, int folder, const char *path, struct attempt *attempt) {
    char link[64];
    attempt->length = 0;
    if (path[0] != '/') {
        name_folder(pid, folder, link, sizeof link);
        ssize_t length = readlink(link, attempt->detail, ATTEMPT_DETAIL - 2);
        if (length > 0) {
            attempt->detail[length++] = '/';
            attempt->length = (uint32_t)length;
        }
    }
    size_t room = ATTEMPT_DETAIL - attempt->length, rest_length = strnlen(path, room);
    memcpy(attempt->detail + attempt->length, path, rest_length);
    attempt->length += (uint32_t)rest_length;
}

/* What links lead to, as far as it is there and can be found. */
static bool show_real_path(const char *resolved, struct attempt *attempt) {
    char link[32];
    struct stat found;
    int fd = open(resolved, O_PATH | O_CLOEXEC);
    if (fd < 0) return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, attempt->detail, ATTEMPT_DETAIL);
    if (fstat(fd, &found) == 0 && S_ISDIR(found.st_mode)) attempt->wanted |= FOLDER;
    close(fd);
    if (length > 0) attempt->length = (uint32_t)length;
    return length > 0;
}

static bool look_at_exec(const struct seccomp_notif *call, uint32_t shown, struct attempt *attempt) {
    static char path[4096], resolved[4096 + 64];
    const pid_t pid = (pid_t)call->pid;
    bool second = shown == EXEC_1;
    int folder = second ? (int)call->data.args[0] : AT_FDCWD;
    /* the child that init itself is starting has init's memory */
    if (!read_path(pid, call->data.args[second], path, sizeof path) || !path[0]) return false;
    resolve(pid, folder, path, resolved, sizeof resolved);
    attempt->error = exec_error(resolved);
    if (attempt->error == 0 || hides_folder(pid, folder, path)) return false;
    show_path(pid, folder, path, attempt);
    return true;
}

static bool look_at_open(const struct seccomp_notif *call, uint32_t shown, struct attempt *attempt) {
    static char path[4096], resolved[4096 + 64];
    const __u64 *args = call->data.args;
    const pid_t pid = (pid_t)call->pid;
    bool second = shown == OPEN_1 || shown == OPEN2_1;
    int folder = second ? (int)args[0] : AT_FDCWD;
    uint64_t flags = shown == CREATE_0 ? O_CREAT | O_WRONLY | O_TRUNC : args[second ? 2 : 1];
    if (shown == OPEN2_1 && read_caller(pid, args[2], &flags, sizeof flags) < 0) flags = 0;
    if (flags & O_PATH) return false; /* nothing is read */
    attempt->wanted = wanted_by(flags);
    if (!read_path(pid, args[second], path, sizeof path)) return is_hidden(pid, attempt);
    if (!path[0]) return false;
    resolve(pid, folder, path, resolved, sizeof resolved);
    attempt->error = open_error(resolved, flags, attempt->wanted);
    if (attempt->error == 0) return false;
    if (hides_folder(pid, folder, path)) return is_hidden(pid, attempt);
    if (!show_real_path(resolved, attempt)) show_path(pid, folder, path, attempt);
    return true;
}

/* What the kernel is about to say to a change of the folder that a path is in; only refusals count. */
static uint32_t change_error(const char *path, bool makes, bool removes) {
    static char parent[4096 + 64];
    struct stat found;
    bool exists = lstat(path, &found) == 0;
    if ((makes && exists) || (removes && !exists)) return 0; /* it fails for another reason */
    snprintf(parent, sizeof parent, "%s", path);
    size_t length = strlen(parent);
    while (length > 1 && parent[length - 1] == '/') parent[--length] = 0;
    char *slash = strrchr(parent, '/');
    if (!slash) return 0;
    slash[1] = 0;
    if (faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) == 0) return 0;
    return errno == EACCES || errno == EROFS || errno == EPERM ? (uint32_t)errno : 0;
}

/* What the kernel is about to say to a change of a file itself: its size, or its modes, which are its owner's. */
static uint32_t attribute_error(const char *path, bool is_mode) {
    struct stat found;
    bool is_writable = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
    if (!is_writable && errno == EROFS) return EROFS;
    if (!is_mode) return is_writable || errno != EACCES ? 0 : EACCES;
    return stat(path, &found) == 0 && geteuid() != 0 && found.st_uid != geteuid() ? EPERM : 0;
}

/* Where the arguments of a call have a path; `folder` -1: the path begins at the working directory. */
struct place {
    int folder, path;
};

static struct place place_of(uint32_t shown) {
    switch (shown) {
        case MAKE_1: case REMOVE_1: case MOVE_1: case MODE_1: return (struct place){0, 1};
        case LINK_1: return (struct place){-1, 1};
        case LINK_2: return (struct place){1, 2};
        case LINK_3: return (struct place){2, 3};
        default: return (struct place){-1, 0};
    }
}

static uint32_t refused_change(const char *path, uint32_t shown, bool is_second) {
    switch (shown) {
        case TRUNCATE_0: return attribute_error(path, false);
        case MODE_0: case MODE_1: return attribute_error(path, true);
        case MAKE_0: case MAKE_1: case LINK_1: case LINK_2: case LINK_3: return change_error(path, true, false);
        default: return change_error(path, false, !is_second);
    }
}

/* Folders and links made, names removed and moved, files cut, modes changed: of a move, where it comes from and where it leads. */
static bool look_at_change(const struct seccomp_notif *call, uint32_t shown, struct attempt *attempt) {
    static char path[4096], resolved[4096 + 64];
    const __u64 *args = call->data.args;
    const pid_t pid = (pid_t)call->pid;
    const struct place first = place_of(shown);
    attempt->wanted = WRITES;
    for (int i = 0; i < 1 + (shown == MOVE_0 || shown == MOVE_1); i++) {
        int step = first.folder < 0 ? i : 2 * i, folder = first.folder < 0 ? AT_FDCWD : (int)args[first.folder + step];
        if (!read_path(pid, args[first.path + step], path, sizeof path)) return is_hidden(pid, attempt);
        if (!path[0]) return false;
        resolve(pid, folder, path, resolved, sizeof resolved);
        attempt->error = refused_change(resolved, shown, i > 0);
        if (attempt->error == 0) continue;
        if (hides_folder(pid, folder, path)) return is_hidden(pid, attempt);
        show_path(pid, folder, path, attempt);
        return true;
    }
    return false;
}

static uint64_t digest_of(const struct attempt *attempt) {
    uint64_t digest = 14695981039346656037u; /* FNV-1a */
    const struct attempt same = *attempt;
    const unsigned char *at = (const unsigned char *)&same.name;
    digest = (digest ^ attempt->number) * 1099511628211u;
    digest = (digest ^ attempt->wanted) * 1099511628211u;
    for (size_t i = 0; i < sizeof same.name + sizeof same.detail; i++) digest = (digest ^ at[i]) * 1099511628211u;
    return digest;
}

/* Each attempt once, and no more than so many; a full pipe loses one and holds up nothing. */
static void report(const struct attempt *attempt) {
    if (attempts_sent == MAX_ATTEMPTS) return;
    uint64_t digest = digest_of(attempt);
    for (int i = 0; i < attempts_sent; i++)
        if (attempts_known[i] == digest) return;
    if (write(attempts_out, attempt, sizeof *attempt) == (ssize_t)sizeof *attempt) attempts_known[attempts_sent++] = digest;
}

static bool is_worth_reporting(const struct seccomp_notif *call, const struct watched *row, struct attempt *attempt) {
    switch (row->shown) {
        case ADDRESS_1: return look_at_address(call, call->data.args[1], call->data.args[2], attempt);
        case ADDRESS_4: return look_at_address(call, call->data.args[4], call->data.args[5], attempt);
        case MESSAGE_1: return look_at_message(call, attempt);
        case PLAIN: return true;
        case EXEC_0: case EXEC_1: return look_at_exec(call, row->shown, attempt);
        case OPEN_0: case OPEN_1: case CREATE_0: case OPEN2_1: return look_at_open(call, row->shown, attempt);
        default: return look_at_change(call, row->shown, attempt);
    }
}

/* ---- guarded files: whose process writes them ---- */

enum { MAX_WRITER = 116 };

/* A file is written by the command that guards it, or by what that started to write it. Tested code must not.
 *
 *     OWN        the command, what it forks, programs that the controller named, and code after -c that names the file
 *     FOREIGN    a process that was started from, or has read, a file that the tested code may have written; whatever that starts
 *     NEUTRAL    others: `tee`, `mv`
 *
 * What the memory of a process holds can be believed until it is FOREIGN, so the call by which it becomes FOREIGN is seen as it is.
 * Later calls may not be: nothing depends on what a FOREIGN process is seen to do. */
enum { UNKNOWN, OWN, NEUTRAL, FOREIGN };

struct origin {
    uint64_t start; /* of the process: another may have its number later */
    uint64_t chain; /* digest of the programs from the command down to the first that is FOREIGN */
    ino_t pipe;     /* that it opened last, by a name */
    uint32_t checked; /* when `start` was last compared with the process of this number */
    uint8_t kind;
    bool is_python, is_shell, is_interpreter, executes_input;
    bool by_data; /* FOREIGN, and no code of others is seen in it yet */
    bool relays;  /* NEUTRAL, and its input comes from a FOREIGN process */
};

/* NOT_SEEN: no open by an OWN or NEUTRAL process. LAST: by one, and no FOREIGN process has started since. KEPT: one has started since, and the
 * file was then `content`. HELD: likewise, and the file was open then (`check > file`): nobody else may have opened it since. */
enum { NOT_SEEN, LAST, KEPT, HELD };

/* What is told: NOT_SEEN, or */
enum { WRITTEN_BY_OWN = 1, WRITTEN_BY_OTHERS = 2 };

static struct guarded {
    char path[256];
    int state;
    uint64_t chain; /* of the last FOREIGN process that opened it */
    char writer[MAX_WRITER];
    dev_t device; /* of a file that is HELD */
    ino_t number;
    ssize_t size; /* of the content; -1: it was none that can be compared */
    char content[MAX_GUARDED_BYTES];
} guarded[MAX_GUARDED];
static int guarded_count;
static char own_programs[MAX_OWN][256];
static int own_count;
static struct origin *origins; /* by the number of the process */
/* Files that an OWN or NEUTRAL process had open for writing when one became FOREIGN: inotify tells of each later open, by whatever name. */
static struct held {
    int watch;
    dev_t device;
    ino_t number;
    bool is_touched;
} held_files[KNOWN_HELD];
static unsigned held_count;
static int opens_seen = -1;
/* Files that an OWN or NEUTRAL process opened for writing, and no FOREIGN one since as far as it was seen. Those of an earlier epoch must not have changed
 * since the next one began, when a process became FOREIGN: it may have other names for them. */
static struct own_file {
    uint64_t digest;
    uint32_t epoch;
} own_files[KNOWN_FILES];
static uint32_t epoch;
static unsigned written_in_epoch;
static struct timespec epoch_began[KNOWN_EPOCHS];
static ino_t foreign_pipes[KNOWN_PIPES]; /* into which a FOREIGN process writes what it prints */
static unsigned foreign_pipe_count;
static struct timespec tested_since; /* when the first process became FOREIGN, on the clock of files */
static dev_t proc_device;
static uint64_t known_folders[KNOWN_FOLDERS]; /* where the command began, before tested code started; files keep their times when one of these is renamed */
static int known_folder_count;

static uint64_t mix(uint64_t digest, const void *data, size_t size) {
    for (size_t i = 0; i < size; i++) digest = (digest ^ ((const unsigned char *)data)[i]) * 1099511628211U;
    return digest;
}

/* The process of a thread; 0: it is gone. */
static pid_t process_of(pid_t thread) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/status", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[got > 0 ? got : 0] = 0;
    const char *at = strstr(text, "\nTgid:");
    return at ? atoi(at + 6) : 0;
}

static bool is_thread_of(pid_t thread, pid_t process) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task/%d", process, thread);
    return thread == process || access(path, F_OK) == 0;
}

/* Up to init, or to the command that guards. */
static bool descends_from(int count, pid_t pid, pid_t ancestor) {
    for (int depth = 0; pid > 1 && depth < 4096; depth++) {
        if (pid == ancestor) return true;
        const struct process *process = find_process(count, pid);
        pid = process ? process->parent : 0;
    }
    return false;
}

/* A process that has not executed anything is what its parent is. One that lost its parent is FOREIGN. */
static struct origin origin_of(pid_t pid) {
    struct origin found = {.kind = FOREIGN};
    const pid_t asked = pid;
    uint64_t start = 0;
    for (int depth = 0; pid > 1 && pid < MAX_PID && depth < 4096; depth++) {
        struct process process;
        char name[12];
        if (pid == guarding->pid) {
            found = (struct origin){.kind = OWN};
            break;
        }
        snprintf(name, sizeof name, "%d", pid);
        if (!read_process(name, &process)) break;
        if (depth == 0) start = process.start;
        if (origins[pid].kind && origins[pid].start == process.start) {
            found = origins[pid];
            break;
        }
        pid = process.parent;
    }
    found.start = start;
    if (start) origins[asked] = found;
    return found;
}

/* By folder and name: it may not exist yet. 0: it cannot. */
static uint64_t digest_of_file(const char *path) {
    static char folder[4096 + 64];
    struct stat found;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash) return 0;
    slash[0] = 0;
    if (stat(slash == folder ? "/" : folder, &found) != 0) return 0;
    uint64_t digest = mix(14695981039346656037U, slash + 1, strlen(slash + 1));
    return mix(mix(digest, &found.st_ino, sizeof found.st_ino), &found.st_dev, sizeof found.st_dev) | 1;
}

static bool is_later(const struct timespec *time, const struct timespec *than) {
    return time->tv_sec != than->tv_sec ? time->tv_sec > than->tv_sec : time->tv_nsec >= than->tv_nsec;
}

/* The pipe that a process has open under that number; 0: it is none. */
static ino_t pipe_of(pid_t pid, int number) {
    char link[32];
    struct stat found;
    snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, number);
    return stat(link, &found) == 0 && S_ISFIFO(found.st_mode) ? found.st_ino : 0;
}

static bool is_foreign_pipe(ino_t pipe) {
    for (int i = 0; pipe && i < KNOWN_PIPES; i++)
        if (foreign_pipes[i] == pipe) return true;
    return false;
}

static void remember_own_file(uint64_t digest) {
    own_files[digest % KNOWN_FILES] = (struct own_file){digest, epoch};
    written_in_epoch++;
}

static void forget_own_file(uint64_t digest) {
    struct own_file *file = &own_files[digest % KNOWN_FILES];
    if (digest == 0 || file->digest != digest) return;
    if (file->epoch == epoch && written_in_epoch > 0) written_in_epoch--;
    file->digest = 0;
}

static int kind_of(const struct process *process) {
    const struct origin *known = &origins[process->pid % MAX_PID];
    return known->kind && known->start == process->start ? known->kind : origin_of(process->pid).kind;
}

/* Whether tested code runs at this moment. */
static bool lives_foreign(void) {
    if (!tested_since.tv_sec) return false;
    for (int i = 0, count = list_processes(); i < count; i++)
        if (processes[i].pid > 1 && processes[i].pid != guarding->pid && !processes[i].zombie && kind_of(&processes[i]) == FOREIGN) return true;
    return false;
}

static void note_opens(void) {
    static union { struct inotify_event first; char room[4096]; } events;
    for (ssize_t got; opens_seen >= 0 && (got = read(opens_seen, &events, sizeof events)) > 0;)
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(events.room + at);
            at += (ssize_t)(sizeof *event + event->len);
            for (int i = 0; i < KNOWN_HELD; i++) held_files[i].is_touched |= event->wd < 0 || event->wd == held_files[i].watch;
        }
}

static void watch_held(const char *path, bool anew) {
    struct stat found;
    if (opens_seen < 0) opens_seen = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int watch = inotify_add_watch(opens_seen, path, IN_OPEN);
    if (watch < 0 || stat(path, &found) != 0) return;
    note_opens();
    struct held *file = NULL;
    for (int i = 0; i < KNOWN_HELD && !file; i++)
        if (held_files[i].watch == watch) file = &held_files[i];
    if (file && !anew) return;
    if (!file) {
        file = &held_files[held_count++ % KNOWN_HELD];
        if (file->watch) inotify_rm_watch(opens_seen, file->watch);
    }
    *file = (struct held){watch, found.st_dev, found.st_ino, false};
}

/* What the verifier's own have open for writing. */
static void watch_held_by(pid_t pid) {
    char path[32], link[320];
    struct stat name, found;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *open_files = opendir(path);
    for (struct dirent *entry; open_files && (entry = readdir(open_files));) {
        snprintf(link, sizeof link, "%s/%s", path, entry->d_name);
        if (lstat(link, &name) != 0 || !S_ISLNK(name.st_mode) || !(name.st_mode & S_IWUSR)) continue;
        if (stat(link, &found) == 0 && S_ISREG(found.st_mode)) watch_held(link, false);
    }
    if (open_files) closedir(open_files);
}

static bool is_untouched(dev_t device, ino_t number) {
    note_opens();
    for (int i = 0; i < KNOWN_HELD; i++)
        if (held_files[i].watch && held_files[i].device == device && held_files[i].number == number) return !held_files[i].is_touched;
    return false;
}

static bool is_own_file(uint64_t digest, const struct stat *found) {
    const struct own_file *file = &own_files[digest % KNOWN_FILES];
    if (digest == 0 || file->digest != digest) return false;
    if (file->epoch == epoch) return true;
    if (epoch - file->epoch < KNOWN_EPOCHS && !is_later(&found->st_ctim, &epoch_began[(file->epoch + 1) % KNOWN_EPOCHS])) return true;
    if (!is_untouched(found->st_dev, found->st_ino)) return false;
    if (!lives_foreign()) remember_own_file(digest); /* the open that asks would count, too */
    return true;
}

/* A process became FOREIGN: what changes from now on may be its work. Files have no finer time than this clock. */
static void begin_epoch(void) {
    const struct timespec pause = {0, 200000};
    struct timespec before, now;
    if (written_in_epoch == 0) return;
    for (int i = 0, count = list_processes(); i < count; i++)
        if (processes[i].pid > 1 && kind_of(&processes[i]) != FOREIGN) watch_held_by(processes[i].pid);
    clock_gettime(CLOCK_REALTIME_COARSE, &before);
    do {
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (is_later(&before, &now));
    epoch_began[++epoch % KNOWN_EPOCHS] = now;
    written_in_epoch = 0;
}

/* A name that was made after tested code had started, and leads to something that is no file: a link into /proc, a pipe. */
static bool is_late_name(const char *path) {
    struct stat found;
    return tested_since.tv_sec && lstat(path, &found) == 0 && !S_ISDIR(found.st_mode) && found.st_dev != proc_device && is_later(&found.st_ctim, &tested_since);
}

/* A file that the tested code may have written: one of this user, or newer than the sandbox, where files can be written. */
static bool is_foreign_file(const char *path) {
    static char target[4096];
    struct stat found;
    struct statvfs mounted;
    if (stat(path, &found) != 0 || S_ISDIR(found.st_mode)) return false;
    if (S_ISFIFO(found.st_mode) && is_foreign_pipe(found.st_ino)) return true;
    if (!S_ISREG(found.st_mode) || found.st_dev == proc_device) return is_late_name(path);
    if (statvfs(path, &mounted) == 0 && mounted.f_flag & ST_RDONLY) return false;
    if (!is_later(&found.st_ctim, &began) && (geteuid() == 0 || (found.st_uid != geteuid() && access(path, W_OK) != 0))) return false;
    /* A link of /proc to an open file: by its name, that it may have had. */
    ssize_t length = after(path, "/proc/") ? readlink(path, target, sizeof target - 1) : -1;
    target[length > 0 ? length : 0] = 0;
    char *deleted = strstr(target, " (deleted)");
    if (deleted) *deleted = 0;
    return !is_own_file(digest_of_file(length > 0 ? target : path), &found);
}

static uint64_t digest_of_folder(const char *path);
static uint64_t *slot_of_folder(uint64_t digest);

/* /proc/PID/cwd/x as the path of that folder, and x. */
static void begin_at_folder(const char *path, char *into, size_t size) {
    char link[64];
    static char target[4096];
    int length = 0;
    snprintf(into, size, "%s", path);
    if (sscanf(path, "/proc/%*d/cwd/%n", &length) != 0 || length == 0) sscanf(path, "/proc/%*d/fd/%*d/%n", &length);
    if (length == 0 || length > (int)sizeof link) return;
    snprintf(link, sizeof link, "%.*s", length - 1, path);
    ssize_t got = readlink(link, target, sizeof target - 1);
    if (got <= 0) return;
    target[got] = 0;
    snprintf(into, size, "%s/%s", target, path + length);
}

/* Whether a folder on the way, or a link, came to its place after tested code had started. */
static bool is_in_late_folder(const char *given) {
    static char folder[4096 + 64], path[2 * 4096];
    struct stat found;
    bool is_known = false;
    begin_at_folder(given, path, sizeof path);
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (lstat(folder, &found) != 0) return false;
        const bool is_late = is_later(&found.st_ctim, &tested_since) && found.st_dev != proc_device;
        if (is_late && S_ISLNK(found.st_mode)) return true;
        const bool was_known = is_known;
        is_known = S_ISDIR(found.st_mode) && *slot_of_folder(digest_of_folder(folder));
        if (is_late && was_known && !is_known && known_folder_count < MAX_FOLDERS) return true;
    }
    return false;
}

/* One that was made, changed or moved after tested code had started. */
static bool is_late_file(const char *path) {
    struct stat found, name;
    if (!tested_since.tv_sec || stat(path, &found) != 0) return false;
    bool is_late = is_later(&found.st_ctim, &tested_since);
    bool is_late_link = lstat(path, &name) == 0 && S_ISLNK(name.st_mode) && is_late_name(path);
    return is_late_link || ((is_late || is_in_late_folder(path)) && is_foreign_file(path));
}

/* Python executes no file with such a name that it opens itself. */
static bool is_data(const char *path) {
    static const char *const endings[] = {".json", ".jsonl", ".csv", ".tsv", ".txt", ".xml", ".yaml", ".yml", ".md", ".html", ".log", ".out", ".png", ".jpg", ".jpeg", ".svg", ".pdf"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

/* What a guarded file holds; -1: nothing that can be compared. */
static ssize_t read_guarded(const char *path, char *into) {
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = fd >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode) ? 0 : -1;
    for (ssize_t got = 1; size >= 0 && size < MAX_GUARDED_BYTES && got > 0; size += got > 0 ? got : 0)
        got = read(fd, into + size, (size_t)(MAX_GUARDED_BYTES - size));
    if (fd >= 0) close(fd);
    return size < MAX_GUARDED_BYTES ? size : -1;
}

static bool holds(pid_t pid, const struct stat *file) {
    char path[48];
    struct stat found;
    bool is_held = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *open_files = opendir(path);
    for (struct dirent *entry; open_files && !is_held && (entry = readdir(open_files));)
        is_held = fstatat(dirfd(open_files), entry->d_name, &found, 0) == 0 && found.st_dev == file->st_dev && found.st_ino == file->st_ino;
    if (open_files) closedir(open_files);
    return is_held;
}

static bool is_held(const char *path) {
    struct stat file;
    bool is_found = false;
    if (lstat(path, &file) != 0) return false;
    for (int i = 0, count = list_processes(); i < count && !is_found; i++) is_found = processes[i].pid != 1 && holds(processes[i].pid, &file);
    return is_found;
}

static void hold(struct guarded *file) {
    struct stat found;
    file->state = HELD;
    watch_held(file->path, true);
    if (lstat(file->path, &found) != 0) return;
    file->device = found.st_dev;
    file->number = found.st_ino;
}

/* Before tested code starts: what the files hold now was written by the command, however that code may write them later. */
static void keep_contents(void) {
    for (int i = 0; i < guarded_count; i++) {
        if (guarded[i].state != LAST) continue;
        if (is_held(guarded[i].path)) {
            hold(&guarded[i]);
            continue;
        }
        guarded[i].state = KEPT;
        guarded[i].size = read_guarded(guarded[i].path, guarded[i].content);
    }
}

/* Nobody opened a HELD file by whatever name, and it is still the one of that name. Where nothing can be watched, opens by its name count. */
static bool is_still_held(const struct guarded *file) {
    struct stat found;
    if (file->chain || lstat(file->path, &found) != 0) return false;
    return found.st_dev == file->device && found.st_ino == file->number && (opens_seen < 0 || is_untouched(file->device, file->number));
}

/* When nothing that others run can write any more. */
static int32_t whose_content(const struct guarded *file) {
    static char now[MAX_GUARDED_BYTES];
    if (file->state == LAST || (file->state == HELD && is_still_held(file))) return WRITTEN_BY_OWN;
    ssize_t size = file->state == KEPT ? read_guarded(file->path, now) : -1;
    if (size >= 0 && size == file->size && memcmp(now, file->content, (size_t)size) == 0) return WRITTEN_BY_OWN;
    return file->chain ? WRITTEN_BY_OTHERS : NOT_SEEN;
}

static void spoil_output(pid_t pid);

/* `cat x | sh`: the shell executes what the pipe holds. `cat x | tee y | sh`: so does the one behind a program that passes it on. */
static void spread_by_pipe(ino_t pipe) {
    pid_t relays[KNOWN_PIPES];
    int relays_count = 0;
    foreign_pipes[foreign_pipe_count++ % KNOWN_PIPES] = pipe;
    for (int i = 0, count = list_processes(); i < count; i++) {
        struct origin *origin = &origins[processes[i].pid % MAX_PID];
        if (origin->kind != NEUTRAL || origin->start != processes[i].start) continue;
        const bool is_input = pipe_of(processes[i].pid, 0) == pipe;
        if (origin->is_interpreter && ((is_input && origin->executes_input) || origin->pipe == pipe)) origin->kind = FOREIGN;
        else if (!is_input && origin->pipe != pipe) continue;
        origin->relays = true;
        if (relays_count < KNOWN_PIPES) relays[relays_count++] = processes[i].pid;
    }
    for (int i = 0; i < relays_count; i++) spoil_output(relays[i]);
}

/* What it has open as its output is FOREIGN from now on, too (`cat x > y`). */
static void spoil_output(pid_t pid) {
    char link[64];
    static char target[4096];
    snprintf(link, sizeof link, "/proc/%d/fd/1", pid);
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = 0;
    if (target[0] == '/') forget_own_file(digest_of_file(target));
    ino_t pipe = pipe_of(pid, 1);
    if (pipe && !is_foreign_pipe(pipe)) spread_by_pipe(pipe);
}

/* A folder, and what holds it by which name. 0: there is none. */
static uint64_t digest_of_folder(const char *path) {
    struct stat found;
    uint64_t digest = lstat(path, &found) == 0 ? digest_of_file(path) : 0;
    return digest ? mix(mix(digest, &found.st_ino, sizeof found.st_ino), &found.st_dev, sizeof found.st_dev) | 1 : 0;
}

static uint64_t *slot_of_folder(uint64_t digest) {
    uint64_t *slot = &known_folders[digest % KNOWN_FOLDERS];
    while (*slot && *slot != digest) slot = slot + 1 < known_folders + KNOWN_FOLDERS ? slot + 1 : known_folders;
    return slot;
}

static void know_folders(const char *path, int depth) {
    char below[4096];
    uint64_t digest = digest_of_folder(path);
    if (!digest || known_folder_count >= MAX_FOLDERS) return;
    *slot_of_folder(digest) = digest;
    known_folder_count++;
    DIR *folder = depth < MAX_DEPTH ? opendir(path) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && strcmp(entry->d_name, "node_modules") != 0 &&
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below)
            know_folders(below, depth + 1);
    if (folder) closedir(folder);
}

static void become_foreign(pid_t pid, struct origin *origin) {
    if (!tested_since.tv_sec) {
        clock_gettime(CLOCK_REALTIME_COARSE, &tested_since);
        if (work_folder[0]) know_folders(work_folder, 0);
    }
    keep_contents();
    origin->kind = FOREIGN;
    origins[pid] = *origin;
    spoil_output(pid);
    begin_epoch();
}

static bool is_pending(const struct seccomp_notif *call) {
    return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0;
}

/* The path that an argument is, if it is one. */
static const char *path_of_argument(pid_t pid, const char *argument) {
    static char path[4096 + 64];
    char link[64];
    name_folder(pid, AT_FDCWD, link, sizeof link);
    ssize_t length = argument[0] == '/' ? 0 : readlink(link, path, 4095);
    while (length > 0 && after(argument, "./")) argument += 2;
    if (length < 0) length = 0;
    snprintf(path + length, sizeof path - (size_t)length, length > 1 ? "/%s" : "%s", argument);
    return path;
}

static bool is_own_program(const char *path) {
    for (int i = 0; i < own_count; i++) {
        bool is_folder = own_programs[i][strlen(own_programs[i]) - 1] == '/';
        if (is_folder ? after(path, own_programs[i]) != NULL : strcmp(path, own_programs[i]) == 0) return true;
    }
    return false;
}

static bool names_guarded(const char *code) {
    for (int i = 0; i < guarded_count; i++)
        if (strstr(code, strrchr(guarded[i].path, '/') + 1)) return true;
    return false;
}

/* Which argument decides what a program executes: a script, or text after an option such as -c. Later arguments may come from the tested code. */
enum { IS_OPTION, IS_CODE, IS_OWN_PROGRAM, IS_OTHER, IS_INPUT };

static bool is_shell(const char *name) {
    static const char *const names[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static int kind_of_option(const char *program, const char *option) {
    if (option[1] == 0) return IS_INPUT;
    if (option[1] == '-') return IS_OPTION;
    if (is_shell(program)) return strchr(option, 'c') ? IS_CODE : strchr(option, 's') ? IS_INPUT : IS_OPTION;
    if (strcmp(option, "-m") == 0) return IS_OTHER;
    return strchr("ce", option[strlen(option) - 1]) ? IS_CODE : IS_OPTION;
}

static int kind_of_argument(pid_t pid, const char *program, const char *argument, int before) {
    if (before != IS_CODE && argument[0] == '-') return kind_of_option(program, argument);
    const char *path = path_of_argument(pid, argument);
    const bool exists = access(path, F_OK) == 0;
    if (before == IS_CODE && !exists) return names_guarded(argument) ? IS_OWN_PROGRAM : IS_OTHER;
    if (is_own_program(path) && !is_late_file(path)) return IS_OWN_PROGRAM;
    return exists ? IS_OTHER : IS_OPTION; /* the value of an option */
}

/* Without what differs from run to run: numbers, and names of temporary folders. */
static uint64_t mix_argument(uint64_t chain, const char *argument) {
    for (; *argument; argument++) {
        const char *name = after(argument, "/tmp/");
        if (name) argument = name + strcspn(name, "/:,= \n") - 1;
        else if (*argument < '0' || *argument > '9') chain = mix(chain, argument, 1);
    }
    return mix(chain, "", 1);
}

/* What the arguments say that it executes. They become part of the chain. */
static int read_arguments(pid_t pid, uint64_t list, const char *program, uint64_t *chain) {
    static char argument[1 << 14];
    int kind = IS_OPTION;
    for (int i = 0; i < MAX_ARGUMENTS; i++) {
        uint64_t address = 0;
        if (read_caller(pid, list + (uint64_t)i * sizeof address, &address, sizeof address) != sizeof address || address == 0) break;
        if (!read_path(pid, address, argument, sizeof argument)) break;
        if (i > 0 && kind < IS_OWN_PROGRAM) kind = kind_of_argument(pid, program, argument, kind);
        *chain = mix_argument(*chain, argument);
    }
    return kind;
}

static bool is_python(const char *name) {
    const char *version = after(name, "python");
    return version && strspn(version, "0123456789.") == strlen(version);
}

/* Programs that execute their input if no argument names a script. */
static bool is_interpreter(const char *name) {
    static const char *const names[] = {
        "node", "deno", "bun", "perl", "ruby", "irb", "php", "lua", "luajit", "fish", "csh", "tcsh", "busybox", "pypy", "pypy3", "ipython", "ipython3", "R", "Rscript",
        "julia", "octave", "octave-cli", "gnuplot", "tclsh", "expect", "wish", "ghci", "ocaml", "guile", "racket", "sbcl", "clisp", "swipl", "erl", "iex", "elixir", "scala",
        "jshell", "groovysh", "pwsh", "gp", "gdb", "lldb", "ed", "ex", "vi", "vim", "make", "gmake", "sqlite3", "duckdb", "psql", "mysql", "mariadb", "m4",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return is_shell(name) || is_python(name);
}

/* A shell may execute its standard input. */
static bool has_foreign_input(pid_t pid, bool is_python) {
    static char target[4096];
    char link[32];
    snprintf(link, sizeof link, "/proc/%d/fd/0", pid);
    if (pipe_of(pid, 0) || !is_foreign_file(link)) return false;
    ssize_t length = readlink(link, target, sizeof target - 1);
    target[length > 0 ? length : 0] = 0;
    return !(is_python && is_data(target));
}

/* A shell reads its script as it goes: tested code may have changed what it has not read yet. */
static bool has_changed_script(pid_t pid) {
    static const int kept_by_shells[] = {255, 10, 11, 12};
    char link[32];
    struct stat name, found;
    for (size_t i = 0; i < sizeof kept_by_shells / sizeof *kept_by_shells; i++) {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, kept_by_shells[i]);
        if (lstat(link, &name) != 0 || name.st_mode & S_IWUSR) continue; /* open for writing */
        if (stat(link, &found) == 0 && S_ISREG(found.st_mode) && is_later(&found.st_ctim, &tested_since) && is_foreign_file(link)) return true;
    }
    return false;
}

static bool executes_changed_script(pid_t pid, const struct origin *origin) {
    return tested_since.tv_sec && (origin->is_shell || pid == guarding->pid) && has_changed_script(pid);
}

/* What is to be executed, and its arguments -> what the process will be. */
static void take_program(struct origin *origin, pid_t pid, const char *resolved, int kind) {
    const char *name = strrchr(resolved, '/') + 1;
    const bool is_foreign = is_foreign_file(resolved), is_late = is_foreign && is_late_file(resolved);
    const ino_t input = pipe_of(pid, 0);
    origin->is_python = is_python(name);
    origin->is_shell = is_shell(name);
    origin->is_interpreter = is_interpreter(name);
    origin->executes_input = origin->is_interpreter && (kind == IS_OPTION || kind == IS_INPUT);
    origin->pipe = 0;
    origin->relays = is_foreign_pipe(input);
    const bool is_named = kind == IS_OWN_PROGRAM && (!is_foreign || (origin->is_python && !is_late));
    const bool is_own = is_named || (is_own_program(resolved) && !is_late);
    const bool is_fed = origin->executes_input && origin->relays;
    origin->kind = is_own ? OWN : NEUTRAL;
    if (!is_own && (is_foreign || is_fed || has_foreign_input(pid, origin->is_python))) {
        become_foreign(pid, origin);
        return;
    }
    origins[pid] = *origin;
    if (origin->relays) spoil_output(pid);
}

static void look_at_start(const struct seccomp_notif *call, uint32_t shown) {
    static char path[4096], resolved[4096 + 64];
    const __u64 *args = call->data.args;
    const pid_t thread = (pid_t)call->pid, pid = process_of(thread);
    const int first = shown == EXEC_1 ? 1 : 0, folder = first ? (int)args[0] : AT_FDCWD;
    if (pid <= 1 || pid >= MAX_PID || pid == guarding->pid || !read_path(thread, args[first], path, sizeof path)) return;
    if (path[0]) resolve(thread, folder, path, resolved, sizeof resolved);
    else name_folder(thread, folder, resolved, sizeof resolved);
    if (access(resolved, X_OK) != 0) return; /* the search of PATH goes on */
    struct origin origin = origin_of(pid);
    if (!is_pending(call)) return;
    if (origin.kind != FOREIGN && executes_changed_script(pid, &origin)) become_foreign(pid, &origin);
    if (origin.kind == FOREIGN) { /* its arguments may be anything */
        origins[pid].chain = mix(origin.chain, "", 1);
        origins[pid].by_data = false;
        return;
    }
    const int kind = read_arguments(thread, args[first + 1], strrchr(resolved, '/') + 1, &origin.chain);
    take_program(&origin, pid, resolved, kind);
}

/* The caller's own descriptors by their names in /dev. */
static const char *below_dev(const char *path, char *into, size_t size) {
    static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    const char *number = after(path, "/dev/fd/");
    for (int i = 0; i < 3; i++)
        if (strcmp(path, names[i]) == 0) number = &"0\0001\0002"[2 * i];
    if (!number) return path;
    snprintf(into, size, "/proc/self/fd/%s", number);
    return into;
}

/* The path of an open or a move; of a move, from where it leads or where to. */
static bool read_place(const struct seccomp_notif *call, uint32_t shown, bool is_target, char *resolved, size_t size) {
    static char path[4096];
    const pid_t pid = (pid_t)call->pid;
    const bool has_folder = shown == OPEN_1 || shown == OPEN2_1 || shown == MOVE_1, moves = shown == MOVE_0 || shown == MOVE_1;
    const int at = (has_folder ? 1 : 0) + (moves && is_target ? (has_folder ? 2 : 1) : 0);
    if (!read_path(pid, call->data.args[at], path, sizeof path)) return false;
    char own[64];
    resolve(pid, has_folder ? (int)call->data.args[at - 1] : AT_FDCWD, below_dev(path, own, sizeof own), resolved, size);
    return true;
}

/* Of an open; of anything else those that replace a file. */
static uint64_t flags_of_call(const struct seccomp_notif *call, uint32_t shown) {
    uint64_t flags = 0;
    switch (shown) {
        case OPEN_0: return call->data.args[1];
        case OPEN_1: return call->data.args[2];
        case OPEN2_1: return read_caller((pid_t)call->pid, call->data.args[2], &flags, sizeof flags) == sizeof flags ? flags : 0;
        default: return O_WRONLY | O_CREAT | O_TRUNC;
    }
}

/* What a shell executes before anything else. */
static bool is_start_file(const char *name) {
    static const char *const names[] = {".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_logout", ".zshenv", ".zprofile", ".zshrc", ".kshrc", ".mkshrc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* By its name, a part of a program in Python. */
static bool is_code(const char *path) {
    const char *name = strrchr(path, '/'), *dot = name ? strrchr(name, '.') : NULL;
    return dot && (strcmp(dot, ".py") == 0 || strcmp(dot, ".pyc") == 0 || strcmp(dot, ".pth") == 0 || strstr(name, ".so"));
}

static const char *slash_before(const char *path, const char *slash) {
    do slash--;
    while (slash > path && *slash != '/');
    return slash;
}

/* json.py, json/__init__.py, __pycache__/json.cpython-311.pyc: all are the module `json`. Its name, and how long that is. */
static const char *module_of(const char *path, int *length) {
    const char *name = strrchr(path, '/');
    if (after(name, "/__init__.")) name = slash_before(path, name);
    if (after(name, "/__pycache__/")) name = slash_before(path, name);
    *length = (int)strcspn(name + 1, "./");
    return name + 1;
}

static bool has_module(const char *place, const char *name, int length) {
    bool is_found = false;
    DIR *modules = opendir(place);
    for (struct dirent *entry; modules && !is_found && (entry = readdir(modules));)
        is_found = strncmp(entry->d_name, name, (size_t)length) == 0 && (entry->d_name[length] == 0 || entry->d_name[length] == '.');
    if (modules) closedir(modules);
    return is_found;
}

/* /usr/bin/python3 -> /usr/lib/python3.11, and what is installed below it. */
static bool has_library(char *program, const char *name, int length) {
    static const char *const parts[] = {"", "/site-packages", "/dist-packages", "/lib-dynload"};
    char place[4096 + 64 + 300];
    bool is_found = false;
    char *end = strstr(program, "/bin/");
    if (!end) return false;
    strcpy(end, "/lib");
    DIR *libraries = opendir(program);
    for (struct dirent *entry; libraries && !is_found && (entry = readdir(libraries));)
        for (size_t i = 0; after(entry->d_name, "python") && i < sizeof parts / sizeof *parts && !is_found; i++) {
            snprintf(place, sizeof place, "%s/%s%s", program, entry->d_name, parts[i]);
            is_found = has_module(place, name, length);
        }
    if (libraries) closedir(libraries);
    return is_found;
}

/* Of the interpreter, and of the environment by whose link it was started. */
static bool is_name_of_library(pid_t thread, const char *name, int length) {
    static char program[4096 + 64], given[4096];
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/exe", thread);
    ssize_t got = readlink(path, program, 4095);
    program[got > 0 ? got : 0] = 0;
    if (has_library(program, name, length)) return true;
    snprintf(path, sizeof path, "/proc/%d/cmdline", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? -1 : read(fd, given, sizeof given - 1);
    if (fd >= 0) close(fd);
    given[got > 0 ? got : 0] = 0;
    snprintf(program, sizeof program, "%s", path_of_argument(thread, given));
    return has_library(program, name, length);
}

static bool is_of_system(const char *path) {
    return after(path, "/usr/") || after(path, "/lib") || after(path, "/etc/") || after(path, "/opt/");
}

/* What each program in Python loads. */
static bool is_for_all(const char *path) {
    const char *name = strrchr(path, '/'), *dot = strrchr(path, '.');
    return strstr(path, "-packages/") || (dot && strcmp(dot, ".pth") == 0) || (name && (after(name, "/usercustomize.") || after(name, "/sitecustomize.")));
}

/* A part of a program that tested code may have left for another one, in place of a library or of what a shell reads at its start. Other new
 * modules are the work's: it may build them. */
static bool is_late_code(pid_t thread, const char *path) {
    const char *name = strrchr(path, '/');
    int length;
    if (!tested_since.tv_sec || !name) return false;
    const bool is_start = is_start_file(name + 1) || strcmp(name, "/ld.so.preload") == 0;
    if (!(is_start || is_code(path) || is_for_all(path)) || !is_late_file(path)) return false;
    if (is_start || is_for_all(path) || is_of_system(path)) return true;
    const char *module = module_of(path, &length);
    return is_name_of_library(thread, module, length);
}

static bool is_pipe(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISFIFO(found.st_mode);
}

/* Whether what it opens may be executed by it, and is the tested code's. */
static bool is_foreign_load(const struct origin *origin, const char *path, bool is_late) {
    if (origin->kind == OWN) return is_late;
    if (origin->kind == FOREIGN) return origin->by_data && is_code(path);
    return !(origin->is_python && is_data(path)) && (origin->is_interpreter || is_late_name(path) || !is_pipe(path));
}

/* What is noted under a number, if that still is the process: for a moment too short for all numbers to be used up. UNKNOWN: also for other threads. */
static uint8_t noted_kind(pid_t thread) {
    struct origin *known = &origins[thread % MAX_PID];
    struct process process;
    struct timespec now;
    char name[12];
    if (!known->kind) return UNKNOWN;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const uint32_t moment = (uint32_t)(now.tv_sec * 16 + now.tv_nsec / 62500000) + 1;
    if (known->checked == moment) return known->kind;
    snprintf(name, sizeof name, "%d", thread);
    if (!read_process(name, &process) || process.start != known->start) return UNKNOWN;
    known->checked = moment;
    return known->kind;
}

/* A program, or a part of one, may be read from it. */
static void look_at_load(const struct seccomp_notif *call, uint32_t shown) {
    static char resolved[4096 + 64];
    const pid_t thread = (pid_t)call->pid;
    const uint8_t known = noted_kind(thread);
    if (known == FOREIGN && !origins[thread].by_data) return; /* without a look at each of its opens */
    if ((known == OWN && !tested_since.tv_sec) || !read_place(call, shown, false, resolved, sizeof resolved)) return;
    const bool is_late = is_late_code(thread, resolved), is_foreign = is_late || (known != OWN && is_foreign_file(resolved));
    struct stat found;
    if (!is_foreign && (known == OWN || stat(resolved, &found) != 0 || !S_ISFIFO(found.st_mode))) return;
    const pid_t pid = process_of(thread);
    if (pid <= 1 || pid >= MAX_PID || pid == guarding->pid) return;
    struct origin origin = origin_of(pid);
    if (!is_foreign) origins[pid].pipe = found.st_ino;
    if (!is_foreign || !is_pending(call)) return;
    if (!is_foreign_load(&origin, resolved, is_late)) {
        if (origin.kind != NEUTRAL || !is_pipe(resolved)) return;
        origins[pid].relays = true;
        spoil_output(pid);
        return;
    }
    int length;
    const char *module = module_of(resolved, &length);
    if (is_late) origin.chain = mix(origin.chain, module, (size_t)length);
    origin.by_data = origin.is_python && !is_code(resolved);
    if (origin.is_python && !origin.by_data) origin.chain = mix(origin.chain, "", 1);
    if (origin.kind == FOREIGN) origins[pid] = origin;
    else become_foreign(pid, &origin);
}

/* What must not write after the command that guards: what does not descend from it, and what is FOREIGN, but never the writer or what waits for it. */
static bool is_to_die(int count, pid_t pid, pid_t own, pid_t writer) {
    if (pid == 1 || descends_from(count, writer, pid)) return false;
    return !descends_from(count, pid, own) || origin_of(pid).kind == FOREIGN;
}

/* How many of these live. One that is gone when it is looked at may have a child that was not listed. */
static int kill_others(pid_t own, pid_t writer, bool kills) {
    int count = list_processes(), living = processes_missed;
    for (int i = 0; i < count; i++) {
        if (processes[i].zombie || !is_to_die(count, processes[i].pid, own, writer)) continue;
        if (kills) kill(processes[i].pid, SIGKILL);
        living++;
    }
    return living;
}

/* Everything is stopped, so that none escapes by a fork. */
static void end_others(pid_t own, pid_t writer) {
    const struct timespec pause = {0, 200000};
    if (kill_others(own, writer, false) == 0) return;
    kill(-1, SIGSTOP);
    /* until its time is over: what is started then is no orphan of it */
    while (guarding->pid == own && kill_others(own, writer, true) > 0) nanosleep(&pause, NULL);
    kill(-1, SIGCONT);
}

/* By the folder itself and the name in it: the caller may be in that folder, or come by a link. */
static struct guarded *find_guarded(char *path) {
    char *slash = strrchr(path, '/');
    struct stat folder, own;
    struct guarded *found = NULL;
    if (!slash || slash == path) return NULL;
    for (int i = 0; i < guarded_count && !found; i++) {
        char *name = strrchr(guarded[i].path, '/');
        if (strcmp(name + 1, slash + 1) != 0) continue;
        *name = *slash = 0;
        if (stat(path, &folder) == 0 && stat(guarded[i].path, &own) == 0 && folder.st_dev == own.st_dev && folder.st_ino == own.st_ino) found = &guarded[i];
        *name = *slash = '/';
    }
    return found;
}

static void remember_writer(struct guarded *file, pid_t pid, uint64_t chain) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, file->writer, MAX_WRITER - 1);
    if (fd >= 0) close(fd);
    file->writer[got > 0 ? got : 0] = 0;
    for (ssize_t i = 0; i + 1 < got; i++)
        if (file->writer[i] == 0) file->writer[i] = ' ';
    file->chain = chain | 1;
}

/* A file beside a guarded one that will be moved onto it (reward.json.new). */
static bool is_draft(const char *path) {
    const char *name = strrchr(path, '/');
    static char other[4096 + 64];
    for (int i = 0; name && i < guarded_count; i++) {
        const char *own = strrchr(guarded[i].path, '/') + 1;
        if (!strstr(name + 1, own) || strcmp(name + 1, own) == 0) continue;
        snprintf(other, sizeof other, "%.*s/%s", (int)(name - path), path, own);
        if (find_guarded(other)) return true;
    }
    return false;
}

/* Of a move, what is moved must have been written by its mover's like: tested code may have been there first. */
static bool moves_own_file(const struct seccomp_notif *call, uint32_t shown) {
    static char source[4096 + 64];
    struct stat moved; /* a folder is not moved onto a file: what is there stays */
    if (!read_place(call, shown, false, source, sizeof source) || lstat(source, &moved) != 0) return false;
    return S_ISREG(moved.st_mode) && moved.st_nlink == 1 && is_own_file(digest_of_file(source), &moved);
}

/* Whether what is there stays: of an open that adds to it, or that fails because it is there. */
static bool keeps_what_is_there(const struct seccomp_notif *call, uint32_t shown, const struct guarded *file) {
    struct stat found;
    const uint64_t flags = flags_of_call(call, shown);
    if (lstat(file->path, &found) != 0) return false;
    if (shown == MOVE_1 && call->data.nr == SYS_renameat2 && call->data.args[4] & RENAME_NOREPLACE) return true;
    if (shown == MOVE_0 || shown == MOVE_1) return S_ISDIR(found.st_mode);
    if ((flags & O_CREAT && flags & O_EXCL) || !S_ISREG(found.st_mode)) return true;
    return !(flags & O_TRUNC) && found.st_size > 0 && whose_content(file) != WRITTEN_BY_OWN;
}

static bool descends_from_foreign(pid_t pid, pid_t own) {
    struct process process;
    char name[12];
    for (int depth = 0; pid > 1 && pid != own && depth < 4096; depth++) {
        snprintf(name, sizeof name, "%d", pid);
        if (!read_process(name, &process)) return true;
        pid = process.parent;
        if (pid > 1 && pid != own && origin_of(pid).kind == FOREIGN) return true;
    }
    return pid != own;
}

static void note_own_write(const char *path, const struct origin *origin) {
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode)) return;
    uint64_t digest = digest_of_file(path);
    if (origin->relays || lives_foreign()) forget_own_file(digest);
    else if (digest) remember_own_file(digest);
}

static void note_guarded_write(struct guarded *file, bool is_own, pid_t pid, uint64_t chain) {
    file->state = is_own ? LAST : NOT_SEEN;
    if (is_own) file->chain = 0;
    else remember_writer(file, pid, chain);
}

static void look_at_write(const struct seccomp_notif *call, uint32_t shown) {
    static char resolved[4096 + 64];
    const pid_t own = guarding->pid, pid = process_of((pid_t)call->pid);
    if (pid <= 1 || !read_place(call, shown, true, resolved, sizeof resolved)) return;
    struct origin origin = pid == own ? (struct origin){.kind = OWN} : origin_of(pid);
    struct guarded *file = find_guarded(resolved);
    const bool is_guarded = file || is_draft(resolved);
    if (is_guarded && origin.kind != FOREIGN && executes_changed_script(pid, &origin)) origin.kind = FOREIGN;
    const bool is_ours = origin.kind != FOREIGN && (!file || descends_from(list_processes(), pid, own));
    if (!is_pending(call)) return;
    if (is_ours && is_guarded) {
        end_others(own, pid);
        if (!is_pending(call)) return; /* they ended it first */
        file = find_guarded(resolved); /* they may have moved the folder meanwhile */
    }
    const bool moves = shown == MOVE_0 || shown == MOVE_1, is_own = is_ours && (!moves || moves_own_file(call, shown));
    if (is_own) note_own_write(resolved, &origin);
    else forget_own_file(digest_of_file(resolved));
    if (!file) return;
    if (!is_ours) remember_writer(file, pid, origin.chain);
    else if (!keeps_what_is_there(call, shown, file)) note_guarded_write(file, is_own && !descends_from_foreign(pid, own), pid, origin.chain);
}

/* Before the call is made; it waits for the answer. */
static void guard(const struct seccomp_notif *call, uint32_t shown) {
    const pid_t own = guarding->pid;
    if (shown == EXEC_0 || shown == EXEC_1) {
        if (own != 0) look_at_start(call, shown);
        forget_memory();
    } else if (own == 0) {
        return;
    } else if (shown != EXIT) {
        const uint32_t wanted = wanted_by(flags_of_call(call, shown));
        if (wanted & READS) look_at_load(call, shown);
        if (wanted & WRITES) look_at_write(call, shown);
    } else if (is_thread_of((pid_t)call->pid, own)) {
        guarding->status = (int32_t)call->data.args[0];
        guarding->is_leaving = true;
        kill(-1, SIGKILL); /* itself, too: nothing sees its end and writes afterwards */
    }
}

static uint32_t answer_to(const struct seccomp_notif *call) {
    struct attempt attempt = {.number = (uint32_t)call->data.nr, .pid = call->pid};
    for (int i = 0; i < watched_count; i++) {
        const struct watched *row = &watched[i];
        if (row->number != attempt.number) continue;
        attempt.error = row->answer;
        if (guarding) {
            guard(call, row->shown);
            return row->answer;
        }
        bool worth = call->pid != 1 && is_worth_reporting(call, row, &attempt); /* 1: init's own first thread */
        if (row->shown == EXEC_0 || row->shown == EXEC_1) forget_memory();
        if (worth) read_name((pid_t)call->pid, attempt.name);
        /* Otherwise the process is gone, and what was read may be another's with its number. */
        if (worth && ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0) {
            watched_seen[i]++;
            report(&attempt);
        }
        return row->answer;
    }
    return EPERM;
}

/* A thread of its own: the loop may wait for the controller, or for a child that is about to execute. */
static void *watch(void *unused) {
    static union { struct seccomp_notif call; char room[512]; } in;
    static union { struct seccomp_notif_resp answer; char room[512]; } out;
    processes = process_lists[1];
    while (sem_wait(&listener_is_known) != 0) continue;
    for (;;) {
        memset(&in, 0, sizeof in);
        if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &in.call) != 0) {
            if (errno == EINTR || errno == ENOENT) continue; /* the caller was killed meanwhile */
            return unused;
        }
        uint32_t error = answer_to(&in.call);
        memset(&out, 0, sizeof out);
        out.answer.id = in.call.id;
        out.answer.error = -(int32_t)error;
        out.answer.flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &out.answer);
    }
}

static int load_filter(unsigned flags, const char *program, uint32_t size) {
    static struct sock_filter steps[1024];
    if (size == 0 || size % sizeof *steps || size > sizeof steps) {
        errno = EINVAL;
        return -1;
    }
    memcpy(steps, program, size);
    struct sock_fprog loaded = {(unsigned short)(size / sizeof *steps), steps};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &loaded);
}

static bool has_room_for_notifications(void) {
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return false;
    errno = EMSGSIZE;
    return sizes.seccomp_notif <= 512 && sizes.seccomp_notif_resp <= 512;
}

static int start_watcher(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WATCHER_STACK);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&thread, &attributes, watch, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

/* The filter is of this thread and of what it starts later. The watcher is started before: it opens files itself, and a call of its
 * own would wait for its own answer. */
static int watch_calls(const char *program, uint32_t size) {
    int ends[2];
    if (!is_process_1) return EOPNOTSUPP; /* elsewhere a command could kill who answers its calls */
    if (!has_room_for_notifications()) return errno;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
    attempts_in = ends[0];
    attempts_out = ends[1];
    int error = sem_init(&listener_is_known, 0, 0) == 0 ? start_watcher() : errno;
    if (error) return error;
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    listener_fd = load_filter(flags | (1U << 5), program, size); /* WAIT_KILLABLE_RECV: signals interrupt no call */
    if (listener_fd < 0) listener_fd = load_filter(flags, program, size); /* before Linux 5.19 */
    error = listener_fd < 0 ? errno : 0;
    /* SET_FLAGS, SYNC_WAKE_UP: the watcher runs where the caller ran, which halves the cost of a call; since Linux 6.6 */
    if (!error) ioctl(listener_fd, _IOW('!', 4, __u64), 1UL);
    sem_post(&listener_is_known); /* without a listener the thread ends */
    return error;
}

/* "u32 rows, rows, u32 size, a filter, more": the rows are taken over. False: malformed. */
struct table {
    const char *program, *rest;
    uint32_t size, rest_size;
};

static bool take_table(const char *payload, uint32_t length, struct table *table) {
    uint32_t rows = 0, at = 4;
    if (length < 8) return false;
    memcpy(&rows, payload, 4);
    if (rows > MAX_WATCHED || length - 8 < rows * sizeof *watched) return false;
    memcpy(watched, payload + at, rows * sizeof *watched);
    watched_count = (int)rows;
    at += rows * sizeof *watched;
    memcpy(&table->size, payload + at, 4);
    at += 4;
    if (table->size > length - at) return false;
    table->program = payload + at;
    table->rest = table->program + table->size;
    table->rest_size = length - at - table->size;
    return true;
}

/* The rest is the filter without a listener: if the first cannot be had, the second refuses what the first would have shown. Both
 * errors are reported; without either filter nothing may be started here. */
static void start_watching(uint32_t id, const char *payload, uint32_t length) {
    int32_t errors[2] = {EINVAL, EINVAL};
    struct table table;
    if (listener_fd < 0 && job_count == 0 && take_table(payload, length, &table)) {
        errors[0] = watch_calls(table.program, table.size);
        errors[1] = 0;
        if (errors[0] != 0) {
            shut(&listener_fd);
            if (load_filter(0, table.rest, table.rest_size) != 0) errors[1] = errno;
        }
    }
    tell('W', id, errors, sizeof errors);
}

/* The rest is paths, each with a 0 at its end: of the files, an empty one, and of programs that may write them; a folder ends with '/'. */
static bool take_guarded(const char *at, const char *end) {
    bool is_program = false;
    for (guarded_count = own_count = 0; at < end; at += strlen(at) + 1) {
        const size_t size = strlen(at) + 1;
        if (size == 1 && !is_program) {
            is_program = true;
            continue;
        }
        if ((is_program ? own_count == MAX_OWN : guarded_count == MAX_GUARDED) || at[0] != '/' || size > sizeof *own_programs) return false;
        if (is_program) memcpy(own_programs[own_count++], at, size);
        else memcpy(guarded[guarded_count++].path, at, size);
    }
    return guarded_count > 0;
}

static int guard_files(const char *payload, uint32_t length) {
    struct table table;
    struct stat found;
    if (guarding || listener_fd >= 0 || job_count > 0) return EBUSY;
    if (!take_table(payload, length, &table) || !take_guarded(table.rest, table.rest + table.rest_size)) return EINVAL;
    if (stat("/proc", &found) == 0) proc_device = found.st_dev;
    /* shared: no part of it counts towards the limit of private memory that init gives what it runs */
    void *shared = mmap(NULL, sizeof *guarding, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    void *table_of_all = mmap(NULL, MAX_PID * sizeof *origins, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (shared == MAP_FAILED || table_of_all == MAP_FAILED) return errno;
    guarding = shared;
    origins = table_of_all;
    int error = watch_calls(table.program, table.size);
    if (error) guarding = NULL;
    return error;
}

/* Without a listener the files are not guarded, and everything is as it would be without the question. */
static void start_guarding(uint32_t id, const char *payload, uint32_t length) {
    int32_t error = guard_files(payload, length);
    tell('g', id, &error, sizeof error);
}

static void tell_writers(uint32_t id) {
    struct { int32_t state; uint64_t chain; char writer[MAX_WRITER]; } __attribute__((packed)) rows[MAX_GUARDED];
    memset(rows, 0, sizeof rows);
    for (int i = 0; guarding && i < guarded_count; i++) {
        rows[i].state = whose_content(&guarded[i]);
        rows[i].chain = guarded[i].chain;
        memcpy(rows[i].writer, guarded[i].writer, MAX_WRITER);
    }
    tell('w', id, rows, guarding ? (uint32_t)(guarded_count * (int)sizeof *rows) : 0);
}

static void tell_attempts(void) {
    struct attempt attempt;
    while (attempts_in >= 0 && read(attempts_in, &attempt, sizeof attempt) == (ssize_t)sizeof attempt) {
        bool unread = attempt.length > ATTEMPT_DETAIL;
        tell('N', 0, &attempt, (uint32_t)offsetof(struct attempt, detail) + (unread ? 0 : attempt.length));
    }
}

static void tell_counts(uint32_t id) {
    tell_attempts();
    tell('n', id, watched_seen, (uint32_t)(watched_count * (int)sizeof *watched_seen));
}

/* ---- the loop ---- */

static void signal_job(struct job *job, const char *payload, uint32_t length) {
    int32_t signal_number;
    if (length != 4) return;
    memcpy(&signal_number, payload, 4);
    if (kill(-job->pid, signal_number) != 0) kill(job->pid, signal_number); /* it has no session yet */
}

static void obey(void) {
    char header[HEADER];
    uint32_t length, id;
    read_fully(header, HEADER);
    first_word_by_ms = 0;
    memcpy(&length, header, 4);
    memcpy(&id, header + 5, 4);
    if (length > MAX_FRAME) leave(); /* out of step: nothing after this can be trusted */
    read_fully(frame_in, length);
    frame_in[length] = 0;
    struct job *job = find_job(id);
    switch (header[4]) {
        case 'E': start(id, frame_in, length); break;
        case 'I': if (job) take_input(job, frame_in, length); break; /* no job: it has just ended */
        case 'S': if (job) signal_job(job, frame_in, length); break;
        case 'T': end_tree(id, job); break;
        case 'K': kill_everything(id); break;
        case 'P': tell('P', id, frame_in, length); break;
        case 'M': tell_memory(id); break;
        case 'W': start_watching(id, frame_in, length); break;
        case 'n': tell_counts(id); break;
        case 'g': start_guarding(id, frame_in, length); break;
        case 'w': tell_writers(id); break;
        case 'h': hold_deadlines(length == 1 && frame_in[0]); break;
        case 'l': open_listener(id, frame_in, length); break;
        case 'u': shut_listeners(id); break;
        case 'b': case 'a': case 'e': case 'r': obey_about_stream(header[4], id, frame_in, length); break;
        default: refuse(header[4], id, "unknown frame");
    }
}

static void drain_sinks(const struct pollfd *polled) {
    for (int i = sink_count - 1; i >= 0; i--) {
        if (!polled[i].revents) continue;
        ssize_t got = read(sinks[i], chunk, CHUNK);
        if (got > 0 || (got < 0 && errno == EAGAIN)) continue;
        close(sinks[i]);
        sinks[i] = sinks[--sink_count];
    }
}

static _Noreturn void serve(void) {
    static struct pollfd polled[3 + 3 * MAX_JOBS + MAX_SINKS + MAX_LISTENERS + MAX_STREAMS];
    for (;;) {
        int count = 3, jobs_polled = job_count;
        polled[0] = (struct pollfd){control_in, POLLIN, 0};
        polled[1] = (struct pollfd){child_signals, POLLIN, 0};
        polled[2] = (struct pollfd){attempts_in, POLLIN, 0};
        for (int i = 0; i < job_count; i++) {
            bool writing = jobs[i].waiting > 0 || jobs[i].input_ends;
            polled[count++] = (struct pollfd){jobs[i].output[0], POLLIN, 0};
            polled[count++] = (struct pollfd){jobs[i].output[1], POLLIN, 0};
            polled[count++] = (struct pollfd){writing ? jobs[i].input : -1, POLLOUT, 0};
        }
        for (int i = 0; i < sink_count; i++) polled[count + i] = (struct pollfd){sinks[i], POLLIN, 0};
        int sinks_end = count + sink_count, of_listeners = poll_listeners(&polled[sinks_end]);
        if (poll(polled, (nfds_t)(sinks_end + of_listeners), until_deadline_ms()) < 0) continue;
        if (first_word_by_ms && !polled[0].revents && now_ms() >= first_word_by_ms) leave();
        if (end_expired()) continue; /* the jobs have moved about */
        tell_attempts(); /* before what their commands printed afterwards, and before their ends */
        for (int i = 0; i < jobs_polled; i++) {
            const struct pollfd *of_job = &polled[3 + 3 * i];
            if (of_job[0].revents) pass_on_output(&jobs[i], 0);
            if (of_job[1].revents) pass_on_output(&jobs[i], 1);
            if (of_job[2].revents) pass_on_input(&jobs[i]);
        }
        serve_listeners(&polled[sinks_end], of_listeners);
        drain_sinks(&polled[count]);
        if (polled[1].revents) {
            struct signalfd_siginfo ignored;
            while (read(child_signals, &ignored, sizeof ignored) > 0) continue;
            reap(WNOHANG);
        }
        if (polled[0].revents) obey();
    }
}

/* ---- becoming init ---- */

/* "name=value" arguments: "patience=" ms until the first frame must have come, and limits, a value for
 * both the soft and the hard one. */
static void set_limit(const char *argument) {
    if (strncmp(argument, "patience=", 9) == 0) {
        first_word_by_ms = now_ms() + strtoll(argument + 9, NULL, 10);
        return;
    }
    static const struct { const char *name; int resource; } known[] = {
        {"nproc=", RLIMIT_NPROC}, {"data=", RLIMIT_DATA},     {"fsize=", RLIMIT_FSIZE},
        {"core=", RLIMIT_CORE},   {"nofile=", RLIMIT_NOFILE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].name);
        if (strncmp(argument, known[i].name, length) != 0) continue;
        struct rlimit limit, old;
        limit.rlim_cur = limit.rlim_max = strtoull(argument + length, NULL, 10);
        if (getrlimit(known[i].resource, &old) == 0 && limit.rlim_max > old.rlim_max) limit = (struct rlimit){old.rlim_max, old.rlim_max};
        if (setrlimit(known[i].resource, &limit) == 0) return;
    }
    _exit(64); /* a limit that was asked for and is not there is no limit */
}

static void take_stdio(void) {
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0) _exit(65);
    control_in = fcntl(0, F_DUPFD_CLOEXEC, 64);
    control_out = fcntl(1, F_DUPFD_CLOEXEC, 64);
    if (control_in < 0 || control_out < 0) _exit(65); /* fewer files may be open than that */
    for (int fd = 0; fd < 3; fd++) dup2(nowhere, fd);
    /* or a controller that does not read would hold up the end of a job */
    fcntl(control_in, F_SETFL, fcntl(control_in, F_GETFL) | O_NONBLOCK);
    fcntl(control_out, F_SETFL, fcntl(control_out, F_GETFL) | O_NONBLOCK);
    /* whatever else was inherited is not ours to pass on */
    for (int fd = 3; fd < control_in; fd++) close(fd);
    syscall(SYS_close_range, (unsigned)control_out + 1, ~0U, 0);
}

static void watch_children(void) {
    sigset_t child;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* inherited SIG_IGN would lose every exit code */
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    child_signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* "probe" alone: the exit code is the error with which this machine refuses a listener, or 0. */
static _Noreturn void probe(void) {
    const struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!has_room_for_notifications()) _exit(errno);
    _exit(load_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, (const char *)&allow, sizeof allow) < 0 ? errno : 0);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "probe") == 0) probe();
    is_process_1 = getpid() == 1;
    clock_gettime(CLOCK_REALTIME_COARSE, &began);
    prctl(PR_SET_DUMPABLE, 0);
    if (!is_process_1) prctl(PR_SET_CHILD_SUBREAPER, 1);
    take_stdio();
    watch_children();
    umask(022);
    for (int i = 1; i < argc; i++) set_limit(argv[i]);
    uint32_t hello[2] = {PROTOCOL, (uint32_t)getpid()};
    tell('H', 0, hello, sizeof hello);
    serve();
}
