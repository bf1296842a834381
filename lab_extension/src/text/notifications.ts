/** Kinds and channels of notifications, in the user's language. What is told comes from the service. */

import type { IDelivery, INotificationRule } from '../api/types';
import { trans } from './translate';

/** The kinds that users have rules for. */
export type RuledKind = INotificationRule['kind'];

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
