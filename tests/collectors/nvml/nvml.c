/* A driver library without a driver: the NVML calls the collector makes, answered from a script (see script.py).
 *
 * Built as libnvidia-ml.so.1's stand-in and loaded by the real bindings. Layouts are those of NVIDIA's nvml.h.
 * The script is the file named by AUDIT_NVML_SCRIPT and is read again whenever it changes. Times are seconds since
 * `start` (epoch); with `clock manual` the time is what the file "<script>.t" says, so tests need not wait.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7 };
enum { MAX_GPUS = 16, MAX_POINTS = 64, MAX_PROCESSES = 512, MAX_INSTANCES = 8, MAX_FAULTS = 256, DEVICES = MAX_GPUS * 16 };
enum { UTIL, MEMORY_UTIL, USED, POWER, CLOCK, TEMPERATURE, REASONS, ECC_BAD, ECC_GOOD, NVLINK_RX, NVLINK_TX, CURVES };
static const char *const curve_names[CURVES] = {"util", "memory_util", "used", "power", "clock", "temperature", "reasons",
                                                "ecc_uncorrected", "ecc_corrected", "nvlink_rx", "nvlink_tx"};

typedef struct { int n; double t[MAX_POINTS], v[MAX_POINTS]; } curve;
typedef struct { char uuid[96]; unsigned gi, ci, slices, memory_slices; unsigned long long total; curve used; } instance;
typedef struct { unsigned pid, gi, ci; unsigned long long bytes; double from, to; int graphics; } process;
typedef struct {
    char uuid[96];
    unsigned minor;
    unsigned long long total, reserved;
    curve curves[CURVES];
    int mig, instances, processes;
    instance instance[MAX_INSTANCES];
    process process[MAX_PROCESSES];
} gpu;
typedef struct { char call[64]; int gpu, code; double from, to, hang_s; } fault;
/* A handle is a pointer to one of these: the card itself (mig < 0) or one of its MIG devices. */
typedef struct { int gpu, mig; } device;

static gpu gpus[MAX_GPUS];
static fault faults[MAX_FAULTS];
static device devices[DEVICES];
static int gpu_count, fault_count, initialised, manual, buffer = 120;
static double start_s, period_s = 0.1;
static char driver[80] = "550.54.15", path[4096];
static struct timespec read_at;

static double wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double elapsed(void) {
    char name[4104], text[64] = "";
    if (!manual) return wall() - start_s;
    snprintf(name, sizeof name, "%s.t", path);
    FILE *file = fopen(name, "r");
    if (file) {
        if (!fgets(text, sizeof text, file)) text[0] = 0;
        fclose(file);
    }
    return atof(text);
}

static void points(curve *to, char *text) {
    to->n = 0;
    for (char *word = strtok(text, " "); word && to->n < MAX_POINTS; word = strtok(NULL, " "))
        if (sscanf(word, "%lf:%lf", &to->t[to->n], &to->v[to->n]) == 2) to->n++;
}

/* The curve's value: linear between its points, constant before the first and after the last; no point: 0. */
static double value(const curve *c, double t) {
    if (!c->n) return 0;
    if (t < c->t[0]) return c->v[0];
    for (int i = 1; i < c->n; i++)
        if (t < c->t[i]) return c->v[i - 1] + (c->v[i] - c->v[i - 1]) * (t - c->t[i - 1]) / (c->t[i] - c->t[i - 1]);
    return c->v[c->n - 1];
}

static double area(const curve *c, double from, double to) {
    double sum = 0, at = from;
    for (int i = 0; i < c->n && at < to; i++) {
        if (c->t[i] <= at) continue;
        double end = c->t[i] < to ? c->t[i] : to;
        /* Just inside both ends, so that a jump (two points at one time) belongs to neither side. */
        sum += (end - at) * value(c, (at + end) / 2);
        at = end;
    }
    return sum + (to - at) * value(c, to);
}

