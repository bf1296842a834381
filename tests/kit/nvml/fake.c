/* A libnvidia-ml of its own for tests: as many GPUs as FAKE_NVML_GPUS says, whose figures follow from their number.
   FAKE_NVML_IDLE=1: nothing computes on them.
   FAKE_NVML_HANGS=1 lets each question for the use of a GPU hang, FAKE_NVML_HANGS_AT_ONCE=1 the beginning; FAKE_NVML_NO_GPM=1 has no GPM and no energy, FAKE_NVML_OLD=1 nothing that came later than those. 
   A program that includes this defines HELD and BUSY, what processes hold on a GPU and whether they compute. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { unsigned gpu, memory; } Use;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } Memory2;
typedef struct { unsigned version, supported; } Support;
typedef struct { unsigned id; int result; double value; char *a, *b, *c; } Metric;
typedef struct { unsigned version, count; void *before, *now; Metric metrics[400]; } Query;
enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, NO_ROOM = 7 };

static int gpus(void) { const char *text = getenv("FAKE_NVML_GPUS"); return text ? atoi(text) : 0; }
static int is(const char *name) { return getenv(name) != NULL; }
#ifndef HELD
#define HELD(device, processes) (*(processes) = is("FAKE_NVML_IDLE") ? 0 : (device), ((unsigned long long)(device) + 1) << 30)
#define BUSY(device) (!is("FAKE_NVML_IDLE"))
#endif
static long number(void *device) { return (long)device - 1; }

int nvmlInit_v2(void) {
  if (is("FAKE_NVML_HANGS_AT_ONCE")) for (;;) pause();
  return gpus() ? OK : 9;
}
int nvmlShutdown(void) { return OK; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = gpus(); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  if ((int)index >= gpus()) return NOT_FOUND;
  *device = (void *)(long)(index + 1); return OK;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
  if (strncmp(uuid, "GPU-", 4)) return NOT_FOUND;
  return nvmlDeviceGetHandleByIndex_v2(atoi(strrchr(uuid, '-') + 1), device);
}
int nvmlDeviceGetIndex(void *device, unsigned *index) { *index = number(device); return OK; }
int nvmlDeviceGetUtilizationRates(void *device, Use *use) {
  if (is("FAKE_NVML_HANGS")) for (;;) pause();
  use->gpu = BUSY(number(device)) ? 90 + number(device) : 0; use->memory = 40; return OK;
}
static unsigned long long held(void *device) { long processes; return HELD(number(device), &processes); }
int nvmlDeviceGetMemoryInfo_v2(void *device, Memory2 *memory) {
  if (memory->version != (sizeof *memory | 2 << 24)) return 25;
  if (is("FAKE_NVML_OLD")) return 9;
  memory->total = 80ULL << 30; memory->reserved = 512ULL << 20;
  memory->used = held(device);
  memory->free = memory->total - memory->reserved - memory->used; return OK;
}
/* The first form counts what the driver keeps for itself as used. */
int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) {
  memory->total = 80ULL << 30; memory->used = held(device) + (512ULL << 20);
  memory->free = memory->total - memory->used; return OK;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *mw) {
  *mw = (BUSY(number(device)) ? 350500 : 70500) + 1000 * number(device); return OK;
}
/* The counter of the energy grows by 700 J with each question, of any GPU. */
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj) {
  static unsigned long long asked;
  (void)device; if (is("FAKE_NVML_OLD") || is("FAKE_NVML_NO_GPM")) return NOT_SUPPORTED;
  *mj = 5000000000ULL + 700000ULL * asked++; return OK;
}
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw) { (void)device; *mw = 700000; return OK; }
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *mhz) { (void)device; *mhz = kind == 1 ? 1980 : 1; return OK; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
  *reasons = number(device) == 1 ? 0x40 : 0x04; return OK;
}
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *count) {
  if (kind != 1 || counter != 0) return 2;
  *count = number(device) == 1 ? 3 : 0; return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *infos) {
  unsigned room = *count; long processes; (void)infos;
  HELD(number(device), &processes); *count = processes; return room < *count ? NO_ROOM : OK;
}
int nvmlGpmQueryDeviceSupport(void *device, Support *support) {
  (void)device; if (support->version != 1) return 2;
  support->supported = !is("FAKE_NVML_OLD") && !is("FAKE_NVML_NO_GPM"); return OK;
}
int nvmlGpmSampleAlloc(void **sample) { *sample = calloc(1, sizeof(long)); return *sample ? OK : 20; }
int nvmlGpmSampleFree(void *sample) { free(sample); return OK; }
int nvmlGpmSampleGet(void *device, void *sample) {
  static long clock;
  (void)device; *(long *)sample = ++clock; return OK;
}
int nvmlGpmMetricsGet(Query *query) {
  if (query->version != 1 || *(long *)query->before >= *(long *)query->now) return 2;
  for (unsigned i = 0; i < query->count; i++) {
    Metric *metric = &query->metrics[i];
    metric->result = metric->id == 10 ? NOT_SUPPORTED : OK; metric->value = is("FAKE_NVML_IDLE") ? 0 : 10.5 * metric->id;
  }
  return OK;
}
