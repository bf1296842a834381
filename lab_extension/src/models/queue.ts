/** The queues of the node groups, in pages, or of the user's own tasks. */

import { EventKind } from '../api/constants';
import type { IOperations, Place } from '../api/operations';
import type { IEvent, IGroupQueue, IQueue, IQueueTask } from '../api/types';
import { CatchUp } from './catchUp';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** Tasks of a group that are read at first, and further ones with each page. */
export const PAGE = 20;
/** The most that one answer has. */
const MOST = 200;
/** In ms after a move; a plan that is read then knows of it, also where its event was not heard. */
const KNOWN = 9_000;
/** After a move the queue is read again then, in ms: the plan that knows of it comes a moment later. */
const AFTER_MOVE = [1_500, 4_000, KNOWN];

/** A plan may not know what was stored so shortly before it, in ms. */
const MARGIN = 250;

/** A move that the plan does not know of yet. */
interface IMove {
  id: number;
  place: Place;
  /** When the page had its answer, in ms. */
  since: number;
}

/** Who waits, in order; each group as far as it was asked for. */
export class QueueModel extends LiveModel {
  groups: readonly IGroupQueue[] = [];
  /** When the plan was made from which places and times are; null: there is none yet. */
  plannedAt: string | null = null;
  private readonly catchUp = new CatchUp();
  /** How many tasks of a group are wanted. */
  private readonly wanted = new Map<string, number>();
  private moves: readonly IMove[] = [];
  /** From when on, in ms, a plan knows of the newest move of a task: a moment after its event. Null: it is not heard yet. */
  private readonly stored = new Map<number, number | null>();
  private timers: readonly ReturnType<typeof setTimeout>[] = [];

  constructor(
    private readonly api: Pick<IOperations, 'queue' | 'reorder'>,
    feed: Feed,
    private readonly mine = false,
    fallback = 15_000
  ) {
    super({ feed, name: 'hai:queue', interval: 1_500, fallback, live: 20_000 });
  }

  /** Read a further page of a group. */
  async more(group: string): Promise<void> {
    this.wanted.set(group, (this.wanted.get(group) ?? PAGE) + PAGE);
    await this.refresh();
  }

  /** Move a waiting task of the user's own, and show it there at once. Rejects with the service's sentence. */
  async move(id: number, place: Place): Promise<void> {
    this.stored.set(id, null);
    await this.api.reorder(id, place);
    this.moves = [...this.moves, { id, place, since: Date.now() }];
    this.groups = this.groups.map(group => ({ ...group, items: moved(group.items, id, place) }));
    this.emit();
    this.timers.forEach(clearTimeout);
    this.timers = AFTER_MOVE.map(ms => setTimeout(() => this.readSoon(), ms));
  }

  override dispose(): void {
    this.timers.forEach(clearTimeout);
    super.dispose();
  }

  protected concerns(event: IEvent): boolean {
    const does = /^(task\.(submitted|state|priority|held|order)|node\.|quota\.|cluster\.)/.test(event.kind);
    if (does) {
      this.catchUp.expect(Date.parse(event.at) + MARGIN);
    }
    if (event.kind === EventKind.TASK_ORDER && event.task_id !== null && this.stored.has(event.task_id)) {
      this.stored.set(event.task_id, Date.parse(event.at) + MARGIN);
    }
    return does;
  }

  protected async read(): Promise<void> {
    const first = await this.page({ limit: PAGE });
    const groups = await Promise.all(first.groups.map(group => this.whole(group)));
    this.plannedAt = first.at;
    // The plan that knows of an event comes a moment after it.
    if (first.at !== null && this.catchUp.again(Date.parse(first.at))) {
      this.readSoon();
    }
    this.moves = this.moves.filter(move => !this.isPlanned(move, first.at));
    this.groups = groups.map(group => ({
      ...group,
      items: this.moves.reduce((items, { id, place }) => moved(items, id, place), group.items)
    }));
  }

  /** Whether a plan of this time knows of a move. Where its event is not heard, that is so after some time. */
  private isPlanned(move: IMove, at: string | null): boolean {
    const stored = this.stored.get(move.id) ?? null;
    return stored === null ? Date.now() - move.since >= KNOWN : at !== null && Date.parse(at) >= stored;
  }

  private page(query: Parameters<IOperations['queue']>[0]): Promise<IQueue> {
    return this.api.queue(this.mine ? { ...query, mine: true } : query);
  }

  /** A group with as many tasks as are wanted of it. */
  private async whole(group: IGroupQueue): Promise<IGroupQueue> {
    const wanted = this.wanted.get(group.group) ?? PAGE;
    const byId = new Map(group.items.map(task => [task.task_id, task]));
    let { next } = group;
    while (next !== null && byId.size < wanted) {
      const query = { group: group.group, after: next, limit: Math.min(MOST, wanted - byId.size) };
      const [page] = (await this.page(query)).groups;
      // Nothing more can have been left meanwhile.
      page?.items.forEach(task => byId.set(task.task_id, task));
      next = page?.next ?? null;
    }
    return { ...group, items: [...byId.values()], next };
  }
}

/** Whether two tasks are beside each other in the order: of one user and priority, and both wait for a turn or both are held. */
function besideEachOther(a: IQueueTask, b: IQueueTask): boolean {
  return a.user === b.user && a.priority === b.priority && (a.position === null) === (b.position === null);
}

/** Whether two tasks can change places: the service refuses it where one asks for Auto and the other for a level. */
function ofOneHand(a: IQueueTask, b: IQueueTask): boolean {
  return besideEachOther(a, b) && a.asked === b.asked;
}

/** Whether some of a user's tasks look as if they could change places, and cannot: one asks for Auto, one for a level. */
export function isPartlyFixed(items: readonly IQueueTask[], user: string | undefined): boolean {
  const own = items.filter(each => each.user === user);
  return own.some(one => own.some(other => besideEachOther(one, other) && !ofOneHand(one, other)));
}

/** The queue with a task at another place of its hand: the others keep their order, and places stay where they are. */
export function moved(items: readonly IQueueTask[], id: number, place: Place): IQueueTask[] {
  const task = items.find(each => each.task_id === id);
  const other = 'before' in place ? place.before : place.after;
  if (!task || !items.some(each => each.task_id === other)) {
    return [...items];
  }
  const isOfHand = (each: IQueueTask): boolean => ofOneHand(each, task);
  const hand = items.filter(each => isOfHand(each) && each !== task);
  const at = hand.findIndex(each => each.task_id === other);
  hand.splice('before' in place ? at : at + 1, 0, task);
  return items.map(each => {
    const next = isOfHand(each) ? hand.shift() : undefined;
    return next ? { ...next, number: each.number, position: each.position } : each;
  });
}

/** The tasks directly before and after a waiting one with which it can change places; null: there is none. */
export function neighboursOf(
  items: readonly IQueueTask[],
  task: IQueueTask
): { before: IQueueTask | null; after: IQueueTask | null } {
  const hand = items.filter(each => ofOneHand(each, task));
  const place = hand.findIndex(each => each.task_id === task.task_id);
  return { before: hand[place - 1] ?? null, after: (place < 0 ? undefined : hand[place + 1]) ?? null };
}

/** Where a task goes that is dropped on another one: before it from below, after it from above; null: it stays. */
export function placeOf(items: readonly IQueueTask[], from: number, onto: number): Place | null {
  const [source, target] = [from, onto].map(id => items.find(each => each.task_id === id));
  if (!source || !target || from === onto || !ofOneHand(source, target)) {
    return null;
  }
  return items.indexOf(source) > items.indexOf(target) ? { before: onto } : { after: onto };
}
