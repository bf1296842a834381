/**
 * Why a task waits, in the user's language. The service says it in English, with a kind and data: in English its sentence is shown,
 * in other languages one is made of the data. What this does not know, or has not the data for, is shown as the service says it.
 */

import type {
  IHolder,
  IShortWait,
  ITaskSummary,
  IVerdict,
  PriorityChoice,
  PriorityName,
  VerdictKind
} from '../api/types';
import { duration, localTimes, moment, size } from './format';
import { numberFormat } from './intl';
import { language, trans } from './translate';
import { count, priorityLabel } from './words';

type Data = Readonly<Record<string, unknown>>;

/** What a verdict says; `who`: the tasks that hold the nodes, as a list, or empty. */
export interface IVerdictFacts {
  kind: string;
  priority: PriorityName | null;
  data: Data;
  who: string;
}

/** A sentence; null: the data do not suffice. */
type Say<T> = (facts: T, now: number) => string | null;

/** Whether the sentences of the service are in the user's language already. */
export function isEnglish(): boolean {
  return language().split('-')[0] === 'en';
}

/** Whole sentences, one after the other: Chinese and Japanese have no space between them. */
export function sentences(...parts: readonly (string | null)[]): string {
  return parts.filter(Boolean).join(/^(zh|ja)\b/.test(language()) ? '' : ' ');
}

function numberOf(data: Data, name: string): number | null {
  const value = data[name];
  return typeof value === 'number' ? value : null;
}

function textOf(data: Data, name: string): string | null {
  const value = data[name];
  return typeof value === 'string' ? value : null;
}

/** A number of nodes, with at most two decimals: `1.25`. */
export function amount(n: number): string {
  return numberFormat({ maximumFractionDigits: 2 }).format(n);
}

/** A level in a word. */
export function level(priority: PriorityChoice | null): string {
  return priorityLabel(priority ?? 'AUTO');
}

function needsOf(data: Data): string | null {
  const needs = numberOf(data, 'needs');
  return needs === null ? null : size({ nodes: needs, gpus: numberOf(data, 'gpus') });
}

/** `14:20:00, in 12 min`; null: the time is not known. */
export function when(at: unknown, now: number): string | null {
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) {
    return null;
  }
  return trans.__('%1, in %2', moment(at, now), duration((Date.parse(at) - now) / 1000));
}

/** The first three tasks in a list, and how many more there are. */
export function whoText(holders: readonly IHolder[], total = holders.length): string {
  const names = holders
    .slice(0, 3)
    .map(one => trans.__('task %1 of %2 (%3, %4)', one.task_id, one.user, level(one.priority), size(one)));
  return listText(names, total);
}

/** Some of `total` names. */
export function listText(names: readonly string[], total = names.length): string {
  return total > names.length
    ? trans.__('%1 and %2 more', names.join(', '), total - names.length)
    : names.join(', ');
}

/** Whose quota a row is. */
export function quotaOf(subject: unknown): string {
  const [kind, name] = String(subject).split(/:(.*)/);
  return kind === 'total'
    ? trans.__('the quota of group %1 as a whole', name ?? '')
    : trans.__('the quota of %1', String(subject));
}

/** `Needs 2 nodes; free: 1 node.`, and how many nodes runs without a task hold. */
function lacks({ data }: IVerdictFacts): string | null {
  const needs = needsOf(data);
  const free = numberOf(data, 'free');
  if (needs === null || free === null) {
    return null;
  }
  const orphaned = numberOf(data, 'orphaned');
  return sentences(
    trans.__('Needs %1; free: %2.', needs, count(free, 'node')),
    orphaned === null
      ? null
      : trans.__('%1 held by runs that belong to no task any more.', count(orphaned, 'node'))
  );
}

function capacity(facts: IVerdictFacts): string | null {
  const { data, who } = facts;
  const first = lacks(facts);
  const unsaved = numberOf(data, 'unsaved');
  return first === null
    ? null
    : sentences(
        first,
        who === '' ? trans.__('The others cannot be used now.') : trans._p('nodes', 'Held by %1.', who),
        unsaved === null
          ? null
          : trans.__(
              'Task %1 keeps its nodes until it saves: it was interrupted %2 times in a row without a checkpoint.',
              unsaved,
              numberOf(data, 'unsaved_runs') ?? ''
            )
      );
}

