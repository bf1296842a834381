import { afterEach, describe, expect, it } from 'vitest';
import type { IAlarm } from '../api/types';
import { alarmDetail, alarmText } from './alarms';
import { fill, takeCatalogue } from './translate';

const LOST: IAlarm = {
  name: 'HaiNodesLost',
  severity: 'warning',
  summary: 'Nodes do not answer',
  detail: 'Nodes of group a: 2; their tasks go on elsewhere.',
  group: 'a',
  count: 2,
  runbook: 'runbooks/HaiNodesLost.md'
};

describe('an alarm', () => {
  afterEach(() => takeCatalogue(null, 'en'));

  it('is said as the service says it in English', () => {
    expect(alarmText(LOST)).toBe('Nodes do not answer.');
    expect(alarmDetail(LOST, '5 min ago')).toBe(LOST.detail);
  });

  it('is said by its runbook and its data in another language', () => {
    const marked = (text: string, ...values: (string | number)[]): string => `‹${fill(text, values)}›`;
    takeCatalogue({ __: marked, _n: marked, _p: (_, text) => marked(text) }, 'zh-CN');
    expect(alarmText(LOST)).toBe('节点没有应答。');
    expect(alarmDetail(LOST, '5 min ago')).toBe('‹Nodes of group a: 2; their tasks go on elsewhere.›');
    const silent = { ...LOST, name: 'HaiSchedulerSilent', group: null, count: null };
    expect(alarmDetail(silent, '5 min ago')).toMatch('was 5 min ago');
    expect(alarmDetail(silent, null)).toMatch('No tick has succeeded');
  });

  it('of a newer service is shown as it says it', () => {
    takeCatalogue(null, 'zh-CN');
    const other = { ...LOST, name: 'HaiOfTomorrow' };
    expect([alarmText(other), alarmDetail(other, null)]).toEqual(['Nodes do not answer.', LOST.detail]);
  });
});
