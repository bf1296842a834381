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
    <div className="hai-Table-scroll">
      <table className="hai-Table hai-NotifyRules">
        <thead>
          <tr>
            <th scope="col">{trans.__('Tell me when')}</th>
            {rules.channels.map(channel => (
              <th key={channel.name} scope="col" title={channel.missing ?? undefined}>
                {channelText(channel.name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rules.rules.map(rule => (
            <tr key={rule.kind}>
              <th scope="row">
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
              </th>
              {rules.channels.map(channel => {
                const told = rule.channels.includes(channel.name);
                return (
                  <td key={channel.name}>
                    <input
                      type="checkbox"
                      aria-label={trans.__('%1: %2', kindText(rule.kind), channelText(channel.name))}
                      title={channel.missing ?? undefined}
                      checked={told}
                      // What cannot be used can still be taken away.
                      disabled={channel.missing !== null && !told}
                      onChange={event => say(model.choose(rule.kind, channel.name, event.target.checked))}
                    />
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
