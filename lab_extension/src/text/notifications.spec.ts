import { describe, expect, it } from 'vitest';
import { channelText, kindText } from './notifications';

describe('notifications in words', () => {
  it('names channels and kinds', () => {
    expect(channelText('lab')).toBe('JupyterLab and Studio');
    expect(channelText('sink:ops')).toBe('ops');
    expect(kindText('failed')).toBe('A task has failed, with its last lines');
  });
});
