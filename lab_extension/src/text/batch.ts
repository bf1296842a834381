/** How the command of a batch script's task is shown: as `hai status` does, not with the whole text of the script. */

import { joinCommand } from './commandLine';
import { trans } from './translate';

const NAMED = '--script=';

/** A command as people know it, in one line where it is a batch script, and all of it. */
export interface IShownCommand {
  text: string;
  /** The script, or the same as `text`. */
  whole: string;
}

/** What to show of a task's command: `sbatch job.sh --epochs 2, with #SBATCH -N 2 -t 1:00:00` for a batch script. */
export function shownCommand(words: readonly string[]): IShownCommand {
  const at = words.indexOf('--');
  const script = words[at + 1];
  if (words[0]?.split('/').at(-1) !== 'hai-batch' || at < 0 || script === undefined) {
    const text = joinCommand(words);
    return { text, whole: text };
  }
  const file = words
    .slice(0, at)
    .find(word => word.startsWith(NAMED))
    ?.slice(NAMED.length);
  const lines = script.replace(/\n$/, '').split('\n');
  const options = directives(lines);
  const [, only] = lines;
  if (!file && options.length === 0 && lines.length === 2 && only !== undefined) {
    // What `--wrap` makes of one line.
    return { text: `sbatch --wrap=${joinCommand([only])}`, whole: script };
  }
  const called = joinCommand(['sbatch', ...(file ? [file] : []), ...words.slice(at + 2)]);
  const named = file ? called : trans.__('%1 (a script of %2 lines)', called, lines.length);
  return {
    text: options.length > 0 ? trans.__('%1, with #SBATCH %2', named, options.join(' ')) : named,
    whole: script
  };
}

/** The options in the script's `#SBATCH` lines: those before its first command, as Slurm reads them. */
function directives(lines: readonly string[]): string[] {
  const first = lines.findIndex(line => line.trim() !== '' && !line.trimStart().startsWith('#'));
  return (first < 0 ? lines : lines.slice(0, first))
    .filter(line => line.startsWith('#SBATCH'))
    .map(line => line.slice('#SBATCH'.length).trim())
    .filter(option => option !== '');
}
