/** Values and a platform for tests. */

import { ASKED_DEFAULTS } from '../text/askedFields';
import { vi } from 'vitest';
import type { IApi, ILogPart } from '../api/client';
import type { IEnvironmentsApi } from '../api/environments';
import type { EnvironmentChange, IBuild, IEnvironment, IEnvironmentDetail } from '../api/extension';
import type { IServerEvent } from '../api/sse';
import type { IHost } from '../components/host';
import type {
  IDecision,
  IEvent,
  IHaienv,
  ILogLine,
  ILogPage,
  IOwnQuota,
  IPolicyValue,
  IRun,
  ITaskDetail,
  ITaskSummary,
  IWhatIf
} from '../api/types';

/** A program around views that says yes. */
export function aHost(given: Partial<IHost> = {}): IHost {
  return { openTask: vi.fn(), notify: vi.fn(), confirm: vi.fn(async () => true), ...given };
}

/** A running task; give what differs. */
export function aTask(given: Partial<ITaskDetail> = {}): ITaskDetail {
  return {
    id: 41,
    name: 'train',
    user: 'alice',
    state: 'running',
    held: false,
    priority: 'HIGH',
    effective_priority: 'HIGH',
    group: 'training',
    nodes: 2,
    gpus: null,
    node_names: ['n-1', 'n-2'],
    submitted_at: '2026-11-21T04:00:00Z',
    running_since: '2026-11-21T04:10:00Z',
    idle_gpus_since: null,
    ended_at: null,
    served_s: 600,
    run_count: 1,
    suspensions: 0,
    unsaved: 0,
    checkpoint: null,
    reason: null,
    message: '',
    verdict: null,
    deadline: null,
    tags: [],
    progress: null,
    short: null,
    starred: null,
    use: null,
    command: ['python', '-u', 'train.py'],
    cwd: '/home/alice',
    env: {},
    profile: 'auto',
    signal: null,
    secrets: [],
    watch: [],
    hint: null,
    grace_s: 120,
    time_limit_s: null,
    checkpoint_dir: '/shared/41',
    environment: null,
    image: null,
    haienv: null,
    snapshot: null,
    ranks_per_node: null,
    warnings: [],
    job_state: null,
    ...ASKED_DEFAULTS,
    retries_used: 0,
    retry_backoff_s: 0,
    retry_exit_codes: [],
    retry_at: null,
    failure: null,
    runs: [],
    ...given
  };
}

/** A waiting task at a place in line. */
export function aWaitingTask(
  id: number,
  position: number | null,
  given: Partial<ITaskDetail> = {}
): ITaskDetail {
  return aTask({
    id,
    state: 'queued',
    node_names: [],
    running_since: null,
    message: 'It needs 2 nodes and 1 is free.',
    verdict: {
      kind: 'CAPACITY',
      sentence: 'It needs 2 nodes and 1 is free.',
      position,
      earliest_start: null,
      data: {},
      holders: [],
      holder_count: 0
    },
    ...given
  });
}

/** A change of the priority that would let a task start at once. */
export function aChange(given: Partial<IWhatIf> = {}): IWhatIf {
  return {
    kind: 'PRIORITY',
    sentence: 'At HIGH it would start now.',
    priority: 'HIGH',
    nodes: null,
    gpus: null,
    limit: null,
    subject: null,
    starts_now: true,
    starts_by: null,
    suspends: [],
    ...given
  };
}

export function aDecision(seq: number, sentence: string, kind = 'task.verdict'): IDecision {
  return { seq, at: '2026-11-21T04:00:00Z', kind, actor: 'scheduler', sentence, data: {} };
}

/** A generation of an environment; give what differs. */
export function aHaienv(given: Partial<IHaienv> = {}): IHaienv {
  return {
    name: 'users/ann/vision',
    generation: 3,
    digest: `sha256:${'0123456789abcdef'.repeat(4)}`,
    interpreter: '/usr/bin/python3.11',
    python: '3.11.7',
    flavour: 'venv',
    latest: false,
    ...given
  };
}

/** An ended run; give what differs. */
export function aRun(given: Partial<IRun> = {}): IRun {
  return {
    id: '41.1',
    number: 1,
    state: 'ended',
    priority: 'HIGH',
    nodes: ['n-1', 'n-2'],
    ranks: [],
    started_at: '2026-11-21T04:10:00Z',
    running_at: '2026-11-21T04:10:05Z',
    ended_at: '2026-11-21T04:30:00Z',
    notice: null,
    checkpoint: null,
    reason: 'turn_over',
    because: 'its turn was over and a task of equal priority waited',
    left: 'saved',
    lost_s: null,
    failed_ranks: [],
    haienv: null,
    summary: null,
    ...given
  };
}

export function anEvent(seq: number, kind: string, task_id: number | null = null): IEvent {
  return { seq, at: '2026-11-21T04:00:00Z', kind, actor: 'scheduler', user: 'alice', task_id, data: {} };
}

export function aLine(text: string, rank: number | null = 0): ILogLine {
  return { run: 1, rank, at: '2026-11-21T04:10:00Z', text, cursor: '1:0', rewritten: false };
}