function quota({ data, priority, who }: IVerdictFacts): string | null {
  const [needs, used, limit] = [needsOf(data), numberOf(data, 'used'), numberOf(data, 'limit')];
  if (needs === null || used === null || limit === null) {
    return null;
  }
  return sentences(
    trans.__(
      'Needs %1 but %2 of the %3 nodes that %4 allows at %5 are in use.',
      needs,
      amount(used),
      amount(limit),
      quotaOf(data.subject),
      level(priority)
    ),
    who === '' ? null : trans.__('In use by %1.', who)
  );
}

function turn(facts: IVerdictFacts, now: number): string | null {
  const first = lacks(facts);
  const who = facts.who || trans.__('tasks of equal priority');
  const until = when(facts.data.until, now);
  return first === null
    ? null
    : sentences(
        first,
        until === null
          ? trans.__('Of equal priority, and keep them until their turns are over: %1.', who)
          : trans.__('Of equal priority, and can keep them until %2: %1.', who, until)
      );
}

function reserved({ data, who }: IVerdictFacts, now: number): string | null {
  const needs = needsOf(data);
  const first = who || trans.__('a task that goes first');
  const until = when(data.until, now);
  if (needs === null) {
    return null;
  }
  return until === null
    ? trans.__('Needs %1; what is free is kept for %2.', needs, first)
    : trans.__('Needs %1; what is free is kept for %2 until %3.', needs, first, until);
}

function draining({ data, who }: IVerdictFacts, now: number): string {
  const by = when(data.deadline, now);
  return sentences(
    by === null
      ? trans.__('Starts when its nodes are free.')
      : trans.__('Starts when its nodes are free, by %1.', by),
    who === '' ? null : trans.__('Saving and leaving: %1.', who)
  );
}

function topology({ data }: IVerdictFacts): string | null {
  const [needs, free, together] = [needsOf(data), numberOf(data, 'free'), numberOf(data, 'together')];
  if (needs === null || free === null || together === null) {
    return null;
  }
  return trans.__(
    'Needs %1 close together; %2 free, but at most %3 of them within one zone, and as many tasks as may span zones do.',
    needs,
    count(free, 'node'),
    together
  );
}

function retry({ data }: IVerdictFacts, now: number): string | null {
  const of = numberOf(data, 'of');
  const number = numberOf(data, 'retries') ?? (numberOf(data, 'starts') ?? NaN) + 1;
  if (of === null || Number.isNaN(number)) {
    return null;
  }
  const [broken, why] = [textOf(data, 'broken'), textOf(data, 'why')?.replace(/\.$/, '')];
  const until = when(data.until, now);
  const next =
    until === null
      ? trans.__('Start %1 of %2 waits for its turn.', number, of)
      : trans.__('Start %1 of %2 waits until %3.', number, of, until);
  if (broken !== null) {
    return sentences(trans.__('Its last run broke: %1.', broken), next);
  }
  if (why !== undefined) {
    return sentences(trans.__('It could not be started: %1.', why), next);
  }
  return sentences(
    trans.__('Its command failed.'),
    until === null
      ? trans.__('Retry %1 of %2 waits for its turn.', number, of)
      : trans.__('Retry %1 of %2 waits until %3.', number, of, until)
  );
}

function never({ data, priority }: IVerdictFacts): string | null {
  const needs = needsOf(data);
  const cap = numberOf(data, 'cap') ?? textOf(data, 'cap') ?? '';
  if (needs === null) {
    return null;
  }
  switch (data.cause) {
    case 'group':
      return trans.__(
        'Cannot start: it needs %1 but its node group has %2; submit it with fewer nodes.',
        needs,
        cap
      );
    case 'gpus':
      return trans.__(
        'Cannot start: it needs %1 but the nodes of its group have %2 each; submit it with fewer GPUs.',
        needs,
        cap
      );
    case 'none':
      return trans.__(
        'Cannot start: it needs %1 but there is no quota for it at %2; ask an admin for some, who gives it with `%3`.',
        needs,
        level(priority),
        `hai admin quota set user:NAME ${priority ?? ''} ${String(data.needs)}`
      );
    default:
      return trans.__(
        'Cannot start: it needs %1 but %2 allows %3 at %4; submit it with fewer nodes or at another priority.',
        needs,
        quotaOf(data.cause),
        cap,
        level(priority)
      );
  }
}

