/** What Studio's pages ask of the platform, and do to nodes and to many tasks. */

import { Calls } from './request';
import type {
  IMarkPreview,
  INode,
  IOverview,
  IQueue,
  ITaskActionResults,
  ITaskDetail,
  PriorityChoice
} from './types';

/** What can be done to a task with one word. */
export type TaskAction = 'stop' | 'suspend' | 'resume' | 'hold';

/** What an admin can do to a node with one word. */
export type NodeAction = 'cordon' | 'drain' | 'uncordon';

/** The most tasks that one request of `actions` may name, and nodes of one `preview`. */
export const MOST = { tasks: 200, nodes: 1000 } as const;

/** Which part of the queue; what is left out is the service's default. */
export interface IQueueQuery {
  group?: string;
  /** `next` of the page before. */
  after?: number;
  limit?: number;
  mine?: boolean;
}

/** Where a waiting task is moved to: beside another one of the same user, node group and priority. */
export type Place = { before: number } | { after: number };

/** Filters and order of a list of tasks, beside whose and in which state they are. */
export interface ITaskFilter {
  text?: string;
  tag?: string;
  group?: string;
  priority?: PriorityChoice;
  starred?: boolean;
  sort?: TaskSort;
  order?: 'falling' | 'rising';
  /** Tell also how many there are, and what each uses. */
  total?: boolean;
  use?: boolean;
}

/** What lists of tasks can be in the order of. */
export const TASK_SORTS = [
  'id',
  'name',
  'user',
  'group',
  'state',
  'priority',
  'nodes',
  'ended',
  'ran'
] as const;
export type TaskSort = (typeof TASK_SORTS)[number];

export class Operations extends Calls {
  overview = () => this.ask<IOverview>('api/overview');
  queue = (query: IQueueQuery) => this.ask<IQueue>('api/queue', { query });
  /** Move a waiting task among its owner's others. */
  reorder = (id: number, place: Place) =>
    this.ask<ITaskDetail>(`api/tasks/${id}/order`, { method: 'PUT', body: place });
  /** What a mark on nodes would do; nothing is done. */
  preview = (nodes: readonly string[], mark: IMarkPreview['mark']) =>
    this.ask<IMarkPreview>('api/nodes/preview', { method: 'POST', body: { nodes, mark } });
  mark = (node: string, action: NodeAction) =>
    this.ask<INode>(`api/nodes/${encodeURIComponent(node)}/${action}`, { method: 'POST' });
  /** One action on at most `MOST.tasks` tasks; each has a result of its own. */
  actions = (action: TaskAction, tasks: readonly number[]) =>
    this.ask<ITaskActionResults>('api/tasks/actions', {
      method: 'POST',
      body: { action, tasks: tasks.map(String) }
    });
  setTags = (id: number, tags: readonly string[]) =>
    this.ask<ITaskDetail>(`api/tasks/${id}/tags`, { method: 'PUT', body: { tags } });
  setStar = (id: number, starred: boolean) =>
    this.ask<ITaskDetail>(`api/tasks/${id}/star`, { method: starred ? 'PUT' : 'DELETE' });
}

/** Reads of Studio's pages, and what they change. */
export type IOperations = Pick<Operations, keyof Operations>;
