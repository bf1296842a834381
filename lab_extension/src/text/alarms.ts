/**
 * Alarms in the user's language. The service says them in English: in other languages the first sentence of the alarm's runbook says what it
 * is, and a sentence made of its data says where. What this does not know is shown as the service says it.
 */

import type { IAlarm } from '../api/types';
import { runbookOf } from './runbook';
import { isEnglish, trans } from './translate';
import { numberText } from './words';

/** How grave an alarm is. */
export function severityText(severity: IAlarm['severity']): string {
  switch (severity) {
    case 'critical':
      return trans.__('critical');
    case 'warning':
      return trans.__('warning');
    case 'info':
      return trans.__('for information');
  }
}

/** What an alarm is about. */
export function alarmText(alarm: IAlarm): string {
  const first = isEnglish() ? null : runbookOf(alarm.name)?.text.split('\n\n')[1];
  return first ?? `${alarm.summary}.`;
}

/** Where it is and since when, as far as the service knows. `lastTick`: since when no tick has succeeded, in words; null: never. */
export function alarmDetail(alarm: IAlarm, lastTick: string | null): string {
  if (isEnglish()) {
    return alarm.detail;
  }
  switch (alarm.name) {
    case 'HaiNodesLost':
      return trans.__(
        'Nodes of group %1: %2; their tasks go on elsewhere.',
        alarm.group ?? '',
        numberText(alarm.count ?? 0)
      );
    case 'HaiNodesQuarantined':
      return trans.__(
        'Nodes of group %1: %2; they get no new runs until an admin has looked at them.',
        alarm.group ?? '',
        numberText(alarm.count ?? 0)
      );
    case 'HaiSchedulerSilent':
      return lastTick === null
        ? trans.__('No tick has succeeded. Running tasks go on; no task starts.')
        : trans.__('The last tick that succeeded was %1. Running tasks go on; no task starts.', lastTick);
    default:
      return alarm.detail;
  }
}
