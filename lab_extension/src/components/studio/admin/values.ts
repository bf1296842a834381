/** Values as admins write and read them. Pure functions. */

export { moment } from '../../../text/format';

/** A field as a number, or null when it is empty; what is no number stays a text, and the service says what is wrong. */
export function numberedOf(text: string): number | string | null {
  const trimmed = text.trim();
  if (trimmed === '') {
    return null;
  }
  const n = Number(trimmed);
  return Number.isNaN(n) ? trimmed : n;
}

/** A value in one line: texts as they are, weights as `alice=2, bob=1`. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) {
    return '–';
  }
  if (typeof value === 'object' && !Array.isArray(value)) {
    const parts = Object.entries(value).map(([name, each]) => `${name}=${valueText(each)}`);
    return parts.length === 0 ? '–' : parts.join(', ');
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `alice=2, bob=1` as an object. A part without a number stays a text, and the service says what is wrong. */
export function weightsOf(text: string): Record<string, unknown> {
  return Object.fromEntries(
    text
      .split(',')
      .map(part => part.trim())
      .filter(part => part !== '' && part !== '–')
      .map(part => {
        const at = part.lastIndexOf('=');
        return at < 0 ? [part, ''] : [part.slice(0, at).trim(), numberedOf(part.slice(at + 1))];
      })
  );
}
