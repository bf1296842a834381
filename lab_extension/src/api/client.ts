/** The REST interface of HAI as functions. */

import { AdminApi, type IAdminApi } from './admin';
import type { ISnapshotTaken, ISubmitDefaults } from './extension';
import { NotificationsApi, type INotificationsApi } from './notifications';
import { Operations, type IOperations, type ITaskFilter, type TaskAction } from './operations';
import { Calls } from './request';
import type {
  IBuildSubmit,
  ICluster,
  IClusterUse,
  IDecisionPage,
  IEnvironment,
  IEnvironmentList,
  IExplanation,
  ILogExtents,
  ILogHits,
  ILogPage,
  IMe,
  INodeList,
  INodesReport,
  IPolicy,
  IRecording,
  IRecordingList,
  ISecretList,
  IRecordingSubmit,
  ITaskDetail,
  ITaskPage,
  ITaskSeries,
  ITaskSubmit,
  IUsageReport,
  PriorityChoice
} from './types';

export interface ITaskQuery extends ITaskFilter {
  /** For admins: a user's name, or `*` for all. */
  user?: string;
  state?: string;
  limit?: number;
  cursor?: string;
}

/** Which lines of a log: at most `limit` behind a position, or the last ones before it. */
export interface ILogPart {
  cursor?: string;
  before?: string;
  limit: number;
}

/** Which part of the metrics of a task. */
export interface ISeriesQuery {
  /** Only points that end after this time, Unix time in seconds. */
  since?: number | undefined;
  /** The length of the spans, seconds. */
  step?: number | undefined;
  ranks: readonly number[];
  names: readonly string[];
}

/** Which report; what is left out is the service's default. */
export interface IReportQuery {
  by?: IUsageReport['by'];
  /** RFC 3339. */
  since?: string;
  user?: string;
}

/** The same for a report on nodes. */
export interface INodesQuery {
  by?: INodesReport['by'];
  since?: string;
}

export class Api extends Calls {
  readonly admin: IAdminApi = new AdminApi(this.transport);
  readonly operations: IOperations = new Operations(this.transport);
  readonly notifications: INotificationsApi = new NotificationsApi(this.transport);

