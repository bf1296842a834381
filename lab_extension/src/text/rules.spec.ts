import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { rulesText } from './rules';

describe('a rule', () => {
  it('is said in words, each rule that has a number that admins may change', () => {
    const numbers = readFileSync(
      '../scheduler_service/hai_scheduler/service/shared/policy_numbers.py',
      'utf8'
    );
    const rules = [...numbers.matchAll(/"([A-Z]\d(?:, [A-Z]\d)*)"/g)].map(([, ids]) => ids!);
    expect(rules).toContain('O2, P2');
    const parts = rules.flatMap(ids => rulesText(ids).split(', '));
    expect(parts.filter(part => !/^[a-z].+ \([A-Z]\d\)$/i.test(part) || /^[A-Z]\d$/.test(part))).toEqual([]);
    expect(rulesText('O2, P2')).toBe('levels within a priority (O2), interruptions among equals (P2)');
    expect(rulesText('Z9')).toBe('Z9');
  });
});