/** A log that is stored, with the calls of the interface that read it; each line is ten bytes long. */
export function aStoredLog(size: number, final = true) {
  const lines: ILogLine[] = Array.from({ length: size }, (_, n) => ({
    ...aLine(`line ${n}`),
    cursor: `1:${(n + 1) * 10}`
  }));
  const place = (cursor: string): number => Math.floor((Number(cursor.split(':')[1]) || 0) / 10);
  const page = (from: number, until: number): ILogPage => ({
    lines: lines.slice(Math.max(0, from), until),
    next_cursor: `1:${until * 10}`,
    prev_cursor: from > 0 ? `1:${from * 10}` : null,
    final: final && until >= lines.length
  });
  return {
    lines,
    logTail: vi.fn((_id: number, _rank: number, tail: number) =>
      Promise.resolve(page(lines.length - tail, lines.length))
    ),
    logPage: vi.fn((_id: number, _rank: number, part: ILogPart) => {
      if (part.before !== undefined) {
        return Promise.resolve(page(place(part.before) - part.limit, place(part.before)));
      }
      const from = place(part.cursor ?? '1:start');
      return Promise.resolve(page(from, Math.min(lines.length, from + part.limit)));
    }),
    logExtents: vi.fn(() => Promise.resolve({ items: [{ run: 1, start: 0, end: lines.length * 10 }] })),
    logSearch: vi.fn(),
    logDownloadUrl: vi.fn((id: number, rank: number, times: boolean) => `/log/${id}/${rank}/${times}`)
  };
}

/** What a user may hold at a level; give what differs. */
export function aQuota(given: Partial<IOwnQuota> = {}): IOwnQuota {
  return {
    group: 'training',
    priority: 'HIGH',
    limit: null,
    used: 0,
    source: 'public',
    ceiling: null,
    expires_at: null,
    ...given
  };
}

/** A length of time that is set for all node groups. */
export function aLength(value: string, length_s: number): IPolicyValue {
  return { value, length_s, source: 'default', group: null, by: null, at: null };
}

/** An environment of ann's; give what differs. */
export function anEnvironment(given: Partial<IEnvironment> = {}): IEnvironment {
  return {
    name: 'users/ann/vision',
    trouble: '',
    generation: 2,
    python: '3.11.7',
    cuda: null,
    extends: null,
    requirements: ['timm==1.0.20'],
    files: 1200,
    size: 8_400_000,
    digest: 'sha256:0123456789abcdef',
    built_at: '2026-11-21T04:00:00Z',
    built_by: 'ann',
    kernel: true,
    ...given
  };
}

export function anEnvironmentDetail(given: Partial<IEnvironmentDetail> = {}): IEnvironmentDetail {
  return {
    ...anEnvironment(),
    generation: 2,
    packages: { timm: '1.0.20' },
    generations: [1, 2],
    current: 2,
    ...given
  };
}

/** A build that runs. */
export function aBuild(given: Partial<IBuild> = {}): IBuild {
  return {
    id: 1,
    verb: 'create',
    environment: 'users/ann/new',
    state: 'running',
    status: null,
    last: '',
    ...given
  };
}

/** A server with an environment of ann's and a base one. */
export function someEnvironments(given: Partial<IEnvironmentsApi> = {}): IEnvironmentsApi {
  return {
    list: async () => ({
      items: [anEnvironment(), anEnvironment({ name: 'base/torch', requirements: ['torch'] })],
      owners: ['users/ann', 'groups/cv'],
      builds: []
    }),
    show: async name => anEnvironmentDetail({ name }),
    diff: vi.fn(async () => [{ package: 'timm', before: '1.0.19', after: '1.0.20' }]),
    begin: vi.fn(async (change: EnvironmentChange) =>
      aBuild({ verb: change.verb, environment: change.name })
    ),
    freeze: vi.fn(async () => ({ changed: false, generation: null })),
    stop: vi.fn(async () => aBuild()),
    log: () => new FakeStream(),
    watch: () => new FakeStream(),
    ...given
  };
}

/** A platform that builds for some owners; give what differs. */
export function somePlatform(owners: string[] = []): Pick<IApi, 'environments' | 'build'> {
  return {
    environments: vi.fn(async () => ({ items: [], owners, root: null, warnings: [] })),
    build: vi.fn(async () => aTask({ id: 7 }))
  };
}

/** A stream that a test writes to. */
export class FakeStream implements AsyncIterable<IServerEvent> {
  private waiting: ((value: IteratorResult<IServerEvent>) => void) | null = null;
  private readonly ready: (IServerEvent | Error | null)[] = [];
  private fail: ((error: Error) => void) | null = null;

  send(event: string, data: unknown, id = ''): void {
    this.put({ id, event, data: JSON.stringify(data) });
  }

  end(error: Error | null = null): void {
    this.put(error);
  }

  [Symbol.asyncIterator](): AsyncIterator<IServerEvent> {
    return {
      next: () =>
        new Promise((resolve, reject) => {
          this.waiting = resolve;
          this.fail = reject;
          this.pump();
        })
    };
  }

  private put(item: IServerEvent | Error | null): void {
    this.ready.push(item);
    this.pump();
  }

  private pump(): void {
    if (!this.waiting || !this.fail || this.ready.length === 0) {
      return;
    }
    const item = this.ready.shift() ?? null;
    const [resolve, reject] = [this.waiting, this.fail];
    this.waiting = this.fail = null;
    if (item instanceof Error) {
      reject(item);
    } else if (item === null) {
      resolve({ done: true, value: undefined });
    } else {
      resolve({ done: false, value: item });
    }
  }
}

/** Pages of tasks as the platform gives them. */
export function pagesOf(tasks: readonly ITaskSummary[]): IApi['tasks'] {
  return async query => {
    const ended = ['succeeded', 'failed', 'stopped'];
    const found = [...tasks]
      .sort((a, b) => b.id - a.id)
      .filter(task => query.state !== 'live' || !ended.includes(task.state));
    const from = Number(query.cursor ?? 0);
    const to = from + (query.limit ?? 50);
    const next = to < found.length ? String(to) : null;
    return { items: found.slice(from, to), next_cursor: next, total: null, notes: [] };
  };
}
