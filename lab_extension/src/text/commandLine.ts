/** Command lines and lengths of time as people type them. Pure functions; errors are sentences for the form. */

/** Join arguments to a line that `splitCommand` reads back. */
export function joinCommand(args: readonly string[]): string {
  return args
    .map(arg => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'"'"'`)}'`))
    .join(' ');
}

/** One piece of a command line: blanks, a quoted part, an escaped character or plain text. */
const PIECE = /(\s+)|'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])|([^\s'"\\]+)|([^])/g;

/** Split a line into arguments by the quoting rules of a POSIX shell; nothing is expanded. Throws Error. */
export function splitCommand(line: string): string[] {
  const args: string[] = [];
  let current: string | null = null;
  for (const [, blank, single, double, escaped, plain, open] of line.matchAll(PIECE)) {
    if (open !== undefined) {
      throw new Error(
        open === '\\'
          ? 'The command ends in a backslash; remove it.'
          : `A quote (${open}) is opened and not closed.`
      );
    }
    if (blank !== undefined) {
      args.push(...(current === null ? [] : [current]));
      current = null;
    } else if (escaped !== '\n') {
      // A backslash at the end of a line joins it with the next one; everything else is text.
      const text = single ?? double?.replace(/\\(["\\$`\n])/g, unescape) ?? escaped ?? plain ?? '';
      current = (current ?? '') + text;
    }
  }
  return current === null ? args : [...args, current];
}

/** What an escaped character is within double quotes. */
function unescape(_: string, char: string): string {
  return char === '\n' ? '' : char;
}

const UNITS: Record<string, number> = { s: 1, sec: 1, m: 60, min: 60, h: 3600, d: 86_400 };

/** `90`, `2m`, `1h 30min`, `1.5 h` in seconds. Throws Error. */
export function parseDuration(text: string): number {
  const clean = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(clean)) {
    return Number(clean);
  }
  const parts = [...clean.matchAll(/(\d+(?:\.\d+)?)\s*(sec|min|s|m|h|d)\s*/g)];
  if (parts.length === 0 || parts.map(part => part[0]).join('') !== clean) {
    throw new Error('Give seconds or a length of time such as 90, 2m or 1h 30m.');
  }
  return parts.reduce((sum, part) => sum + Number(part[1]) * (UNITS[part[2] ?? 's'] ?? 1), 0);
}

/** `KEY=value`, one a line, as a record. Throws Error. */
export function parseEnv(text: string): Record<string, string> {
  const env: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line.trim() === '') {
      continue;
    }
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (!match?.[1]) {
      throw new Error(`“${line.trim()}” is not of the form KEY=value.`);
    }
    env[match[1]] = match[2] ?? '';
  }
  return env;
}