  me = () => this.ask<IMe>('api/me');
  policy = () => this.ask<IPolicy>('api/policy');
  cluster = () => this.ask<ICluster>('api/cluster');
  /** The tasks that hold nodes now, at most as many; the others are counted. */
  use = (limit: number) => this.ask<IClusterUse>('api/cluster/use', { query: { limit } });
  nodesReport = (query: INodesQuery) => this.ask<INodesReport>('api/reports/nodes', { query });
  /** All nodes, with what each task uses there. */
  nodes = () => this.ask<INodeList>('api/nodes', { query: { use: true } });
  report = (query: IReportQuery) => this.ask<IUsageReport>('api/reports', { query });
  tasks = (query: ITaskQuery) => this.ask<ITaskPage>('api/tasks', { query });
  task = (id: number) => this.ask<ITaskDetail>(`api/tasks/${id}`);
  explain = (id: number) => this.ask<IExplanation>(`api/tasks/${id}/explain`);
  decisions = (id: number, after: number, limit: number) =>
    this.ask<IDecisionPage>(`api/tasks/${id}/decisions`, { query: { after, limit } });
  submit = (task: ITaskSubmit, key: string) =>
    this.ask<ITaskDetail>('api/tasks', { method: 'POST', body: task, headers: { 'Idempotency-Key': key } });
  act = (id: number, action: TaskAction) =>
    this.ask<ITaskDetail>(`api/tasks/${id}/${action}`, { method: 'POST' });
  setPriority = (id: number, priority: PriorityChoice) =>
    this.ask<ITaskDetail>(`api/tasks/${id}/priority`, { method: 'PUT', body: { priority } });
  logTail = (id: number, rank: number, tail: number, signal?: AbortSignal) =>
    this.ask<ILogPage>(`api/tasks/${id}/logs`, { query: { rank, tail }, signal });
  logFollow = (id: number, rank: number, cursor: string, signal: AbortSignal) =>
    this.stream(`api/tasks/${id}/logs`, { query: { rank, cursor, follow: 1 }, signal });
  logPage = (id: number, rank: number, part: ILogPart, signal?: AbortSignal) =>
    this.ask<ILogPage>(`api/tasks/${id}/logs`, { query: { rank, ...part }, signal });
  /** How much is kept of a rank's log, by run. */
  logExtents = (id: number, rank: number, signal?: AbortSignal) =>
    this.ask<ILogExtents>(`api/tasks/${id}/logs/extents`, { query: { rank }, signal });
  /** Where the whole log of a rank can be downloaded; `times`: with the time of each line. */
  logDownloadUrl = (id: number, rank: number, times: boolean) =>
    `${this.transport.url(`api/tasks/${id}/logs/download`)}?rank=${rank}${times ? '&times=true' : ''}`;
  logSearch = (id: number, text: string) =>
    this.ask<ILogHits>(`api/tasks/${id}/logs/search`, { query: { q: text } });
  metrics = (id: number, query: ISeriesQuery) =>
    this.ask<ITaskSeries>(`api/tasks/${id}/metrics`, { query: seriesQuery(query) });
  /** The newest points as they come. */
  metricsFollow = (id: number, query: ISeriesQuery, signal: AbortSignal) =>
    this.stream(`api/tasks/${id}/metrics`, { query: { ...seriesQuery(query), follow: 1 }, signal });
  recordings = (id: number) => this.ask<IRecordingList>(`api/tasks/${id}/profiles`);
  recording = (id: number, recording: number) =>
    this.ask<IRecording>(`api/tasks/${id}/profiles/${recording}`);
  /** Record what a running task does. */
  record = (id: number, wish: IRecordingSubmit) =>
    this.ask<IRecording>(`api/tasks/${id}/profiles`, { method: 'POST', body: wish });
  /** Where the trace of a process can be downloaded. */
  traceUrl = (id: number, recording: number, rank: number, trace: number) =>
    this.transport.url(`api/tasks/${id}/profiles/${recording}/ranks/${rank}/traces/${trace}`);
  /** Where the traces of all ranks can be downloaded as one. */
  allTracesUrl = (id: number, recording: number) =>
    this.transport.url(`api/tasks/${id}/profiles/${recording}/trace`);
  /** `all`: of all users, which only admins may ask for. */
  events = (after: string | null, signal: AbortSignal, all?: boolean) =>
    this.stream('api/events', {
      signal,
      query: { user: all ? '*' : undefined },
      headers: after === null ? {} : { 'Last-Event-ID': after }
    });
  submitDefaults = (path: string) => this.ask<ISubmitDefaults>('submit-defaults', { query: { path } });
  /** The user's secrets, by name; nobody is shown a value. */
  secrets = () => this.ask<ISecretList>('api/secrets');
  /** What the user's tasks can run in: images, and environments of haienv. */
  environments = (kind?: IEnvironment['kind']) =>
    this.ask<IEnvironmentList>('api/environments', { query: { kind } });
  /** Have an environment made or changed by a task. */
  build = (name: string, change: IBuildSubmit, key: string) =>
    this.ask<ITaskDetail>(`api/environments/${encodeURIComponent(name)}/builds`, {
      method: 'POST',
      body: change,
      headers: { 'Idempotency-Key': key }
    });
  /** Store a folder of this server as it is now. */
  snapshot = (folder: string, group: string) =>
    this.ask<ISnapshotTaken>('snapshot', { method: 'POST', body: { folder, group } });
}

/** What the models need of the platform; tests give their own. */
export type IApi = Pick<Api, keyof Api>;

function seriesQuery({ since, step, ranks, names }: ISeriesQuery): object {
  return {
    since: since === undefined ? undefined : new Date(since * 1000).toISOString(),
    step,
    ranks: ranks.join(','),
    names: names.join(',')
  };
}
