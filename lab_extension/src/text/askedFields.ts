/** Fields of a submission that are asked for, and shown, by their definition alone. Written by `make reference` from the models of the service: change those, not this. */

import type { IAskedField } from './askedField';
import { trans } from './translate';

/** The fields of `ITaskSubmit`. */
export const SUBMIT_FIELDS = [
  'name',
  'command',
  'cwd',
  'nodes',
  'gpus',
  'priority',
  'group',
  'env',
  'secrets',
  'profile',
  'signal',
  'grace_s',
  'time_limit_s',
  'checkpoint_dir',
  'watch',
  'tags',
  'hold',
  'retries',
  'retry_backoff_s',
  'retry_exit_codes',
  'environment',
  'env_latest',
  'snapshot',
  'take_snapshot',
  'ranks_per_node'
] as const;

export const ASKED_FIELDS = [
  {
    name: 'retries',
    kind: 'number',
    words: [],
    least: 0,
    most: 100,
    default: 0,
    label: () => trans.__('Retries'),
    help: () => trans.__('How often it starts again if its command fails.')
  }
] as const satisfies readonly IAskedField[];

/** Their values where nothing is said. */
export const ASKED_DEFAULTS = {
  retries: 0
} as const;