static void gpu_line(gpu *g, char *text) {
    char key[32], word[96];
    int used = 0, number, n = 0;
    double from = -1e18, to = 1e18;
    if (sscanf(text, "%31s %n", key, &used) != 1) return;
    char *rest = text + used;
    for (int i = 0; i < CURVES; i++)
        if (!strcmp(key, curve_names[i])) points(&g->curves[i], rest);
    if (!strcmp(key, "uuid")) sscanf(rest, "%95s", g->uuid);
    if (!strcmp(key, "minor")) sscanf(rest, "%u", &g->minor);
    if (!strcmp(key, "memory")) sscanf(rest, "%llu %llu", &g->total, &g->reserved);
    if (!strcmp(key, "mig")) sscanf(rest, "%d", &g->mig);
    if (!strcmp(key, "instance") && g->instances < MAX_INSTANCES) {
        instance *i = &g->instance[g->instances];
        if (sscanf(rest, "%95s %u %u %u %u %llu", i->uuid, &i->gi, &i->ci, &i->slices, &i->memory_slices, &i->total) == 6)
            g->instances++;
    }
    if (!strcmp(key, "instance_used") && sscanf(rest, "%d %n", &number, &n) == 1 && number < g->instances)
        points(&g->instance[number].used, rest + n);
    if ((!strcmp(key, "process") || !strcmp(key, "graphics")) && g->processes < MAX_PROCESSES) {
        process p = {.gi = 0xFFFFFFFFu, .ci = 0xFFFFFFFFu, .graphics = key[0] == 'g'};
        if (sscanf(rest, "%u %95s %lf %lf %u %u", &p.pid, word, &from, &to, &p.gi, &p.ci) >= 2) {
            p.bytes = strcmp(word, "unknown") ? strtoull(word, NULL, 10) : ~0ull;
            p.from = from;
            p.to = to;
            g->process[g->processes++] = p;
        }
    }
}

static void fault_line(char *text, int hang) {
    fault f = {.from = -1e18, .to = 1e18};
    char which[16];
    double amount;
    if (fault_count == MAX_FAULTS || sscanf(text, "%63s %15s %lf %lf %lf", f.call, which, &amount, &f.from, &f.to) < 3) return;
    f.gpu = which[0] == '*' ? -1 : atoi(which);
    if (hang) f.hang_s = amount; else f.code = (int)amount;
    faults[fault_count++] = f;
}

static void read_script(void) {
    const char *name = getenv("AUDIT_NVML_SCRIPT");
    struct stat info;
    static char line[65536];
    int number, n;
    if (!name || stat(name, &info)) return;
    if (info.st_mtim.tv_sec == read_at.tv_sec && info.st_mtim.tv_nsec == read_at.tv_nsec) return;
    FILE *file = fopen(name, "r");
    if (!file) return;
    read_at = info.st_mtim;
    snprintf(path, sizeof path, "%s", name);
    memset(gpus, 0, sizeof gpus);
    gpu_count = fault_count = manual = 0;
    if (!start_s) start_s = wall();
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n#")] = 0;
        sscanf(line, "driver %79s", driver);
        sscanf(line, "start %lf", &start_s);
        sscanf(line, "period %lf", &period_s);
        sscanf(line, "buffer %d", &buffer);
        if (!strncmp(line, "clock manual", 12)) manual = 1;
        if (!strncmp(line, "fail ", 5)) fault_line(line + 5, 0);
        if (!strncmp(line, "hang ", 5)) fault_line(line + 5, 1);
        if (sscanf(line, "gpu %d %n", &number, &n) == 1 && number >= 0 && number < MAX_GPUS) {
            if (number >= gpu_count) gpu_count = number + 1;
            gpu_line(&gpus[number], line + n);
        }
    }
    fclose(file);
}

/* What the script makes this call return for this card now; it may first keep the caller waiting. */
static int failing(const char *call, int card) {
    read_script();
    double t = fault_count ? elapsed() : 0;
    for (int i = 0; i < fault_count; i++) {
        fault *f = &faults[i];
        if (t < f->from || t >= f->to || (f->gpu >= 0 && f->gpu != card)) continue;
        if (strcmp(f->call, "*") && strcmp(f->call, call)) continue;
        if (!f->hang_s) return f->code;
        struct timespec pause = {(time_t)f->hang_s, (long)((f->hang_s - (time_t)f->hang_s) * 1e9)};
        nanosleep(&pause, NULL);
    }
    if (strncmp(call, "nvmlInit", 8) && !initialised) return UNINITIALIZED;
    return OK;
}

