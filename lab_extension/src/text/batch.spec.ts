import { describe, expect, it } from 'vitest';
import { shownCommand } from './batch';

const SCRIPT =
  '#!/bin/bash\n#SBATCH -N 2\n\n# comment\n#SBATCH -t 1:00:00\nsrun python a.py\n#SBATCH -J late\n';

describe('shownCommand', () => {
  it('shows a command as it is typed', () => {
    expect(shownCommand(['python', 'a b.py'])).toEqual({ text: "python 'a b.py'", whole: "python 'a b.py'" });
    expect(shownCommand([])).toEqual({ text: '', whole: '' });
  });

  it('shows a batch script by its name, its arguments and its options', () => {
    const words = ['/shims/hai-batch', '--ntasks=2', '--script=job.sh', '--', SCRIPT, '--epochs', '2'];
    expect(shownCommand(words)).toEqual({
      text: 'sbatch job.sh --epochs 2, with #SBATCH -N 2 -t 1:00:00',
      whole: SCRIPT
    });
  });

  it('says how long a script without a name is', () => {
    expect(shownCommand(['hai-batch', '--', SCRIPT]).text).toBe(
      'sbatch (a script of 7 lines), with #SBATCH -N 2 -t 1:00:00'
    );
    expect(shownCommand(['hai-batch', '--', 'a\nb\nc']).text).toBe('sbatch (a script of 3 lines)');
  });

  it('shows a line that was given with --wrap', () => {
    expect(shownCommand(['hai-batch', '--', '#!/bin/sh\nsrun hostname\n']).text).toBe(
      "sbatch --wrap='srun hostname'"
    );
  });

  it.each([[['hai-batch', '--ntasks=2']], [['hai-batch', '--']], [['echo', '--', SCRIPT]]])(
    'shows what is no batch script whole: %j',
    words => {
      const { text, whole } = shownCommand(words);
      expect(text).toBe(whole);
      expect(text).toContain(words[0]);
    }
  );
});
