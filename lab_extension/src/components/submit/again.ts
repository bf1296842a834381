/** A task that was submitted before, as a new submission. Pure functions. */

import type { ITaskDetail, ITaskSubmit } from '../../api/types';
import { joinCommand } from '../../text/commandLine';
import { trans } from '../../text/translate';
import type { IQuestion } from '../host';
import { isWaiting } from '../../text/words';
import { initialValues, type IFormContext, type IFormValues } from './form';

/** What the form opens with, and what it has no fields for. */
export interface IAgain {
  values: IFormValues;
  kept: Partial<ITaskSubmit>;
}

/** Its environment, by the name that a submission has. */
function environmentOf({ environment, haienv }: ITaskDetail): string | null {
  return haienv === null ? environment : haienv.latest ? haienv.name : `${haienv.name}@${haienv.generation}`;
}

/** The request that the task was made from. Where it saves is not taken over: two tasks must not share that folder. */
export function requestOf(task: ITaskDetail): ITaskSubmit {
  const { snapshot } = task;
  return {
    name: task.name,
    command: task.command,
    cwd: task.cwd,
    nodes: task.nodes,
    gpus: task.gpus,
    ranks_per_node: task.ranks_per_node,
    priority: task.priority,
    group: task.group,
    environment: environmentOf(task),
    env_latest: task.haienv?.latest ?? false,
    env: task.env,
    profile: task.profile,
    signal: task.signal,
    watch: task.watch,
    grace_s: task.grace_s,
    time_limit_s: task.time_limit_s,
    retries: task.retries,
    retry_backoff_s: task.retry_backoff_s,
    retry_exit_codes: task.retry_exit_codes,
    tags: task.tags,
    snapshot:
      snapshot === null ? null : { digest: snapshot.digest, commit: snapshot.commit, dirty: snapshot.dirty }
  };
}

/** The form, filled with a task. */
export function againOf(task: ITaskDetail, context: IFormContext): IAgain {
  const asked = requestOf(task);
  const empty = initialValues(
    { name: task.name, cwd: task.cwd, command: task.command, env: task.env },
    context
  );
  const seconds = (length: number | null): string => (length === null ? '' : `${length}s`);
  const values: IFormValues = {
    ...empty,
    command: joinCommand(task.command),
    nodes: String(task.nodes),
    gpus: task.gpus === null ? '' : String(task.gpus),
    ranks_per_node: task.ranks_per_node === null ? '' : String(task.ranks_per_node),
    priority: task.priority,
    group: task.group,
    grace_s: seconds(task.grace_s),
    time_limit_s: seconds(task.time_limit_s),
    retries: task.retries === 0 ? '' : String(task.retries),
    profile: task.profile,
    signal: task.signal ?? '',
    watch: task.watch.join('\n'),
    environment: asked.environment ?? '',
    // It runs in the very generation that it had.
    freeze: false
  };
  const { env_latest, retry_backoff_s, retry_exit_codes, tags, snapshot } = asked;
  return {
    values,
    kept: {
      ...(env_latest === undefined ? {} : { env_latest }),
      ...(retry_backoff_s === undefined ? {} : { retry_backoff_s }),
      ...(retry_exit_codes === undefined ? {} : { retry_exit_codes }),
      ...(tags === undefined ? {} : { tags }),
      ...(snapshot === undefined ? {} : { snapshot })
    }
  };
}

/** What is sent: what the form says, and what it has no fields for as far as that still fits. */
export function withKept(task: ITaskSubmit, again: IAgain | null): ITaskSubmit {
  if (again === null) {
    return task;
  }
  const { kept, values } = again;
  const sameFolder = task.cwd === values.cwd;
  const sameEnvironment = (task.environment ?? '') === values.environment;
  return {
    ...task,
    ...kept,
    env_latest: sameEnvironment && kept.env_latest === true,
    snapshot: sameFolder ? (kept.snapshot ?? null) : null,
    retry_backoff_s: (task.retries ?? 0) > 0 ? (kept.retry_backoff_s ?? 0) : 0,
    retry_exit_codes: (task.retries ?? 0) > 0 ? (kept.retry_exit_codes ?? []) : []
  };
}

/** What is asked where there is no form: whether to submit it as it was. */
export function againQuestion(task: Pick<ITaskDetail, 'name' | 'id'>): IQuestion {
  return {
    title: trans.__('Submit %1 again?', task.name),
    body: trans.__(
      'A new task is made with the command, size and environment of task %1. To change something first, use JupyterLab or `hai describe`.',
      task.id
    ),
    accept: trans.__('Submit it'),
    keep: trans.__('Cancel')
  };
}

/** What is asked after a task that waits was submitted with changes; null: the old one is not in the way. */
export function replaceQuestion(old: ITaskDetail, made: ITaskDetail): IQuestion | null {
  return isWaiting(old.state)
    ? {
        title: trans.__('Does task %1 replace task %2?', made.id, old.id),
        body: trans.__('Task %1 still waits. When you stop it, only the new task runs.', old.id),
        accept: trans.__('Stop task %1', old.id),
        keep: trans.__('Keep both')
      }
    : null;
}
