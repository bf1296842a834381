/** A task that was submitted before, as a new submission. Pure functions. */

import type { ITaskDetail, ITaskSubmit } from '../../api/types';
import { SUBMIT_FIELDS } from '../../text/askedFields';
import { joinCommand } from '../../text/commandLine';
import { trans } from '../../text/translate';
import type { IQuestion } from '../host';
import { isWaiting } from '../../text/words';
import { initialValues, typedValues, type IFormContext, type IFormValues } from './form';

/** What the form opens with, and what it has no fields for. */
export interface IAgain {
  values: IFormValues;
  kept: Partial<ITaskSubmit>;
}

/** Its environment, by the name that a submission has. */
function environmentOf({ environment, haienv }: ITaskDetail): string | null {
  return haienv === null ? environment : haienv.latest ? haienv.name : `${haienv.name}@${haienv.generation}`;
}

/** Fields of a submission that a further one does not take over: two tasks must not save in the same folder. */
const NOT_AGAIN: readonly string[] = ['checkpoint_dir', 'hold', 'take_snapshot'];

/** The request that the task was made from. */
export function requestOf(task: ITaskDetail, names: readonly string[] = SUBMIT_FIELDS): ITaskSubmit {
  const { snapshot } = task;
  const same = names.filter(name => name in task && !NOT_AGAIN.includes(name));
  return {
    ...(Object.fromEntries(
      same.map(name => [name, task[name as keyof ITaskDetail]])
    ) as unknown as ITaskSubmit),
    environment: environmentOf(task),
    env_latest: task.haienv?.latest ?? false,
    snapshot:
      snapshot === null ? null : { digest: snapshot.digest, commit: snapshot.commit, dirty: snapshot.dirty }
  };
}

/** The form, filled with a task. */
export function againOf(
  task: ITaskDetail,
  context: IFormContext,
  names: readonly string[] = SUBMIT_FIELDS
): IAgain {
  const asked = requestOf(task, names);
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
    ...typedValues(task),
    profile: task.profile,
    signal: task.signal ?? '',
    watch: task.watch.join('\n'),
    secrets: task.secrets.join('\n'),
    environment: asked.environment ?? '',
    // It runs in the very generation that it had.
    freeze: false
  };
  // What the form has fields for is read from these; `snapshot` is another question there.
  const kept = Object.entries(asked).filter(([name]) => !(name in values) || name === 'snapshot');
  return { values, kept: Object.fromEntries(kept) };
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
