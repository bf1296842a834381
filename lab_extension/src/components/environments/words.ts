/** Environments in words. Pure functions. */

import type { IEnvironment } from '../../api/extension';
import { trans } from '../../text/translate';

/** Whose it is: `mine`, `group cv`, `base`. */
export function levelOf(name: string, owners: readonly string[]): string {
  const [level = '', owner = ''] = name.split('/');
  if (level === 'base') {
    return 'base';
  }
  if (level === 'groups') {
    return trans.__('group %1', owner);
  }
  return owners[0] === `users/${owner}` ? trans.__('mine') : owner;
}

/** The name without its owner. */
export function shortName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** `8.4 MB`. */
export function bytes(size: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let amount = size;
  let at = 0;
  while (amount >= 1000 && at < units.length - 1) {
    amount /= 1000;
    at += 1;
  }
  return `${at === 0 || amount >= 10 ? Math.round(amount) : amount.toFixed(1)} ${units[at]}`;
}

/** What an environment has beyond Python: `base/torch, timm==1.0.20`. */
export function contentsOf(environment: IEnvironment): string {
  const parts = [...(environment.extends ? [environment.extends] : []), ...(environment.requirements ?? [])];
  return parts.length === 0 ? trans.__('nothing but Python') : parts.join(', ');
}

/** The lines of a requirements file as requirements; comments and empty lines are left out. */
export function requirementsOf(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.replace(/(^|\s)#.*$/, '').trim())
    .filter(line => line !== '');
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** What is wrong with a new name below an owner (`users/ann`); null: nothing. */
export function nameError(owner: string, name: string, taken: readonly string[]): string | null {
  if (!NAME.test(name)) {
    return trans.__(
      'Use 1 to 63 letters, digits, dots, dashes and underscores; begin with a letter or a digit.'
    );
  }
  return taken.includes(`${owner}/${name}`) ? trans.__('There is one of that name already.') : null;
}
