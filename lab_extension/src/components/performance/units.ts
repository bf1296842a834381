/** Values of metrics as users read them. Pure functions. */

import { trans } from '../../text/translate';

/** '': a number of the job's own, which has none. */
export type Unit = 'cores' | 'bytes' | 'bytes/s' | '%' | 'W' | '';

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** A value with its unit, as `hai top` writes it: `1.5 cores`, `12.4 GiB`, `85 %`. */
export function valueText(value: number, unit: Unit): string {
  switch (unit) {
    case 'cores':
      return trans.__('%1 cores', rounded(value));
    case 'bytes':
      return bytesText(value);
    case 'bytes/s':
      return `${bytesText(value)}/s`;
    case '':
      return short(value);
    default:
      return `${rounded(value)} ${unit}`;
  }
}

/** Energy in the unit of electricity bills: `1.3 kWh`, `25 Wh`. */
export function energyText(joules: number): string {
  const hours = joules / 3600;
  return hours < 1000 ? trans.__('%1 Wh', rounded(hours)) : `${rounded(hours / 1000)} kWh`;
}

/** A value without the word of its unit, for an axis. */
export function tickText(value: number, unit: Unit): string {
  return unit === 'cores' ? rounded(value) : valueText(value, unit);
}

/** Distances of ticks that give round numbers. */
export function tickSteps(unit: Unit): number[] {
  if (unit === 'bytes' || unit === 'bytes/s') {
    return Array.from({ length: 50 }, (_, power) => 2 ** power);
  }
  const least = unit === '' ? -9 : -2;
  return Array.from({ length: 12 - least }, (_, n) => 10 ** (n + least)).flatMap(each => [
    each,
    2 * each,
    5 * each
  ]);
}

/** A number with four digits. */
export function short(value: number): string {
  return String(Number(value.toPrecision(4)));
}

function bytesText(value: number): string {
  let [rest, power] = [value, 0];
  while (rest >= 1024 && power < BINARY.length - 1) {
    rest /= 1024;
    power += 1;
  }
  return `${rounded(rest)} ${BINARY[power] ?? ''}`;
}

/** Two digits behind the point below 1, one below 100, none beyond: more cannot be measured. */
function rounded(value: number): string {
  const digits = value < 1 ? 2 : value < 100 ? 1 : 0;
  return String(Number(value.toFixed(digits)));
}
