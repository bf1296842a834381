/** The REST interface of HAI as functions. */

import { AdminApi, type IAdminApi } from './admin';
import type { ISnapshotTaken, ISubmitDefaults } from './extension';
import { NotificationsApi, type INotificationsApi } from './notifications';
import { Operations, type IOperations, type ITaskFilter, type TaskAction } from './operations';
import { requestEvents, requestJson } from './request';
import type { IServerEvent } from './sse';
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
  IRecordingSubmit,
  ITaskDetail,
  ITaskPage,
  ITaskSeries,
  ITaskSubmit,
  IUsageReport,
  PriorityChoice
} from './types';
import type { ITransport } from './transport';

/** Which of the two a task can run in. */
export type EnvironmentKind = IEnvironment['kind'];

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
  until?: string;
  user?: string;
  group?: string;
}

/** The same for a report on nodes. */
export interface INodesQuery {
  by?: INodesReport['by'];
  since?: string;
  until?: string;
}

/** What the models need of the platform; tests give their own. */
export interface IApi {
  /** What only admins may ask for and change. */
  readonly admin: IAdminApi;
  readonly operations: IOperations;
  readonly notifications: INotificationsApi;
  me(): Promise<IMe>;
  policy(): Promise<IPolicy>;
  cluster(): Promise<ICluster>;
  /** The tasks that hold nodes now, at most as many; the others are counted. */
  use(limit: number): Promise<IClusterUse>;
  /** All nodes, with what each task uses there. */
  nodes(): Promise<INodeList>;
  nodesReport(query: INodesQuery): Promise<INodesReport>;
  report(query: IReportQuery): Promise<IUsageReport>;
  tasks(query: ITaskQuery): Promise<ITaskPage>;
  task(id: number): Promise<ITaskDetail>;
  explain(id: number): Promise<IExplanation>;
  decisions(id: number, after: number, limit: number): Promise<IDecisionPage>;
  submit(task: ITaskSubmit, key: string): Promise<ITaskDetail>;
  act(id: number, action: TaskAction): Promise<ITaskDetail>;
  setPriority(id: number, priority: PriorityChoice): Promise<ITaskDetail>;
  logTail(id: number, rank: number, tail: number, signal?: AbortSignal): Promise<ILogPage>;
  logPage(id: number, rank: number, part: ILogPart, signal?: AbortSignal): Promise<ILogPage>;
  logFollow(id: number, rank: number, cursor: string, signal: AbortSignal): AsyncIterable<IServerEvent>;
  /** How much is kept of a rank's log, by run. */
  logExtents(id: number, rank: number, signal?: AbortSignal): Promise<ILogExtents>;
  /** Where the whole log of a rank can be downloaded; `times`: with the time of each line. */
  logDownloadUrl(id: number, rank: number, times: boolean): string;
  logSearch(id: number, text: string): Promise<ILogHits>;
  metrics(id: number, query: ISeriesQuery): Promise<ITaskSeries>;
  /** The newest points as they come. */
  metricsFollow(id: number, query: ISeriesQuery, signal: AbortSignal): AsyncIterable<IServerEvent>;
  recordings(id: number): Promise<IRecordingList>;
  recording(id: number, recording: number): Promise<IRecording>;
  /** Record what a running task does. */
  record(id: number, wish: IRecordingSubmit): Promise<IRecording>;
  /** Where the trace of a process can be downloaded. */
  traceUrl(id: number, recording: number, rank: number, trace: number): string;
  /** Where the traces of all ranks can be downloaded as one. */
  allTracesUrl(id: number, recording: number): string;
  /** `all`: of all users, which only admins may ask for. */
  events(after: string | null, signal: AbortSignal, all?: boolean): AsyncIterable<IServerEvent>;
  submitDefaults(path: string): Promise<ISubmitDefaults>;
  environments(kind?: EnvironmentKind): Promise<IEnvironmentList>;
  /** Have an environment made or changed by a task. */
  build(name: string, change: IBuildSubmit, key: string): Promise<ITaskDetail>;
  /** Store a folder of this server as it is now. */
  snapshot(folder: string, group: string): Promise<ISnapshotTaken>;
}

/** The platform behind a transport. */
export class Api implements IApi {
  readonly admin: IAdminApi;
  readonly operations: IOperations;
  readonly notifications: INotificationsApi;

  constructor(private readonly transport: ITransport) {
    this.admin = new AdminApi(transport);
    this.operations = new Operations(transport);
    this.notifications = new NotificationsApi(transport);
  }

  me(): Promise<IMe> {
    return requestJson(this.transport, 'api/me');
  }

  policy(): Promise<IPolicy> {
    return requestJson(this.transport, 'api/policy');
  }

  cluster(): Promise<ICluster> {
    return requestJson(this.transport, 'api/cluster');
  }

  use(limit: number): Promise<IClusterUse> {
    return requestJson(this.transport, 'api/cluster/use', { query: { limit } });
  }

  nodesReport(query: INodesQuery): Promise<INodesReport> {
    return requestJson(this.transport, 'api/reports/nodes', { query: { ...query } });
  }

  nodes(): Promise<INodeList> {
    return requestJson(this.transport, 'api/nodes', { query: { use: true } });
  }

  report(query: IReportQuery): Promise<IUsageReport> {
    return requestJson(this.transport, 'api/reports', { query: { ...query } });
  }

