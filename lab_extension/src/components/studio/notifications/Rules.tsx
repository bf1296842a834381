/** Which kinds are told over which channels: a click writes it. */

import type { JSX } from 'react';
import { sentenceOf } from '../../../api/request';
import type { INotificationRules } from '../../../api/types';
import type { RulesModel } from '../../../models/rules';
import { duration } from '../../../text/format';
import { channelText, kindText } from '../../../text/notifications';
import { trans } from '../../../text/translate';
import { useHost } from '../../host';
import { Select } from '../../Select';
import { Table } from '../../Table';

const HOUR = 3600;
/** Waits that are offered, in seconds; any other one can be set by `hai notify`. */
const WAITS = [HOUR / 6, HOUR / 2, HOUR, 2 * HOUR, 4 * HOUR, 12 * HOUR, 24 * HOUR, 72 * HOUR];

export function Rules(props: { model: RulesModel; rules: INotificationRules }): JSX.Element {
  const { model, rules } = props;
  const host = useHost();
  const say = (change: Promise<unknown>): void =>
    void change.catch((error: unknown) => host.notify('error', sentenceOf(error)));
  const waits = [...new Set([...WAITS, rules.waits_longer_s])].sort((a, b) => a - b);
  return (
    <Table
      className="hai-Table hai-NotifyRules"
      items={rules.rules}
      keyOf={rule => rule.kind}
      columns={[
        {
          title: trans.__('Tell me when'),
          head: true,
          cell: rule => (
            <>
              {kindText(rule.kind)}
              {rule.kind === 'waiting' && (
                <>
                  {' '}
                  <Select
                    className="hai-mod-small"
                    aria-label={trans.__('How long a task waits before you are told')}
                    value={String(rules.waits_longer_s)}
                    onChange={event => say(model.write({ waits_longer_s: Number(event.target.value) }))}
                    options={waits.map(each => ({ value: String(each), label: duration(each) }))}
                  />
                </>
              )}
            </>
          )
        },
        ...rules.channels.map(({ name, missing }) => ({
          title: channelText(name),
          hint: missing ?? undefined,
          cell: ({ kind, channels }: INotificationRules['rules'][number]) => (
            <input
              type="checkbox"
              aria-label={trans.__('%1: %2', kindText(kind), channelText(name))}
              title={missing ?? undefined}
              checked={channels.includes(name)}
              // What cannot be used can still be taken away.
              disabled={missing !== null && !channels.includes(name)}
              onChange={event => say(model.choose(kind, name, event.target.checked))}
            />
          )
        }))
      ]}
    />
  );
}
