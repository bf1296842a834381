/** The health of scheduler, database and cluster, the versions of the parts, and the alarms in force. */

import type { JSX } from 'react';
import type { IPlatformHealth } from '../../../api/types';
import { alarmDetail, alarmText, severityText } from '../../../text/alarms';
import { RUNBOOK_NAMES } from '../../../text/runbook';
import { numberText } from '../../../text/words';
import { duration } from '../../../text/format';
import { trans } from '../../../text/translate';
import { Notice } from '../../react';
import { useRead } from '../context';
import { useRouter } from '../router';
import { Runbook, RunbookLink } from './Runbook';
import { moment } from './values';
import { NODE_STATES, stateWord, type NodeState } from '../nodes/states';

/** States that the health calls otherwise than the list of nodes does. */
const HEALTH_STATES: Record<string, NodeState> = { lost: 'down', orphan: 'orphaned' };

/** Seconds to the millisecond; a dash for what is not known. */
function milliseconds(seconds: number | null): string {
  return seconds === null ? '–' : trans.__('%1 ms', Math.round(1000 * seconds));
}

function yes(value: boolean): string {
  return value ? trans.__('yes') : trans.__('no');
}

/** The word of a state that the health counts nodes by; of a newer service: its own. */
function nodesWord(state: string): string {
  const known = NODE_STATES.find(each => each === (HEALTH_STATES[state] ?? state));
  return known === undefined ? state : stateWord(known);
}

function lastTick({ scheduler }: IPlatformHealth): string | null {
  return scheduler.last_tick_s === null ? null : trans.__('%1 ago', duration(scheduler.last_tick_s));
}

/** A part of the platform: what is known of it, in words. */
export function healthFacts(health: IPlatformHealth): [string, [string, string][]][] {
  const { scheduler, database, cluster, versions } = health;
  return [
    [
      trans.__('Scheduler'),
      [
        [trans.__('Decides'), yes(scheduler.deciding)],
        [trans.__('Paused by an admin'), yes(scheduler.paused)],
        [trans.__('Leader'), scheduler.leader ?? '–'],
        [trans.__('Leads until'), scheduler.lease_until === null ? '–' : moment(scheduler.lease_until)],
        [trans.__('Last tick'), lastTick(health) ?? '–'],
        [trans.__('Ticks'), numberText(scheduler.ticks)],
        [trans.__('Half of the ticks within'), milliseconds(scheduler.tick_p50_s)],
        [trans.__('95 of 100 ticks within'), milliseconds(scheduler.tick_p95_s)]
      ]
    ],
    [
      trans.__('Database'),
      [
        [trans.__('Answers'), yes(database.reachable)],
        [trans.__('Kind'), database.kind ?? '–'],
        [trans.__('Answer time'), milliseconds(database.answer_s)],
        [
          trans.__('Size'),
          database.size === null
            ? '–'
            : trans.__('%1 MiB', numberText(Math.round((10 * database.size) / 2 ** 20) / 10))
        ],
        [trans.__('Revision'), database.revision ?? '–']
      ]
    ],
    [
      trans.__('Cluster'),
      [
        [trans.__('Answers'), yes(cluster.reachable)],
        [trans.__('Answer time'), milliseconds(cluster.answer_s)],
        ...Object.entries(cluster.nodes).map(([state, n]): [string, string] => [
          trans.__('Nodes: %1', nodesWord(state)),
          numberText(n)
        ])
      ]
    ],
    [
      trans.__('Versions'),
      Object.entries(versions).map(([part, version]): [string, string] => [part, version ?? '–'])
    ]
  ];
}

/** The health, or with `runbook=NAME` in the address what to do about an alarm. */
export function HealthPage(): JSX.Element {
  const { runbook } = useRouter().route.query;
  return runbook === undefined ? <Health /> : <Runbook name={runbook} />;
}

function Health(): JSX.Element {
  const model = useRead('health', ['node.', 'cluster.'], api => api.admin.health(), null, 10_000);
  const health = model.value;
  return (
    <>
      <header className="hai-Studio-head">
        <h1>{trans.__('Health')}</h1>
        <span role="status">
          {health === null
            ? trans.__('Loading…')
            : health.status === 'ok'
              ? trans.__('All is well')
              : trans.__('Something is wrong')}
        </span>
      </header>
      {model.error !== null && <Notice kind="error">{model.error}</Notice>}
      {health && (
        <>
          {health.scheduler.detail !== null && <Notice kind="warning">{health.scheduler.detail}</Notice>}
          {health.doubled_uids.map(one => (
            <Notice key={one.uid} kind="warning">
              {trans.__(
                '%1 have one uid, %2: they can read and change the files of each other.',
                one.users.join(', '),
                one.uid
              )}
            </Notice>
          ))}
          <section aria-label={trans.__('Alarms in force')}>
            {health.alarms.length === 0 ? (
              <p className="hai-Empty">{trans.__('No alarm is in force.')}</p>
            ) : (
              health.alarms.map(alarm => (
                <Notice
                  key={`${alarm.name} ${alarm.detail}`}
                  kind={alarm.severity === 'critical' ? 'error' : alarm.severity}
                >
                  <b>{`${alarm.name} (${severityText(alarm.severity)}): ${alarmText(alarm)}`}</b>{' '}
                  {alarmDetail(alarm, lastTick(health))}{' '}
                  {RUNBOOK_NAMES.includes(alarm.name) ? (
                    <RunbookLink name={alarm.name}>{trans.__('What to do')}</RunbookLink>
                  ) : (
                    trans.__('What to do: %1 in the documentation.', alarm.runbook)
                  )}
                </Notice>
              ))
            )}
          </section>
          <div className="hai-Cards">
            {healthFacts(health).map(([part, facts]) => (
              <section key={part} className="hai-Card" aria-label={part}>
                <h2>{part}</h2>
                <table className="hai-Table">
                  <tbody>
                    {facts.map(([word, text]) => (
                      <tr key={word}>
                        <th scope="row">{word}</th>
                        <td>{text}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </section>
            ))}
          </div>
          <section aria-label={trans.__('Runbooks')}>
            <h2>{trans.__('Runbooks')}</h2>
            <p className="hai-Soft">
              {trans.__('What to do about each alert of the platform, by the names that Prometheus has too:')}
            </p>
            <ul className="hai-Runbooks">
              {RUNBOOK_NAMES.map(name => (
                <li key={name}>
                  <RunbookLink name={name}>{name}</RunbookLink>
                </li>
              ))}
            </ul>
          </section>
        </>
      )}
    </>
  );
}