  tasks(query: ITaskQuery): Promise<ITaskPage> {
    return requestJson(this.transport, 'api/tasks', { query: { ...query } });
  }

  task(id: number): Promise<ITaskDetail> {
    return requestJson(this.transport, `api/tasks/${id}`);
  }

  explain(id: number): Promise<IExplanation> {
    return requestJson(this.transport, `api/tasks/${id}/explain`);
  }

  decisions(id: number, after: number, limit: number): Promise<IDecisionPage> {
    return requestJson(this.transport, `api/tasks/${id}/decisions`, { query: { after, limit } });
  }

  submit(task: ITaskSubmit, key: string): Promise<ITaskDetail> {
    return requestJson(this.transport, 'api/tasks', {
      method: 'POST',
      body: task,
      headers: { 'Idempotency-Key': key }
    });
  }

  act(id: number, action: TaskAction): Promise<ITaskDetail> {
    return requestJson(this.transport, `api/tasks/${id}/${action}`, { method: 'POST' });
  }

  setPriority(id: number, priority: PriorityChoice): Promise<ITaskDetail> {
    return requestJson(this.transport, `api/tasks/${id}/priority`, {
      method: 'PUT',
      body: { priority }
    });
  }

  logTail(id: number, rank: number, tail: number, signal?: AbortSignal): Promise<ILogPage> {
    return requestJson(this.transport, `api/tasks/${id}/logs`, {
      query: { rank, tail },
      ...(signal ? { signal } : {})
    });
  }

  logFollow(id: number, rank: number, cursor: string, signal: AbortSignal): AsyncIterable<IServerEvent> {
    return requestEvents(this.transport, `api/tasks/${id}/logs`, {
      query: { rank, cursor, follow: 1 },
      signal
    });
  }

  logPage(id: number, rank: number, part: ILogPart, signal?: AbortSignal): Promise<ILogPage> {
    return requestJson(this.transport, `api/tasks/${id}/logs`, {
      query: { rank, ...part },
      ...(signal ? { signal } : {})
    });
  }

  logExtents(id: number, rank: number, signal?: AbortSignal): Promise<ILogExtents> {
    return requestJson(this.transport, `api/tasks/${id}/logs/extents`, {
      query: { rank },
      ...(signal ? { signal } : {})
    });
  }

  logDownloadUrl(id: number, rank: number, times: boolean): string {
    return `${this.transport.url(`api/tasks/${id}/logs/download`)}?rank=${rank}${times ? '&times=true' : ''}`;
  }

  logSearch(id: number, text: string): Promise<ILogHits> {
    return requestJson(this.transport, `api/tasks/${id}/logs/search`, { query: { q: text } });
  }

  metrics(id: number, query: ISeriesQuery): Promise<ITaskSeries> {
    return requestJson(this.transport, `api/tasks/${id}/metrics`, { query: seriesQuery(query) });
  }

  metricsFollow(id: number, query: ISeriesQuery, signal: AbortSignal): AsyncIterable<IServerEvent> {
    return requestEvents(this.transport, `api/tasks/${id}/metrics`, {
      query: { ...seriesQuery(query), follow: 1 },
      signal
    });
  }

  recordings(id: number): Promise<IRecordingList> {
    return requestJson(this.transport, `api/tasks/${id}/profiles`);
  }

  recording(id: number, recording: number): Promise<IRecording> {
    return requestJson(this.transport, `api/tasks/${id}/profiles/${recording}`);
  }

  record(id: number, wish: IRecordingSubmit): Promise<IRecording> {
    return requestJson(this.transport, `api/tasks/${id}/profiles`, { method: 'POST', body: wish });
  }

  traceUrl(id: number, recording: number, rank: number, trace: number): string {
    const path = `api/tasks/${id}/profiles/${recording}/ranks/${rank}/traces/${trace}`;
    return this.transport.url(path);
  }

  allTracesUrl(id: number, recording: number): string {
    return this.transport.url(`api/tasks/${id}/profiles/${recording}/trace`);
  }

  events(after: string | null, signal: AbortSignal, all = false): AsyncIterable<IServerEvent> {
    return requestEvents(this.transport, 'api/events', {
      signal,
      ...(all ? { query: { user: '*' } } : {}),
      ...(after === null ? {} : { headers: { 'Last-Event-ID': after } })
    });
  }

  submitDefaults(path: string): Promise<ISubmitDefaults> {
    return requestJson(this.transport, 'submit-defaults', { query: { path } });
  }

  /** What the user's tasks can run in: images, and environments of haienv. */
  environments(kind?: EnvironmentKind): Promise<IEnvironmentList> {
    return requestJson(this.transport, 'api/environments', kind === undefined ? {} : { query: { kind } });
  }

  build(name: string, change: IBuildSubmit, key: string): Promise<ITaskDetail> {
    return requestJson(this.transport, `api/environments/${encodeURIComponent(name)}/builds`, {
      method: 'POST',
      body: change,
      headers: { 'Idempotency-Key': key }
    });
  }

  snapshot(folder: string, group: string): Promise<ISnapshotTaken> {
    return requestJson(this.transport, 'snapshot', { method: 'POST', body: { folder, group } });
  }
}

function seriesQuery({
  since,
  step,
  ranks,
  names
}: ISeriesQuery): Record<string, string | number | undefined> {
  return {
    since: since === undefined ? undefined : new Date(since * 1000).toISOString(),
    step,
    ranks: ranks.join(','),
    names: names.join(',')
  };
}
