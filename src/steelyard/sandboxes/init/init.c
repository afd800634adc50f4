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
 *
 * One program of one translation unit: the other .c files of this folder are included where they are used.
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

#include "listeners.c"

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

#include "watched_calls.c"
#include "guarded_files.c"
#include "watcher.c"

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
