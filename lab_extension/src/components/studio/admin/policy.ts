/** Changes of policy numbers as an admin drafts them. Pure functions. */

import type { IPolicy, IPolicyChange, IPolicyNumber, IPolicyValue } from '../../../api/types';
import { moment } from '../../../text/format';
import { trans } from '../../../text/translate';
import { numberedOf, valueText, weightsOf } from './values';

/** New values as texts, by name of the number; null: to be reset. */
export type PolicyDraft = Readonly<Record<string, string | null>>;

/** The value that counts in a node group; null: in those that have none of their own. */
export function inForce(number: IPolicyNumber, group: string | null): IPolicyValue {
  return (group === null ? undefined : number.groups[group]) ?? number.common;
}

/** Whether an admin has set a number for just this node group, or for all of them, so that it can be reset there. */
export function resettable(number: IPolicyNumber, group: string | null): boolean {
  const value = inForce(number, group);
  return value.source === 'admin' && value.group === group;
}

/** The value that counts in a node group, as a form has it. */
export function textOf(number: IPolicyNumber, group: string | null): string {
  const text = valueText(inForce(number, group).value);
  return text === '–' ? '' : text;
}

/** The draft without what changes nothing: the values in force. */
export function changedOnly(draft: PolicyDraft, policy: IPolicy, group: string | null): PolicyDraft {
  return Object.fromEntries(
    policy.numbers.flatMap(number => {
      const text = draft[number.name];
      return text === undefined || text?.trim() === textOf(number, group) ? [] : [[number.name, text]];
    })
  );
}

/** What a draft says to the service, whose words say what is wrong with a value. */
export function changeOf(draft: PolicyDraft, policy: IPolicy, group: string | null): IPolicyChange {
  const changed = changedOnly(draft, policy, group);
  return {
    group,
    set: Object.fromEntries(
      policy.numbers.flatMap(({ name, kind }) => {
        const text = changed[name];
        return text === undefined || text === null ? [] : [[name, numberOf(kind, text)]];
      })
    ),
    unset: Object.keys(changed).filter(name => changed[name] === null)
  };
}

function numberOf(kind: IPolicyNumber['kind'], text: string): unknown {
  switch (kind) {
    case 'weights':
      return weightsOf(text);
    case 'int':
    case 'float':
      return numberedOf(text);
    case 'duration':
    case 'choice':
      return text.trim();
  }
}

/** `slice=1h, starve_after: reset`, or that there is nothing. */
export function draftWords(draft: PolicyDraft): string {
  const parts = Object.entries(draft).map(([name, text]) =>
    text === null ? trans.__('%1: reset', name) : `${name}=${text.trim()}`
  );
  return parts.length === 0 ? trans.__('no change') : parts.join(', ');
}

/** The numbers whose values differ between two readings, or that are drafted, with their values in the second: `slice=45m`. */
export function differenceWords(
  before: IPolicy | null,
  now: IPolicy,
  draft: PolicyDraft,
  group: string | null
): string {
  return now.numbers
    .filter(number => {
      const old = before?.numbers.find(each => each.name === number.name);
      const one = JSON.stringify([old?.common.value, old?.groups[group ?? '']?.value]);
      const other = JSON.stringify([number.common.value, number.groups[group ?? '']?.value]);
      return one !== other || number.name in draft;
    })
    .map(number => `${number.name}=${valueText(inForce(number, group).value)}`)
    .join(', ');
}

/** Where a value comes from, and who has set it when. */
export function sourceWords(value: IPolicyValue): string {
  const of = value.group ?? trans.__('all node groups');
  switch (value.source) {
    case 'default':
      return trans.__('default');
    case 'configuration':
      return trans.__('configuration, for %1', of);
    case 'admin':
      return value.by === null || value.at === null
        ? trans.__('an admin, for %1', of)
        : trans.__('%1, for %2, %3', value.by, of, moment(value.at));
  }
}

/** The groups whose value is another one than the common one: `gold: 1h; silver: 10m`. */
export function othersWords(number: IPolicyNumber): string {
  const common = JSON.stringify(number.common.value);
  return Object.entries(number.groups)
    .filter(([, value]) => JSON.stringify(value.value) !== common)
    .map(([group, value]) => `${group}: ${valueText(value.value)}`)
    .join('; ');
}
