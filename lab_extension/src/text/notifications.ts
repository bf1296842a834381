/** Notifications in the user's language, from the ids and values that the service sends. */

import type { IDelivery, INotification, INotificationRule } from '../api/types';
import { duration, moment } from './format';
import { trans } from './translate';
import { count, numberText, reasonText } from './words';

/** What a notification says, for programs. */
export type Told = Pick<INotification, 'sentence' | 'params' | 'text'>;

/** The kinds that users have rules for. */
export type RuledKind = INotificationRule['kind'];

/** Its text; of a sentence that is not known here, the service's English. */
export function toldText(told: Told): string {
  return SENTENCES[told.sentence]?.(told.params) ?? told.text;
}

/** The text of a digest: how many more there were. */
export function digestText(n: number): string {
  return trans._n('%2 more notification', '%2 more notifications', n, numberText(n));
}

/** When a kind is told. */
export function kindText(kind: RuledKind): string {
  return KINDS[kind]();
}

/** The name of a channel; sinks have their own ones. */
export function channelText(channel: string): string {
  return CHANNELS[channel]?.() ?? channel.replace(/^sink:/, '');
}

const KINDS: Record<RuledKind, () => string> = {
  started: () => trans.__('A task begins its first run'),
  resumed: () => trans.__('A task goes on after an interruption'),
  interrupted: () => trans.__('A task must leave its nodes, or was interrupted'),
  ended: () => trans.__('A task has ended and did not fail'),
  failed: () => trans.__('A task has failed, with its last lines'),
  waiting: () => trans.__('A task waits for longer than'),
  gpus_idle: () => trans.__('GPUs of a task are idle for 30 or 60 minutes'),
  environment_built: () => trans.__('An environment is built'),
  test: () => trans.__('A test')
};

const CHANNELS: Record<string, () => string> = {
  lab: () => trans.__('JupyterLab and Studio'),
  browser: () => trans.__('Browser'),
  mail: () => trans.__('Mail'),
  webhook: () => trans.__('Webhook'),
  feed: () => trans.__('On the screen')
};

type Params = Told['params'];

const SENTENCES: Record<string, (params: Params) => string> = {
  'task.started': params => trans.__('%1 has started.', taskOf(params)),
  'task.resumed': params => trans.__('%1 goes on: run %2 has started.', taskOf(params), word(params.run)),
  'task.interrupted': params =>
    trans.__(
      '%1 must leave its nodes by %2 and goes on later: %3.',
      taskOf(params),
      moment(word(params.deadline)),
      because(params)
    ),
  'task.ending': params =>
    trans.__('%1 must end by %2: %3.', taskOf(params), moment(word(params.deadline)), because(params)),
  'task.broke': params =>
    trans.__('%1 was interrupted and goes on later: %2.', taskOf(params), because(params)),
  'task.succeeded': params => trans.__('%1 has ended well.', taskOf(params)),
  'task.stopped': params => trans.__('%1 has been stopped: %2.', taskOf(params), because(params)),
  'task.failed': params => {
    const codes = Array.isArray(params.exit_codes) ? params.exit_codes.join(', ') : '';
    // The cluster's own words on the end, such as that memory was short.
    const said = typeof params.message === 'string' ? `: ${params.message}` : '';
    return codes === ''
      ? trans.__('%1 has failed: %2.', taskOf(params), because(params))
      : trans.__('%1 has failed: %2 (status %3).', taskOf(params), because(params), `${codes}${said}`);
  },
  'task.waiting': params =>
    trans.__('%1 has waited for %2.', taskOf(params), duration(Number(params.waited_s ?? 0))),
  'task.idle_gpus': params => {
    const ranks: unknown[] = Array.isArray(params.ranks) ? params.ranks : [];
    const where =
      ranks.length === Number(params.of_ranks)
        ? trans.__('all ranks')
        : ranks.length === 1
          ? trans.__('rank %1', word(ranks[0]))
          : count(ranks.length, 'rank');
    return trans.__(
      '%1: GPUs of %2 have been idle for %3 min. Stop or suspend the task if it hangs.',
      taskOf(params),
      where,
      word(params.minutes)
    );
  },
  'environment.built': params =>
    trans.__(
      'The environment %1 is built (task %2).',
      word(params.environment ?? params.name),
      word(params.task)
    ),
  test: params => trans.__('This is a test of notifications, asked for by %1.', word(params.user))
};

function taskOf(params: Params): string {
  return trans.__('Task %1 (%2)', word(params.task), word(params.name));
}

function because(params: Params): string {
  return params.reason === null || params.reason === undefined
    ? trans.__('no reason was kept')
    : reasonText(word(params.reason));
}

/** A value of the wire as text. */
function word(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '?';
}

/** What is missing for a channel, as the service says it in English. */
const MISSING: Record<string, () => string> = {
  'Give a mail address.': () => trans.__('Give a mail address.'),
  'Give the address of a webhook.': () => trans.__('Give the address of a webhook.'),
  'There is no such sink any more: choose another one.': () =>
    trans.__('There is no such sink any more: choose another one.'),
  'This platform sends no mail: an admin sets NotificationSettings.smtp_host.': () =>
    trans.__('This platform sends no mail: an admin sets NotificationSettings.smtp_host.')
};

/** Why a channel cannot be used, and what to do. */
export function missingText(missing: string): string {
  return MISSING[missing]?.() ?? missing;
}

/** What came of a test. */
export function testText(
  channel: string,
  deliveries: readonly Pick<IDelivery, 'state' | 'error'>[]
): { kind: 'info' | 'warning' | 'error'; text: string } {
  const name = channelText(channel);
  const bad = deliveries.find(one => one.error !== null && one.state !== 'sent');
  if (bad !== undefined) {
    return bad.state === 'given_up'
      ? { kind: 'error', text: trans.__('%1: the test was not delivered: %2', name, bad.error ?? '') }
      : {
          kind: 'warning',
          text: trans.__('%1: the test was not accepted yet, and is sent again: %2', name, bad.error ?? '')
        };
  }
  return deliveries.length > 0 && deliveries.every(one => one.state === 'sent')
    ? { kind: 'info', text: trans.__('%1: the test was sent.', name) }
    : {
        kind: 'warning',
        text: trans.__('%1: the test still waits to be sent. See below what comes of it.', name)
      };
}