const VERDICTS: Record<VerdictKind, Say<IVerdictFacts>> = {
  QUOTA: quota,
  CAPACITY: capacity,
  TURN: turn,
  RESERVED: reserved,
  DRAINING: draining,
  TOPOLOGY: topology,
  RETRY: retry,
  HELD: () => trans.__('Held by its owner; resume it to let it have its turn.'),
  PAUSED: () => trans.__('The platform is paused; it goes on when an admin resumes it.'),
  NEVER: never,
  NEXT: () => trans.__('Will be looked at in a moment.')
};

/** A verdict of which only the data are known; null: only the service can say it. */
export function factsText(facts: IVerdictFacts, now: number): string | null {
  const say = VERDICTS[facts.kind as VerdictKind] as Say<IVerdictFacts> | undefined;
  return say?.(facts, now) ?? null;
}

/** Why a task waits: one or more sentences. */
export function verdictText(
  verdict: IVerdict,
  task: Pick<ITaskSummary, 'effective_priority'>,
  now: number = Date.now()
): string {
  const { kind, data, holders, holder_count } = verdict;
  const facts = (): IVerdictFacts => ({
    kind,
    data,
    priority: task.effective_priority,
    who: whoText(holders, holder_count)
  });
  return (isEnglish() ? null : factsText(facts(), now)) ?? localTimes(verdict.sentence, now);
}

/** `2 nodes of v100`. */
function wantOf(data: Data): string {
  const nodes = numberOf(data, 'nodes') ?? 0;
  return trans._p(
    'nodes of a group',
    '%1 of %2',
    size({ nodes, gpus: numberOf(data, 'gpus') }),
    textOf(data, 'group') ?? ''
  );
}

const SHORT: Record<IShortWait['id'], (data: Data) => string> = {
  quota: data => {
    const [used, limit] = [numberOf(data, 'used'), numberOf(data, 'limit')];
    return used === null || limit === null
      ? trans.__('waits for quota')
      : trans.__(
          'waits for quota: %1 of %2 nodes are in use at %3',
          amount(used),
          amount(limit),
          level(data.level as PriorityName)
        );
  },
  quota_of_others: () => trans.__('waits for quota'),
  capacity: data => trans.__('waits for %1', wantOf(data)),
  turn: data => trans.__('waits for its turn on %1', wantOf(data)),
  reserved: data => {
    const first = numberOf(data, 'first');
    return first === null
      ? trans.__('waits for %1, after a task that goes first', wantOf(data))
      : trans.__('waits for %1, after task %2', wantOf(data), first);
  },
  draining: data => trans.__('starts when free: %1', wantOf(data)),
  topology: data => trans.__('waits for %1 close together', wantOf(data)),
  retry: data => {
    const [number, of] = [numberOf(data, 'retry'), numberOf(data, 'of')];
    return number === null || of === null
      ? trans.__('waits for its next start')
      : trans.__('waits for retry %1 of %2', number, of);
  },
  held: () => trans.__('held by its owner'),
  paused: () => trans.__('waits: the platform is paused'),
  never: data => trans.__('can never start with %1', wantOf(data)),
  next: () => trans.__('will be looked at in a moment')
};

/** Why a task waits, in a few words without capital and full stop. */
export function shortText(short: IShortWait, now: number = Date.now()): string {
  const say = SHORT[short.id] as ((data: Data) => string) | undefined;
  if (isEnglish() || say === undefined) {
    return localTimes(short.text, now);
  }
  const words = say(short.data);
  return short.until === null ? words : trans.__('%1, until about %2', words, moment(short.until, now));
}
