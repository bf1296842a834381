/** Fields of a task that need nothing but their definition: what is typed for them, and how they are shown. Pure functions. */

import type { ITaskDetail } from '../api/types';
import type { IAskedField, Said } from './askedField';
import { ASKED_FIELDS } from './askedFields';
import { parseDuration } from './commandLine';
import { duration } from './format';
import { trans } from './translate';

export type AskedName = (typeof ASKED_FIELDS)[number]['name'];

/** The value of what is typed, or chosen. Throws an Error that says how to write one. */
export function readAsked(field: IAskedField, typed: string): Said {
  const text = typed.trim();
  if (field.kind === 'flag') {
    return text !== '';
  }
  if (text === '') {
    return field.default;
  }
  const { least, most } = field;
  if (field.kind === 'length') {
    const seconds = parseDuration(text);
    if (seconds < (least ?? 0) || (most !== null && seconds > most)) {
      throw new Error(`Leave it empty, or give a time${most === null ? '' : ` up to ${duration(most)}`}.`);
    }
    return seconds;
  }
  if (field.kind === 'number') {
    const number = /^\d+$/.test(text) ? Number(text) : NaN;
    if (!(number >= (least ?? 0) && number <= (most ?? Infinity))) {
      throw new Error(
        `Leave it empty for none, or give a whole number${most === null ? '' : ` up to ${most}`}.`
      );
    }
    return number;
  }
  return text;
}

/** What is typed for a value. */
export function typedAsked(field: IAskedField, value: Said): string {
  if (value === field.default || value === null || value === false) {
    return '';
  }
  return field.kind === 'length' ? `${String(value)}s` : String(value);
}

/** A value for the eye. */
function shown(field: IAskedField, value: Said): string {
  if (value === null || value === false) {
    return trans.__('none');
  }
  if (value === true) {
    return trans.__('yes');
  }
  return field.kind === 'length' ? duration(value as number) : String(value);
}

/** The fields of a task with their values; by default only those that say something. */
export function askedFacts(
  task: ITaskDetail,
  { all = false, fields = ASKED_FIELDS }: { all?: boolean; fields?: readonly IAskedField[] } = {}
): [string, string][] {
  return fields
    .map(field => ({ field, value: task[field.name as AskedName] }))
    .filter(({ field, value }) => all || value !== field.default)
    .map(({ field, value }) => [field.label(), shown(field, value)]);
}