#define ENTER(d) do { int code_ = failing(__func__, (d)->gpu); if (code_) return code_; } while (0)
#define CARD(d) (&gpus[(d)->gpu])
static unsigned now_value(const device *d, int which) { return (unsigned)(value(&CARD(d)->curves[which], elapsed()) + 0.5); }

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    int code = failing(__func__, -1);
    if (!code) initialised++;
    return code;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) {
    if (!initialised) return UNINITIALIZED;
    initialised--;
    return OK;
}
const char *nvmlErrorString(int code) { (void)code; return "scripted error"; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    int code = failing(__func__, -1);
    if (!code) snprintf(text, size, "%s", driver);
    return code;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    int code = failing(__func__, -1);
    *count = (unsigned)gpu_count;
    return code;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **out) {
    int code = failing(__func__, (int)index);
    if (code) return code;
    if (index >= (unsigned)gpu_count) return INVALID;
    devices[index * 16] = (device){(int)index, -1};
    *out = &devices[index * 16];
    return OK;
}
int nvmlDeviceGetMigDeviceHandleByIndex(device *d, unsigned index, device **out) {
    ENTER(d);
    if (!CARD(d)->mig || index >= (unsigned)CARD(d)->instances) return NOT_FOUND;
    device *made = &devices[d->gpu * 16 + 1 + (int)index];
    *made = (device){d->gpu, (int)index};
    *out = made;
    return OK;
}
int nvmlDeviceGetUUID(device *d, char *text, unsigned size) {
    ENTER(d);
    snprintf(text, size, "%s", d->mig < 0 ? CARD(d)->uuid : CARD(d)->instance[d->mig].uuid);
    return OK;
}
int nvmlDeviceGetMinorNumber(device *d, unsigned *minor) { ENTER(d); *minor = CARD(d)->minor; return OK; }
int nvmlDeviceGetMigMode(device *d, unsigned *current, unsigned *pending) {
    ENTER(d);
    if (CARD(d)->mig < 0) return NOT_SUPPORTED;
    *current = *pending = (unsigned)CARD(d)->mig;
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(device *d, unsigned *count) { ENTER(d); *count = CARD(d)->mig > 0 ? 7 : 0; return OK; }
int nvmlDeviceGetGpuInstanceId(device *d, unsigned *id) {
    ENTER(d);
    if (d->mig < 0) return NOT_SUPPORTED;
    *id = CARD(d)->instance[d->mig].gi;
    return OK;
}
int nvmlDeviceGetComputeInstanceId(device *d, unsigned *id) {
    ENTER(d);
    if (d->mig < 0) return NOT_SUPPORTED;
    *id = CARD(d)->instance[d->mig].ci;
    return OK;
}
typedef struct { unsigned sms, copies, decoders, encoders, jpegs, ofas, gpu_slices, compute_slices; unsigned long long memory_mb; } attributes;
int nvmlDeviceGetAttributes_v2(device *d, attributes *out) {
    ENTER(d);
    if (d->mig < 0) return NOT_SUPPORTED;
    instance *i = &CARD(d)->instance[d->mig];
    *out = (attributes){.gpu_slices = i->slices, .compute_slices = i->slices, .memory_mb = i->total >> 20};
    return OK;
}
static void memory(const device *d, unsigned long long *total, unsigned long long *reserved, unsigned long long *used) {
    instance *i = d->mig < 0 ? NULL : &CARD(d)->instance[d->mig];
    *total = i ? i->total : CARD(d)->total;
    *reserved = i ? 0 : CARD(d)->reserved;
    *used = (unsigned long long)value(i ? &i->used : &CARD(d)->curves[USED], elapsed());
}
typedef struct { unsigned long long total, free, used; } memory_v1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
int nvmlDeviceGetMemoryInfo(device *d, memory_v1 *out) {
    unsigned long long reserved;
    ENTER(d);
    memory(d, &out->total, &reserved, &out->used);
    out->used += reserved; /* as drivers do that know no better */
    out->free = out->total - out->used;
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(device *d, memory_v2 *out) {
    ENTER(d);
    if (out->version != (sizeof *out | 2u << 24)) return 25;
    memory(d, &out->total, &out->reserved, &out->used);
    out->free = out->total - out->used - out->reserved;
    return OK;
}
typedef struct { unsigned gpu, memory; } rates;
int nvmlDeviceGetUtilizationRates(device *d, rates *out) {
    ENTER(d);
    if (CARD(d)->mig > 0) return NOT_SUPPORTED;
    *out = (rates){now_value(d, UTIL), now_value(d, MEMORY_UTIL)};
    return OK;
}
typedef union { double d; unsigned ui; unsigned long long ull; } number;
typedef struct { unsigned long long at_us; number value; } sample;
/* The ring buffer: one sample each period (its mean activity), the newest `buffer` of them, newer than last_us. */
int nvmlDeviceGetSamples(device *d, int type, unsigned long long last_us, int *value_type, unsigned *count, sample *out) {
    ENTER(d);
    if (type != 1 && type != 2) return NOT_SUPPORTED;
    if (CARD(d)->mig > 0) return NOT_SUPPORTED;
    long long newest = (long long)(elapsed() / period_s), first = newest - buffer + 1;
    unsigned n = 0, room = *count;
    *value_type = 1;
    if (!out) {
        *count = (unsigned)buffer;
        return OK;
    }
    for (long long k = first > 1 ? first : 1; k <= newest; k++) {
        double end = (double)k * period_s;
        unsigned long long at = (unsigned long long)((start_s + end) * 1e6);
        if (at <= last_us) continue;
        if (n == room) return TOO_SMALL;
        double mean = area(&CARD(d)->curves[type == 1 ? UTIL : MEMORY_UTIL], end - period_s, end) / period_s;
        out[n].at_us = at;
        out[n++].value.ui = (unsigned)(mean + 0.5);
    }
    *count = n;
    return n ? OK : NOT_FOUND;
}
int nvmlDeviceGetPowerUsage(device *d, unsigned *milliwatts) {
    ENTER(d);
    *milliwatts = (unsigned)(value(&CARD(d)->curves[POWER], elapsed()) * 1000 + 0.5);
    return OK;
}
int nvmlDeviceGetTotalEnergyConsumption(device *d, unsigned long long *millijoules) {
    ENTER(d);
    *millijoules = (unsigned long long)(area(&CARD(d)->curves[POWER], 0, elapsed()) * 1000);
    return OK;
}
int nvmlDeviceGetClockInfo(device *d, int type, unsigned *mhz) {
    ENTER(d);
    if (type != 1) return NOT_SUPPORTED;
    *mhz = now_value(d, CLOCK);
    return OK;
}
int nvmlDeviceGetTemperature(device *d, int sensor, unsigned *celsius) {
    ENTER(d);
    if (sensor) return INVALID;
    *celsius = now_value(d, TEMPERATURE);
    return OK;
}
int nvmlDeviceGetCurrentClocksEventReasons(device *d, unsigned long long *bits) { ENTER(d); *bits = now_value(d, REASONS); return OK; }
int nvmlDeviceGetCurrentClocksThrottleReasons(device *d, unsigned long long *bits) { ENTER(d); *bits = now_value(d, REASONS); return OK; }
int nvmlDeviceGetTotalEccErrors(device *d, int error_type, int counter_type, unsigned long long *count) {
    ENTER(d);
    if (counter_type) return NOT_SUPPORTED;
    *count = now_value(d, error_type ? ECC_BAD : ECC_GOOD);
    return OK;
}
typedef struct { unsigned pid; unsigned long long bytes; unsigned gi, ci; } process_info;
static int list(device *d, unsigned *count, process_info *out, int graphics) {
    unsigned n = 0, room = out ? *count : 0;
    double t = elapsed();
    if (d->mig < 0 && CARD(d)->mig > 0) return 4; /* only a privileged caller may list a partitioned card */
    for (int i = 0; i < CARD(d)->processes; i++) {
        process *p = &CARD(d)->process[i];
        if (p->graphics != graphics || t < p->from || t >= p->to) continue;
        if (d->mig >= 0 && (p->gi != CARD(d)->instance[d->mig].gi || p->ci != CARD(d)->instance[d->mig].ci)) continue;
        if (n < room) out[n] = (process_info){p->pid, p->bytes, p->gi, p->ci};
        n++;
    }
    *count = n;
    return n > room ? TOO_SMALL : OK;
}
int nvmlDeviceGetComputeRunningProcesses_v2(device *d, unsigned *count, process_info *out) { ENTER(d); return list(d, count, out, 0); }
int nvmlDeviceGetComputeRunningProcesses_v3(device *d, unsigned *count, process_info *out) { ENTER(d); return list(d, count, out, 0); }
int nvmlDeviceGetGraphicsRunningProcesses_v2(device *d, unsigned *count, process_info *out) { ENTER(d); return list(d, count, out, 1); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(device *d, unsigned *count, process_info *out) { ENTER(d); return list(d, count, out, 1); }
typedef struct { unsigned id, scope; long long at, latency; unsigned type; int code; number value; } field;
/* NVLink's data counters (KiB since the driver was loaded), summed over the links with scope UINT_MAX. */
int nvmlDeviceGetFieldValues(device *d, int count, field *fields) {
    ENTER(d);
    for (int i = 0; i < count; i++) {
        int which = fields[i].id == 138 ? NVLINK_TX : fields[i].id == 139 ? NVLINK_RX : -1;
        fields[i].code = which < 0 || fields[i].scope != 0xFFFFFFFFu || !CARD(d)->curves[which].n ? NOT_SUPPORTED : OK;
        fields[i].type = 3;
        if (!fields[i].code) fields[i].value.ull = (unsigned long long)value(&CARD(d)->curves[which], elapsed());
    }
    return OK;
}
